//! Runs the teaching examples, whose assertions are their tests.
#![allow(clippy::duplicate_mod, reason = "every example declares the shop that it uses")]

#[path = "../examples/index_and_search.rs"]
mod index_and_search;
#[path = "../examples/own_model.rs"]
mod own_model;
#[path = "../examples/train_and_rank.rs"]
mod train_and_rank;

#[test]
fn index_and_search_runs() {
    index_and_search::main().unwrap();
}

#[test]
fn train_and_rank_runs() {
    train_and_rank::main().unwrap();
}

#[test]
fn own_model_runs() {
    own_model::main().unwrap();
}
