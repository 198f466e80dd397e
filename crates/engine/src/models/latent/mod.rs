//! Latent models f(x, y) = x' L_x L_y' y over text, and the code that all six kinds of them share.
//!
//! A [`LatentModel`] is a bilinear model of core together with the words and clicks that its features stand for. The
//! folders `lsi_dt`, `lsi_qd`, `pls`, `rmls`, `ssi` and `svdfeature` train it.

mod anchored;
mod bound;
mod codec;
mod describe;
mod epochs;
mod images;
mod inspect;
mod judge;
mod matcher;
mod related;
mod report;
mod share;
mod summary;
mod vectors;

use std::fmt;
use std::sync::Arc;

use matchrank_core::bounds::{Bound, RmlsFamily, SampleSize};
use matchrank_core::matching::{Bilinear, Mapping};
use matchrank_core::{Error, Result};

pub(super) use anchored::AnchoredLessons;
pub use anchored::{AnchoredFeatures, OptionalBase};
pub use bound::BoundInputs;
pub(super) use bound::one_feature_each;
pub(crate) use codec::{factor, put_factor};
pub(super) use epochs::{Learned, Learns, keep_best};
pub use inspect::{BoundReport, Inspection, Side, Spectrum, inspect};
pub(super) use judge::Judge;
pub use matcher::LatentScorer;
pub(super) use related::unknown;
pub use report::{Epoch, IterationRow, LatentReport};
pub(super) use share::choose_share;
pub use summary::rule_check;

use super::recipe::chosen;
use super::{Binding, MatchingModel, Related, RelatedQuery};
use crate::container::{Reader, Writer};
use crate::dataset::Dataset;
use crate::description::{Curve, Description};
use crate::features::{ClickKeys, ClickRow, FeatureRow, Features, KnownClicks, Source};
use crate::json::Json;
use crate::scoring::Matcher;
use crate::settings::{Parameter, Settings};
use crate::validation::ShareTrials;

pub(super) const TOLERANCE: Parameter = Parameter::new(
    "tolerance",
    "0.001",
    "residual, relative to the largest singular value, at which to stop",
);
pub(super) const MAX_STEPS: Parameter =
    Parameter::new("max_steps", "300", "products with the matrix at most");
pub(super) const RATE: Parameter = Parameter::new("rate", "0.02", "length of the first step of a row");
pub(super) const SPREAD: Parameter =
    Parameter::new("spread", "0.05", "rows start at random between this and its negative");

/// Computes a bound of the papers, with the number of its theorem.
pub(crate) type BoundOf = fn(&SampleSize, &RmlsFamily) -> Result<(u8, Bound)>;

/// Differences between the kinds of latent models; a constant in the folder of each.
#[derive(Clone, Copy)]
pub struct LatentKind {
    /// Name in files and on the command line.
    pub name: &'static str,
    /// True if its features are words and clicks, and not the rows of one dataset.
    pub(crate) knows_words: bool,
    /// True if its rows tend to collapse into one direction.
    pub(crate) may_collapse: bool,
    /// The bound of the papers on its generalisation, with the number of the theorem.
    pub(crate) bound: Option<BoundOf>,
}

impl LatentKind {
    /// A kind with words and clicks as features.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, knows_words: true, may_collapse: false, bound: None }
    }
}

impl PartialEq for LatentKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for LatentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Meaning of the features of a bilinear model.
#[derive(Debug, Clone)]
pub enum Inputs {
    /// Words and clicks.
    Features(Box<Features>),
    /// The queries and documents of one dataset, known by their clicks alone.
    Rows {
        /// The dataset.
        source: Source,
        /// Names of its queries and documents; files of former versions have none.
        keys: Option<Arc<ClickKeys>>,
    },
}

impl Inputs {
    /// The dataset the model was trained on.
    pub fn source(&self) -> &Source {
        match self {
            Self::Features(features) => features.source(),
            Self::Rows { source, .. } => source,
        }
    }

    /// Number of query features and of document features.
    pub fn dimensions(&self) -> (usize, usize) {
        match self {
            Self::Features(features) => (features.d_x(), features.d_y()),
            Self::Rows { source, .. } => (source.n_queries as usize, source.n_documents as usize),
        }
    }

