//! Models of one recipe over folds of the queries, which together rank every query by a model that has not seen it.
//!
//! With few validation queries, one lucky query decides what is chosen. So the training and the validation queries are
//! pooled and dealt to K folds by their texts. For fold k a model is trained on the other folds but the next one, on which
//! training chooses what it chooses on validation judgments, such as a number of iterations. Fold k takes no part in
//! it and is ranked by this model. Over all folds, every pooled query is ranked once by a model that knows nothing of it: an
//! honest figure over K times as many queries, and scores that combinations and stacks can learn from.
//!
//! ```text
//! fold     0          1          2          3          4
//! model 0  ranked     validation training   training   training
//! model 1  training   ranked     validation training   training
//! ...
//! ```
//!
//! What the K trainings chose becomes one choice: the median of numbers, the most frequent of other values, and the
//! [share](ShareTrials) that the queries of all folds speak for. With it the models of the folds are trained again, and in the end
//! one model on all pooled queries.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use foldhash::HashMap;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Binding, MatchingModel, Recipe, Training, bind_documents};
use crate::container::Writer;
use crate::dataset::{Dataset, GivenDocuments, Purpose};
use crate::description::Description;
use crate::json::Json;
use crate::scoring::{Explanation, Matcher, Scorer};
use crate::settings::Settings;
use crate::text::normalise_query;
use crate::validation::ShareTrials;

/// The pooled queries of a dataset and their folds.
#[derive(Debug)]
pub(crate) struct PooledQueries {
    /// Number of the fold of each text.
    fold_of: HashMap<String, usize>,
    /// The dataset that the model of each fold is trained on.
    folds: Vec<Dataset>,
    /// No training data; all pooled queries are for validation.
    pub(crate) pooled: Dataset,
    /// All pooled queries are for training.
    pub(crate) all: Dataset,
}

impl PooledQueries {
    /// Deals the training and validation queries of a dataset to folds. Writes the datasets of the folds to a folder of
    /// their own, and the one to train on in the end to `all`. None where a dataset cannot be dealt: it has clicks, or texts
    /// that are both in training and validation, or fewer than two queries for each fold.
    pub(crate) fn of(
        dataset: &Dataset,
        n_folds: usize,
        seed: u64,
        [folder, all]: [&Path; 2],
    ) -> Result<Option<Self>> {
        let Some(dealing) = dataset.dealing()? else { return Ok(None) };
        let mut texts: Vec<&str> = dealing.texts().collect();
        texts.sort_unstable();
        texts.dedup();
        if texts.len() < 2 * n_folds {
            return Ok(None);
        }
        texts.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let fold_of: HashMap<String, usize> =
            texts.into_iter().enumerate().map(|(i, text)| (text.to_owned(), i % n_folds)).collect();
        let folds = (0..n_folds).map(|fold| {
            let next = (fold + 1) % n_folds;
            dealing.deal(&folder.join(format!("fold-{}", fold + 1)), |text| match fold_of[text] {
                own if own == fold => Purpose::Nothing,
                other if other == next => Purpose::Validation,
                _ => Purpose::Training,
            })
        });
        let folds = folds.collect::<Result<_>>()?;
        let pooled = dealing.deal(&folder.join("pooled"), |_| Purpose::Validation)?;
        let all = dealing.deal(all, |_| Purpose::Training)?;
        Ok(Some(Self { fold_of, folds, pooled, all }))
    }

    /// The fold of a query. Every model ranks a query of no fold, the first as well as any.
    pub(crate) fn fold(&self, query: &str) -> usize {
        self.fold_of.get(&normalise_query(query)).copied().unwrap_or(0)
    }

    /// The dataset of each fold.
    pub(crate) fn datasets(&self) -> &[Dataset] {
        &self.folds
    }

    pub(crate) fn n_folds(&self) -> usize {
        self.folds.len()
    }

