//! How the ranker of a stack is trained and chosen: on the validation judgments, in folds.
//!
//! The candidates of every validation query are its list, with the grades of the judgments and 0 for documents nobody
//! judged; where most queries have documents that were judged irrelevant, the judged ones are. Queries are dealt to folds; each fold is ranked by a ranker trained on the others. By the NDCG@10 of these
//! rankings, over all judged documents, a ranker and its size (lambda, leaves, trees) are chosen, and trained again on
//! all queries. Test judgments are never read.

use foldhash::HashMap;
use matchrank_core::data::FeatureLists;
use matchrank_core::data::qrels::Qrels;
use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate};
use matchrank_core::progress::{Progress, Silent};
use matchrank_core::ranking::listnet::ListNetParams;
use matchrank_core::ranking::{LambdaPath, Ranker, ScalingKind};
use matchrank_core::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::clicks::{COUNTS, ClickCounts};
use super::{FEATURES, Stack, StackKind, StackRanker, candidates, features};
use crate::dataset::{Dataset, HeldOut, Holdout};
use crate::matching::MatchingModel;
use crate::matching::bind::bind_all;
use crate::rankers::boosted::{BoostedModel, BoostedParams, BoostedReport, Objective, grow};
use crate::rankers::{RankerParams, train_ranker};
use crate::validation::Ranked;

/// Leaves of trees that are tried.
const LEAVES: [usize; 3] = [4, 7, 15];
/// Lambdas that are tried.
const LAMBDAS: [f64; 5] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5];

/// What is trained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StackParams {
    /// The ranker. Default: auto.
    pub ranker: StackKind,
    /// Best documents of every model that are candidates. Default: 100.
    pub depth: usize,
    /// Which documents of a validation query are learned from. Default: auto.
    pub candidates: StackCandidates,
    /// Whether training clicks (on the document, of the query, and of the query on the document) are features too.
    /// Default: false.
    pub clicks: bool,
    /// Validation queries that are learned from, at most; which, depends on the seed. Default: 2000.
    pub queries: usize,
    /// Folds of the validation queries. Default: 5.
    pub folds: usize,
    /// Trees at most. Default: 200.
    pub trees: usize,
    /// What the values of each tree are multiplied by. Default: 0.05.
    pub learning_rate: f64,
    /// Rows of a leaf at least. Default: 100.
    pub min_rows: usize,
}

/// Which documents of a validation query a ranker learns from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StackCandidates {
    /// What suits the judgments.
    Auto,
    /// The judged ones: for rankings of given candidates.
    Judged,
    /// The best of every model: for rankings of the whole collection.
    All,
}

impl Default for StackParams {
    fn default() -> Self {
        Self {
            ranker: StackKind::Auto,
            depth: 100,
            candidates: StackCandidates::Auto,
            clicks: false,
            queries: 2000,
            folds: 5,
            trees: 200,
            learning_rate: 0.05,
            min_rows: 100,
        }
    }
}

impl StackParams {
    /// Refuses values that mean nothing.
    pub fn validate(&self) -> Result<()> {
        if self.depth == 0 || !(2..=100).contains(&self.folds) || self.queries < self.folds {
            let message = "depth must be at least 1, folds from 2 to 100, and queries no fewer than folds";
            return Err(Error::Params(message.into()));
        }
        self.boosted(LEAVES[0], self.trees).validate()
    }

    fn boosted(&self, leaves: usize, trees: usize) -> BoostedParams {
        let Self { learning_rate, min_rows, .. } = *self;
        BoostedParams { trees, learning_rate, leaves, min_rows, ..Default::default() }
    }
}

/// A ranker that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackTrial {
    /// Its kind.
    pub ranker: String,
    /// lambda of ListNet.
    pub lambda: Option<f64>,
    /// Leaves of a tree.
    pub leaves: Option<usize>,
    /// Trees.
    pub trees: Option<usize>,
    /// NDCG@10 on the validation judgments, each query ranked by a ranker that has not seen it.
    pub validation: f64,
}

/// The lists of the validation queries.
struct Lessons<'a> {
    held_out: &'a HeldOut,
    ids: &'a [String],
    /// For every list: the number of its query, its documents, their grades and features.
    lists: Vec<Lesson>,
    /// Models and counts of clicks.
    n_sources: usize,
    n_folds: usize,
}

