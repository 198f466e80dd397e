//! Plans in TOML files.

use std::path::Path;

use indexmap::IndexMap;
use matchrank_core::measure::Measure;
use matchrank_core::ranking::ScalingKind;
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::folds::{PlannedRanker, check_planned};
use super::plan::{Plan, Planned, What, ranker_of, stack_params};
use crate::files;
use crate::json::Json;
use crate::models::registry::proper_name;
use crate::models::stack::StackParams;
use crate::settings::{Settings, params_from};
use crate::tuning::{Axis, Space, Strategy};
use crate::validation::Ranked;

impl Plan {
    /// Reads a plan from a TOML file.
    pub fn read(path: &Path) -> Result<Self> {
        let file = File::read(path)?;
        file.plan().map_err(|e| Error::format(files::name_of(path), e.to_string()))
    }

    /// Reads a plan for rankers of feature lists from a TOML file: how to compare, and what. Nothing is tuned unless the
    /// file has `trials`.
    pub fn read_rankers(path: &Path) -> Result<(Self, Vec<PlannedRanker>)> {
        let file = File::read(path)?;
        file.rankers().map_err(|e| Error::format(files::name_of(path), e.to_string()))
    }
}

/// The TOML file.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    models: Vec<String>,
    measures: Option<Vec<String>>,
    tuned_by: Option<String>,
    candidates: Option<Ranked>,
    strategy: Option<Strategy>,
    trials: Option<usize>,
    seconds: Option<f64>,
    shared_seconds: Option<f64>,
    folds: Option<usize>,
    test: Option<String>,
    level: Option<f64>,
    model: Vec<FileModel>,
}

impl Default for File {
    fn default() -> Self {
        let (models, model) = (Vec::new(), Vec::new());
        let (measures, tuned_by, candidates, strategy) = (None, None, None, None);
        Self {
            models,
            measures,
            tuned_by,
            candidates,
            strategy,
            trials: None,
            seconds: None,
            shared_seconds: None,
            folds: None,
            test: None,
            level: None,
            model,
        }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileModel {
    name: String,
    kind: String,
    #[serde(default)]
    of: Vec<String>,
    #[serde(default)]
    set: IndexMap<String, Json>,
    vary: Option<IndexMap<String, Value>>,
    trials: Option<usize>,
}

/// Bytes of a plan at most: reading TOML takes forty times as much memory.
const LARGEST: usize = 16 << 20;

impl File {
    fn read(path: &Path) -> Result<Self> {
        let name = files::name_of(path);
        let bytes = files::read_all(path)?;
        if bytes.len() > LARGEST {
            return Err(Error::format(&name, "is larger than 16 MiB, which is no plan"));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| Error::format(&name, "is not UTF-8"))?;
        toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(0, |span| 1 + text[..span.start].matches('\n').count() as u64);
            Error::parse(&name, line, e.message())
        })
    }

    fn rankers(mut self) -> Result<(Plan, Vec<PlannedRanker>)> {
        if self.candidates.is_some() {
            return Err(Error::Params("`candidates` is for datasets; feature lists are ranked whole".into()));
        }
        if self.folds.is_some() {
            return Err(Error::Params("`folds` is for datasets; feature lists come in folds".into()));
        }
        self.trials = self.trials.or(Some(1));
        let mut rankers = self.model.drain(..).map(FileModel::ranker).collect::<Result<Vec<_>>>()?;
        rankers.extend(self.models.drain(..).map(|name| PlannedRanker::named(&name)));
        check_planned(&rankers, &[ScalingKind::MinMax])?;
        Ok((self.plan()?, rankers))
    }

    fn plan(self) -> Result<Plan> {
        let mut plan = Plan::default();
        if let Some(measures) = &self.measures {
            plan.measures = Measure::parse_list(&measures.join(","))?;
        }
        if let Some(measure) = &self.tuned_by {
            plan.tuned_by = measure.parse()?;
        }
        if let Some(test) = &self.test {
            plan.test = test.parse()?;
        }
        plan.ranked = self.candidates;
        plan.strategy = self.strategy.unwrap_or(plan.strategy);
        plan.trials = self.trials.unwrap_or(plan.trials);
        plan.seconds = self.seconds;
        plan.shared_seconds = self.shared_seconds;
        plan.folds = self.folds;
        plan.level = self.level.unwrap_or(plan.level);
        // Models with a table of their own first, so that names in `models` may refer to them.
        for model in self.model {
            plan.push(model.planned()?)?;
        }
        for name in &self.models {
            plan.add(name)?;
        }
        Ok(plan)
    }
}

/// Search space by parameter names.
fn space_of(model: &str, vary: IndexMap<String, Value>) -> Result<Space> {
    let axis = |(parameter, values): (String, Value)| {
        let axis = match values {
            Value::Array(values) if !values.is_empty() => Axis::List(values.into_iter().map(Json).collect()),
            Value::String(text) => {
                Axis::parse(&text).map_err(|e| Error::Params(format!("model {model}: {e}")))?
            }
            _ => {
                return Err(Error::Params(format!(
                    "model {model}: vary.{parameter} is a list of values, or a range as in \"0.1..0.9\""
                )));
            }
        };
        Ok((parameter, axis))
    };
    Ok(Space(vary.into_iter().map(axis).collect::<Result<_>>()?))
}

impl FileModel {
    fn ranker(self) -> Result<PlannedRanker> {
        let Self { name, kind, of, set, vary, trials } = self;
        if !of.is_empty() {
            return Err(Error::Params(format!("model {name}: `of` is for models of a dataset")));
        }
        let space = vary.map(|vary| space_of(&name, vary)).transpose()?;
        Ok(PlannedRanker { name, kind, settings: set.into_iter().collect(), space, trials })
    }

    fn planned(self) -> Result<Planned> {
        let Self { name, kind, of, set, vary, trials } = self;
        let settings: Settings = set.into_iter().collect();
        let named = |e: Error| Error::Params(format!("model {name}: {e}"));
        if (kind == "combination" || ranker_of(&kind).is_some()) && (vary.is_some() || trials.is_some()) {
            let message = "`vary` and `trials` are for models that learn from the dataset alone";
            return Err(named(Error::Params(message.into())));
        }
        let what = if kind == "combination" {
            What::Combination { of, params: params_from(&settings).map_err(named)? }
        } else if let Some(ranker) = ranker_of(&kind) {
            for (setting, instead) in [("ranker", "`kind`"), ("candidates", "`candidates` of the whole plan")]
            {
                if settings.iter().any(|(name, _)| name == setting) {
                    return Err(named(Error::Params(format!("{setting} is said by {instead}"))));
                }
            }
            let mut params: StackParams = params_from(&settings).map_err(named)?;
            let (usual, is_set) =
                (stack_params(ranker), |name: &str| settings.iter().any(|(set, _)| set == name));
            if !is_set("clicks") {
                params.clicks = usual.clicks;
            }
            if !is_set("attributes") {
                params.attributes = usual.attributes;
            }
            params.ranker = ranker;
            What::Stack { of, params }
        } else {
            if !of.is_empty() {
                return Err(Error::Params(format!(
                    "model {name}: `of` is for kinds combination, stack, listnet, mart, lambdamart"
                )));
            }
            What::Single { kind: proper_name(&kind).to_owned(), settings }
        };
        let space = vary.map(|vary| space_of(&name, vary)).transpose()?;
        Ok(Planned { name, what, space, trials })
    }
}
