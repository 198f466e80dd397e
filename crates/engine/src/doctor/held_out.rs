//! Checks of the judged queries of a dataset: test data in training.
//!
//! A query is identified by its text, as in training: a test query that training saw under another id counts as seen.
//! Some relevant test pairs are in the training data of any honest log, because people click the same document again.
//! The share of the relevant pairs that are in training decides the severity:
//! | split | worth knowing | a warning from | an error from |
//! |---|---|---|---|
//! | none: judged by people | below | a third | two thirds |
//! | by time: clicked again | below | two thirds | |
//! | by query: whole queries are held out | | | the first pair |
//!
//! Measured shares: 0.19 on the simulated one-week log, 0.22 on the small one; 0.42 for the test and 0.53 for the
//! validation of Best Buy's clicks, split by time.

use foldhash::{HashMap, HashSet};

use super::dataset::some;
use super::finding::{Finding, Severity, listed, whole};
use super::grades::without_relevant;
use crate::Result;
use crate::dataset::{Dataset, Holdout, Judged, Query, Split};
use matchrank_core::message::{counted, thousands};

pub(super) fn findings(dataset: &Dataset, queries: &[Query]) -> Result<Vec<Finding>> {
    let training = TrainingPairs::of(dataset, queries)?;
    let split = &dataset.manifest.split;
    let mut findings = Vec::new();
    let mut sets = Vec::new();
    for holdout in [Holdout::Validation, Holdout::Test] {
        let judgments = dataset.judgments(holdout)?;
        let lists: Vec<&[Judged]> = judgments.chunk_by(|a, b| a.query == b.query).collect();
        let id = |list: &[Judged]| queries[list[0].query as usize].id.as_str();
        let nothing: Vec<&str> =
            lists.iter().filter(|list| list.iter().all(|j| j.grade <= 0.0)).map(|list| id(list)).collect();
        findings.extend(without_relevant(&nothing, lists.len()).map(|mut finding| {
            finding.message = format!("{}: {}", holdout.name(), finding.message);
            finding
        }));
        findings.extend(training.seen(&lists, queries, split, holdout));
        let relevant: Vec<&Judged> = judgments.iter().filter(|judged| judged.grade > 0.0).collect();
        findings.extend(training.known(&relevant, split, holdout));
        sets.push(judgments.iter().map(|j| j.query).collect::<HashSet<u32>>());
    }
    if let (Split::None, [validation, test]) = (split, &sets[..]) {
        let mut both: Vec<String> =
            validation.intersection(test).map(|query| queries[*query as usize].id.clone()).collect();
        both.sort();
        findings.extend(some(&both, Severity::Warning, "query-in-both", |q| {
            let message =
                format!("{} judged for validation and for test ({})", counted(q.len(), "query"), listed(q));
            (
                message,
                "models tuned on them cannot be measured fairly on them; give each query to one of the two",
            )
        }));
    }
    Ok(findings)
}

/// Training pairs. Queries with the same text count as one, under the row of the first of them.
struct TrainingPairs {
    first_of: Vec<u32>,
    /// Rows of queries that have a training response under their own id.
    rows: HashSet<u32>,
    pairs: HashSet<(u32, u32)>,
    /// Rows of queries that have a training response under any id, each the first row of its text.
    answered: HashSet<u32>,
}

impl TrainingPairs {
    fn of(dataset: &Dataset, queries: &[Query]) -> Result<Self> {
        let mut by_text: HashMap<&str, u32> = HashMap::default();
        let first_of: Vec<u32> =
            (0..).zip(queries).map(|(row, query)| *by_text.entry(&query.text).or_insert(row)).collect();
        let mut responses = dataset.responses()?;
        responses.retain(|response| response.response > 0.0);
        let first = |row: u32| first_of[row as usize];
        Ok(Self {
            rows: responses.iter().map(|r| r.query).collect(),
            pairs: responses.iter().map(|r| (first(r.query), r.document)).collect(),
            answered: responses.iter().map(|r| first(r.query)).collect(),
            first_of,
        })
    }

    /// Returns a finding on judged queries that training saw.
    fn seen(
        &self,
        lists: &[&[Judged]],
        queries: &[Query],
        split: &Split,
        holdout: Holdout,
    ) -> Option<Finding> {
        let row = |list: &[Judged]| list[0].query;
        let is_seen = |list: &[Judged]| self.answered.contains(&self.first_of[row(list) as usize]);
        let rows: Vec<u32> = lists.iter().filter(|list| is_seen(list)).map(|list| row(list)).collect();
        let n_by_text = rows.iter().filter(|row| !self.rows.contains(row)).count() as u64;
        let seen: Vec<String> = rows.iter().map(|row| queries[*row as usize].id.clone()).collect();
        let (severity, fix) = match split {
            Split::Query { .. } => {
                (Severity::Error, "a split by query must hold out whole queries; ingest again")
            }
            _ => (
                Severity::Info,
                "report seen and unseen queries separately: models that remember clicks shine on seen ones",
            ),
        };
        some(&seen, severity, "query-in-training", |q| {
            let by_text = match n_by_text {
                0 => String::new(),
                n => format!(", {} by sharing the text of a training query with another id", thousands(n)),
            };
            let message = format!(
                "{} of {} {} queries have training clicks ({}){by_text}",
                thousands(q.len() as u64),
                thousands(lists.len() as u64),
                holdout.name(),
                listed(q)
            );
            (message, fix)
        })
    }

