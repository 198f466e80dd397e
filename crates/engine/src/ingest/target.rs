//! Output folder of `ingest`, which is written next to its place and moved there when it is complete.

use std::path::{Path, PathBuf};

use matchrank_core::{Error, Result};

use super::IngestParams;
use crate::dataset::replace::{former_name, put_in_place};
use crate::dataset::{MANIFEST, foreign_file};
use crate::files::{self, TemporaryFolder, parent_of};
use crate::outputs::check_outside_datasets;

/// Place of the dataset, and the unfinished folder next to it.
pub(super) struct DatasetTarget {
    /// Path as the user gave it.
    out: PathBuf,
    /// Path with links followed.
    place: PathBuf,
    replace: bool,
    temporary: TemporaryFolder,
}

impl DatasetTarget {
    /// Checks the place and creates the unfinished folder. An existing dataset is replaced only with `replace`, and
    /// only if there are no other files in its folder.
    pub(super) fn prepare(out: &Path, params: &IngestParams, replace: bool) -> Result<Self> {
        let name = files::name_of(out);
        // A link stays, and the folder it leads to is replaced.
        let followed = files::followed(out)?;
        let place = followed.canonicalize().unwrap_or(followed);
        let absolute = std::path::absolute(&place).map_err(|e| Error::io(&name, e))?;
        check_outside_datasets(out, &parent_of(&absolute))?;
        if place.exists() {
            check_place(out, replace)?;
            let inside = |file: &&Path| file.canonicalize().is_ok_and(|file| file.starts_with(&place));
            if let Some(input) = params.uses().map(|(_, file)| file).find(inside) {
                return Err(Error::format(
                    files::name_of(input),
                    format!("is in {name}, which is to be replaced; move it elsewhere first"),
                ));
            }
        }
        let parent = parent_of(&place);
        let io = |e| Error::io(files::name_of(&parent), e);
        files::make_folder(&parent)?;
        let temporary = TemporaryFolder::beside(&place)?;
        let target = Self { out: out.to_owned(), place, replace, temporary };
        // The new dataset has the permissions of the former one, or those of any new folder.
        std::fs::create_dir(target.unfinished()).map_err(io)?;
        if let Ok(former) = target.place.metadata() {
            std::fs::set_permissions(target.unfinished(), former.permissions()).map_err(io)?;
        }
        Ok(target)
    }

    /// Returns the folder to write the dataset to.
    pub(super) fn unfinished(&self) -> PathBuf {
        self.temporary.path().join("dataset")
    }

    /// Returns a folder for files that are not part of the dataset.
    pub(super) fn scratch(&self) -> &Path {
        self.temporary.path()
    }

    /// Puts the finished dataset in its place. A former one stays complete until then, and is removed afterwards.
    pub(super) fn put_in_place(self) -> Result<()> {
        if self.place.exists() {
            // Somebody may have put a file or a dataset there meanwhile.
            check_place(&self.out, self.replace)?;
        }
        let name = files::name_of(&self.out);
        let unfinished = self.unfinished();
        put_in_place(&unfinished, &self.place).map_err(|e| Error::io(&name, e))?;
        // A file that was added at the last moment is not removed with the former dataset.
        if unfinished.join(MANIFEST).is_file()
            && let Some(foreign) = foreign_file(&unfinished)?
        {
            let former = former_name(&self.place);
            std::fs::rename(&unfinished, &former).map_err(|e| {
                let _ = self.temporary.keep();
                Error::io(files::name_of(&foreign), e)
            })?;
            let message = format!(
                "was replaced; files that were put into it meanwhile are in {}",
                files::name_of(&former)
            );
            return Err(Error::format(name, message));
        }
        Ok(())
    }
}

fn check_place(place: &Path, replace: bool) -> Result<()> {
    let name = files::name_of(place);
    if !place.join(MANIFEST).is_file() {
        let is_empty = place.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        return match is_empty {
            true => Ok(()),
            false => Err(Error::format(name, "exists and is not a dataset; choose another folder")),
        };
    }
    if !replace {
        return Err(Error::format(
            name,
            "is already a dataset; choose another folder, or replace it with option `force`",
        ));
    }
    match foreign_file(place)? {
        Some(foreign) => Err(Error::format(
            files::name_of(&foreign),
            "is not part of the dataset, which is to be replaced; move it elsewhere first",
        )),
        None => Ok(()),
    }
}
