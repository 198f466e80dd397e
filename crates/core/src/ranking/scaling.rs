//! Scales features to comparable ranges.
//!
//! Every ranker here depends only on differences between documents of one list, so subtracting a mean or a minimum
//! would change nothing. A feature is therefore only multiplied by a factor. Zeros stay zeros, sparse rows stay sparse,
//! and a feature that a row does not name is 0 before and after. The factors are
//! - `z_score`: 1 / standard deviation, `min_max`: 1 / (largest - smallest value), over all training rows;
//! - `query_z_score`, `query_min_max`: the same over the rows of each list, both in training and in scoring; a feature
//!   that is constant within a list has factor 0, which changes no difference either.
//!
//! Factors over all rows are part of the model; factors within lists are recomputed for each list.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::{FeatureLists, List};

/// Method of scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScalingKind {
    /// No scaling.
    None,
    /// By the standard deviation over all training rows.
    ZScore,
    /// By the range over all training rows.
    #[default]
    MinMax,
    /// By the standard deviation within each list.
    QueryZScore,
    /// By the range within each list.
    QueryMinMax,
}

impl ScalingKind {
    /// Returns true if factors are computed within each list.
    pub fn is_within_lists(self) -> bool {
        matches!(self, Self::QueryZScore | Self::QueryMinMax)
    }
}

/// A method of scaling with its fitted factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    kind: ScalingKind,
    /// Factor of every feature, for kinds over all training rows; empty for others.
    factors: Vec<f64>,
}

impl Scaling {
    /// Fits the factors to training lists.
    pub fn fit(kind: ScalingKind, lists: &FeatureLists) -> Self {
        let factors = match kind {
            ScalingKind::ZScore | ScalingKind::MinMax => {
                let entries =
                    lists.iter().flat_map(|list| (0..list.len()).flat_map(move |i| list.row(i).entries()));
                factors(kind, lists.n_rows(), lists.n_features(), entries)
            }
            ScalingKind::None | ScalingKind::QueryZScore | ScalingKind::QueryMinMax => Vec::new(),
        };
        Self { kind, factors }
    }

    /// Creates a scaling with known factors, as stored in a model file.
    pub fn with_factors(kind: ScalingKind, factors: Vec<f64>) -> Self {
        Self { kind, factors }
    }

    /// Method of scaling.
    pub fn kind(&self) -> ScalingKind {
        self.kind
    }

    /// Factors over all training rows; empty for kinds without such factors.
    pub fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// Returns the factor of every feature in a list; `None` means that all are 1. Features beyond those of the
    /// training have factor 0.
    pub fn of_list(&self, list: &List<'_>) -> Option<Vec<f64>> {
        match self.kind {
            ScalingKind::None => None,
            ScalingKind::ZScore | ScalingKind::MinMax => Some(self.factors.clone()),
            ScalingKind::QueryZScore | ScalingKind::QueryMinMax => {
                let entries = (0..list.len()).flat_map(|i| list.row(i).entries());
                Some(factors(self.kind, list.len(), list.n_features(), entries))
            }
        }
    }

    /// Scales lists in place, on all threads.
    pub fn apply(&self, lists: &mut FeatureLists) {
        lists.cells_mut().into_par_iter().for_each(|mut cells| match self.kind {
            ScalingKind::None => {}
            ScalingKind::ZScore | ScalingKind::MinMax => cells.scale(&self.factors),
            ScalingKind::QueryZScore | ScalingKind::QueryMinMax => {
                let factors = factors(self.kind, cells.n_rows, cells.n_features as usize, cells.entries());
                cells.scale(&factors);
            }
        });
    }
}

/// Computes the factor of every column from its entries and the number of rows; rows without an entry have 0.
fn factors(
    kind: ScalingKind,
    n_rows: usize,
    n_features: usize,
    entries: impl Iterator<Item = (u32, f32)>,
) -> Vec<f64> {
    let mut columns = vec![Column::default(); n_features];
    entries.for_each(|(column, x)| columns[column as usize].add(f64::from(x)));
    let n_rows = n_rows as f64;
    let factor = |column: Column| {
        let column = column.with_zeros(n_rows);
        let width = match kind {
            ScalingKind::ZScore | ScalingKind::QueryZScore => (column.squares / n_rows).sqrt(),
            _ => column.most - column.least,
        };
        // A spread within rounding errors counts as 0.
        let size = column.least.abs().max(column.most.abs());
        if width > 1e-12 * size { 1.0 / width } else { 0.0 }
    };
    columns.into_iter().map(factor).collect()
}

