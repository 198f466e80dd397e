//! Training data of matching models: queries, documents, and the responses between them.

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
    /// Builds a graph after checking that its parts fit together. Returns an error for negative responses.
    pub fn new(x: Csr, y: Csr, r: Csr) -> Result<Self> {
        if (r.n_rows(), r.n_columns()) != (x.n_rows(), y.n_rows()) {
            return Err(Error::Shape(format!(
                "there are responses of {} queries to {} documents, but features of {} queries and {} documents",
                r.n_rows(),
                r.n_columns(),
                x.n_rows(),
                y.n_rows()
            )));
        }
        if let Some(negative) = r.values().iter().find(|&&value| value < 0.0) {
            return Err(Error::Params(format!("a response is {negative}; responses must be at least 0")));
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

    /// n: number of queries with a response above 0.
    pub fn n_answered(&self) -> usize {
        self.r.rows().filter(|row| row.values().iter().any(|&value| value > 0.0)).count()
    }
}
