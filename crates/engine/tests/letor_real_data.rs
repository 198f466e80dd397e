//! Real LETOR files, if they are present: their known counts, and a round trip of everything we keep.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::progress::Silent;
use matchrank_engine::files;

/// Returns the folder of real data: `MATCHRANK_DATA`, else `../shared/data` next to the repository.
fn data_folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("MATCHRANK_DATA").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        eprintln!("skipped: {} is not a folder; set MATCHRANK_DATA", folder.display());
        return None;
    }
    Some(folder)
}

fn read(path: PathBuf) -> FeatureLists {
    let bytes = files::read_all(&path).unwrap();
    letor::parse(&files::name_of(&path), &bytes, &Silent).unwrap()
}

fn folds(folder: &Path) -> Vec<FeatureLists> {
    (1..=5).map(|k| read(folder.join(format!("Fold{k}/test.txt.gz")))).collect()
}

fn counts(folds: &[FeatureLists]) -> (usize, usize, [usize; 3]) {
    let grade = |g: f32| folds.iter().flat_map(|f| f.labels()).filter(|label| **label == g).count();
    let (queries, rows) = (folds.iter().map(|f| f.n_queries()).sum(), folds.iter().map(|f| f.n_rows()).sum());
    (queries, rows, [grade(0.0), grade(1.0), grade(2.0)])
}

fn assert_round_trip(lists: &FeatureLists) {
    let mut bytes = Vec::new();
    letor::write("again.txt", lists, &mut bytes).unwrap();
    assert!(letor::parse("again.txt", &bytes, &Silent).unwrap() == *lists);
}

#[test]
fn mq2008() {
    let Some(data) = data_folder() else { return };
    let folds = folds(&data.join("letor_mq2008"));
    assert_eq!(counts(&folds), (784, 15_211, [12_279, 2_001, 931]));
    assert!(folds.iter().all(|f| f.n_features() == 46 && f.features().dense_rows(0..1).is_some()));
    let first = folds[0].list(0);
    assert_eq!((first.query(), first.document(0)), ("18219", "GX004-93-7097963"));
    assert_eq!(first.row(0).get(0), 0.052893);
    folds.iter().for_each(assert_round_trip);
}

#[test]
fn ohsumed() {
    let Some(data) = data_folder() else { return };
    let folds = folds(&data.join("letor_ohsumed"));
    assert_eq!(counts(&folds), (106, 16_140, [11_303, 2_585, 2_252]));
    assert!(folds.iter().all(|f| f.n_features() == 45));
    assert_eq!(folds[0].document(0), "57950");
    folds.iter().for_each(assert_round_trip);
}

#[test]
fn mslr() {
    let Some(data) = data_folder() else { return };
    for part in ["train", "test"] {
        let lists = read(data.join(format!("mslr_5k/msn1.fold1.{part}.5k.txt.gz")));
        assert_eq!((lists.n_queries(), lists.n_rows(), lists.n_features()), (43, 5_000, 136));
        assert_eq!(lists.document(4_999), "5000");
        assert_round_trip(&lists);
    }
}
