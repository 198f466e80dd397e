//! Significance tests between the models of a comparison.

use matchrank_core::measure::significance::{Comparison, compare_values};

use super::plan::Plan;
use super::results::{Compared, Entry};
use crate::by_name::ByName;

/// Records which other models each model significantly beats, by every measure; the first measure is the main one.
pub(super) fn mark(rows: &mut [Compared], entries: &ByName<Entry>, plan: &Plan, seed: u64) {
    for row in rows.iter_mut() {
        row.beats.clear();
        row.beats_by.clear();
    }
    for (m, measure) in plan.measures.iter().enumerate() {
        let name = measure.to_string();
        let values: Vec<&[Option<f64>]> =
            entries.values().map(|entry| entry.per_query[&name].as_slice()).collect();
        let pairs = compare_values(&values, measure.higher_is_better(), plan.test, seed);
        let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
        for (i, row) in rows.iter_mut().enumerate() {
            let beaten = |pair: &&Comparison| pair.better == i && pair.p_holm < plan.level;
            let mut beats: Vec<usize> = pairs.iter().filter(beaten).map(|pair| pair.worse).collect();
            beats.sort_unstable();
            let beats: Vec<String> = beats.into_iter().map(|worse| names[worse].clone()).collect();
            if m == 0 {
                row.beats.clone_from(&beats);
            }
            row.beats_by.insert(name.clone(), beats);
        }
    }
}
