//! Measures as values: parses the usual names, and prints one canonical name.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::dialect::Gain;
use crate::{Error, Result};

/// A ranking measure. Prints as `ndcg@10`, `map`, `p(rel=2)@5`, `rbp(p=0.8)`.
///
/// Unless stated otherwise, a measure lies in `[0, 1]` and 1 is best. A document is relevant if its grade is above 0
/// (or at least `rel`); unjudged documents are not relevant. The [`Conventions`](super::Conventions) define how ties
/// are broken, and the value of a query without a relevant document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// `ndcg`, `ndcg@k`: DCG over the DCG of the ideal order, see `ndcg.rs`. `gain` overrides the
    /// dialect's: `ndcg(gain=linear)@10`, `ndcg(gain=exp)@10`.
    Ndcg {
        /// Number of ranks that count; `None` means all.
        cutoff: Option<u32>,
        /// Gain of a grade; `None` means the dialect's.
        gain: Option<Gain>,
    },
    /// `map`, `map@k`: the mean over relevant documents of the precision at their ranks.
    Map {
        /// Number of ranks that count; `None` means all.
        cutoff: Option<u32>,
        /// Lowest relevant grade; `None` means any above 0.
        rel: Option<f32>,
    },
    /// `mrr`, `mrr@k`: one over the rank of the first relevant document.
    Mrr {
        /// Number of ranks that count; `None` means all.
        cutoff: Option<u32>,
        /// Lowest relevant grade; `None` means any above 0.
        rel: Option<f32>,
    },
    /// `p@k`: relevant documents among the first k, over k, even if the list is shorter.
    Precision {
        /// Number of ranks that count.
        cutoff: u32,
        /// Lowest relevant grade; `None` means any above 0.
        rel: Option<f32>,
    },
    /// `r@k`: relevant documents among the first k, over all relevant documents.
    Recall {
        /// Number of ranks that count.
        cutoff: u32,
        /// Lowest relevant grade; `None` means any above 0.
        rel: Option<f32>,
    },
    /// `err`, `err@k`: expected reciprocal rank, see `err.rs`. `err(max=4)@20` fixes the highest grade of
    /// the scale; without it the highest grade among the query's judgments is taken.
    Err {
        /// Number of ranks that count; `None` means all.
        cutoff: Option<u32>,
        /// The highest grade of the scale.
        max: Option<f32>,
    },
    /// `rbp(p=0.8)`: rank-biased precision with persistence p.
    Rbp {
        /// The probability of looking at the next document.
        p: f32,
        /// Lowest relevant grade; `None` means any above 0.
        rel: Option<f32>,
    },
    /// `bpref`: binary preference, over judged documents only.
    Bpref {
        /// Lowest relevant grade; `None` means any above 0.
        rel: Option<f32>,
    },
    /// `mre`: pairs of ranked documents in the wrong order, over all pairs. 0 is best.
    Mre,
    /// `pairwise`: pairs of ranked documents in the wrong order, over the pairs whose grades differ.
    /// 0 is best.
    PairwiseError,
}

/// Known names of measures, for messages.
pub(super) const NAMES: &str =
    "ndcg@k, map, mrr, p@k, r@k, err@k, rbp(p=0.8), bpref, mre, pairwise (map, mrr and err may have @k)";

