//! The weights v that make phi_v an upper bound of 1 - MAP or 1 - NDCG.
//!
//! Documents are numbered i = 1, 2, ... by descending grade R; equal grades keep the order of the list:
//!
//! - MAP: v_i = 1/r - i / (r (m - r + i)) for the r documents with a grade above 0, else 0 (eq. 6);
//! - NDCG: v_i = (G(R_i) - G(R_m)) (D(i) - D(m)) / Z (eq. 9);
//! - NDCG@k: v_i = G(R_i) D(i) / Z_k for i <= k, else 0 (eq. 31), or tighter as NDCG with D(i) = 0 beyond k;
//!
//! with G(r) = 2^r - 1, D(i) = 1 / log2(1 + i), Z and Z_k the DCG of the ideal order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Highest grade r; sums of larger 2^r would overflow.
const HIGHEST_EXPONENT: f32 = 1000.0;

/// The measure that phi_v bounds. Written `map`, `ndcg`, `ndcg@10` and `tight_ndcg@10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Target {
    /// 1 - average precision; grades above 0 are relevant.
    Map,
    /// 1 - NDCG.
    Ndcg,
    /// 1 - NDCG at a cut-off.
    NdcgAt(u32),
    /// 1 - NDCG at a cut-off, with smaller weights and hence a tighter bound.
    TightNdcgAt(u32),
}

impl Target {
    /// Returns v of a list, in the order of its grades. All are 0 if every order is equally good.
    pub fn weights(self, grades: &[f32]) -> Vec<f64> {
        let mut weigher = Weigher::default();
        weigher.weigh(self, grades);
        weigher.v
    }

    /// Returns the last rank that counts.
    pub(super) fn cutoff(self) -> usize {
        match self {
            Self::Map | Self::Ndcg => usize::MAX,
            Self::NdcgAt(k) | Self::TightNdcgAt(k) => k as usize,
        }
    }

    /// Returns an error if the gain of a grade would overflow, or the cut-off is 0.
    pub fn check(self, grades: &[f32]) -> Result<()> {
        if self.cutoff() == 0 {
            return Err(Error::Params("the cut-off of ndcg@0 must be at least 1, as in ndcg@10".into()));
        }
        match grades.iter().find(|&&grade| grade > HIGHEST_EXPONENT) {
            Some(grade) if self != Self::Map => Err(Error::Params(format!(
                "a document has the grade {grade}, but NDCG computes 2^grade and supports grades up to \
                 {HIGHEST_EXPONENT}; use smaller grades, or the target map"
            ))),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Map => f.write_str("map"),
            Self::Ndcg => f.write_str("ndcg"),
            Self::NdcgAt(k) => write!(f, "ndcg@{k}"),
            Self::TightNdcgAt(k) => write!(f, "tight_ndcg@{k}"),
        }
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let at = |prefix| text.strip_prefix(prefix).and_then(|k: &str| k.parse().ok()).filter(|&k| k > 0);
        match text {
            "map" => Ok(Self::Map),
            "ndcg" => Ok(Self::Ndcg),
            _ => at("ndcg@").map(Self::NdcgAt).or(at("tight_ndcg@").map(Self::TightNdcgAt)).ok_or_else(|| {
                Error::Params(format!(
                    "unknown target {text:?}; known targets: map, ndcg, ndcg@K and tight_ndcg@K, such as ndcg@10"
                ))
            }),
        }
    }
}

impl TryFrom<String> for Target {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

/// Computes v list after list without allocating.
#[derive(Debug, Default)]
pub(crate) struct Weigher {
    order: Vec<u32>,
    discounts: Discounts,
    /// v of the last list, in its order.
    pub(crate) v: Vec<f64>,
}

impl Weigher {
    pub(crate) fn weigh(&mut self, target: Target, grades: &[f32]) {
        let Self { order, discounts, v } = self;
        let m = grades.len();
        order.clear();
        order.extend(0..m as u32);
        order.sort_unstable_by(|&a, &b| {
            grades[b as usize].total_cmp(&grades[a as usize]).then_with(|| a.cmp(&b))
        });
        v.clear();
        v.resize(m, 0.0);
        if target == Target::Map {
            let r = grades.iter().filter(|&&grade| grade > 0.0).count();
            let (all, relevant) = (m as f64, r as f64);
            for (i, &at) in (1..).zip(&order[..r]) {
                let i = f64::from(i);
                v[at as usize] = 1.0 / relevant - i / (relevant * (all - relevant + i));
            }
            return;
        }
        let k = target.cutoff();
        let gain = |at: u32| f64::from(grades[at as usize]).exp2() - 1.0;
        let discounts = discounts.up_to(m.min(k));
        let z: f64 = order.iter().zip(discounts).map(|(&at, discount)| gain(at) * discount).sum();
        let Some(&last) = order.last().filter(|_| z > 0.0) else { return };
        let (least_gain, least_discount) = match target {
            Target::NdcgAt(_) => (0.0, 0.0),
            _ => (gain(last), if m <= k { discounts[m - 1] } else { 0.0 }),
        };
        for (&at, discount) in order.iter().zip(discounts) {
            v[at as usize] = (gain(at) - least_gain) * (discount - least_discount) / z;
        }
    }
}

/// D(1), D(2), ..., as far as they were needed.
#[derive(Debug, Default)]
pub(super) struct Discounts(Vec<f64>);

impl Discounts {
    pub(super) fn up_to(&mut self, n: usize) -> &[f64] {
        self.0.extend((self.0.len()..n).map(|i| 1.0 / ((i + 2) as f64).log2()));
        &self.0[..n]
    }
}
