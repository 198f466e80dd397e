//! The model that the validation queries choose, and what it is worth on the test beside the baseline.
//!
//! **Rule.** The baseline, BM25, is kept unless a richer model is better on the validation queries by more than one standard
//! error of the paired difference ([`is_worth_it`]). Single models come first, then sums, then stacks: of each group the one
//! with the best validation figure is asked, and has to be better than what was kept before it. Without a baseline the first
//! group starts with its best. The test queries decide nothing; a stack is measured on validation queries by rankers that
//! have not seen them.
//!
//! **New documents.** Some validation queries depend on new documents: none of their relevant documents has a training
//! response. A catalogue that grows has more such queries tomorrow. So a model is not asked if it would lose to the baseline
//! with twice as many of them: with u their share, w = min(1, 2 u), and g the mean gain over the baseline,
//!
//! ```text
//! w g(queries with new documents) + (1 - w) g(others) < 0
//! ```
//!
//! A chosen model that is worse on these queries by more than one standard error says what it loses there.

use foldhash::{HashMap, HashSet};
use matchrank_core::message::counted;
use serde::{Deserialize, Serialize};

use super::bootstrap::interval;
use super::course::Entries;
use super::plan::{Plan, What};
use super::results::Entry;
use crate::models::registry;
use crate::validation::{grown_share, is_worth_it, paired_difference};

/// The model that validation chose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Choice {
    /// Name of the model.
    pub name: String,
    /// Its figure on the validation queries.
    pub validation: f64,
    /// Its difference from the baseline on the test queries; none if it is the baseline, or there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<Lead>,
    /// Models that are better than the baseline, and were not asked because they would be worse if twice as many queries depended
    /// on new documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lose_on_unseen: Vec<String>,
    /// Loss of the chosen model on the queries that depend on new documents, where it is more than one standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_on_unseen: Option<UnseenLoss>,
    /// A faster model that is about as good, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faster: Option<FasterModel>,
}

/// A model that takes at most half the time of the chosen one and is not significantly worse on the validation queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FasterModel {
    /// Name of the model.
    pub name: String,
    /// Its figure on the validation queries.
    pub validation: f64,
    /// Median milliseconds of a query.
    pub p50_ms: f64,
}

/// Loss of a model against the baseline on the validation queries that depend on new documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnseenLoss {
    /// Number of these queries.
    pub queries: usize,
    /// Number of all validation queries.
    pub of: usize,
    /// Mean difference from the baseline on these queries.
    pub difference: f64,
}

impl Choice {
    /// Describes what new documents have to do with the choice, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let refused = (!self.lose_on_unseen.is_empty()).then(|| {
            format!(
                "not chosen, because worse than the baseline if twice as many queries had only new relevant documents: {}",
                self.lose_on_unseen.join(", ")
            )
        });
        let loses = self.loss_on_unseen.as_ref().map(|loss| {
            format!(
                "on the {} of {} whose relevant documents are all new, {} is {:.4} worse than the baseline; choose a model \
                 of words if new documents matter more than that",
                loss.queries,
                counted(loss.of, "validation query"),
                self.name,
                loss.difference.abs()
            )
        });
        refused.into_iter().chain(loses).collect()
    }
}

/// Difference of a model from the baseline on the test queries, by the first measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lead {
    /// Name of the baseline.
    pub over: String,
    /// Difference of the means.
    pub difference: f64,
    /// Its 95 % confidence interval, by the bootstrap over queries.
    pub interval: [f64; 2],
}

/// Models from the simplest to the richest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Richness {
    Baseline,
    Single,
    Sum,
    Stack,
}

/// A model with its name and its values.
type NamedEntry<'a> = (Richness, &'a str, &'a Entry);

/// Median milliseconds of a query below which a model is fast enough.
const FAST: f64 = 1.0;
/// Queries that depend on new documents from which their mean says something.
const ENOUGH: usize = 5;

