//! Rankings of a dataset's documents: the best of the whole collection, or of given candidates.

use std::path::PathBuf;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use rayon::prelude::*;

use crate::dataset::{Dataset, Query};
use crate::files;
use crate::matching::TextBm25;
use crate::retrieval::{Index, Retriever};

/// The ranking of one query: ids of documents with their scores, best first.
pub type Ranking = (String, Vec<(String, f32)>);

/// Documents to rank, by query id.
pub type Candidates = HashMap<String, Vec<String>>;

/// The `top` best documents of the whole collection for every query. The index is made on first use and
/// kept in the dataset folder.
pub fn rank_collection(
    model: Arc<TextBm25>,
    dataset: &Dataset,
    queries: &[Query],
    top: usize,
    progress: &dyn Progress,
) -> Result<Vec<Ranking>> {
    let ids = dataset.document_ids()?;
    let index = open_index(&model, dataset, progress)?;
    let retriever = Retriever::new(Arc::new(index), model)?;
    progress.begin("ranking", Some(queries.len() as u64), "queries");
    queries
        .par_iter()
        .map(|query| {
            let hits = retriever.search(&query.text, top)?;
            progress.advance(1);
            let list = hits.iter().map(|hit| (ids[hit.document as usize].clone(), hit.score)).collect();
            Ok((query.id.clone(), list))
        })
        .collect()
}

/// The given candidates of every query, scored and sorted; ties go by document id. Queries without
/// candidates are left out. Candidates that are not in the collection are counted in a note.
pub fn rank_candidates(
    model: &TextBm25,
    dataset: &Dataset,
    queries: &[Query],
    candidates: &Candidates,
    progress: &dyn Progress,
) -> Result<Vec<Ranking>> {
    let wanted: HashSet<&str> = candidates.values().flatten().map(String::as_str).collect();
    let mut documents: HashMap<String, Vec<String>> = HashMap::default();
    let fields = dataset.places_of(&model.words.fields)?;
    dataset.for_each_documents(|batch| {
        for row in (0..batch.len()).filter(|&row| wanted.contains(batch.id(row))) {
            let texts = fields.iter().map(|&field| batch.text(row, field).to_owned()).collect();
            documents.insert(batch.id(row).to_owned(), texts);
        }
        Ok(())
    })?;
    if documents.len() < wanted.len() {
        progress.note(&format!("{} candidates are not in the collection", wanted.len() - documents.len()));
    }
    progress.begin("ranking", Some(queries.len() as u64), "queries");
    let rankings = queries.par_iter().filter_map(|query| {
        let list = candidates.get(&query.id)?;
        let scored = list.iter().filter_map(|id| Some((id, documents.get(id)?)));
        let mut ranking: Vec<(String, f32)> =
            scored.map(|(id, texts)| (id.clone(), model.score(&query.text, texts) as f32)).collect();
        ranking.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        progress.advance(1);
        Some((query.id.clone(), ranking))
    });
    Ok(rankings.collect())
}

/// The index of the dataset's documents under the model's analyser: opened where it lies in the dataset
/// folder, made there otherwise, or made in memory where the folder cannot be written.
fn open_index(model: &TextBm25, dataset: &Dataset, progress: &dyn Progress) -> Result<Index> {
    let analyser = &model.words.analyser;
    let fields: Vec<String> = dataset.manifest.fields.iter().map(|(name, _)| name.to_owned()).collect();
    let folder = index_folder(model, dataset, &fields);
    if folder.exists() {
        match Index::open(&folder) {
            Ok(index) if u64::from(index.n_documents()) == dataset.manifest.statistics.n_documents => {
                return Ok(index);
            }
            Ok(_) => progress
                .note(&format!("{}: the index is of other documents; making it again", folder.display())),
            Err(error) => progress.note(&format!("{error}; making the index again")),
        }
        std::fs::remove_dir_all(&folder).map_err(|e| Error::io(files::name_of(&folder), e))?;
    }
    let mut failure = None;
    let documents = dataset.texts()?.map_while(|text| text.map_err(|error| failure = Some(error)).ok());
    let parent = folder.parent().expect("the index lies in the dataset");
    let writable = std::fs::create_dir_all(parent).is_ok() && tempfile::tempfile_in(parent).is_ok();
    let index = if writable {
        Index::build(&folder, analyser, &fields, documents, progress)?
    } else {
        progress.note(&format!("{} cannot be written; the index is kept in memory", parent.display()));
        Index::in_memory(analyser, &fields, documents, progress)?
    };
    failure.map_or(Ok(index), Err)
}

/// Indexes lie by what decides their content: the documents, the fields and the analyser.
fn index_folder(model: &TextBm25, dataset: &Dataset, fields: &[String]) -> PathBuf {
    let content = (&dataset.manifest.content_hash, fields, model.words.analyser.params());
    let json = serde_json::to_string(&content).expect("settings are plain data");
    let name = &blake3::hash(json.as_bytes()).to_hex()[..16];
    dataset.folder().join("index").join(name)
}
