//! Changes of the data: how much of the newest clicks training has not seen, and how scores and click rates moved.

use foldhash::{HashMap, HashSet};
use matchrank_core::Result;
use serde::Serialize;

use crate::dataset::{Dataset, Holdout, Split};
use crate::text::Analyser;

/// Changes of the data. Shares are of the newest clicks, those held out for the test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Drift {
    /// Newest clicks.
    pub clicks: f64,
    /// Share of the words of their queries that neither documents nor training queries have, a query counted once a click.
    pub unknown_words: f64,
    /// Share of the clicks whose query has no training click.
    pub unseen_queries: f64,
    /// Share of the clicks on documents without a training click.
    pub unseen_documents: f64,
    /// Clicks per impression before and in the newest part; absent where the log has no impressions, times or history.
    pub click_rates: Option<ClickRates>,
    /// Best scores of the live model, when it was promoted and now; absent for the first model.
    pub scores: Option<ScoreShift>,
}

/// Clicks per impression.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClickRates {
    /// Before the newest part.
    pub before: f64,
    /// In the newest part.
    pub newest: f64,
}

/// Best scores of a model over queries, at two times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ScoreShift {
    /// Mean then.
    pub then: f64,
    /// Mean now.
    pub now: f64,
    /// Their difference in standard deviations of then.
    pub deviations: f64,
}

impl ScoreShift {
    pub(super) fn between([then, deviation]: [f64; 2], [now, _]: [f64; 2]) -> Self {
        let deviations = if deviation > 0.0 { (now - then) / deviation } else { 0.0 };
        Self { then, now, deviations }
    }
}

/// Mean and standard deviation; none for no values.
pub(super) fn mean_and_deviation(values: &[f64]) -> Option<[f64; 2]> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    Some([mean, variance.sqrt()])
}

impl Drift {
    pub(super) fn of(dataset: &Dataset, scores: Option<ScoreShift>) -> Result<Self> {
        let queries = dataset.queries()?;
        let (mut trained, mut clicked): (HashSet<&str>, HashSet<u32>) = Default::default();
        for response in dataset.responses()? {
            trained.insert(&queries[response.query as usize].text);
            clicked.insert(response.document);
        }
        let analyser = Analyser::new(&dataset.manifest.analyser)?;
        let vocabulary = dataset.vocabulary()?;
        let (mut clicks, mut unseen_queries, mut unseen_documents) = (0.0, 0.0, 0.0);
        let (mut words, mut unknown) = (0.0, 0.0);
        let mut counts: HashMap<u32, [f64; 2]> = HashMap::default();
        for judged in dataset.judgments(Holdout::Test)?.iter().filter(|judged| judged.grade > 0.0) {
            // Judgments without clicks count once.
            let n = if judged.clicks > 0.0 { f64::from(judged.clicks) } else { 1.0 };
            let text = queries[judged.query as usize].text.as_str();
            clicks += n;
            unseen_queries += if trained.contains(text) { 0.0 } else { n };
            unseen_documents += if clicked.contains(&judged.document) { 0.0 } else { n };
            let [all, new] = *counts.entry(judged.query).or_insert_with(|| {
                let (mut all, mut new) = (0.0, 0.0);
                analyser.tokens(text, |token| {
                    all += 1.0;
                    new += if vocabulary.id(token).is_none() { 1.0 } else { 0.0 };
                });
                [all, new]
            });
            words += n * all;
            unknown += n * new;
        }
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Ok(Self {
            clicks,
            unknown_words: share(unknown, words),
            unseen_queries: share(unseen_queries, clicks),
            unseen_documents: share(unseen_documents, clicks),
            click_rates: click_rates(dataset)?,
            scores,
        })
    }
}

fn click_rates(dataset: &Dataset) -> Result<Option<ClickRates>> {
    let (Split::Time { test_from, .. }, Some(_)) = (&dataset.manifest.split, &dataset.manifest.history)
    else {
        return Ok(None);
    };
    let [before, newest] = dataset.shown_and_clicked(*test_from)?;
    let rate = |[shown, clicks]: [f64; 2]| clicks / shown;
    let has_impressions = |[shown, clicks]: [f64; 2]| shown > 0.0 && shown > clicks;
    Ok((has_impressions(before) && has_impressions(newest))
        .then(|| ClickRates { before: rate(before), newest: rate(newest) }))
}