/// Chooses among models by their validation values, of which those in `unseen` depend on documents without a training
/// response; none where no model has any.
pub(super) fn choose(plan: &Plan, entries: &Entries, unseen: &HashSet<String>, seed: u64) -> Option<Choice> {
    let richness = |name: &str| {
        let planned = plan.models.iter().find(|planned| planned.name == name)?;
        Some(match &planned.what {
            What::Single { kind, .. } if registry::find(kind).is_some_and(|kind| kind.is_baseline) => {
                Richness::Baseline
            }
            What::Single { .. } => Richness::Single,
            What::Combination { .. } => Richness::Sum,
            What::Stack { .. } => Richness::Stack,
        })
    };
    let sign = if plan.tuned_by.higher_is_better() { 1.0 } else { -1.0 };
    let measured: Vec<NamedEntry<'_>> = entries
        .iter()
        .filter(|(_, entry)| !entry.validation.is_empty())
        .filter_map(|(name, entry)| Some((richness(name)?, name.as_str(), entry)))
        .collect();
    let baseline = measured.iter().find(|(richness, ..)| *richness == Richness::Baseline);
    let differences = |entry: &Entry, on_new: bool| {
        let (.., baseline) = baseline?;
        let (own, others) = paired(entry, baseline, sign, |query| unseen.contains(query) == on_new);
        let (difference, _) = paired_difference(&own, &others)?;
        Some((own, others, difference))
    };
    let loss_on_unseen = |entry: &Entry| {
        let (own, others, difference) = differences(entry, true)?;
        let loss =
            UnseenLoss { queries: own.len(), of: entry.validation.len(), difference: sign * difference };
        (own.len() >= ENOUGH && is_worth_it(&others, &own)).then_some(loss)
    };
    let is_refused = |entry: &Entry| {
        let Some((on_new, _, loss)) = differences(entry, true) else { return false };
        let (others, gain) = differences(entry, false).map_or((0, 0.0), |(own, _, gain)| (own.len(), gain));
        let gain_with = |weight: f64| weight * loss + (1.0 - weight) * gain;
        let share = on_new.len() as f64 / (on_new.len() + others) as f64;
        gain_with(share) > 0.0 && gain_with(grown_share(share)) < 0.0
    };
    let (losing, measured): (Vec<&NamedEntry<'_>>, Vec<&NamedEntry<'_>>) =
        measured.iter().partition(|(_, _, entry)| is_refused(entry));
    let mut kept: Option<(&str, &Entry)> = None;
    for level in [Richness::Baseline, Richness::Single, Richness::Sum, Richness::Stack] {
        let of_level = measured.iter().filter(|(richness, ..)| *richness == level);
        let best = of_level.rev().max_by(|a, b| (sign * mean(a.2)).total_cmp(&(sign * mean(b.2))));
        if let Some((_, name, entry)) = best
            && kept.is_none_or(|(_, kept)| is_better(entry, kept, sign))
        {
            kept = Some((name, entry));
        }
    }
    let (name, entry) = kept?;
    let lead = baseline
        .filter(|(_, other, _)| *other != name)
        .and_then(|(_, over, baseline)| Lead::of(plan, entry, (over, baseline), seed));
    let lose_on_unseen = losing.iter().map(|(_, name, _)| (*name).to_owned()).collect();
    let loss_on_unseen = loss_on_unseen(entry);
    let faster = faster(&measured, (name, entry), sign);
    Some(Choice {
        name: name.to_owned(),
        validation: mean(entry),
        lead,
        lose_on_unseen,
        loss_on_unseen,
        faster,
    })
}

