//! Held-out data for validation or test: judged queries, their judgments, and bins of queries.

use std::hash::BuildHasher;

use foldhash::HashMap;
use foldhash::fast::FixedState;
use matchrank_core::Result;
use matchrank_core::data::qrels::{Judgment, Qrels};
use matchrank_core::measure::bins::Bins;

use super::{Dataset, Holdout, Query};
use crate::text::Analyser;

/// The judged queries of a dataset with their judgments.
pub struct HeldOut {
    /// Judged queries, in the order of the dataset.
    pub queries: Vec<Query>,
    /// Training clicks of each judged query; 0 if training never saw it.
    pub clicks: Vec<f64>,
    /// Words of each judged query.
    pub n_words: Vec<usize>,
    /// Judged documents of each judged query, with their grades.
    pub judged: Vec<Vec<(String, f32)>>,
}

/// Property that divides queries into bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinBy {
    /// Total training clicks: none, and the powers of ten of the papers' Tables 6 and 7.
    Clicks,
    /// Number of words.
    Length,
    /// Seen or unseen in training.
    Seen,
}

impl HeldOut {
    /// Reads the judgments of a holdout.
    pub fn of(dataset: &Dataset, holdout: Holdout) -> Result<Self> {
        let (queries, documents) = (dataset.queries()?, dataset.document_ids()?);
        // By text: a query that training saw under another id counts as seen.
        let mut clicks: HashMap<&str, f64> = HashMap::default();
        for response in dataset.responses()? {
            *clicks.entry(&queries[response.query as usize].text).or_default() +=
                f64::from(response.response);
        }
        let analyser = Analyser::new(&dataset.manifest.analyser)?;
        let mut held_out =
            Self { queries: Vec::new(), clicks: Vec::new(), n_words: Vec::new(), judged: Vec::new() };
        for list in dataset.judgments(holdout)?.chunk_by(|a, b| a.query == b.query) {
            let query = &queries[list[0].query as usize];
            let mut n_words = 0;
            analyser.tokens(&query.text, |_| n_words += 1);
            held_out.queries.push(query.clone());
            held_out.clicks.push(clicks.get(query.text.as_str()).copied().unwrap_or(0.0));
            held_out.n_words.push(n_words);
            held_out
                .judged
                .push(list.iter().map(|j| (documents[j.document as usize].clone(), j.grade)).collect());
        }
        Ok(held_out)
    }

    /// Returns a random sample of at most `most` queries, in their order; the seed decides which.
    pub fn sample(self, most: usize, seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        let mut taken: Vec<usize> = (0..self.queries.len()).collect();
        taken.sort_by_cached_key(|&i| (hasher.hash_one(&self.queries[i].id), i));
        taken.truncate(most);
        taken.sort_unstable();
        Self {
            queries: taken.iter().map(|&i| self.queries[i].clone()).collect(),
            clicks: taken.iter().map(|&i| self.clicks[i]).collect(),
            n_words: taken.iter().map(|&i| self.n_words[i]).collect(),
            judged: taken.iter().map(|&i| self.judged[i].clone()).collect(),
        }
    }

    /// Returns the judgments by query and document ids.
    pub fn qrels(&self) -> Result<Qrels<'_>> {
        let lists = self.queries.iter().zip(&self.judged);
        let judgments: Vec<Judgment<'_>> = lists
            .flat_map(|(query, list)| {
                list.iter().map(|(document, grade)| Judgment { query: &query.id, document, grade: *grade })
            })
            .collect();
        Qrels::new(&judgments)
    }

    /// Returns the bin of every query.
    pub fn bins(&self, by: BinBy) -> Result<Bins<'_>> {
        let mut labelled: Vec<(usize, &str, &str)> = (0..self.queries.len())
            .map(|i| {
                let (place, label) = match by {
                    BinBy::Clicks => clicks_bin(self.clicks[i]),
                    BinBy::Length => length_bin(self.n_words[i]),
                    BinBy::Seen if self.clicks[i] > 0.0 => (0, "seen"),
                    BinBy::Seen => (1, "unseen"),
                };
                (place, self.queries[i].id.as_str(), label)
            })
            .collect();
        labelled.sort_by_key(|(place, ..)| *place);
        Bins::new(labelled.into_iter().map(|(_, query, label)| (query, label)))
    }
}

fn clicks_bin(clicks: f64) -> (usize, &'static str) {
    match clicks {
        c if c <= 0.0 => (0, "no clicks"),
        c if c <= 10.0 => (1, "1 to 10 clicks"),
        c if c <= 100.0 => (2, "11 to 100 clicks"),
        c if c <= 1000.0 => (3, "101 to 1000 clicks"),
        _ => (4, "more than 1000 clicks"),
    }
}

fn length_bin(n_words: usize) -> (usize, &'static str) {
    match n_words {
        0 => (0, "no word"),
        1 => (1, "1 word"),
        2 => (2, "2 words"),
        3 => (3, "3 words"),
        _ => (4, "4 or more words"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_by_clicks_end_at_the_powers_of_ten() {
        let bins = [
            ("no clicks", vec![0.0]),
            ("1 to 10 clicks", vec![1.0, 10.0]),
            ("11 to 100 clicks", vec![11.0, 100.0]),
            ("101 to 1000 clicks", vec![101.0, 1000.0]),
            ("more than 1000 clicks", vec![1001.0]),
        ];
        let clicks: Vec<f64> = bins.iter().flat_map(|(_, clicks)| clicks.clone()).collect();
        let queries = clicks.iter().map(|n| Query { id: n.to_string(), text: String::new() }).collect();
        let n = clicks.len();
        let held_out = HeldOut { queries, clicks, n_words: vec![0; n], judged: vec![Vec::new(); n] };
        let found = held_out.bins(BinBy::Clicks).unwrap();
        for (label, clicks) in &bins {
            for n in clicks {
                assert_eq!(found.label(&n.to_string()), Some(*label), "{n} clicks");
            }
        }
        let seen = held_out.bins(BinBy::Seen).unwrap();
        assert_eq!((seen.label("0"), seen.label("1")), (Some("unseen"), Some("seen")));
    }
}
