#![allow(clippy::print_stderr)]

use matchrank_core::progress::Silent;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::rankers::{FeatureImportance, Permutations, permutation_importance};
use matchrank_core::data::List;
use matchrank_core::ranking::evaluate_ranker;

fn train_boosted(
    objective: Objective,
    params: &BoostedParams,
    train: &FeatureLists,
    validation: Option<(&FeatureLists, Measure)>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<BoostedModel> {
    let validation = validation.map(|(lists, measure)| (lists.clone(), measure));
    let lessons = Lessons { validation, seed, ..Lessons::new(train.clone()) };
    Boosting { objective, params: *params }.train(lessons, progress)
}

/// Lists whose grades follow from the product of two features, which no weights of single features tell.
fn lists(seed: u64) -> FeatureLists {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    for _ in 0..1200 {
        let x: [f32; 3] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        labels.push(if x[0] * x[1] > 0.3 {
            2.0
        } else if x[0] * x[1] > 0.0 {
            1.0
        } else {
            0.0
        });
        values.extend(x);
    }
    FeatureLists::from_dense(&[20; 60], labels, 3, values).unwrap()
}

fn is_installed() -> bool {
    let found = Library::load().is_ok();
    if !found {
        eprintln!("skipped: LightGBM is not installed (pip install lightgbm, or {VARIABLE})");
    }
    found
}

fn ndcg() -> Measure {
    Measure::parse_list("ndcg@10").unwrap().remove(0)
}

#[test]
fn trees_learn_what_no_single_feature_tells() {
    if !is_installed() {
        return;
    }
    let (train, validation, test) = (lists(1), lists(2), lists(3));
    let params = BoostedParams { min_rows: 10, ..Default::default() };
    for objective in Objective::ALL {
        let grow =
            || train_boosted(objective, &params, &train, Some((&validation, ndcg())), 7, &Silent).unwrap();
        let model = grow();
        assert_eq!(model.trees.len(), best(&model.report.validation));
        let figure = evaluate_ranker(&model, &test, &[ndcg()]).unwrap().mean(0);
        assert!(figure > 0.93, "{objective:?}: {figure}");
        let validated = evaluate_ranker(&model, &validation, &[ndcg()]).unwrap().mean(0);
        assert!((validated - model.validated().unwrap()).abs() < 1e-9);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(grow), model, "the same for any number of threads");
        let gains = model.trees.gains();
        let falls = permutation_importance(
            &model,
            &test,
            Permutations { features: &[0, 1, 2], measure: ndcg(), repeats: 2, seed: 7 },
            &Silent,
        )
        .unwrap();
        let falls = falls.features.iter().map(FeatureImportance::mean).collect();
        for importance in [gains, falls] {
            assert!(importance[0] > 3.0 * importance[2].abs() && importance[1] > 3.0 * importance[2].abs());
        }
        let few = train_boosted(objective, &BoostedParams { trees: 3, ..params }, &train, None, 7, &Silent)
            .unwrap();
        assert_eq!(few.trees.len(), 3);
    }
}

