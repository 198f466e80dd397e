//! RMLS, regularized mapping to latent structures: rows of L_x and L_y learned one by one.
//!
//! **Objective** (4): min -tr(L_x' W L_y) + beta sum_u |l_xu|_1 + gamma sum_v |l_yv|_1 subject to
//! |l_xu|_2 <= theta_x, |l_yv|_2 <= theta_y for every row. W is the (centered) covariance of queries and
//! the documents that answer them; see `operator`.
//!
//! **Update** (Algorithm 1): for every row u, o = L_y' w_xu and l_xu = theta_x S(o, t) / |S(o, t)|, S the soft
//! threshold; then every row v of L_y from the new L_x. Rows do not depend on each other. A row whose entries are all
//! below the threshold becomes zero.
//!
//! | symbol | field |
//! |---|---|
//! | d | [`RmlsParams::d`] |
//! | beta, gamma | [`RmlsParams::beta`], [`RmlsParams::gamma`], on the scale of [`Threshold`] |
//! | theta_x, theta_y | [`RmlsParams::theta_x`], [`RmlsParams::theta_y`] |
//!
//! **Cost** of an iteration: 2 d (nnz(X) + nnz(R) + nnz(Y)) multiplications, the memory of the remaining entries of the
//! rows, and intermediate blocks of 32 columns.
//!
//! **Differences from the papers.** W is centered by default: without centering, the rows collapse into one direction
//! ([`Collapse`]). Thresholds are relative to the largest entry of a row by default: o is of the order of r / (n n_i),
//! so an absolute beta does not carry over to other data. Columns are processed in blocks, and W is formed only if
//! [`Route::Formed`] is set.
//!
//! Reference: W. Wu, Z. Lu, H. Li, *Learning Bilinear Model for Matching Queries and Documents*, JMLR 14
//! (2013).

mod candidates;
mod collapse;
mod half;
mod latent;
mod sparse;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use collapse::Collapse;
use half::{Half, Input, Regulariser, half};
use latent::{Latent, Start};

use crate::matching::operator::{Factored, Formed, Operator, Scratch, Side, WIDTH};
use crate::matching::{Bilinear, ClickGraph, Csr, Factor, Mapping, SparseRow};
use crate::progress::Progress;
use crate::{Error, Result};

/// Unit of beta and gamma.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// Shares of the largest absolute entry of a row, from 0 to below 1.
    #[default]
    Relative,
    /// Values that are subtracted from the entries, as in the papers.
    Absolute,
    /// Shares of the entries to keep, above 0. One threshold, relative to the largest entry of a row, is found for all
    /// rows of a side.
    Density,
}

/// Method of multiplying with W.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    /// By its factors X, R and Y.
    #[default]
    Factored,
    /// After forming it once, as the papers do.
    Formed,
}

/// Parameters of RMLS.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RmlsParams {
    /// Latent dimension.
    pub d: usize,
    /// Maximum number of iterations.
    pub iterations: usize,
    /// Threshold of the rows of query features; 0 keeps rows dense.
    pub beta: f64,
    /// Threshold of the rows of document features; 0 keeps rows dense.
    pub gamma: f64,
    /// Unit of beta and gamma.
    pub threshold: Threshold,
    /// Length of the rows of query features.
    pub theta_x: f64,
    /// Length of the rows of document features.
    pub theta_y: f64,
    /// Centers W if true.
    pub center: bool,
    /// Method of multiplying with W.
    pub route: Route,
}

impl Default for RmlsParams {
    fn default() -> Self {
        Self {
            d: 1000,
            iterations: 5,
            beta: 0.5,
            gamma: 0.3,
            threshold: Threshold::Relative,
            theta_x: 1.0,
            theta_y: 1.0,
            center: true,
            route: Route::Factored,
        }
    }
}

