//! Sparse preference learning over text: f(q, d) = q' W d, a weight for every pair of a query word and a
//! document word.
//!
//! q and d are the words weighted so that the identity scores as the [base]: BM25, or the cosine of tf-idf
//! vectors. W has a row for every query word and a column
//! for every document word; most of its entries are 0 and not stored. How it is learned is told in
//! [`core`](matchrank_core::matching::sparse_preference), where the preferences come from in
//! [`preferences`](crate::preferences).

mod codec;
mod describe;
mod matcher;
mod report;
mod settings;
mod synonyms;
#[cfg(test)]
mod tests;
mod training;
mod whole_words;

use std::sync::Arc;

use matchrank_core::matching::sparse_preference::State;
use matchrank_core::matching::{Csr, CsrBuilder, SparseRow};
use matchrank_core::{Error, Result};

pub use matcher::PreferenceScorer;
pub use report::{CurvePoint, ParameterTrial, PreferenceReport};
pub use settings::{
    ChosenSettings, FEWEST_TUPLES, MOST_TUPLES, PreferenceSettings, TUPLES_PER_PAIR, Variant,
};
pub use synonyms::{
    PairChange, SynonymFormat, WordPair, changes, read_pairs, strongest, word_pairs, write_pairs,
};
pub use training::{
    Checkpoint, PreferenceLearner, PreferencePosition, TRIAL_TUPLES, TrainedPreference, TupleCourse, train,
    update,
};
pub use whole_words::{WholeWords, whole_words};

use super::base;
use super::latent::unknown;
use super::memory::COPIES;
use super::recipe::trainer;
use super::{MatchingKind, RelatedWord};
use crate::features::{Features, WordParams};
use crate::settings::Parameter;

const HELP: &str = "\
The score is q' W d. With W the identity it is that of the base, BM25. W starts there and learns from tuples: for this query this document is \
better than that one. Most weights stay 0, so the model says which words go together, and can go on learning later.

Tuples are drawn from the responses of the dataset: a higher grade is better than a lower one or none; a click is better \
than none, and, where the log has positions, better than what was shown above it and skipped.

auto: chosen by NDCG@10 on the validation judgments, after trials of fixed size; every trial is kept in the model. Without \
judgments margin=0.3, c=2, lambda=0.000001.";

/// Sparse preferences in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "SparsePreference",
    aliases: &["preference"],
    help: HELP,
    parameters: &[
        base::BASE,
        base::K1,
        base::B,
        Parameter::new(
            "blend",
            "auto",
            "share of what was learned, from 0: W = (1 - blend) I + blend * learned; auto: on the validation judgments, 0 \
             unless another is better by more than one standard error",
        ),
        Parameter::new(
            "variant",
            "refit",
            "identity (nothing is learned), diagonal (words with themselves), dense (all weights), sparse (weights \
             are shrunk towards 0, so that few are left), refit (sparse; then the weights that are left learn once \
             more without shrinkage)",
        ),
        Parameter::new(
            "tuples",
            "auto",
            "tuples to draw; auto is 200 for each training pair, from 100,000 to 1,000,000",
        ),
        Parameter::new(
            "judged",
            "0.2",
            "share of the tuples whose worse document was judged lower, or skipped above a click, where there is one",
        ),
        Parameter::new(
            "hard",
            "0.5",
            "share of the other tuples whose worse document looks like an answer: one of the 50 best of the base",
        ),
        Parameter::new("margin", "auto", "learn from tuples whose scores are less apart than this"),
        Parameter::new("c", "auto", "length of the first step"),
        Parameter::new("step", "decaying", "length of the others: decaying (c / sqrt(t)) or fixed (c)"),
        Parameter::new("lambda", "auto", "how strongly weights are shrunk towards 0"),
        Parameter::new("shrink_every", "400", "steps from one shrinkage to the next"),
        Parameter::new("average", "false", "whether refitting ends with the mean of W over its steps"),
        Parameter::new(
            "max_mib",
            "0",
            "MiB that W may take while it is learned; beyond it W is shrunk harder, with a note; 0 for no ceiling",
        ),
    ],
    feature_parameters: WordParams::PARAMETERS,
    // Training itself chooses the other settings.
    space: &[("base", "bm25,cosine")],
    effort: Some(("tuples", 10_000)),
    choose_untrained: Some(super::base::choose),
    trainer: Some(|settings| {
        trainer::<PreferenceSettings, WordParams>(
            settings,
            |settings, _| settings.validate(),
            |settings, words, training| {
                settings.base().check_given(|name| training.is_given(name))?;
                let course = TupleCourse::new(training.seed, training.progress);
                let trained = train(settings, words, (training.dataset, None), &course)?;
                Ok(Arc::new(trained.model))
            },
        )
    }),
    memory: Some(|sizes| sizes.learning() + COPIES * sizes.preferences(MOST_TUPLES as f64)),
    cost: 100.0,
    ..MatchingKind::new(
        "sparse-preference",
        "Sparse preferences: learns a weight for every pair of a query word and a document word",
        |file| Ok(Arc::new(codec::get(file)?)),
    )
};

