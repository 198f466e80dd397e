//! Sums over pairs without the pairs.
//!
//! Documents are swept by descending score. When i is reached, all j with s_j > s_i - M are in a Fenwick tree over
//! grades, which answers how many of them have a lower grade than i, and what a payload sums up to over those:
//! c_i and sum u_j. The same by ascending score for documents of higher grades. Sums only ever grow, so nothing
//! is lost by subtracting. O(m log m) for the sort, O(m log g) for g grades.

/// One list in the order of its scores.
#[derive(Debug, Default, Clone)]
pub(crate) struct Sweep {
    /// Documents by ascending score; of equal scores the first in the list first.
    order: Vec<u32>,
    tree: Vec<(f64, f64)>,
    /// For every i: how many j with R_j < R_i have s_j > s_i - M, and the sum of their payload.
    pub(crate) lower: Vec<(f64, f64)>,
    /// For every j: how many i with R_i > R_j have s_i < s_j + M, and the sum of their payload.
    pub(crate) higher: Vec<(f64, f64)>,
}

impl Sweep {
    /// Sorts documents by score.
    pub(crate) fn sort(&mut self, scores: &[f64]) -> &[u32] {
        self.order.clear();
        self.order.extend(0..scores.len() as u32);
        self.order.sort_unstable_by(|&a, &b| {
            scores[a as usize].total_cmp(&scores[b as usize]).then_with(|| a.cmp(&b))
        });
        &self.order
    }

    /// Takes an order that [`sort`](Self::sort) gave for the same scores.
    pub(crate) fn set_order(&mut self, order: &[u32]) {
        self.order.clear();
        self.order.extend_from_slice(order);
    }

    /// Fills `lower` and `higher` for a margin M. `ranks` are the grades as 0, 1, ..., `n_grades` - 1.
    pub(crate) fn run(
        &mut self,
        scores: &[f64],
        ranks: &[u16],
        n_grades: usize,
        margin: f64,
        payload: &[f64],
    ) {
        let Self { order, tree, lower, higher } = self;
        let m = scores.len();
        lower.clear();
        lower.resize(m, (0.0, 0.0));
        higher.clear();
        higher.resize(m, (0.0, 0.0));
        let clear = |tree: &mut Vec<(f64, f64)>| {
            tree.clear();
            tree.resize(n_grades + 1, (0.0, 0.0));
        };
        clear(tree);
        let mut waiting = order.iter().rev().map(|&j| j as usize).peekable();
        for i in order.iter().rev().map(|&i| i as usize) {
            while let Some(j) = waiting.next_if(|&j| margin - scores[i] + scores[j] > 0.0) {
                add(tree, ranks[j] as usize, payload[j]);
            }
            lower[i] = below(tree, ranks[i] as usize);
        }
        clear(tree);
        let mut waiting = order.iter().map(|&i| i as usize).peekable();
        for j in order.iter().map(|&j| j as usize) {
            while let Some(i) = waiting.next_if(|&i| margin - scores[i] + scores[j] > 0.0) {
                add(tree, n_grades - 1 - ranks[i] as usize, payload[i]);
            }
            higher[j] = below(tree, n_grades - 1 - ranks[j] as usize);
        }
    }
}

/// Adds a document of a rank.
fn add(tree: &mut [(f64, f64)], rank: usize, payload: f64) {
    let mut at = rank + 1;
    while at < tree.len() {
        tree[at].0 += 1.0;
        tree[at].1 += payload;
        at += at & at.wrapping_neg();
    }
}

/// Count and sum over ranks below one.
fn below(tree: &[(f64, f64)], rank: usize) -> (f64, f64) {
    let (mut at, mut count, mut sum) = (rank, 0.0, 0.0);
    while at > 0 {
        count += tree[at].0;
        sum += tree[at].1;
        at &= at - 1;
    }
    (count, sum)
}
