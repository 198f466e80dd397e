//! Descriptors of rankers: all that commands, tuning, comparison and model files know of a kind.

use std::sync::Arc;

use matchrank_core::data::FeatureLists;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::model::RankingModel;
use super::recipe::RankerParams;
use super::registry;
use crate::container::Reader;
use crate::json::Json;
use crate::settings::Parameter;

/// Makes parameters from settings.
pub(crate) type ParseParams = fn(&[(String, Json)]) -> Result<Arc<dyn RankerParams>>;

/// Describes a kind of ranker: one constant in the folder of the ranker, one line in the [table](registry).
pub struct RankerKind {
    /// Name in files, in plans and on the command line.
    pub name: &'static str,
    /// Name as a type in programs of other languages, such as `RankSVM`.
    pub class: &'static str,
    /// One line for people who look for a ranker.
    pub summary: &'static str,
    /// Paragraphs on how it works and when to use it, with blank lines between; empty where `summary` says it all.
    pub help: &'static str,
    /// Its parameters, without the one whose values are its variants.
    pub parameters: &'static [Parameter],
    /// Arguments of a training command that show its use, one example each.
    pub examples: &'static [&'static str],
    /// Inputs that training takes beside lists.
    pub takes: Takes,
    /// A parameter whose values are rankers that users know by name.
    pub variants: Option<&'static Variants>,
    /// Content of its curve, for rankers that have one ([`RankingModel::curve`]).
    pub curve: Option<&'static str>,
    /// True if the seed changes the model.
    pub is_seeded: bool,
    /// The parameter that validation chooses, with its value where there are no validation lists.
    pub chosen: Option<Chosen>,
    /// Parameters that are tuned by default, each with its values.
    pub space: &'static [(&'static str, &'static str)],
    /// The parameter by which the effort of training grows, and its least sensible value.
    pub effort: Option<(&'static str, u64)>,
    /// Notes what training needs beside this program, before work whose own notes are not shown.
    pub(crate) announce: Option<fn(&dyn Progress)>,
    /// Makes parameters from settings.
    pub(crate) parse: ParseParams,
    /// Reads a model from a file.
    pub(crate) open: fn(&Reader<'_>) -> Result<Arc<dyn RankingModel>>,
}

/// Inputs that the training of a ranker takes.
#[derive(Debug, Clone, Copy)]
pub struct Takes {
    /// Scalings of features.
    pub scalings: Scalings,
    /// Missing values (NaN).
    pub missing: bool,
    /// Weights of queries.
    pub query_weights: bool,
    /// Weights of documents.
    pub document_weights: bool,
    /// Query features, by which queries are compared.
    pub query_features: bool,
}

/// Number of scalings of features that a ranker takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalings {
    /// None: features are taken as they are.
    None,
    /// One.
    One,
    /// Several, of which validation chooses.
    Several,
}

/// A parameter whose values are rankers that users know by name: `query-dependent/knn` is one of them.
#[derive(Debug)]
pub struct Variants {
    /// The parameter.
    pub param: &'static str,
    /// Meaning of the parameter.
    pub help: &'static str,
    /// Its values, the default first, and what each does.
    pub values: &'static [(&'static str, &'static str)],
}

/// A parameter that validation chooses.
#[derive(Debug, Clone, Copy)]
pub struct Chosen {
    /// The parameter.
    pub param: &'static str,
    /// The parameter in words.
    pub what: &'static str,
    /// Its value without validation, where that is not its default.
    pub otherwise: Option<f64>,
}

/// lambda, chosen by validation. The value without validation is in the middle of those chosen on real data.
pub(super) const LAMBDA: Chosen = Chosen { param: "lambda", what: "lambda", otherwise: Some(0.01) };

/// The axis of a search along the scalings.
pub(super) const SCALINGS: (&str, &str) = ("scaling", "min_max,z_score,query_z_score,query_min_max,none");

impl RankerKind {
    /// Returns an error that names the first missing value, if the ranker takes none.
    pub fn require_complete(&self, lists: &FeatureLists) -> Result<()> {
        if self.takes.missing {
            return Ok(());
        }
        lists.require_complete(self.name, &registry::names_of(|kind| kind.takes.missing))
    }

    /// Returns an error if the ranker cannot learn from lists: values are missing, documents have weights that it does not
    /// take, or no list has an order.
    pub(super) fn check_lists(&self, train: &FeatureLists, validation: Option<&FeatureLists>) -> Result<()> {
        [Some(train), validation].into_iter().flatten().try_for_each(|lists| self.require_complete(lists))?;
        if train.weights().is_some() && !self.takes.document_weights {
            let (name, others) = (self.name, registry::names_of(|kind| kind.takes.document_weights));
            let weighs = if self.takes.query_weights { ", and it takes weights of queries" } else { "" };
            return Err(Error::Params(format!(
                "{name} does not take weights of documents; {others} do{weighs}"
            )));
        }
        let teaches = |labels: &[f32]| labels.iter().any(|label| *label != labels[0]);
        if !train.iter().any(|list| teaches(list.labels())) {
            return Err(Error::Params(
                "no training list has documents of different grades, so there is no order to learn".into(),
            ));
        }
        Ok(())
    }
}

impl std::fmt::Debug for RankerKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