impl RmlsParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::Params(message));
        if self.d == 0 || self.d > 1 << 16 {
            return wrong(format!("d must be from 1 to 65536, not {}", self.d));
        }
        if self.iterations == 0 {
            return wrong("iterations must be at least 1".into());
        }
        for (name, amount) in [("beta", self.beta), ("gamma", self.gamma)] {
            let (allowed, range) = match self.threshold {
                Threshold::Relative => {
                    ((0.0..1.0).contains(&amount), "from 0 to below 1, a share of a row's largest entry")
                }
                Threshold::Absolute => (amount >= 0.0 && amount.is_finite(), "at least 0"),
                Threshold::Density => {
                    (amount > 0.0 && amount <= 1.0, "above 0 and at most 1, the share of entries to keep")
                }
            };
            if !allowed {
                return wrong(format!("{name} must be {range}, not {amount}"));
            }
        }
        for (name, theta) in [("theta_x", self.theta_x), ("theta_y", self.theta_y)] {
            if !(1e-6..=1e6).contains(&theta) {
                return wrong(format!("{name} must be from 0.000001 to 1000000, not {theta}"));
            }
        }
        Ok(())
    }
}

/// Statistics of one iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IterationReport {
    /// Number of the iteration, counted from 1.
    pub number: usize,
    /// Objective (4), with the threshold of each row as its beta or gamma.
    pub objective: f64,
    /// Share of non-zero entries of L_x.
    pub density_x: f64,
    /// Share of non-zero entries of L_y.
    pub density_y: f64,
    /// Collapse statistics of the rows of L_x.
    pub collapse_x: Collapse,
    /// Collapse statistics of the rows of L_y.
    pub collapse_y: Collapse,
}

/// A finished iteration with its rows.
pub struct Iteration<'a> {
    /// Statistics of the iteration.
    pub report: IterationReport,
    d: usize,
    lx: &'a Latent,
    ly: &'a Latent,
    /// Row of each feature.
    row_of: &'a [Vec<u32>; 2],
}

impl Iteration<'_> {
    /// Returns the current model. Dense rows are copied; sparse rows are shared with the iterations to come.
    pub fn model(&self) -> Result<Bilinear> {
        let factor =
            |row_of: &[u32], latent: &Latent| Factor::new(self.d, row_of.to_vec(), latent.to_rows(self.d));
        Bilinear::new(factor(&self.row_of[0], self.lx)?, factor(&self.row_of[1], self.ly)?, None)
    }

    /// Returns true if [`model`](Self::model) takes hardly any memory of its own.
    pub fn is_shared(&self) -> bool {
        matches!((self.lx, self.ly), (Latent::Sparse(_), Latent::Sparse(_)))
    }
}

impl Mapping for Iteration<'_> {
    fn d(&self) -> usize {
        self.d
    }

    fn map_query_into(&self, x: SparseRow<'_>, image: &mut [f32]) {
        self.lx.map_into(&self.row_of[0], x, image);
    }

    fn map_document_into(&self, y: SparseRow<'_>, image: &mut [f32]) {
        self.ly.map_into(&self.row_of[1], y, image);
    }
}

/// Decision after an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Run another iteration, if any is left.
    Continue,
    /// Stop after this iteration.
    Stop,
}

/// Rows of the last iteration.
#[derive(Debug)]
pub struct Learned {
    d: usize,
    lx: Latent,
    ly: Latent,
    row_of: [Vec<u32>; 2],
}

impl Learned {
    /// Consumes `self` and returns the model.
    pub fn into_model(self) -> Result<Bilinear> {
        // Convert one side after the other: converting both at once would take twice the memory.
        let [row_of_x, row_of_y] = self.row_of;
        let factor = |row_of, latent: Latent| Factor::new(self.d, row_of, latent.to_rows(self.d));
        Bilinear::new(factor(row_of_x, self.lx)?, factor(row_of_y, self.ly)?, None)
    }
}

/// Start, seed and progress of a training.
#[derive(Clone, Copy)]
pub struct RmlsRun<'a> {
    /// Initial rows of L_y; random ones without it.
    pub start: Option<&'a Factor>,
    /// Seed of the random rows.
    pub seed: u64,
    /// Receives the iterations.
    pub progress: &'a dyn Progress,
}

/// Clicks that were aggregated elsewhere.
#[derive(Debug, Clone)]
pub struct ClickSums {
    /// W: a row for every feature of queries, a column for every feature of documents.
    pub w: Csr,
    /// Means of x and y'; needed if [`RmlsParams::center`] is set and ignored otherwise.
    pub means: Option<(Vec<f32>, Vec<f32>)>,
}

