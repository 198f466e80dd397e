//! The native module of the Python package: a thin layer over the engine.
//!
//! Everything that users see is written in Python, in `matchrank/`. This module takes plain values (text, numbers, NumPy
//! arrays, Arrow streams, settings as JSON) and returns such values. Long work runs on a pool of threads without the lock
//! of the interpreter (`running.rs`).

mod datasets;
mod errors;
mod evaluation;
mod experiments;
mod exporting;
mod kinds;
mod lists;
mod models;
mod rankers;
mod rows;
mod running;
mod simulation;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The native module of matchrank.
#[pymodule]
mod _matchrank {
    #[pymodule_export]
    use super::datasets::{NativeDataset, append, ingest, open_dataset};
    #[pymodule_export]
    use super::evaluation::{
        NativeEvaluation, NativeJudgments, NativeRun, compare_evaluations, evaluate, judgments_of_dict,
        judgments_of_file, judgments_of_table, run_of_file, run_of_table,
    };
    #[pymodule_export]
    use super::experiments::{compare, features, open_comparison, report, tune, tune_ranker};
    #[pymodule_export]
    use super::exporting::{elasticsearch, synonyms};
    #[pymodule_export]
    use super::kinds::{kinds, ranker_params, recipe_params, version};
    #[pymodule_export]
    use super::lists::{NativeLists, dense_lists, letor_lists, sparse_lists};
    #[pymodule_export]
    use super::models::{NativeBound, NativeModel, combine, from_bytes, open_model, stack, train};
    #[pymodule_export]
    use super::rankers::{NativeRanker, train_ranker};
    #[pymodule_export]
    use super::rows::{Rows, rows_of, text_columns, text_rows};
    #[pymodule_export]
    use super::running::{set_threads, threads};
    #[pymodule_export]
    use super::simulation::{simulate_clicks, simulate_shop};
}