/// Count, mean, sum of squared deviations and extremes of a feature.
#[derive(Clone, Copy, Default)]
struct Column {
    n: f64,
    mean: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Column {
    /// Applies Welford's update: means of large numbers that are close together lose no digits.
    fn add(&mut self, value: f64) {
        if self.n == 0.0 {
            (self.least, self.most) = (value, value);
        }
        self.n += 1.0;
        let off = value - self.mean;
        self.mean += off / self.n;
        self.squares += off * (value - self.mean);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Adds the rows that do not name the feature, in which it is 0.
    fn with_zeros(mut self, n_rows: f64) -> Self {
        let zeros = n_rows - self.n;
        if zeros > 0.0 {
            self.squares += self.mean * self.mean * self.n * zeros / n_rows;
            self.mean *= self.n / n_rows;
            self.least = self.least.min(0.0);
            self.most = self.most.max(0.0);
            self.n = n_rows;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::FeatureRows;
    use crate::progress::Silent;
    use crate::ranking::ranksvm::{self, RankSvmParams};
    use crate::ranking::testing::close;
    use crate::ranking::{LambdaPath, LinearRanker, Ranker, Sample};

    const KINDS: [ScalingKind; 5] = [
        ScalingKind::None,
        ScalingKind::ZScore,
        ScalingKind::MinMax,
        ScalingKind::QueryZScore,
        ScalingKind::QueryMinMax,
    ];
    const FEATURES: usize = 40;

    /// Builds lists of three documents with few features each, sparse, and the same with all zeros written out.
    fn both(rows: &[(u8, Vec<(usize, i8)>)]) -> (FeatureLists, FeatureLists) {
        let mut sparse = FeatureRows::default();
        let mut values = vec![0.0f32; rows.len() * FEATURES];
        let names: Vec<String> = (0..rows.len()).map(|i| (i / 3).to_string()).collect();
        for (i, (grade, entries)) in rows.iter().enumerate() {
            let row = &mut values[i * FEATURES..(i + 1) * FEATURES];
            entries.iter().for_each(|&(column, x)| row[column] = f32::from(x));
            // The last column is named so that both have the same number of columns.
            row[FEATURES - 1] = 1.0;
            let mut entries: Vec<(u32, f32)> =
                (0..).zip(row.iter().copied()).filter(|(_, x)| *x != 0.0).collect();
            sparse.push(&names[i], None, f32::from(*grade), &mut entries).unwrap();
        }
        let labels = rows.iter().map(|(grade, _)| f32::from(*grade)).collect();
        let dense =
            FeatureLists::from_dense(&vec![3; rows.len() / 3], labels, FEATURES as u32, values).unwrap();
        (FeatureLists::from_rows(sparse), dense)
    }

    #[test]
    fn factors_are_those_of_the_definition() {
        let (sparse, _) = both(&[(1, vec![(0, 4), (1, -3)]), (0, vec![(0, 2)]), (0, vec![(1, 3)])]);
        let z = Scaling::fit(ScalingKind::ZScore, &sparse);
        // 4, 2, 0 have the standard deviation sqrt(8/3), -3, 0, 3 that of sqrt(6).
        close(&z.factors()[..2], &[(3.0f64 / 8.0).sqrt(), 1.0 / 6f64.sqrt()], 1e-12);
        let range = Scaling::fit(ScalingKind::MinMax, &sparse);
        close(&range.factors()[..3], &[0.25, 1.0 / 6.0, 0.0], 1e-12);
        assert_eq!(range.factors()[FEATURES - 1], 0.0, "constant in all rows");
        for kind in [ScalingKind::QueryZScore, ScalingKind::QueryMinMax] {
            assert!(Scaling::fit(kind, &sparse).factors().is_empty());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn sparse_rows_are_as_dense_ones(
            rows in prop::collection::vec((0u8..3, prop::collection::vec((0..FEATURES - 1, -9i8..=9), 0..4)), 3..30),
        ) {
            let (sparse, dense) = both(&rows[..rows.len() / 3 * 3]);
            prop_assert!(sparse.list(0).dense().is_none() && dense.list(0).dense().is_some());
            for kind in KINDS {
                let learn = |lists: &FeatureLists| {
                    let scaling = Scaling::fit(kind, lists);
                    let mut scaled = lists.clone();
                    scaling.apply(&mut scaled);
                    let params = RankSvmParams { lambda: LambdaPath::One(0.1), tolerance: 1e-10, ..Default::default() };
                    let (weights, _) = ranksvm::fit(&params, &Sample::new(&scaled), None, &Silent).unwrap();
                    LinearRanker { weights, scaling }
                };
                let (ours, expected) = (learn(&sparse), learn(&dense));
                close(ours.scaling.factors(), expected.scaling.factors(), 1e-12);
                close(&ours.weights, &expected.weights, 1e-6);
                close(&ours.score_all(&dense), &ours.score_all(&sparse), 1e-9);
                // Scores of scaled rows are equal to scores of the rows.
                let mut scaled = sparse.clone();
                ours.scaling.apply(&mut scaled);
                let plain = LinearRanker {
                    weights: ours.weights.clone(),
                    scaling: Scaling::with_factors(ScalingKind::None, Vec::new()),
                };
                close(&plain.score_all(&scaled), &ours.score_all(&sparse), 1e-5);
            }
        }
    }
}