/// The best of the models that take at most half the time of the chosen one, if it is not worse by more than two standard
/// errors. Below [`FAST`] milliseconds there is nothing to gain.
fn faster(measured: &[&NamedEntry<'_>], (chosen, entry): (&str, &Entry), sign: f64) -> Option<FasterModel> {
    let time = entry.row.latency.p50_ms;
    let is_fast = |other: &Entry| other.row.latency.p50_ms <= 0.5 * time;
    let others = measured.iter().filter(|(_, name, other)| *name != chosen && time > FAST && is_fast(other));
    let (_, name, best) = others.max_by(|a, b| (sign * mean(a.2)).total_cmp(&(sign * mean(b.2))))?;
    let (own, other) = paired(entry, best, sign, |_| true);
    let (difference, error) = paired_difference(&own, &other)?;
    (difference <= 2.0 * error).then(|| FasterModel {
        name: (*name).to_owned(),
        validation: mean(best),
        p50_ms: best.row.latency.p50_ms,
    })
}

fn mean(entry: &Entry) -> f64 {
    entry.validation.iter().map(|(_, value)| value).sum::<f64>() / entry.validation.len().max(1) as f64
}

/// Compares two models on the validation queries that both were measured on.
fn is_better(richer: &Entry, simpler: &Entry, sign: f64) -> bool {
    let (richer, simpler) = paired(richer, simpler, sign, |_| true);
    is_worth_it(&richer, &simpler)
}

/// Values of two models for the wanted validation queries that both were measured on; more is better.
fn paired(a: &Entry, b: &Entry, sign: f64, is_wanted: impl Fn(&str) -> bool) -> (Vec<f64>, Vec<f64>) {
    let b: HashMap<&str, f64> =
        b.validation.iter().map(|(query, value)| (query.as_str(), sign * value)).collect();
    let a = a.validation.iter().filter(|(query, _)| is_wanted(query));
    a.filter_map(|(query, value)| Some((sign * value, *b.get(query.as_str())?))).unzip()
}

impl Lead {
    fn of(plan: &Plan, entry: &Entry, (over, baseline): (&str, &Entry), seed: u64) -> Option<Self> {
        let measure = plan.measure_names().first()?.clone();
        let (own, other) = (entry.per_query.get(&measure)?, baseline.per_query.get(&measure)?);
        let differences: Vec<Option<f64>> =
            own.iter().zip(other).map(|(own, other)| Some((*own)? - (*other)?)).collect();
        let (own, other): (Vec<f64>, Vec<f64>) =
            own.iter().zip(other).filter_map(|(own, other)| Some(((*own)?, (*other)?))).unzip();
        let (difference, _) = paired_difference(&own, &other)?;
        Some(Self { over: over.to_owned(), difference, interval: interval(&differences, seed)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Compared;

    fn plan() -> Plan {
        let mut plan = Plan::default();
        for name in ["bm25", "pls", "rmls", "pls+bm25", "stack"] {
            plan.add(name).unwrap();
        }
        plan.finish().unwrap()
    }

    fn chosen(values: &[(&str, [f64; 4])]) -> Choice {
        chosen_with(values, &[])
    }

    /// Queries, some of which depend on documents without a response.
    fn chosen_with<const N: usize>(values: &[(&str, [f64; N])], unseen: &[usize]) -> Choice {
        let unseen = unseen.iter().map(|query| format!("q{query}")).collect();
        choose(&plan(), &entries(values, &[]), &unseen, 1).unwrap()
    }

    /// Results of models with the values of their queries; the median times of a query, where they matter.
    fn entries<const N: usize>(values: &[(&str, [f64; N])], times: &[f64]) -> Entries {
        let entry = |(at, (name, values)): (usize, &(&str, [f64; N]))| {
            let validation = (0..N).map(|query| format!("q{query}")).zip(*values).collect();
            let test = [("ndcg@10".to_owned(), values.map(Some).to_vec())].into_iter().collect();
            let p50_ms = times.get(at).copied().unwrap_or(0.0);
            let row: Compared = serde_json::from_value(serde_json::json!({
                "name": name, "kind": name, "params": null, "validation": {}, "test": {}, "intervals": {}, "bins": {},
                "seconds": 0.0, "tuning_seconds": 0.0, "trials": 0, "peak_mib": null, "model_mib": 0.0,
                "latency": { "p50_ms": p50_ms, "p95_ms": p50_ms, "queries": 1 }, "curves": [], "beats": [], "beats_by": {}
            }))
            .unwrap();
            let (key, trained_key) = (String::new(), String::new());
            let entry = Entry { key, trained_key, row, per_query: test, validation, top: Vec::new() };
            ((*name).to_owned(), entry)
        };
        values.iter().enumerate().map(entry).collect()
    }

    #[test]
    fn a_faster_model_is_named_if_it_is_as_good() {
        let values = [
            ("bm25", [0.1, 0.1, 0.1, 0.1]),
            ("pls", [0.5, 0.5, 0.6, 0.5]),
            ("rmls", [0.3, 0.3, 0.4, 0.3]),
            ("stack", [0.6, 0.6, 0.55, 0.6]),
        ];
        let faster = |times: [f64; 4]| {
            let choice = choose(&plan(), &entries(&values, &times), &HashSet::default(), 1).unwrap();
            assert_eq!(choice.name, "stack");
            choice.faster.map(|faster| (faster.name, faster.p50_ms))
        };
        // The stack is better than pls by 0.0625, with a standard error of 0.0375; than rmls by 0.2625.
        assert_eq!(faster([0.1, 3.0, 2.0, 20.0]), Some(("pls".into(), 3.0)));
        assert_eq!(faster([0.1, 11.0, 2.0, 20.0]), None, "pls takes more than half the time, rmls is worse");
        assert_eq!(faster([0.1, 0.2, 0.2, 0.9]), None, "fast enough");
    }

    #[test]
    fn the_baseline_stays_unless_a_richer_model_is_clearly_better() {
        let bm25 = ("bm25", [0.4, 0.5, 0.6, 0.5]);
        // The mean is 0.05 better, its standard error 0.097.
        let noisy = chosen(&[bm25, ("pls", [0.3, 0.5, 0.6, 0.8])]);
        assert_eq!((noisy.name.as_str(), noisy.lead), ("bm25", None));
        let clear = chosen(&[bm25, ("pls", [0.5, 0.6, 0.7, 0.6])]);
        let lead = clear.lead.unwrap();
        assert_eq!((clear.name.as_str(), lead.over.as_str()), ("pls", "bm25"));
        assert!((lead.difference - 0.1).abs() < 1e-12 && (lead.interval[0] - 0.1).abs() < 1e-9);
        assert!((clear.validation - 0.6).abs() < 1e-12);
    }

    #[test]
    fn sums_and_stacks_have_to_beat_what_was_chosen_before() {
        let (bm25, rmls) = (("bm25", [0.1, 0.1, 0.1, 0.1]), ("rmls", [0.5, 0.5, 0.5, 0.5]));
        let sum = ("pls+bm25", [0.5, 0.5, 0.5, 0.51]);
        // Better than BM25, and than the sum, but not than RMLS by more than one standard error.
        let stack = ("stack", [0.9, 0.3, 0.5, 0.5]);
        assert_eq!(chosen(&[bm25, ("pls", [0.4; 4]), rmls, sum, stack]).name, "rmls");
        assert_eq!(chosen(&[bm25, rmls, ("stack", [0.6, 0.6, 0.6, 0.5])]).name, "stack");
        // Without the baseline the best single model is where it starts.
        assert_eq!(chosen(&[("pls", [0.4; 4]), rmls]).name, "rmls");
    }

    #[test]
    fn models_that_lose_where_documents_are_new_are_not_chosen() {
        let bm25 = ("bm25", [0.3, 0.3, 0.3, 0.5, 0.5, 0.5, 0.5, 0.5]);
        let memory = ("pls", [1.0, 1.0, 1.0, 0.4, 0.5, 0.4, 0.4, 0.4]);
        let words = ("rmls", [0.6, 0.6, 0.6, 0.5, 0.5, 0.5, 0.4, 0.65]);
        let new = [3, 4, 5, 6, 7];
        assert_eq!(chosen_with(&[bm25, memory, words], &[]).name, "pls");
        let choice = chosen_with(&[bm25, memory, words], &new);
        assert_eq!((choice.name.as_str(), &choice.lose_on_unseen), ("rmls", &vec!["pls".to_owned()]));
        assert!(choice.loss_on_unseen.is_none() && choice.notes()[0].ends_with("documents: pls"));
        assert_eq!(chosen_with(&[bm25, memory], &new).name, "bm25");
        // A model that is worse anyway is not said to be refused.
        let worse = ("pls", [0.2, 0.2, 0.2, 0.4, 0.4, 0.4, 0.4, 0.4]);
        assert!(chosen_with(&[bm25, worse], &new).lose_on_unseen.is_empty());
    }

    /// A gain of 0.3 on other queries and a loss of 0.3 with new documents: the share decides.
    #[test]
    fn twice_as_many_queries_with_new_documents_must_leave_a_gain() {
        let with = |n_new: usize| {
            let values = |value: f64, on_new: f64| {
                std::array::from_fn::<f64, 60, _>(|i| if i < n_new { on_new } else { value })
            };
            let new: Vec<usize> = (0..n_new).collect();
            chosen_with(&[("bm25", values(0.3, 0.5)), ("pls", values(0.6, 0.2))], &new)
        };
        let choice = with(14);
        let loss = choice.loss_on_unseen.as_ref().unwrap();
        assert_eq!((choice.name.as_str(), loss.queries, loss.of), ("pls", 14, 60));
        assert!((loss.difference + 0.3).abs() < 1e-12 && choice.lose_on_unseen.is_empty());
        assert!(choice.notes()[0].starts_with("on the 14 of 60 validation queries whose"));
        let choice = with(16);
        assert_eq!((choice.name.as_str(), choice.lose_on_unseen), ("bm25", vec!["pls".to_owned()]));
        // The means of four queries say too little to report.
        assert_eq!(with(4).loss_on_unseen, None);
    }
}
