//! Day two: new rows are added to a dataset, the live model is trained again, and the new one takes its place unless it
//! is worse.
//!
//! ```text
//! new events, catalogue --append--> dataset --train as the live model was made--> candidate
//!                                      |                                              |
//!                                      +-- newest clicks (test) --> live against candidate --> promoted, or kept
//! ```
//!
//! Under a split by time, the test holds the newest clicks. The live model learned from an older training part, which
//! ends before today's test begins because the parts move forward; so neither model has seen the test. Rows that are older
//! than all others move the parts back, and then models are not compared.
//!
//! The rule: the candidate is refused if it is significantly worse (paired t-test over the test queries, one-sided,
//! p < 0.05), or if it is worse by more than [`RefreshParams::margin`]. Otherwise it is promoted: of two models that
//! cannot be told apart, the one that knows the newest data is better tomorrow.

mod drift;
mod live;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use matchrank_core::measure::significance::Test;
use matchrank_core::progress::{Progress, WithoutNotes};
use matchrank_core::{Error, Result};
use serde::Serialize;

pub use drift::{ClickRates, Drift, ScoreShift};
pub use live::{LiveFolder, ModelVersion, VersionState, rollback};

use crate::dataset::{Dataset, Holdout, Manifest, SourceFile, Split};
use crate::files::{self, Lock};
use crate::ingest::{AppendParams, append};
use crate::model_file::{self, Provenance};
use crate::models::{MatchingModel, Training, bind};
use crate::validation::{Validation, paired_difference};

/// Everything `refresh` takes.
#[derive(Clone, Debug)]
pub struct RefreshParams {
    /// Rows to add before training; none if the dataset is up to date.
    pub added: Option<AppendParams>,
    /// A model to put in the place of the live one, instead of training that one again.
    pub model: Option<PathBuf>,
    /// Loss of NDCG@10 beyond which a candidate is refused, significant or not.
    pub margin: f64,
    /// Versions to keep, the live one included.
    pub keep: usize,
    /// Seed of the training.
    pub seed: u64,
}

impl Default for RefreshParams {
    fn default() -> Self {
        Self { added: None, model: None, margin: 0.02, keep: 5, seed: 1 }
    }
}

/// Significance level of the test that refuses a candidate.
const LEVEL: f64 = 0.05;

/// Outcome of a refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefreshOutcome {
    /// There was no live model, and now there is one.
    Created,
    /// The candidate is live.
    Promoted,
    /// The candidate is worse, and the live model stays.
    Kept,
    /// The candidate is the live model to the last byte; no version was made.
    Unchanged,
}

/// What a refresh did.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Refreshed {
    /// Outcome.
    pub outcome: RefreshOutcome,
    /// Reason for the outcome, in a sentence.
    pub reason: String,
    /// Version that is live now.
    pub live: u32,
    /// Version that was made.
    pub candidate: u32,
    /// File of the live model.
    pub model: String,
    /// Rows that were added; absent where nothing was given to add.
    pub added: Option<AddedRows>,
    /// Both models on the newest clicks; absent where there was no live model.
    pub comparison: Option<LiveComparison>,
    /// Changes of the data.
    pub drift: Drift,
    /// Seconds of each step.
    pub seconds: StepSeconds,
}

/// Rows that a refresh added to the dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AddedRows {
    /// Files that were added, with the rows that were read.
    pub files: Vec<(String, u64)>,
    /// Rows that were left out beyond those of former files, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Training pairs, before and after.
    pub pairs: [u64; 2],
    /// Documents, before and after.
    pub documents: [u64; 2],
}

impl AddedRows {
    fn between(before: &Manifest, after: &Manifest) -> Self {
        let is_new = |source: &&SourceFile| !before.sources.contains(source);
        let more = |(reason, n): (&String, &u64)| {
            let more = n.saturating_sub(before.left_out.get(reason).copied().unwrap_or(0));
            (more > 0).then(|| (reason.clone(), more))
        };
        Self {
            files: after
                .sources
                .iter()
                .filter(is_new)
                .map(|source| (source.file.clone(), source.rows))
                .collect(),
            left_out: after.left_out.iter().filter_map(more).collect(),
            pairs: [before.statistics.n_pairs, after.statistics.n_pairs],
            documents: [before.statistics.n_documents, after.statistics.n_documents],
        }
    }
}

