//! Runs the teaching examples, whose assertions are their tests.

#[path = "../examples/custom_features.rs"]
mod custom_features;
#[path = "../examples/evaluate.rs"]
mod evaluate;
#[path = "../examples/learn_online.rs"]
mod learn_online;

#[test]
fn custom_features_runs() {
    custom_features::main().unwrap();
}

#[test]
fn evaluate_runs() {
    evaluate::main().unwrap();
}

#[test]
fn learn_online_runs() {
    learn_online::main().unwrap();
}