/// A model q' W d over text.
#[derive(Debug, Clone)]
pub struct PreferenceModel {
    /// Settings of its training.
    pub settings: PreferenceSettings,
    /// Features of queries and documents: words, no clicks.
    pub features: Features,
    /// W, blended with the identity.
    pub w: Csr,
    /// State that training goes on from.
    pub state: State,
    /// Share of what was learned in W; the rest is the identity, the base.
    pub blend: f32,
    /// Report of its training.
    pub report: PreferenceReport,
}

impl PreferenceModel {
    /// Share of what was learned that the model scores by. A model that keeps nothing has the state of its base, to go on
    /// from, and `blend` is 1.
    pub fn kept(&self) -> f64 {
        self.report.kept.unwrap_or(f64::from(self.blend))
    }

    /// Checks that W has a row and a column for every word.
    pub fn validate(&self) -> Result<()> {
        let n_words = self.features.n_words();
        if (self.w.n_rows(), self.w.n_columns()) != (n_words, n_words) || self.features.use_clicks() {
            return Err(Error::Shape(format!(
                "W has {} rows and {} columns, and there are {n_words} words",
                self.w.n_rows(),
                self.w.n_columns()
            )));
        }
        Ok(())
    }

    /// Share of the entries of W that are not 0.
    pub fn density(&self) -> f64 {
        self.w.nnz() as f64 / (self.w.n_rows() as f64 * self.w.n_columns() as f64).max(1.0)
    }

    /// The document words with the largest |W_ij| for a query word, or |q' W| for several; ties by the id of
    /// the word. Words of fewer than `min_documents` documents are left out.
    pub fn related(&self, query: &str, top: usize, min_documents: u32) -> Result<Vec<RelatedWord>> {
        let q = self.features.query(query, None);
        if q.is_empty() {
            return Err(unknown(query, self.features.words()));
        }
        let mut weights = vec![0f64; self.w.n_columns()];
        for (i, value) in q.row().iter() {
            self.w.row(i as usize).iter().for_each(|(j, w)| weights[j as usize] += f64::from(value * w));
        }
        Ok(self.strongest(weights, top, min_documents))
    }

    /// The other direction: the query words with the largest |W_ij| for a document word, or |W d| for
    /// several.
    pub fn related_queries(&self, document: &str, top: usize) -> Result<Vec<RelatedWord>> {
        let d = self.features.plain_document(document);
        if d.is_empty() {
            return Err(unknown(document, self.features.words()));
        }
        let d = d.row();
        let weights = self.w.rows().map(|row| {
            let mut sum = 0.0;
            d.for_each_shared(row, |_, value, w| sum += f64::from(value * w));
            sum
        });
        Ok(self.strongest(weights.collect(), top, 0))
    }

    fn strongest(&self, weights: Vec<f64>, top: usize, min_documents: u32) -> Vec<RelatedWord> {
        let vocabulary = &self.features.words().vocabulary;
        let mut words: Vec<(u32, f64)> = (0..)
            .zip(weights)
            .filter(|(word, weight)| *weight != 0.0 && vocabulary.document_frequency(*word) >= min_documents)
            .collect();
        words.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        words.truncate(top);
        words
            .into_iter()
            .map(|(word, weight)| RelatedWord {
                word: vocabulary.term(word).to_owned(),
                value: weight as f32,
                n_documents: vocabulary.document_frequency(word),
            })
            .collect()
    }

    /// Calls `each` with the word ids and the weight of every pair of which W_ij is not 0, row by row.
    pub fn for_each_pair(&self, mut each: impl FnMut(u32, u32, f32)) {
        for (i, row) in (0..).zip(self.w.rows()) {
            row.iter().filter(|(_, w)| *w != 0.0).for_each(|(j, w)| each(i, j, w));
        }
    }

    /// v = W' q, as entries (document word, weight) in the order of the words, with W blended.
    fn image(w: &Csr, blend: f32, q: SparseRow<'_>, scratch: &mut Vec<f32>) -> Vec<(u32, f32)> {
        scratch.resize(w.n_columns(), 0.0);
        let mut touched: Vec<u32> = Vec::new();
        for (i, value) in q.iter() {
            let row = w.row(i as usize);
            touched.extend_from_slice(row.indices());
            row.iter().for_each(|(j, w)| scratch[j as usize] += blend * value * w);
            if blend != 1.0 {
                touched.push(i);
                scratch[i as usize] += (1.0 - blend) * value;
            }
        }
        touched.sort_unstable();
        touched.dedup();
        touched
            .into_iter()
            .map(|j| (j, std::mem::take(&mut scratch[j as usize])))
            .filter(|(_, value)| *value != 0.0)
            .collect()
    }
}

/// (1 - blend) I + blend W.
fn blended(w: Csr, blend: f32) -> Result<Csr> {
    if blend == 1.0 {
        return Ok(w);
    }
    let mut blended = CsrBuilder::new(w.n_columns());
    for (i, row) in (0..).zip(w.rows()) {
        let own = |j: u32| if i == j { 1.0 - blend } else { 0.0 };
        let place = row.indices().partition_point(|&j| j < i);
        let has_own = row.indices().get(place) == Some(&i);
        for (at, (j, value)) in row.iter().enumerate() {
            if at == place && !has_own {
                blended.push(i, own(i));
            }
            let value = blend * value + own(j);
            if value != 0.0 {
                blended.push(j, value);
            }
        }
        if place == row.indices().len() {
            blended.push(i, own(i));
        }
        blended.end_row();
    }
    blended.finish()
}
