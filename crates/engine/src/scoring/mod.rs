//! Scores of queries against the documents of a collection, and the best documents by them.
//!
//! ```text
//! Matcher -> top      the best documents of the collection
//!        \-> begin -> Scorer -> list, block   scores
//!        \-> explain  the reasons for a document's score
//! ```
//!
//! A [`Matcher`] is a model bound to documents; [`models`](crate::models) says how models are bound.
//!
//! A document that a model says nothing about has no score (NaN): one that shares no word with the query
//! for BM25, one that the walk does not reach, every document where a query has no known word. It is left
//! out of rankings of the whole collection, and counts as 0 among given candidates and in a combination.

mod among;
mod explanation;
mod sparse;
mod sweep;
mod top_k;

use std::ops::Range;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use crate::dataset::GivenDocuments;

pub use among::Among;
pub use explanation::{
    AttributeValue, ClickPath, ExpandedWord, Explanation, FeedbackShare, Pair, Part, StackedAttribute,
    StackedCount, StackedPart, TermContribution, Why, WordLikelihood,
};
pub(crate) use sparse::SparseScorer;
pub(crate) use sweep::{map_blocks, top as sweep_top, top_of};
pub use top_k::Hit;
pub(crate) use top_k::TopK;

/// A model bound to documents, which it knows by number: 0, 1, ... in the order of the dataset.
pub trait Matcher: Send + Sync {
    /// Number of documents.
    fn n_documents(&self) -> u32;

    /// Gets ready to score some queries, given by their texts.
    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>>;

    /// Explains the score of a document.
    fn explain(&self, query: &str, document: u32) -> Result<Explanation>;

    /// Explains the scores that [`Matcher::top_among`] gives documents. They differ from those of [`Matcher::explain`] for
    /// models that choose candidates and rank these.
    fn explain_among(
        &self,
        query: &str,
        documents: &[u32],
        _among: Option<Among<'_>>,
    ) -> Result<Vec<Explanation>> {
        documents.iter().map(|&document| self.explain(query, document)).collect()
    }

    /// Explains the scores that [`Scorer::list`] gives the documents at some places of a list. They differ from those of
    /// [`Matcher::explain`] for models that standardise scores over the list.
    fn explain_in_list(&self, query: &str, list: &[u32], places: &[usize]) -> Result<Vec<Explanation>> {
        places.iter().map(|&place| self.explain(query, list[place])).collect()
    }

    /// Number of queries to pass to [`Matcher::begin`] at a time, so that memory stays bounded.
    fn batch_size(&self) -> usize {
        256
    }

    /// The `k` best documents for each query: the highest score first, ties by document number.
    fn top(&self, queries: &[&str], k: usize, progress: &dyn Progress) -> Result<Vec<Vec<Hit>>> {
        self.top_among(queries, k, None, progress)
    }

    /// The `k` best of some documents, or of all, for each query.
    fn top_among(
        &self,
        queries: &[&str],
        k: usize,
        among: Option<Among<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Hit>>> {
        sweep::top(self, queries, k, among, progress)
    }

    /// The same model and clicks with other documents, which are known by 0, 1, ...
    fn over<'s>(&'s self, _documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        Err(Error::Params("this model ranks documents of a dataset only".into()))
    }

    /// Prepares for many single queries, at the price of memory: reads what is otherwise read when it is first asked for, and
    /// keeps images of documents that are otherwise computed for each batch of queries, if they take at most `bytes`.
    fn settle(&mut self, _bytes: u64, _progress: &dyn Progress) -> Result<()> {
        Ok(())
    }
}

/// Settles the parts of a model, each with an equal share of the memory.
pub(crate) fn settle_all<'a>(
    parts: &mut [Box<dyn Matcher + 'a>],
    bytes: u64,
    progress: &dyn Progress,
) -> Result<()> {
    let share = bytes / parts.len().max(1) as u64;
    parts.iter_mut().try_for_each(|part| part.settle(share, progress))
}

/// Scores documents for the queries of [`Matcher::begin`]. NaN is no score.
pub trait Scorer: Sync {
    /// Number of queries.
    fn n_queries(&self) -> usize;

    /// Called once, before the first [`Scorer::block`]; for models whose scores depend on all documents.
    fn prepare(&mut self) {}

    /// Scores some documents for one query.
    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]);

    /// Scores a range of documents for all queries: `scores[query * documents.len() + place]`.
    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        let documents: Vec<u32> = documents.collect();
        let lists = scores.chunks_mut(documents.len().max(1)).enumerate();
        lists.for_each(|(query, scores)| self.list(query, &documents, scores));
    }
}
