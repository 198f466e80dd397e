//! Conventions in which the known tools differ, as values.
//!
//! | | matchrank | trec | ranx | lightgbm | sklearn |
//! |---|---|---|---|---|---|
//! | gain of grade r in NDCG | 2^r - 1 | r | r | 2^r - 1 | r |
//! | order of tied scores | a hash of (query, document) | document id, descending | file order | file order | averaged over all orders |
//! | a query without a relevant document | left out, counted | 0 | 0 | 1 for NDCG and MAP | 0 |
//! | a judged query the run lacks | 0 | left out | 0 | left out | left out |
//! | ideal order, number of relevant documents | all judged documents | all judged | all judged | the ranked documents | the ranked documents |
//! | scores compared as | f64 | f32 | f64 | f64 | f64 |
//! | MAP@k divides by | relevant documents | relevant documents | relevant documents | min(k, relevant documents) | has no k |
//! | RBP of grade r | relevant or not | relevant or not | r | relevant or not | undefined |
//!
//! All tools ignore queries of the run without judgments; the audit counts them. A measure that a tool lacks is
//! computed under the tool's conventions anyway. The exception are averaged ties, which are defined only for NDCG
//! (McSherry and Najork 2008) and for scikit-learn's MAP.
//!
//! Versions: trec_eval 9 as wrapped by pytrec_eval-terrier 0.5 (its `-c` is [`Missing::Worst`]); ranx 0.3 with
//! `make_comparable=True`; LightGBM 4.7; scikit-learn 1.9 (`ndcg_score`, and `average_precision_score` for MAP). The
//! values of the tools are kept in `tests/golden/dialects`.
//!
//! ranx sorts with an unstable sort: tied documents keep the order of the file only in lists of up to 15 documents. In
//! longer lists, the order of ties is arbitrary. File order is the rule here. Where ranx's Bpref is 0/0 (every judged
//! document is relevant), the value of trec_eval is used.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::name::Measure;
use crate::{Error, Result};

/// Tool whose conventions apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Our own: neither the file order nor the choice of document ids can improve a result.
    #[default]
    Matchrank,
    /// trec_eval and its wrappers.
    Trec,
    /// ranx.
    Ranx,
    /// LightGBM's `ndcg` and `map` metrics.
    LightGbm,
    /// scikit-learn's `ndcg_score` and `average_precision_score`.
    Sklearn,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 5] = [Self::Matchrank, Self::Trec, Self::Ranx, Self::LightGbm, Self::Sklearn];

    /// Name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Matchrank => "matchrank",
            Self::Trec => "trec",
            Self::Ranx => "ranx",
            Self::LightGbm => "lightgbm",
            Self::Sklearn => "sklearn",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|d| d.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            Error::Params(format!("unknown dialect `{name}`; known dialects: {known}"))
        })
    }
}

/// Contribution of a document of grade r to DCG. Grades of 0 and below add nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Gain {
    /// 2^r - 1 (Burges et al. 2005), `exp`.
    #[serde(rename = "exp")]
    Exponential,
    /// r (Järvelin and Kekäläinen 2002), `linear`.
    Linear,
}

impl Gain {
    /// Returns the gain of a grade.
    #[inline]
    pub fn of(self, grade: f32) -> f64 {
        let grade = f64::from(grade.max(0.0));
        match self {
            Self::Exponential => grade.exp2() - 1.0,
            Self::Linear => grade,
        }
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exponential => "exp",
            Self::Linear => "linear",
        })
    }
}

impl FromStr for Gain {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "exp" | "exponential" => Ok(Self::Exponential),
            "linear" => Ok(Self::Linear),
            _ => Err(Error::Params(format!("unknown gain `{name}`; known gains: exp, linear"))),
        }
    }
}

/// Order of documents with equal scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// By a fixed hash of (query id, document id), see [`Ties::hash`]: neither the order of the file nor the names of
    /// documents can improve a result.
    Hash,
    /// By document id, descending, compared as bytes.
    Document,
    /// As in the file.
    File,
    /// The mean over all orders. For MAP as in scikit-learn: tied documents share the precision at the end of their
    /// tie.
    Averaged,
    /// The worst order: the worst result that ties allow.
    Worst,
    /// The best order: the best result that ties allow.
    Best,
}

impl Ties {
    /// Computes FNV-1a, 64 bits, of the query id, a byte 0 and the document id; the smaller hash comes first.
    pub fn hash(query: &[u8], document: &[u8]) -> u64 {
        let step = |h: u64, &b: &u8| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        let hash = query.iter().chain(&[0]).chain(document).fold(0xcbf2_9ce4_8422_2325, step);
        // FNV keeps the high bits of similar ids similar, and these decide the order: mix them (splitmix64).
        let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ (hash >> 31)
    }
}

