//! Documents as vectors, by kernel and form.
//!
//! | kernel | form | vectors of the problem |
//! |---|---|---|
//! | linear | scoring, f = s(x) - s(x') | the documents |
//! | linear | ranking, f(x, x') of the joined vector | the documents over sqrt 2: f = u . (x - x'), ||f||^2 = 2 ||u||^2 |
//! | Gaussian | scoring | rows of U sqrt(Lambda), from one eigendecomposition K = U Lambda U' of the documents' kernel |
//! | Gaussian | ranking | the same of the pairs' kernel, below |
//!
//! The eigendecomposition is computed once; every target then has a linear problem with some of its rows. Eigenvalues
//! below 1e-11 of the largest are left out, which changes objectives by less than that.
//!
//! A pairwise function of the joined vector (x, x') needs every pair in both orders, and the minimiser changes its sign
//! with the order. So it lies among the antisymmetric functions, whose kernel is
//!
//! K_a((x, x'), (z, z')) = (k(x, z) k(x', z') - k(x, z') k(x', z)) / 2 (Gaussian: the kernel of joined vectors is a product),
//!
//! with half of the pairs and a quarter of the matrix. Scores come from f by (3.6), s_j = 1/N sum_l f(x_j, x_l), which
//! for f = sum beta_p K_a(p, .) is again a sum over documents (`Gaussian::scores`).

use faer::Mat;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::weights::median;
use crate::data::{FeatureLists, FeatureRow, List};
use crate::{Error, Result};

/// Kernel of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKernel {
    /// x . z.
    #[default]
    Linear,
    /// exp(-||x - z||^2 / sigma^2).
    Gaussian,
}

/// Form of the learned function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryForm {
    /// A score for each document (3.7).
    #[default]
    Scoring,
    /// A preference for each pair (3.1), converted to scores by (3.6).
    Ranking,
}

/// Maximum number of rows of an eigendecomposition: 5,000 take a minute and 600 MB. The vectors of the queries that are
/// ranked at the same time take up to 200 MB more for each thread.
const MOST_ROWS: usize = 5_000;
/// Smallest eigenvalue that is kept, relative to the largest.
const CUTOFF: f64 = 1e-11;

/// The training documents under a Gaussian kernel, from which scores are computed.
#[derive(Debug, Clone)]
pub(super) struct Gaussian {
    /// sigma^2.
    pub(super) width: f64,
    /// All training documents, dense.
    documents: Vec<Vec<f64>>,
    /// Start of the documents of each list.
    pub(super) starts: Vec<usize>,
    /// One row for every document (scoring) or pair (ranking).
    pub(super) rows: Vec<Vec<f64>>,
    /// The pairs in the ranking form: better and worse document; else empty.
    pub(super) pairs: Vec<(u32, u32)>,
    /// Start of the pairs of each list.
    pub(super) pair_starts: Vec<usize>,
}

/// Returns a row as f64, without the columns that are left out.
pub(super) fn dense(row: FeatureRow<'_>, n: usize, left_out: &[bool]) -> Vec<f64> {
    let mut cells = vec![0.0; n];
    for (column, x) in row.entries().filter(|(column, _)| (*column as usize) < n) {
        if !left_out.get(column as usize).copied().unwrap_or(false) {
            cells[column as usize] = f64::from(x);
        }
    }
    cells
}

fn square_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

impl Gaussian {
    /// Decomposes the kernel of all training documents. The default width is the median distance between two documents.
    pub(super) fn new(
        lists: &FeatureLists,
        left_out: &[bool],
        width: Option<f64>,
        form: QueryForm,
    ) -> Result<Self> {
        let n = lists.n_features();
        let too_many = |what: &str, n: usize| {
            Err(Error::Params(format!(
                "there are {n} training {what}; the Gaussian kernel decomposes a matrix of all of them \
                 and supports up to {MOST_ROWS}; use the linear kernel, or fewer lists"
            )))
        };
        if lists.n_rows() > MOST_ROWS {
            return too_many("documents", lists.n_rows());
        }
        let mut documents = Vec::with_capacity(lists.n_rows());
        let (mut starts, mut pairs, mut pair_starts) = (vec![0], Vec::new(), vec![0]);
        for list in lists.iter() {
            if form == QueryForm::Ranking {
                let first = documents.len() as u32;
                let of_list = pairs_of(list.labels()).map(|(a, b)| (first + a as u32, first + b as u32));
                pairs.extend(of_list);
                pair_starts.push(pairs.len());
            }
            documents.extend((0..list.len()).map(|i| dense(list.row(i), n, left_out)));
            starts.push(documents.len());
        }
        if pairs.len() > MOST_ROWS {
            return too_many("pairs", pairs.len());
        }
        let width = width.or_else(|| median_distance(&documents)).filter(|width| *width > 0.0).unwrap_or(1.0);
        let m = documents.len();
        let kernel: Vec<Vec<f64>> = documents
            .par_iter()
            .map(|a| documents.iter().map(|b| (-square_distance(a, b) / width).exp()).collect())
            .collect();
        let gram = match form {
            QueryForm::Scoring => Mat::from_fn(m, m, |i, j| kernel[i][j]),
            QueryForm::Ranking => Mat::from_fn(pairs.len(), pairs.len(), |p, q| {
                let ((a, b), (c, d)) = (pairs[p], pairs[q]);
                let k = |i: u32, j: u32| kernel[i as usize][j as usize];
                0.5 * (k(a, c) * k(b, d) - k(a, d) * k(b, c))
            }),
        };
        Ok(Self { width, documents, starts, rows: factor(&gram)?, pairs, pair_starts })
    }

