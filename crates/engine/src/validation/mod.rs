//! Figures of models on the validation judgments, cheap enough for every iteration.
//!
//! If most queries have documents that were judged irrelevant, the judged documents are ranked (the
//! papers' protocol); otherwise, as with held-out clicks, the whole collection, unless the caller says what
//! to rank. The figure is NDCG@10, unless another measure is asked for.

mod rule;
mod shares;

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use matchrank_core::Result;
use matchrank_core::data::qrels::{Judgment, Qrels};
use matchrank_core::measure::{Conventions, Dialect, Evaluation, Measure, evaluate};
use matchrank_core::message::counted;
use matchrank_core::progress::{Progress, Silent};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub(crate) use rule::grown_share;
pub use rule::{is_worth_it, paired_difference};
pub use shares::ShareTrials;

use crate::dataset::{Dataset, HeldOut, Holdout, IdList};
use crate::scoring::{Hit, Scorer, top_of};

/// Most queries that are looked at.
const QUERIES: usize = 1000;
/// Most pairs of a query and a document that are scored where the collection is ranked.
const PAIRS: u64 = 64_000_000;
/// But never fewer queries than this.
const FEWEST: usize = 10;

/// Documents that are ranked to measure a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ranked {
    /// The judged documents of each query.
    Judged,
    /// The whole collection; documents that nobody judged count as irrelevant.
    All,
}

impl Ranked {
    /// Chooses by the grades of every query: the judged documents if most queries have
    /// irrelevant ones among them.
    pub(crate) fn suiting(lists: impl Iterator<Item: Iterator<Item = f32>>) -> Self {
        let (mut n_lists, mut n_mixed) = (0_usize, 0_usize);
        for mut grades in lists {
            n_lists += 1;
            n_mixed += usize::from(grades.any(|grade| grade <= 0.0));
        }
        if 2 * n_mixed > n_lists { Self::Judged } else { Self::All }
    }

    /// Chooses by the judgments of some queries.
    pub fn suiting_judgments(held_out: &HeldOut) -> Self {
        Self::suiting(held_out.judged.iter().map(|list| list.iter().map(|(_, grade)| *grade)))
    }

    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Judged => "their judged documents ranked",
            Self::All => "the whole collection ranked",
        }
    }
}

/// Validation queries with their judgments.
pub struct Validation {
    ids: Vec<String>,
    texts: Vec<String>,
    /// Judged documents of each query, as the scorer knows them, with their grades.
    judged: Vec<Vec<(u32, f32)>>,
    /// The documents that are ranked, by ascending rows; all of them if there is no list.
    wanted: Option<Vec<u32>>,
    /// Ids of the documents that are ranked, by which ties are broken.
    documents: IdList,
    measure: Measure,
}

/// Default measure of models.
pub const NDCG_10: Measure = Measure::Ndcg { cutoff: Some(10), gain: None };
/// Documents of a ranking of the collection that are looked at, for a measure without a cutoff.
const DEEPEST: u32 = 1000;

impl Validation {
    /// The validation judgments of a dataset, if there are any; a note says what will be measured on them.
    /// Which queries are taken, where there are too many, depends on the seed.
    pub fn of(dataset: &Dataset, seed: u64, progress: &dyn Progress) -> Result<Option<Self>> {
        Self::ranking(None, dataset, seed, progress)
    }

