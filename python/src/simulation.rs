//! Simulated data: a shop, and the click log of a search engine.

use std::path::{Path, PathBuf};

use matchrank_core::simulate::clicks::{self, ClickFiles, ClickParams, LogRows};
use matchrank_core::simulate::shop::{self, ShopParams};
use matchrank_core::{Error, Result};
use matchrank_engine::files::{make_folder, write_atomically};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;

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

/// Arguments of a simulated click log, by name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClickArguments {
    preset: String,
    queries: Option<usize>,
    documents: Option<usize>,
    words: Option<usize>,
    topics: Option<usize>,
    concepts: Option<usize>,
    judged: Option<usize>,
    clicked_per_query: Option<f64>,
    words_per_query: Option<f64>,
    words_per_document: Option<f64>,
    own_words: Option<f64>,
    position_bias: Option<f64>,
    noise: Option<f64>,
    unseen: Option<f64>,
    rows: Option<String>,
}

impl ClickArguments {
    fn params(self) -> Result<ClickParams> {
        let mut params = match self.preset.as_str() {
            "small" => ClickParams::small(),
            "one-week" => ClickParams::one_week(),
            "half-year" => ClickParams::half_year(),
            other => {
                let message = format!("preset is '{other}'; expected small, one-week or half-year");
                return Err(Error::Params(message));
            }
        };
        let counts = [
            (&mut params.queries, self.queries),
            (&mut params.documents, self.documents),
            (&mut params.words, self.words),
            (&mut params.topics, self.topics),
            (&mut params.concepts, self.concepts),
            (&mut params.judged, self.judged),
        ];
        counts.into_iter().for_each(|(field, given)| *field = given.unwrap_or(*field));
        let numbers = [
            (&mut params.clicked_per_query, self.clicked_per_query),
            (&mut params.words_per_query, self.words_per_query),
            (&mut params.words_per_document, self.words_per_document),
            (&mut params.own_words, self.own_words),
            (&mut params.position_bias, self.position_bias),
            (&mut params.attractiveness[0], self.noise),
            (&mut params.unseen, self.unseen),
        ];
        numbers.into_iter().for_each(|(field, given)| *field = given.unwrap_or(*field));
        params.rows = match self.rows.as_deref() {
            None => params.rows,
            Some("sessions") => LogRows::Sessions,
            Some("pairs") => LogRows::Pairs,
            Some(other) => {
                return Err(Error::Params(format!("rows is '{other}'; expected sessions or pairs")));
            }
        };
        params.validate()?;
        Ok(params)
    }
}

/// Simulates the click log of a search engine in a folder. Returns its statistics as JSON.
#[pyfunction]
pub(crate) fn simulate_clicks(py: Python<'_>, out: PathBuf, arguments: &str, seed: u64) -> PyResult<String> {
    let arguments: ClickArguments = serde_json::from_str(arguments)
        .map_err(|error| parameter(py, format!("an argument has a value that is not expected: {error}")))?;
    run(py, move |progress| {
        let params = arguments.params()?;
        let statistics = write(&out, |files| clicks::simulate(&params, seed, files, progress))?;
        Ok(json!(statistics).to_string())
    })
}
