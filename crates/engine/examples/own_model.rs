//! A matching model of your own, measured like the others: `cargo run -p matchrank-engine --example own_model`.
//!
//! A [`Matcher`] scores documents for queries. This one adds up the clicks of training queries that share a word with the
//! query. `matchrank_engine::models` says how a model gets its own folder, so that the program trains, tunes and saves it.
#![allow(clippy::print_stdout)]

mod shop;

use matchrank_core::Result;
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::Clicks;
use matchrank_engine::scoring::{Explanation, Matcher, Scorer, Why};
use matchrank_engine::validation::Validation;

struct SharedWords {
    clicks: Clicks,
    /// Row in the dataset of each document.
    documents: Vec<u32>,
}

/// Scores of all documents for each query; NaN is no score.
struct Scores(Vec<Vec<f32>>);

impl Matcher for SharedWords {
    fn n_documents(&self) -> u32 {
        self.documents.len() as u32
    }
    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        let scores = queries.iter().map(|query| {
            let shares_a_word =
                |other: &str| other.split(' ').any(|word| query.split(' ').any(|own| own == word));
            let mut scores = vec![f32::NAN; self.documents.len()];
            for (row, _) in self.clicks.queries().filter(|(_, text)| shares_a_word(text)) {
                for (document, clicks) in self.clicks.of_query(row).iter() {
                    if let Ok(place) = self.documents.binary_search(&document) {
                        scores[place] = scores[place].max(0.0) + clicks;
                    }
                }
            }
            scores
        });
        Ok(Box::new(Scores(scores.collect())))
    }
    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let mut score = [0.0];
        self.begin(&[query])?.list(0, &[document], &mut score);
        Ok(Explanation {
            score: Some(score[0]).filter(|score| !score.is_nan()),
            why: Why::Terms { terms: Vec::new() },
        })
    }
}

impl Scorer for Scores {
    fn n_queries(&self) -> usize {
        self.0.len()
    }
    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        scores
            .iter_mut()
            .zip(documents)
            .for_each(|(score, &document)| *score = self.0[query][document as usize]);
    }
}

pub(crate) fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let dataset = shop::dataset(folder.path())?;
    let validation = Validation::of(&dataset, 1, &Silent)?.ok_or("the shop has validation judgments")?;
    let documents = validation.wanted().map_or((0..validation.n_documents()).collect(), <[u32]>::to_vec);
    let model = SharedWords { clicks: Clicks::of(&dataset)?, documents };
    let ndcg = validation.value(&mut *model.begin(&validation.queries())?)?;
    println!("NDCG@10 of the validation queries: {ndcg:.4}");
    assert!(ndcg > 0.9);
    Ok(())
}
