//! Training and choice of the ranker of a stack: on the validation judgments, in folds.
//!
//! The candidates of every validation query are its list, with the grades of the judgments and 0 for documents nobody
//! judged; where most queries have documents that were judged irrelevant, the judged ones are. Queries are dealt to
//! folds; each fold is ranked by a ranker trained on the others. By the NDCG@10, or another measure, of these rankings, over
//! all judged documents, a ranker and its size (lambda, leaves, trees) are chosen, and trained again on all queries. Test
//! judgments are never read.

use std::sync::Arc;

use matchrank_core::data::qrels::Qrels;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate};
use matchrank_core::message::counted;
use matchrank_core::progress::{Progress, Silent};
use matchrank_core::ranking::listnet::ListNetParams;
use matchrank_core::ranking::{LambdaPath, Ranker, ScalingKind};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::params::LEAVES;
use super::requirements::{check_measure, check_queries, learned_already};
use super::{
    Columns, FEATURES, JudgedQueries, MoreColumns, Stack, StackAttribute, StackCandidates, StackKind,
    StackParams, list_columns, takes,
};
use crate::dataset::{HeldOut, Holdout};
use crate::models::MatchingModel;
use crate::models::Training;
use crate::rankers::boosted::{Boosting, Objective};
use crate::rankers::linear::{LinearModel, train_linear};
use crate::rankers::{Lessons, RankerKind, RankingModel, listnet};
use crate::validation::{NDCG_10, Ranked, is_worth_it};

/// Lambdas that are tried.
const LAMBDAS: [f64; 5] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5];

/// Shares of what ListNet learned that are tried.
const SHARES: [f64; 3] = [1.0, 0.75, 0.5];
/// Queries below which trees are not tried: on four of five small collections they were behind ListNet.
pub const FEWEST_FOR_TREES: usize = 40;

/// A ranker that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StackTrial {
    /// Its kind.
    pub ranker: String,
    /// lambda of ListNet.
    pub lambda: Option<f64>,
    /// Share of what ListNet learned; the rest is the best model alone. None for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Leaves of a tree.
    pub leaves: Option<usize>,
    /// Trees of a bag.
    pub trees: Option<usize>,
    /// The measure on the validation judgments, each query ranked by a ranker that has not seen it.
    pub validation: f64,
    /// The measure.
    #[serde(default = "usual", skip_serializing_if = "is_usual")]
    pub measure: String,
    /// True for the ranker that was kept; in files of former versions it is the best.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
    /// The measure of every validation query, by its id. Not kept in files.
    #[serde(skip)]
    pub values: Vec<(String, f64)>,
}

/// Measure of the choice where a file does not say.
fn usual() -> String {
    NDCG_10.to_string()
}

fn is_usual(measure: &String) -> bool {
    *measure == usual()
}

/// The lists of the validation queries: what is learned from.
pub(super) struct StackLessons<'a> {
    held_out: &'a HeldOut,
    /// With the columns of all models, counts of clicks and attributes.
    lists: FeatureLists,
    pub(super) n_folds: usize,
    /// Measure that rankers are chosen by.
    pub(super) measure: Measure,
}