    /// Reads the validation judgments, and ranks the given documents rather than those that suit the judgments.
    pub fn ranking(
        ranked: Option<Ranked>,
        dataset: &Dataset,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Option<Self>> {
        let on = Self::on(Holdout::Validation, ranked, dataset, seed)?;
        Ok(on.map(|(validation, n_lists)| {
            let n_taken = validation.n_queries();
            let of = if n_taken < n_lists { format!(" of {n_lists}") } else { String::new() };
            progress.note(&format!(
                "validation: NDCG@10 over {}{of}, {}",
                counted(n_taken, "judged query"),
                validation.ranked().describe()
            ));
            validation
        }))
    }

    /// Reads the judgments of a holdout, if there are any; the number of judged queries comes with them.
    pub(crate) fn on(
        holdout: Holdout,
        ranked: Option<Ranked>,
        dataset: &Dataset,
        seed: u64,
    ) -> Result<Option<(Self, usize)>> {
        let judgments = dataset.judgments(holdout)?;
        let lists: Vec<_> = judgments.chunk_by(|a, b| a.query == b.query).collect();
        if lists.is_empty() {
            return Ok(None);
        }
        let grades = lists.iter().map(|list| list.iter().map(|judged| judged.grade));
        let ranked = ranked.unwrap_or_else(|| Ranked::suiting(grades));
        let rank_judged = ranked == Ranked::Judged;
        let n_documents = dataset.manifest.statistics.n_documents;
        let most = if rank_judged {
            QUERIES
        } else {
            QUERIES.min((PAIRS / n_documents.max(1)) as usize).max(FEWEST)
        };
        let hasher = FixedState::with_seed(seed);
        let mut taken: Vec<usize> = (0..lists.len()).collect();
        taken.sort_by_cached_key(|&i| (hasher.hash_one(lists[i][0].query), i));
        taken.truncate(most);
        taken.sort_unstable();

        let rows: Vec<u32> = taken.iter().map(|&i| lists[i][0].query).collect();
        let mut texts = dataset.query_texts_of(&rows)?;
        let texts = rows.iter().map(|row| texts.remove(row).expect("judged queries exist")).collect();
        let wanted = rank_judged.then(|| {
            let mut rows: Vec<u32> =
                taken.iter().flat_map(|&i| lists[i].iter().map(|judged| judged.document)).collect();
            rows.sort_unstable();
            rows.dedup();
            rows
        });
        let number = |row: u32| match &wanted {
            Some(rows) => rows.binary_search(&row).expect("every judged document is wanted") as u32,
            None => row,
        };
        let judged = taken
            .iter()
            .map(|&i| lists[i].iter().map(|judged| (number(judged.document), judged.grade)).collect())
            .collect();
        let documents = dataset.id_list(wanted.as_deref())?;
        let mut ids = dataset.query_ids_of(&rows)?;
        let ids = rows.iter().map(|row| ids.remove(row).expect("judged queries exist")).collect();
        Ok(Some((Self { ids, texts, judged, wanted, documents, measure: NDCG_10 }, lists.len())))
    }

    /// Replaces the measure.
    pub fn by(self, measure: Measure) -> Self {
        Self { measure, ..self }
    }

    /// The measure.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Number of queries.
    pub fn n_queries(&self) -> usize {
        self.texts.len()
    }

    /// The ids of the queries.
    pub(crate) fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Documents that are ranked.
    pub fn ranked(&self) -> Ranked {
        if self.wanted.is_some() { Ranked::Judged } else { Ranked::All }
    }

    /// The texts of the queries.
    pub fn queries(&self) -> Vec<&str> {
        self.texts.iter().map(String::as_str).collect()
    }

    /// The documents that are ranked, by ascending rows of the dataset; `None` for all of them. The scorers
    /// that are measured know the documents in this order.
    pub fn wanted(&self) -> Option<&[u32]> {
        self.wanted.as_deref()
    }

    /// Rows of the relevant documents of each query.
    pub(crate) fn relevant(&self) -> impl Iterator<Item = Vec<u32>> {
        let row = |document: u32| self.wanted.as_ref().map_or(document, |rows| rows[document as usize]);
        self.judged.iter().map(move |list| {
            list.iter().filter(|(_, grade)| *grade > 0.0).map(|(document, _)| row(*document)).collect()
        })
    }

    /// Number of documents that are ranked.
    pub fn n_documents(&self) -> u32 {
        self.documents.len() as u32
    }

    /// The measure, NDCG@10 by default, of a scorer begun with [`Validation::queries`].
    pub fn value(&self, scorer: &mut dyn Scorer) -> Result<f64> {
        Ok(self.values(scorer)?[0])
    }

    /// Measures a scorer that holds all queries several times, once for each of its variants.
    pub(crate) fn values(&self, scorer: &mut dyn Scorer) -> Result<Vec<f64>> {
        let rankings = self.rankings(scorer);
        rankings.chunks(self.judged.len()).map(|variant| Ok(self.evaluate(variant)?.mean(0))).collect()
    }

    /// Measures every query by itself: one list of values for each variant of a scorer, all in one order. The
    /// mean of a list is what [`Validation::value`] returns. Queries that do not count towards the mean are left out, the
    /// same ones of every variant.
    pub fn per_query(&self, scorer: &mut dyn Scorer) -> Result<Vec<Vec<f64>>> {
        let of_variant = |variant: &[Vec<(u32, f32)>]| {
            let evaluation = self.evaluate(variant)?;
            Ok((0..evaluation.n_queries()).filter_map(|query| evaluation.value(query, 0)).collect())
        };
        self.rankings(scorer).chunks(self.judged.len()).map(of_variant).collect()
    }

    /// Returns the measure of every query, in the order of the queries; none for a query that is left out of the mean.
    pub(crate) fn by_query(&self, scorer: &mut dyn Scorer) -> Result<Vec<Option<f64>>> {
        let evaluation = self.evaluate(&self.rankings(scorer))?;
        // The evaluation may have its own order.
        let places: foldhash::HashMap<&str, usize> = evaluation.queries().zip(0..).collect();
        let value = |id: &String| evaluation.value(*places.get(id.as_str())?, 0);
        Ok(self.ids.iter().map(value).collect())
    }

    /// Returns the best score of every query that has one.
    pub(crate) fn best_scores(&self, scorer: &mut dyn Scorer) -> Vec<f64> {
        let best = |list: &Vec<(u32, f32)>| list.iter().map(|(_, score)| f64::from(*score)).reduce(f64::max);
        self.rankings(scorer).iter().filter_map(best).collect()
    }

    /// Documents with their scores for every query of a scorer, as far as the measure looks.
    fn rankings(&self, scorer: &mut dyn Scorer) -> Vec<Vec<(u32, f32)>> {
        if self.wanted.is_some() {
            let list = |query: usize| {
                let documents: Vec<u32> =
                    self.judged[query % self.judged.len()].iter().map(|(document, _)| *document).collect();
                let mut scores = vec![0.0; documents.len()];
                scorer.list(query, &documents, &mut scores);
                // No score counts as 0, as for all candidates.
                let scores = scores.into_iter().map(|score| if score.is_nan() { 0.0 } else { score });
                documents.into_iter().zip(scores).collect()
            };
            (0..scorer.n_queries()).into_par_iter().map(list).collect()
        } else {
            scorer.prepare();
            let hits = self.top(scorer);
            hits.iter().map(|hits| hits.iter().map(|hit| (hit.document, hit.score)).collect()).collect()
        }
    }

    /// The best documents of each query, as deep as the measure looks; as deep as rankings usually are where the score at
    /// that depth is tied, because the ids decide which of the tied documents come first.
    fn top(&self, scorer: &dyn Scorer) -> Vec<Vec<Hit>> {
        let depth = self.measure.depth().min(DEEPEST) as usize;
        let hits = top_of(scorer, self.n_documents(), depth + 1, &Silent);
        let is_tied = |hits: &Vec<Hit>| hits.len() > depth && hits[depth].score == hits[depth - 1].score;
        if hits.iter().any(is_tied) {
            top_of(scorer, self.n_documents(), DEEPEST as usize, &Silent)
        } else {
            hits
        }
    }

    fn evaluate(&self, rankings: &[Vec<(u32, f32)>]) -> Result<Evaluation> {
        let lists = self.ids.iter().zip(&self.judged);
        let judgments: Vec<Judgment<'_>> = lists
            .flat_map(|(query, list)| {
                list.iter().map(move |&(document, grade)| Judgment {
                    query,
                    document: self.documents.get(document),
                    grade,
                })
            })
            .collect();
        let named = |list: &Vec<(u32, f32)>| -> Vec<(&str, f32)> {
            list.iter().map(|&(document, score)| (self.documents.get(document), score)).collect()
        };
        let rankings: Vec<(&str, Vec<(&str, f32)>)> =
            self.ids.iter().zip(rankings).map(|(query, list)| (query.as_str(), named(list))).collect();
        let conventions = Conventions::of(Dialect::Matchrank);
        evaluate(&Qrels::new(&judgments)?, &rankings[..], &[self.measure], &conventions)
    }
}
