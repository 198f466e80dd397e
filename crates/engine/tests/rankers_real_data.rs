//! Rankers on LETOR's MQ2008 and OHSUMED, five folds, where they are present.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};

use matchrank_core::data::qrels::Qrels;
use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::measure::{Conventions, Dialect, Measure, Ties, evaluate};
use matchrank_core::progress::Silent;
use matchrank_core::ranking::slam::{SlamParams, SlamSolver};
use matchrank_core::ranking::{LinearRanker, Scaling, ScalingKind, evaluate_ranker};
use matchrank_engine::files;
use matchrank_engine::json::Json;
use matchrank_engine::rankers::linear::train_linear;
use matchrank_engine::rankers::{Lessons, RankerRecipe};

/// The folds of a set in `MATCHRANK_DATA`, else in `../shared/data` beside the repository.
fn folds(name: &str) -> Option<Vec<FeatureLists>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("MATCHRANK_DATA").map_or(beside, PathBuf::from).join(name);
    if !folder.is_dir() {
        eprintln!("skipped: {} is not a folder; set MATCHRANK_DATA", folder.display());
        return None;
    }
    let read = |k: u32| {
        let path = folder.join(format!("Fold{k}/test.txt.gz"));
        letor::parse(&files::name_of(&path), &files::read_all(&path).unwrap(), &Silent).unwrap()
    };
    Some((1..=5).map(read).collect())
}

fn ndcg() -> Measure {
    "ndcg@10".parse().unwrap()
}

/// Mean NDCG@10 over the folds, epochs, lambdas and (of several) scalings chosen on the validation fold of each.
fn mean(kind: &str, settings: &[(String, Json)], scalings: &[ScalingKind], folds: &[FeatureLists]) -> f64 {
    let recipe = RankerRecipe::new(kind, settings, scalings).unwrap();
    let figure = |test: usize| {
        let chosen_on = (test + folds.len() - 1) % folds.len();
        let others = folds.iter().enumerate().filter(|(i, _)| *i != test && *i != chosen_on);
        let train = FeatureLists::concatenate(&others.map(|(_, fold)| fold).collect::<Vec<_>>());
        let mut lessons = Lessons::new(train);
        lessons.validation = Some((folds[chosen_on].clone(), ndcg()));
        lessons.seed = 1;
        let model = recipe.train(lessons, &Silent).unwrap();
        evaluate_ranker(&*model, &folds[test], &[ndcg()]).unwrap().mean(0)
    };
    (0..folds.len()).map(figure).sum::<f64>() / folds.len() as f64
}

/// With the default scaling, and with the one that validation chooses.
#[track_caller]
fn reaches(folds: &[FeatureLists], kind: &str, least: f64) {
    use ScalingKind::{MinMax, None, QueryMinMax, QueryZScore, ZScore};
    assert_eq!(ScalingKind::default(), MinMax);
    for scalings in [&[MinMax][..], &[MinMax, ZScore, None, QueryMinMax, QueryZScore]] {
        let figure = mean(kind, &[], scalings, folds);
        eprintln!("{kind} {scalings:?}: {figure:.4}");
        assert!(figure >= least, "{kind} {scalings:?}: NDCG@10 {figure:.4} is below {least}");
    }
}

fn by_hinge(folds: &[FeatureLists]) -> f64 {
    mean("ranksvm", &[("loss".to_owned(), "hinge".into())], &[ScalingKind::MinMax], folds)
}

#[test]
fn mq2008() {
    let Some(folds) = folds("letor_mq2008") else { return };
    reaches(&folds, "perceptron", 0.662);
    reaches(&folds, "ranksvm", 0.686);
    let by_hinge = by_hinge(&folds);
    assert!(by_hinge >= 0.686, "RankSVM with the hinge: NDCG@10 {by_hinge:.4}");
    reaches(&folds, "listnet", 0.690);
    reaches(&folds, "slam", 0.680);
    collapses(&folds);
}

#[test]
fn ohsumed() {
    let Some(folds) = folds("letor_ohsumed") else { return };
    reaches(&folds, "perceptron", 0.395);
    reaches(&folds, "ranksvm", 0.435);
    let by_hinge = by_hinge(&folds);
    assert!(by_hinge >= 0.435, "RankSVM with the hinge: NDCG@10 {by_hinge:.4}");
    reaches(&folds, "listnet", 0.446);
    reaches(&folds, "slam", 0.390);
    collapses(&folds);
}

/// w = 0 minimises the batch objective, which is proved for the smallest lambda and so for all.
#[track_caller]
fn collapses(folds: &[FeatureLists]) {
    let train = FeatureLists::concatenate(&[&folds[0], &folds[1], &folds[2]]);
    let params = SlamParams { solver: SlamSolver::Bundle, ..Default::default() };
    let mut lessons = Lessons::new(train);
    lessons.seed = 1;
    let model = train_linear(&params, &[ScalingKind::MinMax], lessons, &Silent).unwrap();
    let report = &model.report;
    assert!(report.collapsed && report.lambda <= 1e-5, "{report:?}");
    assert!(report.lower_bound.unwrap() >= 0.999 * report.objective_at_zero, "{report:?}");
    assert!(model.ranker.weights.iter().all(|weight| *weight == 0.0));
}

/// OHSUMED lists relevant documents first: whoever keeps the order of the file in ties looks good by saying nothing.
#[test]
fn a_constant_scorer_does_not_look_good_on_ohsumed() {
    let Some(folds) = folds("letor_ohsumed") else { return };
    let lists = FeatureLists::concatenate(&folds.iter().collect::<Vec<_>>());
    let scaling = Scaling::fit(ScalingKind::None, &lists);
    let constant = LinearRanker { weights: vec![0.0; lists.n_features()], scaling };
    let ours = evaluate_ranker(&constant, &lists, &[ndcg()]).unwrap().mean(0);
    let mut file_order = Conventions::of(Dialect::Matchrank);
    file_order.ties = Ties::File;
    let run: Vec<(&str, Vec<(&str, f32)>)> = lists
        .iter()
        .map(|list| (list.query(), list.rows().map(|row| (lists.document(row), 0.0)).collect()))
        .collect();
    let qrels = Qrels::of_lists(&lists).unwrap();
    let leaked = evaluate(&qrels, &run[..], &[ndcg()], &file_order).unwrap().mean(0);
    // What a random order is worth: the mean over all orders of the ties.
    let mut averaged = Conventions::of(Dialect::Matchrank);
    averaged.ties = Ties::Averaged;
    let random = evaluate(&qrels, &run[..], &[ndcg()], &averaged).unwrap().mean(0);
    assert!((ours - random).abs() < 0.04, "a constant is worth {ours:.4}, a random order {random:.4}");
    assert!(leaked > ours + 0.05, "the order of the file is worth {leaked:.4}, a constant {ours:.4}");
}