    /// Trains a model for every fold. Where training chooses settings, the models are trained again with those that the folds
    /// agree on.
    pub(crate) fn train(
        self: &Arc<Self>,
        recipe: &Recipe,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<FoldedModel> {
        let train = |recipe: &Recipe| {
            let models = self.folds.iter().map(|fold| recipe.train(&Training::new(fold, seed, progress)));
            FoldedModel::new(self.clone(), models.collect::<Result<_>>()?)
        };
        // What needs no training is chosen by all queries.
        let untrained = recipe.chosen_untrained(&Training::new(&self.pooled, seed, progress))?;
        let recipe = &recipe.with(&untrained)?;
        let first = train(recipe)?;
        let mut chosen = first.chosen();
        if chosen.is_empty() {
            return Ok(first);
        }
        let second = train(&recipe.settled(&first)?)?;
        chosen.retain(|(name, _)| !untrained.iter().any(|(other, _)| other == name));
        chosen.extend(untrained);
        Ok(FoldedModel { chosen, ..second })
    }
}

/// A model for every fold; see the module. It is not written to a file; its models are, one by one.
#[derive(Debug)]
pub(crate) struct FoldedModel {
    queries: Arc<PooledQueries>,
    pub(crate) models: Vec<Arc<dyn MatchingModel>>,
    chosen: Settings,
}

impl FoldedModel {
    pub(crate) fn new(queries: Arc<PooledQueries>, models: Vec<Arc<dyn MatchingModel>>) -> Result<Self> {
        if models.len() != queries.n_folds() {
            return Err(Error::Params(format!(
                "there are {} models for {} folds",
                models.len(),
                queries.n_folds()
            )));
        }
        let chosen = agreed(&models);
        Ok(Self { queries, models, chosen })
    }
}

impl MatchingModel for FoldedModel {
    fn kind(&self) -> &'static str {
        self.models[0].kind()
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        let folds = self.models.iter().zip(&self.queries.folds);
        let of_fold = |fold| binding.documents.of(fold);
        let matchers = folds.map(|(model, fold)| bind_documents(&**model, of_fold(fold), binding.progress));
        Ok(Box::new(FoldedMatcher { queries: &self.queries, matchers: matchers.collect::<Result<_>>()? }))
    }

    fn put<'a>(&'a self, _file: &mut Writer<'_, 'a>) -> Result<()> {
        Err(Error::Params("models of folds are written one by one".into()))
    }

    fn describe(&self) -> Result<Description> {
        self.models[0].describe()
    }

    fn summary(&self, dataset: &Dataset) -> Description {
        self.models[0].summary(dataset)
    }

    fn chosen(&self) -> Settings {
        self.chosen.clone()
    }

    fn has_learned_from_validation(&self) -> bool {
        self.models.iter().any(|model| model.has_learned_from_validation())
    }
}

/// One value for every setting that all folds chose. A share of what was learned is chosen anew by the queries of all folds.
fn agreed(models: &[Arc<dyn MatchingModel>]) -> Settings {
    let mut settings = middle(&models.iter().map(|model| model.chosen()).collect::<Vec<_>>());
    let shares: Option<Vec<_>> = models.iter().map(|model| model.shares()).collect();
    let Some((name, _)) = shares.as_ref().and_then(|shares| shares.first()).copied() else { return settings };
    let trials: Vec<&ShareTrials> = shares.iter().flatten().map(|(_, trials)| *trials).collect();
    if let Some(share) = ShareTrials::joined(&trials).and_then(|joined| joined.kept_with_more()) {
        settings.retain(|(other, _)| other != name);
        settings.push((name.to_owned(), Json::of(&share)));
    }
    settings
}

