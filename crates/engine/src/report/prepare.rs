//! Prepares the content of a page from a comparison's folder.

use std::path::Path;

use foldhash::HashMap;
use matchrank_core::measure::Measure;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::examples::examples;
use super::explained::explain;
use super::openable::{grades, order};
use super::shown::Numbers;
use super::{Example, Explained, ModelPairs, OpenQuery, ReportParams, SearchChange, ShownDocument};
use crate::by_name::ByName;
use crate::comparison::{Compared, Comparison, Entry, TestQuery};
use crate::dataset::{Dataset, SourceFile, Split};
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
    /// Number of the model that the validation queries choose.
    pub chosen: usize,
    /// First results with the chosen model and with the baseline; none if they are one model, or nothing is known of them.
    pub change: Option<SearchChange>,
    /// Queries with the results of the baseline and of the chosen model.
    pub examples: Vec<Example>,
    /// True if relevant test documents are those that were clicked, not judged.
    pub is_clicked: bool,
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
    let chosen = chosen(&comparison)?;
    let pairs = ModelPairs::of(&entries, &comparison.split, progress)?;
    let change = (chosen != baseline)
        .then(|| SearchChange::of(&entries[chosen], &entries[baseline], &queries, &comparison.split))
        .flatten();
    let mut page = Page {
        values: Vec::new(),
        baseline,
        chosen,
        change,
        examples: Vec::new(),
        is_clicked: false,
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
        show(&mut page, &entries, params.open, dataset)?;
        page.explained = explain(folder, dataset, &page, params.explain, progress)?;
        page.findings = doctor::examine(&[dataset.folder()], None, progress)?;
        page.split = Some(dataset.manifest.split.clone());
        page.is_clicked = has_clicked_test(dataset);
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

/// Returns the number of the model that the validation queries choose. Comparisons of former versions and over folds name
/// none: there it is the model with the best validation figure, the higher one of the table among equals.
fn chosen(comparison: &Comparison) -> Result<usize> {
    let models = &comparison.models;
    let named = comparison.chosen.as_ref().map(|choice| &choice.name);
    if let Some(at) = named.and_then(|name| models.iter().position(|model| model.name == *name)) {
        return Ok(at);
    }
    let tuned_by = &comparison.split.tuned_by;
    let sign = if tuned_by.parse::<Measure>()?.higher_is_better() { 1.0 } else { -1.0 };
    let figure = |model: &Compared| model.validation.get(tuned_by).copied().filter(|value| value.is_finite());
    let known = models.iter().enumerate().filter_map(|(at, model)| Some((at, sign * figure(model)?)));
    let best = known.reduce(|best, other| if other.1 > best.1 { other } else { best });
    Ok(best.map_or(0, |(at, _)| at))
}

/// Returns true if the test judgments are clicks that were held out.
fn has_clicked_test(dataset: &Dataset) -> bool {
    let is_log = |source: &SourceFile| source.role == "clicks";
    dataset.manifest.split != Split::None && dataset.manifest.sources.iter().any(is_log)
}

/// Fills in the examples, and the queries that can be opened: the most telling, as long as their documents fit into the page.
fn show(page: &mut Page, entries: &[Entry], most: usize, dataset: &Dataset) -> Result<()> {
    let measure = &page.comparison.split.measures[0];
    let sign = if measure.parse::<Measure>()?.higher_is_better() { 1.0 } else { -1.0 };
    let mut numbers = Numbers::default();
    let pair = [&entries[page.baseline], &entries[page.chosen]];
    let examples = examples(pair, &page.queries, (measure, sign), &mut numbers);
    let mut opened = Vec::new();
    for query in order(entries, measure) {
        if opened.len() >= most || numbers.len() >= DOCUMENTS {
            break;
        }
        let judged = &page.queries[query].judged;
        let known: HashMap<&str, f32> = judged.iter().map(|(id, grade)| (id.as_str(), *grade)).collect();
        let mut top = Vec::with_capacity(entries.len());
        for entry in entries {
            let list = entry.top[query].iter();
            top.push(list.map(|(id, _)| (numbers.number(id), known.get(id.as_str()).copied())).collect());
        }
        opened.push(OpenQuery { query, top, judged: grades(&page.queries[query]) });
    }
    let documents = numbers.read(dataset)?;
    (page.examples, page.opened, page.documents) = (examples, opened, documents);
    Ok(())
}