    /// Returns k(x, document) of a vector and a training document.
    pub(super) fn kernel_row(&self, x: &[f64], document: u32) -> f64 {
        (-square_distance(x, &self.documents[document as usize]) / self.width).exp()
    }

    /// Number of columns of a row.
    pub(super) fn rank(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }
}

/// Iterates over the pairs (better, worse) of documents of different grades, in the order of the list.
pub(super) fn pairs_of(labels: &[f32]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let n = labels.len();
    (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j))).filter_map(|(i, j)| {
        match labels[i].total_cmp(&labels[j]) {
            std::cmp::Ordering::Greater => Some((i, j)),
            std::cmp::Ordering::Less => Some((j, i)),
            std::cmp::Ordering::Equal => None,
        }
    })
}

/// Returns the median of the distances between two documents, the paper's sigma^2.
fn median_distance(documents: &[Vec<f64>]) -> Option<f64> {
    let distances: Vec<f64> = (0..documents.len())
        .into_par_iter()
        .flat_map_iter(|i| {
            (i + 1..documents.len()).map(move |j| square_distance(&documents[i], &documents[j]).sqrt())
        })
        .collect();
    median(distances)
}

/// Computes the rows of U sqrt(Lambda).
fn factor(gram: &Mat<f64>) -> Result<Vec<Vec<f64>>> {
    if gram.nrows() == 0 {
        return Ok(Vec::new());
    }
    let failed = |_| Error::Diverged("the kernel matrix could not be decomposed; scale the features".into());
    let decomposition = gram.self_adjoint_eigen(faer::Side::Lower).map_err(failed)?;
    let values = decomposition.S();
    let n = gram.nrows();
    let largest = (0..n).fold(0.0f64, |most, i| most.max(values[i]));
    let kept: Vec<(usize, f64)> =
        (0..n).filter(|&i| values[i] > CUTOFF * largest).map(|i| (i, values[i].sqrt())).collect();
    let u = decomposition.U();
    Ok((0..n).map(|row| kept.iter().map(|&(i, root)| u[(row, i)] * root).collect()).collect())
}

/// Computes the scores of the documents of a list from coefficients of training documents: s_j = sum beta_i k(x_i,
/// x_j).
pub(super) fn kernel_scores(
    gaussian: &Gaussian,
    list: &List<'_>,
    left_out: &[bool],
    coefficients: &[(u32, f64)],
    scores: &mut Vec<f64>,
) {
    scores.clear();
    let n = gaussian.documents.first().map_or(0, Vec::len);
    scores.extend((0..list.len()).map(|j| {
        let x = dense(list.row(j), n, left_out);
        coefficients.iter().map(|&(document, beta)| beta * gaussian.kernel_row(&x, document)).sum::<f64>()
    }));
}

/// Computes the scores by (3.6) from coefficients beta of pairs (a, b): with kappa_a = sum over the list of k(a, x_l),
/// s_j = 1/2N sum_p beta_p (k(a, x_j) kappa_b - kappa_a k(b, x_j)).
pub(super) fn pair_scores(
    gaussian: &Gaussian,
    list: &List<'_>,
    left_out: &[bool],
    coefficients: &[(u32, u32, f64)],
    scores: &mut Vec<f64>,
) {
    let n = gaussian.documents.first().map_or(0, Vec::len);
    let rows: Vec<Vec<f64>> = (0..list.len()).map(|j| dense(list.row(j), n, left_out)).collect();
    let mut used: Vec<u32> = coefficients.iter().flat_map(|&(a, b, _)| [a, b]).collect();
    used.sort_unstable();
    used.dedup();
    let place = |document: u32| used.binary_search(&document).expect("the document is used");
    let kernel: Vec<Vec<f64>> = used
        .iter()
        .map(|&document| rows.iter().map(|x| gaussian.kernel_row(x, document)).collect())
        .collect();
    let kappa: Vec<f64> = kernel.iter().map(|row| row.iter().sum()).collect();
    let mut of_documents = vec![0.0; used.len()];
    for &(a, b, beta) in coefficients {
        let (a, b) = (place(a), place(b));
        of_documents[a] += beta * kappa[b];
        of_documents[b] -= beta * kappa[a];
    }
    scores.clear();
    scores.extend((0..rows.len()).map(|j| {
        let sum: f64 = of_documents.iter().zip(&kernel).map(|(factor, row)| factor * row[j]).sum();
        sum / (2.0 * rows.len() as f64)
    }));
}

/// Computes the scores that fit pairwise preferences best (3.6): s_j = (sum_l f_jl - sum_l f_lj) / 2N.
pub fn scores_of_preferences(f: &[Vec<f64>]) -> Vec<f64> {
    let n = f.len();
    (0..n).map(|j| (0..n).map(|l| f[j][l] - f[l][j]).sum::<f64>() / (2.0 * n as f64)).collect()
}
