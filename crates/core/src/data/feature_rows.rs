//! Rows before they are grouped, and the rules that every row obeys.

/// Rows on their way into [`FeatureLists`](super::FeatureLists), in any order of queries.
#[derive(Debug, Clone, Default)]
pub struct FeatureRows<'a> {
    pub(super) runs: Vec<(&'a str, usize)>,
    pub(super) labels: Vec<f32>,
    pub(super) documents: Vec<Option<&'a str>>,
    pub(super) lengths: Vec<u32>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f32>,
    pub(super) n_features: u32,
}

impl<'a> FeatureRows<'a> {
    /// Adds a row. `entries` are (column, value), column 0 being feature 1, in any order; the call
    /// sorts them. Says what is wrong with a label below 0, a number that is not finite, or a feature
    /// given twice; the row is then not added.
    pub fn push(
        &mut self,
        query: &'a str,
        document: Option<&'a str>,
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
        if let Some((column, value)) = entries.iter().find(|e| !e.1.is_finite()) {
            return Err(format!(
                "feature {} is {value}: features are finite 32-bit numbers; leave a missing one out (it counts as 0) or write a number",
                u64::from(*column) + 1
            ));
        }
        if let Some((column, _)) = entries.last() {
            if *column == u32::MAX {
                return Err(format!(
                    "feature {} is beyond the highest, {}",
                    u64::from(u32::MAX) + 1,
                    u32::MAX
                ));
            }
            self.n_features = self.n_features.max(column + 1);
        }
        match self.runs.last_mut() {
            Some((last, length)) if *last == query => *length += 1,
            _ => self.runs.push((query, 1)),
        }
        self.labels.push(label);
        self.documents.push(document);
        let before = self.values.len();
        for (column, value) in entries.iter().filter(|e| e.1 != 0.0) {
            self.columns.push(*column);
            self.values.push(*value);
        }
        self.lengths.push((self.values.len() - before) as u32);
        Ok(())
    }

    /// Number of rows so far.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether no row was added.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The queries with the number of rows that follow each other, in the order of the rows. A query
    /// that comes twice is scattered.
    pub fn runs(&self) -> &[(&'a str, usize)] {
        &self.runs
    }
}
