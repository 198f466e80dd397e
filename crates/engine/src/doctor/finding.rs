//! What a finding is, and how it is worded.

use serde::Serialize;

use super::Kind;
use matchrank_core::message::{counted, thousands};

/// How bad a finding is, worst first.
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

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// A name that stays the same, for scripts.
    pub code: &'static str,
    /// What was found, in a sentence.
    pub message: String,
    /// How often: lines, queries or features, whichever the message speaks of.
    pub count: u64,
    /// The first lines it was found on, counted from 1.
    pub lines: Vec<u64>,
    /// What to do about it; empty where there is nothing to do.
    pub fix: String,
}

/// What was found in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The file, or the files that were looked at together.
    pub file: String,
    /// What kind of file it is.
    pub kind: Option<Kind>,
    /// What the file holds, in a line.
    pub summary: String,
    /// Worst first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether an error or a warning was found.
    pub fn has_problems(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity < Severity::Info)
    }
}

/// Lines that share a finding: how many there are, and the first of them.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) count: u64,
    pub(super) first: Vec<u64>,
}

const SHOWN: usize = 5;

impl Lines {
    pub(super) fn add(&mut self, line: u64) {
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first.push(line);
        }
    }

    /// The finding, unless there is no line.
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

/// Lines that cannot be read: the first few by themselves, the rest in one.
#[derive(Default)]
pub(super) struct Malformed {
    first: Vec<(u64, String)>,
    rest: Lines,
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

/// A finding about the file as a whole.
pub(super) fn whole(severity: Severity, code: &'static str, message: String, fix: &str) -> Finding {
    Finding { severity, code, message, count: 1, lines: Vec::new(), fix: fix.to_owned() }
}

/// The first names of a list: `7, 8, 9 and 12 more`.
pub(super) fn listed<T: ToString>(names: &[T]) -> String {
    let shown: Vec<String> = names.iter().take(SHOWN).map(T::to_string).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), thousands(more as u64)),
    }
}
