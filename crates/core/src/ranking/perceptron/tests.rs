use proptest::prelude::*;

use super::curve::{bound_constant, loss_bound};
use super::*;
use crate::progress::Silent;
use crate::ranking::Fitting;
use crate::ranking::products::dot;
use crate::ranking::sample::Sample;
use crate::ranking::slam::{self, list_radius};
use crate::ranking::testing::{close, golden, lists, numbers, some_lists, thousandfold};
use crate::ranking::validation::Validation;

#[test]
fn golden_rounds() {
    let golden = golden("slam_perceptron.json");
    let lists = thousandfold(&golden["data"]);
    for (name, rule) in [("paper", UpdateRule::Printed), ("mis", UpdateRule::Misordered)] {
        let expected = &golden[name];
        // Features and weights are a thousand times the golden ones, so scores and Delta are a million times larger.
        let mut perceptron = Perceptron::new(lists.n_features(), Target::Ndcg, rule, 1e6).unwrap();
        let updates: Vec<f64> = numbers(&expected["update_rounds"]);
        for (round, list) in lists.iter().enumerate() {
            let before = perceptron.state().updates;
            let loss = perceptron.learn(&list, 1.0);
            close(&[loss], &[expected["losses"][round].as_f64().unwrap()], 1e-9);
            let updated = perceptron.state().updates > before;
            assert_eq!(updated, updates.contains(&(round as f64)));
            if updated {
                close(
                    &[perceptron.active_weight()],
                    &[expected["active_weight"][round].as_f64().unwrap()],
                    1e-9,
                );
            }
            let w: Vec<f64> = perceptron.weights().iter().map(|w| w / 1000.0).collect();
            close(&w, &numbers(&expected["w_after_round"][round]), 1e-9);
        }
    }
}

/// Three short rows, repeated: Corollary 6 as printed bounds the loss by 4 m R_X^2 v_max / gamma^2 = 468, since R_X =
/// eps, gamma = eps / sqrt(26), v = (1/4, 1/6).
#[test]
fn the_printed_rule_breaks_its_bound_and_the_misordered_rule_keeps_it() {
    let eps = 0.02;
    let rows = vec![vec![eps, 0.0], vec![-0.5 * eps, 0.3 * eps], vec![0.0, 0.0]];
    let lists = lists(&[(rows, vec![1.0, 1.0, 0.0])]);
    let loss = |rule| {
        let mut perceptron = Perceptron::new(2, Target::Map, rule, 1.0).unwrap();
        (0..40_000).for_each(|_| _ = perceptron.learn(&lists.list(0), 1.0));
        perceptron.state().cumulative_loss
    };
    let printed = loss(UpdateRule::Printed);
    assert!((printed - 6667.0).abs() < 1.0, "{printed}");
    assert!(printed > 468.0);
    // The bound that holds for this rule: (2 + 4 R_X^2) / gamma^2.
    let square = f64::from(eps) * f64::from(eps);
    assert!(printed <= (2.0 + 4.0 * square) * 26.0 / square);
    let misordered = loss(UpdateRule::Misordered);
    assert!((misordered - 1.3).abs() < 0.05 && misordered <= 4.0 * 26.0, "{misordered}");
}

/// Section 5 of the paper says that predictions do not depend on the step eta, as sorting does not depend on scale. But
/// a larger eta makes larger scores, for which the margin of 1 matters less. Steps of eta with the margin 1 are steps
/// of 1 with the margin 1 / eta.
#[test]
fn predictions_depend_on_the_step_with_the_printed_rule_alone() {
    let rows = vec![vec![1.0, 0.0], vec![-0.5, 0.3], vec![0.0, 0.0]];
    let lists = lists(&[(rows, vec![1.0, 1.0, 0.0])]);
    let losses = |rule, eta: f64| -> Vec<f64> {
        let mut perceptron = Perceptron::new(2, Target::Map, rule, 1.0 / eta).unwrap();
        (0..1000).map(|_| perceptron.learn(&lists.list(0), 1.0)).collect()
    };
    let printed = [0.01, 1.0, 100.0].map(|eta| losses(UpdateRule::Printed, eta).iter().sum::<f64>());
    assert!(printed[0] > 5.0 * printed[1] && printed[1] > printed[2], "{printed:?}");
    let misordered = losses(UpdateRule::Misordered, 1.0);
    assert!(misordered.iter().sum::<f64>() > 0.0);
    assert!([0.01, 100.0].iter().all(|&eta| losses(UpdateRule::Misordered, eta) == misordered));
}

#[test]
fn lists_in_the_order_of_their_grades_are_learned_from_all_the_same() {
    let lists = lists(&[(vec![vec![1.0], vec![0.0]], vec![1.0, 0.0])]);
    let mut perceptron = Perceptron::new(1, Target::Ndcg, UpdateRule::Misordered, 1.0).unwrap();
    assert!(perceptron.learn(&lists.list(0), 1.0) > 0.0);
    assert_eq!(perceptron.learn(&lists.list(0), 1.0), 0.0);
    assert_eq!(perceptron.state().updates, 1);
}

