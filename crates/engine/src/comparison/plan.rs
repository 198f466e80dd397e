//! Plan of a comparison: models by name, alone, combined and stacked, and how each is tuned.
//!
//! | name | model |
//! |---|---|
//! | `rmls` | a kind of [`Recipe`] |
//! | `rmls+bm25`, `pls+rmls+bm25` | the [combination](crate::models::combination::Combination) of two or more models, as one sum |
//! | `mart`, `lambdamart`, `listnet` | a [`Stack`](crate::models::stack::Stack) over the scores of all models of the plan that are no stack and no combination |
//! | `stack` | the same with the training clicks and attributes as features too, and the ranker that is best on validation |
//! | `mart:bm25+pls` | a stack over these models |

use foldhash::HashSet;
use matchrank_core::measure::Measure;
use matchrank_core::measure::significance::Test;
use matchrank_core::{Error, Result};

use super::results::{check_name, file_name};
use crate::models::Recipe;
use crate::models::combination::{CombinationParams, MOST_PARTS};
use crate::models::registry::{MATCHING, find, proper_name, trainable_names};
use crate::models::stack::{StackKind, StackParams};
use crate::settings::Settings;
use crate::tuning::{Space, Strategy};
use crate::validation::{NDCG_10, Ranked};

/// Validation queries below which everything is chosen over folds, unless a plan says otherwise.
pub const FEW_QUERIES: u64 = 100;
/// Usual number of folds.
pub const FOLDS: usize = 5;
/// Fewest folds: one is ranked, one is for validation, the others are trained on.
const FEWEST_FOLDS: usize = 3;
/// Most folds: a model is trained for each.
const MOST_FOLDS: usize = 20;

/// Plan of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The models; what a combination or a stack is made of comes before it.
    pub models: Vec<Planned>,
    /// Measures on the test queries.
    pub measures: Vec<Measure>,
    /// Measure that models are tuned by.
    pub tuned_by: Measure,
    /// Which documents are ranked; none for what suits the judgments.
    pub ranked: Option<Ranked>,
    /// Search strategy.
    pub strategy: Strategy,
    /// Settings of every model that are tried; below 2 nothing is tuned.
    pub trials: usize,
    /// Seconds for the tuning of every model.
    pub seconds: Option<f64>,
    /// Seconds for the tuning of all models together: each may take an equal share of what is left.
    pub shared_seconds: Option<f64>,
    /// Folds to deal the training and validation queries to; 0 for none, no number for [`FOLDS`] where there are fewer than
    /// [`FEW_QUERIES`] validation queries.
    pub folds: Option<usize>,
    /// Test of significance.
    pub test: Test,
    /// The corrected p-value below which a difference counts as real.
    pub level: f64,
}

/// One model of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Its name in the comparison.
    pub name: String,
    /// Kind and content.
    pub what: What,
    /// Search space, if it is not the default of the kind.
    pub space: Option<Space>,
    /// Trials, where they are others than the plan's.
    pub trials: Option<usize>,
}

/// Kind and content of a planned model.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Learns from the dataset alone.
    Single {
        /// Kind of the [`Recipe`].
        kind: String,
        /// Settings over its defaults.
        settings: Settings,
    },
    /// The weighted sum of models of the plan.
    Combination {
        /// Their names.
        of: Vec<String>,
        /// Parameters of the search for weights.
        params: CombinationParams,
    },
    /// A ranker over the scores of models of the plan.
    Stack {
        /// Their names.
        of: Vec<String>,
        /// Its parameters.
        params: StackParams,
    },
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            models: Vec::new(),
            measures: Measure::parse_list("ndcg@10,ndcg@1,ndcg@3,ndcg@5,map").expect("these measures exist"),
            tuned_by: NDCG_10,
            ranked: None,
            strategy: Strategy::Halving,
            trials: 9,
            seconds: None,
            shared_seconds: None,
            folds: None,
            test: Test::T,
            level: 0.05,
        }
    }
}

