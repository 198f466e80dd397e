//! phi_v(s, R) = sum_i v_i max(0, max over j with R_j < R_i of (Delta + s_j - s_i)), and its subgradient.
//!
//! The inner maximum needs only k, the highest-scored document of a lower grade. Documents are visited by ascending
//! grade with a running maximum. Sorting the grades is O(m log m), the rest O(m).

/// Selects the active documents: those within the margin Delta, or only the misordered ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Active {
    /// Delta + s_k - s_i > 0.
    Within(f64),
    /// s_k >= s_i.
    Misordered,
}

/// An active document i, and k, the highest-scored document of a lower grade.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LossPair {
    i: u32,
    k: u32,
    v: f64,
    /// s_k - s_i.
    gap: f64,
}

/// The non-zero terms of phi_v; reused from list to list, so that nothing is allocated. Among equal scores, k is the
/// first document of the list.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    order: Vec<u32>,
    pairs: Vec<LossPair>,
}

impl Terms {
    pub(crate) fn find(&mut self, scores: &[f64], grades: &[f32], v: &[f64], active: Active) {
        let Self { order, pairs } = self;
        order.clear();
        order.extend(0..scores.len() as u32);
        order.sort_unstable_by(|&a, &b| {
            grades[a as usize].total_cmp(&grades[b as usize]).then_with(|| a.cmp(&b))
        });
        pairs.clear();
        let mut highest: Option<u32> = None;
        for same in order.chunk_by(|&a, &b| grades[a as usize] == grades[b as usize]) {
            if let Some(k) = highest {
                for &i in same {
                    let (v, gap) = (v[i as usize], scores[k as usize] - scores[i as usize]);
                    let counts = match active {
                        Active::Within(delta) => delta + gap > 0.0,
                        Active::Misordered => gap >= 0.0,
                    };
                    if counts && v != 0.0 {
                        pairs.push(LossPair { i, k, v, gap });
                    }
                }
            }
            for &i in same {
                let above = highest.is_none_or(|k| {
                    let (of_i, of_k) = (scores[i as usize], scores[k as usize]);
                    of_i > of_k || of_i == of_k && i < k
                });
                highest = if above { Some(i) } else { highest };
            }
        }
    }

    /// Computes phi_v from terms found with [`Active::Within`] the same Delta.
    pub(crate) fn loss(&self, delta: f64) -> f64 {
        self.pairs.iter().map(|pair| pair.v * (delta + pair.gap)).sum()
    }

    /// Returns A_t: the sum of the weights of the active documents.
    pub(crate) fn weight(&self) -> f64 {
        self.pairs.iter().map(|pair| pair.v).sum()
    }

    /// Adds `factor` times a subgradient of phi_v with respect to the scores to `gradient`.
    pub(crate) fn add_subgradient(&self, factor: f64, gradient: &mut [f64]) {
        for pair in &self.pairs {
            gradient[pair.i as usize] -= factor * pair.v;
            gradient[pair.k as usize] += factor * pair.v;
        }
    }
}

/// Computes phi_v of one list for any weights v of at least 0; all slices have one entry per document.
///
/// ```
/// use matchrank_core::ranking::slam::{self, Target};
///
/// let grades = [1.0, 0.0, 2.0];
/// let v = Target::Ndcg.weights(&grades);
/// assert_eq!(slam::loss(&[2.0, 0.5, 3.5], &grades, &v, 1.0), 0.0);
/// // The best document is last, 2 below the highest score, and lacks the margin of 1: it adds its weight three times.
/// assert!((slam::loss(&[1.0, 0.0, -1.0], &grades, &v, 1.0) - 3.0 * v[2]).abs() < 1e-12);
/// ```
pub fn loss(scores: &[f64], grades: &[f32], v: &[f64], delta: f64) -> f64 {
    let mut terms = Terms::default();
    terms.find(scores, grades, v, Active::Within(delta));
    terms.loss(delta)
}

/// Computes a subgradient of [`loss`] with respect to the scores: k is the first of the highest-scored documents.
pub fn subgradient(scores: &[f64], grades: &[f32], v: &[f64], delta: f64) -> Vec<f64> {
    let mut terms = Terms::default();
    terms.find(scores, grades, v, Active::Within(delta));
    let mut gradient = vec![0.0; scores.len()];
    terms.add_subgradient(1.0, &mut gradient);
    gradient
}