impl Measure {
    /// Parses a comma-separated list such as `ndcg@10,map,p(rel=2)@5`. Duplicates are removed.
    pub fn parse_list(list: &str) -> Result<Vec<Self>> {
        let mut depth = 0;
        let separated = |c: char| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        };
        let mut measures = Vec::new();
        for name in list.split(separated).map(str::trim).filter(|n| !n.is_empty()) {
            let measure = name.parse()?;
            if !measures.contains(&measure) {
                measures.push(measure);
            }
        }
        if measures.is_empty() {
            return Err(Error::Params(format!("no measure was given; known measures: {NAMES}")));
        }
        Ok(measures)
    }

    /// Returns true if larger values are better; false for the two errors.
    pub fn higher_is_better(&self) -> bool {
        !matches!(self, Self::Mre | Self::PairwiseError)
    }

    /// Returns the value of a query for which nothing was returned.
    pub fn worst(&self) -> f64 {
        if self.higher_is_better() { 0.0 } else { 1.0 }
    }

    /// Returns the deepest rank that the measure uses.
    pub fn depth(&self) -> u32 {
        match *self {
            Self::Ndcg { cutoff, .. }
            | Self::Map { cutoff, .. }
            | Self::Mrr { cutoff, .. }
            | Self::Err { cutoff, .. } => cutoff.unwrap_or(u32::MAX),
            Self::Precision { cutoff, .. } | Self::Recall { cutoff, .. } => cutoff,
            Self::Rbp { .. } | Self::Bpref { .. } | Self::Mre | Self::PairwiseError => u32::MAX,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options: Vec<String> = Vec::new();
        let grade = |rel: Option<f32>| rel.map(|r| format!("rel={r}"));
        let (name, cutoff) = match *self {
            Self::Ndcg { cutoff, gain } => {
                options.extend(gain.map(|g| format!("gain={g}")));
                ("ndcg", cutoff)
            }
            Self::Map { cutoff, rel } => {
                options.extend(grade(rel));
                ("map", cutoff)
            }
            Self::Mrr { cutoff, rel } => {
                options.extend(grade(rel));
                ("mrr", cutoff)
            }
            Self::Precision { cutoff, rel } => {
                options.extend(grade(rel));
                ("p", Some(cutoff))
            }
            Self::Recall { cutoff, rel } => {
                options.extend(grade(rel));
                ("r", Some(cutoff))
            }
            Self::Err { cutoff, max } => {
                options.extend(max.map(|m| format!("max={m}")));
                ("err", cutoff)
            }
            Self::Rbp { p, rel } => {
                options.push(format!("p={p}"));
                options.extend(grade(rel));
                ("rbp", None)
            }
            Self::Bpref { rel } => {
                options.extend(grade(rel));
                ("bpref", None)
            }
            Self::Mre => ("mre", None),
            Self::PairwiseError => ("pairwise", None),
        };
        f.write_str(name)?;
        if !options.is_empty() {
            write!(f, "({})", options.join(","))?;
        }
        cutoff.map_or(Ok(()), |k| write!(f, "@{k}"))
    }
}

impl Serialize for Measure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Measure {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let unknown = || Error::Params(format!("unknown measure `{name}`; known measures: {NAMES}"));
        let lower = name.trim().to_ascii_lowercase();
        let (mut base, mut options, mut cutoff) = (lower.as_str(), "", None);
        if let Some((head, tail)) = base.split_once('(') {
            let (inside, after) = tail.split_once(')').ok_or_else(unknown)?;
            (base, options, cutoff) = (head, inside, after.strip_prefix('@'));
            if cutoff.is_none() && !after.is_empty() {
                return Err(unknown());
            }
        } else if let Some((head, k)) = base.split_once('@') {
            (base, cutoff) = (head, Some(k));
        } else if let Some((head, p)) = base.split_once("rbp.") {
            // ranx writes the persistence as the digits after the decimal point
            let p: f32 = format!("0.{p}").parse().map_err(|_| unknown())?;
            return if head.is_empty() { persistent(p, None) } else { Err(unknown()) };
        } else if let Some((head, k)) = base.rsplit_once('_')
            && k.bytes().all(|b| b.is_ascii_digit())
        {
            (base, cutoff) = (head, Some(k));
        }
        let cutoff = match cutoff.map(str::parse::<u32>) {
            None => None,
            Some(Ok(k)) if k > 0 => Some(k),
            Some(_) => {
                return Err(Error::Params(format!("the cut-off of `{name}` must be a whole number above 0")));
            }
        };
        let mut options = Options::parse(name, options)?;
        let needed = || {
            cutoff.ok_or_else(|| Error::Params(format!("`{name}` needs a cut-off, for example `{base}@10`")))
        };
        let measure = match base {
            "ndcg" | "ndcg_cut" => Self::Ndcg { cutoff, gain: options.gain.take() },
            "ndcg_burges" => Self::Ndcg { cutoff, gain: Some(Gain::Exponential) },
            "map" | "ap" | "map_cut" => Self::Map { cutoff, rel: options.rel.take() },
            "mrr" | "rr" | "recip_rank" => Self::Mrr { cutoff, rel: options.rel.take() },
            "p" | "precision" => Self::Precision { cutoff: needed()?, rel: options.rel.take() },
            "r" | "recall" => Self::Recall { cutoff: needed()?, rel: options.rel.take() },
            "err" => Self::Err { cutoff, max: options.max.take() },
            "rbp" if cutoff.is_none() => persistent(options.p.take().unwrap_or(0.8), options.rel.take())?,
            "bpref" if cutoff.is_none() => Self::Bpref { rel: options.rel.take() },
            "mre" if cutoff.is_none() => Self::Mre,
            "pairwise" | "pairwise_error" if cutoff.is_none() => Self::PairwiseError,
            "rbp" | "bpref" | "mre" | "pairwise" | "pairwise_error" => {
                return Err(Error::Params(format!(
                    "`{base}` is computed over the whole list and has no cut-off"
                )));
            }
            _ => return Err(unknown()),
        };
        match options.left() {
            None => Ok(measure),
            Some(option) => Err(Error::Params(format!("`{base}` has no option `{option}`"))),
        }
    }
}

