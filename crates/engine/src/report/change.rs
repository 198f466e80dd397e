//! The change that searchers see: the share of test queries whose first result is relevant, with the chosen model and with
//! the baseline.
//!
//! Every test query with a relevant document counts once. The first result is the one that `rank` serves. Rankers of
//! feature lists keep no rankings; for them NDCG@1 above 0 means that the first result is relevant.

use foldhash::HashSet;

use crate::comparison::bootstrap::interval;
use crate::comparison::{Entry, Protocol, TestQuery};

/// Measure that is above 0 where the first result is relevant.
const FIRST: &str = "ndcg@1";

/// Queries with a relevant first result, with a model and with the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SearchChange {
    /// Number of queries.
    pub queries: usize,
    /// Share with the baseline.
    pub before: f64,
    /// Share with the model.
    pub after: f64,
    /// Queries whose first result is relevant only with the model.
    pub gained: usize,
    /// Queries whose first result is relevant only with the baseline.
    pub lost: usize,
    /// 95 % confidence interval of the difference of the shares; none for fewer than two queries.
    pub interval: Option<[f64; 2]>,
}

impl SearchChange {
    /// Compares a model with the baseline; `None` if first results are unknown, or no query has a relevant document.
    pub(super) fn of(
        model: &Entry,
        baseline: &Entry,
        queries: &[TestQuery],
        protocol: &Protocol,
    ) -> Option<Self> {
        let measured = baseline.per_query.get(protocol.measures.first()?)?;
        let (before, after) = (first_is_relevant(baseline, queries)?, first_is_relevant(model, queries)?);
        let pairs: Vec<(bool, bool)> = before
            .into_iter()
            .zip(after)
            .zip(measured)
            .filter(|(_, value)| value.is_some())
            .map(|(pair, _)| pair)
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let share = |count: usize| count as f64 / pairs.len() as f64;
        let count =
            |is_counted: fn(&(bool, bool)) -> bool| pairs.iter().filter(|pair| is_counted(pair)).count();
        let differences: Vec<Option<f64>> = pairs
            .iter()
            .map(|(before, after)| Some(f64::from(u8::from(*after)) - f64::from(u8::from(*before))))
            .collect();
        Some(Self {
            queries: pairs.len(),
            before: share(count(|(before, _)| *before)),
            after: share(count(|(_, after)| *after)),
            gained: count(|(before, after)| *after && !before),
            lost: count(|(before, after)| *before && !after),
            interval: interval(&differences, protocol.seed),
        })
    }

    /// Difference of the shares: above 0 in favour of the model.
    pub fn difference(&self) -> f64 {
        (self.gained as f64 - self.lost as f64) / self.queries as f64
    }

    /// Returns true if the interval excludes 0.
    pub fn is_clear(&self) -> bool {
        self.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }
}

/// For every query, whether its first result is relevant.
fn first_is_relevant(entry: &Entry, queries: &[TestQuery]) -> Option<Vec<bool>> {
    if entry.top.len() != queries.len() {
        let values = entry.per_query.get(FIRST)?;
        return Some(values.iter().map(|value| value.is_some_and(|value| value > 0.0)).collect());
    }
    let is_relevant = |(query, top): (&TestQuery, &Vec<(String, f32)>)| {
        let relevant: HashSet<&str> =
            query.judged.iter().filter(|(_, grade)| *grade > 0.0).map(|(id, _)| id.as_str()).collect();
        top.first().is_some_and(|(id, _)| relevant.contains(id.as_str()))
    };
    Some(queries.iter().zip(&entry.top).map(is_relevant).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{entry, protocol, test_query};
    use super::*;

    /// Entries whose first result is relevant for some queries.
    fn with_first(firsts: &[bool]) -> Entry {
        let mut made = entry("m", vec![Some(0.5); firsts.len()]);
        made.top =
            firsts.iter().map(|first| vec![(if *first { "d" } else { "e" }.to_owned(), 1.0)]).collect();
        made
    }

    #[test]
    fn first_results_are_counted_query_by_query() {
        let queries: Vec<TestQuery> = (0..4).map(|i| test_query(i, "words")).collect();
        let before = with_first(&[false, false, true, true]);
        let after = with_first(&[true, true, true, false]);
        let change = SearchChange::of(&after, &before, &queries, &protocol()).unwrap();
        assert_eq!((change.queries, change.gained, change.lost), (4, 2, 1));
        assert_eq!((change.before, change.after, change.difference()), (0.5, 0.75, 0.25));
        let [low, high] = change.interval.unwrap();
        assert!(low < 0.0 && high > 0.25 && !change.is_clear(), "{low} {high}");
        let none = SearchChange::of(&before, &before, &queries, &protocol()).unwrap();
        assert_eq!((none.difference(), none.interval), (0.0, Some([0.0, 0.0])));
    }

    #[test]
    fn queries_without_a_relevant_document_do_not_count() {
        let queries: Vec<TestQuery> = (0..2).map(|i| test_query(i, "words")).collect();
        let mut before = with_first(&[false, false]);
        before.per_query.values_mut().for_each(|values| values[1] = None);
        let change = SearchChange::of(&with_first(&[true, true]), &before, &queries, &protocol()).unwrap();
        assert_eq!((change.queries, change.after, change.interval), (1, 1.0, None));
        assert!(
            SearchChange::of(&before, &before, &[], &protocol()).is_none(),
            "no first results, and no NDCG@1"
        );
    }

    #[test]
    fn rankers_of_lists_are_known_by_ndcg_at_1() {
        let queries: Vec<TestQuery> = (0..40).map(|i| test_query(i, "")).collect();
        let with = |value: f64| {
            let mut made = entry("m", vec![Some(0.5); 40]);
            made.top.clear();
            made.per_query.insert(FIRST.into(), vec![Some(value); 40]);
            made
        };
        let change = SearchChange::of(&with(0.3), &with(0.0), &queries, &protocol()).unwrap();
        assert_eq!((change.gained, change.lost, change.interval), (40, 0, Some([1.0, 1.0])));
        assert!(change.is_clear());
    }
}
