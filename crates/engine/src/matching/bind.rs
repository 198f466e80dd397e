//! A model of any kind, and how it is brought together with the documents of a dataset.

use std::sync::Arc;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::bltm_matcher::BltmMatcher;
use super::bm25_matcher::Bm25Matcher;
use super::combination::CombinationMatcher;
use super::latent_matcher::LatentMatcher;
use super::preference_matcher::PreferenceMatcher;
use super::stack::{ClickCounts, Columns, StackMatcher};
use super::walk::WalkMatcher;
use super::{
    BltmModel, Combination, Inputs, LatentModel, Matcher, PreferenceModel, Stack, TextBm25, WalkModel,
};
use crate::dataset::{Clicks, Dataset};

/// A model of any kind that a file may hold.
#[derive(Debug, Clone)]
pub enum MatchingModel {
    /// BM25 over text.
    Bm25(Arc<TextBm25>),
    /// RMLS, PLS, LSI, SSI or SVDFeature.
    Latent(Box<LatentModel>),
    /// Bilingual topics.
    Bltm(Box<BltmModel>),
    /// A random walk on the training clicks.
    RandomWalk(WalkModel),
    /// q' W d.
    Preference(Box<PreferenceModel>),
    /// A weighted sum of two models.
    Combination(Box<Combination>),
    /// A ranker over the scores of several models.
    Stack(Box<Stack>),
}

impl MatchingModel {
    /// Its kind, as files and commands call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bm25(_) => "bm25",
            Self::Latent(model) => model.kind.name(),
            Self::Bltm(_) => "bltm",
            Self::RandomWalk(_) => "random-walk",
            Self::Preference(_) => "sparse-preference",
            Self::Combination(_) => "combination",
            Self::Stack(_) => "stack",
        }
    }
}

/// The documents a matcher knows: all of a dataset, or some by ascending row numbers.
#[derive(Clone, Copy)]
pub(super) struct Documents<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) wanted: Option<&'a [u32]>,
}

impl Documents<'_> {
    pub(super) fn len(&self) -> u32 {
        self.wanted.map_or(self.dataset.manifest.statistics.n_documents, |wanted| wanted.len() as u64) as u32
    }

    /// Row in the dataset of a document, given by its number in the matcher.
    pub(super) fn row(&self, document: u32) -> u32 {
        self.wanted.map_or(document, |wanted| wanted[document as usize])
    }
}

/// Brings a model together with the documents of a dataset, or with those `wanted`, given by ascending row
/// numbers. The matcher knows the documents as 0, 1, ... in this order.
///
/// Clicks are used only with the dataset the model was trained on; with another one, a note says that
/// queries and documents are known by their words alone.
pub fn bind<'a>(
    model: &'a MatchingModel,
    dataset: &'a Dataset,
    wanted: Option<&'a [u32]>,
    progress: &dyn Progress,
) -> Result<Box<dyn Matcher + 'a>> {
    let mut binding = Binding { documents: Documents { dataset, wanted }, clicks: None, progress };
    binding.matcher(model)
}

/// The same for several models, which share the clicks.
pub(super) fn bind_all<'a>(
    models: &[&'a MatchingModel],
    dataset: &'a Dataset,
    wanted: Option<&'a [u32]>,
    progress: &dyn Progress,
) -> Result<Vec<Box<dyn Matcher + 'a>>> {
    let mut binding = Binding { documents: Documents { dataset, wanted }, clicks: None, progress };
    models.iter().map(|model| binding.matcher(model)).collect()
}

struct Binding<'a, 'p> {
    documents: Documents<'a>,
    /// Read once for all parts of a combination.
    clicks: Option<Arc<Clicks>>,
    progress: &'p dyn Progress,
}

impl<'a> Binding<'a, '_> {
    fn matcher(&mut self, model: &'a MatchingModel) -> Result<Box<dyn Matcher + 'a>> {
        let documents = self.documents;
        Ok(match model {
            MatchingModel::Bm25(model) => Box::new(Bm25Matcher::new(model.clone(), documents)?),
            MatchingModel::Latent(model) => {
                let clicks = self.clicks_of(model)?;
                Box::new(LatentMatcher::new(model, documents, clicks, self.progress)?)
            }
            MatchingModel::Bltm(model) => Box::new(BltmMatcher::new(model, documents, self.progress)?),
            MatchingModel::RandomWalk(model) => {
                if model.content_hash != documents.dataset.manifest.content_hash {
                    self.progress.note(
                        "the random walk was trained on another dataset; it walks on the clicks of this one",
                    );
                }
                Box::new(WalkMatcher::new(model, documents, self.clicks()?)?)
            }
            MatchingModel::Preference(model) => {
                Box::new(PreferenceMatcher::new(model, documents, self.progress)?)
            }
            MatchingModel::Combination(model) => {
                let parts = [self.matcher(&model.first)?, self.matcher(&model.second)?];
                Box::new(CombinationMatcher::new(model, parts))
            }
            MatchingModel::Stack(model) => {
                let parts = model.parts.iter().map(|(_, part)| self.matcher(part)).collect::<Result<_>>()?;
                let counts =
                    if model.clicks { Some(ClickCounts::new(self.clicks()?, documents)) } else { None };
                Box::new(StackMatcher::new(model, Columns::new(parts, counts)))
            }
        })
    }

    fn clicks(&mut self) -> Result<Arc<Clicks>> {
        if self.clicks.is_none() {
            self.clicks = Some(Arc::new(Clicks::of(self.documents.dataset)?));
        }
        Ok(self.clicks.clone().expect("just read"))
    }

    fn clicks_of(&mut self, model: &LatentModel) -> Result<Option<Arc<Clicks>>> {
        let own = model.inputs.source().content_hash == self.documents.dataset.manifest.content_hash;
        match &model.inputs {
            Inputs::Features(features) if !features.use_clicks() => Ok(None),
            Inputs::Features(_) if !own => {
                self.progress.note(&format!(
                    "the {} model was trained on another dataset: its clicks are left out, words are used",
                    model.kind.name()
                ));
                Ok(None)
            }
            Inputs::Rows(_) if !own => Err(Error::Params(format!(
                "a {} model knows only the queries and documents of the dataset it was trained on, and {} is \
                 another; train it on this one",
                model.kind.name(),
                self.documents.dataset.folder().display()
            ))),
            _ => self.clicks().map(Some),
        }
    }
}
