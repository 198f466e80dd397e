//! Mean pairwise losses composed of squared hinges, with gradient and Hessian, computed by [`Sweep`].
//!
//! A squared hinge of margin M is (M - z)_+^2, z = s_i - s_j. The hinge 1 - z, smoothed over a width h at its kink, is
//! a difference of two: l_h(z) = ((1 - z)_+^2 - (1 - h - z)_+^2) / 2h. So both losses need the same sums over pairs,
//! for one margin or for two.

use std::sync::Mutex;

use super::order_statistics::Sweep;
use crate::data::FeatureLists;
use crate::ranking::products;
use crate::ranking::sample::Sample;
use crate::solve::newton::Smooth;

/// Grades of one list as ranks, and the number of pairs.
struct Grades {
    ranks: Vec<u16>,
    n_grades: usize,
    n_pairs: f64,
}

impl Grades {
    /// Ranks the grades. A list has fewer than 65,536 distinct grades, so each grade has a rank of its own.
    fn of(labels: &[f32]) -> Self {
        let mut distinct = labels.to_vec();
        distinct.sort_unstable_by(f32::total_cmp);
        distinct.dedup();
        let rank = |grade: &f32| distinct.partition_point(|other| other < grade).min(u16::MAX.into()) as u16;
        let ranks: Vec<u16> = labels.iter().map(rank).collect();
        let mut counts = vec![0.0; distinct.len()];
        ranks.iter().for_each(|&rank| counts[rank as usize] += 1.0);
        let m = labels.len() as f64;
        let same: f64 = counts.iter().map(|n| n * n).sum();
        Self { ranks, n_grades: distinct.len(), n_pairs: (m * m - same) / 2.0 }
    }
}

fn grades(lists: &FeatureLists) -> Vec<Grades> {
    lists.iter().map(|list| Grades::of(list.labels())).collect()
}

#[derive(Default)]
struct PairScratch {
    images: Vec<f64>,
    piece: Vec<f64>,
    gradient: Vec<f64>,
    sweep: Sweep,
}

/// A squared hinge with its factor.
#[derive(Debug, Clone, Copy)]
struct PairPiece {
    margin: f64,
    factor: f64,
}

/// Subtracts the mean from the scores: only differences count, and small numbers keep more digits.
fn center(scores: &mut [f64]) {
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    scores.iter_mut().for_each(|score| *score -= mean);
}

/// A pairwise loss composed of one or two squared hinges.
pub(super) struct PairRisk<'s, 'a> {
    sample: &'s Sample<'a>,
    grades: Vec<Grades>,
    pieces: Vec<PairPiece>,
    /// Scores at the last w and their sort orders, by list: sorted once for many products with the Hessian.
    at: Vec<Mutex<(Vec<f64>, Vec<u32>)>>,
}

/// A risk and the hinges it is composed of.
pub(super) struct Means {
    /// The loss.
    pub(super) risk: f64,
    /// (M - z)_+ of the margin of each piece, not squared.
    pub(super) hinges: [f64; 2],
    pub(super) gradient: Vec<f64>,
}

impl<'s, 'a> PairRisk<'s, 'a> {
    /// (1 - z)_+^2.
    pub(super) fn squared_hinge(sample: &'s Sample<'a>) -> Self {
        let lists = sample.lists();
        let at = (0..lists.n_queries()).map(|_| Mutex::default()).collect();
        Self { sample, grades: grades(lists), pieces: vec![PairPiece { margin: 1.0, factor: 1.0 }], at }
    }

    /// Switches to the hinge, smoothed over the given width.
    pub(super) fn round_hinge(&mut self, width: f64) {
        let factor = 0.5 / width;
        self.pieces =
            vec![PairPiece { margin: 1.0, factor }, PairPiece { margin: 1.0 - width, factor: -factor }];
    }

