//! The mean pairwise hinge and squared hinge, and the Hessian of the latter, by [`Sweep`].

use std::sync::Mutex;

use super::order_statistics::Sweep;
use crate::data::FeatureLists;
use crate::ranking::products;
use crate::ranking::sample::Sample;
use crate::solve::bundle::Convex;
use crate::solve::newton::Smooth;

/// Grades of one list as ranks, and how many pairs there are.
struct Grades {
    ranks: Vec<u16>,
    n_grades: usize,
    n_pairs: f64,
}

impl Grades {
    /// Grades beyond the 65,536th of a list would share a rank; no list has so many.
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
struct Scratch {
    scores: Vec<f64>,
    images: Vec<f64>,
    gradient: Vec<f64>,
    sweep: Sweep,
}

/// Scores less their mean: only differences count, and small numbers keep more digits.
fn center(scores: &mut [f64]) {
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    scores.iter_mut().for_each(|score| *score -= mean);
}

pub(super) struct HingeRisk<'s, 'a> {
    sample: &'s Sample<'a>,
    grades: Vec<Grades>,
}

impl<'s, 'a> HingeRisk<'s, 'a> {
    pub(super) fn new(sample: &'s Sample<'a>) -> Self {
        Self { sample, grades: grades(sample.lists()) }
    }
}

impl Convex for HingeRisk<'_, '_> {
    fn n_weights(&self) -> usize {
        self.sample.lists().n_features()
    }

    fn at(&self, w: &[f64]) -> (f64, Vec<f64>) {
        self.sample.mean(|scratch: &mut Scratch, query, list, share, sum| {
            let Grades { ranks, n_grades, n_pairs } = &self.grades[query];
            if *n_pairs == 0.0 {
                return 0.0;
            }
            let Scratch { scores, gradient, sweep, .. } = scratch;
            products::scores(list, w, scores);
            center(scores);
            sweep.sort(scores);
            sweep.run(scores, ranks, *n_grades, scores);
            // sum over pairs of 1 - s_i + s_j.
            let of_i = |(&(c, below), s): (&(f64, f64), &f64)| c * (1.0 - s) + below;
            let loss: f64 = sweep.lower.iter().zip(&*scores).map(of_i).sum();
            gradient.clear();
            gradient
                .extend(sweep.lower.iter().zip(&sweep.higher).map(|(c, d)| share / n_pairs * (d.0 - c.0)));
            products::add_rows(list, gradient, sum);
            loss / n_pairs
        })
    }
}

pub(super) struct SquaredHingeRisk<'s, 'a> {
    sample: &'s Sample<'a>,
    grades: Vec<Grades>,
    /// Scores at the last w and the orders they give, by list: sorted once for many products with the Hessian.
    at: Vec<Mutex<(Vec<f64>, Vec<u32>)>>,
}

impl<'s, 'a> SquaredHingeRisk<'s, 'a> {
    pub(super) fn new(sample: &'s Sample<'a>) -> Self {
        let lists = sample.lists();
        Self { sample, grades: grades(lists), at: (0..lists.n_queries()).map(|_| Mutex::default()).collect() }
    }
}

impl Smooth for SquaredHingeRisk<'_, '_> {
    fn n_weights(&self) -> usize {
        self.sample.lists().n_features()
    }

    fn at(&mut self, w: &[f64]) -> (f64, Vec<f64>) {
        self.sample.mean(|scratch: &mut Scratch, query, list, share, sum| {
            let Grades { ranks, n_grades, n_pairs } = &self.grades[query];
            if *n_pairs == 0.0 {
                return 0.0;
            }
            let Scratch { gradient, sweep, .. } = scratch;
            let mut at = self.at[query].lock().expect("no panic while a list is worked on");
            let (scores, order) = &mut *at;
            products::scores(list, w, scores);
            center(scores);
            order.clear();
            order.extend_from_slice(sweep.sort(scores));
            sweep.run(scores, ranks, *n_grades, scores);
            // z = 1 - s_i + s_j of the active pairs; the gradient g of sum z^2 has g's = 2 sum z^2 - 2 sum z.
            let of_i = |(&(c, below), s): (&(f64, f64), &f64)| c * (1.0 - s) + below;
            let z: f64 = sweep.lower.iter().zip(&*scores).map(of_i).sum();
            gradient.clear();
            gradient.extend(sweep.lower.iter().zip(&sweep.higher).zip(&*scores).map(
                |((&(c, below), &(d, above)), s)| 2.0 * (d * (1.0 + s) - above - c * (1.0 - s) - below),
            ));
            let loss = 0.5 * products::dot(gradient, scores) + z;
            gradient.iter_mut().for_each(|g| *g *= share / n_pairs);
            products::add_rows(list, gradient, sum);
            loss / n_pairs
        })
    }

    fn curvature(&self, direction: &[f64]) -> Vec<f64> {
        let (_, product) = self.sample.mean(|scratch: &mut Scratch, query, list, share, sum| {
            let Grades { ranks, n_grades, n_pairs } = &self.grades[query];
            if *n_pairs == 0.0 {
                return 0.0;
            }
            let Scratch { images, gradient, sweep, .. } = scratch;
            let at = self.at[query].lock().expect("no panic while a list is worked on");
            let (scores, order) = &*at;
            products::scores(list, direction, images);
            center(images);
            sweep.set_order(order);
            sweep.run(scores, ranks, *n_grades, images);
            gradient.clear();
            gradient.extend(sweep.lower.iter().zip(&sweep.higher).zip(&*images).map(
                |((&(c, below), &(d, above)), u)| 2.0 * share / n_pairs * ((c + d) * u - below - above),
            ));
            products::add_rows(list, gradient, sum);
            0.0
        });
        product
    }
}
