//! Sums over pairs without forming the pairs.
//!
//! Documents are swept by descending score. When i is reached, all j with s_j > s_i - M are in a Fenwick tree over
//! grades. The tree returns the number of those with a lower grade than i, and the sum of a payload over them: c_i and
//! sum u_j. A second sweep, by ascending score, does the same for documents of higher grades. Sums only ever grow, so
//! nothing is lost by cancellation. O(m log m) for the sort, O(m log g) for g grades.

/// One list sorted by score.
#[derive(Debug, Default, Clone)]
pub(crate) struct Sweep {
    /// Documents by ascending score; equal scores keep the order of the list.
    order: Vec<u32>,
    keys: Vec<(i64, u32)>,
    /// Score, payload and rank in that order, so that the sweeps read memory sequentially.
    sorted: Vec<(f64, f64, u16)>,
    tree: Vec<(f64, f64)>,
    /// For every i: the number of j with R_j < R_i and s_j > s_i - M, and the sum of their payload.
    pub(crate) lower: Vec<(f64, f64)>,
    /// For every j: the number of i with R_i > R_j and s_i < s_j + M, and the sum of their payload.
    pub(crate) higher: Vec<(f64, f64)>,
}

impl Sweep {
    /// Sorts documents by score.
    pub(crate) fn sort(&mut self, scores: &[f64]) -> &[u32] {
        // Sort by integers that are ordered as `total_cmp` orders floats.
        let key = |score: &f64| {
            let bits = score.to_bits() as i64;
            bits ^ ((bits >> 63) as u64 >> 1) as i64
        };
        self.keys.clear();
        self.keys.extend(scores.iter().map(key).zip(0..));
        self.keys.sort_unstable();
        self.order.clear();
        self.order.extend(self.keys.iter().map(|(_, i)| i));
        &self.order
    }

    /// Restores an order that [`sort`](Self::sort) returned for the same scores.
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
        let Self { order, sorted, tree, lower, higher, .. } = self;
        let m = scores.len();
        for sums in [&mut *lower, &mut *higher] {
            sums.clear();
            sums.resize(m, (0.0, 0.0));
        }
        sorted.clear();
        sorted.extend(order.iter().map(|&i| (scores[i as usize], payload[i as usize], ranks[i as usize])));
        let clear = |tree: &mut Vec<(f64, f64)>| {
            tree.clear();
            tree.resize(n_grades + 1, (0.0, 0.0));
        };
        clear(tree);
        let mut waiting = sorted.iter().rev().peekable();
        for (&(of_i, _, rank), &i) in sorted.iter().zip(&*order).rev() {
            while let Some(&(_, payload, rank)) = waiting.next_if(|(of_j, ..)| margin - of_i + of_j > 0.0) {
                add(tree, rank as usize, payload);
            }
            lower[i as usize] = below(tree, rank as usize);
        }
        clear(tree);
        let last = n_grades.saturating_sub(1);
        let mut waiting = sorted.iter().peekable();
        for (&(of_j, _, rank), &j) in sorted.iter().zip(&*order) {
            while let Some(&(_, payload, rank)) = waiting.next_if(|(of_i, ..)| margin - of_i + of_j > 0.0) {
                add(tree, last - rank as usize, payload);
            }
            higher[j as usize] = below(tree, last - rank as usize);
        }
    }
}

/// Adds a document with the given rank.
fn add(tree: &mut [(f64, f64)], rank: usize, payload: f64) {
    let mut at = rank + 1;
    while at < tree.len() {
        tree[at].0 += 1.0;
        tree[at].1 += payload;
        at += at & at.wrapping_neg();
    }
}

/// Returns count and sum over the ranks below the given one.
fn below(tree: &[(f64, f64)], rank: usize) -> (f64, f64) {
    let (mut at, mut count, mut sum) = (rank, 0.0, 0.0);
    while at > 0 {
        count += tree[at].0;
        sum += tree[at].1;
        at &= at - 1;
    }
    (count, sum)
}
