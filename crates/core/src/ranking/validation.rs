//! Evaluation of scores on lists that were not trained on.

use crate::data::qrels::Qrels;
use crate::data::run::Scored;
use crate::data::{FeatureLists, List};
use crate::measure::{Conventions, Dialect, Evaluation, Measure, Rankings, evaluate, too_high};
use crate::progress::Progress;
use crate::{Error, Result};

use super::linear::Ranker;
use super::products;

/// Validation, seed and progress of a training.
#[derive(Clone, Copy)]
pub struct Fitting<'a> {
    /// Chooses epochs or lambdas; without it the last are kept.
    pub validation: Option<&'a Validation<'a>>,
    /// Seed of everything random.
    pub seed: u64,
    /// Receives notes and progress.
    pub progress: &'a dyn Progress,
}

/// Lists and their grades as judgments, ready to measure any number of scores.
pub struct JudgedLists<'a> {
    lists: &'a FeatureLists,
    qrels: Qrels<'a>,
}

impl<'a> JudgedLists<'a> {
    /// Takes the grades of lists for judgments.
    pub fn new(lists: &'a FeatureLists) -> Result<Self> {
        Ok(Self { lists, qrels: Qrels::of_lists(lists)? })
    }

    /// Measures scores of all rows, by matchrank's own conventions. Ties are ordered by a hash of the ids, so a ranker with
    /// constant scores gains nothing from the order of the file.
    pub fn evaluate(&self, scores: &[f64], measures: &[Measure]) -> Result<Evaluation> {
        let lists = self.lists;
        if let Some(row) = scores.iter().position(|score| !score.is_finite()) {
            let (document, score) = (lists.document(row), scores[row]);
            let message = format!("the score of document {document} is {score}, not a finite number");
            return Err(Error::Diverged(message));
        }
        let conventions = Conventions::of(Dialect::Matchrank);
        let rows = lists.iter().flat_map(|list| list.rows().map(move |row| (list.query(), row)));
        let grades = rows.map(|(query, row)| (query, lists.document(row), lists.labels()[row]));
        if let Some((row, message)) = too_high(grades, measures, &conventions) {
            return Err(lists.error_at(row, message));
        }
        evaluate(&self.qrels, &ScoredLists { lists, scores }, measures, &conventions)
    }
}

/// A validation set and its measure, by which training is stopped and parameters are chosen.
pub struct Validation<'a> {
    judged: JudgedLists<'a>,
    measure: Measure,
}

impl<'a> Validation<'a> {
    /// Creates a validation set, of which at least one document must be relevant; NDCG@10 is the usual measure.
    pub fn new(lists: &'a FeatureLists, measure: Measure) -> Result<Self> {
        if !lists.labels().iter().any(|&grade| grade > 0.0) {
            return Err(Error::Params(
                "no document of the validation lists has a grade above 0; use lists with relevant documents"
                    .into(),
            ));
        }
        Ok(Self { judged: JudgedLists::new(lists)?, measure })
    }

    /// The validation measure.
    pub fn measure(&self) -> &Measure {
        &self.measure
    }

    /// Returns the mean of the measure for weights of the features as stored in the lists.
    pub fn of_weights(&self, w: &[f64]) -> Result<f64> {
        struct Weights<'w>(&'w [f64]);
        impl Ranker for Weights<'_> {
            fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
                products::scores(list, self.0, scores);
            }
        }
        self.of_scores(&Weights(w).score_all(self.judged.lists))
    }

    /// Returns the mean of the measure for scores of all rows of the lists.
    pub fn of_scores(&self, scores: &[f64]) -> Result<f64> {
        Ok(self.judged.evaluate(scores, std::slice::from_ref(&self.measure))?.mean(0))
    }
}

/// Evaluates a ranker on judged lists, with matchrank's own conventions.
pub fn evaluate_ranker(
    ranker: &dyn Ranker,
    lists: &FeatureLists,
    measures: &[Measure],
) -> Result<Evaluation> {
    JudgedLists::new(lists)?.evaluate(&ranker.score_all(lists), measures)
}

/// Lists with a score for every row.
struct ScoredLists<'a> {
    lists: &'a FeatureLists,
    scores: &'a [f64],
}

impl Rankings for ScoredLists<'_> {
    fn n_queries(&self) -> usize {
        self.lists.n_queries()
    }

    fn query(&self, i: usize) -> &str {
        self.lists.list(i).query()
    }

    fn read<'s>(&'s self, i: usize, ranking: &mut Vec<Scored<'s>>) -> Result<()> {
        ranking.clear();
        let rows = self.lists.list(i).rows();
        ranking.extend(
            rows.map(|row| Scored { document: self.lists.document(row).as_bytes(), score: self.scores[row] }),
        );
        Ok(())
    }
}
