//! Statistics of a latent model: sizes, norms, spectrum, collapse, and theoretical bounds.

use matchrank_core::Result;
use matchrank_core::bounds::{Bound, RmlsFamily, SampleSize};
use matchrank_core::matching::rmls::Collapse;
use matchrank_core::matching::{Factor, Rows};
use rayon::prelude::*;
use serde::Serialize;

use super::{Inputs, LatentModel};

/// Figures about one side of a bilinear model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// Number of features.
    pub n_features: usize,
    /// Features whose row is not zero.
    pub n_rows: usize,
    /// Nonzero numbers in these rows.
    pub n_nonzero: usize,
    /// Share of nonzero numbers in these rows.
    pub density: f64,
    /// Lengths of these rows: the smallest, the mean, the largest.
    pub lengths: [f64; 3],
    /// The largest sum of absolute values of a row.
    pub largest_l1: f64,
    /// Collapse of the rows into one.
    pub collapse: Collapse,
}

/// Decay of the singular values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spectrum {
    /// All singular values, descending.
    pub singular_values: Vec<f64>,
    /// Number of singular values that make up half of the sum of squares.
    pub half: usize,
    /// Number of singular values that make up nine tenths of the sum of squares.
    pub nine_tenths: usize,
}

/// Figures about a bilinear model.
#[derive(Debug, Clone, Serialize)]
pub struct Inspection {
    /// Latent dimension.
    pub d: usize,
    /// L_x, the query features.
    pub x: Side,
    /// L_y, the document features.
    pub y: Side,
    /// Singular values, if the model consists of singular vectors.
    pub spectrum: Option<Spectrum>,
    /// Theorem 4 for PLS, Theorem 5 for RMLS, with the model's own constants: the largest difference between its mean
    /// score on training pairs and the expectation.
    pub bound: Option<BoundReport>,
}

/// A bound, and whether it is vacuous.
#[derive(Debug, Clone, Serialize)]
pub struct BoundReport {
    /// Number of the theorem in the papers.
    pub theorem: u8,
    /// The bound.
    #[serde(flatten)]
    pub bound: Bound,
    /// True if the bound is not below the scale of the scores.
    pub vacuous: bool,
}

/// The bound holds with probability 1 - 2 delta.
const DELTA: f64 = 0.05;

/// Computes the statistics of a bilinear model.
pub fn inspect(model: &LatentModel) -> Result<Inspection> {
    let (x, y) = (side(model.model.lx()), side(model.model.ly()));
    let bound = bound(model, &x, &y)?;
    let values = &model.report.singular_values;
    let spectrum = (!values.is_empty()).then(|| {
        let total: f64 = values.iter().map(|s| s * s).sum();
        let needed = |share: f64| {
            let sums = values.iter().scan(0.0, |sum, s| {
                *sum += s * s;
                Some(*sum)
            });
            values.len().min(1 + sums.take_while(|&sum| sum < share * total).count())
        };
        Spectrum { singular_values: values.clone(), half: needed(0.5), nine_tenths: needed(0.9) }
    });
    Ok(Inspection { d: model.model.d(), x, y, spectrum, bound })
}

fn side(factor: &Factor) -> Side {
    let d = factor.d();
    let norms: Vec<(f64, f64, usize)> = (0..factor.n_rows())
        .into_par_iter()
        .map(|row| {
            let values = match factor.rows() {
                Rows::Dense(values) => &values[row * d..][..d],
                Rows::Sparse(rows) => rows.row(row).1,
            };
            let sum = |of: fn(f64) -> f64| values.iter().map(|&value| of(f64::from(value))).sum::<f64>();
            let nonzero = values.iter().filter(|&&value| value != 0.0).count();
            (sum(f64::abs), sum(|value| value * value).sqrt(), nonzero)
        })
        .collect();
    let kept = || norms.iter().filter(|(.., nonzero)| *nonzero > 0);
    let n_rows = kept().count();
    let n_nonzero: usize = kept().map(|(.., nonzero)| nonzero).sum();
    let n = n_rows.max(1) as f64;
    let shortest = kept().map(|(_, length, _)| *length).fold(f64::INFINITY, f64::min);
    // In stored order, which is that of training, so that the figures are those that RMLS reported.
    let mut used: Vec<u32> = factor.row_of().iter().copied().filter(|&row| row != Factor::NONE).collect();
    used.sort_unstable();
    let row = |i: usize| {
        let mut row = vec![0.0; d];
        factor.add_row(used[i] as usize, 1.0, &mut row);
        row
    };
    Side {
        n_features: factor.n_features(),
        n_rows,
        n_nonzero,
        density: n_nonzero as f64 / (n * d as f64),
        lengths: [
            if n_rows == 0 { 0.0 } else { shortest },
            kept().map(|(_, length, _)| length).sum::<f64>() / n,
            kept().map(|(_, length, _)| *length).fold(0.0, f64::max),
        ],
        largest_l1: kept().map(|(sum, ..)| *sum).fold(0.0, f64::max),
        collapse: Collapse::of_sample(used.len(), row),
    }
}

fn bound(model: &LatentModel, x: &Side, y: &Side) -> Result<Option<BoundReport>> {
    let (Some(bound), Some(statistics), Inputs::Features(_)) =
        (model.kind.bound, &model.report.features, &model.inputs)
    else {
        return Ok(None);
    };
    let sample = SampleSize {
        n_x: statistics.n_x as u64,
        n_y: statistics.n_answers,
        r_max: f64::from(statistics.r_max),
        delta: DELTA,
    };
    let family = RmlsFamily {
        d: model.model.d() as u64,
        d_x: statistics.d_x as u64,
        d_y: statistics.d_y as u64,
        m_x: statistics.m_x as u64,
        m_y: statistics.m_y as u64,
        lambda_x: x.largest_l1,
        lambda_y: y.largest_l1,
        theta_x: x.lengths[2],
        theta_y: y.lengths[2],
    };
    let (theorem, bound) = bound(&sample, &family)?;
    Ok(Some(BoundReport { theorem, bound, vacuous: bound.is_vacuous() }))
}
