//! The inputs of a latent model for the queries and documents of one dataset.

use std::collections::HashMap;
use std::sync::Arc;

use matchrank_core::matching::{Csr, CsrBuilder, PairContribution};
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::Inputs;
use crate::dataset::BoundDocuments;
use crate::dataset::{Clicks, Dataset};
use crate::features::{Feature, FeatureRow, Features, KnownClicks, RowNumbers, document_rows};

/// In the place of a feature, beside one that adds something by itself.
const ANY: &str = "(any)";

/// Turns the queries and documents of one dataset into the features of a model.
///
/// In the dataset that the model was trained on, click features have the numbers of its rows. In another one they are found by
/// ids and texts; files of former versions do not have these, and their models know words alone there.
pub struct BoundInputs<'a> {
    inputs: &'a Inputs,
    pub(super) dataset: &'a Dataset,
    clicks: Option<Arc<Clicks>>,
    /// `None` where rows have the same numbers in the model.
    numbers: Option<RowNumbers>,
}

impl<'a> BoundInputs<'a> {
    /// Binds the inputs of a model, named for messages, to a dataset whose clicks are read where they are needed.
    pub fn new(
        (kind, inputs): (&str, &'a Inputs),
        dataset: &'a Dataset,
        clicks: impl FnOnce() -> Result<Arc<Clicks>>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let is_own = inputs.source().content_hash == dataset.manifest.content_hash;
        let (clicks, numbers) = match inputs {
            Inputs::Features(features) if !features.use_clicks() => (None, None),
            Inputs::Features(_) if is_own => (Some(clicks()?), None),
            Inputs::Features(features) => match features.keys() {
                Some(keys) => {
                    let clicks = clicks()?;
                    let numbers = keys.numbers(dataset, Some(&clicks))?;
                    (Some(clicks), Some(numbers))
                }
                None => {
                    progress.note(&format!(
                        "the {kind} model was trained on another dataset by a former version: its clicks are left out, words are used"
                    ));
                    (None, None)
                }
            },
            Inputs::Rows { .. } if is_own => {
                let clicks = clicks()?;
                let numbers = RowNumbers::clicked(&clicks);
                (Some(clicks), Some(numbers))
            }
            Inputs::Rows { keys: Some(keys), .. } => (None, Some(keys.numbers(dataset, None)?)),
            Inputs::Rows { keys: None, .. } => {
                return Err(Error::Params(format!(
                    "a {kind} model of a former version knows only the dataset it was trained on, and {} is another; train it \
                     on this one",
                    dataset.folder().display()
                )));
            }
        };
        if !is_own && let Some(numbers) = &numbers {
            let (known, all) = (numbers.n_documents(), dataset.manifest.statistics.n_documents);
            progress.note(&format!(
                "the {kind} model was trained on another dataset: it knows clicks on {known} of {} here",
                counted(all, "document")
            ));
        }
        Ok(Self { inputs, dataset, clicks, numbers })
    }

    /// x: a query by its text.
    pub fn query(&self, text: &str) -> FeatureRow {
        self.inputs.query(text, self.known_clicks())
    }

    fn known_clicks(&self) -> Option<KnownClicks<'_>> {
        let clicks = self.clicks.as_deref()?;
        Some(KnownClicks::renumbered(clicks, self.numbers.as_ref()))
    }

    /// Y: the features of documents, row by row. Where documents are known by their clicks alone, others have none.
    pub(super) fn documents(&self, documents: BoundDocuments<'_>, progress: &dyn Progress) -> Result<Csr> {
        match self.inputs {
            Inputs::Features(features) => document_rows(features, documents, self.known_clicks(), progress),
            Inputs::Rows { source, .. } => {
                let numbers = self.numbers.as_ref().expect("rows are numbered");
                let rows = (0..documents.len()).map(|document| numbers.document(documents.row(document)?));
                one_feature_each(source.n_documents as usize, rows)
            }
        }
    }

    /// Names of features of a query, as a person may call them.
    pub(super) fn query_names(&self, text: &str, features: &[u32]) -> Result<Vec<String>> {
        match self.inputs {
            Inputs::Features(inputs) => {
                let ids = |rows: &[u32]| self.dataset.document_ids_of(rows);
                self.names((inputs, features), "document", RowNumbers::document_rows, ids)
            }
            Inputs::Rows { .. } => Ok(vec![format!("query:{text}"); features.len()]),
        }
    }

    /// Names of features of a document.
    pub(super) fn document_names(
        &self,
        (documents, document): (BoundDocuments<'_>, u32),
        features: &[u32],
    ) -> Result<Vec<String>> {
        match self.inputs {
            Inputs::Features(inputs) => {
                let texts = |rows: &[u32]| self.dataset.query_texts_of(rows);
                self.names((inputs, features), "query", RowNumbers::query_rows, texts)
            }
            Inputs::Rows { .. } => {
                let id = documents.id(document)?;
                Ok(vec![format!("document:{id}"); features.len()])
            }
        }
    }

    /// Names words by themselves, and click features by what the dataset calls their rows.
    fn names(
        &self,
        (inputs, features): (&Features, &[u32]),
        label: &str,
        rows_of: impl Fn(&RowNumbers, &[u32]) -> Vec<Option<u32>>,
        cells: impl Fn(&[u32]) -> Result<HashMap<u32, String>>,
    ) -> Result<Vec<String>> {
        let number = |&feature: &u32| match inputs.feature(feature) {
            Feature::Row(number) if feature != PairContribution::ANY => Some(number),
            _ => None,
        };
        let numbers: Vec<u32> = features.iter().filter_map(number).collect();
        let rows = match &self.numbers {
            Some(known) => rows_of(known, &numbers),
            None => numbers.iter().map(|&number| Some(number)).collect(),
        };
        let texts = cells(&rows.iter().copied().flatten().collect::<Vec<u32>>())?;
        let mut rows = rows.into_iter();
        let name = |&feature: &u32| match inputs.feature(feature) {
            _ if feature == PairContribution::ANY => ANY.to_owned(),
            Feature::Word(word) => word.to_owned(),
            Feature::Row(_) => {
                let row = rows.next().flatten().expect("an active feature has a row");
                format!("{label}:{}", texts[&row])
            }
        };
        Ok(features.iter().map(name).collect())
    }
}

/// Y of a model that knows documents by their rows: a feature for each document that has a number.
pub(in crate::models) fn one_feature_each(
    n_columns: usize,
    numbers: impl Iterator<Item = Option<u32>>,
) -> Result<Csr> {
    let mut rows = CsrBuilder::new(n_columns);
    for number in numbers {
        number.into_iter().for_each(|number| rows.push(number, 1.0));
        rows.end_row();
    }
    rows.finish()
}
