//! Query-dependent rankers on OHSUMED and a sample of MSLR-WEB10K, where they are present.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::progress::Silent;
use matchrank_core::ranking::query_dependent::{Neighbourhood, QueryDependentParams};
use matchrank_core::ranking::{LambdaPath, ScalingKind, evaluate_ranker};
use matchrank_engine::files;
use matchrank_engine::rankers::Lessons;
use matchrank_engine::rankers::query_dependent::{QueryColumns, QueryInput, train_query_dependent};

/// Lists of a file in `MATCHRANK_DATA`, else in `../shared/data` beside the repository.
fn lists(name: &str) -> Option<FeatureLists> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("MATCHRANK_DATA").map_or(beside, PathBuf::from).join(name);
    if !path.is_file() {
        eprintln!("skipped: {} is not a file; set MATCHRANK_DATA", path.display());
        return None;
    }
    Some(letor::parse(&files::name_of(&path), &files::read_all(&path).unwrap(), &Silent).unwrap())
}

#[test]
fn query_features_are_found_and_novel_queries_ranked() {
    let Some(train) = lists("letor_ohsumed/Fold1/test.txt.gz") else { return };
    let test = lists("letor_ohsumed/Fold2/test.txt.gz").unwrap();
    let mut columns = QueryColumns::Automatic.find(&train).unwrap();
    columns.retain(|column| [4, 5, 6, 19, 20, 21, 34, 35, 36].contains(column));
    assert_eq!(columns, [4, 5, 6, 19, 20, 21, 34, 35, 36]);
    let params = QueryDependentParams { lambda: LambdaPath::One(1e-3), ..Default::default() };
    let columns = QueryColumns::Named(columns);
    let input = QueryInput::Columns(&columns);
    let mut lessons = Lessons::new(train);
    lessons.query = input;
    let model = train_query_dependent(&params, ScalingKind::MinMax, lessons, &Silent).unwrap();
    let figures = evaluate_ranker(&model, &test, &["ndcg@10".parse().unwrap()]).unwrap();
    // All documents level are worth 0.18.
    assert!(figures.mean(0) > 0.3, "{}", figures.mean(0));
    let served = model.served(&test.list(0)).unwrap();
    assert!(matches!(&served.near, Neighbourhood::Near(near) if near.len() == 15), "{:?}", served.near);
    let gap = served.function.objective - served.function.lower_bound.unwrap();
    assert!(gap <= 1e-3 * served.function.objective);
}

#[test]
fn mslr_has_five_query_features() {
    let Some(train) = lists("mslr_5k/msn1.fold1.train.5k.txt.gz") else { return };
    let columns = QueryColumns::Automatic.find(&train).unwrap();
    assert!([15, 16, 17, 18, 19].iter().all(|column| columns.contains(column)), "{columns:?}");
}