#[test]
fn grades_that_lambdamart_cannot_take_are_refused() {
    if !is_installed() {
        return;
    }
    let lists =
        FeatureLists::from_dense(&[2, 2], vec![0.5, 0.0, 1.0, 0.0], 1, vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let params = BoostedParams { min_rows: 1, ..Default::default() };
    let error = train_boosted(Objective::LambdaMart, &params, &lists, None, 7, &Silent).unwrap_err();
    assert!(error.to_string().contains("the grade is 0.5"), "{error}");
    assert!(train_boosted(Objective::Mart, &params, &lists, None, 7, &Silent).is_ok());
    assert!(BoostedParams { leaves: 1, ..params }.validate().is_err());
}

/// Old files and old seeds: what is not set is not said, and so is LightGBM's default.
#[test]
fn parameters_that_are_not_set_are_not_named() {
    let text = |params: BoostedParams| params.text(Objective::Mart, &lists(1), 7);
    let default = text(BoostedParams::default());
    for name in
        ["max_depth", "feature_fraction", "bagging", "lambda_l", "min_gain", "min_sum_hessian", "max_bin"]
    {
        assert!(!default.contains(name), "{default}");
    }
    let params = BoostedParams {
        max_depth: 4,
        feature_fraction: 0.5,
        bagging_fraction: 0.8,
        bagging_freq: 1,
        lambda_l1: 0.25,
        lambda_l2: 10.0,
        min_gain_to_split: 0.125,
        min_sum_hessian_in_leaf: 2.0,
        max_bin: 63,
        ..Default::default()
    };
    params.validate().unwrap();
    assert_eq!(
        text(params).strip_prefix(&default),
        Some(
            " max_depth=4 feature_fraction=0.5 bagging_fraction=0.8 bagging_freq=1 lambda_l1=0.25 lambda_l2=10 \
             min_gain_to_split=0.125 min_sum_hessian_in_leaf=2 max_bin=63"
        )
    );
    let wrong = BoostedParams { bagging_fraction: 0.8, ..Default::default() }.validate().unwrap_err();
    assert!(wrong.to_string().contains("needs bagging_freq"), "{wrong}");
    assert!(BoostedParams { max_bin: 1, ..Default::default() }.validate().is_err());
    assert!(BoostedParams { lambda_l2: f64::NAN, ..Default::default() }.validate().is_err());
}

/// Every parameter reaches LightGBM: it grows other trees.
#[test]
fn parameters_change_the_trees() {
    if !is_installed() {
        return;
    }
    let train = lists(1);
    let grow = |params: BoostedParams| {
        train_boosted(Objective::LambdaMart, &params, &train, None, 7, &Silent).unwrap().trees
    };
    let base = BoostedParams { trees: 5, min_rows: 10, ..Default::default() };
    let plain = grow(base);
    for (name, params) in [
        ("max_depth", BoostedParams { max_depth: 1, ..base }),
        ("feature_fraction", BoostedParams { feature_fraction: 0.4, ..base }),
        ("bagging", BoostedParams { bagging_fraction: 0.5, bagging_freq: 1, ..base }),
        ("lambda_l1", BoostedParams { lambda_l1: 1.0, ..base }),
        ("lambda_l2", BoostedParams { lambda_l2: 10.0, ..base }),
        ("min_gain_to_split", BoostedParams { min_gain_to_split: 1e9, ..base }),
        ("min_sum_hessian_in_leaf", BoostedParams { min_sum_hessian_in_leaf: 1e9, ..base }),
        ("max_bin", BoostedParams { max_bin: 2, ..base }),
    ] {
        assert!(grow(params) != plain, "{name}");
        assert!(grow(params) == grow(params), "{name}: the same seed, the same trees");
    }
}

/// Lists in which the grade follows from whether the second feature is missing, and from the first where it is not.
fn lists_with_missing_values(seed: u64) -> FeatureLists {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    for _ in 0..1200 {
        let x: [f32; 3] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        let is_missing = rng.random_range(0..3) == 0;
        labels.push(if is_missing { 2.0 } else { f32::from(u8::from(x[0] > 0.2)) });
        // Zeros are not missing, and most rows have one.
        let third = if rng.random_range(0..4) == 0 { x[2] } else { 0.0 };
        values.extend([x[0], if is_missing { f32::NAN } else { x[1].max(0.0) }, third]);
    }
    FeatureLists::from_dense(&[20; 60], labels, 3, values).unwrap()
}

#[test]
fn missing_values_are_learned_from_and_scored_as_lightgbm_scores_them() {
    if !is_installed() {
        return;
    }
    let (train, test) = (lists_with_missing_values(1), lists_with_missing_values(2));
    let params = BoostedParams { min_rows: 10, trees: 60, ..Default::default() };
    for objective in Objective::ALL {
        let library = Library::load().unwrap();
        let text = params.text(objective, &train, 7);
        let mut booster = Booster::new(&library, &train, &text, params.min_rows).unwrap();
        while booster.trees(0, 0).unwrap().len() < 60 && booster.grow().unwrap() {}
        // Lists without a missing value in a feature that had some, and with some in one that had none.
        let mut strange = test.clone();
        strange.set_column(0, &vec![f32::NAN; test.n_rows()]).unwrap();
        let mut complete = test.clone();
        complete.set_column(1, &vec![0.0; test.n_rows()]).unwrap();
        let trees = booster.trees(0, 0).unwrap();
        for lists in [&train, &test, &strange, &complete] {
            for (ours, theirs) in trees.score_all(lists).iter().zip(booster.predict(lists)) {
                assert!((ours - theirs).abs() < 1e-12, "{objective:?}: {ours} {theirs}");
            }
        }
        let model = train_boosted(objective, &params, &train, Some((&test, ndcg())), 7, &Silent).unwrap();
        let figure = evaluate_ranker(&model, &test, &[ndcg()]).unwrap().mean(0);
        assert!(figure > 0.99, "{objective:?}: {figure}");
    }
}

/// Sparse rows with features far apart give the trees of the same rows with the features side by side.
#[test]
fn features_that_no_row_has_change_nothing() {
    if !is_installed() {
        return;
    }
    let spread = |columns: [u32; 3]| {
        let (dense, mut rows) = (lists(1), matchrank_core::data::FeatureRows::default());
        for (query, list) in dense.iter().enumerate() {
            for i in 0..list.len() {
                let mut entries: Vec<(u32, f32)> =
                    columns.into_iter().zip((0..3).map(|column| list.row(i).get(column))).collect();
                // A feature of few rows, which no leaf can have.
                entries.extend((query == 0 && i < 5).then_some((columns[2] + 1, 1.0)));
                rows.push(list.query(), None, list.labels()[i], &mut entries).unwrap();
            }
        }
        FeatureLists::from_rows(rows)
    };
    let (near, far) = (spread([0, 1, 2]), spread([6, 7_000_000, 9_999_998]));
    assert!(near.features().dense_rows(0..1).is_some() && far.features().dense_rows(0..1).is_none());
    let params = BoostedParams { min_rows: 10, trees: 30, ..Default::default() };
    for objective in Objective::ALL {
        let grow =
            |lists| train_boosted(objective, &params, lists, Some((lists, ndcg())), 7, &Silent).unwrap();
        let (near_model, far_model) = (grow(&near), grow(&far));
        assert_eq!(near_model.trees.score_all(&near), far_model.trees.score_all(&far), "{objective:?}");
        assert_eq!(near_model.report, far_model.report);
        assert_eq!(far_model.trees.n_features(), 10_000_000);
        let gains = far_model.trees.gains();
        assert!(gains[6] > 0.0 && gains[7_000_000] > 0.0 && gains[0] == 0.0);
    }
}

#[test]
fn rows_count_by_their_weights() {
    if !is_installed() {
        return;
    }
    let params = BoostedParams { min_rows: 5, trees: 20, ..Default::default() };
    let even = lists(1);
    // Half of the rows are graded the other way round, and count nothing.
    let doubled = || {
        let grades = |list: &List<'_>| list.labels().iter().map(|grade| 2.0 - grade).collect::<Vec<_>>();
        let (mut labels, mut values, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for list in even.iter() {
            for (grades, weight) in [(list.labels().to_vec(), 3.0), (grades(&list), 0.0)] {
                labels.extend(grades);
                values.extend_from_slice(list.dense().unwrap());
                weights.extend(vec![weight; list.len()]);
            }
        }
        let mut lists = FeatureLists::from_dense(&[20; 120], labels, 3, values).unwrap();
        lists.set_weights(weights).unwrap();
        lists
    };
    let test = lists(3);
    for objective in Objective::ALL {
        let figure = |lists: &FeatureLists| {
            let model = train_boosted(objective, &params, lists, None, 7, &Silent).unwrap();
            evaluate_ranker(&model, &test, &[ndcg()]).unwrap().mean(0)
        };
        let (weighted, plain) = (figure(&doubled()), figure(&even));
        assert!(weighted > 0.85 && (weighted - plain).abs() < 0.05, "{objective:?}: {weighted} {plain}");
    }
}
