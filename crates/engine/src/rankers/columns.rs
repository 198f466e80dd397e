//! Scores of matching models as features of any ranker: feature lists of a dataset's queries and documents, or such
//! columns beside the features that lists have already.

use foldhash::HashMap;
use matchrank_core::data::{FeatureLists, FeatureRows};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use crate::dataset::{Dataset, HeldOut};
use crate::matching::Columns;
use crate::validation::Ranked;

/// Lists of queries, their documents by ascending rows, and the row of columns of each.
struct Scored {
    documents: Vec<Vec<u32>>,
    rows: Vec<Vec<f32>>,
}

fn score(
    columns: &Columns<'_>,
    texts: &[&str],
    documents: impl Fn(&[&str], usize) -> Result<Vec<Vec<u32>>>,
    progress: &dyn Progress,
) -> Result<Scored> {
    progress.begin("scores of the models", Some(texts.len() as u64), "queries");
    let mut all = Scored { documents: Vec::new(), rows: Vec::new() };
    for batch in texts.chunks(columns.batch_size()) {
        let lists = documents(batch, all.documents.len())?;
        all.rows.extend(columns.rows(batch, &lists)?);
        all.documents.extend(lists);
        progress.advance(batch.len() as u64);
    }
    Ok(all)
}

/// A list for every judged query, with the grades of its judgments: its judged documents, or those that a model has
/// among its best `depth`, where documents nobody judged have the grade 0. Queries without a document are left out.
pub fn list_columns(
    columns: &Columns<'_>,
    dataset: &Dataset,
    held_out: &HeldOut,
    (ranked, depth): (Ranked, usize),
    progress: &dyn Progress,
) -> Result<FeatureLists> {
    let ids = dataset.document_ids()?;
    let numbers: HashMap<&str, u32> = ids.iter().map(String::as_str).zip(0..).collect();
    let texts: Vec<&str> = held_out.queries.iter().map(|query| query.text.as_str()).collect();
    let judged = |query: usize| {
        let list = held_out.judged[query].iter();
        let mut known: Vec<u32> = list.filter_map(|(id, _)| numbers.get(id.as_str()).copied()).collect();
        known.sort_unstable();
        known
    };
    let scored = score(
        columns,
        &texts,
        |batch, first| match ranked {
            Ranked::Judged => Ok((first..first + batch.len()).map(judged).collect()),
            Ranked::All => columns.candidates(batch, depth),
        },
        progress,
    )?;
    let mut lists = FeatureRows::default();
    for (query, (documents, rows)) in scored.documents.iter().zip(&scored.rows).enumerate() {
        let grades: HashMap<&str, f32> =
            held_out.judged[query].iter().map(|(id, grade)| (id.as_str(), *grade)).collect();
        let width = rows.len() / documents.len().max(1);
        for (&document, row) in documents.iter().zip(rows.chunks_exact(width.max(1))) {
            let id = ids[document as usize].as_str();
            let grade = grades.get(id).copied().unwrap_or(0.0);
            let mut entries: Vec<(u32, f32)> = (0..).zip(row.iter().copied()).collect();
            push(&mut lists, &held_out.queries[query].id, id, grade, &mut entries)?;
        }
    }
    Ok(FeatureLists::from_rows(vec![lists]))
}

/// Lists with columns behind the features they have. Texts are those of the queries by their ids. A document that is not
/// in the dataset has zeros there; a note counts them.
pub fn join_columns(
    columns: &Columns<'_>,
    dataset: &Dataset,
    lists: &FeatureLists,
    texts: &std::collections::HashMap<String, String>,
    progress: &dyn Progress,
) -> Result<FeatureLists> {
    let ids = dataset.document_ids()?;
    let numbers: HashMap<&str, u32> = ids.iter().map(String::as_str).zip(0..).collect();
    let text = |query: &str| {
        texts.get(query).map(String::as_str).ok_or_else(|| {
            Error::Params(format!(
                "query {query} of the lists has no text: it is not a query of {}; name a file with ids and texts",
                dataset.folder().display()
            ))
        })
    };
    let queries = lists.iter().map(|list| text(list.query())).collect::<Result<Vec<_>>>()?;
    let known = |query: usize| {
        let list = lists.list(query);
        (0..list.len()).filter_map(|i| numbers.get(list.document(i)).copied()).collect::<Vec<u32>>()
    };
    let scored = score(
        columns,
        &queries,
        |batch, first| Ok((first..first + batch.len()).map(known).collect()),
        progress,
    )?;
    let n_known: usize = scored.documents.iter().map(Vec::len).sum();
    if n_known == 0 {
        return Err(Error::Params(format!(
            "none of the documents of the lists is in {}; are their ids, behind `#docid =`, the same?",
            dataset.folder().display()
        )));
    }
    if n_known < lists.n_rows() {
        let missing = lists.n_rows() - n_known;
        progress
            .note(&format!("{missing} documents of the lists are not in the dataset; their scores are 0"));
    }
    let n_features = lists.n_features() as u32;
    let mut joined = FeatureRows::default();
    for (list, (documents, rows)) in lists.iter().zip(scored.documents.iter().zip(&scored.rows)) {
        let width = rows.len() / documents.len().max(1);
        let mut rows = rows.chunks_exact(width.max(1));
        for i in 0..list.len() {
            let mut entries: Vec<(u32, f32)> = list.row(i).entries().collect();
            if numbers.contains_key(list.document(i)) {
                let row = rows.next().expect("a known document has a row");
                entries.extend((n_features..).zip(row.iter().copied()));
            }
            push(&mut joined, list.query(), list.document(i), list.labels()[i], &mut entries)?;
        }
    }
    Ok(FeatureLists::from_rows(vec![joined]))
}

fn push<'a>(
    rows: &mut FeatureRows<'a>,
    query: &'a str,
    document: &'a str,
    grade: f32,
    entries: &mut [(u32, f32)],
) -> Result<()> {
    rows.push(query, Some(document), grade, entries)
        .map_err(|e| Error::Params(format!("query {query}, document {document}: {e}")))
}
