//! Names of what click features stand for, by which a model finds them in another dataset.
//!
//! Click features are numbered by the rows of the dataset a model was trained on. The next day's dataset has other rows:
//! documents come and go. So a model keeps a hash of the id of every document, and of the text of every query, that has
//! training clicks ([`ClickKeys`]). In another dataset they are found by these hashes ([`RowNumbers`]), and what the model does
//! not know has no click feature.
//!
//! A hash has 64 bits. No two hashes of a model are equal: another seed is taken until none are. A name that the model does
//! not know meets one of n hashes with probability n / 2^64.

use std::cmp::Ordering;
use std::sync::Arc;

use matchrank_core::matching::SparseRow;
use matchrank_core::{Error, Result};
use rayon::prelude::*;

use super::FeatureRow;
use crate::dataset::{Clicks, Dataset};
use crate::text::normalise_query;

/// Hashes of the queries and documents that click features stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClickKeys {
    seed: u64,
    queries: Keys,
    documents: Keys,
}

/// Hashes of names in ascending order, and the row of each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keys {
    /// Hashes, ascending.
    pub hashes: Vec<u64>,
    /// The row that each of them stands for.
    pub rows: Vec<u32>,
}

/// Guesses of a place before the range is halved.
const GUESSES: usize = 8;

impl Keys {
    /// `None` if two hashes are equal.
    fn of<'a>(names: impl IndexedParallelIterator<Item = (u32, &'a str)>, seed: u64) -> Option<Self> {
        let mut keys: Vec<(u64, u32)> = names.map(|(row, name)| (hash(seed, name), row)).collect();
        keys.par_sort_unstable();
        let (hashes, rows): (Vec<u64>, Vec<u32>) = keys.into_iter().unzip();
        hashes.is_sorted_by(|a, b| a < b).then_some(Self { hashes, rows })
    }

    /// Hashes are uniform, so the place of one is near its share of the range, and a few guesses find it. Halving, which goes
    /// on where hashes of a file are not uniform, waits for memory at every step.
    fn find(&self, hash: u64) -> Option<u32> {
        let (mut low, mut high) = (0, self.hashes.len());
        // All hashes from `low` to `high` lie between these.
        let (mut least, mut most) = (0, u64::MAX);
        for step in 0.. {
            if low >= high {
                break;
            }
            let share = if step < GUESSES { (hash - least) as f64 / (most - least) as f64 } else { 0.5 };
            let at = (low + (share * (high - low) as f64) as usize).min(high - 1);
            match self.hashes[at].cmp(&hash) {
                Ordering::Equal => return Some(self.rows[at]),
                Ordering::Less => (low, least) = (at + 1, self.hashes[at]),
                Ordering::Greater => (high, most) = (at, self.hashes[at]),
            }
        }
        None
    }

    fn validate(&self, n_rows: u32) -> Result<()> {
        let wrong = |what: &str| Err(Error::Params(format!("the names of its click features {what}")));
        match () {
            () if self.hashes.len() != self.rows.len() => wrong("do not have one row each"),
            () if !self.hashes.is_sorted_by(|a, b| a < b) => wrong("are not in order"),
            () if self.rows.iter().any(|&row| row >= n_rows) => wrong("stand for rows it does not have"),
            () => Ok(()),
        }
    }
}

