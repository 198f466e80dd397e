//! Rows before they are grouped by query, and the checks that every row must pass.

use super::growing_matrix::GrowingMatrix;
use super::names::Names;

/// Highest feature number that a row may have. Rankers store a value for every feature up to the highest, so a larger
/// number is more likely a mistake than a feature.
pub const HIGHEST_FEATURE: u32 = 10_000_000;

/// Rows that will become [`FeatureLists`](super::FeatureLists), in any order of queries.
#[derive(Debug, Clone, Default)]
pub struct FeatureRows {
    /// Number of rows of earlier files; rows without a document id are numbered after them.
    pub(super) rows_before: usize,
    /// Query of each run of consecutive rows, and the lengths of the runs.
    queries: Names,
    lengths: Vec<usize>,
    pub(super) labels: Vec<f32>,
    /// Document ids; empty for rows without one.
    pub(super) documents: Names,
    pub(super) named: Vec<bool>,
    pub(super) cells: GrowingMatrix,
    /// Files that the rows were read from.
    pub(super) files: Vec<String>,
    /// File and line of every row; empty if the rows come from no file.
    pub(super) origins: Vec<Origin>,
}

/// File (by its number) and line of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) file: u32,
    pub(super) line: u32,
}

impl FeatureRows {
    /// Adds a row. `entries` are (column, value) in any order, column 0 being feature 1; the call sorts them. NaN is a
    /// missing value. Returns an error, and does not add the row, if the label is negative, a value is infinite, or a
    /// feature is above [`HIGHEST_FEATURE`] or given twice.
    pub fn push(
        &mut self,
        query: &str,
        document: Option<&str>,
        label: f32,
        entries: &mut [(u32, f32)],
    ) -> Result<(), String> {
        if !label.is_finite() || label < 0.0 {
            return Err(format!(
                "the label is {label}: a label is a grade, a finite number of at least 0 (write 0 for not relevant)"
            ));
        }
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_unstable_by_key(|e| e.0);
            if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                return Err(format!("feature {} is given twice; keep one of them", u64::from(pair[0].0) + 1));
            }
        }
        if let Some((column, value)) = entries.iter().find(|e| e.1.is_infinite()) {
            return Err(format!(
                "feature {} is {value}: features are finite 32-bit numbers, or NaN for a missing value",
                u64::from(*column) + 1
            ));
        }
        if let Some((column, _)) = entries.last().filter(|entry| entry.0 >= HIGHEST_FEATURE) {
            return Err(beyond_the_highest(u64::from(*column) + 1));
        }
        if self.lengths.is_empty() || self.queries.get(self.queries.len() - 1) != query {
            self.queries.push(query);
            self.lengths.push(0);
        }
        *self.lengths.last_mut().expect("there is a query") += 1;
        self.labels.push(label);
        self.documents.push(document.unwrap_or_default());
        self.named.push(document.is_some());
        self.cells.push(entries);
        Ok(())
    }

    /// Adds a row that was read from a line of file 0.
    pub(super) fn push_line(
        &mut self,
        line: u32,
        row: &super::letor::LetorRow<'_>,
        entries: &mut [(u32, f32)],
    ) -> Result<(), String> {
        self.push(row.query, row.document, row.label, entries)?;
        self.origins.push(Origin { file: 0, line });
        Ok(())
    }

    /// Adds the rows of a piece of a file whose lines were counted from 1.
    pub(super) fn append(&mut self, piece: Self, file: u32, lines_before: u64) {
        let mut runs = piece.runs();
        let last = self.queries.len().checked_sub(1);
        if let (Some(last), Some((query, length))) = (last, runs.clone().next())
            && self.queries.get(last) == query
        {
            self.lengths[last] += length;
            runs.next();
        }
        for (query, length) in runs {
            self.queries.push(query);
            self.lengths.push(length);
        }
        self.labels.extend_from_slice(&piece.labels);
        (0..piece.documents.len()).for_each(|row| self.documents.push(piece.documents.get(row)));
        self.named.extend_from_slice(&piece.named);
        let line = |line: u32| (lines_before + u64::from(line)).min(u64::from(u32::MAX)) as u32;
        self.origins.extend(piece.origins.iter().map(|origin| Origin { file, line: line(origin.line) }));
        self.cells.append(piece.cells);
    }

    /// Number of rows so far.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns true if no row was added.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Iterates over the queries with their numbers of consecutive rows, in the order of the rows. A query that appears
    /// twice is scattered.
    pub fn runs(&self) -> impl Iterator<Item = (&str, usize)> + Clone {
        self.lengths.iter().enumerate().map(|(run, &length)| (self.queries.get(run), length))
    }
}

/// Formats the error of a feature number that is too high.
pub(super) fn beyond_the_highest(found: u64) -> String {
    format!(
        "feature {found} is above the highest allowed, {HIGHEST_FEATURE}; number the features consecutively from 1"
    )
}