/// Seconds of the steps of a refresh.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct StepSeconds {
    /// Adding rows to the dataset.
    pub append: f64,
    /// Training.
    pub train: f64,
    /// Measuring both models, and the drift.
    pub measure: f64,
}

/// The live model and the candidate on the same queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LiveComparison {
    /// Measure.
    pub measure: String,
    /// Test queries.
    pub queries: usize,
    /// Figure of the live model.
    pub live: f64,
    /// Figure of the candidate.
    pub candidate: f64,
    /// Candidate less live.
    pub difference: f64,
    /// Standard error of the difference; absent for fewer than two queries.
    pub standard_error: Option<f64>,
    /// One-sided p-value of the paired t-test: small where the candidate is worse.
    pub p_worse: f64,
}

impl LiveComparison {
    fn of(measure: String, live: &[f64], candidate: &[f64]) -> Self {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let differences: Vec<f64> = candidate.iter().zip(live).map(|(new, old)| new - old).collect();
        let difference = mean(&differences);
        let two_sided = Test::T.p_value(&differences, 0);
        Self {
            measure,
            queries: live.len(),
            live: mean(live),
            candidate: mean(candidate),
            difference,
            standard_error: paired_difference(candidate, live).map(|(_, error)| error),
            p_worse: if difference < 0.0 { two_sided / 2.0 } else { 1.0 - two_sided / 2.0 },
        }
    }

    /// Applies the rule: the outcome, and its reason.
    fn judge(&self, margin: f64) -> (RefreshOutcome, String) {
        let Self { difference, p_worse, queries, .. } = self;
        let figures = format!("{difference:+.4} {} on {queries} queries", self.measure);
        if *p_worse < LEVEL {
            let p = if *p_worse < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p_worse:.3}") };
            let reason = format!("the new model is significantly worse: {figures}, {p}");
            (RefreshOutcome::Kept, reason)
        } else if *difference < -margin {
            (RefreshOutcome::Kept, format!("the new model is worse by more than {margin}: {figures}"))
        } else {
            (RefreshOutcome::Promoted, format!("the new model is not worse: {figures}"))
        }
    }
}

