//! The heavy parts of matchrank, one deep module each.
//!
//! | module | what it holds |
//! |---|---|
//! | [`comparison`] | models trained, tuned and measured side by side; the folder `compare` writes |
//! | [`description`] | models in words and numbers, written by the models themselves |
//! | [`dataset`] | the dataset folder: what `ingest` writes and everything else reads |
//! | [`doctor`] | what is wrong or suspicious with a file, with line numbers and a fix |
//! | [`features`] | queries and documents as sparse vectors of words and clicks |
//! | [`files`] | reading plain, gzip and zstd files; writing through a temporary name; locks |
//! | [`ingest`] | from logs, documents and judgments to a dataset folder, in bounded memory |
//! | [`description`] | models in words and numbers |
//! | [`models`] | matching models over text, one folder each, and their table |
//! | [`preferences`] | preferences between documents, from responses or lines of text |
//! | [`memory`] | how much memory the process has held |
//! | [`model_file`] | models in safetensors files, checked and versioned |
//! | [`outputs`] | checks of output paths before any work |
//! | [`prose`] | numbers as people read them |
//! | [`rankers`] | rankers over feature lists: training, folds, online learning, export |
//! | [`ranking`] | rankings of a whole collection, or of given candidates |
//! | [`report`] | a comparison as one self-contained HTML page |
//! | [`reproduce`] | reproduction of the papers' tables and figures |
//! | [`retrieval`] | the best documents of a whole collection for a query |
//! | [`text`] | text into tokens, tokens into sparse vectors; the same code in training and serving |
//! | [`scoring`] | scores of queries against documents, and the best documents by them |
//! | [`serving`] | documents and models that answer single queries |
//! | [`settings`] | parameters by name |
//! | [`tuning`] | the parameters that are best on the validation judgments, within a budget |
//! | [`validation`] | how good a model is on the validation judgments |

pub mod by_name;
pub mod comparison;
pub mod container;
pub mod dataset;
pub mod description;
pub mod doctor;
pub mod evidence;
pub mod features;
pub mod files;
pub mod ingest;
pub mod json;
mod lines;
pub mod memory;
pub mod model_file;
pub mod models;
pub mod outputs;
mod parquet_file;
pub mod preferences;
pub mod prose;
pub mod rankers;
pub mod ranking;
pub mod refresh;
pub mod report;
pub mod reproduce;
pub mod retrieval;
pub mod scoring;
pub mod serving;
pub mod settings;
mod tally;
pub mod text;
pub mod tuning;
mod unwind;
pub mod validation;

pub use matchrank_core::{Error, Result};
