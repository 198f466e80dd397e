//! Checks of the test queries of a dataset: whether there are enough of them, and what training knows of their answers.

use super::finding::{Finding, Severity, whole};
use crate::Result;
use crate::dataset::{Dataset, HeldOut, Holdout};
use crate::evidence::{SmallestDifference, too_few};
use crate::models::stack::FEWEST_FOR_TREES;
use matchrank_core::message::{HAS, counted, thousands};

/// Level of the tests that `compare` makes by default.
const LEVEL: f64 = 0.05;

pub(super) fn findings(dataset: &Dataset) -> Result<Vec<Finding>> {
    let [validation, test] =
        [Holdout::Validation, Holdout::Test].map(|holdout| HeldOut::of(dataset, holdout));
    let (validation, test) = (validation?, test?);
    let n_relevant = |held_out: &HeldOut| {
        held_out.judged.iter().filter(|list| list.iter().any(|(_, grade)| *grade > 0.0)).count()
    };
    let is_judged = !validation.queries.is_empty() || !test.queries.is_empty();
    let mut findings = vec![size(n_relevant(&test), is_judged)];
    findings.extend(few_to_choose_by(n_relevant(&validation)));
    if dataset.manifest.statistics.n_pairs > 0 {
        findings.extend(unseen_documents(dataset, &validation, &test)?);
        findings.extend(near_duplicates(dataset, &validation, &test)?);
    }
    Ok(findings)
}

/// Returns a finding on the number of test queries with a relevant document.
fn size(n: usize, is_judged: bool) -> Finding {
    let smallest = SmallestDifference::expected(n, 2, LEVEL);
    let Some(few) = too_few(n) else {
        let smallest = smallest.expect("there are two queries");
        let fix = "a smaller lead of a model may be chance; `compare` computes this from its results";
        return whole(Severity::Info, "smallest-difference", smallest.forecast("NDCG@10"), fix);
    };
    let because = match smallest {
        Some(smallest) => format!(": {}", smallest.sentence("NDCG@10")),
        None if n == 1 => ": chance alone may order the models".to_owned(),
        None => " with a relevant document: models can be trained, but not measured".to_owned(),
    };
    // Data to learn from and to serve, without any judgment, needs no test.
    let severity = if is_judged { Severity::Warning } else { Severity::Info };
    whole(
        severity,
        "few-test-queries",
        few + &because,
        "hold out or judge more queries (option `split`, option `judgments test=QRELS`)",
    )
}

/// Returns a finding on a number of validation queries that is too small for a safe choice, if it is.
fn few_to_choose_by(n: usize) -> Option<Finding> {
    (1..FEWEST_FOR_TREES).contains(&n).then(|| {
        whole(
            Severity::Info,
            "few-validation-queries",
            format!(
                "{} choose models and parameters, so that chance decides between models that are about as good; stacks try \
                 no trees below {FEWEST_FOR_TREES}",
                counted(n, "validation query")
            ),
            "hold out or judge more queries (option `split`, option `judgments validation=QRELS`); `compare` deals judged \
             queries to folds",
        )
    })
}

/// Counts the true values among the known ones, of the test and of the validation queries, in words.
fn counts(test: &[Option<bool>], validation: &[Option<bool>]) -> Option<(usize, String)> {
    let count = |values: &[Option<bool>]| {
        let known = values.iter().flatten().count();
        (values.iter().flatten().filter(|value| **value).count(), known)
    };
    let ((n, of), (n_validation, of_validation)) = (count(test), count(validation));
    let and = match of_validation {
        0 => String::new(),
        _ => format!(
            " ({} of {} for validation)",
            thousands(n_validation as u64),
            thousands(of_validation as u64)
        ),
    };
    let has = HAS[usize::from(n != 1)];
    (n > 0).then(|| (n, format!("{} of {}{and} {has}", thousands(n as u64), counted(of, "test query"))))
}

/// Returns a finding on queries whose relevant documents have no training response.
fn unseen_documents(dataset: &Dataset, validation: &HeldOut, test: &HeldOut) -> Result<Option<Finding>> {
    let unseen = |held_out: &HeldOut| -> Result<Vec<Option<bool>>> {
        Ok(held_out.have_seen_documents(dataset)?.into_iter().map(|seen| seen.map(|seen| !seen)).collect())
    };
    Ok(counts(&unseen(test)?, &unseen(validation)?).map(|(n, counted)| Finding {
        count: n as u64,
        ..whole(
            Severity::Info,
            "unseen-documents",
            format!("{counted} no relevant document with a training response"),
            "models that know documents by their responses fail on them: look at them separately (option `by documents` \
             of `eval`; `compare` does)",
        )
    }))
}

