//! Prepares the content of a page from a comparison's folder.

use std::path::Path;

use foldhash::HashMap;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::explained::explain;
use super::openable::{grades, order};
use super::shown::Numbers;
use super::{Explained, ModelPairs, OpenQuery, ReportParams, ShownDocument};
use crate::by_name::ByName;
use crate::comparison::{Comparison, Entry, TestQuery};
use crate::dataset::{Dataset, Split};
use crate::doctor;
use crate::files;

/// Largest number of documents whose texts are in a page: about 1.3 MB.
const DOCUMENTS: usize = 4000;

/// Everything that a page shows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Page {
    /// The comparison. Its models are sorted by the first measure on the test queries, the best first.
    pub comparison: Comparison,
    /// Values of every model by measure and query, in the order of the models.
    pub values: Vec<ByName<Vec<Option<f64>>>>,
    /// Number of the model that the page starts with as the baseline.
    pub baseline: usize,
    /// Every model against every other.
    pub pairs: ModelPairs,
    /// The test queries.
    pub queries: Vec<TestQuery>,
    /// Queries that can be opened.
    pub opened: Vec<OpenQuery>,
    /// Documents in the results of the opened queries.
    pub documents: Vec<ShownDocument>,
    /// Explanations of the first results of some of these queries.
    pub explained: Vec<Explained>,
    /// Division of the data; None for folds of feature lists.
    pub split: Option<Split>,
    /// Findings of `doctor` on the data.
    pub findings: Vec<doctor::Report>,
}

/// Reads a comparison's folder and computes what its page needs. `dataset` must be the one of the comparison, or None
/// for rankers over folds of feature lists, whose results cannot be opened.
pub fn prepare(
    folder: &Path,
    dataset: Option<&Dataset>,
    params: &ReportParams,
    progress: &dyn Progress,
) -> Result<Page> {
    let mut comparison = Comparison::open(folder)?;
    check(folder, &comparison, dataset)?;
    let queries = Comparison::queries(folder)?;
    comparison.sort_models()?;
    let mut entries = Vec::with_capacity(comparison.models.len());
    for model in &comparison.models {
        let entry = Comparison::entry(folder, &model.name)?;
        complete(&entry, &queries, dataset.is_some(), folder)?;
        entries.push(entry);
    }
    let baseline = baseline(&comparison, params.baseline.as_deref())?;
    let pairs = ModelPairs::of(&entries, &comparison.split, progress)?;
    let mut page = Page {
        values: Vec::new(),
        baseline,
        pairs,
        queries,
        opened: Vec::new(),
        documents: Vec::new(),
        explained: Vec::new(),
        split: None,
        findings: Vec::new(),
        comparison,
    };
    if let Some(dataset) = dataset {
        (page.opened, page.documents) = open(&entries, &page, params.open, dataset)?;
        page.explained = explain(folder, dataset, &page, params.explain, progress)?;
        page.findings = doctor::examine(&[dataset.folder()], None, progress)?;
        page.split = Some(dataset.manifest.split.clone());
    }
    page.values = entries.into_iter().map(|entry| entry.per_query).collect();
    Ok(page)
}

impl Page {
    /// Number of test queries with a value by the first measure; those without a relevant document have none.
    pub fn n_measured(&self) -> usize {
        let first = self.values.first().and_then(|values| values.get(&self.comparison.split.measures[0]));
        first.map_or(0, |values| values.iter().flatten().count())
    }
}

/// Returns an error for a dataset other than that of the comparison, and for a comparison without a model or a measure.
fn check(folder: &Path, comparison: &Comparison, dataset: Option<&Dataset>) -> Result<()> {
    let name = files::name_of(&folder.join("comparison.json"));
    if comparison.models.is_empty() && !comparison.unfinished.is_empty() {
        let message = "has no results yet: `compare` was interrupted; run the same command again to continue";
        return Err(Error::format(name, message));
    }
    if comparison.models.is_empty() || comparison.split.measures.is_empty() {
        return Err(Error::format(name, "has no model or no measure; there is nothing to report"));
    }
    let dataset = match (dataset, comparison.data.statistics.is_some()) {
        (Some(dataset), true) => dataset,
        (None, false) => return Ok(()),
        (None, true) => {
            return Err(Error::format(
                name,
                "was made on a dataset, which the report needs; give the dataset too",
            ));
        }
        (Some(_), false) => {
            return Err(Error::format(
                name,
                "was made on folds of feature lists, not on a dataset; omit the dataset",
            ));
        }
    };
    if comparison.data.content_hash != dataset.manifest.content_hash {
        let short = |hash: &str| hash.chars().take(12).collect::<String>();
        return Err(Error::format(
            files::name_of(dataset.folder()),
            format!(
                "is not the dataset of this comparison: its content hash is {}, but the models were compared on {} ({}); \
                 give that dataset, or compare again",
                short(&dataset.manifest.content_hash),
                comparison.data.name,
                short(&comparison.data.content_hash)
            ),
        ));
    }
    Ok(())
}

/// Checks that every test query has a value (or an explicit none) and, if documents were ranked, a ranking.
fn complete(entry: &Entry, queries: &[TestQuery], ranked: bool, folder: &Path) -> Result<()> {
    let counts = entry.per_query.values().map(Vec::len);
    for count in counts.chain(ranked.then_some(entry.top.len())) {
        if count != queries.len() {
            return Err(Error::format(
                files::name_of(&folder.join("results").join(format!("{}.json", entry.row.name))),
                format!("has {count} queries, but queries.json has {}; run `compare` again", queries.len()),
            ));
        }
    }
    Ok(())
}

fn baseline(comparison: &Comparison, named: Option<&str>) -> Result<usize> {
    let models = &comparison.models;
    let Some(named) = named else {
        return Ok(models.iter().position(|model| model.kind == "bm25").unwrap_or(models.len() - 1));
    };
    models.iter().position(|model| model.name == named).ok_or_else(|| {
        let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
        Error::Params(format!(
            "the baseline '{named}' is not in the comparison, which has {}",
            names.join(", ")
        ))
    })
}

/// Chooses the queries that can be opened: the most telling, as long as their documents fit into the page.
fn open(
    entries: &[Entry],
    page: &Page,
    most: usize,
    dataset: &Dataset,
) -> Result<(Vec<OpenQuery>, Vec<ShownDocument>)> {
    let queries = &page.queries;
    let mut numbers = Numbers::default();
    let mut opened = Vec::new();
    for query in order(entries, &page.comparison.split.measures[0]) {
        if opened.len() >= most || numbers.len() >= DOCUMENTS {
            break;
        }
        let known: HashMap<&str, f32> =
            queries[query].judged.iter().map(|(id, grade)| (id.as_str(), *grade)).collect();
        let mut top = Vec::with_capacity(entries.len());
        for entry in entries {
            let list = entry.top[query].iter();
            top.push(list.map(|(id, _)| (numbers.number(id), known.get(id.as_str()).copied())).collect());
        }
        opened.push(OpenQuery { query, top, judged: grades(&queries[query]) });
    }
    Ok((opened, numbers.read(dataset)?))
}
