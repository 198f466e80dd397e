use matchrank_core::matching::SparseRow;

/// A sparse vector that owns its entries: features ascending, each once, values finite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FeatureRow {
    pub(crate) indices: Vec<u32>,
    pub(crate) values: Vec<f32>,
}

impl FeatureRow {
    /// Returns the vector as a row for the models of core.
    pub fn row(&self) -> SparseRow<'_> {
        SparseRow::new(&self.indices, &self.values).expect("features are sorted and finite")
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Euclidean length.
    pub(super) fn length(&self) -> f64 {
        self.values.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>().sqrt()
    }

    pub(super) fn scale_to_unit(&mut self) {
        let length = self.length();
        if length > 0.0 {
            let scale = 1.0 / length;
            self.values.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
        }
    }
}