/// Returns a finding on queries with a near-duplicate among the training queries.
fn near_duplicates(dataset: &Dataset, validation: &HeldOut, test: &HeldOut) -> Result<Option<Finding>> {
    let near = |held_out: &HeldOut| -> Result<Vec<Option<bool>>> {
        Ok(held_out.have_near_duplicates(dataset)?.into_iter().map(Some).collect())
    };
    Ok(counts(&near(test)?, &near(validation)?).map(|(n, counted)| Finding {
        count: n as u64,
        ..whole(
            Severity::Info,
            "near-duplicates",
            format!("{counted} a near-duplicate among the training queries (at least 80 % of the words in common)"),
            "a model can answer them from memory: look at the others separately (option `by duplicates` of `eval`; \
             `compare` does)",
        )
    }))
}

#[cfg(test)]
mod tests {
    use matchrank_core::progress::Silent;

    use super::super::examine;
    use super::*;
    use crate::ingest::{IngestParams, ingest};

    /// Findings on a dataset with `n` test queries; every second one has the relevant document of a training query, and
    /// the words of one.
    fn examined(n: usize, n_validation: usize) -> Vec<Finding> {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let lines = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>();
        let queries = lines(20, &|i| format!("t{i}\tshoe{i}\n"))
            + &lines(20, &|i| format!("q{i}\t{}{i}\n", if i % 2 == 0 { "SHOE" } else { "boot" }))
            + &lines(20, &|i| format!("v{i}\tblue{i}\n"));
        let document = |i: usize| if i.is_multiple_of(2) { i } else { 20 + i };
        let mut judgments = Vec::new();
        if n > 0 {
            let qrels = lines(n, &|i| format!("q{i} 0 d{} 1\n", document(i)));
            judgments.push((Holdout::Test, file("test", qrels)));
        }
        if n_validation > 0 {
            let qrels = lines(n_validation, &|i| format!("v{i} 0 d{} 1\n", document(i)));
            judgments.push((Holdout::Validation, file("validation", qrels)));
        }
        let params = IngestParams {
            documents: vec![file("docs.tsv", lines(40, &|i| format!("d{i}\tshoe {i}\n")))],
            queries: vec![file("queries.tsv", queries)],
            responses: vec![file("train", lines(20, &|i| format!("t{i} 0 d{i} 1\n")))],
            judgments,
            ..IngestParams::default()
        };
        ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
        examine(&[folder.path().join("data")], None, &Silent).unwrap().remove(0).findings
    }

    fn found(findings: &[Finding], code: &str) -> Option<(Severity, u64, String)> {
        let finding = findings.iter().find(|finding| finding.code == code)?;
        Some((finding.severity, finding.count, finding.message.clone()))
    }

    #[test]
    fn few_test_queries_are_a_warning() {
        for (n, n_validation, severity, start) in [
            (
                0,
                5,
                Severity::Warning,
                "nothing can be concluded from 0 test queries with a relevant document",
            ),
            (0, 0, Severity::Info, "nothing can be concluded from 0 test queries"),
            (1, 5, Severity::Warning, "nothing can be concluded from 1 test query: chance alone"),
            (
                7,
                5,
                Severity::Warning,
                "nothing can be concluded from 7 test queries: with 7 test queries, differences in",
            ),
            (9, 0, Severity::Warning, "nothing can be concluded from 9 test queries: "),
        ] {
            let findings = examined(n, n_validation);
            let (found_severity, _, message) = found(&findings, "few-test-queries").unwrap();
            assert_eq!(found_severity, severity, "{n}");
            assert!(message.starts_with(start), "{message}");
            assert_eq!(found(&findings, "smallest-difference"), None);
        }
        let findings = examined(12, 0);
        assert_eq!(found(&findings, "few-test-queries"), None);
        let (severity, _, message) = found(&findings, "smallest-difference").unwrap();
        assert_eq!(severity, Severity::Info);
        assert!(
            message.starts_with("with 12 test queries, differences in NDCG@10 below about 0.1"),
            "{message}"
        );
    }

    #[test]
    fn unseen_documents_and_near_duplicates_are_counted() {
        let findings = examined(12, 5);
        assert_eq!(
            found(&findings, "unseen-documents").unwrap(),
            (
                Severity::Info,
                6,
                "6 of 12 test queries (2 of 5 for validation) have no relevant document with a training response".into()
            )
        );
        let (_, count, message) = found(&findings, "near-duplicates").unwrap();
        assert_eq!(count, 6);
        assert!(
            message.starts_with("6 of 12 test queries (0 of 5 for validation) have a near-duplicate"),
            "{message}"
        );
        // The only test query has a relevant document that was seen.
        assert_eq!(found(&examined(1, 0), "unseen-documents"), None);
    }
}