/// Learns L_x and L_y from a click graph and returns those of the last iteration. `observe` sees every iteration. It may evaluate the iteration or keep its
/// [model](Iteration::model), and decides whether training continues.
pub fn fit(
    params: &RmlsParams,
    graph: &ClickGraph,
    run: RmlsRun<'_>,
    observe: &mut dyn FnMut(&Iteration<'_>) -> Result<Verdict>,
) -> Result<Learned> {
    params.validate()?;
    match params.route {
        Route::Factored => iterate(params, &Factored::new(graph, params.center)?, run, observe),
        Route::Formed => iterate(params, &Formed::of(graph, params.center)?, run, observe),
    }
}

/// Learns L_x and L_y from a W that was aggregated elsewhere; see `examples/aggregated_clicks.rs`.
pub fn fit_formed(
    params: &RmlsParams,
    sums: ClickSums,
    run: RmlsRun<'_>,
    observe: &mut dyn FnMut(&Iteration<'_>) -> Result<Verdict>,
) -> Result<Learned> {
    params.validate()?;
    if params.center && sums.means.is_none() {
        return Err(Error::Params(
            "centering needs the means of x and of y'; provide them, or set center to false, although the model then \
             collapses on most data"
                .into(),
        ));
    }
    let means = sums.means.filter(|_| params.center);
    iterate(params, &Formed::new(sums.w, means)?, run, observe)
}

fn iterate(
    params: &RmlsParams,
    operator: &impl Operator,
    run: RmlsRun<'_>,
    observe: &mut dyn FnMut(&Iteration<'_>) -> Result<Verdict>,
) -> Result<Learned> {
    let (d, RmlsRun { start, seed, progress }) = (params.d, run);
    if let Some(start) = start
        && (start.d(), start.n_features()) != (d, operator.features(Side::Y).1)
    {
        return Err(Error::Shape(format!(
            "the start has {} features of {} dimensions, but there are {} features and d is {d}",
            start.n_features(),
            start.d(),
            operator.features(Side::Y).1
        )));
    }
    let start = start.map_or(Start::Random { seed }, |factor| Start::Given { factor, seed });
    let threshold = params.threshold;
    let rule_x = Regulariser { threshold, amount: params.beta as f32, theta: params.theta_x as f32 };
    let rule_y = Regulariser { threshold, amount: params.gamma as f32, theta: params.theta_y as f32 };
    let entries = |side| (operator.n_rows(side) * d).max(1) as f64;
    let mut scratch = Scratch::default();
    let row_of = [Side::X, Side::Y].map(|side| {
        let (features, n) = operator.features(side);
        Factor::rows_of(features, n)
    });
    let (mut lx, mut ly) = (None, None);
    for number in 1..=params.iterations {
        let n_blocks = d.div_ceil(WIDTH) as u64;
        progress.begin(
            &format!("RMLS iteration {number} of {}", params.iterations),
            Some(2 * n_blocks),
            "blocks",
        );
        let advance = |n| progress.advance(n);
        let input = ly.as_ref().map_or(Input::Start(&start), Input::Latent);
        let (x, half_x) = half(operator, Side::X, d, &input, &rule_x, &mut scratch, lx.take(), &advance);
        let (y, half_y) =
            half(operator, Side::Y, d, &Input::Latent(&x), &rule_y, &mut scratch, ly.take(), &advance);
        let objective = half_x.penalty + half_y.penalty - half_y.trace;
        if !objective.is_finite() {
            return Err(Error::Diverged(format!(
                "iteration {number}: the objective is {objective}, not a finite number"
            )));
        }
        let density = |half: &Half, side| half.nnz as f64 / entries(side);
        let report = IterationReport {
            number,
            objective,
            density_x: density(&half_x, Side::X),
            density_y: density(&half_y, Side::Y),
            collapse_x: Collapse::of_sample(operator.n_rows(Side::X), |row| x.row(row, d)),
            collapse_y: Collapse::of_sample(operator.n_rows(Side::Y), |row| y.row(row, d)),
        };
        let verdict = observe(&Iteration { report, d, lx: &x, ly: &y, row_of: &row_of })?;
        (lx, ly) = (Some(x), Some(y));
        if verdict == Verdict::Stop {
            break;
        }
    }
    let (lx, ly) = lx.zip(ly).expect("there is at least one iteration");
    Ok(Learned { d, lx, ly, row_of })
}
