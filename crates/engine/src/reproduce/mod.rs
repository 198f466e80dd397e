//! Reproduces the papers' tables and figures from the same data.
//!
//! | module | content |
//! |---|---|
//! | [`errata`] | corrections to the papers, each with a counterexample |
//! | [`labelled`] | rows with a class: folders of classes, idx files, SVMlight files |
//! | [`preference`] | sparse preference learning: Tables II and III and Figure 1 |
//! | [`query_dependent`] | query-dependent ranking: Tables 1 to 6 and Figure 1 |

pub mod errata;
pub mod labelled;
pub mod preference;
pub mod query_dependent;
mod tar;
