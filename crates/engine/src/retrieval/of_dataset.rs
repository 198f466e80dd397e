//! Index of a dataset's documents, stored in the dataset folder.
//!
//! ```text
//! DATASET/index/lock            locked by the process that builds an index
//! DATASET/index/HASH/           an index; HASH depends on everything that decides its content
//! DATASET/index/.matchrank-*    an unfinished index
//! ```

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::Index;
use crate::dataset::{Dataset, INDEX, LOCK};
use crate::files;
use crate::text::{Analyser, BagOfWords};

/// Returns the index of a dataset's documents under an analyser. The index is opened if it exists in the dataset
/// folder, and built there otherwise, or in memory if the folder cannot be written. A damaged index is built again. If
/// several processes need the index, one builds it and the others wait.
pub fn index_of(dataset: &Dataset, words: &BagOfWords, progress: &dyn Progress) -> Result<Index> {
    let analyser = &words.analyser;
    // The fields that a model reads tell the language of a document, so with several languages the index has no others.
    let has_all = analyser.params().languages.is_empty();
    let names = dataset.manifest.fields.iter().map(|(name, _)| name).enumerate();
    let (places, fields): (Vec<usize>, Vec<String>) = names
        .filter(|(_, name)| has_all || words.fields.position(name).is_some())
        .map(|(place, name)| (place, name.to_owned()))
        .unzip();
    let folder = index_folder(dataset, analyser, &fields);
    let n_documents = dataset.manifest.statistics.n_documents;
    let parent = folder.parent().expect("the index lies in the dataset");
    refuse_links([parent, &parent.join(LOCK), &folder])?;
    if let Ok(index) = usable(&folder, n_documents) {
        return Ok(index);
    }
    let _lock = lock(parent, progress);
    if folder.exists() {
        match usable(&folder, n_documents) {
            Ok(index) => return Ok(index),
            Err(error) => progress.note(&format!("{error}; building the index again")),
        }
    }
    let mut failure = None;
    let documents = dataset.texts()?.map_while(|text| text.map_err(|error| failure = Some(error)).ok());
    let documents = documents.map(|mut texts| {
        places.iter().map(|&place| std::mem::take(&mut texts[place])).collect::<Vec<String>>()
    });
    let writable = std::fs::create_dir_all(parent).is_ok() && tempfile::tempfile_in(parent).is_ok();
    let index = if writable {
        if folder.exists() && !folder.join(super::index::DESCRIPTION).is_file() {
            std::fs::remove_dir_all(&folder).map_err(|e| Error::io(files::name_of(&folder), e))?;
        }
        Index::build(&folder, (analyser, &fields), documents, progress)?
    } else {
        progress.note(&format!("{} cannot be written; the index is kept in memory", parent.display()));
        Index::in_memory(analyser, &fields, documents, progress)?
    };
    failure.map_or(Ok(index), Err)
}

/// Returns an error if a path in the dataset folder is a link: nobody named it as an output, and its target may belong
/// to somebody else.
fn refuse_links(places: [&Path; 3]) -> Result<()> {
    match places.into_iter().find(|place| place.is_symlink()) {
        Some(link) => Err(Error::format(
            files::name_of(link),
            "is a link, but links inside a dataset are not followed; remove it, and the index is built again",
        )),
        None => Ok(()),
    }
}

fn usable(folder: &Path, n_documents: u64) -> Result<Index> {
    let index = Index::open(folder)?;
    if u64::from(index.n_documents()) != n_documents {
        return Err(Error::format(files::name_of(folder), "the index was built from other documents"));
    }
    Ok(index)
}

/// Waits until no other process builds an index. Processes build side by side without a lock if the folder cannot be
/// written or its file system has no locks.
fn lock(folder: &Path, progress: &dyn Progress) -> Option<File> {
    std::fs::create_dir_all(folder).ok()?;
    let file = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK)).ok()?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            progress.note(&format!("another process is building an index in {}; waiting", folder.display()));
            file.lock().ok()?;
        }
        Err(TryLockError::Error(_)) => return None,
    }
    Some(file)
}

/// Returns the folder of an index, named by everything that decides its content: documents, fields and analyser.
fn index_folder(dataset: &Dataset, analyser: &Analyser, fields: &[String]) -> PathBuf {
    let content = (&dataset.manifest.content_hash, fields, analyser.params());
    let json = serde_json::to_string(&content).expect("settings are plain data");
    let name = &blake3::hash(json.as_bytes()).to_hex()[..16];
    dataset.folder().join(INDEX).join(name)
}