    /// Returns a finding on relevant judged pairs that are training pairs as well.
    fn known(&self, relevant: &[&Judged], split: &Split, holdout: Holdout) -> Option<Finding> {
        let is_known =
            |judged: &&&Judged| self.pairs.contains(&(self.first_of[judged.query as usize], judged.document));
        let n_known = relevant.iter().filter(is_known).count();
        let severity = severity(split, n_known as f64 / relevant.len().max(1) as f64);
        (n_known > 0).then(|| {
            let message = format!(
                "{} of {} relevant {} pairs are training pairs too",
                thousands(n_known as u64),
                thousands(relevant.len() as u64),
                holdout.name()
            );
            let fix = match severity {
                Severity::Info => {
                    "a feature that counts clicks gives their answer away; compare with unseen queries"
                }
                Severity::Warning if matches!(split, Split::Time { .. }) => {
                    "people click the same documents again, so remembering clicks is enough here; read the figures of \
                     seen and unseen queries separately"
                }
                _ => "models have learned these answers, and their figures say little: train without them",
            };
            whole(severity, "pair-in-training", message, fix)
        })
    }
}

/// Returns the severity for a share of the relevant judged pairs that is in training; see the module.
fn severity(split: &Split, share: f64) -> Severity {
    let (warning, error) = match split {
        Split::None => (1.0 / 3.0, 2.0 / 3.0),
        Split::Time { .. } => (2.0 / 3.0, f64::INFINITY),
        Split::Query { .. } => (0.0, 0.0),
    };
    if share >= error {
        Severity::Error
    } else if share >= warning {
        Severity::Warning
    } else {
        Severity::Info
    }
}

#[cfg(test)]
mod tests {
    use matchrank_core::progress::Silent;

    use super::super::examine;
    use super::*;
    use crate::ingest::{IngestParams, ingest};

    /// Findings on a dataset in which ten test queries have a relevant document each, and the first of them a training
    /// click on it; one more query has the text of the last test query.
    fn examined(n_known: usize) -> Vec<Finding> {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let lines = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>();
        let queries = lines(10, &|i| format!("q{i}\tred {i}\n")) + "other\tred 9\ntrained\tblue\n";
        let clicks = lines(n_known, &|i| format!("q{i},d{i},1\n")) + "other,d0,1\ntrained,d1,1\n";
        let params = IngestParams {
            documents: vec![file("docs.tsv", lines(10, &|i| format!("d{i}\tshoe {i}\n")))],
            queries: vec![file("queries.tsv", queries)],
            clicks: vec![file("log.csv", format!("query_id,document,clicks\n{clicks}"))],
            judgments: vec![(Holdout::Test, file("qrels", lines(10, &|i| format!("q{i} 0 d{i} 1\n"))))],
            ..IngestParams::default()
        };
        ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
        examine(&[folder.path().join("data")], None, &Silent).unwrap().remove(0).findings
    }

    #[test]
    fn the_more_answers_are_in_training_the_worse() {
        let known = |n: usize| examined(n).into_iter().find(|finding| finding.code == "pair-in-training");
        assert_eq!(known(0), None);
        for (n, severity) in [
            (1, Severity::Info),
            (3, Severity::Info),
            (4, Severity::Warning),
            (6, Severity::Warning),
            (7, Severity::Error),
            (10, Severity::Error),
        ] {
            let finding = known(n).unwrap();
            assert_eq!(finding.severity, severity, "{n} of 10");
            assert!(
                finding.message.contains(&format!("{n} of 10 relevant test pairs")),
                "{}",
                finding.message
            );
        }
        let time = Split::Time { validation: 0.1, test: 0.2, validation_from: 1, test_from: 2 };
        let query = Split::Query { validation: 0.1, test: 0.2, seed: 1 };
        let found = [0.5, 0.7, 0.95].map(|share| severity(&time, share));
        assert_eq!(found, [Severity::Info, Severity::Warning, Severity::Warning]);
        assert_eq!(severity(&query, 0.001), Severity::Error);
    }

    #[test]
    fn test_queries_that_share_a_text_with_a_training_query_are_counted() {
        let findings = examined(2);
        let seen = findings.iter().find(|finding| finding.code == "query-in-training").unwrap();
        assert_eq!(seen.count, 3);
        assert!(
            seen.message
                .contains("3 of 10 test queries have training clicks (q0, q1, q9), 1 by sharing the text"),
            "{}",
            seen.message
        );
    }
}
