//! tf-idf: converts term counts to weights that discount the frequent terms of the collection.
//!
//! The weight of a term in a row is `tf idf`, then the row is scaled:
//!
//! | parameter | value | formula | SMART |
//! |---|---|---|---|
//! | [`Tf`] | `count` | n | n |
//! | | `log` | 1 + ln n (n itself below 1, which field weights can give) | l |
//! | | `binary` | 1 | b |
//! | [`Idf`] | `none` | 1 | n |
//! | | `smooth` | ln((1 + N) / (1 + df)) + 1, scikit-learn's default | |
//! | | `plain` | ln(N / df) + 1, scikit-learn without smoothing | t, plus 1 |
//! | | `bm25` | ln(1 + (N - df + 0.5) / (df + 0.5)), Lucene's | |
//! | [`Norm`] | `l2` | the row has length 1 | c |
//! | | `none` | | n |
//!
//! ```
//! use matchrank_core::matching::{TfIdf, TfIdfParams};
//!
//! // Two terms: one in all of 3 documents, one in a single document.
//! let tf_idf = TfIdf::new(&TfIdfParams::default(), 3, &[3, 1])?;
//! let mut row = [1.0, 1.0];
//! tf_idf.weigh(&[0, 1], &mut row);
//! // 1 and ln(4 / 2) + 1, scaled to length 1
//! assert!((row[0] - 0.508542).abs() < 1e-6 && (row[1] - 0.861037).abs() < 1e-6);
//! # Ok::<(), matchrank_core::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Transformation of the count of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tf {
    /// The count.
    #[default]
    Count,
    /// 1 + ln(count); a count below 1 stays.
    Log,
    /// 1 for every term present.
    Binary,
}

/// Discount of a term by its frequency in the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Idf {
    /// No discount.
    None,
    /// ln((1 + N) / (1 + df)) + 1.
    #[default]
    Smooth,
    /// ln(N / df) + 1; a term of no document counts as a term of one.
    Plain,
    /// ln(1 + (N - df + 0.5) / (df + 0.5)).
    Bm25,
}

/// Scaling of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Norm {
    /// To Euclidean length 1; a row of zeros is unchanged.
    #[default]
    L2,
    /// No scaling.
    None,
}

/// Parameters of tf-idf. The defaults are those of scikit-learn: `count`, `smooth`, `l2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TfIdfParams {
    /// Transformation of the count of a term.
    pub tf: Tf,
    /// Discount of a term by its frequency in the collection.
    pub idf: Idf,
    /// Scaling of a row.
    pub norm: Norm,
}

/// tf-idf with the document frequencies of a collection; see the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub struct TfIdf {
    params: TfIdfParams,
    idf: Vec<f32>,
}

impl TfIdf {
    /// Computes weights from the number of documents and the number of documents with each term.
    pub fn new(params: &TfIdfParams, n_documents: u64, document_frequencies: &[u32]) -> Result<Self> {
        if let Some(term) = document_frequencies.iter().position(|&df| u64::from(df) > n_documents) {
            return Err(Error::Params(format!(
                "term {term} is in {} documents, but the collection has only {n_documents}",
                document_frequencies[term]
            )));
        }
        let n = n_documents as f64;
        let idf = |df: f64| match params.idf {
            Idf::None => 1.0,
            Idf::Smooth => ((1.0 + n) / (1.0 + df)).ln() + 1.0,
            Idf::Plain => (n.max(1.0) / df.max(1.0)).ln() + 1.0,
            Idf::Bm25 => ((n - df + 0.5) / (df + 0.5)).ln_1p(),
        };
        Ok(Self {
            params: *params,
            idf: document_frequencies.iter().map(|&df| idf(f64::from(df)) as f32).collect(),
        })
    }

    /// The factor of each term.
    pub fn idf(&self) -> &[f32] {
        &self.idf
    }

    /// Converts the counts of a row to weights, in place. Panics if a term is out of range.
    pub fn weigh(&self, terms: &[u32], counts: &mut [f32]) {
        assert_eq!(terms.len(), counts.len(), "a count for every term");
        let mut squares = 0.0f64;
        for (&term, value) in terms.iter().zip(counts.iter_mut()) {
            let tf = match self.params.tf {
                Tf::Count => *value,
                Tf::Log if *value >= 1.0 => 1.0 + value.ln(),
                Tf::Log => *value,
                Tf::Binary => f32::from(*value > 0.0),
            };
            *value = tf * self.idf[term as usize];
            squares += f64::from(*value) * f64::from(*value);
        }
        if self.params.norm == Norm::L2 && squares > 0.0 {
            let scale = 1.0 / squares.sqrt();
            counts.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        counts: Vec<Vec<f32>>,
        df: Vec<u32>,
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        #[serde(flatten)]
        params: TfIdfParams,
        rows: Vec<Vec<f64>>,
    }

    /// Compares with scikit-learn, relative tolerance 1e-6: weights are stored as f32.
    #[test]
    fn golden() {
        let golden = include_str!("../../../../tests/golden/tf_idf.json");
        let golden: Golden = serde_json::from_str(golden).unwrap();
        assert_eq!(golden.cases.len(), 24);
        for case in &golden.cases {
            let tf_idf = TfIdf::new(&case.params, golden.counts.len() as u64, &golden.df).unwrap();
            for (counts, expected) in golden.counts.iter().zip(&case.rows) {
                let (terms, mut row): (Vec<u32>, Vec<f32>) =
                    (0u32..).zip(counts.iter().copied()).filter(|(_, count)| *count > 0.0).unzip();
                tf_idf.weigh(&terms, &mut row);
                let mut dense = vec![0.0; expected.len()];
                terms.iter().zip(&row).for_each(|(&term, &value)| dense[term as usize] = f64::from(value));
                for (found, expected) in dense.iter().zip(expected) {
                    assert!(
                        (found - expected).abs() <= 1e-6 * expected.abs(),
                        "{:?}: {found} {expected}",
                        case.params
                    );
                }
            }
        }
    }

    #[test]
    fn fractions_and_unknown_terms_stay_finite() {
        let params = TfIdfParams { tf: Tf::Log, idf: Idf::Plain, norm: Norm::None };
        let tf_idf = TfIdf::new(&params, 2, &[2, 0]).unwrap();
        let mut row = [0.25, 1.0];
        tf_idf.weigh(&[0, 1], &mut row);
        assert_eq!(row[0], 0.25);
        assert!((row[1] - (2f32.ln() + 1.0)).abs() < 1e-6);
        assert!(TfIdf::new(&params, 2, &[3]).is_err());
        let mut zeros = [0.0];
        TfIdf::new(&TfIdfParams::default(), 2, &[1]).unwrap().weigh(&[0], &mut zeros);
        assert_eq!(zeros, [0.0]);
    }
}
