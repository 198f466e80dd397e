//! Margin, C and lambda, chosen by NDCG@10 on the validation judgments.
//!
//! Candidates go through rungs: every combination learns from a few tuples, the best of them from more. Then
//! lambda is chosen for the best combination. Among values of lambda whose figures differ by less than [`TIE`]
//! the largest wins, since it leaves the fewest weights.
//!
//! **The rule counts tuples and never looks at a clock**, so the same seed chooses the same parameters on any
//! machine under any load. Let m be the number of tuples, at most [`TupleCourse::trial_tuples`](super::Course::trial_tuples):
//!
//! | stage | candidates | tuples each |
//! |---|---|---|
//! | 1 | 4 margins x 5 values of C | m / 32 |
//! | 2 | the best 4 | m / 8 |
//! | 3 | the best 2 | m / 4 |
//! | lambda | 4 values | m / 8, and again where W is refitted |
//!
//! That is 2.6 m tuples in all. No stage takes fewer than [`FEWEST`] tuples where there are as many, and two
//! stages of equal size are one.

use matchrank_core::matching::sparse_preference::{Learner, PreferenceParams, Step};
use matchrank_core::message::{counted, shortest};
use matchrank_core::progress::Silent;
use matchrank_core::{Error, Result};

use super::judge::PreferenceJudge;
use super::learn::{NEVER, Watch, learn};
use super::{PreferenceTraining, TupleSource};
use crate::models::sparse_preference::{ChosenSettings, ParameterTrial, PreferenceReport, Variant};
use crate::preferences::{First, TupleLessons};

const MARGINS: [f64; 4] = [0.03, 0.1, 0.3, 1.0];
const CS: [f64; 5] = [0.125, 0.5, 2.0, 8.0, 32.0];
/// In units of the shrinkage over all steps, as a share of C: lambda sum(eta) / C.
const SHRINKAGES: [f64; 4] = [0.0003, 0.001, 0.003, 0.01];
/// Divisors of m: a rung learns from m / divisor tuples. Then the number of combinations that go on.
const RUNGS: [(u64, usize); 3] = [(32, 4), (8, 2), (4, 1)];
/// Divisor of m for the trials of lambda.
const LAMBDA_SHARE: u64 = 8;
/// Fewest tuples of a trial, where there are as many.
const FEWEST: u64 = 20_000;
/// Figures that differ by less are taken for equal.
const TIE: f64 = 0.002;
/// Trials at a time: each has a W.
const AT_A_TIME: usize = 4;

impl PreferenceTraining<'_> {
    /// Parameters of the learner: as given, as chosen, or the defaults where nothing can be chosen.
    pub(super) fn choose(
        &self,
        source: &TupleSource<'_>,
        refit: bool,
        report: &mut PreferenceReport,
    ) -> Result<PreferenceParams> {
        let settings = &self.settings;
        let mut params = settings.params(&ChosenSettings::default());
        let shrinks = matches!(settings.variant, Variant::Sparse | Variant::Refit);
        let choose_lambda = shrinks && settings.lambda.given().is_none() && self.course.density.is_none();
        if self.course.density.is_some() && settings.lambda.given().is_none() {
            params.lambda = 0.0;
        }
        let given = settings.margin.given().is_some() && settings.c.given().is_some();
        if settings.variant == Variant::Identity || (given && !choose_lambda) {
            return Ok(params);
        }
        let why_not = match (self.judge, source.n_tuples()) {
            (None, _) => "there are no validation judgments to choose parameters by",
            _ if self.course.trial_tuples == 0 => "no tuples are allowed for trials",
            _ if !source.is_repeatable() => "a stream cannot be read a second time to choose parameters",
            _ => "",
        };
        let Some(judge) = self.judge.filter(|_| why_not.is_empty()) else {
            let PreferenceParams { margin, c, lambda, .. } = params;
            self.progress.note(&format!(
                "{why_not}: margin={margin}, c={c}, lambda={} (other values can be set)",
                shortest(lambda)
            ));
            return Ok(params);
        };
        let mut search = SettingSearch { training: self, source, judge, refit, report };
        search.run(params, given, choose_lambda)
    }
}

