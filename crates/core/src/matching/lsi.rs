//! LSI, latent semantic indexing: the singular vectors of a matrix of counts.
//!
//! | model | matrix | score |
//! |---|---|---|
//! | LSI_dt | D, documents x words, tf-idf | q' V_d V_d' y: both projected onto the latent directions of words |
//! | LSI_qd | R, queries x documents, clicks | (U_d S_d V_d')_ij: the rank-d approximation of the click matrix |
//!
//! LSI_dt may score by the cosine of the two projections in place of their dot product
//! ([`Bilinear::with_cosine`]), as Deerwester et al. do: a long document then has no advantage.
//!
//! LSI_dt uses no clicks and LSI_qd no words: a query without clicks gets no score from LSI_qd. Both are bilinear
//! models; the features of LSI_qd are the query and document numbers.
//!
//! Reference: S. Deerwester et al., *Indexing by latent semantic analysis* (1990).

use serde::{Deserialize, Serialize};

use super::pls::{check, factor};
use crate::Result;
use crate::matching::operator::{Formed, Side};
use crate::matching::{Bilinear, Csr, Factor};
use crate::progress::Progress;
use crate::solve::svd::{SvdParams, svd};

/// Parameters of LSI.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LsiParams {
    /// Latent dimension.
    pub d: usize,
    /// Residual, relative to the largest singular value, at which to stop.
    pub tolerance: f64,
    /// Maximum number of products with the matrix and its transpose, whatever the residual.
    pub max_steps: usize,
}

impl Default for LsiParams {
    fn default() -> Self {
        Self { d: 100, tolerance: 1e-3, max_steps: 300 }
    }
}

impl LsiParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        check(self.d, self.tolerance, self.max_steps)
    }
}

/// The d largest singular vectors of a matrix, and their accuracy.
#[derive(Debug, Clone)]
pub struct LsiFit {
    /// A row for every row of the matrix.
    pub u: Factor,
    /// A row for every column of the matrix.
    pub v: Factor,
    /// Singular values, descending. There are fewer than d, here and in the factors, if the rank of the matrix is below
    /// d.
    pub singular_values: Vec<f64>,
    /// max_i max(|M'u_i - s_i v_i|, |M v_i - s_i u_i|) / s_1.
    pub residual: f64,
    /// Number of products of a block with M'M.
    pub steps: usize,
}

/// Decomposes a matrix.
pub fn fit(params: &LsiParams, matrix: &Csr, seed: u64, progress: &dyn Progress) -> Result<LsiFit> {
    params.validate()?;
    let operator = Formed::new(matrix.clone(), None)?;
    let wanted = SvdParams { d: params.d, tolerance: params.tolerance, max_steps: params.max_steps };
    let found = svd(&operator, &wanted, seed, progress)?;
    let mut has_entry = vec![false; matrix.n_columns()];
    matrix.indices().iter().for_each(|&column| has_entry[column as usize] = true);
    let rows = matrix.rows().map(|row| !row.indices().is_empty());
    Ok(LsiFit {
        u: known(factor(&operator, Side::X, found.s.len(), found.u)?, rows)?,
        v: known(factor(&operator, Side::Y, found.s.len(), found.v)?, has_entry)?,
        singular_values: found.s,
        residual: found.residual,
        steps: found.steps,
    })
}

/// Removes the rows of features that have no entry in the matrix: such rows hold only rounding errors.
fn known(factor: Factor, has_entry: impl IntoIterator<Item = bool>) -> Result<Factor> {
    let entries = factor.row_of().iter().zip(has_entry);
    let row_of = entries.map(|(&row, has_entry)| if has_entry { row } else { Factor::NONE }).collect();
    Factor::new(factor.d(), row_of, factor.into_rows())
}

impl LsiFit {
    /// Converts the decomposition of a document-word matrix to LSI_dt; features of both sides are words.
    pub fn words(self) -> Result<Bilinear> {
        Bilinear::new(self.v.clone(), self.v, None)
    }

    /// Converts the decomposition of a click matrix to LSI_qd; features are the numbers of queries and documents.
    pub fn clicks(self) -> Result<Bilinear> {
        let weights = self.singular_values.iter().map(|&s| s as f32).collect();
        Bilinear::new(self.u, self.v, Some(weights))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::matching::SparseRow;
    use crate::matching::golden::{self, agree, entries, sparse};
    use crate::progress::Silent;

    #[derive(Deserialize)]
    #[allow(non_snake_case)]
    struct Golden {
        lsi_dt: Words,
        lsi_qd: Clicks,
    }

    #[derive(Deserialize)]
    #[allow(non_snake_case)]
    struct Words {
        D: Vec<Vec<f32>>,
        q: Vec<Vec<f32>>,
        d: usize,
        scores: Vec<Vec<f64>>,
        cosines: Vec<Vec<f64>>,
    }

    #[derive(Deserialize)]
    #[allow(non_snake_case)]
    struct Clicks {
        R: Vec<Vec<f32>>,
        d: usize,
        scores: Vec<Vec<f64>>,
    }

    #[test]
    fn words_of_no_document_have_no_row() {
        let triples = (0..1000u32).flat_map(|i| (0..3).map(move |k| (i, (i * 7 + k * k) % 500, 1.0)));
        let documents = Csr::from_triples(1000, 600, triples).unwrap();
        let fitted = fit(&LsiParams { d: 20, ..Default::default() }, &documents, 1, &Silent).unwrap();
        assert!(fitted.v.row_of()[..500].iter().all(|&row| row != Factor::NONE));
        assert!(fitted.v.row_of()[500..].iter().all(|&row| row == Factor::NONE));
    }

    #[test]
    fn golden() {
        let Golden { lsi_dt, lsi_qd } = golden::golden();
        let (documents, queries) = (sparse(&lsi_dt.D), sparse(&lsi_dt.q));
        let params = LsiParams { d: lsi_dt.d, ..Default::default() };
        let model = fit(&params, &documents, 1, &Silent).unwrap().words().unwrap();
        let scores = |model: Bilinear| {
            let of_query = |x| documents.rows().map(|y| model.score(x, y)).collect::<Vec<f32>>();
            queries.rows().flat_map(of_query).collect::<Vec<f32>>().into_iter()
        };
        agree("LSI_dt", scores(model.clone()), entries(&lsi_dt.scores));
        agree("LSI_dt, cosine", scores(model.with_cosine().unwrap()), entries(&lsi_dt.cosines));
        let params = LsiParams { d: lsi_qd.d, ..Default::default() };
        let model = fit(&params, &sparse(&lsi_qd.R), 1, &Silent).unwrap().clicks().unwrap();
        let score = |i: u32, j: u32| {
            let (i, j) = ([i], [j]);
            model.score(SparseRow::new(&i, &[1.0]).unwrap(), SparseRow::new(&j, &[1.0]).unwrap())
        };
        let (n, m) = (lsi_qd.R.len() as u32, lsi_qd.R[0].len() as u32);
        let scores = (0..n).flat_map(|i| (0..m).map(|j| score(i, j)).collect::<Vec<_>>());
        agree("LSI_qd", scores, entries(&lsi_qd.scores));
    }
}
