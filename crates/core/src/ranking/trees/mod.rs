//! Sums of regression trees, the models of MART and LambdaMART.
//!
//! Trees are grown by LightGBM and [read](Trees::parse_lightgbm) from its model text; they are scored here, without
//! LightGBM. A node sends a row to the left if its feature is at most the threshold. If the feature is missing (NaN, or
//! 0 for some nodes), the row goes to the node's default side. [`Trees::shapley`] explains the value of a row.

mod lightgbm;
pub mod shapley;
#[cfg(test)]
mod tests;

use crate::data::{FeatureRow, List};
use crate::ranking::Ranker;

/// Trees whose leaf values are summed.
///
/// ```
/// use matchrank_core::ranking::trees::Trees;
///
/// let text = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=1\nfeature_names=a b\n\n\
///             Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=1\nsplit_gain=3\nthreshold=0.5\ndecision_type=2\n\
///             left_child=-1\nright_child=-2\nleaf_value=-1 4\nshrinkage=1\n\nend of trees\n";
/// let trees = Trees::parse_lightgbm("model.txt", text)?;
/// assert_eq!(trees.value(&[9.0, 0.5]), -1.0);
/// assert_eq!(trees.value(&[9.0, 0.6]), 4.0);
/// assert_eq!(trees.gains(), [0.0, 3.0]);
/// # Ok::<(), matchrank_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Trees {
    n_features: usize,
    trees: Vec<Tree>,
}

#[derive(Debug, Clone, PartialEq)]
struct Tree {
    /// Nodes, the root first; empty if the tree is a single leaf.
    nodes: Vec<Node>,
    leaves: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    feature: u32,
    missing: MissingValue,
    /// Side of rows whose feature is missing.
    default_left: bool,
    threshold: f64,
    /// Index of a node, or the complement of that of a leaf.
    left: i32,
    right: i32,
    gain: f32,
}

/// Values of a feature that count as missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingValue {
    /// None; NaN is treated as 0.
    None,
    /// 0, and NaN.
    Zero,
    /// NaN.
    Nan,
}

/// Numbers this close to 0 are 0.
const ZERO: f64 = 1e-35;

impl Node {
    #[inline(always)]
    fn next(&self, value: f32) -> i32 {
        let value = if value.is_nan() && self.missing != MissingValue::Nan { 0.0 } else { f64::from(value) };
        let is_missing = match self.missing {
            MissingValue::None => false,
            MissingValue::Zero => value.abs() <= ZERO,
            MissingValue::Nan => value.is_nan(),
        };
        let goes_left = if is_missing { self.default_left } else { value <= self.threshold };
        if goes_left { self.left } else { self.right }
    }
}

impl Tree {
    /// Returns the root: a node, or the complement of a leaf.
    fn root(&self) -> i32 {
        if self.nodes.is_empty() { -1 } else { 0 }
    }

    #[inline(always)]
    fn value(&self, feature: impl Fn(u32) -> f32) -> f64 {
        let mut at = self.root();
        while at >= 0 {
            let node = &self.nodes[at as usize];
            at = node.next(feature(node.feature));
        }
        self.leaves[!at as usize]
    }
}

impl Trees {
    /// Number of features of a row.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of trees.
    pub fn len(&self) -> usize {
        self.trees.len()
    }

    /// Returns true if there is no tree.
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Returns the value of a row that has every feature.
    pub fn value(&self, row: &[f32]) -> f64 {
        self.trees.iter().map(|tree| tree.value(|feature| row[feature as usize])).sum()
    }

    /// Returns the value of a row of a list: features that it does not name are 0, and NaN is missing.
    fn value_of_row(&self, row: FeatureRow<'_>) -> f64 {
        match row {
            FeatureRow::Dense(row) if row.len() >= self.n_features => self.value(row),
            // Few features of a sparse row are non-zero, and a dense row would be long.
            row => self.trees.iter().map(|tree| tree.value(|feature| row.get(feature))).sum(),
        }
    }

    /// Returns the trees over the features that they split, and the numbers of these features, ascending.
    pub fn compacted(&self) -> (Self, Vec<u32>) {
        let mut columns: Vec<u32> =
            self.trees.iter().flat_map(|tree| &tree.nodes).map(|node| node.feature).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut compact = self.clone();
        for node in compact.trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
            node.feature = columns.partition_point(|&column| column < node.feature) as u32;
        }
        // LightGBM's text has at least one feature.
        if columns.is_empty() {
            columns.push(0);
        }
        compact.n_features = columns.len();
        (compact, columns)
    }

    /// Returns the trees over other columns: feature `i` becomes `columns[i]` of `n_features`.
    ///
    /// # Panics
    /// If a tree splits a feature that has no column, or one beyond `n_features`.
    pub fn renumbered(mut self, columns: &[u32], n_features: usize) -> Self {
        for node in self.trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
            node.feature = columns[node.feature as usize];
            assert!((node.feature as usize) < n_features, "the column exists");
        }
        self.n_features = n_features;
        self
    }

    /// Returns the value of one tree.
    pub fn value_of(&self, tree: usize, row: &[f32]) -> f64 {
        self.trees[tree].value(|feature| row[feature as usize])
    }

    /// Keeps the first `n` trees.
    pub fn truncated(mut self, n: usize) -> Self {
        self.trees.truncate(n);
        self
    }

    /// Returns trees whose value of every row is the mean of the values by several models of the same features.
    ///
    /// # Panics
    /// If there is no model, or if the models have different numbers of features.
    pub fn mean(models: Vec<Self>) -> Self {
        let n_features = models.first().expect("a mean has at least one model").n_features;
        let share = 1.0 / models.len() as f64;
        let mut trees = Vec::with_capacity(models.iter().map(Self::len).sum());
        for model in models {
            assert_eq!(model.n_features, n_features, "all models rank by the same features");
            trees.extend(model.trees);
        }
        trees.iter_mut().flat_map(|tree| &mut tree.leaves).for_each(|leaf| *leaf *= share);
        Self { n_features, trees }
    }

    /// Returns the importance of each feature: the sum of the gains of its splits.
    pub fn gains(&self) -> Vec<f64> {
        let mut gains = vec![0.0; self.n_features];
        for node in self.trees.iter().flat_map(|tree| &tree.nodes) {
            gains[node.feature as usize] += f64::from(node.gain);
        }
        gains
    }

    /// Expands a row of a list to all features. Features that it does not name are 0, and features that no tree knows
    /// are ignored. `cells` is the buffer for the expanded row, if one is needed.
    fn complete<'r>(&self, row: FeatureRow<'r>, cells: &'r mut Vec<f32>) -> &'r [f32] {
        match row {
            FeatureRow::Dense(row) if row.len() >= self.n_features => row,
            row => {
                cells.clear();
                cells.resize(self.n_features, 0.0);
                let known = row.entries().filter(|&(column, _)| (column as usize) < self.n_features);
                known.for_each(|(column, value)| cells[column as usize] = value);
                cells
            }
        }
    }
}

impl Ranker for Trees {
    /// Scores a list. Features that a row does not name are 0, NaN is missing, and features that no tree knows are
    /// ignored.
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        scores.clear();
        scores.extend((0..list.len()).map(|i| self.value_of_row(list.row(i))));
    }
}
