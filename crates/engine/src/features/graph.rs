//! Converts a dataset into a click graph: X, Y and R of every matching model.

use matchrank_core::Result;
use matchrank_core::bounds::harmonic_mean;
use matchrank_core::matching::{ClickGraph, Csr, CsrBuilder};
use matchrank_core::message::{HAS, counted_with};
use matchrank_core::progress::Progress;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{ClickRow, FeatureRow, Features, KnownClicks};
use crate::dataset::{BoundDocuments, Clicks, Dataset};
use crate::text::{Bag, BagOfWords};

/// Sizes of a click graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FeatureStatistics {
    /// Queries with a training response.
    pub n_x: usize,
    /// Documents.
    pub n_y: usize,
    /// Word features.
    pub n_words: usize,
    /// Features of a query.
    pub d_x: usize,
    /// Features of a document.
    pub d_y: usize,
    /// Mean nonzero features of a query with a response.
    pub c_x: f64,
    /// Mean nonzero features of a document.
    pub c_y: f64,
    /// Largest number of features of one query with a response.
    pub m_x: usize,
    /// Largest number of features of one document.
    pub m_y: usize,
    /// Pairs with a training response.
    pub n_pairs: usize,
    /// Harmonic mean of the number of documents per query with a response.
    pub n_answers: f64,
    /// Largest response.
    pub r_max: f32,
    /// Queries with a response, but without a feature.
    pub n_empty_x: usize,
    /// Documents without a feature.
    pub n_empty_y: usize,
}

/// Queries that a thread processes at a time, and queries that all threads hold in memory before they are stored.
const CHUNK: usize = 1 << 9;
const BATCH: usize = 1 << 14;

/// Builds the click graph of a dataset. Its [`Clicks`] become the responses.
///
/// Queries and documents keep their row numbers. A query without a training response has an empty row: there is nothing
/// to learn from it, and held-out data stays out.
pub fn click_graph(
    features: &Features,
    dataset: &Dataset,
    clicks: Clicks,
    progress: &dyn Progress,
) -> Result<(ClickGraph, FeatureStatistics)> {
    let y = document_rows(features, BoundDocuments::all(dataset), Some((&clicks).into()), progress)?;
    let x = query_rows(features, &clicks, progress)?;
    let n_x = clicks.queries().len();
    let r = clicks.into_by_query();
    let empty = |matrix: &Csr| matrix.rows().filter(|row| row.indices().is_empty()).count();
    let longest = |matrix: &Csr| matrix.rows().map(|row| row.indices().len()).max().unwrap_or(0);
    let answers = r.rows().map(|row| row.indices().len() as u64).filter(|&n| n > 0);
    let statistics = FeatureStatistics {
        n_x,
        n_y: y.n_rows(),
        n_words: features.n_words(),
        d_x: x.n_columns(),
        d_y: y.n_columns(),
        c_x: x.nnz() as f64 / n_x.max(1) as f64,
        c_y: y.nnz() as f64 / y.n_rows().max(1) as f64,
        m_x: longest(&x),
        m_y: longest(&y),
        n_pairs: r.nnz(),
        n_answers: harmonic_mean(answers),
        r_max: r.values().iter().copied().fold(0.0, f32::max),
        n_empty_x: n_x + empty(&x) - x.n_rows(),
        n_empty_y: empty(&y),
    };
    for (n, what) in [(statistics.n_empty_x, "query"), (statistics.n_empty_y, "document")] {
        if n > 0 {
            progress.note(&format!("{} neither a known word nor a click", counted_with(n, what, HAS)));
        }
    }
    Ok((ClickGraph::new(x, y, r)?, statistics))
}

/// Computes Y: the features of documents, row by row.
///
/// Without `clicks` the documents have words only.
pub fn document_rows(
    features: &Features,
    documents: BoundDocuments<'_>,
    clicks: Option<KnownClicks<'_>>,
    progress: &dyn Progress,
) -> Result<Csr> {
    progress.begin("computing document features", Some(u64::from(documents.len())), "documents");
    let mut builder = CsrBuilder::new(features.d_y());
    documents.map(
        &features.words().fields,
        |row, texts| {
            let row = row.filter(|&row| !features.is_hidden(1, row));
            let clicks = clicks.zip(row).map(|(clicks, row)| clicks.of_document(row));
            let row = features.document(texts, clicks.as_ref().map(ClickRow::row));
            progress.advance(1);
            row
        },
        |row: FeatureRow| builder.push_row(row.row()),
    )?;
    builder.finish()
}

/// Counts the words of documents, with weighted fields.
pub fn document_counts(
    words: &BagOfWords,
    documents: BoundDocuments<'_>,
    progress: &dyn Progress,
) -> Result<Csr> {
    progress.begin("counting document words", Some(u64::from(documents.len())), "documents");
    let mut builder = CsrBuilder::new(words.vocabulary.len());
    let bag = |_: Option<u32>, texts: &[&str]| {
        progress.advance(1);
        words.document(texts)
    };
    documents.map(&words.fields, bag, |bag: Bag| builder.push_row(bag.row()))?;
    builder.finish()
}

/// Computes X: the features of the queries with clicks.
fn query_rows(features: &Features, clicks: &Clicks, progress: &dyn Progress) -> Result<Csr> {
    progress.begin("computing query features", Some(clicks.queries().len() as u64), "queries");
    let mut builder = CsrBuilder::new(features.d_x());
    let mut next = 0u32;
    let queries: Vec<(u32, &str)> = clicks.queries().collect();
    for batch in queries.chunks(BATCH) {
        let made: Vec<Vec<FeatureRow>> = batch
            .par_chunks(CHUNK)
            .map(|chunk| {
                let clicks = |row| (!features.is_hidden(0, row)).then(|| clicks.of_query(row));
                let x = |&(row, text): &(u32, &str)| features.query_to_learn_from(text, clicks(row));
                chunk.iter().map(x).collect()
            })
            .collect();
        for ((row, _), made) in batch.iter().zip(made.into_iter().flatten()) {
            (next..*row).for_each(|_| builder.end_row());
            builder.push_row(made.row());
            next = row + 1;
        }
        progress.advance(batch.len() as u64);
    }
    (next as usize..clicks.by_query().n_rows()).for_each(|_| builder.end_row());
    builder.finish()
}