#[test]
fn lists_without_a_relevant_document_teach_nothing() {
    let lists = lists(&[(vec![vec![1.0], vec![0.0]], vec![0.0, 0.0])]);
    for target in [Target::Map, Target::Ndcg, Target::NdcgAt(1)] {
        let mut perceptron = Perceptron::new(1, target, UpdateRule::Misordered, 1.0).unwrap();
        assert_eq!(perceptron.learn(&lists.list(0), 1.0), 0.0);
        assert_eq!((perceptron.state().updates, perceptron.weights()), (0, &[0.0][..]));
    }
}

proptest! {
    #[test]
    fn the_average_is_the_mean_of_the_iterates(lists in some_lists()) {
        let d = lists.n_features();
        let mut perceptron = Perceptron::new(d, Target::Ndcg, UpdateRule::Misordered, 1.0).unwrap();
        let mut sum = vec![0.0; d];
        let mut rounds = 0.0;
        for list in lists.iter().chain(lists.iter()) {
            perceptron.learn(&list, 1.0);
            sum.iter_mut().zip(perceptron.weights()).for_each(|(sum, w)| *sum += w);
            rounds += 1.0;
        }
        let mean: Vec<f64> = sum.iter().map(|sum| sum / rounds).collect();
        close(&perceptron.averaged(), &mean, 1e-9);
    }

    #[test]
    fn the_cumulative_loss_stays_below_its_bound_for_every_u(
        lists in some_lists(),
        u in prop::collection::vec(-3.0f64..3.0, 3),
        printed in any::<bool>(),
        weights in prop::collection::vec(prop::sample::select(vec![0.0, 0.5, 1.0, 3.0]), 8),
    ) {
        let rule = if printed { UpdateRule::Printed } else { UpdateRule::Misordered };
        let u = &u[..lists.n_features()];
        let mut perceptron = Perceptron::new(u.len(), Target::Ndcg, rule, 1.0).unwrap();
        let (mut l, mut scores) = (0.0, Vec::new());
        let heaviest = weights[..lists.n_queries()].iter().copied().fold(0.0, f64::max);
        for (list, &weight) in (0..30).flat_map(|_| lists.iter().zip(&weights)) {
            if perceptron.learn(&list, weight) > PERFECT {
                products::scores(&list, u, &mut scores);
                l += weight * slam::loss(&scores, list.labels(), &Target::Ndcg.weights(list.labels()), 1.0);
            }
        }
        let c = bound_constant(rule, 1.0, list_radius(&lists), heaviest);
        let bound = loss_bound(l, dot(u, u).sqrt(), c);
        prop_assert!(perceptron.state().cumulative_loss <= bound + 1e-9);
    }

    #[test]
    fn going_on_from_a_state_is_as_if_it_had_not_stopped(lists in some_lists()) {
        let new = || Perceptron::new(lists.n_features(), Target::NdcgAt(2), UpdateRule::Misordered, 1.0).unwrap();
        let (mut whole, mut part) = (new(), new());
        for list in lists.iter() {
            whole.learn(&list, 1.0);
            part.learn(&list, 1.0);
            part = Perceptron::from_state(part.into_state(), Target::NdcgAt(2), UpdateRule::Misordered, 1.0).unwrap();
        }
        prop_assert_eq!(whole.state(), part.state());
    }
}

#[test]
fn training_keeps_the_best_epoch_and_its_curve_stays_below_the_bound() {
    let lists = thousandfold(&golden("slam_batch.json")["noisy"]["data"]);
    let validation = Validation::new(&lists, "ndcg@10".parse().unwrap()).unwrap();
    let params = PerceptronParams { epochs: 30, patience: 5, ..PerceptronParams::default() };
    let (state, report) = fit(
        &params,
        &Sample::new(&lists),
        &Fitting { validation: Some(&validation), seed: 3, progress: &Silent },
    )
    .unwrap();
    let figures: Vec<f64> = report.epochs.iter().map(|epoch| epoch.validation.unwrap()).collect();
    let best = figures.iter().copied().fold(0.0, f64::max);
    assert_eq!(figures[report.kept as usize - 1], best);
    assert_eq!(validation.of_weights(&state.averaged()).unwrap(), best);
    assert_eq!(state.rounds, u64::from(report.kept) * lists.n_queries() as u64);
    assert!(report.curve.iter().all(|point| point.loss <= point.bound));
    assert!((report.curve.last().unwrap().loss - state.cumulative_loss).abs() < 1e-3);
    let again = fit(
        &params,
        &Sample::new(&lists),
        &Fitting { validation: Some(&validation), seed: 3, progress: &Silent },
    )
    .unwrap();
    assert_eq!((state, report), again);
    // Weights far from 1: steps, losses and the bound are all weighted.
    let weights = (0..lists.n_queries()).map(|i| [0.0, 0.01, 1.0, 50.0][i % 4]).collect();
    let weighted = Sample::weighted(&lists, weights).unwrap();
    let (state, report) =
        fit(&params, &weighted, &Fitting { validation: Some(&validation), seed: 3, progress: &Silent })
            .unwrap();
    assert!(report.curve.iter().all(|point| point.loss <= point.bound));
    let last = report.curve.last().unwrap().loss;
    assert!((last - state.cumulative_loss).abs() < 1e-5 * last && last > 1.0, "{last}");
}