struct SettingSearch<'a, 's> {
    training: &'a PreferenceTraining<'a>,
    source: &'a TupleSource<'s>,
    judge: &'a PreferenceJudge,
    refit: bool,
    report: &'a mut PreferenceReport,
}

impl SettingSearch<'_, '_> {
    fn run(
        &mut self,
        mut params: PreferenceParams,
        given: bool,
        choose_lambda: bool,
    ) -> Result<PreferenceParams> {
        let progress = self.training.progress;
        let settings = &self.training.settings;
        let n = self.n_tuples()?;
        let at_most = self.training.course.trial_tuples;
        let trial = |divisor: u64| trial_tuples(n, at_most, divisor);
        let margins = settings.margin.given().map_or(MARGINS.to_vec(), |margin| vec![margin]);
        let cs = settings.c.given().map_or(CS.to_vec(), |c| vec![c]);
        let mut candidates: Vec<PreferenceParams> = margins
            .iter()
            .flat_map(|&margin| cs.iter().map(move |&c| (margin, c)))
            .map(|(margin, c)| PreferenceParams {
                margin,
                c,
                lambda: settings.lambda.given().unwrap_or(0.0),
                ..params
            })
            .collect();
        progress.begin("choosing parameters", None, "tuples");
        let (mut complete, mut tried) = (true, 0);
        for (divisor, keep) in RUNGS.into_iter().filter(|_| !given) {
            let tuples = trial(divisor);
            if tuples == tried {
                continue;
            }
            tried = tuples;
            let trials = self.trials(&candidates, tuples)?;
            complete = trials.iter().all(|trial| trial.is_some());
            let ranked = ranked(&trials);
            if !ranked.is_empty() {
                candidates = ranked.iter().take(keep).map(|&at| candidates[at]).collect();
                params = PreferenceParams { lambda: params.lambda, ..candidates[0] };
            }
            if !complete {
                break;
            }
        }
        if choose_lambda && complete {
            let tuples = trial(LAMBDA_SHARE);
            let lambdas = SHRINKAGES.map(|shrinkage| shrinkage * params.c / etas(&params, tuples));
            let candidates = lambdas.map(|lambda| PreferenceParams { lambda, ..params });
            let trials = self.trials(&candidates, tuples)?;
            complete = trials.iter().all(|trial| trial.is_some());
            let best = trials.iter().flatten().filter_map(|trial| trial.validation).fold(0.0, f64::max);
            let good = (0..candidates.len()).rev().find(|&at| {
                trials[at]
                    .as_ref()
                    .is_some_and(|trial| trial.validation.is_some_and(|ndcg| ndcg >= best - TIE))
            });
            if let Some(good) = good {
                // The same shrinkage over all the tuples.
                params.lambda = SHRINKAGES[good] * params.c / etas(&params, n);
            }
        }
        let PreferenceParams { margin, c, lambda, .. } = params;
        progress.note(&format!(
            "{}: margin={margin}, c={c}, lambda={} after {}",
            if complete { "chosen" } else { "interrupted while choosing" },
            shortest(lambda),
            counted(self.report.trials.len(), "trial")
        ));
        Ok(params)
    }

    /// Tuples there are; a file is read through for it.
    fn n_tuples(&self) -> Result<u64> {
        if let Some(n) = self.source.n_tuples() {
            return Ok(n);
        }
        let mut lessons = self.source.lessons(self.training.features)?;
        let mut n = 0;
        while let Some(lesson) = lessons.next(1 << 14)? {
            n += lesson.tuples.len() as u64;
        }
        if n == 0 {
            lessons.report(self.training.progress);
            return Err(Error::Params("no line is a tuple that can be learned from".into()));
        }
        Ok(n)
    }

