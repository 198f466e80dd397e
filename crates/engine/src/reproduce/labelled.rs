//! Rows with a class, for training and for testing.
//!
//! | data | what it is |
//! |---|---|
//! | a folder of classes, or a tar file of it | `CLASS/DOCUMENT` texts, under folders whose names end in `train` and `test` |
//! | idx files | a folder with `train-images*`, `train-labels*`, `t10k-images*`, `t10k-labels*` |
//! | SVMlight | lines `label index:value ...` |
//!
//! Where nothing says what is for testing, every third row is. Texts become tf-idf vectors of length 1 of the
//! words that are most frequent in training: words of at least two letters, digits or underscores, lower
//! case, weighted by tf times ln(N / df). Other rows are scaled to length 1. Files may be gzip or zstd.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foldhash::HashMap;
use matchrank_core::matching::{Csr, CsrBuilder};
use matchrank_core::{Error, Result};
use serde::Serialize;

use super::tar;
use crate::{files, text};

/// Rows with a class each.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// The rows.
    pub rows: Csr,
    /// Number of the class of each row.
    pub labels: Vec<u32>,
}

/// Training rows, test rows, and what the columns are called.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// To learn from.
    pub train: Labelled,
    /// To measure on.
    pub test: Labelled,
    /// Words of the columns, for texts.
    pub words: Vec<String>,
}

/// Features of texts. The paper says "the normalized tf-idf of the 10,000 most frequent words" and no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TextParams {
    /// Words to keep: the most frequent ones of training. Default: 10,000.
    pub n_words: usize,
    /// Whether tf is 1 + ln(count) instead of the count. Default: false.
    pub log_counts: bool,
    /// Whether English stop words are left out before the most frequent words are taken. Default: false.
    pub drop_stop_words: bool,
}

impl Default for TextParams {
    fn default() -> Self {
        Self { n_words: 10_000, log_counts: false, drop_stop_words: false }
    }
}

/// Reads data of any of the kinds. SVMlight rows for testing may come from a file of their own.
pub fn read(data: &Path, test: Option<&Path>, params: &TextParams) -> Result<Split> {
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
            let split = Split {
                train: labelled(train, n_columns)?,
                test: labelled(test, n_columns)?,
                words: Vec::new(),
            };
            check(split, &files::name_of(data))
        }
    }
}

