//! Preferences from clicks and positions by Joachims' rules: for a query, a document that was clicked is better
//! than
//!
//! - those that were shown above it and not clicked (the user looked at them, and went on), and
//! - the one that was shown next below it, if it was not clicked (most users look one further).
//!
//! A dataset holds sums over all searches of a query, so a document was clicked if it ever was, and stands at
//! its mean position; clicked documents are not compared with each other. Positions are those of the log.
//!
//! Reference: T. Joachims, *Optimizing Search Engines Using Clickthrough Data*, KDD 2002; T. Joachims and
//! others, *Accurately Interpreting Clickthrough Data as Implicit Feedback*, SIGIR 2005.

use foldhash::HashMap;
use matchrank_core::Result;
use serde::{Deserialize, Serialize};

use crate::dataset::{Clicks, Dataset, Holdout, Judged};

/// Documents shown to a query, from the top down; each clicked one with those that are worse.
pub(crate) struct Shown {
    /// Documents that were not clicked, the one at the top first.
    skipped: Vec<u32>,
    /// Clicked documents by number, and which of `skipped` are worse.
    clicked: Vec<(u32, std::ops::Range<u32>)>,
}

impl Shown {
    /// `skipped` and `clicked` with their mean positions.
    fn new(mut skipped: Vec<(f32, u32)>, clicked: &[(f32, u32)]) -> Self {
        skipped.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let worse = |&(position, document): &(f32, u32)| {
            let above = skipped.partition_point(|(other, _)| *other < position);
            // A skipped document at the same mean position stands neither above nor below.
            let below = skipped.partition_point(|(other, _)| *other <= position);
            let next = skipped.get(below).filter(|(other, _)| {
                below == above && !clicked.iter().any(|(between, _)| *between > position && between <= other)
            });
            (document, 0..(above + usize::from(next.is_some())) as u32)
        };
        let mut clicked: Vec<_> = clicked.iter().map(worse).filter(|(_, worse)| !worse.is_empty()).collect();
        clicked.sort_unstable_by_key(|(document, _)| *document);
        Self { skipped: skipped.into_iter().map(|(_, document)| document).collect(), clicked }
    }

    /// The documents that are worse than a clicked one.
    pub(crate) fn worse_than(&self, document: u32) -> &[u32] {
        match self.clicked.binary_search_by_key(&document, |(clicked, _)| *clicked) {
            Ok(at) => &self.skipped[self.clicked[at].1.start as usize..self.clicked[at].1.end as usize],
            Err(_) => &[],
        }
    }

    /// Clicked documents, each with those that are worse.
    fn pairs(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.clicked.iter().map(|(document, _)| (*document, self.worse_than(*document)))
    }
}

/// Document in the results of one search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShownResult {
    /// Position on the result page.
    pub position: u32,
    /// True if the user clicked the document.
    pub is_clicked: bool,
}

/// Preferences of one search by Joachims' rules, as pairs of a clicked result and a worse one, by their places in
/// `results`. Clicked results come in their order in `results`; the worse ones of each from the top down.
///
/// ```
/// use matchrank_engine::preferences::{ShownResult, passed_over};
///
/// let clicks = [false, true, false, false];
/// let results: Vec<ShownResult> =
///     (1..).zip(clicks).map(|(position, is_clicked)| ShownResult { position, is_clicked }).collect();
/// assert_eq!(passed_over(&results), [(1, 0), (1, 2)]);
/// ```
pub fn passed_over(results: &[ShownResult]) -> Vec<(usize, usize)> {
    let of = |is_clicked: bool| -> Vec<(f32, u32)> {
        let numbered = (0u32..).zip(results).filter(|(_, result)| result.is_clicked == is_clicked);
        numbered.map(|(number, result)| (result.position as f32, number)).collect()
    };
    let shown = Shown::new(of(false), &of(true));
    let pairs = shown
        .pairs()
        .flat_map(|(better, worse)| worse.iter().map(move |&worse| (better as usize, worse as usize)));
    pairs.collect()
}

/// Documents shown to every query, by its row among the clicks.
pub(crate) struct Showings {
    by_query: HashMap<u32, Shown>,
}

