//! A ranker of one fold: tuned, trained and tested.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use matchrank_core::Result;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::measure::Evaluation;
use matchrank_core::progress::Progress;
use matchrank_core::ranking::evaluate_ranker;
use serde_json::json;

use super::split::train_and_validation;
use super::{FoldRun, PlannedRanker};
use crate::by_name::ByName;
use crate::comparison::course::Course;
use crate::comparison::results::{Latency, file_name};
use crate::json::Json;
use crate::memory::{Cost, timed};
use crate::model_file::Provenance;
use crate::rankers::{RankerRecipe, RankerTraining, RankingModel};
use crate::ranking::Ranking;
use crate::tuning::{RankerTuner, Session, Trial};

/// A ranker of one fold, tested.
pub(super) struct Tested {
    pub(super) model: Arc<dyn RankingModel>,
    pub(super) provenance: Provenance,
    pub(super) evaluation: Evaluation,
    pub(super) validation: f64,
    pub(super) rankings: Vec<Ranking>,
    pub(super) trials: Vec<Trial>,
    /// Settings that tuning chose in place of the plan's.
    pub(super) chosen: ByName<Json>,
    pub(super) cost: Cost,
    pub(super) latency: Option<Latency>,
    pub(super) notes: Vec<String>,
}

/// Passes stages on, and keeps notes for the table.
struct KeepsNotes<'a>(&'a dyn Progress, Mutex<Vec<String>>);

impl Progress for KeepsNotes<'_> {
    fn begin(&self, stage: &str, total: Option<u64>, unit: &str) {
        self.0.begin(stage, total, unit);
    }
    fn advance(&self, n: u64) {
        self.0.advance(n);
    }
    fn note(&self, message: &str) {
        self.1.lock().expect("no panic while a note is kept").push(message.to_owned());
    }
}

impl FoldRun<'_> {
    /// Tunes, trains and tests a ranker of one fold; none where tuning was stopped.
    pub(super) fn test(&self, planned: &PlannedRanker, fold: usize) -> Result<Option<Tested>> {
        let Self { course, folds, rankers } = self;
        let Course { plan, folder, seed, stop, progress } = *course;
        let PlannedRanker { name, kind, settings, .. } = planned;
        let training = RankerTraining { query: rankers.query, seed };
        let (train, validation) = train_and_validation(&folds.lists, fold);
        let how = self.search(planned);
        let (recipe, trials, chosen, time_limit) = if how.tunes() {
            let trace = folder.join("traces").join(format!("{}.fold{}.jsonl", file_name(name), fold + 1));
            let tuner = RankerTuner {
                train: &train,
                validation: &validation,
                measure: plan.tuned_by,
                scalings: &rankers.scalings,
                training,
                content: &format!("{}, fold {}", folds.content_hash, fold + 1),
                session: Session { trace: Some(&trace), replace: true, stop },
            };
            let (recipe, tuned) = tuner.tune(kind, settings, &how, progress)?;
            if tuned.stopped {
                return Ok(None);
            }
            let chosen = tuned.best().settings.clone();
            let time_limit = tuned.time_limit(&how);
            (recipe, tuned.trials, chosen, time_limit)
        } else {
            (RankerRecipe::new(kind, settings, &rankers.scalings)?, Vec::new(), ByName::default(), None)
        };
        let notes = KeepsNotes(progress, Mutex::default());
        let (mut model, mut cost) = timed(|| {
            let validation = Some((validation.clone(), plan.tuned_by));
            recipe.train(training.on(train.clone(), validation), &notes)
        })?;
        let value = training.value_on(Arc::clone(&model), &validation, plan.tuned_by)?;
        if rankers.refit {
            let all = FeatureLists::concatenate(&[&train, &validation]);
            let settled = model.settled();
            (model, cost) = timed(|| settled.train(training.on(all, None), &notes))?;
        }
        let test = &folds.lists[fold];
        model = training.inform(model, test)?;
        let mut notes = notes.1.into_inner().expect("no panic while a note is kept");
        notes.extend(model.remark().map(str::to_owned));
        let reached = time_limit.filter(|limit| limit.reached);
        notes.extend(reached.map(|limit| format!("limit of time: {}", limit.sentence())));
        Ok(Some(Tested {
            provenance: Provenance { time_limit, ..self.provenance(fold, &train, &validation) },
            evaluation: evaluate_ranker(&*model, test, &plan.measures)?,
            validation: value,
            rankings: rankings(&*model, test),
            trials,
            chosen,
            cost,
            latency: (fold == 0).then(|| latency(&*model, test)),
            notes,
            model,
        }))
    }

    fn provenance(&self, fold: usize, train: &FeatureLists, validation: &FeatureLists) -> Provenance {
        let more = self.rankers.refit.then_some(validation);
        let count = |of: fn(&FeatureLists) -> usize| of(train) + more.map_or(0, of);
        let data = [
            ("lists", json!(count(FeatureLists::n_queries))),
            ("documents", json!(count(FeatureLists::n_rows))),
            ("features", json!(train.n_features())),
            ("tested_on", json!(self.folds.names[fold])),
        ];
        Provenance {
            seed: Some(self.course.seed),
            data: data.into_iter().map(|(name, value)| (name.to_owned(), Json(value))).collect(),
            ..Provenance::default()
        }
    }
}

/// The rankings of all lists. Documents of equal score stand by id.
fn rankings(model: &dyn RankingModel, lists: &FeatureLists) -> Vec<Ranking> {
    let scores = model.score_all(lists);
    let ranking = |list: List<'_>| {
        let mut documents: Vec<(String, f32)> =
            list.rows().map(|row| (lists.document(row).to_owned(), scores[row] as f32)).collect();
        documents.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        (list.query().to_owned(), documents)
    };
    lists.iter().map(ranking).collect()
}

/// Times the scoring of one list after the other.
fn latency(ranker: &dyn RankingModel, lists: &FeatureLists) -> Latency {
    let mut scores = Vec::new();
    let mut times: Vec<f64> = lists
        .iter()
        .take(100)
        .map(|list| {
            let begun = Instant::now();
            ranker.score(&list, &mut scores);
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    Latency::of(&mut times)
}
