//! Models that score text against text: core's models together with the words and clicks they know.
//!
//! | model | file |
//! |---|---|
//! | BM25 over text | [`TextBm25`] |
//! | RMLS, PLS, LSI, SSI, SVDFeature: a bilinear model with what its features stand for | [`LatentModel`] |
//! | topics that queries and documents share | [`BltmModel`] |
//! | backward random walk on the training clicks | [`WalkModel`] |
//! | q' W d, a weight for every pair of words | [`PreferenceModel`] |
//! | a weighted sum of two models | [`Combination`] |
//! | a ranker over the scores of several models | [`Stack`] |
//!
//! A [`MatchingModel`] is any of them, as a file holds it. [`bind`] brings it together with the documents
//! of a dataset and gives a [`Matcher`]:
//!
//! ```text
//! MatchingModel + Dataset -> bind -> Matcher -> top      the best documents of the collection
//!                                           \-> begin -> Scorer -> list, block   scores
//!                                           \-> explain  why a document has its score
//! ```
//!
//! A document that a model says nothing about has no score (NaN): one that shares no word with the query
//! for BM25, one that the walk does not reach, every document where a query has no known word. It is left
//! out of rankings of the whole collection, and counts as 0 among given candidates and in a combination.

mod bind;
mod bltm;
mod bltm_matcher;
mod bm25_matcher;
mod combination;
mod explanation;
mod latent;
mod latent_matcher;
mod preference;
mod preference_matcher;
mod related;
mod report;
mod stack;
mod sweep;
mod synonyms;
#[cfg(test)]
mod tests;
mod text_bm25;
mod walk;

use std::ops::Range;

use matchrank_core::Result;
use matchrank_core::progress::Progress;

pub use bind::{MatchingModel, bind};
pub use bltm::{BltmIteration, BltmModel, BltmReport, Topic};
pub(crate) use bltm_matcher::{BltmScorer, KnownDocuments};
pub use combination::Combination;
pub use explanation::{ClickPath, Explanation, Pair, Part, StackedCount, StackedPart, Why, WordLikelihood};
pub use latent::{Inputs, LatentKind, LatentModel};
pub use latent_matcher::LatentScorer;
pub use preference::{PreferenceModel, WeightedWord};
pub use preference_matcher::PreferenceScorer;
pub use related::RelatedWord;
pub use report::{Epoch, IterationRow, Report};
pub use stack::{ColumnScorer, Columns, Stack, StackCandidates, StackKind, StackParams, StackTrial};
pub(crate) use sweep::top_of;
pub use synonyms::{PairChange, SynonymFormat, WordPair, changes, read_pairs, word_pairs, write_pairs};
pub use text_bm25::{TermContribution, TextBm25};
pub use walk::WalkModel;

use crate::retrieval::Hit;

/// A model bound to documents, which it knows by number: 0, 1, ... in the order of the dataset.
pub trait Matcher: Sync {
    /// Number of documents.
    fn n_documents(&self) -> u32;

    /// Gets ready to score some queries, given by their texts.
    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>>;

    /// Why a document has its score.
    fn explain(&self, query: &str, document: u32) -> Result<Explanation>;

    /// How many queries [`Matcher::begin`] should be given at a time, so that memory stays bounded.
    fn batch_size(&self) -> usize {
        256
    }

    /// The `k` best documents for each query: the highest score first, ties by document number.
    fn top(&self, queries: &[&str], k: usize, progress: &dyn Progress) -> Result<Vec<Vec<Hit>>> {
        sweep::top(self, queries, k, progress)
    }
}

/// Scores documents for the queries of [`Matcher::begin`]. NaN is no score.
pub trait Scorer: Sync {
    /// Number of queries.
    fn n_queries(&self) -> usize;

    /// Called once, before the first [`Scorer::block`]; for models whose scores depend on all documents.
    fn prepare(&mut self) {}

    /// The scores of some documents for one query.
    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]);

    /// The scores of a range of documents for all queries: `scores[query * documents.len() + place]`.
    fn block(&self, documents: Range<u32>, scores: &mut [f32]);
}
