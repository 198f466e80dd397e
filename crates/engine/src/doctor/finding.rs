//! Findings and their wording.

use serde::Serialize;

use super::FileKind;
use matchrank_core::message::{counted, thousands};

/// Severity of a finding, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file cannot be used as it is.
    Error,
    /// The file can be used, and results may be wrong or surprising.
    Warning,
    /// Worth knowing.
    Info,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// Stable name, for scripts.
    pub code: &'static str,
    /// Description of the finding, in a sentence.
    pub message: String,
    /// Number of lines, queries or features, whichever the message is about.
    pub count: u64,
    /// First lines with the finding, counted from 1.
    pub lines: Vec<u64>,
    /// Advice; empty if there is nothing to do.
    pub fix: String,
}

/// Findings in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The file, or the files that were examined together.
    pub file: String,
    /// Kind of the file.
    pub kind: Option<FileKind>,
    /// Content of the file, in one line.
    pub summary: String,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
}

/// Lines that share a finding: their number, and the first of them.
#[derive(Default)]
pub(super) struct FoundLines {
    pub(super) count: u64,
    pub(super) first: Vec<u64>,
}

const SHOWN: usize = 5;

impl FoundLines {
    pub(super) fn add(&mut self, line: u64) {
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first.push(line);
        }
    }

    /// Returns the finding, or None if there is no line.
    pub(super) fn finding(
        self,
        severity: Severity,
        code: &'static str,
        message: impl FnOnce(u64) -> String,
        fix: &str,
    ) -> Option<Finding> {
        let Self { count, first } = self;
        (count > 0).then(|| Finding {
            severity,
            code,
            message: message(count),
            count,
            lines: first,
            fix: fix.to_owned(),
        })
    }
}

/// Lines that cannot be parsed: one finding for each of the first few, and one for the rest.
#[derive(Default)]
pub(super) struct Malformed {
    first: Vec<(u64, String)>,
    rest: FoundLines,
}

impl Malformed {
    pub(super) fn add(&mut self, line: u64, message: String) {
        if self.first.len() < SHOWN { self.first.push((line, message)) } else { self.rest.add(line) }
    }

    pub(super) fn findings(self) -> impl Iterator<Item = Finding> {
        let fix = "correct or remove the line; it was left out of what follows";
        let rest = self.rest.finding(
            Severity::Error,
            "malformed-line",
            |n| format!("{} cannot be read either", counted(n, "more line")),
            "correct the lines above first: the reason is often the same",
        );
        let each = self.first.into_iter().map(move |(line, message)| Finding {
            severity: Severity::Error,
            code: "malformed-line",
            message,
            count: 1,
            lines: vec![line],
            fix: fix.to_owned(),
        });
        each.chain(rest)
    }
}

/// Makes a finding about the file as a whole.
pub(super) fn whole(severity: Severity, code: &'static str, message: String, fix: &str) -> Finding {
    Finding { severity, code, message, count: 1, lines: Vec::new(), fix: fix.to_owned() }
}

/// Lists the first names: `7, 8, 9 and 12 more`.
pub(super) fn listed<T: ToString>(names: &[T]) -> String {
    let shown: Vec<String> = names.iter().take(SHOWN).map(T::to_string).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), thousands(more as u64)),
    }
}