/// Adds rows to the dataset in `data`, makes a new version of the model in the folder `live`, and promotes it unless it is
/// worse on the newest clicks.
pub fn refresh(
    params: &RefreshParams,
    data: &Path,
    live: &Path,
    progress: &dyn Progress,
) -> Result<Refreshed> {
    if !(params.margin >= 0.0 && params.margin.is_finite()) {
        return Err(Error::Params("option `margin` must be 0 or more".into()));
    }
    if params.keep == 0 {
        return Err(Error::Params("option `keep` must be 1 or more".into()));
    }
    // What can be refused is refused before anything is added.
    let folder = LiveFolder::open_or_new(live)?;
    if params.model.is_none() && folder.current().is_none() {
        let message = "there is no live model yet; give the first one with option `model`";
        return Err(Error::format(files::name_of(live), message));
    }
    folder.create()?;
    let _lock = Lock::of(live)?;
    // Another process may have ended just now.
    let mut folder = LiveFolder::open_or_new(live)?;
    folder.repair()?;
    let given = params.model.as_deref().map(model_file::load).transpose()?;
    let current = folder.current().map(|version| folder.load(version)).transpose()?;
    let made_by = match (&given, &current) {
        (Some(_), _) => None,
        (None, Some((_, provenance))) => Some(provenance.made_by.clone().ok_or_else(|| {
            Error::format(
                files::name_of(live),
                "the file of the live model does not say how it was made (it is of a former version, or was trained from a \
                 file of tuples); train it again, and give it with option `model`",
            )
        })?),
        (None, None) => unreachable!("refused above"),
    };
    let mut seconds = StepSeconds::default();
    let mut clock = Instant::now();
    let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64();
    let mut added_rows = None;
    if let Some(added) = &params.added {
        let before = Dataset::open(data)?.manifest;
        let after = append(&AppendParams { skip_known: true, ..added.clone() }, data, progress)?;
        added_rows = Some(AddedRows::between(&before, &after));
    }
    seconds.append = lap();
    let dataset = Dataset::open(data)?;
    let test = Validation::on(Holdout::Test, None, &dataset, params.seed)?;
    let Some((test, _)) = test else {
        return Err(Error::format(
            files::name_of(data),
            "holds no clicks out, so that models cannot be compared; ingest with option `split time`",
        ));
    };
    for (_, provenance) in given.iter().chain(&current) {
        check_unseen(provenance, &dataset)?;
    }
    // As the live model was made, its seed included.
    let seed = current.as_ref().and_then(|(_, provenance)| provenance.seed).unwrap_or(params.seed);
    let (model, provenance): (Arc<dyn MatchingModel>, Provenance) = match (given, made_by) {
        (Some(given), _) => given,
        (None, Some(made_by)) => {
            let quiet = WithoutNotes(progress);
            let model = made_by.train(&Training::new(&dataset, seed, &quiet))?;
            let seed = made_by.is_seeded().then_some(seed);
            let provenance = Provenance::of_dataset(&dataset, seed).made_by(Some(made_by));
            (model, provenance)
        }
        (None, None) => unreachable!("refused above"),
    };
    seconds.train = lap();
    let candidate = LiveFigures::of(&*model, &dataset, &test)?;
    let former = current.as_ref().map(|(model, _)| LiveFigures::of(&**model, &dataset, &test)).transpose()?;
    let comparison = former
        .as_ref()
        .map(|former| LiveComparison::of(test.measure().to_string(), &former.values, &candidate.values));
    let (outcome, reason) = match &comparison {
        Some(comparison) => comparison.judge(params.margin),
        None => (RefreshOutcome::Created, "the first live model".to_owned()),
    };
    let shift = former.and_then(|former| {
        let then = folder.current()?.top_scores?;
        Some(ScoreShift::between(then, former.top_scores?))
    });
    let drift = Drift::of(&dataset, shift)?;
    let state = if outcome == RefreshOutcome::Kept { VersionState::Refused } else { VersionState::Live };
    let version = ModelVersion {
        number: folder.next_number(),
        kind: model.kind().to_owned(),
        state,
        content_hash: dataset.manifest.content_hash.clone(),
        figure: candidate.mean(),
        top_scores: candidate.top_scores,
        reason: reason.clone(),
    };
    let mut number = version.number;
    let (mut outcome, mut reason) = (outcome, reason);
    if !folder.add(version, |path| model_file::save(path, &*model, &provenance), params.keep)? {
        number = folder.current().map_or(number, |version| version.number);
        (outcome, reason) =
            (RefreshOutcome::Unchanged, "the new model is the live one to the last byte".into());
    }
    seconds.measure = lap();
    let live_now = folder.current().map_or(number, |version| version.number);
    let model = files::name_of(&folder.current_file());
    let (live, candidate, added) = (live_now, number, added_rows);
    Ok(Refreshed { outcome, reason, live, candidate, model, added, comparison, drift, seconds })
}

/// Returns an error if a model may have learned from clicks that are held out now. Clicks that are older than all others
/// move the parts of a split by time back.
fn check_unseen(provenance: &Provenance, dataset: &Dataset) -> Result<()> {
    let learned_until = provenance.data.get(model_file::TEST_FROM).and_then(|time| time.0.as_i64());
    let (Some(until), Split::Time { test_from, .. }) = (learned_until, &dataset.manifest.split) else {
        return Ok(());
    };
    if until <= *test_from {
        return Ok(());
    }
    Err(Error::format(
        files::name_of(dataset.folder()),
        "holds clicks out that a model has learned from, because rows older than its training were added, so that models \
         cannot be compared; train a model on the dataset as it is, and give it with option `model` and a new folder for \
         option `live`",
    ))
}

/// A model on the test queries.
struct LiveFigures {
    values: Vec<f64>,
    /// Mean and standard deviation of the best score of a query.
    top_scores: Option<[f64; 2]>,
}

impl LiveFigures {
    fn of(model: &dyn MatchingModel, dataset: &Dataset, test: &Validation) -> Result<Self> {
        let matcher = bind(model, dataset, test.wanted(), &matchrank_core::progress::Silent)?;
        let mut scorer = matcher.begin(&test.queries())?;
        let values = test.by_query(&mut *scorer)?.into_iter().map(Option::unwrap_or_default).collect();
        Ok(Self { values, top_scores: drift::mean_and_deviation(&test.best_scores(&mut *scorer)) })
    }

    fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests;