    /// Returns the largest score, less the mean of its list, at the last w.
    pub(super) fn largest_score(&self) -> f64 {
        let of_list = |at: &Mutex<(Vec<f64>, Vec<u32>)>| {
            let at = at.lock().expect("no panic while a list is worked on");
            at.0.iter().fold(0.0, |largest: f64, score| largest.max(score.abs()))
        };
        self.at.iter().map(of_list).fold(0.0, f64::max)
    }

    /// Computes the means over lists at w; products with the Hessian refer to this w from now on.
    pub(super) fn means(&mut self, w: &[f64]) -> Means {
        let (sums, gradient) = self.sample.means(|scratch: &mut PairScratch, query, list, share, sum| {
            let Grades { ranks, n_grades, n_pairs } = &self.grades[query];
            let (mut risk, mut hinges) = (0.0, [0.0; 2]);
            if *n_pairs == 0.0 {
                return [0.0; 3];
            }
            let PairScratch { piece, gradient, sweep, .. } = scratch;
            let mut at = self.at[query].lock().expect("no panic while a list is worked on");
            let (scores, order) = &mut *at;
            products::scores(list, w, scores);
            center(scores);
            order.clear();
            order.extend_from_slice(sweep.sort(scores));
            gradient.clear();
            gradient.resize(scores.len(), 0.0);
            for (PairPiece { margin, factor }, hinge) in self.pieces.iter().zip(&mut hinges) {
                sweep.run(scores, ranks, *n_grades, *margin, scores);
                // u = M - s_i + s_j of the active pairs; the gradient g of sum u^2 has g's = 2 sum u^2 - 2 M sum u.
                let of_i = |(&(c, below), s): (&(f64, f64), &f64)| c * (margin - s) + below;
                let sum: f64 = sweep.lower.iter().zip(&*scores).map(of_i).sum();
                piece.clear();
                piece.extend(sweep.lower.iter().zip(&sweep.higher).zip(&*scores).map(
                    |((&(c, below), &(d, above)), s)| {
                        2.0 * (d * (margin + s) - above - c * (margin - s) - below)
                    },
                ));
                risk += factor * (0.5 * products::dot(piece, scores) + margin * sum);
                *hinge = sum / n_pairs;
                let factor = factor * share / n_pairs;
                gradient.iter_mut().zip(&*piece).for_each(|(gradient, piece)| *gradient += factor * piece);
            }
            products::add_rows(list, gradient, sum);
            [risk / n_pairs, hinges[0], hinges[1]]
        });
        Means { risk: sums[0], hinges: [sums[1], sums[2]], gradient }
    }
}

impl Smooth for PairRisk<'_, '_> {
    fn n_weights(&self) -> usize {
        self.sample.lists().n_features()
    }

    fn at(&mut self, w: &[f64]) -> (f64, Vec<f64>) {
        let Means { risk, gradient, .. } = self.means(w);
        (risk, gradient)
    }

    fn curvature(&self, direction: &[f64]) -> Vec<f64> {
        let ([], product) = self.sample.means(|scratch: &mut PairScratch, query, list, share, sum| {
            let Grades { ranks, n_grades, n_pairs } = &self.grades[query];
            if *n_pairs == 0.0 {
                return [];
            }
            let PairScratch { images, gradient, sweep, .. } = scratch;
            let at = self.at[query].lock().expect("no panic while a list is worked on");
            let (scores, order) = &*at;
            products::scores(list, direction, images);
            center(images);
            sweep.set_order(order);
            gradient.clear();
            gradient.resize(scores.len(), 0.0);
            for PairPiece { margin, factor } in &self.pieces {
                sweep.run(scores, ranks, *n_grades, *margin, images);
                let factor = 2.0 * factor * share / n_pairs;
                let pairs = sweep.lower.iter().zip(&sweep.higher).zip(&*images);
                gradient.iter_mut().zip(pairs).for_each(|(gradient, ((&(c, below), &(d, above)), u))| {
                    *gradient += factor * ((c + d) * u - below - above);
                });
            }
            products::add_rows(list, gradient, sum);
            []
        });
        product
    }
}
