//! Binds models to the documents of a dataset.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::progress::Progress;

use super::MatchingModel;
use crate::dataset::{BoundDocuments, Clicks, Dataset};
use crate::scoring::Matcher;

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
    bind_documents(model, BoundDocuments::rows(dataset, wanted), progress)
}

/// Binds a model to documents.
pub(crate) fn bind_documents<'a>(
    model: &'a dyn MatchingModel,
    documents: BoundDocuments<'a>,
    progress: &dyn Progress,
) -> Result<Box<dyn Matcher + 'a>> {
    model.bind(&mut Binding { documents, clicks: None, progress })
}

/// Binds several models, which share the clicks.
pub(crate) fn bind_all<'a>(
    models: &[&'a dyn MatchingModel],
    dataset: &'a Dataset,
    wanted: Option<&'a [u32]>,
    progress: &dyn Progress,
) -> Result<Vec<Box<dyn Matcher + 'a>>> {
    let mut binding = Binding { documents: BoundDocuments::rows(dataset, wanted), clicks: None, progress };
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

impl<'a, 'p> Binding<'a, 'p> {
    /// Documents of a dataset whose clicks were read before.
    pub(crate) fn with_clicks(
        documents: BoundDocuments<'a>,
        clicks: Arc<Clicks>,
        progress: &'p dyn Progress,
    ) -> Self {
        Self { documents, clicks: Some(clicks), progress }
    }

    /// The training clicks of the dataset.
    pub fn clicks(&mut self) -> Result<Arc<Clicks>> {
        if self.clicks.is_none() {
            self.clicks = Some(Arc::new(Clicks::of(self.documents.dataset)?));
        }
        Ok(self.clicks.clone().expect("just read"))
    }
}
