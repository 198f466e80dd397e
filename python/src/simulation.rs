//! Simulated data: a shop, and the click log of a search engine.

use std::path::{Path, PathBuf};

use matchrank_core::simulate::clicks::{self, ClickFiles, ClickParams};
use matchrank_core::simulate::shop::{self, ShopParams};
use matchrank_core::{Error, Result};
use matchrank_engine::files::{make_folder, write_atomically};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::errors::parameter;
use crate::running::run;

/// Names of the files of a simulation.
const FILES: [&str; 5] = ["clicks.csv", "documents.jsonl", "queries.tsv", "validation.qrels", "test.qrels"];

/// Makes the folder. Files of a former simulation are replaced, others are not touched.
fn prepare(out: &Path) -> Result<()> {
    make_folder(out)?;
    let entries = std::fs::read_dir(out).map_err(|error| Error::io(out.display().to_string(), error))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !FILES.iter().any(|file| name == *file) {
            return Err(Error::format(
                out.display().to_string(),
                format!(
                    "holds {}, which is no file of a simulation; name another folder",
                    name.to_string_lossy()
                ),
            ));
        }
    }
    Ok(())
}

fn write<S>(out: &Path, simulate: impl FnOnce(ClickFiles<'_>) -> Result<S>) -> Result<S> {
    prepare(out)?;
    let mut statistics = None;
    let [clicks, documents, queries, validation, test] = FILES.map(|name| out.join(name));
    write_atomically(&clicks, |clicks| {
        write_atomically(&documents, |documents| {
            write_atomically(&queries, |queries| {
                write_atomically(&validation, |validation| {
                    write_atomically(&test, |test| {
                        let files = ClickFiles { clicks, documents, queries, validation, test };
                        statistics = Some(simulate(files)?);
                        Ok(())
                    })
                })
            })
        })
    })?;
    Ok(statistics.expect("set when the files were written"))
}

/// Simulates a shop in a folder. Returns its statistics as JSON.
#[pyfunction]
#[pyo3(signature = (out, seed, products=None, queries=None, clicks=None))]
pub(crate) fn simulate_shop(
    py: Python<'_>,
    out: PathBuf,
    seed: u64,
    products: Option<usize>,
    queries: Option<usize>,
    clicks: Option<usize>,
) -> PyResult<String> {
    run(py, move |progress| {
        let usual = ShopParams::default();
        let params = ShopParams::sized(
            products.unwrap_or(usual.products),
            queries.unwrap_or(usual.queries),
            clicks.unwrap_or(usual.clicks),
        );
        params.validate()?;
        let statistics = write(&out, |files| shop::simulate(&params, seed, files, progress))?;
        Ok(json!(statistics).to_string())
    })
}

/// Returns the parameters of a preset with some of them replaced. `noise` is the click rate of grade 0, as on the command line.
fn click_params(mut given: Map<String, Value>) -> Result<ClickParams> {
    let preset = given.remove("preset").unwrap_or_default();
    let preset = match preset.as_str() {
        Some("small") => ClickParams::small(),
        Some("one-week") => ClickParams::one_week(),
        Some("half-year") => ClickParams::half_year(),
        other => {
            let message =
                format!("preset is '{}'; expected small, one-week or half-year", other.unwrap_or(""));
            return Err(Error::Params(message));
        }
    };
    let mut params = json!(preset);
    if let Some(noise) = given.remove("noise") {
        params["attractiveness"][0] = noise;
    }
    given.into_iter().for_each(|(name, value)| params[name] = value);
    let params: ClickParams = serde_json::from_value(params)
        .map_err(|error| Error::Params(format!("an argument has a value that is not expected: {error}")))?;
    params.validate()?;
    Ok(params)
}

/// Simulates the click log of a search engine in a folder. Returns its statistics as JSON.
#[pyfunction]
pub(crate) fn simulate_clicks(py: Python<'_>, out: PathBuf, arguments: &str, seed: u64) -> PyResult<String> {
    let arguments = serde_json::from_str(arguments)
        .map_err(|error| parameter(py, format!("the arguments cannot be read: {error}")))?;
    run(py, move |progress| {
        let params = click_params(arguments)?;
        let statistics = write(&out, |files| clicks::simulate(&params, seed, files, progress))?;
        Ok(json!(statistics).to_string())
    })
}