impl Stack {
    /// Trains a ranker over the scores of models, which have names of their own, and chooses it by a measure.
    pub fn train(
        parts: Vec<(String, Arc<dyn MatchingModel>)>,
        params: &StackParams,
        measure: Measure,
        training: &Training<'_>,
    ) -> Result<Self> {
        let Training { dataset, seed, progress, .. } = *training;
        params.validate()?;
        check_measure(measure)?;
        if parts.is_empty() {
            return Err(Error::Params("there is no model to stack; give at least one".into()));
        }
        if parts.iter().any(|(_, part)| part.has_learned_from_validation()) {
            return Err(learned_already());
        }
        let held_out = HeldOut::of(dataset, Holdout::Validation)?.sample(params.queries, seed);
        check_queries(held_out.queries.len(), params, dataset)?;
        let ranked = match params.candidates {
            StackCandidates::Judged => Ranked::Judged,
            StackCandidates::All => Ranked::All,
            StackCandidates::Auto => Ranked::suiting_judgments(&held_out),
        };
        let documents = match ranked {
            Ranked::Judged => "their judged documents".to_owned(),
            Ranked::All => format!("the best {} of each model", counted(params.depth, "document")),
        };
        let queries = counted(held_out.queries.len(), "validation query");
        progress.note(&format!("learning from {queries}, {documents}"));
        let attributes = if params.attributes { StackAttribute::all_of(dataset)? } else { Vec::new() };
        let lists = {
            let models: Vec<&dyn MatchingModel> = parts.iter().map(|(_, model)| &**model).collect();
            let more = MoreColumns { clicks: params.clicks, attributes: &attributes };
            let columns = Columns::bind(&models, dataset, more, progress)?;
            let judged = JudgedQueries { held_out: &held_out, ranked, depth: params.depth };
            list_columns(&columns, dataset, &judged, progress)?
        };
        if lists.n_queries() < params.folds {
            return Err(Error::Params(format!(
                "the models find documents for {} of {}; at least {} are needed to learn from",
                lists.n_queries(),
                counted(held_out.queries.len(), "validation query"),
                params.folds
            )));
        }
        let lessons = StackLessons { held_out: &held_out, lists, n_folds: params.folds, measure };
        let (ranker, trials) = lessons.choose(params, (parts.len(), seed), progress)?;
        Ok(Self { parts, ranker, depth: params.depth, clicks: params.clicks, attributes, trials })
    }

    /// The ranker that was kept, among those that were tried.
    pub fn kept(&self) -> Option<&StackTrial> {
        self.trials.iter().find(|trial| trial.kept).or_else(|| best(self.trials.iter()))
    }
}

/// The best, the first of equals.
fn best<'t>(trials: impl Iterator<Item = &'t StackTrial>) -> Option<&'t StackTrial> {
    trials.reduce(|best, trial| if trial.validation > best.validation { trial } else { best })
}