impl Showings {
    /// None where the log has no positions.
    pub(crate) fn of(dataset: &Dataset, clicks: &Clicks) -> Result<Self> {
        let impressions = dataset.skipped()?;
        if impressions.is_empty() {
            return Ok(Self { by_query: HashMap::default() });
        }
        // Queries of the same text share what they were shown, under the row of the first of them.
        let clicked = dataset.clicked_positions()?;
        let rows: Vec<u32> = impressions.iter().chain(&clicked).map(|pair| pair.query).collect();
        let texts = dataset.query_texts_of(&rows)?;
        let mut both: HashMap<u32, [Vec<(f32, u32)>; 2]> = HashMap::default();
        for pair in impressions.iter().chain(&clicked) {
            let Some(query) = clicks.row_of(&texts[&pair.query]) else { continue };
            let is_clicked = clicks.of_query(query).indices().binary_search(&pair.document).is_ok();
            both.entry(query).or_default()[usize::from(is_clicked)].push((pair.position, pair.document));
        }
        let shown = both.into_iter().map(|(query, [mut skipped, mut clicked])| {
            for list in [&mut skipped, &mut clicked] {
                // The same document under two ids of the query: it stands where it stood highest.
                list.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
                list.dedup_by_key(|(_, document)| *document);
            }
            (query, Shown::new(skipped, &clicked))
        });
        Ok(Self { by_query: shown.filter(|(_, shown)| !shown.clicked.is_empty()).collect() })
    }

    /// Removes and returns the documents shown to a query.
    pub(crate) fn take(&mut self, query: u32) -> Option<Shown> {
        self.by_query.remove(&query)
    }

    /// Pairs of a clicked document and a worse one.
    pub(crate) fn n_pairs(&self) -> u64 {
        self.by_query.values().flat_map(Shown::pairs).map(|(_, worse)| worse.len() as u64).sum()
    }
}

/// Agreement of judgments with the preferences that Joachims' rules find in a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCheck {
    /// Preferences: a query, a clicked document and one that was passed over.
    pub n_pairs: u64,
    /// Those of which both documents are judged.
    pub n_judged: u64,
    /// Those of them whose clicked document has the lower grade: the rules and the judgments contradict.
    pub n_contradicted: u64,
    /// Those whose documents have the same grade.
    pub n_equal: u64,
}

impl RuleCheck {
    /// Share of the judged preferences that the judgments contradict.
    pub fn contradicted(&self) -> f64 {
        self.n_contradicted as f64 / self.n_judged.max(1) as f64
    }

    /// Share of the judged preferences between documents of the same grade.
    pub fn equal(&self) -> f64 {
        self.n_equal as f64 / self.n_judged.max(1) as f64
    }

    /// The preferences of a dataset beside the grades of some of its judgments; held-out clicks are no
    /// judgments. `None` where the log has no positions.
    pub fn of(dataset: &Dataset, clicks: &Clicks, holdouts: &[Holdout]) -> Result<Option<Self>> {
        let showings = Showings::of(dataset, clicks)?;
        let mut check = Self { n_pairs: showings.n_pairs(), ..Self::default() };
        if check.n_pairs == 0 {
            return Ok(None);
        }
        let mut judgments: Vec<Judged> = Vec::new();
        for &holdout in holdouts {
            judgments.extend(dataset.judgments(holdout)?.iter().filter(|judged| judged.clicks == 0.0));
        }
        let rows: Vec<u32> = judgments.iter().map(|judged| judged.query).collect();
        let texts = dataset.query_texts_of(&rows)?;
        for list in judgments.chunk_by(|a, b| a.query == b.query) {
            let shown = clicks.row_of(&texts[&list[0].query]).and_then(|row| showings.by_query.get(&row));
            let grade = |document: u32| {
                let at = list.binary_search_by_key(&document, |judged| judged.document).ok()?;
                Some(list[at].grade)
            };
            for (clicked, worse) in shown.into_iter().flat_map(Shown::pairs) {
                let Some(better) = grade(clicked) else { continue };
                for grade in worse.iter().filter_map(|&document| grade(document)) {
                    check.n_judged += 1;
                    check.n_contradicted += u64::from(better < grade);
                    check.n_equal += u64::from(better == grade);
                }
            }
        }
        Ok(Some(check))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Position by position, as the rules are told.
    fn obvious(list: &[bool], clicked: usize) -> Vec<u32> {
        let above = (0..clicked).filter(|&other| !list[other]);
        let next = (clicked + 1 < list.len() && !list[clicked + 1]).then_some(clicked + 1);
        above.chain(next).map(|place| place as u32).collect()
    }

    proptest! {
        #[test]
        fn the_rules_are_those_of_the_paper(list in prop::collection::vec(prop::bool::ANY, 1..12)) {
            let at = |wanted: bool| -> Vec<(f32, u32)> {
                (0..).zip(&list).filter(|(_, clicked)| **clicked == wanted)
                    .map(|(place, _)| (place as f32 + 1.0, place)).collect()
            };
            let shown = Shown::new(at(false), &at(true));
            for (place, clicked) in list.iter().enumerate() {
                let expected = if *clicked { obvious(&list, place) } else { Vec::new() };
                prop_assert_eq!(shown.worse_than(place as u32), &expected[..], "{} of {:?}", place, &list);
            }
        }
    }
}
