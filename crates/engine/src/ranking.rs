//! Rankings of a dataset's documents: the best of the whole collection, or of given candidates.

use std::collections::BTreeMap;
use std::path::Path;

use foldhash::{HashMap, HashSet};
use matchrank_core::data::run;
use matchrank_core::message::{HAS, IS, counted_with};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use rayon::prelude::*;
use serde::Serialize;

use crate::dataset::{Dataset, HeldOut, Query};
use crate::files;
use crate::models::{MatchingModel, bind};
use crate::scoring::{Hit, Matcher};

/// The ranking of one query: ids of documents with their scores, best first.
pub type Ranking = (String, Vec<(String, f32)>);

/// Queries to rank the documents of a dataset for, by a model.
#[derive(Clone, Copy)]
pub struct RankRequest<'a> {
    /// The model.
    pub model: &'a dyn MatchingModel,
    /// The dataset with the documents.
    pub dataset: &'a Dataset,
    /// The queries.
    pub queries: &'a [Query],
}

/// Documents to rank, by query id.
pub type Candidates = std::collections::HashMap<String, Vec<String>>;

/// The `top` best documents of the whole collection for every query. Documents that the model says nothing
/// about are left out; a note says which queries have no other.
pub fn rank_collection(
    request: &RankRequest<'_>,
    top: usize,
    progress: &dyn Progress,
) -> Result<Vec<Ranking>> {
    let RankRequest { model, dataset, queries } = *request;
    let matcher = bind(model, dataset, None, progress)?;
    rank_bound(&*matcher, &dataset.document_ids()?, (queries, top), progress)
}

/// The `top` best documents for every query by a model that is bound to a whole collection, whose documents have `ids`.
/// The rules are those of [`rank_collection`].
pub fn rank_bound(
    matcher: &dyn Matcher,
    ids: &[String],
    (queries, top): (&[Query], usize),
    progress: &dyn Progress,
) -> Result<Vec<Ranking>> {
    let texts: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
    let hits = matcher.top(&texts, top, progress)?;
    for (query, hits) in queries.iter().zip(&hits) {
        check_finite(&query.id, hits.iter().map(|hit| hit.score))?;
    }
    let silent = queries.iter().zip(&hits).filter(|(_, hits)| hits.is_empty());
    note(silent.map(|(query, _)| query.id.as_str()), "no document with a score", progress);
    let named = |(query, hits): (&Query, Vec<_>)| {
        let list = hits.iter().map(|hit: &Hit| (ids[hit.document as usize].clone(), hit.score));
        (query.id.clone(), list.collect())
    };
    Ok(queries.iter().zip(hits).map(named).collect())
}

/// A document that a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Found {
    /// Id of the document.
    pub document: String,
    /// Score of the document.
    pub score: f32,
    /// True if the document has no response in the training data of the dataset, and others have.
    pub is_new: bool,
    /// Its texts by field.
    pub texts: BTreeMap<String, String>,
}

/// The `top` best documents of the whole collection for a query, with their texts.
pub fn search(
    model: &dyn MatchingModel,
    dataset: &Dataset,
    query: &str,
    top: usize,
    progress: &dyn Progress,
) -> Result<Vec<Found>> {
    let hits = bind(model, dataset, None, progress)?.top(&[query], top, progress)?.remove(0);
    check_finite(query, hits.iter().map(|hit| hit.score))?;
    let rows: Vec<u32> = hits.iter().map(|hit| hit.document).collect();
    let ids = dataset.document_ids_of(&rows)?;
    let is_new = dataset.new_documents()?;
    let mut found: Vec<Found> = hits
        .iter()
        .map(|hit| Found {
            document: ids[&hit.document].clone(),
            score: hit.score,
            is_new: is_new[hit.document as usize],
            texts: BTreeMap::new(),
        })
        .collect();
    for (field, _) in dataset.manifest.fields.iter() {
        let texts = dataset.document_texts_of(field, &rows)?;
        for (found, row) in found.iter_mut().zip(&rows) {
            found.texts.insert(field.to_owned(), texts[row].clone());
        }
    }
    Ok(found)
}

