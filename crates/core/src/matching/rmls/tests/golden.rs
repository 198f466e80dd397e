//! Compares W, the centered W and RMLS with the golden vectors.

use serde::Deserialize;

use super::*;
use crate::matching::golden::{agree, entries, golden, graph, sparse};

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct Golden {
    Ly0: Vec<Vec<f32>>,
    W: Vec<Vec<f64>>,
    W_centered: Vec<Vec<f64>>,
    x_mean: Vec<f32>,
    y_mean: Vec<f32>,
    rmls: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    center: bool,
    beta: f64,
    gamma: f64,
    theta_x: f64,
    theta_y: f64,
    iterations: Vec<Expected>,
}

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct Expected {
    Lx: Vec<Vec<f64>>,
    Ly: Vec<Vec<f64>>,
    objective: f64,
    scores: Vec<Vec<f64>>,
}

impl Case {
    fn params(&self, route: Route) -> RmlsParams {
        RmlsParams {
            d: 3,
            iterations: 4,
            beta: self.beta,
            gamma: self.gamma,
            threshold: Threshold::Absolute,
            theta_x: self.theta_x,
            theta_y: self.theta_y,
            center: self.center,
            route,
        }
    }

    /// Compares an iteration with the one expected.
    fn check(&self, iteration: &Iteration<'_>) {
        let expected = &self.iterations[iteration.report.number - 1];
        agree("objective", [iteration.report.objective], [expected.objective]);
        let model = iteration.model().unwrap();
        agree("Lx", rows(model.lx()).concat(), entries(&expected.Lx));
        agree("Ly", rows(model.ly()).concat(), entries(&expected.Ly));
        let graph = graph();
        let scores =
            graph.x().rows().flat_map(|x| graph.y().rows().map(|y| model.score(x, y)).collect::<Vec<_>>());
        agree("scores", scores, entries(&expected.scores));
    }
}

#[test]
fn w_by_both_routes() {
    let golden: Golden = golden();
    let graph = graph();
    for (center, expected) in [(false, &golden.W), (true, &golden.W_centered)] {
        let factored = Factored::new(&graph, center).unwrap();
        let formed = Formed::of(&graph, center).unwrap();
        let by_factors = (dense(&factored, Side::X), dense(&factored, Side::Y));
        for (w, wt) in [by_factors, (dense(&formed, Side::X), dense(&formed, Side::Y))] {
            agree("W", entries(&w), entries(expected));
            let transposed = (0..expected[0].len()).flat_map(|v| expected.iter().map(move |row| row[v]));
            agree("W'", entries(&wt), transposed);
        }
    }
}

/// Four iterations of three settings, centered and not, by both routes and from W itself.
#[test]
fn rmls() {
    let golden: Golden = golden();
    let start = Factor::dense(3, golden.Ly0.concat()).unwrap();
    let w: Vec<Vec<f32>> = golden.W.iter().map(|row| row.iter().map(|&w| w as f32).collect()).collect();
    assert_eq!(golden.rmls.len(), 6);
    for case in &golden.rmls {
        let mut seen = 0;
        let mut check = |iteration: &Iteration<'_>| {
            case.check(iteration);
            seen += 1;
            Ok(Verdict::Continue)
        };
        for route in [Route::Factored, Route::Formed] {
            fit(
                &case.params(route),
                &graph(),
                RmlsRun { start: Some(&start), seed: 0, progress: &Silent },
                &mut check,
            )
            .unwrap();
        }
        let means = case.center.then(|| (golden.x_mean.clone(), golden.y_mean.clone()));
        let params = case.params(Route::Formed);
        fit_formed(
            &params,
            ClickSums { w: sparse(&w), means },
            RmlsRun { start: Some(&start), seed: 0, progress: &Silent },
            &mut check,
        )
        .unwrap();
        assert_eq!(seen, 12);
    }
}
