//! PLS, partial least squares: the directions in which queries and the documents that answer them vary
//! together.
//!
//! **Objective** (section 3 of the papers): max tr(L_x' W L_y) subject to L_x'L_x = L_y'L_y = I, W the
//! centered covariance of x and y' (the footnote on it; `operator` has the formula). **Solution**: the d
//! largest singular vectors of W, L_x = U_d, L_y = V_d. The score may weigh the latent columns by powers of
//! the singular values, f(x, y) = x' U diag((s / s_1)^a) V' y; a = 0 is the papers', and 1/2 the
//! default, which does better on unseen queries (NFCorpus, validation).
//!
//! **Cost**: see `solve::svd`. W is not formed. The papers formed it, used the power method one vector after the other,
//! and report 945,382 s for one week of data at d = 1000.
//!
//! ```
//! use matchrank_core::matching::{ClickGraph, Csr, PlsParams, pls};
//! use matchrank_core::progress::Silent;
//!
//! // Queries 0 and 1 click document 0, queries 2 and 3 document 1; a feature for each.
//! let identity = |n: u32| Csr::from_triples(n as usize, n as usize, (0..n).map(|i| (i, i, 1.0)));
//! let clicks = Csr::from_triples(4, 2, [(0, 0, 1.0), (1, 0, 1.0), (2, 1, 1.0), (3, 1, 1.0)])?;
//! let graph = ClickGraph::new(identity(4)?, identity(2)?, clicks)?;
//! let fitted = pls::fit(&PlsParams { d: 1, weight_power: 0.0, ..Default::default() }, &graph, 1, &Silent)?;
//! let score = |i, j| fitted.model.score(graph.x().row(i), graph.y().row(j));
//! assert!(score(0, 0) > 0.35 && score(0, 1) < -0.35);
//! assert!((fitted.singular_values[0] - 0.353553).abs() < 1e-6);
//! # Ok::<(), matchrank_core::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::matching::operator::{Factored, Operator, Side};
use crate::matching::{Bilinear, ClickGraph, Factor, Rows};
use crate::progress::Progress;
use crate::solve::svd::{Svd, SvdParams, svd};
use crate::{Error, Result};

/// Parameters of PLS.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlsParams {
    /// Latent dimension.
    pub d: usize,
    /// Centers W if true.
    pub center: bool,
    /// a in (s / s_1)^a, the weights of the latent columns.
    pub weight_power: f64,
    /// Residual, relative to the largest singular value, at which to stop.
    pub tolerance: f64,
    /// Maximum number of products with W'W, whatever the residual.
    pub max_steps: usize,
}

impl Default for PlsParams {
    fn default() -> Self {
        Self { d: 300, center: true, weight_power: 0.5, tolerance: 1e-3, max_steps: 300 }
    }
}

impl PlsParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        check(self.d, self.tolerance, self.max_steps)?;
        if !(self.weight_power >= 0.0 && self.weight_power.is_finite()) {
            return Err(Error::Params(format!("weight_power must be at least 0, not {}", self.weight_power)));
        }
        Ok(())
    }
}

/// Checks the parameters that all models of singular vectors share.
pub(super) fn check(d: usize, tolerance: f64, max_steps: usize) -> Result<()> {
    if d == 0 || d > 1 << 16 {
        return Err(Error::Params(format!("d must be from 1 to 65536, not {d}")));
    }
    if !(tolerance > 0.0 && tolerance < 1.0) {
        return Err(Error::Params(format!("tolerance must be above 0 and below 1, not {tolerance}")));
    }
    if max_steps == 0 {
        return Err(Error::Params("max_steps must be at least 1".into()));
    }
    Ok(())
}

/// A trained model and the accuracy of its singular vectors.
#[derive(Debug, Clone)]
pub struct PlsFit {
    /// The model.
    pub model: Bilinear,
    /// Singular values of W, descending. There are fewer than d, here and in the model, if the rank of W is below d.
    pub singular_values: Vec<f64>,
    /// max_i max(|W'u_i - s_i v_i|, |W v_i - s_i u_i|) / s_1.
    pub residual: f64,
    /// Number of products of a block with W'W.
    pub steps: usize,
}

/// Learns L_x and L_y from a click graph.
pub fn fit(params: &PlsParams, graph: &ClickGraph, seed: u64, progress: &dyn Progress) -> Result<PlsFit> {
    params.validate()?;
    let operator = Factored::new(graph, params.center)?;
    let wanted = SvdParams { d: params.d, tolerance: params.tolerance, max_steps: params.max_steps };
    let Svd { u, s, v, residual, steps } = svd(&operator, &wanted, seed, progress)?;
    let lx = factor(&operator, Side::X, s.len(), u)?;
    let ly = factor(&operator, Side::Y, s.len(), v)?;
    let weights = (params.weight_power > 0.0).then(|| {
        s.iter().map(|value| (value / s[0].max(f64::MIN_POSITIVE)).powf(params.weight_power) as f32).collect()
    });
    Ok(PlsFit { model: Bilinear::new(lx, ly, weights)?, singular_values: s, residual, steps })
}

/// Builds a factor of all features of a side from its rows.
pub(super) fn factor(operator: &impl Operator, side: Side, d: usize, rows: Vec<f32>) -> Result<Factor> {
    let (features, n_features) = operator.features(side);
    Factor::of_features(d, features, n_features, Rows::Dense(rows))
}

#[cfg(test)]
mod tests;