impl StackLessons<'_> {
    /// The lists of which `is_wanted` says so, with the columns that a ranker takes.
    pub(super) fn lists(
        &self,
        ranker: &RankerKind,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<FeatureLists> {
        let (mut lengths, mut labels, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let takes = |column: usize| takes(ranker, column);
        for (_, list) in self.lists.iter().enumerate().filter(|(i, _)| is_wanted(*i)) {
            lengths.push(list.len());
            labels.extend_from_slice(list.labels());
            for i in 0..list.len() {
                let row = list.row(i);
                values.extend((0..self.lists.n_features()).filter(|&c| takes(c)).map(|c| row.get(c as u32)));
            }
        }
        let n_features = (0..self.lists.n_features()).filter(|&column| takes(column)).count();
        FeatureLists::from_dense(&lengths, labels, n_features as u32, values)
    }

    /// The lists of all other folds, to learn from, and those of a fold, to be ranked.
    fn split(&self, ranker: &RankerKind, fold: usize) -> Result<[FeatureLists; 2]> {
        let is_own = |i: usize| i % self.n_folds == fold;
        Ok([self.lists(ranker, |i| !is_own(i))?, self.lists(ranker, is_own)?])
    }

    /// The mean over all judged queries of scores for all lists, one after the other, and the values of the queries.
    fn figure(&self, scores: &[f64]) -> Result<(f64, Vec<(String, f64)>)> {
        let ranked = |list: List<'_>| -> Vec<(&str, f32)> {
            list.rows().map(|row| (self.lists.document(row), scores[row] as f32)).collect()
        };
        let rankings: Vec<_> = (0..self.lists.n_queries())
            .map(|i| self.lists.list(i))
            .map(|list| (list.query(), ranked(list)))
            .collect();
        let qrels: Qrels<'_> = self.held_out.qrels()?;
        let evaluation =
            evaluate(&qrels, &rankings[..], &[self.measure], &Conventions::of(Dialect::Matchrank))?;
        let value = |(i, query): (usize, &str)| Some((query.to_owned(), evaluation.value(i, 0)?));
        Ok((evaluation.mean(0), evaluation.queries().enumerate().filter_map(value).collect()))
    }

    /// Scores of all lists by one column.
    fn column(&self, column: usize) -> Vec<f64> {
        let rows = self.lists.iter().flat_map(|list| {
            (0..list.len()).map(move |i| f64::from(list.row(i).get(column as u32))).collect::<Vec<_>>()
        });
        rows.collect()
    }

    /// The model whose own scores are best, by its number, as a trial: the first, unless another is better by more than one
    /// standard error.
    fn best_part(&self, n_parts: usize) -> Result<(usize, StackTrial)> {
        let mut kept: Option<(usize, StackTrial)> = None;
        for part in 0..n_parts {
            let (validation, values) = self.figure(&self.column(FEATURES * part + 1))?;
            let trial = StackTrial { share: Some(0.0), ..self.trial(&listnet::KIND, (validation, values)) };
            if kept.as_ref().is_none_or(|(_, other)| is_better(&trial, other)) {
                kept = Some((part, trial));
            }
        }
        Ok(kept.expect("a stack has at least one model"))
    }

    pub(super) fn trial(
        &self,
        kind: &RankerKind,
        (validation, values): (f64, Vec<(String, f64)>),
    ) -> StackTrial {
        StackTrial {
            ranker: kind.name.into(),
            lambda: None,
            share: None,
            leaves: None,
            trees: None,
            validation,
            measure: self.measure.to_string(),
            kept: false,
            values,
        }
    }

    /// The figure of scores that are made fold by fold.
    pub(super) fn cross_validated(
        &self,
        mut score: impl FnMut(usize) -> Result<Vec<f64>>,
    ) -> Result<(f64, Vec<(String, f64)>)> {
        let mut all = vec![0.0; self.lists.n_rows()];
        for fold in 0..self.n_folds {
            let mut scores = score(fold)?.into_iter();
            for i in (fold..self.lists.n_queries()).step_by(self.n_folds) {
                all[self.lists.list(i).rows()]
                    .iter_mut()
                    .zip(scores.by_ref())
                    .for_each(|(to, score)| *to = score);
            }
        }
        self.figure(&all)
    }

    /// Chooses the ranker: the best model alone, unless ListNet is better by more than one standard error, and that, unless
    /// trees are. Of ListNet's lambdas and shares the best is taken, and of trees the best number of leaves.
    fn choose(
        &self,
        params: &StackParams,
        (n_parts, seed): (usize, u64),
        progress: &dyn Progress,
    ) -> Result<(Arc<dyn RankingModel>, Vec<StackTrial>)> {
        let is_auto = params.ranker == StackKind::Auto;
        let objectives: &[Objective] = match params.ranker {
            StackKind::ListNet => &[],
            StackKind::Auto if self.lists.n_queries() < FEWEST_FOR_TREES => {
                let queries = counted(self.lists.n_queries(), "query");
                progress.note(&format!(
                    "trees are not tried: {queries} to learn from, fewer than {FEWEST_FOR_TREES}"
                ));
                &[]
            }
            StackKind::Mart => &[Objective::Mart],
            StackKind::LambdaMart | StackKind::Auto => &[Objective::LambdaMart],
        };
        let n_linear = if is_auto || params.ranker == StackKind::ListNet { LAMBDAS.len() } else { 0 };
        let n_trials = n_linear + objectives.len() * LEAVES.len();
        progress.begin("choosing the ranker", Some(n_trials as u64), "rankers");
        let (part, alone) = self.best_part(n_parts)?;
        let mut trials = Vec::new();
        if is_auto {
            trials.push(alone);
        }
        for lambda in &LAMBDAS[..n_linear] {
            trials.extend(self.try_linear(*lambda, if is_auto { &SHARES } else { &[1.0] }, part)?);
            progress.advance(1);
        }
        let n_without_trees = trials.len();
        // The trees of trials are grown without notes.
        if let Some(announce) = objectives.first().and_then(|objective| objective.kind().announce) {
            announce(progress);
        }
        for &objective in objectives {
            for leaves in LEAVES {
                match self.try_trees(objective, leaves, params, seed) {
                    Ok(trial) => trials.push(trial),
                    Err(error) if is_auto => {
                        progress.note(&format!("only ListNet is tried: {error}"));
                        break;
                    }
                    Err(error) => return Err(error),
                }
                progress.advance(1);
            }
        }
        let groups =
            [0..usize::from(is_auto), usize::from(is_auto)..n_without_trees, n_without_trees..trials.len()];
        let mut kept: Option<usize> = None;
        for group in groups {
            let in_group = |at: &usize| trials[*at].validation;
            let first_best = group.rev().max_by(|a, b| in_group(a).total_cmp(&in_group(b)));
            if let Some(at) = first_best
                && kept.is_none_or(|kept| is_better(&trials[at], &trials[kept]))
            {
                kept = Some(at);
            }
        }
        let kept = kept.expect("a ranker was tried");
        trials[kept].kept = true;
        let kept = &trials[kept];
        let ranker: Arc<dyn RankingModel> = match (kept.leaves, kept.trees) {
            (Some(leaves), Some(trees)) => {
                let boosting = Boosting { objective: objectives[0], params: params.boosted(leaves, trees) };
                Arc::new(self.grow_all(boosting, params.bags, seed)?)
            }
            _ => {
                let lists = self.lists(&listnet::KIND, |_| true)?;
                let learned = linear(kept.lambda.unwrap_or(LAMBDAS[0]), lists)?;
                Arc::new(shrunk(learned, kept.share.unwrap_or(1.0), part))
            }
        };
        Ok((ranker, trials))
    }

    /// ListNet with a lambda, shrunk towards the best model by every share.
    fn try_linear(&self, lambda: f64, shares: &[f64], part: usize) -> Result<Vec<StackTrial>> {
        let mut folds = Vec::new();
        for fold in 0..self.n_folds {
            let [train, tested] = self.split(&listnet::KIND, fold)?;
            folds.push((linear(lambda, train)?, tested));
        }
        let of_share = |&share: &f64| {
            let figure = self.cross_validated(|fold| {
                let (learned, tested) = &folds[fold];
                Ok(shrunk(learned.clone(), share, part).score_all(tested))
            })?;
            let share = (share != 1.0).then_some(share);
            Ok(StackTrial { lambda: Some(lambda), share, ..self.trial(&listnet::KIND, figure) })
        };
        shares.iter().map(of_share).collect()
    }
}

