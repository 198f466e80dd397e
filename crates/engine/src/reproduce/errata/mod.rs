//! Corrections to the papers, each shown by a computation of less than a second.
//!
//! Every [`Correction`] runs the algorithm or the formula in question on data small enough to check by hand. It holds
//! if the figures contradict the paper as printed and agree with the correction. The book's page on errata lists these
//! corrections together with those that no small computation can show.
mod matching;
mod query_dependent;
mod slam;
mod sparse_preference;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::Result;

/// A statement of a paper, its correction, and the figures that decide between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Correction {
    /// Short name of the paper.
    pub paper: &'static str,
    /// Section, equation or theorem.
    pub place: &'static str,
    /// The statement as printed.
    pub printed: &'static str,
    /// The statement as it should read.
    pub correct: &'static str,
    /// Results of the computation.
    pub figures: Vec<CorrectionFigure>,
    /// True if the figures contradict the print and agree with the correction.
    pub holds: bool,
}

/// One result of a computation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CorrectionFigure {
    /// Meaning of the value.
    pub name: &'static str,
    /// The value.
    pub value: f64,
}

/// Pairs names with values.
fn figures<const N: usize>(named: [(&'static str, f64); N]) -> Vec<CorrectionFigure> {
    named.into_iter().map(|(name, value)| CorrectionFigure { name, value }).collect()
}

/// True if two figures are equal up to rounding.
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b.abs().max(1.0)
}

/// Computes all corrections, paper by paper. The figures are the same on every call.
pub fn corrections() -> Result<Vec<Correction>> {
    let papers = [
        matching::corrections()?,
        sparse_preference::corrections()?,
        slam::corrections()?,
        query_dependent::corrections()?,
    ];
    Ok(papers.into_iter().flatten().collect())
}
