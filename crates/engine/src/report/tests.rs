//! Reports of comparisons that were made up.

use indexmap::IndexMap;

use crate::comparison::{Compared, Entry, Latency};

/// A model with values of one measure.
pub(super) fn entry(name: &str, values: Vec<Option<f64>>) -> Entry {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let figures: IndexMap<String, f64> = [("ndcg@10".to_owned(), mean)].into_iter().collect();
    let row = Compared {
        name: name.to_owned(),
        kind: name.to_owned(),
        params: serde_json::json!({}),
        validation: figures.clone(),
        test: figures,
        intervals: [("ndcg@10".to_owned(), [mean - 0.1, mean + 0.1])].into_iter().collect(),
        bins: IndexMap::new(),
        seconds: 1.0,
        tuning_seconds: 0.0,
        trials: 0,
        peak_mib: None,
        model_mib: 1.0,
        latency: Latency { p50_ms: 1.0, p95_ms: 2.0, queries: 1 },
        curves: Vec::new(),
        beats: Vec::new(),
        beats_by: IndexMap::new(),
    };
    let top = vec![Vec::new(); values.len()];
    Entry { key: String::new(), row, per_query: [("ndcg@10".to_owned(), values)].into_iter().collect(), top }
}
