//! The dataset below a collection, in memory.

use std::sync::Arc;

use arrow_array::{RecordBatch, StringArray};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use crate::dataset::{AttributeCell, AttributeColumn, Clicks, Dataset, Names};

/// A dataset with its documents and clicks in memory.
pub(super) struct BaseDocuments {
    pub(super) dataset: Dataset,
    pub(super) ids: Names,
    pub(super) clicks: Arc<Clicks>,
    pub(super) is_new: Vec<bool>,
    /// Attributes, in the order of the manifest.
    pub(super) attributes: Vec<AttributeColumn>,
    /// Number of the first document of each batch.
    starts: Vec<u32>,
}

impl BaseDocuments {
    pub(super) fn read(mut dataset: Dataset, progress: &dyn Progress) -> Result<Self> {
        progress.begin("reading documents", None, "documents");
        dataset.hold_texts()?;
        let mut ids = Names::default();
        for id in dataset.document_ids()? {
            if ids.insert(&id).is_err() {
                let message =
                    format!("{}: the id {id:?} is there twice; ingest again", dataset.folder().display());
                return Err(Error::Params(message));
            }
        }
        progress.advance(ids.len() as u64);
        let mut starts = Vec::new();
        let mut next = 0;
        for batch in dataset.held_documents() {
            starts.push(next);
            next += batch.num_rows() as u32;
        }
        let clicks = Arc::new(Clicks::of(&dataset)?);
        let is_new = dataset.new_documents()?;
        let names: Vec<&str> = dataset.attributes().iter().map(|attribute| attribute.name.as_str()).collect();
        let attributes = dataset.attribute_columns(&names, None)?;
        Ok(Self { dataset, ids, clicks, is_new, attributes, starts })
    }

    pub(super) fn len(&self) -> u32 {
        self.ids.len() as u32
    }

    /// Text of a document in a field of the manifest.
    pub(super) fn text(&self, document: u32, field: &str) -> &str {
        let (batch, row) = self.place(document);
        let column = batch.column_by_name(&crate::dataset::text_column(field));
        let column: Option<&StringArray> = column.and_then(|column| column.as_any().downcast_ref());
        column.map_or("", |column| column.value(row))
    }

    /// Attributes of a document, in the order of the manifest.
    pub(super) fn cells(&self, document: u32) -> Vec<AttributeCell> {
        self.attributes.iter().map(|column| column.cell(document)).collect()
    }

    fn place(&self, document: u32) -> (&RecordBatch, usize) {
        let at = self.starts.partition_point(|&start| start <= document) - 1;
        (&self.dataset.held_documents()[at], (document - self.starts[at]) as usize)
    }
}
