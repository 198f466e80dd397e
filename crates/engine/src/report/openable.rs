//! Chooses the queries that can be opened: those that tell the models apart.
//!
//! For every model against every other, the query that it wins by most comes first, then the next, and so on. So
//! whichever two models the reader picks, the queries that each is best at can be opened. After these come the queries
//! on which the best and the worst model are farthest apart.

use foldhash::HashSet;

use crate::comparison::{Entry, TestQuery};

/// Number of queries that each model wins by most against each other model.
const EACH: usize = 5;

/// A query whose results can be opened.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenQuery {
    /// Number of the query among the test queries.
    pub query: usize,
    /// For every model its best documents, as numbers of [`Page::documents`](super::Page::documents), with their
    /// grades; None for documents that nobody judged.
    pub top: Vec<Vec<(usize, Option<f32>)>>,
    /// Number of judged documents per grade, the highest first.
    pub judged: Vec<(f32, usize)>,
}

/// Returns the numbers of the queries for which every model has a value, the most telling first.
pub(super) fn order(entries: &[Entry], measure: &str) -> Vec<usize> {
    let values: Vec<&[Option<f64>]> =
        entries.iter().filter_map(|entry| entry.per_query.get(measure)).map(Vec::as_slice).collect();
    let n = values.iter().map(|values| values.len()).min().unwrap_or(0);
    let complete: Vec<(usize, Vec<f64>)> = (0..n)
        .filter_map(|q| Some((q, values.iter().map(|values| values[q]).collect::<Option<Vec<f64>>>()?)))
        .collect();
    let mut wins: Vec<Vec<usize>> = Vec::new();
    for a in 0..values.len() {
        for b in (0..values.len()).filter(|&b| b != a) {
            let won = complete.iter().map(|(q, row)| (*q, row[a] - row[b])).filter(|(_, d)| *d > 0.0);
            let mut won: Vec<(usize, f64)> = won.collect();
            won.sort_by(|p, q| q.1.total_cmp(&p.1).then(p.0.cmp(&q.0)));
            wins.push(won.into_iter().take(EACH).map(|(q, _)| q).collect());
        }
    }
    let rounds = (0..EACH).flat_map(|round| wins.iter().filter_map(move |list| list.get(round).copied()));
    let spread = |row: &[f64]| {
        row.iter().copied().fold(f64::MIN, f64::max) - row.iter().copied().fold(f64::MAX, f64::min)
    };
    let mut rest: Vec<(usize, f64)> = complete.iter().map(|(q, row)| (*q, spread(row))).collect();
    rest.sort_by(|p, q| q.1.total_cmp(&p.1).then(p.0.cmp(&q.0)));
    let mut known: HashSet<usize> = HashSet::default();
    rounds.chain(rest.into_iter().map(|(q, _)| q)).filter(|q| known.insert(*q)).collect()
}

/// Returns the number of judged documents per grade, the highest first.
pub(super) fn grades(query: &TestQuery) -> Vec<(f32, usize)> {
    let mut grades: Vec<f32> = query.judged.iter().map(|(_, grade)| *grade).collect();
    grades.sort_unstable_by(|a, b| b.total_cmp(a));
    grades.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::entry;
    use super::*;

    #[test]
    fn what_each_model_wins_by_most_comes_first() {
        let values = |list: [f64; 5]| list.map(Some).to_vec();
        let entries =
            [entry("a", values([0.1, 0.9, 0.5, 0.5, 0.3])), entry("b", values([0.8, 0.1, 0.5, 0.4, 0.3]))];
        assert_eq!(order(&entries, "ndcg@10"), [1, 0, 3, 2, 4]);
        let with_gap = entry("c", vec![Some(0.0), None, Some(0.0), Some(0.0), Some(0.0)]);
        assert!(!order(&[entries[0].clone(), with_gap], "ndcg@10").contains(&1));
        assert!(order(&[], "ndcg@10").is_empty());
    }
}
