//! Query-dependent rankers: core's functions with what is known of queries, learned when they are first asked for.
//!
//! | question | where |
//! |---|---|
//! | query features among the columns of the lists | [`QueryColumns`] |
//! | query features in a file of their own | [`QueryTable`] |
//! | how lambda is chosen | [`train_query_dependent`] |
//! | which training queries a query borrows from, and what it is served | [`QueryDependentModel`], [`ServedFunction`] |
//!
//! A model keeps its training lists. The function of a query is learned from the lists of its neighbours on first use,
//! which takes milliseconds, and kept. Query features are divided by their standard deviation over the training queries.

mod codec;
mod columns;
mod description;
mod model;
mod table;
#[cfg(test)]
mod tests;
mod training;

use std::sync::Arc;

use matchrank_core::progress::Progress;
use matchrank_core::ranking::ScalingKind;
use matchrank_core::ranking::query_dependent::QueryDependentParams;
use matchrank_core::{Error, Result};
use serde_json::Value;

pub use columns::{QueryColumns, standardised};
pub use model::{LambdaTrial, Parts, QueryDependentModel, QuerySource, ServedFunction};
pub use table::QueryTable;
pub use training::{QueryInput, train_query_dependent};

use super::kind::{LAMBDA, SCALINGS, Scalings, Takes, Variants};
use super::recipe::{Lessons, RankerParams};
use super::{RankerKind, RankingModel};
use crate::settings::{Parameter, params_from};

/// Query-dependent ranking.
pub static KIND: RankerKind = RankerKind {
    class: "QueryDependent",
    name: "query-dependent",
    summary: "Query-dependent ranking: a function for each query, learned from the training queries near to it",
    help: "Queries are compared by query features: features of the lists that never differ within a query, or a file of \
           their own, such as latent vectors of a matching model. The model keeps its training lists; the function of a \
           query is learned when it is first ranked, in milliseconds. A query that is far from all others gets one function \
           learned from all of them, and rank and explain say so. Validation queries that are among the training are \
           observed, the others novel.",
    parameters: &[
        Parameter::new("neighbours", "15", "training queries that count, for a query that is one of them"),
        Parameter::new("novel_neighbours", "15", "the same for a query that is new"),
        Parameter::new("bandwidth", "null", "h of the weights; null for the median distance to the query"),
        Parameter::new(
            "reach",
            "3",
            "a query is far if its nearest is farther than this many times the largest distance from a training query to \
             its nearest",
        ),
        Parameter::new(
            "rankings",
            "kendall",
            "how query features that are rankings are compared: kendall, mallows",
        ),
        Parameter::new(
            "kernel",
            "linear",
            "how documents are compared: linear, gaussian (up to 5,000 documents)",
        ),
        Parameter::new(
            "width",
            "null",
            "sigma^2 of the Gaussian kernel; null for the median distance between documents",
        ),
        Parameter::new(
            "form",
            "scoring",
            "what is learned: scoring (a score for each document), ranking (a preference for each pair)",
        ),
        Parameter::new("loss", "hinge", "what a pair costs: hinge, logistic, psi"),
        Parameter::new(
            "lambda",
            "[10,...,1e-6]",
            "weight of ||f||^2 / 2, or several, as in [1,0.1], of which validation chooses; 0.01 without validation lists",
        ),
        Parameter::new(
            "solver",
            "auto",
            "for the hinge: coordinate_descent, admm, inexact_admm (the paper's), newton (without pairs), or auto, which \
             chooses",
        ),
        Parameter::new("tolerance", "0.001", "duality gap, relative, at which to stop"),
        Parameter::new("max_iterations", "1000", "rounds for each lambda, at most"),
    ],
    examples: &[
        "--letor train.txt --validation vali.txt --out q.model",
        "--letor train.txt --validation vali.txt --weights knn --set novel_neighbours=20 --out knn.model",
        "--letor train.txt --query-columns 5-7,20-22,35-37 --set lambda=0.001 --out q.model",
        "--letor train.txt --validation vali.txt --query-features vectors.tsv --out q.model",
    ],
    takes: Takes {
        scalings: Scalings::One,
        missing: false,
        query_weights: false,
        document_weights: false,
        query_features: true,
    },
    variants: Some(&Variants {
        param: "weights",
        help: "How training queries are weighed for a query",
        values: &[
            ("gaussian", "By the normal density of their distance (q-SVM)"),
            ("knn", "The nearest all the same (kNN-SVM)"),
            ("epanechnikov", "By a parabola of their distance"),
            ("tricube", "By a cube of cubes of their distance"),
            ("uniform", "All the same: one function for all queries (RankSVM)"),
            ("individual", "The query alone, if it is one of the training (individual SVM)"),
        ],
    }),
    curve: None,
    is_seeded: false,
    chosen: Some(LAMBDA),
    space: &[
        ("neighbours", "10,15,30,60"),
        ("novel_neighbours", "10,15,30,60"),
        ("loss", "hinge,logistic"),
        SCALINGS,
    ],
    effort: None,
    announce: None,
    parse: |settings| Ok(Arc::new(params_from::<QueryDependentParams>(settings)?)),
    open: |file| Ok(Arc::new(codec::get(file)?)),
};

impl RankerParams for QueryDependentParams {
    fn validate(&self) -> Result<()> {
        self.validate()
    }

    fn json(&self) -> Value {
        serde_json::to_value(self).expect("parameters are plain data")
    }

    fn train(
        &self,
        scalings: &[ScalingKind],
        lessons: Lessons<'_>,
        progress: &dyn Progress,
    ) -> Result<Arc<dyn RankingModel>> {
        let &[scaling] = scalings else {
            return Err(Error::Params(
                "a query-dependent ranker does not choose among scalings; name one".into(),
            ));
        };
        Ok(Arc::new(train_query_dependent(self, scaling, lessons, progress)?))
    }
}