fn persistent(p: f32, rel: Option<f32>) -> Result<Measure> {
    if p > 0.0 && p < 1.0 {
        Ok(Measure::Rbp { p, rel })
    } else {
        Err(Error::Params(format!("the persistence p of rbp must be between 0 and 1, not {p}")))
    }
}

/// Options in parentheses; each measure takes those it supports.
#[derive(Default)]
struct Options {
    rel: Option<f32>,
    max: Option<f32>,
    p: Option<f32>,
    gain: Option<Gain>,
}

impl Options {
    fn parse(name: &str, list: &str) -> Result<Self> {
        let mut options = Self::default();
        for option in list.split(',').map(str::trim).filter(|o| !o.is_empty()) {
            let bad = || {
                Error::Params(format!(
                    "unknown option `{option}` in `{name}`; options are rel=, max=, p= and gain="
                ))
            };
            let (key, value) = option.split_once('=').ok_or_else(bad)?;
            let number = || match value.trim().parse::<f32>() {
                Ok(v) if v > 0.0 && v.is_finite() => Ok(Some(v)),
                _ => Err(Error::Params(format!("`{option}` in `{name}` must be a number above 0"))),
            };
            match key.trim() {
                "rel" => options.rel = number()?,
                "max" => options.max = number()?,
                "p" => options.p = number()?,
                "gain" => options.gain = Some(value.trim().parse()?),
                _ => return Err(bad()),
            }
        }
        Ok(options)
    }

    /// Returns the name of an option that was not used.
    fn left(&self) -> Option<&'static str> {
        let all = [
            (self.rel.is_some(), "rel"),
            (self.max.is_some(), "max"),
            (self.p.is_some(), "p"),
            (self.gain.is_some(), "gain"),
        ];
        all.iter().find(|(there, _)| *there).map(|(_, name)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_people_use_print_one_way() {
        for (name, printed) in [
            ("ndcg@10", "ndcg@10"),
            ("nDCG@10", "ndcg@10"),
            ("ndcg_cut_10", "ndcg@10"),
            ("ndcg", "ndcg"),
            ("ndcg_burges@5", "ndcg(gain=exp)@5"),
            ("nDCG(gain=linear)@3", "ndcg(gain=linear)@3"),
            ("AP", "map"),
            ("map_cut_100", "map@100"),
            ("AP(rel=2)@100", "map(rel=2)@100"),
            ("recip_rank", "mrr"),
            ("RR@10", "mrr@10"),
            ("P_5", "p@5"),
            ("P(rel=2)@5", "p(rel=2)@5"),
            ("precision@5", "p@5"),
            ("recall_100", "r@100"),
            ("R@1000", "r@1000"),
            ("ERR@20", "err@20"),
            ("err(max=4)", "err(max=4)"),
            ("rbp", "rbp(p=0.8)"),
            ("rbp.95", "rbp(p=0.95)"),
            ("RBP(p=0.5,rel=2)", "rbp(p=0.5,rel=2)"),
            ("Bpref", "bpref"),
            ("mre", "mre"),
            ("pairwise_error", "pairwise"),
        ] {
            let measure: Measure = name.parse().unwrap();
            assert_eq!(measure.to_string(), printed);
            assert_eq!(printed.parse::<Measure>().unwrap(), measure);
        }
    }

    #[test]
    fn errors_say_what_is_known() {
        let error = |name: &str| name.parse::<Measure>().unwrap_err().to_string();
        assert!(error("foo@3").starts_with("unknown measure `foo@3`; known measures: ndcg@k"));
        assert_eq!(error("ndcg@0"), "the cut-off of `ndcg@0` must be a whole number above 0");
        assert_eq!(error("p"), "`p` needs a cut-off, for example `p@10`");
        assert_eq!(error("rbp@5"), "`rbp` is computed over the whole list and has no cut-off");
        assert_eq!(error("rbp(p=2)"), "the persistence p of rbp must be between 0 and 1, not 2");
        assert_eq!(error("map(max=3)"), "`map` has no option `max`");
        assert_eq!(error("map(rel=x)"), "`rel=x` in `map(rel=x)` must be a number above 0");
        assert!(Measure::parse_list(" , ").is_err());
    }

    #[test]
    fn lists_split_outside_parentheses_and_keep_one_of_each() {
        let list = Measure::parse_list("ndcg@10, rbp(p=0.5,rel=2),NDCG_cut_10,map").unwrap();
        let names: Vec<String> = list.iter().map(Measure::to_string).collect();
        assert_eq!(names, ["ndcg@10", "rbp(p=0.5,rel=2)", "map"]);
    }

    proptest! {
        #[test]
        fn arbitrary_names_never_panic(name in "[a-z@_().=,0-9é]{0,16}") {
            let _ = Measure::parse_list(&name);
        }
    }
}
