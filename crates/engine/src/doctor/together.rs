//! Checks of files that are given together.

use std::collections::{BTreeMap, BTreeSet};

use super::FileKind;
use super::finding::{Finding, Report, Severity, listed};
use crate::dataset::{LostZeros, without_zeros};
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
    let lost = lost_zeros((run, &unjudged), (qrels, &missing));
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
    missing.into_iter().chain(unjudged).chain(lost)
}

/// Finds queries of judgments that a run has with more or fewer leading zeros.
fn lost_zeros(
    (run, unjudged): (&String, &[&String]),
    (qrels, missing): (&String, &[&String]),
) -> Option<Finding> {
    let ranked: BTreeMap<&str, &String> =
        unjudged.iter().rev().filter_map(|id| Some((without_zeros(id)?, *id))).collect();
    let in_run = |id: &str| ranked.get(without_zeros(id)?).copied();
    let lost: Vec<(&String, &String)> = missing.iter().filter_map(|id| Some((*id, in_run(id)?))).collect();
    let pairs: Vec<String> = lost.iter().take(2).map(|(id, other)| format!("{id} and {other}")).collect();
    (!lost.is_empty()).then(|| Finding {
        severity: Severity::Warning,
        code: "lost-leading-zeros",
        message: format!(
            "{} of {qrels} {} in {run} with another number of leading zeros ({})",
            counted(lost.len(), "query id"),
            if lost.len() == 1 { "is" } else { "are" },
            pairs.join("; ")
        ),
        count: lost.len() as u64,
        lines: Vec::new(),
        fix: LostZeros::FIX.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(qrels: &[&str], run: &[&str]) -> Option<Finding> {
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        let files =
            [(FileKind::Qrels, "qrels".to_owned(), ids(qrels)), (FileKind::Run, "run".to_owned(), ids(run))];
        let findings = examine(&files).map_or(Vec::new(), |report| report.findings);
        findings.into_iter().find(|finding| finding.code == "lost-leading-zeros")
    }

    #[test]
    fn query_ids_that_differ_by_zeros_are_named() {
        assert_eq!(found(&["001", "002"], &["001", "3"]), None);
        assert_eq!(found(&["001", "a2"], &["001", "2"]), None);
        let finding = found(&["001", "002", "003", "4"], &["1", "2", "3", "4"]).unwrap();
        assert_eq!(finding.count, 3);
        assert_eq!(
            finding.message,
            "3 query ids of qrels are in run with another number of leading zeros (001 and 1; 002 and 2)"
        );
    }
}
