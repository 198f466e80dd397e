//! What matching is learned from: queries, documents, and the responses between them.

use crate::matching::Csr;
use crate::{Error, Result};

/// A click graph with features on both sides.
///
/// | symbol | field | shape |
/// |---|---|---|
/// | x_i | row i of `x` | features of query i, d_x of them |
/// | y_j | row j of `y` | features of document j, d_y of them |
/// | r_ij | entry (i, j) of `r` | response: a click count or a grade, at least 0 |
#[derive(Debug, Clone, PartialEq)]
pub struct ClickGraph {
    x: Csr,
    y: Csr,
    r: Csr,
}

impl ClickGraph {
    /// A graph, once its parts have been checked to fit. Negative responses are an error.
    pub fn new(x: Csr, y: Csr, r: Csr) -> Result<Self> {
        if (r.n_rows(), r.n_columns()) != (x.n_rows(), y.n_rows()) {
            return Err(Error::Shape(format!(
                "responses of {} queries to {} documents, but features of {} queries and {} documents",
                r.n_rows(),
                r.n_columns(),
                x.n_rows(),
                y.n_rows()
            )));
        }
        if let Some(negative) = r.values().iter().find(|&&value| value < 0.0) {
            return Err(Error::Params(format!("a response is {negative}; responses are at least 0")));
        }
        Ok(Self { x, y, r })
    }

    /// Features of the queries.
    pub fn x(&self) -> &Csr {
        &self.x
    }

    /// Features of the documents.
    pub fn y(&self) -> &Csr {
        &self.y
    }

    /// Responses, a row for each query.
    pub fn r(&self) -> &Csr {
        &self.r
    }

    /// n: queries that some document answers (has a response above 0 for).
    pub fn n_answered(&self) -> usize {
        self.r.rows().filter(|row| row.values().iter().any(|&value| value > 0.0)).count()
    }
}