struct Lesson {
    query: usize,
    documents: Vec<u32>,
    grades: Vec<f32>,
    rows: Vec<f32>,
}

impl Stack {
    /// Trains a ranker over the scores of models, which have names of their own.
    pub fn train(
        parts: Vec<(String, MatchingModel)>,
        dataset: &Dataset,
        params: &StackParams,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Self> {
        params.validate()?;
        if parts.is_empty() {
            return Err(Error::Params("there is no model to stack; give at least one".into()));
        }
        if parts.iter().any(|(_, part)| has_stack(part)) {
            return Err(Error::Params(
                "one of the models is a stack, which has learned from the validation judgments already; give its models"
                    .into(),
            ));
        }
        let held_out = HeldOut::of(dataset, Holdout::Validation)?.sample(params.queries, seed);
        if held_out.queries.len() < params.folds {
            return Err(Error::Params(format!(
                "{}: there are {} judged validation queries, and a ranker over models needs at least {} to learn \
                 from; ingest with --judgments validation=QRELS or --split",
                dataset.folder().display(),
                held_out.queries.len(),
                params.folds
            )));
        }
        let ranked = match params.candidates {
            StackCandidates::Judged => Ranked::Judged,
            StackCandidates::All => Ranked::All,
            StackCandidates::Auto => {
                Ranked::suiting(held_out.judged.iter().map(|list| list.iter().map(|(_, grade)| *grade)))
            }
        };
        let documents = match ranked {
            Ranked::Judged => "their judged documents".to_owned(),
            Ranked::All => format!("the best {} documents of each model", params.depth),
        };
        progress.note(&format!("learning from {} validation queries, {documents}", held_out.queries.len()));
        let ids = dataset.document_ids()?;
        let lists = {
            let models: Vec<&MatchingModel> = parts.iter().map(|(_, model)| model).collect();
            lessons(&models, dataset, &held_out, &ids, (ranked, params), progress)?
        };
        if lists.len() < params.folds {
            return Err(Error::Params(format!(
                "the models find documents for {} of {} validation queries; at least {} are needed to learn from",
                lists.len(),
                held_out.queries.len(),
                params.folds
            )));
        }
        let n_sources = parts.len() + if params.clicks { COUNTS.len() } else { 0 };
        let lessons = Lessons { held_out: &held_out, ids: &ids, lists, n_sources, n_folds: params.folds };
        let (ranker, trials) = lessons.choose(params, seed, progress)?;
        Ok(Self { parts, ranker, depth: params.depth, clicks: params.clicks, trials })
    }

    /// The ranker that was kept, among those that were tried.
    pub fn kept(&self) -> Option<&StackTrial> {
        self.trials.iter().reduce(|best, trial| if trial.validation > best.validation { trial } else { best })
    }
}

fn has_stack(model: &MatchingModel) -> bool {
    match model {
        MatchingModel::Stack(_) => true,
        MatchingModel::Combination(both) => has_stack(&both.first) || has_stack(&both.second),
        _ => false,
    }
}

fn lessons(
    models: &[&MatchingModel],
    dataset: &Dataset,
    held_out: &HeldOut,
    ids: &[String],
    (ranked, params): (Ranked, &StackParams),
    progress: &dyn Progress,
) -> Result<Vec<Lesson>> {
    let matchers = bind_all(models, dataset, None, progress)?;
    let counts = params.clicks.then(|| ClickCounts::of_dataset(dataset)).transpose()?;
    let rows: HashMap<&str, u32> = ids.iter().map(String::as_str).zip(0..).collect();
    let size = matchers.iter().map(|matcher| matcher.batch_size()).min().unwrap_or(1).max(1);
    let numbered: Vec<usize> = (0..held_out.queries.len()).collect();
    progress.begin("scores of the models", Some(numbered.len() as u64), "queries");
    let mut lists = Vec::new();
    for batch in numbered.chunks(size) {
        let texts: Vec<&str> = batch.iter().map(|&query| held_out.queries[query].text.as_str()).collect();
        let scorers = matchers.iter().map(|matcher| matcher.begin(&texts)).collect::<Result<Vec<_>>>()?;
        let documents = match ranked {
            Ranked::All => candidates(&matchers, &texts, params.depth)?,
            Ranked::Judged => batch.iter().map(|&query| judged(&held_out.judged[query], &rows)).collect(),
        };
        for ((place, &query), documents) in batch.iter().enumerate().zip(documents) {
            progress.advance(1);
            if documents.is_empty() {
                continue;
            }
            let grades: HashMap<u32, f32> = held_out.judged[query]
                .iter()
                .filter_map(|(id, grade)| Some((*rows.get(id.as_str())?, *grade)))
                .collect();
            let mut scores: Vec<Vec<f32>> = scorers
                .iter()
                .map(|scorer| {
                    let mut scores = vec![0.0; documents.len()];
                    scorer.list(place, &documents, &mut scores);
                    scores
                })
                .collect();
            scores.extend(counts.iter().flat_map(|counts| counts.of(texts[place], &documents)));
            let grades =
                documents.iter().map(|document| grades.get(document).copied().unwrap_or(0.0)).collect();
            lists.push(Lesson { query, grades, rows: features(&scores), documents });
        }
    }
    Ok(lists)
}

/// The judged documents of the collection, ascending.
fn judged(list: &[(String, f32)], rows: &HashMap<&str, u32>) -> Vec<u32> {
    let mut documents: Vec<u32> = list.iter().filter_map(|(id, _)| rows.get(id.as_str()).copied()).collect();
    documents.sort_unstable();
    documents.dedup();
    documents
}

impl Lessons<'_> {
    /// The lists of which `is_wanted` says so, for a ranker of weights or for trees.
    fn lists(&self, for_trees: bool, is_wanted: impl Fn(usize) -> bool) -> Result<FeatureLists> {
        let (mut lengths, mut labels, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (_, lesson) in self.lists.iter().enumerate().filter(|(i, _)| is_wanted(*i)) {
            lengths.push(lesson.documents.len());
            labels.extend_from_slice(&lesson.grades);
            let columns = lesson.rows.iter().enumerate();
            values.extend(columns.filter(|(at, _)| for_trees || at % FEATURES == 1).map(|(_, &value)| value));
        }
        let n_features = if for_trees { FEATURES * self.n_sources } else { self.n_sources };
        FeatureLists::from_dense(&lengths, labels, n_features as u32, values)
    }

    /// NDCG@10 over all judged documents of scores for all lists, one after the other.
    fn figure(&self, scores: &[f64]) -> Result<f64> {
        let mut scores = scores.iter();
        let rankings: Vec<(&str, Vec<(&str, f32)>)> = self
            .lists
            .iter()
            .map(|lesson| {
                let named = lesson.documents.iter().map(|&document| self.ids[document as usize].as_str());
                let list = named.zip(scores.by_ref().map(|&score| score as f32)).collect();
                (self.held_out.queries[lesson.query].id.as_str(), list)
            })
            .collect();
        let qrels: Qrels<'_> = self.held_out.qrels()?;
        Ok(evaluate(&qrels, &rankings[..], &[ndcg()?], &Conventions::of(Dialect::Matchrank))?.mean(0))
    }

    /// The figure of scores that are made fold by fold.
    fn cross_validated(&self, mut score: impl FnMut(usize) -> Result<Vec<f64>>) -> Result<f64> {
        let mut by_list: Vec<Vec<f64>> = vec![Vec::new(); self.lists.len()];
        for fold in 0..self.n_folds {
            let mut scores = score(fold)?.into_iter();
            for i in (fold..self.lists.len()).step_by(self.n_folds) {
                by_list[i] = scores.by_ref().take(self.lists[i].documents.len()).collect();
            }
        }
        self.figure(&by_list.concat())
    }

    fn choose(
        &self,
        params: &StackParams,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<(StackRanker, Vec<StackTrial>)> {
        let mut trials = Vec::new();
        let objectives: &[Objective] = match params.ranker {
            StackKind::ListNet => &[],
            StackKind::Mart => &[Objective::Mart],
            StackKind::LambdaMart | StackKind::Auto => &[Objective::LambdaMart],
        };
        if matches!(params.ranker, StackKind::ListNet | StackKind::Auto) {
            for lambda in LAMBDAS {
                trials.push(self.try_linear(lambda, seed)?);
            }
        }
        for &objective in objectives {
            for leaves in LEAVES {
                match self.try_trees(objective, leaves, params, seed) {
                    Ok(trial) => trials.push(trial),
                    Err(error) if params.ranker == StackKind::Auto => {
                        progress.note(&format!("only ListNet is tried: {error}"));
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        let better = |best: &StackTrial, trial: &StackTrial| trial.validation > best.validation;
        let kept = trials.iter().reduce(|best, trial| if better(best, trial) { trial } else { best });
        let kept = kept.expect("a ranker was tried");
        let ranker = match (kept.lambda, kept.leaves, kept.trees) {
            (Some(lambda), ..) => StackRanker::Linear(Box::new(self.linear(lambda, |_| true, seed)?)),
            (_, Some(leaves), Some(trees)) => {
                let objective = objectives[0];
                let (lists, params) = (self.lists(true, |_| true)?, params.boosted(leaves, trees));
                let (trees, _) = grow(objective, &params, &lists, None, seed, &Silent)?;
                StackRanker::Boosted(BoostedModel {
                    objective,
                    params,
                    trees,
                    report: BoostedReport::default(),
                })
            }
            _ => unreachable!("a trial is of one or the other"),
        };
        Ok((ranker, trials))
    }

    fn linear(
        &self,
        lambda: f64,
        is_wanted: impl Fn(usize) -> bool,
        seed: u64,
    ) -> Result<crate::rankers::RankerModel> {
        let params =
            RankerParams::ListNet(ListNetParams { lambda: LambdaPath::One(lambda), ..Default::default() });
        train_ranker(&params, &[ScalingKind::None], self.lists(false, is_wanted)?, None, None, seed, &Silent)
    }

    fn try_linear(&self, lambda: f64, seed: u64) -> Result<StackTrial> {
        let validation = self.cross_validated(|fold| {
            let model = self.linear(lambda, |i| i % self.n_folds != fold, seed)?;
            Ok(model.score_all(&self.lists(false, |i| i % self.n_folds == fold)?))
        })?;
        Ok(StackTrial {
            ranker: "listnet".into(),
            lambda: Some(lambda),
            leaves: None,
            trees: None,
            validation,
        })
    }

    /// Trees with so many leaves, as many as are best in the mean over the folds.
    fn try_trees(
        &self,
        objective: Objective,
        leaves: usize,
        params: &StackParams,
        seed: u64,
    ) -> Result<StackTrial> {
        let boosted = params.boosted(leaves, params.trees);
        let grow_without = |fold: usize| {
            let train = self.lists(true, |i| i % self.n_folds != fold)?;
            let tested = self.lists(true, |i| i % self.n_folds == fold)?;
            let (trees, figures) =
                grow(objective, &boosted, &train, Some((&tested, ndcg()?)), seed, &Silent)?;
            Ok((trees, figures, tested))
        };
        let grown = (0..self.n_folds).into_par_iter().map(grow_without).collect::<Result<Vec<_>>>()?;
        let longest = grown.iter().map(|(_, figures, _)| figures.len()).max().unwrap_or(0);
        // A fold that stopped growing has the figure of its last tree from there on.
        let at = |figures: &[f64], n: usize| figures.get(n).or(figures.last()).copied().unwrap_or(0.0);
        let means = (0..longest).map(|n| grown.iter().map(|(_, figures, _)| at(figures, n)).sum::<f64>());
        let best = means.enumerate().reduce(|best, mean| if mean.1 > best.1 { mean } else { best });
        let n_trees = best.map_or(1, |(n, _)| n + 1);
        let validation = self.cross_validated(|fold| {
            let (trees, _, tested) = &grown[fold];
            Ok(trees.clone().truncated(n_trees).score_all(tested))
        })?;
        Ok(StackTrial {
            ranker: objective.name().into(),
            lambda: None,
            leaves: Some(leaves),
            trees: Some(n_trees),
            validation,
        })
    }
}

fn ndcg() -> Result<Measure> {
    Ok(Measure::parse_list("ndcg@10")?.remove(0))
}
