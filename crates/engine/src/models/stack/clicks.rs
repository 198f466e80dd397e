//! Columns beside the scores of models: how often a document, a query and both together were clicked in training.
//!
//! Models of clicks are good where training saw the query and say nothing or little elsewhere; models of words are
//! good everywhere. By the clicks of the query trees can tell when to listen to whom, and what is clicked often is
//! clicked again, whatever the query. Counts n are given as log(1 + n).

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::matching::SparseRow;

use crate::dataset::{BoundDocuments, Clicks, Dataset, GivenDocuments};

/// Names of the counts, in the order of their columns.
pub(super) const COUNTS: [&str; 3] =
    ["clicks on the document", "clicks of the query", "clicks of the query on the document"];

/// The training clicks of a dataset, by the documents of a matcher.
pub(super) struct ClickCounts<'a> {
    clicks: Arc<Clicks>,
    documents: BoundDocuments<'a>,
}

fn scaled(clicks: f64) -> f32 {
    clicks.ln_1p() as f32
}

impl<'a> ClickCounts<'a> {
    pub(super) fn new(clicks: Arc<Clicks>, documents: BoundDocuments<'a>) -> Self {
        Self { clicks, documents }
    }

    /// Of all documents of a dataset.
    pub(super) fn of_dataset(dataset: &'a Dataset) -> Result<Self> {
        Ok(Self::new(Arc::new(Clicks::of(dataset)?), BoundDocuments::all(dataset)))
    }

    /// The counts with other documents.
    pub(super) fn over<'s>(&self, documents: &'s GivenDocuments) -> ClickCounts<'s>
    where
        'a: 's,
    {
        let documents = BoundDocuments::given(self.documents.dataset, documents);
        ClickCounts { clicks: self.clicks.clone(), documents }
    }

    /// The counts of a query and some documents, in the order of [`COUNTS`].
    pub(super) fn of(&self, query: &str, documents: &[u32]) -> [Vec<f32>; COUNTS.len()] {
        let sum = |row: SparseRow<'_>| scaled(row.values().iter().map(|&n| f64::from(n)).sum());
        let of_row = |row| sum(self.clicks.of_document(row));
        let on_document =
            documents.iter().map(|&document| self.documents.row(document).map_or(0.0, of_row)).collect();
        let Some(row) = self.clicks.row_of(query) else {
            return [on_document, vec![0.0; documents.len()], vec![0.0; documents.len()]];
        };
        let own = self.clicks.of_query(row);
        let of_query = sum(own);
        let of_both = |&document: &u32| {
            let row = self.documents.row(document);
            let at = row.and_then(|row| own.indices().binary_search(&row).ok());
            at.map_or(0.0, |at| scaled(f64::from(own.values()[at])))
        };
        [on_document, vec![of_query; documents.len()], documents.iter().map(of_both).collect()]
    }
}
