//! The tables of models and rankers as JSON, from which the classes of the package are made.

use matchrank_core::measure::Dialect;
use matchrank_engine::json::Json;
use matchrank_engine::models::combination::CombinationParams;
use matchrank_engine::models::registry::MATCHING;
use matchrank_engine::models::stack::StackParams;
use matchrank_engine::models::{MatchingKind, Recipe};
use matchrank_engine::rankers::registry::RANKERS;
use matchrank_engine::rankers::{RankerKind, RankerRecipe, Scalings};
use matchrank_engine::settings::{Parameter, Settings};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::{Raise, parameter};

/// Version of the package.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// All kinds of models and rankers with their parameters, as JSON.
#[pyfunction]
pub(crate) fn kinds(py: Python<'_>) -> PyResult<String> {
    let models =
        MATCHING.iter().map(|kind| model(kind)).collect::<matchrank_core::Result<Vec<_>>>().raise(py)?;
    let rankers =
        RANKERS.iter().map(|kind| ranker(kind)).collect::<matchrank_core::Result<Vec<_>>>().raise(py)?;
    let dialects = Dialect::ALL.map(|dialect| dialect.to_string());
    Ok(json!({ "models": models, "rankers": rankers, "dialects": dialects }).to_string())
}

fn parameters(parameters: &[Parameter]) -> Vec<Value> {
    let one = |parameter: &Parameter| json!({ "name": parameter.name, "default": parameter.default, "help": parameter.help });
    parameters.iter().map(one).collect()
}

fn model(kind: &MatchingKind) -> matchrank_core::Result<Value> {
    let is_stack = kind.name == matchrank_engine::models::stack::KIND.name;
    // Models that are made of others have no recipe of their own.
    let (defaults, is_made_of_others) = match Recipe::new(kind.name, &[]) {
        Ok(recipe) => (recipe.params(), false),
        Err(_) if is_stack => (Json::of(&StackParams::default()), true),
        Err(_) => (Json::of(&CombinationParams::default()), true),
    };
    let all = [kind.parameters, kind.feature_parameters].concat();
    Ok(json!({
        "name": kind.name, "class": kind.class, "aliases": kind.aliases, "summary": kind.summary, "help": kind.help,
        "parameters": parameters(&all), "defaults": defaults, "is_made_of_others": is_made_of_others, "is_stack": is_stack,
        "is_seeded": kind.is_seeded,
    }))
}

fn ranker(kind: &RankerKind) -> matchrank_core::Result<Value> {
    let takes = &kind.takes;
    let scalings = match takes.scalings {
        Scalings::None => "none",
        Scalings::One => "one",
        Scalings::Several => "several",
    };
    let variants = kind.variants.map(
        |variants| json!({ "parameter": variants.param, "help": variants.help, "values": variants.values }),
    );
    let chosen = kind.chosen.map(
        |chosen| json!({ "parameter": chosen.param, "what": chosen.what, "otherwise": chosen.otherwise }),
    );
    Ok(json!({
        "name": kind.name, "class": kind.class, "summary": kind.summary, "help": kind.help,
        "parameters": parameters(kind.parameters), "defaults": RankerRecipe::new(kind.name, &[], &[])?.params(),
        "variants": variants, "chosen": chosen, "is_seeded": kind.is_seeded,
        "takes": {
            "scalings": scalings, "missing": takes.missing, "query_weights": takes.query_weights,
            "document_weights": takes.document_weights, "query_features": takes.query_features,
        },
    }))
}

/// Reads settings: a JSON list of pairs of name and value.
pub(crate) fn settings(py: Python<'_>, text: &str) -> PyResult<Settings> {
    serde_json::from_str(text).map_err(|error| parameter(py, format!("the settings cannot be read: {error}")))
}

/// Returns all parameters of a model with some settings, as JSON. An error names a parameter that is wrong.
#[pyfunction]
pub(crate) fn recipe_params(py: Python<'_>, kind: &str, given: &str) -> PyResult<String> {
    let recipe = Recipe::new(kind, &settings(py, given)?).raise(py)?;
    recipe.validate().raise(py)?;
    Ok(json!(recipe.params()).to_string())
}

/// Returns all parameters of a ranker with some settings, as JSON. An error names a parameter that is wrong.
#[pyfunction]
pub(crate) fn ranker_params(py: Python<'_>, kind: &str, given: &str) -> PyResult<String> {
    let recipe = RankerRecipe::new(kind, &settings(py, given)?, &[]).raise(py)?;
    recipe.validate().raise(py)?;
    Ok(json!(recipe.params()).to_string())
}
