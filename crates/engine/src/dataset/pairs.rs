//! Pairs of queries and documents: training responses, impressions, judgments.
//!
//! Row numbers and values are checked as they are read, so that callers may index by them.

use std::path::Path;

use arrow_array::{Array, Float32Array, RecordBatch, UInt8Array, UInt32Array};
use matchrank_core::{Error, Result};

use super::{Dataset, Holdout, JUDGMENTS, NEGATIVES, RESPONSES, SKIPPED, tables};
use crate::files;

/// A training pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Row of the query.
    pub query: u32,
    /// Row of the document.
    pub document: u32,
    /// Clicks, or a grade.
    pub response: f32,
}

/// Position at which a document was shown for a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impression {
    /// Row of the query.
    pub query: u32,
    /// Row of the document.
    pub document: u32,
    /// Mean position, as the log counts.
    pub position: f32,
}

/// A training pair that was judged with grade 0: known not to be relevant, and no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negative {
    /// Row of the query.
    pub query: u32,
    /// Row of the document.
    pub document: u32,
}

/// A judged pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Row of the query.
    pub query: u32,
    /// Row of the document.
    pub document: u32,
    /// Grade; that of a held-out click follows [`ClickGrades`](super::ClickGrades).
    pub grade: f32,
    /// Held-out clicks of the pair; 0 if a person judged it.
    pub clicks: f32,
}

impl Dataset {
    /// Returns the training pairs.
    pub fn responses(&self) -> Result<Vec<Response>> {
        let path = self.folder.join(RESPONSES);
        let mut responses = Vec::new();
        for batch in self.batches(RESPONSES, Some(&["query", "document", "response"]))? {
            let batch = &batch?;
            let (queries, documents) = self.row_numbers(&path, batch)?;
            let values: &Float32Array = tables::column(&path, batch, "response")?;
            check_values(&path, "response", values, |value| value >= 0.0)?;
            responses.extend((0..batch.num_rows()).map(|i| Response {
                query: queries.value(i),
                document: documents.value(i),
                response: values.value(i),
            }));
        }
        Ok(responses)
    }

    /// Returns true for every document, by row, without a response in the training data. In a dataset without training
    /// responses no document is new.
    pub fn new_documents(&self) -> Result<Vec<bool>> {
        let has_responses = self.manifest.statistics.n_pairs > 0;
        let mut is_new = vec![has_responses; self.manifest.statistics.n_documents as usize];
        for response in self.responses()?.iter().filter(|response| response.response > 0.0) {
            is_new[response.document as usize] = false;
        }
        Ok(is_new)
    }

    /// Returns the training pairs that were judged with grade 0. They are no responses: only models that learn from
    /// preferences use them, as worse documents.
    pub fn negatives(&self) -> Result<Vec<Negative>> {
        if !self.manifest.tables.contains_key(NEGATIVES) {
            return Ok(Vec::new());
        }
        let path = self.folder.join(NEGATIVES);
        let mut negatives = Vec::new();
        for batch in self.batches(NEGATIVES, None)? {
            let batch = &batch?;
            let (queries, documents) = self.row_numbers(&path, batch)?;
            negatives.extend(
                (0..batch.num_rows())
                    .map(|i| Negative { query: queries.value(i), document: documents.value(i) }),
            );
        }
        Ok(negatives)
    }

    /// Returns the training pairs that were not clicked, and were shown above a clicked document or right below the
    /// last one. There are none if the log has no positions.
    pub fn skipped(&self) -> Result<Vec<Impression>> {
        if self.manifest.tables.contains_key(SKIPPED) { self.impressions(SKIPPED) } else { Ok(Vec::new()) }
    }

    /// Returns the training pairs with a click whose positions are known.
    pub fn clicked_positions(&self) -> Result<Vec<Impression>> {
        self.impressions(RESPONSES)
    }

    fn impressions(&self, table: &str) -> Result<Vec<Impression>> {
        let path = self.folder.join(table);
        let mut impressions = Vec::new();
        for batch in self.batches(table, Some(&["query", "document", "position"]))? {
            let batch = &batch?;
            let (queries, documents) = self.row_numbers(&path, batch)?;
            let positions: &Float32Array = tables::nullable_column(&path, batch, "position")?;
            check_values(&path, "position", positions, |position| position >= 0.0)?;
            impressions.extend((0..batch.num_rows()).filter(|&i| positions.is_valid(i)).map(|i| {
                Impression {
                    query: queries.value(i),
                    document: documents.value(i),
                    position: positions.value(i),
                }
            }));
        }
        Ok(impressions)
    }

    /// Returns the judged pairs of one holdout, sorted by (query, document).
    pub fn judgments(&self, holdout: Holdout) -> Result<Vec<Judged>> {
        let path = self.folder.join(JUDGMENTS);
        let mut judgments: Vec<Judged> = Vec::new();
        for batch in self.batches(JUDGMENTS, None)? {
            let batch = &batch?;
            let splits: &UInt8Array = tables::column(&path, batch, "split")?;
            let (queries, documents) = self.row_numbers(&path, batch)?;
            let grades: &Float32Array = tables::column(&path, batch, "grade")?;
            let clicks: &Float32Array = tables::column(&path, batch, "clicks")?;
            check_values(&path, "grade", grades, |_| true)?;
            check_values(&path, "clicks", clicks, |value| value >= 0.0)?;
            if let Some(split) = splits.values().iter().find(|&&split| split > Holdout::Test as u8) {
                return Err(impossible(&path, "split", split));
            }
            judgments.extend((0..batch.num_rows()).filter(|&i| splits.value(i) == holdout as u8).map(|i| {
                Judged {
                    query: queries.value(i),
                    document: documents.value(i),
                    grade: grades.value(i),
                    clicks: clicks.value(i),
                }
            }));
        }
        judgments.sort_unstable_by_key(|j| (j.query, j.document));
        let key = |judged: &Judged| (judged.query, judged.document);
        if let Some(pair) = judgments.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
            let Judged { query, document, .. } = pair[0];
            let message = format!(
                "judges document {document} of query {query} twice ({}); ingest again",
                holdout.name()
            );
            return Err(Error::format(files::name_of(&path), message));
        }
        Ok(judgments)
    }

    /// Returns the columns `query` and `document`, checked to be rows of the tables of queries and documents.
    fn row_numbers<'b>(
        &self,
        path: &Path,
        batch: &'b RecordBatch,
    ) -> Result<(&'b UInt32Array, &'b UInt32Array)> {
        let statistics = &self.manifest.statistics;
        let column = |name, n_rows: u64| -> Result<&UInt32Array> {
            let numbers: &UInt32Array = tables::column(path, batch, name)?;
            match numbers.values().iter().find(|&&number| u64::from(number) >= n_rows) {
                Some(number) => Err(impossible(path, name, number)),
                None => Ok(numbers),
            }
        };
        Ok((column("query", statistics.n_queries)?, column("document", statistics.n_documents)?))
    }
}

fn check_values(path: &Path, name: &str, values: &Float32Array, fits: impl Fn(f32) -> bool) -> Result<()> {
    match values.iter().flatten().find(|&value| !(value.is_finite() && fits(value))) {
        Some(value) => Err(impossible(path, name, value)),
        None => Ok(()),
    }
}

fn impossible(path: &Path, column: &str, value: impl std::fmt::Display) -> Error {
    Error::format(
        files::name_of(path),
        format!("holds {value} in the column '{column}', which is out of range; ingest again"),
    )
}
