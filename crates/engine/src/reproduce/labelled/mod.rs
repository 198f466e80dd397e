//! Reads rows with a class, for training and for testing.
//!
//! | data | format |
//! |---|---|
//! | a folder of classes, or a tar file of it | `CLASS/DOCUMENT` texts, under folders whose names end in `train` and `test` |
//! | idx files | a folder with `train-images*`, `train-labels*`, `t10k-images*`, `t10k-labels*` |
//! | SVMlight | lines `label index:value ...` |
//!
//! If nothing marks the test rows, every third row is one. Texts become tf-idf vectors of length 1 over the most
//! frequent words of training: words of at least two letters, digits or underscores, lower case, weighted by tf times
//! ln(N / df). Other rows are scaled to length 1. Files may be gzip or zstd.

mod numbers;
mod texts;

use std::collections::BTreeMap;
use std::path::Path;

use matchrank_core::matching::{Csr, CsrBuilder};
use matchrank_core::{Error, Result};

use self::numbers::{idx_folder, svmlight};
pub use self::texts::TextParams;
use self::texts::{decode, folder, texts};
use super::tar;
use crate::files;

/// Rows with a class each.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// The rows.
    pub rows: Csr,
    /// Number of the class of each row.
    pub labels: Vec<u32>,
}

/// Training rows, test rows, and the names of the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledSplit {
    /// Rows to learn from.
    pub train: Labelled,
    /// Rows to measure on.
    pub test: Labelled,
    /// Words of the columns, for texts.
    pub words: Vec<String>,
}

/// Reads data of any of these kinds. SVMlight rows for testing may come from a separate file.
pub fn read(data: &Path, test: Option<&Path>, params: &TextParams) -> Result<LabelledSplit> {
    if data.is_dir() {
        let names = names(data)?;
        return if names.iter().any(|name| name.starts_with("train-images")) {
            idx_folder(data, &names)
        } else {
            texts(&files::name_of(data), folder(data)?, params)
        };
    }
    let bytes = files::read_all(data)?;
    if bytes.get(257..262) == Some(b"ustar") {
        let mut documents = Vec::new();
        let name = files::name_of(data);
        tar::for_each_file(&name, &bytes, |name, content| {
            documents.push((name.to_owned(), decode(content)))
        })?;
        return texts(&name, documents, params);
    }
    let (train, n_train) = svmlight(data, &bytes)?;
    match test {
        None => every_third(train, n_train, &files::name_of(data)),
        Some(path) => {
            let (test, n_test) = svmlight(path, &files::read_all(path)?)?;
            let n_columns = n_train.max(n_test);
            let split = LabelledSplit {
                train: labelled(train, n_columns)?,
                test: labelled(test, n_columns)?,
                words: Vec::new(),
            };
            check(split, &files::name_of(data))
        }
    }
}

/// Returns an error unless both parts have at least two classes of two rows.
fn check(split: LabelledSplit, name: &str) -> Result<LabelledSplit> {
    for (what, part) in [("training", &split.train), ("testing", &split.test)] {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        part.labels.iter().for_each(|&label| *counts.entry(label).or_default() += 1);
        if counts.len() < 2 || counts.values().any(|&n| n < 2) {
            return Err(Error::format(
                name,
                format!(
                    "has {} rows in {} classes for {what}; at least two classes of two rows are needed",
                    part.labels.len(),
                    counts.len()
                ),
            ));
        }
    }
    Ok(split)
}

/// Entries of a row, features ascending, and its class.
type LabelledRow = (Vec<(u32, f32)>, u32);

