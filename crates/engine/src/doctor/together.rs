//! Checks of files that are given together.

use std::collections::BTreeSet;

use super::FileKind;
use super::finding::{Finding, Report, Severity, listed};
use matchrank_core::message::{counted, thousands};

/// Finds queries that two files of labels share, runs without judgments, and judgments without a run.
pub(super) fn examine(files: &[(FileKind, String, BTreeSet<String>)]) -> Option<Report> {
    let mut findings = Vec::new();
    for (i, (kind, file, queries)) in files.iter().enumerate() {
        for (other_kind, other_file, other_queries) in &files[i + 1..] {
            match (kind, other_kind) {
                (FileKind::Letor, FileKind::Letor) | (FileKind::Qrels, FileKind::Qrels) => {
                    findings.extend(shared((file, queries), (other_file, other_queries)));
                }
                (FileKind::Run, FileKind::Qrels | FileKind::Letor) => {
                    findings.extend(judged((file, queries), (other_file, other_queries)));
                }
                (FileKind::Qrels | FileKind::Letor, FileKind::Run) => {
                    findings.extend(judged((other_file, other_queries), (file, queries)));
                }
                _ => {}
            }
        }
    }
    findings.sort_by_key(|finding| finding.severity);
    (!findings.is_empty()).then(|| Report {
        file: "together".into(),
        kind: None,
        summary: counted(files.len(), "file"),
        findings,
    })
}

type NamedIds<'a> = (&'a String, &'a BTreeSet<String>);

fn shared((file, queries): NamedIds, (other_file, other_queries): NamedIds) -> Option<Finding> {
    let both: Vec<&String> = queries.intersection(other_queries).collect();
    (!both.is_empty()).then(|| Finding {
        severity: Severity::Warning,
        code: "shared-query",
        message: format!(
            "{} of {other_file} {} in {file} too ({})",
            counted(both.len(), "query"),
            if both.len() == 1 { "is" } else { "are" },
            listed(&both)
        ),
        count: both.len() as u64,
        lines: Vec::new(),
        fix: "where one trains and the other tests, the test figure is too good: split by query".into(),
    })
}

fn judged((run, ranked): NamedIds, (qrels, judged): NamedIds) -> impl Iterator<Item = Finding> {
    let missing: Vec<&String> = judged.difference(ranked).collect();
    let unjudged: Vec<&String> = ranked.difference(judged).collect();
    let missing = (!missing.is_empty()).then(|| Finding {
        severity: Severity::Warning,
        code: "missing-query",
        message: format!(
            "{run} has no document for {} of the {} of {qrels} ({})",
            thousands(missing.len() as u64),
            counted(judged.len(), "query"),
            listed(&missing)
        ),
        count: missing.len() as u64,
        lines: Vec::new(),
        fix: "tools either leave such queries out or count them as 0: rank them, or say which".into(),
    });
    let unjudged = (!unjudged.is_empty()).then(|| Finding {
        severity: Severity::Info,
        code: "unjudged-query",
        message: format!(
            "{qrels} judges nothing for {} of {run} ({})",
            counted(unjudged.len(), "query"),
            listed(&unjudged)
        ),
        count: unjudged.len() as u64,
        lines: Vec::new(),
        fix: "measures leave them out".into(),
    });
    missing.into_iter().chain(unjudged)
}
