//! Binds models to the documents of a dataset.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::progress::Progress;

use super::MatchingModel;
use crate::dataset::{Clicks, Dataset};
use crate::scoring::Matcher;

/// The documents a matcher knows: all of a dataset, or some by ascending row numbers.
#[derive(Clone, Copy)]
pub struct BoundDocuments<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// Rows of the documents, ascending; `None` for all.
    pub wanted: Option<&'a [u32]>,
}

impl BoundDocuments<'_> {
    /// Number of documents.
    pub fn len(&self) -> u32 {
        self.wanted.map_or(self.dataset.manifest.statistics.n_documents, |wanted| wanted.len() as u64) as u32
    }

    /// Returns true if there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Row in the dataset of a document, given by its number in the matcher.
    pub fn row(&self, document: u32) -> u32 {
        self.wanted.map_or(document, |wanted| wanted[document as usize])
    }
}

/// Binds a model to the documents of a dataset, or to those `wanted`, given by ascending row numbers. The matcher knows
/// the documents as 0, 1, ... in this order.
///
/// Clicks are used only with the dataset the model was trained on; with another one, a note says that
/// queries and documents are known by their words alone.
pub fn bind<'a>(
    model: &'a dyn MatchingModel,
    dataset: &'a Dataset,
    wanted: Option<&'a [u32]>,
    progress: &dyn Progress,
) -> Result<Box<dyn Matcher + 'a>> {
    model.bind(&mut Binding { documents: BoundDocuments { dataset, wanted }, clicks: None, progress })
}

/// Binds several models, which share the clicks.
pub(crate) fn bind_all<'a>(
    models: &[&'a dyn MatchingModel],
    dataset: &'a Dataset,
    wanted: Option<&'a [u32]>,
    progress: &dyn Progress,
) -> Result<Vec<Box<dyn Matcher + 'a>>> {
    let mut binding = Binding { documents: BoundDocuments { dataset, wanted }, clicks: None, progress };
    models.iter().map(|model| model.bind(&mut binding)).collect()
}

/// Documents to bind models to, and the clicks, which are read once for all parts of a model.
pub struct Binding<'a, 'p> {
    /// The documents.
    pub documents: BoundDocuments<'a>,
    clicks: Option<Arc<Clicks>>,
    /// Receives notes.
    pub progress: &'p dyn Progress,
}

impl Binding<'_, '_> {
    /// The training clicks of the dataset.
    pub fn clicks(&mut self) -> Result<Arc<Clicks>> {
        if self.clicks.is_none() {
            self.clicks = Some(Arc::new(Clicks::of(self.documents.dataset)?));
        }
        Ok(self.clicks.clone().expect("just read"))
    }
}