fn hash(seed: u64, name: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(name.as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

impl ClickKeys {
    /// Keys of the queries and documents that have training clicks.
    pub fn of(dataset: &Dataset, clicks: &Clicks) -> Result<Arc<Self>> {
        let queries: Vec<(u32, &str)> = clicks.queries().collect();
        let n_documents = clicks.by_query().n_columns() as u32;
        let clicked: Vec<u32> =
            (0..n_documents).filter(|&row| !clicks.of_document(row).indices().is_empty()).collect();
        let ids = dataset.id_list(Some(&clicked))?;
        let keys = (0..).find_map(|seed| {
            let queries = Keys::of(queries.par_iter().copied(), seed)?;
            let documents =
                clicked.par_iter().enumerate().map(|(number, &row)| (row, ids.get(number as u32)));
            Some(Self { seed, queries, documents: Keys::of(documents, seed)? })
        });
        Ok(Arc::new(keys.expect("one of all seeds tells the names apart")))
    }

    /// Makes keys from the parts that a model file stores. Returns an error if they contradict the numbers of queries and
    /// documents.
    pub fn new(
        seed: u64,
        [queries, documents]: [Keys; 2],
        [n_queries, n_documents]: [u32; 2],
    ) -> Result<Self> {
        queries.validate(n_queries)?;
        documents.validate(n_documents)?;
        Ok(Self { seed, queries, documents })
    }

    /// Seed of the hashes.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Keys of the queries.
    pub fn queries(&self) -> &Keys {
        &self.queries
    }

    /// Keys of the documents.
    pub fn documents(&self) -> &Keys {
        &self.documents
    }

    /// Number of a query, given by its text.
    pub fn query(&self, text: &str) -> Option<u32> {
        self.queries.find(hash(self.seed, &normalise_query(text)))
    }

    /// Finds the documents of a dataset, and its queries that have `clicks`.
    pub fn numbers(&self, dataset: &Dataset, clicks: Option<&Clicks>) -> Result<RowNumbers> {
        let ids = dataset.id_list(None)?;
        let find = |keys: &Keys, name: &str| keys.find(hash(self.seed, name)).unwrap_or(RowNumbers::UNKNOWN);
        let documents =
            (0..ids.len() as u32).into_par_iter().map(|row| find(&self.documents, ids.get(row))).collect();
        let mut queries = Vec::new();
        if let Some(clicks) = clicks {
            queries.resize(clicks.by_query().n_rows(), RowNumbers::UNKNOWN);
            let texts: Vec<(u32, &str)> = clicks.queries().collect();
            let found: Vec<u32> = texts.par_iter().map(|(_, text)| find(&self.queries, text)).collect();
            texts.iter().zip(found).for_each(|((row, _), number)| queries[*row as usize] = number);
        }
        Ok(RowNumbers { documents, queries })
    }
}

/// Numbers that the queries and documents of a dataset have in a model.
#[derive(Debug)]
pub struct RowNumbers {
    documents: Vec<u32>,
    queries: Vec<u32>,
}

impl RowNumbers {
    const UNKNOWN: u32 = u32::MAX;

    /// Numbers of a model's own dataset, where documents without clicks are unknown.
    pub(crate) fn clicked(clicks: &Clicks) -> Self {
        let known = |row: u32| !clicks.of_document(row).indices().is_empty();
        let number = |row| if known(row) { row } else { Self::UNKNOWN };
        Self {
            documents: (0..clicks.by_query().n_columns() as u32).map(number).collect(),
            queries: Vec::new(),
        }
    }

    /// Number of a document, given by its row.
    pub fn document(&self, row: u32) -> Option<u32> {
        Self::known(self.documents[row as usize])
    }

    /// Number of a query that has clicks, given by its row.
    pub fn query(&self, row: u32) -> Option<u32> {
        Self::known(self.queries[row as usize])
    }

    fn known(number: u32) -> Option<u32> {
        (number != Self::UNKNOWN).then_some(number)
    }

    /// Documents that the model knows.
    pub fn n_documents(&self) -> usize {
        self.documents.iter().filter(|&&number| number != Self::UNKNOWN).count()
    }

    /// Rows of documents, given by their numbers.
    pub fn document_rows(&self, numbers: &[u32]) -> Vec<Option<u32>> {
        rows_of(&self.documents, numbers)
    }

    /// Rows of queries, given by their numbers.
    pub fn query_rows(&self, numbers: &[u32]) -> Vec<Option<u32>> {
        rows_of(&self.queries, numbers)
    }
}

fn rows_of(all: &[u32], numbers: &[u32]) -> Vec<Option<u32>> {
    let mut rows = vec![None; numbers.len()];
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by_key(|&at| numbers[at]);
    for (row, number) in all.iter().enumerate() {
        let from = order.partition_point(|&at| numbers[at] < *number);
        order[from..]
            .iter()
            .take_while(|&&at| numbers[at] == *number)
            .for_each(|&at| rows[at] = Some(row as u32));
    }
    rows
}

/// The clicks of a dataset as a model's click features.
#[derive(Clone, Copy)]
pub struct KnownClicks<'a> {
    clicks: &'a Clicks,
    /// `None` for the dataset that the model was trained on.
    numbers: Option<&'a RowNumbers>,
}

impl<'a> From<&'a Clicks> for KnownClicks<'a> {
    /// Clicks of the dataset that the model was trained on.
    fn from(clicks: &'a Clicks) -> Self {
        Self { clicks, numbers: None }
    }
}

impl<'a> KnownClicks<'a> {
    /// Clicks of a dataset in which queries and documents have other numbers than in the model.
    pub fn renumbered(clicks: &'a Clicks, numbers: Option<&'a RowNumbers>) -> Self {
        Self { clicks, numbers }
    }