/// Value of a query without a relevant document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoRelevant {
    /// The query is left out of the mean, and counted in the audit.
    LeftOut,
    /// 0; the errors are 0 too, as no pair can be in the wrong order.
    Zero,
    /// 1 for NDCG and MAP (no ranking could be better), as under `Zero` for the others.
    One,
}

/// Value of a query that has judgments but is missing from the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// The worst value: 0, or 1 for the errors.
    Worst,
    /// The query is left out of the mean, and counted in the audit.
    LeftOut,
}

/// Documents that define the ideal order and the number of relevant documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ideal {
    /// All judged documents of the query, returned or not.
    Judged,
    /// The documents that the run returned.
    Ranked,
}

/// All conventions in which tools differ. [`Conventions::of`] returns those of a dialect; any field can then be
/// changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Conventions {
    /// Dialect of these conventions, apart from fields that were changed.
    pub dialect: Dialect,
    /// Gain of a grade in NDCG.
    pub gain: Gain,
    /// Order of tied documents.
    pub ties: Ties,
    /// Queries without a relevant document.
    pub no_relevant: NoRelevant,
    /// Judged queries that are missing from the run.
    pub missing: Missing,
    /// Documents of the ideal order.
    pub ideal: Ideal,
    /// Scores are rounded to f32 before they are compared.
    pub single_precision: bool,
    /// MAP@k divides by min(k, relevant documents) instead of relevant documents.
    pub map_over_cutoff: bool,
    /// RBP adds the grade of a relevant document instead of 1.
    pub graded_rbp: bool,
}

impl Conventions {
    /// Returns the conventions of a dialect.
    pub fn of(dialect: Dialect) -> Self {
        let own = Self {
            dialect,
            gain: Gain::Exponential,
            ties: Ties::Hash,
            no_relevant: NoRelevant::LeftOut,
            missing: Missing::Worst,
            ideal: Ideal::Judged,
            single_precision: false,
            map_over_cutoff: false,
            graded_rbp: false,
        };
        let (linear, zero, left_out) = (Gain::Linear, NoRelevant::Zero, Missing::LeftOut);
        match dialect {
            Dialect::Matchrank => own,
            Dialect::Trec => Self {
                gain: linear,
                ties: Ties::Document,
                no_relevant: zero,
                missing: left_out,
                single_precision: true,
                ..own
            },
            Dialect::Ranx => {
                Self { gain: linear, ties: Ties::File, no_relevant: zero, graded_rbp: true, ..own }
            }
            Dialect::LightGbm => Self {
                ties: Ties::File,
                no_relevant: NoRelevant::One,
                missing: left_out,
                ideal: Ideal::Ranked,
                map_over_cutoff: true,
                ..own
            },
            Dialect::Sklearn => Self {
                gain: linear,
                ties: Ties::Averaged,
                no_relevant: zero,
                missing: left_out,
                ideal: Ideal::Ranked,
                ..own
            },
        }
    }

    /// Returns an error if a measure is not defined under these conventions.
    pub fn validate(&self, measures: &[Measure]) -> Result<()> {
        if measures.is_empty() {
            return Err(Error::Params("no measure was requested; name at least one".into()));
        }
        let defined = |m: &Measure| {
            self.ties != Ties::Averaged
                || matches!(m, Measure::Ndcg { .. } | Measure::Map { cutoff: None, .. })
        };
        match measures.iter().find(|m| !defined(m)) {
            None => Ok(()),
            Some(m) => Err(Error::Params(format!(
                "`{m}` is not defined with averaged ties, as in the dialect sklearn; defined are ndcg, \
                 ndcg@k and map. Choose another dialect, or another order of ties"
            ))),
        }
    }
}

impl Default for Conventions {
    fn default() -> Self {
        Self::of(Dialect::Matchrank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse::<Dialect>().unwrap(), dialect);
        }
        assert_eq!(
            "trek".parse::<Dialect>().unwrap_err().to_string(),
            "unknown dialect `trek`; known dialects: matchrank, trec, ranx, lightgbm, sklearn"
        );
    }

    #[test]
    fn the_tie_hash_never_changes() {
        // values of an independent implementation; a change would silently change everyone's results
        assert_eq!(Ties::hash(b"", b""), 0x25fc6dd36ce04b20);
        assert_eq!(Ties::hash(b"q1", b"d1"), 0x36676b9cf68c2104);
    }

    #[test]
    fn averaged_ties_know_ndcg_and_map() {
        let sklearn = Conventions::of(Dialect::Sklearn);
        assert!(sklearn.validate(&Measure::parse_list("ndcg@3,map").unwrap()).is_ok());
        let error = sklearn.validate(&Measure::parse_list("ndcg,mrr").unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("`mrr` is not defined with averaged ties"));
    }
}