/// A split that something can be learned from and measured on.
fn check(split: Split, name: &str) -> Result<Split> {
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

/// A row before its matrix: features ascending, and a class.
type Entries = (Vec<(u32, f32)>, u32);

fn labelled(rows: Vec<Entries>, n_columns: usize) -> Result<Labelled> {
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

fn every_third(rows: Vec<Entries>, n_columns: usize, name: &str) -> Result<Split> {
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (at, row) in rows.into_iter().enumerate() {
        if at % 3 == 2 { test.push(row) } else { train.push(row) }
    }
    let split =
        Split { train: labelled(train, n_columns)?, test: labelled(test, n_columns)?, words: Vec::new() };
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

/// All files below a folder, with their paths within it.
fn folder(root: &Path) -> Result<Vec<(String, String)>> {
    let mut documents = Vec::new();
    let mut open: Vec<(PathBuf, String)> = vec![(root.to_owned(), String::new())];
    while let Some((path, name)) = open.pop() {
        if path.is_dir() {
            for child in names(&path)?.into_iter().rev() {
                let within = if name.is_empty() { child.clone() } else { format!("{name}/{child}") };
                open.push((path.join(child), within));
            }
        } else {
            documents.push((name, decode(&files::read_all(&path)?)));
        }
    }
    Ok(documents)
}

/// UTF-8, or else Latin-1.
fn decode(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes)
        .map_or_else(|_| bytes.iter().map(|&byte| char::from(byte)).collect(), ToOwned::to_owned)
}

/// Documents by path and text into tf-idf vectors.
fn texts(name: &str, mut documents: Vec<(String, String)>, params: &TextParams) -> Result<Split> {
    documents.sort_by(|a, b| a.0.cmp(&b.0));
    let part = |path: &str| {
        let mut folders = path.split('/').rev().skip(1);
        let class = folders.next().unwrap_or_default().to_owned();
        let role = folders.find_map(|folder| {
            let folder = folder.to_lowercase();
            if folder.ends_with("test") { Some(true) } else { folder.ends_with("train").then_some(false) }
        });
        (class, role)
    };
    let has_roles = documents.iter().any(|(path, _)| part(path).1.is_some());
    let mut classes: BTreeMap<String, u32> = BTreeMap::new();
    for (path, _) in &documents {
        let n = classes.len() as u32;
        classes.entry(part(path).0).or_insert(n);
    }
    let is_test = |at: usize, path: &str| if has_roles { part(path).1 == Some(true) } else { at % 3 == 2 };
    let counted: Vec<(HashMap<String, u32>, u32, bool)> = documents
        .iter()
        .enumerate()
        .map(|(at, (path, text))| (count(text), classes[&part(path).0], is_test(at, path)))
        .collect();

    // Words of training by how often they come: (times, documents).
    let mut frequencies: HashMap<&str, (u64, u64)> = HashMap::default();
    let training = counted.iter().filter(|(.., is_test)| !is_test);
    for (words, ..) in training.clone() {
        for (word, &n) in words {
            let frequency = frequencies.entry(word).or_default();
            *frequency = (frequency.0 + u64::from(n), frequency.1 + 1);
        }
    }
    let stop_words: Vec<&str> = if params.drop_stop_words { stop_words() } else { Vec::new() };
    let mut words: Vec<&str> =
        frequencies.keys().copied().filter(|word| stop_words.binary_search(word).is_err()).collect();
    words.sort_unstable_by_key(|&word| (std::cmp::Reverse(frequencies[word].0), word));
    words.truncate(params.n_words);
    let n_documents = training.count() as f64;
    let weight = |word: &str| (n_documents / frequencies[word].1 as f64).ln();
    let columns: HashMap<&str, (u32, f64)> =
        (0..).zip(&words).map(|(column, &word)| (word, (column, weight(word)))).collect();

    let tf = |n: u32| if params.log_counts { 1.0 + f64::from(n).ln() } else { f64::from(n) };
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for (counts, class, is_test) in &counted {
        let known = counts.iter().filter_map(|(word, &n)| columns.get(word.as_str()).map(|at| (at, n)));
        let mut entries: Vec<(u32, f32)> =
            known.map(|(&(column, weight), n)| (column, (tf(n) * weight) as f32)).collect();
        entries.sort_unstable_by_key(|&(column, _)| column);
        if *is_test { test.push((entries, *class)) } else { train.push((entries, *class)) }
    }
    let split = Split {
        train: labelled(train, words.len())?,
        test: labelled(test, words.len())?,
        words: words.into_iter().map(ToOwned::to_owned).collect(),
    };
    check(split, name)
}

/// English stop words as [`count`] cuts them, sorted.
fn stop_words() -> Vec<&'static str> {
    let list = text::stop_words("english").unwrap_or_default();
    let mut words: Vec<&str> = list.iter().flat_map(|word| word.split('\'')).collect();
    words.sort_unstable();
    words
}

fn count(text: &str) -> HashMap<String, u32> {
    let mut counts = HashMap::default();
    let text = text.to_lowercase();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        if word.chars().nth(1).is_some() {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    counts
}

fn idx_folder(folder: &Path, names: &[String]) -> Result<Split> {
    let part = |start: &str| -> Result<Labelled> {
        let file = |kind: &str| {
            let wanted = format!("{start}-{kind}");
            let found = names.iter().find(|name| name.starts_with(&wanted));
            found.map(|name| folder.join(name)).ok_or_else(|| {
                Error::format(files::name_of(folder), format!("has no file whose name starts with {wanted}"))
            })
        };
        let (images, labels) = (idx(&file("images")?)?, idx(&file("labels")?)?);
        let n = labels.1.len();
        if images.0.first() != Some(&n) || n == 0 {
            return Err(Error::format(
                files::name_of(folder),
                format!("{start}: {:?} images but {n} labels", images.0),
            ));
        }
        let n_columns = images.1.len() / n;
        let rows = images.1.chunks_exact(n_columns.max(1)).zip(&labels.1).map(|(image, &label)| {
            let pixels = (0..).zip(image).filter(|&(_, &pixel)| pixel != 0);
            (pixels.map(|(at, &pixel)| (at, f32::from(pixel))).collect(), u32::from(label))
        });
        labelled(rows.collect(), n_columns)
    };
    check(Split { train: part("train")?, test: part("t10k")?, words: Vec::new() }, &files::name_of(folder))
}

/// Sizes and bytes of an idx file of bytes.
fn idx(path: &Path) -> Result<(Vec<usize>, Vec<u8>)> {
    let bytes = files::read_all(path)?;
    let wrong = |message: &str| Error::format(files::name_of(path), message.to_owned());
    let [0, 0, 8, n_sizes] = bytes.get(..4).unwrap_or_default()[..] else {
        return Err(wrong(
            "is no idx file of bytes: it must start with 0, 0, 8 and the number of dimensions",
        ));
    };
    let content = 4 + 4 * usize::from(n_sizes);
    let sizes = bytes.get(4..content).ok_or_else(|| wrong("is cut off in its header"))?;
    let size = |b: &[u8]| u32::from_be_bytes([b[0], b[1], b[2], b[3]]) as usize;
    let sizes: Vec<usize> = sizes.chunks_exact(4).map(size).collect();
    let total = sizes.iter().try_fold(1usize, |total, &size| total.checked_mul(size));
    if total != Some(bytes.len() - content) {
        return Err(wrong("does not have as many bytes as its header says: it is cut off or broken"));
    }
    Ok((sizes, bytes[content..].to_vec()))
}

/// Rows of an SVMlight file, and the number of columns.
fn svmlight(path: &Path, bytes: &[u8]) -> Result<(Vec<Entries>, usize)> {
    let name = files::name_of(path);
    let mut rows = Vec::new();
    let mut classes: HashMap<String, u32> = HashMap::default();
    let mut n_columns = 0;
    for (number, line) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        let wrong = |message: String| Error::parse(&name, number, message);
        let line = std::str::from_utf8(line).map_err(|_| wrong("is not UTF-8".into()))?;
        let mut fields = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
        let Some(label) = fields.next() else { continue };
        let label: f64 = label
            .parse()
            .map_err(|_| wrong(format!("a label, a number, is expected at the start, not `{label}`")))?;
        let next = classes.len() as u32;
        let class = *classes.entry(label.to_string()).or_insert(next);
        let mut entries = Vec::new();
        for field in fields.filter(|field| !field.starts_with("qid:")) {
            let pair = field.split_once(':').and_then(|(i, x)| Some((i.parse().ok()?, x.parse().ok()?)));
            let (index, value): (u32, f32) = pair
                .filter(|(index, value): &(u32, f32)| *index > 0 && value.is_finite())
                .ok_or_else(|| wrong(format!("`index:value` is expected, not `{field}`")))?;
            entries.push((index - 1, value));
            n_columns = n_columns.max(index as usize);
        }
        entries.sort_unstable_by_key(|&(column, _)| column);
        if let Some(twice) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(wrong(format!("feature {} comes twice", twice[0].0 + 1)));
        }
        rows.push((entries, class));
    }
    Ok((rows, n_columns))
}

#[cfg(test)]
mod tests {
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
