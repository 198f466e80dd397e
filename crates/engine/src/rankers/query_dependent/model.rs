//! A model that learns the function of a query when it is first asked for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use matchrank_core::data::{FeatureLists, List};
use matchrank_core::ranking::query_dependent::{
    Function, Neighbourhood, QueryDependent, QueryDependentParams, QueryFeatures, QueryFunction, QueryTarget,
};
use matchrank_core::ranking::{LinearRanker, Ranker, Scaling};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::columns;
use super::table::QueryTable;
use crate::rankers::RankingModel;

/// Functions that are kept; beyond, all are forgotten.
const MOST_KEPT: usize = 10_000;

/// Source of the query features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuerySource {
    /// There are none: the weights need none.
    Nothing,
    /// Columns of the lists, counted from 0.
    Columns(Vec<u32>),
    /// A table by query id.
    Table,
}

/// One lambda of the training, and what it gave on validation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LambdaTrial {
    /// lambda.
    pub lambda: f64,
    /// The validation figure.
    pub validation: Option<f64>,
    /// The largest relative duality gap of the functions of the validation queries.
    pub gap: Option<f64>,
}

/// The parts of a model, as a file holds them.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Parameters.
    pub params: QueryDependentParams,
    /// lambda.
    pub lambda: f64,
    /// Scaling of the features.
    pub scaling: Scaling,
    /// Source of the query features.
    pub source: QuerySource,
    /// Factors of the numbers of queries.
    pub factors: Vec<f64>,
    /// Training lists, scaled.
    pub lists: FeatureLists,
    /// Query features of the training queries, scaled.
    pub queries: Vec<QueryFeatures>,
    /// The lambdas that were tried.
    pub trials: Vec<LambdaTrial>,
}

/// The function of a query, and the queries that it was learned from.
#[derive(Debug)]
#[non_exhaustive]
pub struct ServedFunction {
    /// Training queries that it was learned from.
    pub near: Neighbourhood,
    /// The function.
    pub function: Function,
    /// Milliseconds that learning it took.
    pub milliseconds: f64,
}

/// Training lists and the functions learned from them so far.
#[derive(Debug)]
pub struct QueryDependentModel {
    trained: Arc<Trained>,
    /// Query features of queries that training did not see, scaled.
    known: HashMap<String, QueryFeatures>,
    kept: Mutex<HashMap<String, Arc<ServedFunction>>>,
}

/// Results of a training.
#[derive(Debug)]
struct Trained {
    learner: QueryDependent,
    lambda: f64,
    scaling: Scaling,
    source: QuerySource,
    factors: Vec<f64>,
    trials: Vec<LambdaTrial>,
    observed: HashMap<String, usize>,
}

impl QueryDependentModel {
    /// A model of its parts.
    pub fn new(parts: Parts) -> Result<Self> {
        let Parts { params, lambda, scaling, source, factors, lists, queries, trials } = parts;
        let observed = lists.iter().enumerate().map(|(i, list)| (list.query().to_owned(), i)).collect();
        let columns = match &source {
            QuerySource::Columns(columns) => &columns[..],
            _ => &[],
        };
        let learner = QueryDependent::new(&params, lists, queries, columns)?;
        let trained = Trained { learner, lambda, scaling, source, factors, trials, observed };
        Ok(Self { trained: Arc::new(trained), known: HashMap::new(), kept: Mutex::default() })
    }

    /// The learner, with its training lists.
    pub fn learner(&self) -> &QueryDependent {
        &self.trained.learner
    }

    /// lambda.
    pub fn lambda(&self) -> f64 {
        self.trained.lambda
    }

    /// Scaling of the features.
    pub fn scaling(&self) -> &Scaling {
        &self.trained.scaling
    }

    /// Source of the query features.
    pub fn source(&self) -> &QuerySource {
        &self.trained.source
    }

    /// Factors of the numbers of queries.
    pub fn factors(&self) -> &[f64] {
        &self.trained.factors
    }

    /// The lambdas that were tried.
    pub fn trials(&self) -> &[LambdaTrial] {
        &self.trained.trials
    }

