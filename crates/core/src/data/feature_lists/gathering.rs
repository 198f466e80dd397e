//! Copies of lists: concatenation and subsets.

use std::collections::HashMap;

use super::{FeatureLists, List};
use crate::data::feature_rows::{FeatureRows, Origin};

impl FeatureLists {
    /// Concatenates several sets. A query that appears in several sets becomes one list.
    pub fn concatenate(sets: &[&FeatureLists]) -> Self {
        Self::gather(&sets.iter().flat_map(|set| set.iter()).collect::<Vec<_>>(), sets)
    }

    /// Copies the given lists, in the given order.
    pub fn subset(&self, queries: &[usize]) -> Self {
        Self::gather(&queries.iter().map(|&query| self.list(query)).collect::<Vec<_>>(), &[self])
    }

    /// Copies lists of `sets`, with the number of features of these sets.
    fn gather(lists: &[List<'_>], sets: &[&FeatureLists]) -> Self {
        let mut rows = FeatureRows::default();
        let known = sets.iter().all(|set| !set.origins.is_empty());
        rows.files = sets.iter().flat_map(|set| set.files.iter().cloned()).collect();
        let files_before = |of: &FeatureLists| {
            let before = sets.iter().take_while(|set| !std::ptr::eq(**set, of));
            before.map(|set| set.files.len() as u32).sum::<u32>()
        };
        let mut entries = Vec::new();
        for list in lists {
            let first_file = files_before(list.lists);
            for i in 0..list.len() {
                entries.clear();
                entries.extend(list.row(i).entries());
                rows.push(list.query(), Some(list.document(i)), list.labels()[i], &mut entries)
                    .expect("rows of valid lists are valid");
                if known {
                    let Origin { file, line } = list.lists.origins[list.rows.start + i];
                    rows.origins.push(Origin { file: file + first_file, line });
                }
            }
        }
        rows.cells.widen(sets.iter().map(|set| set.n_features() as u32).max().unwrap_or(0));
        let mut gathered = Self::from_rows(rows);
        if sets.iter().any(|set| set.weights.is_some()) {
            gathered.weights = Some(gathered.gathered_weights(lists));
        }
        gathered
    }

    /// Returns the weights of the copied lists, whose rows are grouped by query in the order of the lists.
    fn gathered_weights(&self, lists: &[List<'_>]) -> Vec<f32> {
        let number: HashMap<&str, usize> =
            self.iter().enumerate().map(|(query, list)| (list.query(), query)).collect();
        let mut next = self.starts.clone();
        let mut weights = vec![1.0; self.n_rows()];
        for list in lists {
            let to = &mut next[number[list.query()]];
            for i in 0..list.len() {
                weights[*to + i] = list.weight(i);
            }
            *to += list.len();
        }
        weights
    }
}
