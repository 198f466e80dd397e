//! The index of a dataset's documents, kept in the dataset folder.

use std::path::PathBuf;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::Index;
use crate::dataset::Dataset;
use crate::files;
use crate::text::Analyser;

/// The index of a dataset's documents under an analyser: opened where it lies in the dataset folder, made
/// there otherwise, or made in memory where the folder cannot be written.
pub fn index_of(dataset: &Dataset, analyser: &Analyser, progress: &dyn Progress) -> Result<Index> {
    let fields: Vec<String> = dataset.manifest.fields.iter().map(|(name, _)| name.to_owned()).collect();
    let folder = index_folder(dataset, analyser, &fields);
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
fn index_folder(dataset: &Dataset, analyser: &Analyser, fields: &[String]) -> PathBuf {
    let content = (&dataset.manifest.content_hash, fields, analyser.params());
    let json = serde_json::to_string(&content).expect("settings are plain data");
    let name = &blake3::hash(json.as_bytes()).to_hex()[..16];
    dataset.folder().join("index").join(name)
}
