//! Minimises (4) by stochastic subgradients.
//!
//! w <- (1 - 1/t) w - 1/(lambda t) X'z for one list after the other, projected onto the ball of radius sqrt(2 phi(0) /
//! lambda) that contains the minimiser. The mean of the iterates of the second half is returned.
//!
//! Reference: Shalev-Shwartz, Singer, Srebro and Cotter, *Pegasos*, 2011, Figure 1.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::batch::SlamParams;
use super::loss::{Active, Terms};
use super::objective::Goals;
use crate::ranking::products::{self, dot};
use crate::ranking::sample::Sample;

pub(super) fn pegasos(
    sample: &Sample<'_>,
    goals: &Goals<'_>,
    params: &SlamParams,
    lambda: f64,
    seed: u64,
) -> Vec<f64> {
    let lists = sample.lists();
    let n = lists.n_queries();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut order: Vec<usize> = (0..n).collect();
    let (mut w, mut sum) = (vec![0.0; lists.n_features()], vec![0.0; lists.n_features()]);
    let (mut scores, mut gradient, mut terms) = (Vec::new(), Vec::new(), Terms::default());
    let mean_weight = sample.total_weight() / n as f64;
    // phi_v(0) is at most Delta times the sum of v, which is at most 1.
    let radius = (2.0 * params.delta / lambda).sqrt();
    let rounds = u64::from(params.epochs) * n as u64;
    let mut round = 0u64;
    for _ in 0..params.epochs {
        order.shuffle(&mut random);
        for &query in &order {
            round += 1;
            let list = lists.list(query);
            products::scores(&list, &w, &mut scores);
            let (grades, v) = (goals.grades(list.rows()), goals.v(list.rows()));
            terms.find(&scores, grades, v, Active::Within(params.delta));
            let t = round as f64;
            w.iter_mut().for_each(|w| *w *= 1.0 - 1.0 / t);
            gradient.clear();
            gradient.resize(scores.len(), 0.0);
            terms.add_subgradient(-sample.weight(query) / (mean_weight * lambda * t), &mut gradient);
            products::add_rows(&list, &gradient, &mut w);
            let norm = dot(&w, &w).sqrt();
            if norm > radius {
                w.iter_mut().for_each(|w| *w *= radius / norm);
            }
            if 2 * round > rounds {
                sum.iter_mut().zip(&w).for_each(|(sum, w)| *sum += w);
            }
        }
    }
    let kept = (rounds - rounds / 2) as f64;
    sum.iter_mut().for_each(|sum| *sum /= kept);
    sum
}
