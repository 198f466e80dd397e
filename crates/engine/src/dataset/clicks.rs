//! The training responses of a dataset as a matrix, by query and by document.

use arrow_array::{Array, StringArray};
use matchrank_core::matching::{Csr, CsrBuilder, SparseRow};
use matchrank_core::{Error, Result};
use rayon::prelude::*;

use super::Names;
use super::{Dataset, QUERIES, Response, tables};
use crate::text::normalise_query;

/// The training clicks (or grades) of a dataset; responses of 0 are left out.
///
/// A query is its text: queries of the same text under different ids share their clicks, which stand in
/// the row of the first of them. Held-out clicks are in no training table and so not here.
pub struct Clicks {
    /// Texts of the queries that have clicks, in the order of their rows.
    texts: Names,
    /// The row of each of these texts.
    rows: Vec<u32>,
    by_query: Csr,
    by_document: Csr,
}

impl Clicks {
    /// Reads the training responses.
    pub fn of(dataset: &Dataset) -> Result<Self> {
        let statistics = &dataset.manifest.statistics;
        let (n_queries, n_documents) = (statistics.n_queries as usize, statistics.n_documents as usize);
        let mut responses = dataset.responses()?;
        responses.retain(|response| response.response > 0.0);

        let mut answered = vec![false; n_queries];
        responses.iter().for_each(|response| answered[response.query as usize] = true);
        let (mut texts, mut rows) = (Names::default(), Vec::new());
        let mut first: Vec<u32> = Vec::new();
        let path = dataset.folder().join(QUERIES);
        for batch in dataset.batches(QUERIES, Some(&["text"]))? {
            let batch = &batch?;
            let column: &StringArray = tables::column(&path, batch, "text")?;
            for i in 0..column.len() {
                let row = first.len() as u32;
                let mut own = row;
                if answered[row as usize] {
                    match texts.insert(column.value(i)) {
                        Ok(_) => rows.push(row),
                        Err(known) => own = rows[known as usize],
                    }
                }
                first.push(own);
            }
        }
        responses.iter_mut().for_each(|response| response.query = first[response.query as usize]);
        let by_query = matrix(n_queries, n_documents, responses)?;
        Ok(Self { texts, rows, by_document: by_query.transpose(), by_query })
    }

    /// Reads the training clicks for models that learn from nothing else. Returns an error if there is no response.
    pub fn to_learn_from(dataset: &Dataset) -> Result<Self> {
        let clicks = Self::of(dataset)?;
        if clicks.rows.is_empty() {
            return Err(Error::Params(format!(
                "{}: there is no training click or grade to learn from; ingest with option `clicks` or option `responses`",
                dataset.folder().display()
            )));
        }
        Ok(clicks)
    }

    /// The row of a query that has clicks, found by its text.
    pub fn row_of(&self, query: &str) -> Option<u32> {
        let number = self.texts.find(&normalise_query(query))?;
        Some(self.rows[number as usize])
    }

    /// Row and text of every query that has clicks, by ascending row.
    pub fn queries(&self) -> impl ExactSizeIterator<Item = (u32, &str)> {
        (0..self.rows.len()).map(|number| (self.rows[number], self.texts.get(number as u32)))
    }

    /// Text of a query that has clicks, by its number among [`queries`](Self::queries).
    pub fn text(&self, number: usize) -> &str {
        self.texts.get(number as u32)
    }

    /// Clicks on documents of the query in a row.
    pub fn of_query(&self, row: u32) -> SparseRow<'_> {
        self.by_query.row(row as usize)
    }

    /// Clicks on a document by queries.
    pub fn of_document(&self, document: u32) -> SparseRow<'_> {
        self.by_document.row(document as usize)
    }

    /// All clicks, a row for each query of the dataset.
    pub fn by_query(&self) -> &Csr {
        &self.by_query
    }

    /// Consumes `self` and returns the clicks by query.
    pub fn into_by_query(self) -> Csr {
        self.by_query
    }
}

fn matrix(n_queries: usize, n_documents: usize, mut responses: Vec<Response>) -> Result<Csr> {
    // Stable, so that the sums of pairs that are there twice do not depend on the number of threads.
    responses.par_sort_by_key(|response| (response.query, response.document));
    let mut builder = CsrBuilder::new(n_documents);
    let mut pairs = responses
        .chunk_by(|a, b| (a.query, a.document) == (b.query, b.document))
        .map(|same| (same[0].query, same[0].document, same.iter().map(|pair| pair.response).sum::<f32>()))
        .peekable();
    for query in 0..n_queries as u32 {
        while let Some((_, document, response)) = pairs.next_if(|pair| pair.0 == query) {
            builder.push(document, response);
        }
        builder.end_row();
    }
    builder.finish()
}
