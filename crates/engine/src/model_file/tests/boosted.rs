//! Boosted trees.

use matchrank_core::ranking::trees::Trees;

use super::*;
use crate::rankers::boosted::{BoostedModel, BoostedParams, BoostedReport, Objective};

/// A tree that splits feature 2 of so many, and a single leaf.
pub(super) fn trees(n_features: usize) -> BoostedModel {
    let text = format!(
        "tree\nnum_tree_per_iteration=1\nmax_feature_idx={}\n\nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=1\n\
         split_gain=2.5\nthreshold=0.125\ndecision_type=10\nleft_child=-1\nright_child=-2\nleaf_value=-0.5 0.75\n\n\
         Tree=1\nnum_leaves=1\nnum_cat=0\nleaf_value=0.25\n\nend of trees\n",
        n_features - 1
    );
    BoostedModel {
        objective: Objective::LambdaMart,
        params: BoostedParams { leaves: 2, ..Default::default() },
        trees: Trees::parse_lightgbm("here", &text).unwrap(),
        report: BoostedReport { validation: vec![0.25, 0.5] },
    }
}

fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/model_files/lambdamart_v1.safetensors")
}

fn loaded(path: &Path) -> BoostedModel {
    let (model, _) = open_ranking(path).unwrap();
    (&*model as &dyn std::any::Any).downcast_ref::<BoostedModel>().unwrap().clone()
}

fn bytes_of(model: &BoostedModel) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    save(&path, ModelRef::Ranking(model), &small().1).unwrap();
    std::fs::read(&path).unwrap()
}

#[test]
#[ignore = "writes the fixture; only for a new version of the format, under a new name"]
fn write_fixture() {
    std::fs::write(fixture(), bytes_of(&trees(3))).unwrap();
}

#[test]
fn the_bytes_are_those_of_the_fixture_before_and_after_loading() {
    let expected = std::fs::read(fixture()).unwrap();
    assert_eq!(bytes_of(&trees(3)), expected);
    let model = loaded(&fixture());
    assert_eq!(model, trees(3));
    assert_eq!(model.trees.value(&[0.0, 0.5, 0.0]), 1.0);
}

/// The header of a file has room for the names of some features, not for those of millions.
#[test]
fn trees_over_ten_million_features_are_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("far.model");
    let far = BoostedModel { trees: trees(2).trees.renumbered(&[7, 9_999_999], 10_000_000), ..trees(2) };
    save(&path, ModelRef::Ranking(&far), &small().1).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 10_000);
    assert_eq!(loaded(&path), far);
}

#[test]
fn parameters_that_are_not_the_defaults_are_kept() {
    let mut model = trees(3);
    model.params = BoostedParams { feature_fraction: 0.5, lambda_l2: 10.0, max_depth: 3, ..model.params };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    save(&path, ModelRef::Ranking(&model), &small().1).unwrap();
    assert_eq!(loaded(&path), model);
}

#[test]
fn other_models_say_what_takes_them() {
    let of_trees = load(&fixture()).unwrap_err().to_string();
    assert!(of_trees.contains("holds a lambdamart model, which ranks feature lists"), "{of_trees}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bm25.model");
    let (model, provenance) = small();
    save(&path, &*model, &provenance).unwrap();
    let not_trees = open_ranking(&path).unwrap_err().to_string();
    assert!(not_trees.contains("holds a bm25 model; rankers of feature lists are"), "{not_trees}");
}
