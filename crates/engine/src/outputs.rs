//! Checks output paths before any work: they must be writable, and nothing of value may be there.

use std::path::{Path, PathBuf};

use matchrank_core::{Error, Result};

use crate::dataset::{DOCUMENTS, MANIFEST};
use crate::files;

/// Returns an error if a file among `outputs` cannot be written, is also among `inputs`, is named twice, or is inside a
/// dataset folder. Two paths to one file, by links of either kind, are the same. `-`, devices and pipes always pass.
pub fn check_outputs<I: AsRef<Path>, O: AsRef<Path>>(
    inputs: impl IntoIterator<Item = I>,
    outputs: impl IntoIterator<Item = O>,
) -> Result<()> {
    let inputs: Vec<Identity> = inputs.into_iter().filter_map(|path| Identity::of(path.as_ref())).collect();
    let mut before: Vec<Identity> = Vec::new();
    for output in outputs {
        let output = output.as_ref();
        let refused = |message: String| Err(Error::format(files::name_of(output), message));
        if output.is_dir() {
            return files::check_writable(output);
        }
        let Some(identity) = Identity::of(output) else { continue };
        if let Some(input) = inputs.iter().find(|input| input.is_same(&identity)) {
            return refused(format!(
                "would overwrite {}, which is an input; choose another output file",
                input.named.display()
            ));
        }
        if let Some(other) = before.iter().find(|other| other.is_same(&identity)) {
            return refused(format!(
                "would be written twice, also as {}; give two different files",
                other.named.display()
            ));
        }
        check_outside_datasets(output, &identity.place)?;
        files::check_writable(output)?;
        before.push(identity);
    }
    Ok(())
}

/// Returns an error if a folder for outputs cannot be created or written to, is a file, a dataset or inside one. The
/// folder is not created yet: input that is rejected afterwards leaves nothing behind.
pub fn check_output_folder(folder: &Path) -> Result<()> {
    let place = files::followed(folder)?;
    if let Some(identity) = Identity::of(&place) {
        check_outside_datasets(folder, &identity.place)?;
    }
    files::check_folder(&place)
}

/// Returns an error if a place is a dataset or inside one; `output` is its name for the user. Datasets are sealed: a
/// file among their tables would be taken for one, or deleted with them.
pub(crate) fn check_outside_datasets(output: &Path, place: &Path) -> Result<()> {
    let is_dataset = |folder: &&Path| folder.join(MANIFEST).is_file() && folder.join(DOCUMENTS).is_file();
    match place.ancestors().find(is_dataset) {
        Some(dataset) => Err(Error::format(
            files::name_of(output),
            format!(
                "is inside the dataset {}, where no other files may be written; choose another place",
                dataset.display()
            ),
        )),
        None => Ok(()),
    }
}

/// Identity of a file, whatever its path.
struct Identity {
    named: PathBuf,
    /// Absolute, without links.
    place: PathBuf,
    /// Device and inode number of an existing file.
    number: Option<(u64, u64)>,
}

impl Identity {
    /// Returns None for standard input and output, devices and pipes.
    fn of(path: &Path) -> Option<Self> {
        if path == Path::new("-") || path.exists() && !path.is_file() && !path.is_dir() {
            return None;
        }
        let beside = || Some(files::parent_of(path).canonicalize().ok()?.join(path.file_name()?));
        let place = path.canonicalize().ok().or_else(beside).or_else(|| std::path::absolute(path).ok())?;
        Some(Self { named: path.to_owned(), number: number(&place), place })
    }

    fn is_same(&self, other: &Self) -> bool {
        self.place == other.place || self.number.is_some() && self.number == other.number
    }
}

#[cfg(unix)]
fn number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn number(_path: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(inputs: &[&Path], outputs: &[&Path]) -> Option<String> {
        check_outputs(inputs, outputs).err().map(|error| error.to_string())
    }

    #[test]
    fn an_input_is_never_an_output_however_it_is_called() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), "x").unwrap();
        std::fs::write(at("b"), "y").unwrap();
        std::fs::create_dir(at("sub")).unwrap();
        assert_eq!(
            refusal(&[&at("a")], &[&at("b"), &at("new"), Path::new("-"), Path::new("/dev/null")]),
            None
        );
        let same = |name: &Path| {
            let refusal = refusal(&[&at("b"), &at("a")], &[name]).unwrap();
            assert!(
                refusal.contains("would overwrite") && refusal.contains("/a, which is an input"),
                "{refusal}"
            );
        };
        same(&at("a"));
        same(&at("sub/../a"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("a"), at("soft")).unwrap();
            same(&at("soft"));
        }
        std::fs::hard_link(at("a"), at("hard")).unwrap();
        same(&at("hard"));
        let twice = refusal(&[], &[&at("new"), &at("sub/../new")]).unwrap();
        assert!(twice.contains("twice"), "{twice}");
        assert!(refusal(&[], &[&at("nowhere/x")]).unwrap().contains("there is no such folder"));
        assert!(refusal(&[], &[&at("sub")]).unwrap().contains("is a folder"));
    }

    #[test]
    fn nothing_is_written_into_a_dataset() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir_all(data.join("index")).unwrap();
        assert_eq!(refusal(&[&data], &[&data.join("run.txt")]), None, "a folder like any other");
        std::fs::write(data.join(MANIFEST), "{}").unwrap();
        std::fs::write(data.join(DOCUMENTS), "").unwrap();
        for name in ["run.txt", "documents.parquet", "index/x"] {
            let refusal = refusal(&[], &[&data.join(name)]).unwrap();
            assert!(refusal.contains("is inside the dataset"), "{refusal}");
        }
        assert!(check_output_folder(&data).is_err() && check_output_folder(&data.join("models")).is_err());
        assert!(check_output_folder(&folder.path().join("a/b")).is_ok());
        assert!(!folder.path().join("a").exists(), "nothing is made yet");
        for name in ["data/manifest.json", "plain", "plain/inner"] {
            std::fs::write(folder.path().join("plain"), "").unwrap();
            assert!(check_output_folder(&folder.path().join(name)).is_err(), "{name}");
        }
        let error = check_output_folder(&folder.path().join("plain")).unwrap_err().to_string();
        assert!(error.contains("plain: is a file, but a folder is expected"), "{error}");
    }
}