    /// The clicks with the rows of their dataset.
    pub fn clicks(&self) -> &'a Clicks {
        self.clicks
    }

    /// Clicks of a query, given by its text, on documents that the model knows; `None` if it has none in the dataset.
    pub fn of_text(&self, query: &str) -> Option<ClickRow<'a>> {
        let row = self.clicks.of_query(self.clicks.row_of(query)?);
        Some(self.renumber(row, RowNumbers::document))
    }

    /// Clicks on a document by queries that the model knows.
    pub fn of_document(&self, row: u32) -> ClickRow<'a> {
        self.renumber(self.clicks.of_document(row), RowNumbers::query)
    }

    fn renumber(&self, row: SparseRow<'a>, number: impl Fn(&RowNumbers, u32) -> Option<u32>) -> ClickRow<'a> {
        let Some(numbers) = self.numbers else { return ClickRow::Own(row) };
        let mut entries: Vec<(u32, f32)> =
            row.iter().filter_map(|(of, count)| Some((number(numbers, of)?, count))).collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        entries.dedup_by_key(|entry| entry.0);
        let (indices, values) = entries.into_iter().unzip();
        ClickRow::Renumbered(FeatureRow { indices, values })
    }
}

/// Clicks of a query or on a document, by the numbers of a model.
pub enum ClickRow<'a> {
    /// As the dataset has them.
    Own(SparseRow<'a>),
    /// Those that the model knows.
    Renumbered(FeatureRow),
}

impl ClickRow<'_> {
    /// Numbers and counts.
    pub fn row(&self) -> SparseRow<'_> {
        match self {
            Self::Own(row) => *row,
            Self::Renumbered(row) => row.row(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_again() {
        let names: Vec<String> = (0..1000u32).map(|i| format!("n{i}")).collect();
        let rows = names.par_iter().enumerate().map(|(i, name)| (i as u32, name.as_str()));
        let keys = Keys::of(rows, 7).unwrap();
        for (row, name) in names.iter().enumerate() {
            assert_eq!(keys.find(hash(7, name)), Some(row as u32));
            assert_eq!(keys.find(hash(8, name)), None);
        }
        let twice = [(0, "a"), (1, "b"), (2, "a")];
        assert!(Keys::of(twice.par_iter().copied(), 0).is_none());
        // As files have it on every machine.
        assert_eq!(hash(0, "sku-1"), 11_881_979_083_660_705_525);
    }

    proptest::proptest! {
        /// Also in files whose hashes are anything but uniform.
        #[test]
        fn every_hash_is_found(
            mut hashes in proptest::collection::vec(
                proptest::prop_oneof![0..40u64, u64::MAX - 40..=u64::MAX, proptest::num::u64::ANY], 0..200),
            others in proptest::collection::vec(0..60u64, 0..40),
        ) {
            hashes.sort_unstable();
            hashes.dedup();
            let keys = Keys { rows: (0..hashes.len() as u32).collect(), hashes };
            let ends = [0, u64::MAX];
            for &hash in keys.hashes.iter().chain(&others).chain(&ends) {
                let row = keys.hashes.binary_search(&hash).ok().map(|at| keys.rows[at]);
                proptest::prop_assert_eq!(keys.find(hash), row);
            }
        }
    }

    #[test]
    fn rows_are_found_by_numbers() {
        let unknown = RowNumbers::UNKNOWN;
        let numbers = RowNumbers { documents: vec![4, unknown, 0, 7], queries: vec![unknown] };
        assert_eq!(numbers.document_rows(&[7, 3, 4, 7]), [Some(3), None, Some(0), Some(3)]);
        assert_eq!((numbers.document(1), numbers.document(2)), (None, Some(0)));
        assert_eq!((numbers.n_documents(), numbers.query(0)), (3, None));
    }

    #[test]
    fn contradictions_are_refused() {
        let keys = |hashes: &[u64], rows: &[u32]| Keys { hashes: hashes.to_vec(), rows: rows.to_vec() };
        let new = |queries| ClickKeys::new(0, [queries, Keys::default()], [2, 0]);
        assert!(new(keys(&[1, 5], &[1, 0])).is_ok());
        for wrong in [keys(&[1, 5], &[1]), keys(&[5, 1], &[0, 1]), keys(&[1, 1], &[0, 1]), keys(&[1], &[2])] {
            assert!(new(wrong).is_err());
        }
    }
}