pub(super) fn ranker_of(name: &str) -> Option<StackKind> {
    match name {
        "stack" => Some(StackKind::Auto),
        "listnet" => Some(StackKind::ListNet),
        "mart" => Some(StackKind::Mart),
        "lambdamart" => Some(StackKind::LambdaMart),
        _ => None,
    }
}

/// As the papers have it, a named ranker ranks by scores alone.
pub(super) fn stack_params(ranker: StackKind) -> StackParams {
    let has_more = ranker == StackKind::Auto;
    StackParams { ranker, clicks: has_more, attributes: has_more, ..Default::default() }
}

/// Models of a plan that names none: words, clicks, words learned from clicks, and what combines them. The stack of two is
/// there because a small stack is often as good as a large one, and answers faster.
const USUAL: [&str; 8] =
    ["bm25", "clicks", "pls", "sparse-preference", "clicks+bm25", "pls+bm25", "stack:bm25+clicks", "stack"];

impl Plan {
    /// The models that are worth comparing on most data.
    pub fn usual() -> Self {
        let mut plan = Self::default();
        USUAL.iter().for_each(|name| plan.add(name).expect("these models exist"));
        plan
    }

    /// The names of what is measured on the test queries.
    pub(super) fn measure_names(&self) -> Vec<String> {
        self.measures.iter().map(ToString::to_string).collect()
    }

    /// Adds a model by its name, and before it what it is made of and was not named.
    pub fn add(&mut self, name: &str) -> Result<()> {
        if self.models.iter().any(|model| model.name == name) {
            return Ok(());
        }
        let what = match name.split_once(':') {
            Some((ranker, parts)) => {
                let kind = ranker_of(ranker).ok_or_else(|| {
                    Error::Params(format!(
                        "{name}: there is no stack called {ranker}; there are stack, listnet, mart, lambdamart"
                    ))
                })?;
                let of: Vec<String> =
                    parts.split('+').map(|part| proper_name(part.trim()).to_owned()).collect();
                return self.add_stack(&format!("{ranker}:{}", of.join("+")), kind, of);
            }
            None => match (ranker_of(name), name.contains('+')) {
                // Over all models, the later ones too: filled in when all are known.
                (Some(kind), _) => return self.add_stack(name, kind, Vec::new()),
                (None, true) => {
                    let of = name.split('+').map(|part| self.add_named(part)).collect::<Result<_>>()?;
                    What::Combination { of, params: CombinationParams::default() }
                }
                (None, false) => {
                    let kind = proper_name(name).to_owned();
                    Recipe::new(&kind, &[]).map_err(|e| {
                        Error::Params(format!(
                            "{e}; or several of them as in rmls+bm25; or stack, listnet, mart, lambdamart"
                        ))
                    })?;
                    What::Single { kind, settings: Settings::new() }
                }
            },
        };
        let name = match &what {
            What::Combination { of, .. } => of.join("+"),
            _ => proper_name(name).to_owned(),
        };
        self.push(Planned { name, what, space: None, trials: None })
    }

    /// Adds a model with a name and settings of its own.
    pub fn add_single(&mut self, name: &str, kind: &str, settings: Settings) -> Result<()> {
        let what = What::Single { kind: proper_name(kind).to_owned(), settings };
        self.push(Planned { name: name.to_owned(), what, space: None, trials: None })
    }

    fn add_stack(&mut self, name: &str, ranker: StackKind, of: Vec<String>) -> Result<()> {
        let of = of.iter().map(|part| self.add_named(part)).collect::<Result<_>>()?;
        let params = stack_params(ranker);
        self.push(Planned {
            name: name.to_owned(),
            what: What::Stack { of, params },
            space: None,
            trials: None,
        })
    }

    /// A part of a model; its name.
    fn add_named(&mut self, name: &str) -> Result<String> {
        let name = name.trim();
        if !self.models.iter().any(|model| model.name == name || model.name == proper_name(name)) {
            self.add(name)?;
        }
        let known = self.models.iter().rfind(|model| model.name == name || model.name == proper_name(name));
        Ok(known.map_or_else(|| name.to_owned(), |model| model.name.clone()))
    }

