//! Explanations of the results that can be opened.

use std::path::Path;

use matchrank_core::progress::{Progress, Silent};
use matchrank_core::{Error, Result};

use super::Page;
use crate::comparison::Comparison;
use crate::dataset::Dataset;
use crate::files;
use crate::model_file;
use crate::models::{MatchingModel, bind};
use crate::scoring::Explanation;
use crate::validation::Ranked;

/// Why a model put a document first.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Explained {
    /// Number of the query among those that can be opened.
    pub opened: usize,
    /// Number of the model.
    pub model: usize,
    /// Number of the document among those that are shown.
    pub document: usize,
    /// Why it has its score.
    pub explanation: Explanation,
}

/// Explains the first result of every model for the most telling queries, at most `most` of them. Models are read one at a time; one whose file is
/// not there any more is left out, with a note.
pub(super) fn explain(
    folder: &Path,
    dataset: &Dataset,
    page: &Page,
    most: usize,
    progress: &dyn Progress,
) -> Result<Vec<Explained>> {
    let chosen = choose(page, most);
    let names: Vec<&str> = page.comparison.models.iter().map(|model| model.name.as_str()).collect();
    progress.begin("explaining", Some((names.len() * chosen.len()) as u64), "results");
    let mut explained = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let path = Comparison::model(folder, name);
        if !path.is_file() {
            progress.note(&format!("{}: is not there; its results are not explained", path.display()));
            continue;
        }
        let (model, _) = model_file::load(&path)?;
        let first = chosen.iter().filter_map(|&i| Some((i, page.opened[i].top[number].first()?.0)));
        let first: Vec<(usize, usize)> =
            first.filter(|(_, document)| page.documents[*document].row != u32::MAX).collect();
        let unfit = |e: Error| match e {
            Error::Params(message) | Error::Shape(message) => Error::format(files::name_of(&path), message),
            other => other,
        };
        let rows =
            wanted(&*model, dataset, page, first.iter().map(|(_, document)| *document)).map_err(unfit)?;
        let matcher = bind(&*model, dataset, rows.as_deref(), &Silent).map_err(unfit)?;
        for (i, document) in first {
            let row = page.documents[document].row;
            let place = match &rows {
                Some(rows) => rows.binary_search(&row).expect("every explained document is bound") as u32,
                None => row,
            };
            let query = &page.queries[page.opened[i].query].text;
            let explanation = matcher.explain(query, place)?;
            explained.push(Explained { opened: i, model: number, document, explanation });
            progress.advance(1);
        }
    }
    Ok(explained)
}

/// The queries whose results are explained, of those that can be opened: such of a few words first, whose pairs of
/// words can be seen in a heat map.
fn choose(page: &Page, most: usize) -> Vec<usize> {
    let few = |i: &usize| (2..=5).contains(&page.queries[page.opened[*i].query].n_words);
    let (mut chosen, others): (Vec<usize>, Vec<usize>) = (0..page.opened.len()).partition(few);
    chosen.extend(others);
    chosen.truncate(most);
    chosen
}

/// The rows that a model must be bound to. Combinations and stacks compare with all documents that were ranked; for
/// the others the explained ones will do.
fn wanted(
    model: &dyn MatchingModel,
    dataset: &Dataset,
    page: &Page,
    explained: impl Iterator<Item = usize>,
) -> Result<Option<Vec<u32>>> {
    let mut rows: Vec<u32> = explained.map(|document| page.documents[document].row).collect();
    if !model.parts().is_empty() {
        if page.comparison.split.ranked == Ranked::All {
            return Ok(None);
        }
        let judged = page.queries.iter().flat_map(|query| query.judged.iter().map(|(id, _)| id.as_str()));
        let judged: foldhash::HashSet<&str> = judged.collect();
        let ids = dataset.document_ids()?;
        rows.extend((0..).zip(&ids).filter(|(_, id)| judged.contains(id.as_str())).map(|(row, _)| row));
    }
    rows.sort_unstable();
    rows.dedup();
    Ok(Some(rows))
}
