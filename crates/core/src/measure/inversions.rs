//! Errors of order: the number of document pairs in the wrong order.
//!
//! ```text
//! inversions     = pairs of ranks i < j with r_i < r_j
//! MRE            = inversions / (N (N - 1) / 2)                 mis-ranking error
//! pairwise error = inversions / pairs of different grades
//! ```
//! N is the length of the list. Unjudged documents, and those of negative grade, count as grade 0. Only documents in
//! the list count. Both errors are 0 if there is no pair to count, hence for a query without a relevant document.

use super::ranking::Ranking;

pub(super) fn mis_ranking_error(ranking: &Ranking) -> f64 {
    fraction(count(&mut grades(ranking)), pairs(ranking.n_ranked))
}

pub(super) fn pairwise_error(ranking: &Ranking) -> f64 {
    let mut grades = grades(ranking);
    let wrong = count(&mut grades);
    // counting has sorted the grades, so equal ones are adjacent
    let same: u64 = grades.chunk_by(|a, b| a == b).map(|equal| pairs(equal.len())).sum();
    fraction(wrong, pairs(ranking.n_ranked) - same)
}

fn grades(ranking: &Ranking) -> Vec<f32> {
    let mut grades = vec![0.0; ranking.n_ranked];
    for hit in &ranking.hits {
        grades[hit.rank as usize - 1] = hit.grade.max(0.0);
    }
    grades
}

fn pairs(n: usize) -> u64 {
    let n = n as u64;
    n * n.saturating_sub(1) / 2
}

fn fraction(wrong: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { wrong as f64 / all as f64 }
}

/// Sorts descending by merging, and counts the pairs that were in the wrong order.
fn count(grades: &mut [f32]) -> u64 {
    let n = grades.len();
    if n < 2 {
        return 0;
    }
    let (left, right) = grades.split_at_mut(n / 2);
    let mut wrong = count(left) + count(right);
    let mut merged = Vec::with_capacity(n);
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if right[j] > left[i] {
            wrong += (left.len() - i) as u64;
            merged.push(right[j]);
            j += 1;
        } else {
            merged.push(left[i]);
            i += 1;
        }
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
    grades.copy_from_slice(&merged);
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_what_two_loops_count(grades in prop::collection::vec(0u8..4, 0..30)) {
            let mut grades: Vec<f32> = grades.into_iter().map(f32::from).collect();
            let n = grades.len();
            let slow = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)))
                .filter(|&(i, j)| grades[i] < grades[j]).count() as u64;
            prop_assert_eq!(count(&mut grades), slow);
            prop_assert!(grades.is_sorted_by(|a, b| a >= b));
        }
    }
}
