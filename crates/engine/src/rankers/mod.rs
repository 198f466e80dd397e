//! Rankers over feature lists: from the features of a query's documents to their order.
//!
//! One folder per ranker holds its parameters, training, file codec, search space and description:
//!
//! | folder | ranker |
//! |---|---|
//! | [`perceptron`], [`slam`], [`ranksvm`], [`listnet`], [`ridge`] | a weight for every feature |
//! | [`linear`] | code that the linear rankers share |
//! | [`boosted`] | MART and LambdaMART: boosted trees |
//! | [`query_dependent`] | a function for each query |
//!
//! The table in [`registry`] lists all of them. Training, tuning, comparison, model files, the command line and its help
//! find rankers there and name none of them. To add a ranker, write its folder and add a line to the table.
//!
//! | question | where |
//! |---|---|
//! | any ranker by name and settings | [`RankerRecipe`] |
//! | any ranker after training | [`RankingModel`] |
//! | importance of features on lists | [`permutation_importance`] |
//! | go on learning, one list at a time | [`perceptron::online`] |
//! | weights for a search engine's plugin | [`linear::elasticsearch`] |

pub mod boosted;
mod importance;
mod kind;
pub mod linear;
pub mod listnet;
mod model;
pub mod perceptron;
pub mod query_dependent;
pub mod ranksvm;
mod recipe;
pub mod registry;
pub mod ridge;
pub mod slam;
#[cfg(test)]
mod tests;

pub use importance::{FeatureImportance, PermutationImportance, Permutations, permutation_importance};
pub use kind::{Chosen, RankerKind, Scalings, Takes, Variants};
pub use model::{Cell, CourseRow, Importance, RankingModel, TrainingCourse};
pub use recipe::{Lessons, RankerRecipe, RankerTraining};