    /// x: a query by its text, with its clicks where they are known.
    pub fn query(&self, text: &str, clicks: Option<KnownClicks<'_>>) -> FeatureRow {
        match self {
            Self::Features(features) => {
                let clicks = clicks.and_then(|clicks| clicks.of_text(text));
                features.query(text, clicks.as_ref().map(ClickRow::row))
            }
            Self::Rows { keys, .. } => {
                let number = match keys {
                    Some(keys) => keys.query(text),
                    None => clicks.and_then(|clicks| clicks.clicks().row_of(text)),
                };
                let indices: Vec<u32> = number.into_iter().collect();
                FeatureRow { values: vec![1.0; indices.len()], indices }
            }
        }
    }
}

/// A bilinear model over text.
#[derive(Debug, Clone)]
pub struct LatentModel {
    /// Kind of the model.
    pub kind: LatentKind,
    /// Parameters of its training.
    pub params: Json,
    /// Meaning of its features.
    pub inputs: Inputs,
    /// Factors that make scores of features.
    pub model: Bilinear,
    /// Report of its training.
    pub report: LatentReport,
}

impl LatentModel {
    /// Share of what was learned beside the base, for models that have one.
    fn share(&self) -> Option<f32> {
        (self.model.identity() > 0)
            .then(|| self.model.weights().and_then(|weights| weights.first().copied()).unwrap_or(1.0))
    }

    /// Checks that the model has a row for every feature.
    pub fn validate(&self) -> Result<()> {
        let (d_x, d_y) = self.inputs.dimensions();
        let found = (self.model.lx().n_features(), self.model.ly().n_features());
        if found != (d_x, d_y) {
            return Err(Error::Shape(format!(
                "the model maps {} query features and {} document features, and there are {d_x} and {d_y}",
                found.0, found.1
            )));
        }
        Ok(())
    }
}

/// Parameters as files keep them.
pub(super) fn plain<T: serde::Serialize>(params: &T) -> Json {
    Json(serde_json::to_value(params).expect("parameters are plain data"))
}

/// Reads a latent model of a kind.
pub(super) fn open(file: &Reader<'_>, kind: LatentKind) -> Result<Arc<dyn MatchingModel>> {
    Ok(Arc::new(codec::get(file, kind)?))
}

impl MatchingModel for LatentModel {
    fn kind(&self) -> &'static str {
        self.kind.name
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        let (documents, progress) = (binding.documents, binding.progress);
        let inputs = BoundInputs::new(
            (self.kind.name, &self.inputs),
            documents.dataset,
            || binding.clicks(),
            progress,
        )?;
        Ok(Box::new(matcher::LatentMatcher::new(self, Arc::new(inputs), documents, progress)?))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        codec::put(file, self)
    }

    fn describe(&self) -> Result<Description> {
        describe::describe(self)
    }

    fn summary(&self, dataset: &Dataset) -> Description {
        summary::summary(self, dataset)
    }

    fn validation(&self) -> Option<f64> {
        self.report.validation
    }

    fn curves(&self) -> Vec<Curve> {
        let report = &self.report;
        let kept = report.best.map(|best| best as f64);
        let iterations = report.iterations.iter().map(|row| (row.report.number as f64, row.validation));
        let epochs = report.epochs.iter().map(|epoch| (epoch.number as f64, epoch.validation));
        let losses = report.epochs.iter().map(|epoch| (epoch.number as f64, Some(epoch.loss)));
        let spectrum = (1..).zip(&report.singular_values).map(|(i, s)| (f64::from(i), Some(*s)));
        vec![
            Curve::new("iteration", "validation NDCG@10", iterations.chain(epochs), kept),
            Curve::new("iteration", "loss", losses, kept),
            Curve::new("dimension", "singular value", spectrum, None),
        ]
    }

    fn shares(&self) -> Option<(&'static str, &ShareTrials)> {
        Some(("share", &self.report.share_trials))
    }

    fn chosen(&self) -> Settings {
        let mut settings: Settings = self.report.best.iter().map(|best| chosen("iterations", best)).collect();
        if let Inputs::Features(features) = &self.inputs
            && let Some(bm25) = features.bm25()
        {
            settings.extend([chosen("k1", &bm25.k1), chosen("b", &bm25.b)]);
        }
        if !self.report.shares.is_empty() {
            settings.extend(self.share().map(|share| chosen("share", &share)));
        }
        settings
    }

    fn related(&self, query: &RelatedQuery<'_>) -> Option<Result<Related>> {
        self.kind.knows_words.then(|| related::related(self, query))
    }
}
