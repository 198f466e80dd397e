use super::learner::Learner;

impl Learner {
    /// Soft-thresholds W by the smallest amount that leaves at most `entries` entries: reaches a requested density
    /// without tuning lambda. After the same tuples, W is the same whenever this is called.
    pub fn shrink_to(&mut self, entries: usize) {
        if self.nnz() <= entries {
            return;
        }
        self.sweep();
        let mut magnitudes: Vec<f32> = Vec::new();
        self.visit(|i, row| {
            let values = row.values(self.shared_of(i), self.whole()).map(|(_, value)| value.abs());
            magnitudes.extend(values.filter(|&value| value > 0.0));
        });
        let at = magnitudes.len() - entries - 1;
        let (_, threshold, _) = magnitudes.select_nth_unstable_by(at, f32::total_cmp);
        self.clock.shrinkage += f64::from(*threshold);
        self.sweep();
        // Rounding may have left a small remainder of entries of exactly this size.
        while self.nnz() > entries {
            self.clock.shrinkage += f64::from(f32::EPSILON);
            self.sweep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::Csr;
    use crate::matching::sparse_preference::{PreferenceParams, Tuple};
    use crate::progress::Silent;

    #[test]
    fn the_largest_entries_are_left_shrunk_by_the_same() {
        let value = |i: u32| (i * 37 % 23) as f32 / 23.0 + 0.1;
        let rows = Csr::from_triples(6, 9, (0..54).map(|i| (i / 9, i % 9, value(i)))).unwrap();
        let tuples: Vec<Tuple> =
            (0..40).map(|i| Tuple { query: i % 6, more: i * 5 % 6, less: (i * 5 + 1) % 6 }).collect();
        let params = PreferenceParams { c: 0.5, lambda: 1e-3, shrink_every: 7, ..Default::default() };
        let mut learner = Learner::new(&params, 9, 9, (0..9).map(|i| (i, i))).unwrap();
        learner.learn(&rows, &rows, &tuples, &Silent).unwrap();
        let before = learner.matrix();
        let mut sorted: Vec<f32> = before.values().iter().map(|value| value.abs()).collect();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let threshold = sorted[20];
        learner.shrink_to(20);
        assert_eq!(learner.nnz(), 20);
        let after = learner.matrix();
        assert_eq!(after.nnz(), 20);
        for (i, row) in before.rows().enumerate() {
            for (column, value) in row.iter() {
                let at = after.row(i).indices().binary_search(&column);
                let found = at.map_or(0.0, |at| after.row(i).values()[at]);
                let expected = (value.abs() - threshold).max(0.0).copysign(value);
                assert!((found - expected).abs() < 1e-6, "{i} {column}: {found} {expected}");
            }
        }
        learner.shrink_to(25);
        assert_eq!(learner.matrix(), after, "nothing changes a second time");
        learner.shrink_to(0);
        assert_eq!((learner.nnz(), learner.matrix().nnz()), (0, 0));
    }
}
