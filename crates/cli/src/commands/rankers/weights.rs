//! Weights of queries and documents in training.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use matchrank_core::data::FeatureLists;
use matchrank_core::progress::Progress;
use matchrank_engine::rankers::registry;
use matchrank_engine::{Error, files};

use crate::terminal::human;

/// A larger weight would drown everything else that is learned.
const LARGEST_WEIGHT: f64 = 1e6;

/// Weights of queries and documents in training.
#[derive(clap::Args)]
pub(crate) struct Weights {
    /// Lines `query<TAB>weight`, from 0 to 1000000; queries that are not there count 1
    #[arg(long, value_name = "FILE")]
    query_weights: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help = document_weights())]
    document_weights: Option<PathBuf>,
}

fn document_weights() -> String {
    format!(
        "Lines `query<TAB>document<TAB>weight`, from 0 to 1000000; documents that are not there count 1. Taken by {}",
        registry::names_of(|kind| kind.takes.document_weights)
    )
}

impl Weights {
    /// The files that were given.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.query_weights.iter().chain(&self.document_weights)
    }

    /// Gives the documents of lists their weights, and returns a weight for each query, where files have some.
    pub(crate) fn weigh(
        &self,
        lists: &mut FeatureLists,
        progress: &dyn Progress,
    ) -> anyhow::Result<Option<Vec<f64>>> {
        let queries = self.of_queries(lists, progress)?;
        self.weigh_documents(lists, progress)?;
        Ok(queries)
    }

    fn of_queries(&self, lists: &FeatureLists, progress: &dyn Progress) -> anyhow::Result<Option<Vec<f64>>> {
        let Some(path) = &self.query_weights else { return Ok(None) };
        let place: HashMap<&str, usize> =
            lists.iter().enumerate().map(|(query, list)| (list.query(), query)).collect();
        let mut weights = vec![1.0; lists.n_queries()];
        let unknown = read(path, 1, |ids, weight| {
            let place = place.get(ids[0]).copied();
            place.map(|query| weights[query] = weight)
        })?;
        note_unknown(path, unknown, "queries", progress);
        Ok(Some(weights))
    }

    fn weigh_documents(&self, lists: &mut FeatureLists, progress: &dyn Progress) -> anyhow::Result<()> {
        let Some(path) = &self.document_weights else { return Ok(()) };
        let mut weights = vec![1.0; lists.n_rows()];
        let unknown = {
            let rows = lists.iter().flat_map(|list| list.rows().map(move |row| (list.query(), row)));
            let place: HashMap<(&str, &str), usize> =
                rows.map(|(query, row)| ((query, lists.document(row)), row)).collect();
            read(path, 2, |ids, weight| {
                let place = place.get(&(ids[0], ids[1])).copied();
                place.map(|row| weights[row] = weight as f32)
            })?
        };
        note_unknown(path, unknown, "documents", progress);
        Ok(lists.set_weights(weights)?)
    }
}

/// Reads lines of `n` ids and a weight; `set` takes them, or says that it does not know the ids. The number of lines that
/// were not known.
fn read(path: &Path, n: usize, mut set: impl FnMut(&[&str], f64) -> Option<()>) -> anyhow::Result<u64> {
    let name = files::name_of(path);
    let bytes = files::read_all(path)?;
    let text = std::str::from_utf8(&bytes).with_context(|| format!("{name}: is not UTF-8"))?;
    let mut unknown = 0;
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        let fields: Vec<&str> = text.split('\t').collect();
        let weight = fields.last().and_then(|weight| weight.trim().parse::<f64>().ok());
        let weight = weight.filter(|weight| (0.0..=LARGEST_WEIGHT).contains(weight));
        let Some(weight) = weight.filter(|_| fields.len() == n + 1) else {
            let ids = if n == 1 { "query" } else { "query<TAB>document" };
            let expected =
                format!("`{ids}<TAB>weight` is expected, the weight a number from 0 to {LARGEST_WEIGHT}");
            return Err(Error::parse(name, line, expected).into());
        };
        unknown += u64::from(set(&fields[..n], weight).is_none());
    }
    Ok(unknown)
}

fn note_unknown(path: &Path, unknown: u64, what: &str, progress: &dyn Progress) {
    if unknown > 0 {
        let name = files::name_of(path);
        progress.note(&format!("{name}: {} of its {what} are not among the lists", human(unknown)));
    }
}