    pub(super) fn push(&mut self, planned: Planned) -> Result<()> {
        check_name(&planned.name)?;
        if let Some(other) =
            self.models.iter().find(|other| file_name(&other.name) == file_name(&planned.name))
        {
            if *other == planned {
                return Ok(());
            }
            return Err(Error::Params(format!(
                "two models are called {}; give them names of their own",
                planned.name
            )));
        }
        self.models.push(planned);
        Ok(())
    }

    /// Adds the baseline before all other models, unless the plan has one: every comparison shows what learning gains.
    pub fn with_baseline(mut self) -> Result<Self> {
        let is_baseline = |kind: &str| find(kind).is_some_and(|kind| kind.is_baseline);
        let has_one = self.models.iter().any(|model| match &model.what {
            What::Single { kind, .. } => is_baseline(kind),
            _ => false,
        });
        if let Some(kind) = MATCHING.into_iter().find(|kind| kind.is_baseline && !has_one) {
            self.add(kind.name)?;
            self.models.rotate_right(1);
        }
        Ok(self)
    }

    /// Checks the plan and puts every model behind those it is made of.
    pub fn finish(mut self) -> Result<Self> {
        let singles: Vec<String> = self
            .models
            .iter()
            .filter(|model| matches!(model.what, What::Single { .. }))
            .map(|model| model.name.clone())
            .collect();
        for model in &mut self.models {
            if let What::Stack { of, .. } = &mut model.what
                && of.is_empty()
            {
                of.clone_from(&singles);
            }
        }
        let mut waiting = std::mem::take(&mut self.models);
        let mut known: HashSet<String> = HashSet::default();
        while !waiting.is_empty() {
            let ready =
                waiting.iter().position(|model| model.parts().iter().all(|part| known.contains(*part)));
            let Some(ready) = ready else {
                let model = &waiting[0];
                let missing =
                    model.parts().into_iter().find(|part| !known.contains(*part)).unwrap_or_default();
                return Err(Error::Params(format!(
                    "{}: {missing}, which it is made of, is not among the models, or made of it in turn",
                    model.name
                )));
            };
            let model = waiting.remove(ready);
            model.check()?;
            known.insert(model.name.clone());
            self.models.push(model);
        }
        if self.models.is_empty() {
            return Err(Error::Params(format!("no model is named; there are {}", trainable_names())));
        }
        self.check_level()?;
        if self.shared_seconds.is_some_and(|seconds| !(seconds.is_finite() && seconds > 0.0)) {
            return Err(Error::Params("the time for the tuning of all models must be above 0".into()));
        }
        if self.folds.is_some_and(|n| n != 0 && !(FEWEST_FOLDS..=MOST_FOLDS).contains(&n)) {
            return Err(Error::Params(format!(
                "queries are dealt to {FEWEST_FOLDS} to {MOST_FOLDS} folds; 0 is for none"
            )));
        }
        Ok(self)
    }

    pub(super) fn check_level(&self) -> Result<()> {
        if !(self.level > 0.0 && self.level < 1.0) {
            return Err(Error::Params("the level of significance is a number between 0 and 1".into()));
        }
        Ok(())
    }
}

impl Planned {
    /// Returns the names of its parts.
    pub fn parts(&self) -> Vec<&str> {
        match &self.what {
            What::Single { .. } => Vec::new(),
            What::Combination { of, .. } | What::Stack { of, .. } => of.iter().map(String::as_str).collect(),
        }
    }

    fn check(&self) -> Result<()> {
        let named = |e: Error| Error::Params(format!("{}: {e}", self.name));
        match &self.what {
            What::Single { kind, settings } => {
                Recipe::new(kind, settings).and_then(|recipe| recipe.validate()).map_err(named)
            }
            What::Combination { of, .. } if !(2..=MOST_PARTS).contains(&of.len()) => Err(Error::Params(
                format!("{}: `of` names the models of a combination, 2 to {MOST_PARTS}", self.name),
            )),
            What::Combination { .. } => Ok(()),
            What::Stack { of, .. } if of.len() < 2 => {
                Err(Error::Params(format!("{}: a stack needs at least two models", self.name)))
            }
            What::Stack { params, .. } => params.validate().map_err(named),
        }
    }
}