fn labelled(rows: Vec<LabelledRow>, n_columns: usize) -> Result<Labelled> {
    let mut builder = CsrBuilder::new(n_columns);
    let mut labels = Vec::with_capacity(rows.len());
    for (entries, label) in rows {
        let length = entries.iter().map(|&(_, x)| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
        for (column, value) in entries.into_iter().filter(|&(_, value)| value != 0.0) {
            builder.push(column, (f64::from(value) / length) as f32);
        }
        builder.end_row();
        labels.push(label);
    }
    Ok(Labelled { rows: builder.finish()?, labels })
}

fn every_third(rows: Vec<LabelledRow>, n_columns: usize, name: &str) -> Result<LabelledSplit> {
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (at, row) in rows.into_iter().enumerate() {
        if at % 3 == 2 { test.push(row) } else { train.push(row) }
    }
    let split = LabelledSplit {
        train: labelled(train, n_columns)?,
        test: labelled(test, n_columns)?,
        words: Vec::new(),
    };
    check(split, name)
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let wrong = |e| Error::io(files::name_of(folder), e);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        names.push(entry.map_err(wrong)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn words(n_words: usize) -> TextParams {
        TextParams { n_words, ..TextParams::default() }
    }

    fn write(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    #[test]
    fn folders_of_classes() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("x-train/cars/1", &b"wheel wheel car"[..]),
            ("x-train/cars/2", b"car motor"),
            ("x-train/boats/1", b"boat sail a"),
            ("x-train/boats/2", b"sail caf\xe9"),
            ("x-test/cars/3", b"car wheel unknown"),
            ("x-test/cars/4", b"motor"),
            ("x-test/boats/3", b"boat"),
            ("x-test/boats/4", b"sail"),
        ] {
            write(folder.path(), name, text);
        }
        let split = read(folder.path(), None, &words(4)).unwrap();
        assert_eq!(split.words, ["car", "sail", "wheel", "boat"]);
        assert_eq!((split.train.labels.len(), split.test.labels.len()), (4, 4));
        // Boats come before cars; wheel is in one document of four, twice in it, car in two.
        let row = split.train.rows.row(2);
        let expected = [2f64.ln(), 2.0 * 4f64.ln()];
        let norm = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert_eq!(row.indices(), [0, 2]);
        for (found, expected) in row.values().iter().zip(expected) {
            assert!((f64::from(*found) - expected / norm).abs() < 1e-6);
        }
        write(folder.path(), "x-train/alone/1", b"one of its class");
        assert!(
            read(folder.path(), None, &words(4)).unwrap_err().to_string().contains("two classes of two rows")
        );
    }

    #[test]
    fn counts_may_be_logged_and_stop_words_dropped() {
        let folder = tempfile::tempdir().unwrap();
        for part in ["x-train", "x-test"] {
            for (name, text) in [
                ("cars/1", "the the the wheel wheel car don't"),
                ("cars/2", "the car"),
                ("boats/1", "the boat"),
                ("boats/2", "boat sail"),
            ] {
                write(folder.path(), &format!("{part}/{name}"), text.as_bytes());
            }
        }
        let split = read(folder.path(), None, &words(3)).unwrap();
        assert_eq!(split.words, ["the", "boat", "car"]);
        let params = TextParams { n_words: 4, log_counts: true, drop_stop_words: true };
        let split = read(folder.path(), None, &params).unwrap();
        assert_eq!(split.words, ["boat", "car", "wheel", "sail"]);
        let row = split.train.rows.row(2);
        let ratio = f64::from(row.values()[1] / row.values()[0]);
        assert_eq!(row.indices(), [1, 2]);
        assert!((ratio - (1.0 + 2f64.ln()) * 4f64.ln() / 2f64.ln()).abs() < 1e-5, "{ratio}");
    }

    #[test]
    fn idx_and_svmlight() {
        let folder = tempfile::tempdir().unwrap();
        let images =
            |n: u8| [vec![0, 0, 8, 3, 0, 0, 0, n, 0, 0, 0, 1, 0, 0, 0, 2], [3, 4].repeat(n.into())].concat();
        let labels = |n: u8| [vec![0, 0, 8, 1, 0, 0, 0, n], (0..n).map(|i| i % 2).collect()].concat();
        for (part, n) in [("train", 6), ("t10k", 4)] {
            write(folder.path(), &format!("{part}-images-idx3-ubyte"), &images(n));
            write(folder.path(), &format!("{part}-labels-idx1-ubyte"), &labels(n));
        }
        let split = read(folder.path(), None, &words(1)).unwrap();
        assert_eq!((split.train.labels.len(), split.test.labels.len()), (6, 4));
        assert_eq!(split.train.rows.row(5).values(), [0.6, 0.8]);
        write(folder.path(), "t10k-labels-idx1-ubyte", &labels(4)[..9]);
        assert!(read(folder.path(), None, &words(1)).unwrap_err().to_string().contains("cut off"));

        let good = "1 1:3 2:4 # x\n-1 2:1\n1 1:1\n\n1 1:1\n-1 1:2\n-1 2:5\n".repeat(3);
        let path = write(folder.path(), "rows.svm", good.as_bytes());
        let split = read(&path, None, &words(1)).unwrap();
        assert_eq!((split.train.labels.len(), split.test.labels.len()), (12, 6));
        assert_eq!(split.train.rows.row(0).values(), [0.6, 0.8]);
        for bad in ["1 1:nan\n", "x 1:1\n", "1 0:1\n", "1 1:1 1:2\n", "1 one\n"] {
            let path = write(folder.path(), "bad.svm", bad.as_bytes());
            assert!(read(&path, None, &words(1)).unwrap_err().to_string().contains("bad.svm:1"), "{bad}");
        }
    }
}
