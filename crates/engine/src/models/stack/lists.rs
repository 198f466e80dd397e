//! Scores of matching models as features of any ranker: feature lists of a dataset's queries and documents, or such
//! columns beside the features that lists have already.

use std::collections::HashMap;
use std::slice::ChunksExact;

use matchrank_core::data::{FeatureLists, FeatureRows};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use rayon::prelude::*;

use super::Columns;
use crate::dataset::{Dataset, HeldOut};
use crate::validation::Ranked;

/// Judged queries that become lists, and the documents of their lists.
#[derive(Clone, Copy)]
pub struct JudgedQueries<'a> {
    /// The queries and judgments.
    pub held_out: &'a HeldOut,
    /// Takes the judged documents, or the best of the collection.
    pub ranked: Ranked,
    /// Number of documents that each model adds, of the best of the collection.
    pub depth: usize,
}

/// A list for every judged query, with the grades of its judgments (0 for those below 0): its judged documents, or those
/// that a model has among its best `depth`, where documents nobody judged have the grade 0. A note counts the queries
/// that have no document and are left out, another one relevant documents that are in no list.
pub fn list_columns(
    columns: &Columns<'_>,
    dataset: &Dataset,
    judged: &JudgedQueries<'_>,
    progress: &dyn Progress,
) -> Result<FeatureLists> {
    let JudgedQueries { held_out, ranked, depth } = *judged;
    let ids = dataset.document_ids()?;
    let numbers: HashMap<&str, u32> = ids.iter().map(String::as_str).zip(0..).collect();
    let texts: Vec<&str> = held_out.queries.iter().map(|query| query.text.as_str()).collect();
    let judged = |query: usize| {
        let list = held_out.judged[query].iter();
        list.filter_map(|(id, _)| numbers.get(id.as_str()).copied()).collect::<Vec<u32>>()
    };
    let mut lists = FeatureRows::default();
    let (mut n_empty, mut n_relevant, mut n_listed) = (0, 0, 0);
    in_batches(
        columns,
        &texts,
        |batch, first| match ranked {
            Ranked::Judged => Ok((first..first + batch.len()).map(judged).collect()),
            Ranked::All => columns.candidates(batch, depth),
        },
        |query, documents, rows| {
            n_empty += usize::from(documents.is_empty());
            let grades: HashMap<&str, f32> =
                held_out.judged[query].iter().map(|(id, grade)| (id.as_str(), grade.max(0.0))).collect();
            n_relevant += grades.values().filter(|grade| **grade > 0.0).count();
            for (&document, row) in documents.iter().zip(rows) {
                let id = ids[document as usize].as_str();
                let grade = grades.get(id).copied().unwrap_or(0.0);
                n_listed += usize::from(grade > 0.0);
                let entries = (0..).zip(row.iter().copied()).collect();
                push(&mut lists, (&held_out.queries[query].id, id, grade), entries)?;
            }
            Ok(())
        },
        progress,
    )?;
    if n_empty > 0 {
        progress.note(&format!("queries without a document in their list are left out: {n_empty}"));
    }
    if n_listed < n_relevant {
        let missing = n_relevant - n_listed;
        progress.note(&format!("relevant documents that are in no list: {missing} of {n_relevant}"));
    }
    Ok(FeatureLists::from_rows(lists))
}

/// Lists with columns behind the features they have. Texts are those of the queries by their ids. A document that is not
/// in the dataset has zeros there; a note counts them.
pub fn join_columns(
    columns: &Columns<'_>,
    dataset: &Dataset,
    (lists, texts): (&FeatureLists, &HashMap<String, String>),
    progress: &dyn Progress,
) -> Result<FeatureLists> {
    if !lists.documents_are_named() {
        let message = "lists have rows without a document id (`#docid = ...` behind the features), by which their \
                       documents would be found in the dataset";
        return Err(Error::Params(message.into()));
    }
    let ids = dataset.document_ids()?;
    let numbers: HashMap<&str, u32> = ids.iter().map(String::as_str).zip(0..).collect();
    let text = |query: &str| {
        texts.get(query).map(String::as_str).ok_or_else(|| {
            Error::Params(format!(
                "query {query} of the lists has no text: it is not a query of {}; name a file with ids and texts (option `queries`)",
                dataset.folder().display()
            ))
        })
    };
    let queries = lists.iter().map(|list| text(list.query())).collect::<Result<Vec<_>>>()?;
    let known = |query: usize| {
        let list = lists.list(query);
        (0..list.len()).filter_map(|i| numbers.get(list.document(i)).copied()).collect::<Vec<u32>>()
    };
    let n_features = lists.n_features() as u32;
    let (mut joined, mut n_known) = (FeatureRows::default(), 0);
    in_batches(
        columns,
        &queries,
        |batch, first| Ok((first..first + batch.len()).map(known).collect()),
        |query, documents, mut rows| {
            n_known += documents.len();
            let list = lists.list(query);
            for i in 0..list.len() {
                let mut entries: Vec<(u32, f32)> = list.row(i).entries().collect();
                if numbers.contains_key(list.document(i)) {
                    let row = rows.next().expect("a known document has a row");
                    entries.extend((n_features..).zip(row.iter().copied()));
                }
                push(&mut joined, (list.query(), list.document(i), list.labels()[i]), entries)?;
            }
            Ok(())
        },
        progress,
    )?;
    if n_known == 0 {
        return Err(Error::Params(format!(
            "none of the documents of the lists is in {}; are their ids, behind `#docid =`, the same?",
            dataset.folder().display()
        )));
    }
    if n_known < lists.n_rows() {
        let missing = lists.n_rows() - n_known;
        progress.note(&format!(
            "documents of the lists that are not in the dataset, with scores of 0: {missing}"
        ));
    }
    Ok(FeatureLists::from_rows(joined))
}

/// Goes through queries, some at a time: finds their documents and scores them. `each` gets every query by its number,
/// with its documents and their rows.
fn in_batches(
    columns: &Columns<'_>,
    texts: &[&str],
    documents: impl Fn(&[&str], usize) -> Result<Vec<Vec<u32>>>,
    mut each: impl FnMut(usize, &[u32], ChunksExact<'_, f32>) -> Result<()>,
    progress: &dyn Progress,
) -> Result<()> {
    progress.begin("scores of the models", Some(texts.len() as u64), "queries");
    let mut first = 0;
    for batch in texts.chunks(columns.batch_size()) {
        let lists = documents(batch, first)?;
        let scorer = columns.begin(batch)?;
        let scored: Vec<Vec<f32>> =
            lists.par_iter().enumerate().map(|(query, documents)| scorer.rows(query, documents)).collect();
        if scored.iter().flatten().any(|score| score.is_infinite()) {
            return Err(Error::Params("a model gives infinite scores".into()));
        }
        for (query, (documents, rows)) in lists.iter().zip(&scored).enumerate() {
            let width = (rows.len() / documents.len().max(1)).max(1);
            each(first + query, documents, rows.chunks_exact(width))?;
        }
        first += batch.len();
        progress.advance(batch.len() as u64);
    }
    Ok(())
}

fn push(
    rows: &mut FeatureRows,
    (query, document, grade): (&str, &str, f32),
    mut entries: Vec<(u32, f32)>,
) -> Result<()> {
    rows.push(query, Some(document), grade, &mut entries)
        .map_err(|e| Error::Params(format!("query {query}, document {document}: {e}")))
}
