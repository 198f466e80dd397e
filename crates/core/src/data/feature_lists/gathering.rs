//! Lists that are copied out of others.

use std::collections::HashMap;

use super::{FeatureLists, List};
use crate::data::feature_rows::{FeatureRows, Origin};

impl FeatureLists {
    /// All lists of several sets, one after the other. A query that several of them have is one list.
    pub fn concatenate(sets: &[&FeatureLists]) -> Self {
        Self::gather(&sets.iter().flat_map(|set| set.iter()).collect::<Vec<_>>(), sets)
    }

    /// Some of the lists, in the order named.
    pub fn subset(&self, queries: &[usize]) -> Self {
        Self::gather(&queries.iter().map(|&query| self.list(query)).collect::<Vec<_>>(), &[self])
    }

    /// Copies of lists of `sets`, with as many features as these have.
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
                    .expect("rows of lists are rows of lists");
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

    /// Weights of copied lists, whose rows were grouped by query in the order of the lists.
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