/// The given candidates of every query, scored and sorted; ties go by document id. Queries without
/// candidates are left out. A candidate that the model says nothing about has the score 0. Notes say which
/// queries have no candidates, which get no score at all, and how many candidates are not in the
/// collection.
pub fn rank_candidates(
    request: &RankRequest<'_>,
    candidates: &Candidates,
    progress: &dyn Progress,
) -> Result<Vec<Ranking>> {
    let RankRequest { model, dataset, queries } = *request;
    let named: HashSet<&str> = candidates.values().flatten().map(String::as_str).collect();
    let found: Vec<(u32, String)> =
        (0..).zip(dataset.document_ids()?).filter(|(_, id)| named.contains(id.as_str())).collect();
    if found.len() < named.len() {
        progress.note(&format!(
            "{} not in the collection",
            counted_with(named.len() - found.len(), "candidate", IS)
        ));
    }
    let rows: Vec<u32> = found.iter().map(|(row, _)| *row).collect();
    let numbers: HashMap<&str, u32> = found.iter().map(|(_, id)| id.as_str()).zip(0..).collect();
    let matcher = bind(model, dataset, Some(&rows), progress)?;
    let without = queries.iter().filter(|query| !candidates.contains_key(&query.id));
    note(without.map(|query| query.id.as_str()), "no candidates (left out)", progress);
    let queries: Vec<(&Query, &Vec<String>)> =
        queries.iter().filter_map(|query| Some((query, candidates.get(&query.id)?))).collect();
    let mut silent: Vec<&Query> = Vec::new();
    progress.begin("ranking", Some(queries.len() as u64), "queries");
    let mut rankings = Vec::with_capacity(queries.len());
    for batch in queries.chunks(matcher.batch_size()) {
        let texts: Vec<&str> = batch.iter().map(|(query, _)| query.text.as_str()).collect();
        let scorer = matcher.begin(&texts)?;
        let ranked: Vec<(Ranking, bool)> = batch
            .par_iter()
            .enumerate()
            .map(|(i, (query, list))| {
                let known: Vec<(&String, u32)> =
                    list.iter().filter_map(|id| Some((id, *numbers.get(id.as_str())?))).collect();
                let documents: Vec<u32> = known.iter().map(|(_, document)| *document).collect();
                let mut scores = vec![0.0; documents.len()];
                scorer.list(i, &documents, &mut scores);
                let is_silent = scores.iter().all(|score| score.is_nan());
                let scored = known.iter().zip(scores);
                let mut ranking: Vec<(String, f32)> = scored
                    .map(|((id, _), score)| ((*id).clone(), if score.is_nan() { 0.0 } else { score }))
                    .collect();
                ranking.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
                progress.advance(1);
                ((query.id.clone(), ranking), is_silent)
            })
            .collect();
        for ((query, ranking), _) in &ranked {
            check_finite(query, ranking.iter().map(|(_, score)| *score))?;
        }
        silent.extend(
            batch.iter().zip(&ranked).filter(|(_, (_, silent))| *silent).map(|((query, _), _)| query),
        );
        rankings.extend(ranked.into_iter().map(|(ranking, _)| ranking));
    }
    let silent = silent.iter().map(|query| query.id.as_str());
    note(silent, "no score for any candidate; theirs are all 0, in the order of their ids", progress);
    Ok(rankings)
}

/// Returns an error if a score of a query is not finite.
pub fn check_finite(query: &str, mut scores: impl Iterator<Item = f32>) -> Result<()> {
    match scores.find(|score| !score.is_finite()) {
        Some(score) => Err(Error::Diverged(format!(
            "a score of query {query} is {score}: the numbers of the model are too large for the data; train it again"
        ))),
        None => Ok(()),
    }
}

/// The judged documents of every query, as candidates.
pub fn judged_candidates(held_out: &HeldOut) -> Candidates {
    let lists = held_out.queries.iter().zip(&held_out.judged);
    lists
        .map(|(query, list)| (query.id.clone(), list.iter().map(|(document, _)| document.clone()).collect()))
        .collect()
}

/// Writes rankings as a TREC run.
pub fn write_run(path: &Path, rankings: &[Ranking], tag: &str) -> Result<()> {
    let tag = tag.replace(char::is_whitespace, "_");
    let ids =
        rankings.iter().flat_map(|(query, list)| std::iter::once(query).chain(list.iter().map(|(id, _)| id)));
    if let Some(id) = ids.into_iter().find(|id| id.is_empty() || id.bytes().any(|byte| byte <= b' ')) {
        return Err(Error::Params(format!(
            "the id {id:?} has a blank or a control character, at which a run file would be cut; rename it"
        )));
    }
    files::write_atomically(path, |out| {
        rankings
            .iter()
            .try_for_each(|(query, list)| run::write_query(out, query, list, &tag))
            .map_err(|e| Error::io(files::name_of(path), e))
    })
}

/// Says how many queries have (no) something, and names the first.
fn note<'a>(queries: impl Iterator<Item = &'a str>, what: &str, progress: &dyn Progress) {
    const NAMED: usize = 5;
    let queries: Vec<&str> = queries.collect();
    let more = if queries.len() > NAMED { ", ..." } else { "" };
    let named = queries[..queries.len().min(NAMED)].join(", ");
    if !queries.is_empty() {
        progress.note(&format!("{} {what}: {named}{more}", counted_with(queries.len(), "query", HAS)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_are_no_numbers_are_errors() {
        assert!(check_finite("q", [0.0, -1e30, f32::MAX].into_iter()).is_ok());
        for wrong in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let error = check_finite("q7", [1.0, wrong].into_iter()).unwrap_err().to_string();
            assert!(error.contains("a score of query q7 is"), "{error}");
        }
    }
}
