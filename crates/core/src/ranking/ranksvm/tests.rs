use proptest::prelude::*;

use super::objective::PairRisk;
use super::*;
use crate::data::FeatureLists;
use crate::progress::Silent;
use crate::ranking::products;
use crate::ranking::testing::{close, lists, some_lists};

/// Computes the mean over lists of the mean over pairs, pair by pair.
fn slow(lists: &FeatureLists, w: &[f64], loss: impl Fn(f64) -> f64) -> f64 {
    let mut scores = Vec::new();
    let of_list = |list: crate::data::List<'_>| {
        products::scores(&list, w, &mut scores);
        let labels = list.labels();
        let pairs = (0..list.len()).flat_map(|i| (0..list.len()).map(move |j| (i, j)));
        let costs: Vec<f64> = pairs
            .filter(|&(i, j)| labels[i] > labels[j])
            .map(|(i, j)| loss(1.0 - scores[i] + scores[j]))
            .collect();
        if costs.is_empty() { 0.0 } else { costs.iter().sum::<f64>() / costs.len() as f64 }
    };
    lists.iter().map(of_list).sum::<f64>() / lists.n_queries() as f64
}

/// Computes the smoothed hinge: a parabola over the width, then a line.
fn rounded(u: f64, width: f64) -> f64 {
    if u <= 0.0 {
        0.0
    } else if u < width {
        0.5 * u * u / width
    } else {
        u - 0.5 * width
    }
}

/// Summed over the pairs of a list with r relevant documents of m, the hinge at equal scores has a gradient with
/// respect to the scores whose l1 norm is 2 r (m - r). If half are relevant, that is m^2 / 2, not the 2 m of the SLAM
/// paper's appendix 7.9. The risk here is a mean over pairs, whose gradient has the norm 2 for lists of any length.
#[test]
fn the_gradient_of_the_summed_hinge_grows_as_the_square_of_the_list() {
    for m in [2, 8, 32, 128] {
        // Each document has its own feature, so w is the vector of scores.
        let rows = (0..m).map(|i| (0..m).map(|j| f32::from(u8::from(i == j))).collect()).collect();
        let grades = (0..m).map(|i| f32::from(u8::from(i % 2 == 0))).collect();
        let lists = lists(&[(rows, grades)]);
        let sample = Sample::new(&lists);
        let mut risk = PairRisk::squared_hinge(&sample);
        risk.round_hinge(0.5);
        let mean: f64 = risk.at(&vec![0.0; m]).1.iter().map(|slope| slope.abs()).sum();
        close(&[mean], &[2.0], 1e-12);
        let n_pairs = (m * m / 4) as f64;
        close(&[mean * n_pairs], &[(m * m) as f64 / 2.0], 1e-9);
        assert!(m <= 4 || mean * n_pairs > 2.0 * m as f64);
    }
}

proptest! {
    #[test]
    fn risks_are_sums_over_pairs(
        lists in some_lists(),
        w in prop::collection::vec(-0.7f64..0.7, 3),
        width in 0.01f64..0.7,
    ) {
        let w = &w[..lists.n_features()];
        let sample = Sample::new(&lists);
        let mut risk = PairRisk::squared_hinge(&sample);
        close(&[risk.at(w).0], &[slow(&lists, w, |u| u.max(0.0).powi(2))], 1e-12);
        risk.round_hinge(width);
        let means = risk.means(w);
        close(&[means.risk], &[slow(&lists, w, |u| rounded(u, width))], 1e-10);
        let hinges = [0.0, width].map(|less| slow(&lists, w, |u| (u - less).max(0.0)));
        close(&means.hinges, &hinges, 1e-12);
    }

    #[test]
    fn gradient_and_curvature_are_differences(
        lists in some_lists(),
        w in prop::collection::vec(-0.7f64..0.7, 3),
        direction in prop::collection::vec(-1.0f64..1.0, 3),
        width in prop::option::of(0.1f64..0.7),
    ) {
        let (w, direction) = (&w[..lists.n_features()], &direction[..lists.n_features()]);
        let sample = Sample::new(&lists);
        let mut risk = PairRisk::squared_hinge(&sample);
        if let Some(width) = width {
            risk.round_hinge(width);
        }
        let moved = |by: f64| -> Vec<f64> { w.iter().zip(direction).map(|(w, d)| w + by * d).collect() };
        let h = 1e-6;
        let (above, gradient_above) = risk.at(&moved(h));
        let (below, gradient_below) = risk.at(&moved(-h));
        let (_, gradient) = risk.at(w);
        close(&[(above - below) / (2.0 * h)], &[dot(&gradient, direction)], 1e-4);
        // The generalized Hessian jumps when a pair becomes active, so it is compared away from such points.
        let bends: Vec<f64> =
            gradient_above.iter().zip(&gradient_below).map(|(a, b)| (a - b) / (2.0 * h)).collect();
        let curvature = risk.curvature(direction);
        let (_, twice) = risk.at(&moved(1e-5));
        let smooth: Vec<f64> = twice.iter().zip(&gradient).map(|(a, b)| (a - b) / 1e-5).collect();
        if bends.iter().zip(&smooth).all(|(a, b)| (a - b).abs() < 1e-6) {
            close(&curvature, &bends, 1e-3);
        }
    }

    #[test]
    fn squared_hinge_cannot_be_improved_on(lists in some_lists(), off in prop::collection::vec(-0.1f64..0.1, 3)) {
        let (sample, lambda) = (Sample::new(&lists), 0.1);
        let params = RankSvmParams { lambda: LambdaPath::One(lambda), tolerance: 1e-9, ..RankSvmParams::default() };
        let (w, report) = fit(&params, &sample, None, &Silent).unwrap();
        let objective = |w: &[f64]| 0.5 * lambda * dot(w, w) + slow(&lists, w, |u| u.max(0.0).powi(2));
        close(&[report.path[0].objective], &[objective(&w)], 1e-9);
        let other: Vec<f64> = w.iter().zip(&off).map(|(w, off)| w + off).collect();
        prop_assert!(objective(&other) >= objective(&w) - 1e-7);
    }

    #[test]
    fn hinge_closes_its_gap_and_nothing_is_below_its_bound(
        lists in some_lists(),
        other in prop::collection::vec(-2.0f64..2.0, 3),
        off in prop::collection::vec(-0.01f64..0.01, 3),
        power in -3i32..=0,
    ) {
        let (sample, lambda, tolerance) = (Sample::new(&lists), 10f64.powi(power), 1e-6);
        let loss = PairLoss::Hinge;
        let params = RankSvmParams { loss, lambda: LambdaPath::One(lambda), tolerance, max_iterations: 2000 };
        let (w, report) = fit(&params, &sample, None, &Silent).unwrap();
        let objective = |w: &[f64]| 0.5 * lambda * dot(w, w) + slow(&lists, w, |u| u.max(0.0));
        let (reached, bound) = (report.path[0].objective, report.path[0].lower_bound.unwrap());
        close(&[reached], &[objective(&w)], 1e-9);
        prop_assert!(reached - bound <= (tolerance * reached).max(hinge::PRECISION), "{reached} {bound}");
        let near: Vec<f64> = w.iter().zip(&off).map(|(w, off)| w + off).collect();
        prop_assert!(objective(&near) >= bound - 1e-9 && objective(&other[..w.len()]) >= bound - 1e-9);
    }
}