/// One value for every setting that all folds chose: the median of numbers, the lower of the two in the middle, and the most
/// frequent of other values, the first of equally frequent ones.
fn middle(chosen: &[Settings]) -> Settings {
    let Some((first, others)) = chosen.split_first() else { return Settings::new() };
    let mut settings = Settings::new();
    for (name, value) in first {
        let of = |others: &Settings| {
            others.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
        };
        let Some(rest) = others.iter().map(of).collect::<Option<Vec<Json>>>() else { continue };
        let mut values: Vec<Json> = std::iter::once(value.clone()).chain(rest).collect();
        let value = if values.iter().all(|value| value.as_f64().is_some()) {
            let number = |value: &Json| value.as_f64().unwrap_or(0.0);
            values.sort_by(|a, b| number(a).total_cmp(&number(b)));
            values.swap_remove((values.len() - 1) / 2)
        } else {
            let count = |value: &Json| values.iter().filter(|other| *other == value).count();
            let most = values.iter().rev().max_by_key(|value| count(value));
            most.expect("there is a first value").clone()
        };
        settings.push((name.clone(), value));
    }
    settings
}

/// Ranks every query by the model of its fold.
struct FoldedMatcher<'a> {
    queries: &'a PooledQueries,
    matchers: Vec<Box<dyn Matcher + 'a>>,
}

impl Matcher for FoldedMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.matchers[0].n_documents()
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        let mut scorers = Vec::new();
        for (fold, matcher) in self.matchers.iter().enumerate() {
            let own: Vec<usize> =
                (0..queries.len()).filter(|&i| self.queries.fold(queries[i]) == fold).collect();
            if !own.is_empty() {
                let texts: Vec<&str> = own.iter().map(|&i| queries[i]).collect();
                scorers.push((matcher.begin(&texts)?, own));
            }
        }
        let mut places = vec![(0, 0); queries.len()];
        for (at, (_, own)) in scorers.iter().enumerate() {
            own.iter().enumerate().for_each(|(number, &query)| places[query] = (at, number));
        }
        Ok(Box::new(FoldedScorer { scorers, places }))
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        self.matchers[self.queries.fold(query)].explain(query, document)
    }

    fn batch_size(&self) -> usize {
        self.matchers.iter().map(|matcher| matcher.batch_size()).min().unwrap_or(1)
    }

    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        let matchers = self.matchers.iter().map(|matcher| matcher.over(documents)).collect::<Result<_>>()?;
        Ok(Box::new(FoldedMatcher { queries: self.queries, matchers }))
    }
}

struct FoldedScorer<'a> {
    /// The scorer of a fold, and which of the queries are its own.
    scorers: Vec<(Box<dyn Scorer + 'a>, Vec<usize>)>,
    /// Scorer of each query, and its number there.
    places: Vec<(usize, usize)>,
}

impl Scorer for FoldedScorer<'_> {
    fn n_queries(&self) -> usize {
        self.places.len()
    }

    fn prepare(&mut self) {
        self.scorers.iter_mut().for_each(|(scorer, _)| scorer.prepare());
    }

    fn list(&self, query: usize, documents: &[u32], scores: &mut [f32]) {
        let (at, number) = self.places[query];
        self.scorers[at].0.list(number, documents, scores);
    }

    fn block(&self, documents: Range<u32>, scores: &mut [f32]) {
        let n = documents.len();
        for (scorer, own) in &self.scorers {
            let mut block = vec![0.0; own.len() * n];
            scorer.block(documents.clone(), &mut block);
            for (row, &query) in block.chunks(n.max(1)).zip(own) {
                scores[query * n..(query + 1) * n].copy_from_slice(row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, Json)]) -> Settings {
        values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn folds_agree_on_the_median_and_the_most_frequent() {
        let of = |c: f64, base: &str| settings(&[("c", Json::of(&c)), ("base", base.into())]);
        let agreed_on = middle(&[of(8.0, "cosine"), of(0.5, "bm25"), of(2.0, "bm25")]);
        assert_eq!(agreed_on, of(2.0, "bm25"));
        let even = middle(&[of(8.0, "cosine"), of(0.5, "bm25")]);
        assert_eq!(even, of(0.5, "cosine"), "the lower of two, the first of equally frequent ones");
        // What one fold did not choose is left as it is.
        assert_eq!(
            middle(&[of(8.0, "bm25"), settings(&[("c", Json::of(&1.0))])]),
            settings(&[("c", Json::of(&1.0))])
        );
        assert!(middle(&[]).is_empty());
    }
}
