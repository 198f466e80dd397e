//! Bilinear models with what their features stand for: everything needed to score text against text.

use matchrank_core::matching::{Bilinear, Csr, CsrBuilder, PairContribution};
use matchrank_core::{Error, Result};
use serde_json::Value;

use super::Report;
use crate::dataset::Clicks;
use crate::features::{Feature, FeatureRow, Features, Source};

/// How a bilinear model was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatentKind {
    /// Regularised mapping to latent structures.
    Rmls,
    /// Partial least squares.
    Pls,
    /// Latent semantic indexing of the documents' words.
    LsiDt,
    /// Latent semantic indexing of the clicks.
    LsiQd,
    /// Supervised semantic indexing.
    Ssi,
    /// Feature-based matrix factorisation.
    SvdFeature,
}

impl LatentKind {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Rmls, Self::Pls, Self::LsiDt, Self::LsiQd, Self::Ssi, Self::SvdFeature];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rmls => "rmls",
            Self::Pls => "pls",
            Self::LsiDt => "lsi-dt",
            Self::LsiQd => "lsi-qd",
            Self::Ssi => "ssi",
            Self::SvdFeature => "svdfeature",
        }
    }
}

/// What the features of a bilinear model stand for.
#[derive(Debug, Clone)]
pub enum Inputs {
    /// Words and clicks.
    Features(Box<Features>),
    /// The queries and documents of one dataset, known by their rows alone.
    Rows(Source),
}

impl Inputs {
    /// The dataset the model was trained on.
    pub fn source(&self) -> &Source {
        match self {
            Self::Features(features) => features.source(),
            Self::Rows(source) => source,
        }
    }

    /// Number of query features and of document features.
    pub fn dimensions(&self) -> (usize, usize) {
        match self {
            Self::Features(features) => (features.d_x(), features.d_y()),
            Self::Rows(source) => (source.n_queries as usize, source.n_documents as usize),
        }
    }

    /// Y of a model that knows documents by their rows: a feature for each.
    pub(crate) fn identity(n_columns: usize, rows: impl Iterator<Item = u32>) -> Result<Csr> {
        let mut identity = CsrBuilder::new(n_columns);
        for row in rows {
            identity.push(row, 1.0);
            identity.end_row();
        }
        identity.finish()
    }

    /// x: a query by its text, with its clicks where they are known.
    pub fn query(&self, text: &str, clicks: Option<&Clicks>) -> FeatureRow {
        let row = clicks.and_then(|clicks| Some((clicks, clicks.row_of(text)?)));
        match self {
            Self::Features(features) => features.query(text, row.map(|(clicks, row)| clicks.of_query(row))),
            Self::Rows(_) => match row {
                Some((_, row)) => FeatureRow { indices: vec![row], values: vec![1.0] },
                None => FeatureRow::default(),
            },
        }
    }

    /// What a query feature stands for: a word, or a row of the dataset.
    pub(super) fn query_feature(&self, u: u32) -> Named<'_> {
        match self {
            _ if u == PairContribution::ANY => Named::Any,
            Self::Features(features) => match features.feature(u) {
                Feature::Word(word) => Named::Word(word),
                Feature::Row(document) => Named::Document(document),
            },
            Self::Rows(_) => Named::Query(u),
        }
    }

    /// What a document feature stands for.
    pub(super) fn document_feature(&self, v: u32) -> Named<'_> {
        match self {
            _ if v == PairContribution::ANY => Named::Any,
            Self::Features(features) => match features.feature(v) {
                Feature::Word(word) => Named::Word(word),
                Feature::Row(query) => Named::Query(query),
            },
            Self::Rows(_) => Named::Document(v),
        }
    }
}

/// A feature as a person may call it.
pub(super) enum Named<'a> {
    Word(&'a str),
    Query(u32),
    Document(u32),
    /// None: what the other feature adds, whatever it meets.
    Any,
}

/// A bilinear model over text.
#[derive(Debug, Clone)]
pub struct LatentModel {
    /// How it was found.
    pub kind: LatentKind,
    /// Parameters of its training.
    pub params: Value,
    /// What its features stand for.
    pub inputs: Inputs,
    /// How features become scores.
    pub model: Bilinear,
    /// What its training reported.
    pub report: Report,
}

impl LatentModel {
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
