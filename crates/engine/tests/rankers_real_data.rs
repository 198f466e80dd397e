//! Rankers on LETOR's MQ2008 and OHSUMED, five folds, where they are present.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};

use matchrank_core::data::qrels::Qrels;
use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::measure::{Conventions, Dialect, Measure, Ties, evaluate};
use matchrank_core::progress::Silent;
use matchrank_core::ranking::{LinearRanker, Scaling, ScalingKind, evaluate_ranker};
use matchrank_engine::files;
use matchrank_engine::rankers::{RankerParams, cross_validate};

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

#[track_caller]
fn reaches(folds: &[FeatureLists], kind: &str, least: f64) {
    let params = RankerParams::of_kind(kind).unwrap();
    let figures =
        cross_validate(&params, ScalingKind::default(), folds, ndcg(), &[ndcg()], 1, &Silent).unwrap();
    let mean = figures.iter().map(|fold| fold.means[0]).sum::<f64>() / folds.len() as f64;
    assert!(mean >= least, "{kind}: NDCG@10 {mean:.4} is below {least}");
}

#[test]
fn mq2008() {
    let Some(folds) = folds("letor_mq2008") else { return };
    reaches(&folds, "perceptron", 0.662);
    reaches(&folds, "ranksvm", 0.686);
    reaches(&folds, "listnet", 0.690);
}

#[test]
fn ohsumed() {
    let Some(folds) = folds("letor_ohsumed") else { return };
    reaches(&folds, "perceptron", 0.395);
    reaches(&folds, "ranksvm", 0.435);
    reaches(&folds, "listnet", 0.446);
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