    /// Learns with every candidate; `None` for those that an interruption ended.
    fn trials(
        &mut self,
        candidates: &[PreferenceParams],
        tuples: u64,
    ) -> Result<Vec<Option<ParameterTrial>>> {
        let at_a_time = rayon::current_num_threads().min(AT_A_TIME);
        let mut trials: Vec<Option<ParameterTrial>> = Vec::with_capacity(candidates.len());
        for chunk in candidates.chunks(at_a_time) {
            let this = &*self;
            let done: Vec<Result<Option<ParameterTrial>>> = std::thread::scope(|scope| {
                let running: Vec<_> = chunk
                    .iter()
                    .map(|params| {
                        scope.spawn(move || {
                            // One thread each: W does not depend on it.
                            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                            pool.expect("a thread").install(|| this.trial(params, tuples))
                        })
                    })
                    .collect();
                running.into_iter().map(|trial| trial.join().expect("a trial does not panic")).collect()
            });
            for trial in done {
                let trial = trial?;
                if let Some(trial) = &trial {
                    self.training.progress.note(&line(trial));
                    self.report.trials.push(trial.clone());
                }
                trials.push(trial);
            }
            self.training.progress.advance(tuples * chunk.len() as u64);
        }
        Ok(trials)
    }

    fn trial(&self, params: &PreferenceParams, tuples: u64) -> Result<Option<ParameterTrial>> {
        let mut trial = ParameterTrial::of(params, tuples);
        let complete = match self.learned(params, tuples) {
            Ok(Some(learner)) => {
                trial.validation = Some(self.judge.ndcg(&learner.matrix())?);
                trial.density = learner.density();
                true
            }
            Ok(None) => false,
            Err(Error::Diverged(_)) => true,
            Err(other) => return Err(other),
        };
        Ok(complete.then_some(trial))
    }

    /// Learner after that many tuples; `None` after an interruption.
    fn learned(&self, params: &PreferenceParams, tuples: u64) -> Result<Option<Learner>> {
        let mut learner = self.training.learner(params)?;
        let mut lessons = First::new(self.source.lessons(self.training.features)?, tuples);
        let refits = self.refit && params.lambda > 0.0;
        for phase in 0..1 + usize::from(refits) {
            if phase == 1 {
                learner.refit();
                lessons.rewind()?;
            }
            let mut watch = Watch {
                stop: self.training.course.stop,
                every: NEVER,
                judge: None,
                entries: None,
                checkpoint: None,
            };
            if !learn(&mut learner, &mut lessons, &mut watch, &mut Vec::new(), &Silent)? {
                return Ok(None);
            }
        }
        Ok(Some(learner))
    }
}

/// Tuples of a trial that takes the `divisor`-th part of the `n` tuples, or of `at_most` where there are more.
fn trial_tuples(n: u64, at_most: u64, divisor: u64) -> u64 {
    (n.min(at_most) / divisor).max(FEWEST.min(n))
}

/// Sum of eta over that many steps.
fn etas(params: &PreferenceParams, steps: u64) -> f64 {
    match params.step {
        Step::Fixed => params.c * steps as f64,
        Step::Decaying => params.c * 2.0 * (steps as f64).sqrt(),
    }
}

/// Candidates that came to an end, the best first; ties in the order of trying.
fn ranked(trials: &[Option<ParameterTrial>]) -> Vec<usize> {
    let figure = |at: usize| trials[at].as_ref().and_then(|trial| trial.validation);
    let mut ranked: Vec<usize> = (0..trials.len()).filter(|&at| figure(at).is_some()).collect();
    ranked.sort_by(|&a, &b| figure(b).unwrap_or(0.0).total_cmp(&figure(a).unwrap_or(0.0)));
    ranked
}

fn line(trial: &ParameterTrial) -> String {
    let ParameterTrial { margin, c, lambda, tuples, validation, density } = trial;
    let ndcg = validation.map_or("diverged".into(), |ndcg| format!("validation NDCG@10 {ndcg:.4}"));
    format!(
        "tried margin={margin}, c={c}, lambda={} on {}: {ndcg}, density {:.4} %",
        shortest(*lambda),
        counted(*tuples, "tuple"),
        100.0 * density
    )
}
