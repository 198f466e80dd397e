//! The test queries, and what a model is worth on them.

use std::time::Instant;

use matchrank_core::Result;
use matchrank_core::measure::{Conventions, Dialect, Evaluation, Measure, evaluate};
use matchrank_core::progress::Silent;

use super::bootstrap::interval;
use super::plan::Plan;
use super::results::{BinFigures, Figures, Latency, TestQuery};
use crate::by_name::ByName;
use crate::dataset::{BinBy, BinLabel, Dataset, HeldOut, Holdout};
use crate::models::{MatchingModel, bind};
use crate::ranking::{RankRequest, Ranking, judged_candidates, rank_candidates, rank_collection};
use crate::validation::Ranked;

/// Documents of a ranking of the whole collection.
const DEPTH: usize = 1000;
/// Queries whose ranking is timed at most, and the seconds after which no more are.
const TIMED: (usize, f64) = (100, 3.0);

/// The test queries.
pub(super) struct TestSet {
    held_out: HeldOut,
    ranked: Ranked,
    measures: Vec<Measure>,
    /// Labels of the queries by every property that bins divide them by.
    labels: Vec<(BinBy, Vec<Option<BinLabel>>)>,
}

/// Figures of a model on the test queries.
pub(super) struct Measured {
    pub(super) means: Figures,
    pub(super) intervals: ByName<[f64; 2]>,
    pub(super) bins: ByName<Vec<BinFigures>>,
    pub(super) per_query: ByName<Vec<Option<f64>>>,
    /// In the order of the test queries.
    pub(super) rankings: Vec<Ranking>,
}

impl TestSet {
    pub(super) fn of(dataset: &Dataset, plan: &Plan, ranked: Ranked) -> Result<Self> {
        let held_out = HeldOut::of(dataset, Holdout::Test)?;
        let labels = BinBy::ALL
            .into_iter()
            .map(|by| Ok((by, held_out.bin_labels(by, dataset)?)))
            .collect::<Result<_>>()?;
        Ok(Self { held_out, ranked, measures: plan.measures.clone(), labels })
    }

    pub(super) fn n_queries(&self) -> usize {
        self.held_out.queries.len()
    }

    /// Number of queries with a relevant document.
    pub(super) fn n_measured(&self) -> usize {
        let is_measured = |list: &&Vec<(String, f32)>| list.iter().any(|(_, grade)| *grade > 0.0);
        self.held_out.judged.iter().filter(is_measured).count()
    }

    pub(super) fn held_out(&self) -> &HeldOut {
        &self.held_out
    }

    pub(super) fn queries(&self) -> Vec<TestQuery> {
        let HeldOut { queries, clicks, n_words, judged, traffic } = &self.held_out;
        (0..queries.len())
            .map(|i| TestQuery {
                id: queries[i].id.clone(),
                text: queries[i].text.clone(),
                clicks: clicks[i],
                n_words: n_words[i],
                judged: judged[i].clone(),
                traffic: traffic[i].clicks,
            })
            .collect()
    }

    /// Ranks the test queries and measures the rankings.
    pub(super) fn measure(
        &self,
        model: &dyn MatchingModel,
        dataset: &Dataset,
        seed: u64,
    ) -> Result<Measured> {
        let queries = &self.held_out.queries;
        let rankings = match self.ranked {
            Ranked::Judged => rank_candidates(
                &RankRequest { model, dataset, queries },
                &judged_candidates(&self.held_out),
                &Silent,
            )?,
            Ranked::All => rank_collection(&RankRequest { model, dataset, queries }, DEPTH, &Silent)?,
        };
        let conventions = Conventions::of(Dialect::Matchrank);
        let evaluation = evaluate(&self.held_out.qrels()?, &rankings[..], &self.measures, &conventions)?;
        // The evaluation may have its own order.
        let places: foldhash::HashMap<&str, usize> = evaluation.queries().zip(0..).collect();
        let per_query: ByName<Vec<Option<f64>>> = (0..)
            .zip(&self.measures)
            .map(|(m, measure)| {
                let value =
                    |query: &crate::dataset::Query| evaluation.value(*places.get(query.id.as_str())?, m);
                (measure.to_string(), queries.iter().map(value).collect())
            })
            .collect();
        let intervals = intervals(&per_query, seed);
        let mut bins = ByName::default();
        for (by, labels) in &self.labels {
            bins.insert(by.name().to_owned(), self.binned(labels, &evaluation)?);
        }
        let means = self.named((0..self.measures.len()).map(|m| evaluation.mean(m)));
        Ok(Measured { means, intervals, bins, per_query, rankings })
    }

    fn binned(&self, labels: &[Option<BinLabel>], evaluation: &Evaluation) -> Result<Vec<BinFigures>> {
        let bins = self.held_out.bins_of(labels)?.means(evaluation);
        let figures = |bin: matchrank_core::measure::bins::BinMeans| BinFigures {
            bin: bin.label.unwrap_or_default(),
            queries: bin.n_queries,
            figures: self.named(bin.means.into_iter()),
        };
        Ok(bins.into_iter().filter(|bin| bin.n_queries > 0).map(figures).collect())
    }

    fn named(&self, values: impl Iterator<Item = f64>) -> Figures {
        self.measures.iter().map(ToString::to_string).zip(values).collect()
    }

    /// Measures the time to find the ten best documents, query by query.
    pub(super) fn latency(&self, model: &dyn MatchingModel, dataset: &Dataset) -> Result<Latency> {
        let matcher = bind(model, dataset, None, &Silent)?;
        let started = Instant::now();
        let mut times = Vec::new();
        for query in self.held_out.queries.iter().take(TIMED.0) {
            let begun = Instant::now();
            matcher.top(&[&query.text], 10, &Silent)?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            if started.elapsed().as_secs_f64() > TIMED.1 {
                break;
            }
        }
        Ok(Latency::of(&mut times))
    }
}

/// Returns the interval of every measure that has one.
pub(super) fn intervals(per_query: &ByName<Vec<Option<f64>>>, seed: u64) -> ByName<[f64; 2]> {
    per_query.iter().filter_map(|(name, values)| Some((name.clone(), interval(values, seed)?))).collect()
}