/// Returns true if a trial is better than another by more than one standard error of the difference.
fn is_better(richer: &StackTrial, simpler: &StackTrial) -> bool {
    let values = |trial: &StackTrial| trial.values.iter().map(|(_, value)| *value).collect::<Vec<_>>();
    is_worth_it(&values(richer), &values(simpler))
}

/// Weights w drawn towards those of one model alone, e: share w + (1 - share) ||w|| e. With share 0 the model ranks alone.
fn shrunk(mut learned: LinearModel<ListNetParams>, share: f64, part: usize) -> LinearModel<ListNetParams> {
    let weights = &mut learned.ranker.weights;
    let length = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    weights.iter_mut().for_each(|weight| *weight *= share);
    weights[part] += (1.0 - share) * if length > 0.0 { length } else { 1.0 };
    learned
}

fn linear(lambda: f64, lists: FeatureLists) -> Result<LinearModel<ListNetParams>> {
    let params = ListNetParams { lambda: LambdaPath::One(lambda), ..Default::default() };
    train_linear(&params, &[ScalingKind::None], Lessons::new(lists), &Silent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Query;
    use crate::rankers::boosted;

    /// Twenty queries with ten documents each; what is relevant for every second query is what is not for the others, so
    /// that a ranker which learned from the other fold of two puts every relevant document last.
    fn contradictory() -> (HeldOut, FeatureLists) {
        let (n, each) = (20usize, 10usize);
        let is_relevant = |query: usize, document: usize| (document < each / 2) == query.is_multiple_of(2);
        let names = |query: usize| (0..each).map(move |document| (query * each + document + 1).to_string());
        let judged = |query: usize| -> Vec<(String, f32)> {
            (0..).zip(names(query)).map(|(d, id)| (id, f32::from(u8::from(is_relevant(query, d))))).collect()
        };
        let held_out = HeldOut {
            queries: (1..=n).map(|query| Query { id: query.to_string(), text: String::new() }).collect(),
            clicks: vec![0.0; n],
            n_words: vec![0; n],
            judged: (0..n).map(judged).collect(),
            traffic: vec![Default::default(); n],
        };
        let labels = held_out.judged.iter().flatten().map(|(_, grade)| *grade).collect();
        let row = |i: usize| {
            let score = if i % each < each / 2 { 1.0 } else { -1.0 };
            [score, score]
        };
        let values = (0..n * each).flat_map(row).collect();
        (held_out, FeatureLists::from_dense(&vec![each; n], labels, FEATURES as u32, values).unwrap())
    }

    #[test]
    #[allow(clippy::print_stderr)]
    fn folds_are_ranked_by_what_the_others_taught() {
        let (held_out, lists) = contradictory();
        let lessons =
            StackLessons { held_out: &held_out, lists, n_folds: 2, measure: "map".parse().unwrap() };
        // Five relevant documents on the ranks 6 to 10.
        let worst = (1..=5).map(|i| f64::from(i) / f64::from(5 + i)).sum::<f64>() / 5.0;
        let found = lessons.try_linear(1e-3, &[1.0], 0).unwrap()[0].validation;
        assert!((found - worst).abs() < 1e-9, "ListNet: {found}, not {worst}");
        if !boosted::is_installed() {
            eprintln!("trees were skipped: no LightGBM");
            return;
        }
        let params = StackParams { trees: 5, min_rows: 1, ..StackParams::default() };
        let found = lessons.try_trees(Objective::LambdaMart, 2, &params, 1).unwrap().validation;
        assert!((found - worst).abs() < 1e-9, "LambdaMART: {found}, not {worst}");
    }

    #[test]
    #[allow(clippy::print_stderr)]
    fn trees_of_bags_are_the_same_for_any_number_of_threads() {
        if !boosted::is_installed() {
            eprintln!("skipped: no LightGBM");
            return;
        }
        let grow = |bags: usize, n_threads: usize| {
            let (held_out, lists) = contradictory();
            let lessons =
                StackLessons { held_out: &held_out, lists, n_folds: 2, measure: "map".parse().unwrap() };
            let params = StackParams { bags, min_rows: 1, ..StackParams::default() };
            let boosting = Boosting { objective: Objective::Mart, params: params.boosted(4, 3) };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| lessons.grow_all(boosting, bags, 7)).unwrap().trees
        };
        let trees = grow(4, 1);
        // Over all lists, which contradict each other, nothing can be split.
        assert_eq!((trees.len(), grow(1, 1).len()), (12, 1));
        assert_eq!(trees, grow(4, 3));
    }

    #[test]
    fn a_stack_falls_back_to_its_best_model() {
        let (held_out, lists) = contradictory();
        let lessons =
            StackLessons { held_out: &held_out, lists, n_folds: 2, measure: "map".parse().unwrap() };
        // What one fold teaches is wrong for the other, so the only model ranks alone.
        let (ranker, trials) = lessons.choose(&StackParams::default(), (1, 1), &Silent).unwrap();
        let kept: Vec<&StackTrial> = trials.iter().filter(|trial| trial.kept).collect();
        assert_eq!((kept.len(), kept[0].share), (1, Some(0.0)), "{trials:?}");
        let lists = lessons.lists(&listnet::KIND, |_| true).unwrap();
        let scores = ranker.score_all(&lists);
        let (_, alone) = lessons.best_part(1).unwrap();
        assert_eq!(lessons.figure(&scores).unwrap().1, alone.values);
        assert!(trials.iter().all(|trial| trial.trees.is_none()), "twenty queries are too few for trees");
    }

    #[test]
    fn weights_are_drawn_towards_one_model() {
        let (_, lists) = contradictory();
        let mut learned = linear(0.1, lists).unwrap();
        learned.ranker.weights = vec![3.0, -4.0];
        assert_eq!(shrunk(learned.clone(), 1.0, 0).ranker.weights, [3.0, -4.0]);
        assert_eq!(shrunk(learned.clone(), 0.5, 0).ranker.weights, [4.0, -2.0]);
        assert_eq!(shrunk(learned.clone(), 0.0, 1).ranker.weights, [0.0, 5.0]);
        learned.ranker.weights = vec![0.0, 0.0];
        assert_eq!(shrunk(learned, 0.0, 1).ranker.weights, [0.0, 1.0]);
    }
}