    /// Returns the model with what is known of the queries of lists.
    pub fn knowing(&self, table: &QueryTable, lists: &FeatureLists) -> Result<Self> {
        if *self.source() != QuerySource::Table {
            return Err(Error::Params(
                "the model has its query features from columns of the lists, or none at all; a file of them says nothing to it"
                    .into(),
            ));
        }
        let fits = |features: &QueryFeatures| {
            let own = &self.learner().queries()[0];
            own.numbers.len() == features.numbers.len()
                && own.categories.len() == features.categories.len()
                && own.rankings.len() == features.rankings.len()
        };
        if table.any().is_some_and(|features| !fits(features)) {
            return Err(Error::format(
                table.name(),
                "has other query features than the model was trained with",
            ));
        }
        let mut known = self.known.clone();
        for list in lists.iter() {
            if let Some(features) = table.get(list.query()) {
                known.insert(list.query().to_owned(), scaled(features, self.factors()));
            }
        }
        Ok(Self { trained: self.trained.clone(), known, kept: Mutex::default() })
    }

    fn features(&self, list: &List<'_>) -> Option<QueryFeatures> {
        match self.source() {
            QuerySource::Nothing => None,
            QuerySource::Columns(columns) => {
                let numbers = columns::of_list(columns, list);
                Some(scaled(&QueryFeatures::of_numbers(numbers), self.factors()))
            }
            QuerySource::Table => {
                let observed = self.trained.observed.get(list.query()).map(|&i| &self.learner().queries()[i]);
                self.known.get(list.query()).or(observed).cloned()
            }
        }
    }

    /// The function of the query of a list: learned now, or kept from before.
    pub fn served(&self, list: &List<'_>) -> Result<Arc<ServedFunction>> {
        let features = self.features(list);
        let observed = self.trained.observed.get(list.query()).copied();
        let near = self.learner().neighbourhood(QueryTarget { observed, features: features.as_ref() })?;
        let key = match &near {
            Neighbourhood::Uniform(_) => String::new(),
            Neighbourhood::Near(near) => {
                near.iter().map(|n| format!("{}:{:x} ", n.query, n.weight.to_bits())).collect()
            }
        };
        if let Some(served) = self.kept.lock().expect("no panic while it is held").get(&key)
            && served.near == near
        {
            return Ok(served.clone());
        }
        let started = Instant::now();
        let function = self.learner().fit(&near, self.lambda());
        let milliseconds = 1e3 * started.elapsed().as_secs_f64();
        let served = Arc::new(ServedFunction { near, function, milliseconds });
        let mut kept = self.kept.lock().expect("no panic while it is held");
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(key, served.clone());
        Ok(served)
    }

    /// The training query of a number.
    pub fn query(&self, number: usize) -> &str {
        self.learner().lists().list(number).query()
    }

    /// Scores of a list by a function.
    pub fn score_by(&self, function: &Function, list: &List<'_>, scores: &mut Vec<f64>) {
        if let Some(ranker) = self.weights_of(function) {
            return ranker.score(list, scores);
        }
        let n = self.n_features();
        let factors = self.scaling().of_list(list);
        let mut values = vec![0f32; n * list.len()];
        for i in 0..list.len() {
            for (column, x) in list.row(i).entries().filter(|(column, _)| (*column as usize) < n) {
                let column = column as usize;
                let factor =
                    factors.as_ref().map_or(1.0, |factors| factors.get(column).copied().unwrap_or(0.0));
                values[i * n + column] = (f64::from(x) * factor) as f32;
            }
        }
        let scaled = FeatureLists::from_dense(&[list.len()], vec![0.0; list.len()], n as u32, values)
            .expect("a list has documents and finite features");
        self.learner().score(function, &scaled.list(0), scores);
    }

    /// A function as weights of the features; none with a Gaussian kernel, which has no such weights.
    pub fn weights_of(&self, function: &Function) -> Option<LinearRanker> {
        let QueryFunction::Linear(weights) = &function.learned else { return None };
        Some(LinearRanker { weights: weights.clone(), scaling: self.scaling().clone() })
    }
}

impl Ranker for QueryDependentModel {
    fn score(&self, list: &List<'_>, scores: &mut Vec<f64>) {
        let served =
            self.served(list).expect("features of lists and tables are finite, and as many as they were");
        self.score_by(&served.function, list, scores);
    }
}

/// Numbers beyond this are far from everything.
const FAR: f64 = 1e100;

/// Numbers times factors.
pub(super) fn scaled(features: &QueryFeatures, factors: &[f64]) -> QueryFeatures {
    let numbers =
        features.numbers.iter().zip(factors).map(|(x, factor)| (x * factor).clamp(-FAR, FAR)).collect();
    QueryFeatures { numbers, ..features.clone() }
}
