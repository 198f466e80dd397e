//! Training lists with the features of their queries, from which the function of any target is learned.

use super::params::QueryDependentParams;
use super::problem::{Loss, PairProblem, Solution};
use super::query_features::QueryFeatures;
use super::solver::{PairSolver, SolveParams, solve_path};
use super::space::{self, DocumentKernel, Gaussian, QueryForm, dense, pairs_of};
use super::weights::{Nearest, Neighbour, Weights, widest};
use crate::data::{FeatureLists, List};
use crate::ranking::products;
use crate::ranking::ranksvm::{HingePath, hinge_path};
use crate::ranking::sample::Sample;
use crate::{Error, Result};

/// Number of pairs above which the linear hinge is minimised without forming them.
const MANY_PAIRS: usize = 20_000;

/// A query to learn a function for.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueryTarget<'a> {
    /// Number among the training lists, if the query is one of them.
    pub observed: Option<usize>,
    /// Features of the query.
    pub features: Option<&'a QueryFeatures>,
}

/// Training queries from which the function of a target is learned.
#[derive(Debug, Clone, PartialEq)]
pub enum Neighbourhood {
    /// These queries, the nearest first.
    Near(Vec<Neighbour>),
    /// All training queries with equal weight, and the reason.
    Uniform(Fallback),
}

/// Reason why a target has the uniform function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fallback {
    /// Requested: the weights are uniform.
    Asked,
    /// Each training query has its own function, and the target is not a training query.
    Novel,
    /// The target has no features.
    NoFeatures,
    /// The nearest training query is out of reach: farther away than training queries are from their nearest ones.
    Far {
        /// Distance of the nearest training query.
        distance: f64,
        /// Largest distance that counts as near.
        reach: f64,
    },
    /// No training query has a weight above 0.
    NoWeight,
    /// The near queries have no two documents of different grades.
    NothingToOrder,
}

/// Representation of a learned function.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryFunction {
    /// A weight per feature.
    Linear(Vec<f64>),
    /// Training documents and their coefficients in a sum of kernels.
    Documents(Vec<(u32, f64)>),
    /// Pairs of training documents and their coefficients.
    Pairs(Vec<(u32, u32, f64)>),
}

/// The function of a target.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Representation of the function.
    pub learned: QueryFunction,
    /// lambda.
    pub lambda: f64,
    /// J.
    pub objective: f64,
    /// Lower bound of J; `None` for psi.
    pub lower_bound: Option<f64>,
    /// Number of rounds of the solver.
    pub iterations: u32,
}

/// Training lists, prepared for learning.
#[derive(Debug, Clone)]
pub struct QueryDependent {
    params: QueryDependentParams,
    lists: FeatureLists,
    queries: Vec<QueryFeatures>,
    /// Marks the columns that are ignored when documents are compared.
    left_out: Vec<bool>,
    gaussian: Option<Gaussian>,
    /// Largest distance of a neighbour.
    reach: f64,
}

impl QueryDependent {
    /// Creates a learner from lists whose features are already scaled, the features of each query (empty if the weights
    /// do not use them), and the columns of query features, which are ignored when documents are compared.
    pub fn new(
        params: &QueryDependentParams,
        lists: FeatureLists,
        queries: Vec<QueryFeatures>,
        query_columns: &[u32],
    ) -> Result<Self> {
        params.validate()?;
        if params.weights.are_local() {
            if queries.len() != lists.n_queries() {
                let (given, needed) = (queries.len(), lists.n_queries());
                return Err(Error::Shape(format!(
                    "{given} queries have features, but {needed} queries have lists; the numbers must be equal"
                )));
            }
            if let Some(i) = queries.iter().position(|query| !query.fits(&queries[0])) {
                let query = lists.list(i).query();
                return Err(Error::Shape(format!(
                    "query {query} does not have the same kinds of features as the first query"
                )));
            }
        }
        for (query, list) in queries.iter().zip(lists.iter()) {
            query.validate().map_err(|error| Error::Params(format!("query {}: {error}", list.query())))?;
        }
        let mut left_out = vec![false; lists.n_features()];
        query_columns.iter().filter_map(|&c| left_out.get_mut(c as usize).map(|l| *l = true)).count();
        let gaussian = (params.kernel == DocumentKernel::Gaussian)
            .then(|| Gaussian::new(&lists, &left_out, params.width, params.form))
            .transpose()?;
        let reach = if params.weights.are_local() { params.reach * widest(&queries) } else { f64::INFINITY };
        Ok(Self { params: params.clone(), lists, queries, left_out, gaussian, reach })
    }

    /// The parameters.
    pub fn params(&self) -> &QueryDependentParams {
        &self.params
    }

    /// The training lists.
    pub fn lists(&self) -> &FeatureLists {
        &self.lists
    }

    /// Features of the training queries.
    pub fn queries(&self) -> &[QueryFeatures] {
        &self.queries
    }

    /// sigma^2 of the Gaussian kernel.
    pub fn width(&self) -> Option<f64> {
        self.gaussian.as_ref().map(|gaussian| gaussian.width)
    }

    /// Finds the training queries that the function of a target is learned from.
    pub fn neighbourhood(&self, target: QueryTarget<'_>) -> Result<Neighbourhood> {
        let params = &self.params;
        let near = match (params.weights, target) {
            (Weights::Uniform, _) => return Ok(Neighbourhood::Uniform(Fallback::Asked)),
            (Weights::Individual, QueryTarget { observed: None, .. }) => {
                return Ok(Neighbourhood::Uniform(Fallback::Novel));
            }
            (Weights::Individual, QueryTarget { observed: Some(query), .. }) => {
                vec![Neighbour { query, distance: 0.0, weight: 1.0 }]
            }
            (_, QueryTarget { features: None, .. }) => {
                return Ok(Neighbourhood::Uniform(Fallback::NoFeatures));
            }
            (weights, QueryTarget { observed, features: Some(features) }) => {
                features.validate()?;
                if !self.queries.first().is_none_or(|query| query.fits(features)) {
                    return Err(Error::Shape(
                        "the query does not have the same kinds of features as the training queries".into(),
                    ));
                }
                let k = if observed.is_some() { params.neighbours } else { params.novel_neighbours };
                let near = Nearest { weights, bandwidth: params.bandwidth, kernel: params.rankings, k };
                let near = near.of(&self.queries, features);
                let distance = near.iter().map(|near| near.distance).fold(f64::INFINITY, f64::min);
                if near.is_empty() {
                    return Ok(Neighbourhood::Uniform(Fallback::NoWeight));
                }
                if distance > self.reach {
                    let reach = self.reach;
                    return Ok(Neighbourhood::Uniform(Fallback::Far { distance, reach }));
                }
                near
            }
        };
        let teaches = |near: &Neighbour| {
            let labels = self.lists.list(near.query).labels();
            labels.iter().any(|label| *label != labels[0])
        };
        if !near.iter().any(teaches) {
            return Ok(Neighbourhood::Uniform(Fallback::NothingToOrder));
        }
        Ok(Neighbourhood::Near(near))
    }

    /// Returns all training queries with equal weight.
    fn everyone(&self) -> Vec<Neighbour> {
        (0..self.lists.n_queries()).map(|query| Neighbour { query, distance: 0.0, weight: 1.0 }).collect()
    }

    /// Returns n of the costs 2 pi / (n N (N - 1)): the number of training queries; 1 for an individual query (3.4).
    fn n(&self, near: &Neighbourhood) -> f64 {
        match near {
            Neighbourhood::Near(_) if self.params.weights == Weights::Individual => 1.0,
            _ => self.lists.n_queries() as f64,
        }
    }

    /// Learns the functions for descending lambdas, each starting from the previous one; `each` receives all of them.
    pub fn fit_path(&self, near: &Neighbourhood, lambdas: &[f64], mut each: impl FnMut(Function)) {
        let everyone;
        let from = match near {
            Neighbourhood::Near(from) => from,
            Neighbourhood::Uniform(_) => {
                everyone = self.everyone();
                &everyone
            }
        };
        let n = self.n(near);
        let params = &self.params;
        let linear = params.kernel == DocumentKernel::Linear && params.loss == Loss::Hinge;
        let without_pairs = match params.solver {
            PairSolver::Newton => linear,
            PairSolver::Auto => linear && self.n_pairs_at_most(from) > MANY_PAIRS,
            _ => false,
        };
        if without_pairs {
            return self.fit_without_pairs(from, n, lambdas, each);
        }
        let (problem, pairs) = self.problem(from, n);
        let (tolerance, iterations) = (params.tolerance, params.max_iterations);
        // ADMM's alpha is less accurate than its w, and kernels need alpha.
        let solver = match (params.solver, &self.gaussian) {
            (PairSolver::Auto, Some(_)) => PairSolver::CoordinateDescent,
            (solver, _) => solver,
        };
        let stops = SolveParams { loss: params.loss, solver, tolerance, max_iterations: iterations };
        solve_path(&problem, lambdas, &stops, |solution| {
            each(self.function(solution, &problem, &pairs));
        });
    }

    /// Learns the function for one lambda.
    pub fn fit(&self, near: &Neighbourhood, lambda: f64) -> Function {
        let mut found = None;
        self.fit_path(near, &[lambda], |function| found = Some(function));
        found.expect("there is one lambda")
    }

    fn n_pairs_at_most(&self, from: &[Neighbour]) -> usize {
        from.iter().map(|near| self.lists.list(near.query).len()).map(|n| n * (n - 1) / 2).sum()
    }

    /// Returns the factor of documents in the linear kernel, which depends on the form.
    fn factor(&self) -> f64 {
        if self.params.form == QueryForm::Ranking { 0.5f64.sqrt() } else { 1.0 }
    }

    /// Builds the problem of some queries. Also returns the training document of each row (Gaussian scoring), or the
    /// training pair of each pair (Gaussian ranking).
    fn problem(&self, from: &[Neighbour], n: f64) -> (PairProblem, Vec<u32>) {
        let n_columns = self.gaussian.as_ref().map_or(self.lists.n_features(), Gaussian::rank);
        let (mut problem, mut numbers) = (PairProblem::new(n_columns), Vec::new());
        let factor = self.factor();
        let pairwise = self.gaussian.as_ref().filter(|_| self.params.form == QueryForm::Ranking);
        if pairwise.is_some() {
            problem.push_row(vec![0.0; n_columns]);
        }
        for near in from {
            let list = self.lists.list(near.query);
            let count = list.len() as f64;
            let cost = 2.0 * near.weight / (n * (count * (count - 1.0)).max(1.0));
            if let Some(gaussian) = pairwise {
                for pair in gaussian.pair_starts[near.query]..gaussian.pair_starts[near.query + 1] {
                    problem.push_row(gaussian.rows[pair].iter().copied());
                    problem.push_pair(problem.n_rows() - 1, 0, cost);
                    numbers.push(pair as u32);
                }
                continue;
            }
            let first = problem.n_rows();
            match &self.gaussian {
                Some(gaussian) => {
                    for document in gaussian.starts[near.query]..gaussian.starts[near.query + 1] {
                        problem.push_row(gaussian.rows[document].iter().copied());
                        numbers.push(document as u32);
                    }
                }
                None => {
                    for i in 0..list.len() {
                        let row = dense(list.row(i), n_columns, &self.left_out);
                        problem.push_row(row.into_iter().map(|x| factor * x));
                    }
                }
            }
            for (better, worse) in pairs_of(list.labels()) {
                problem.push_pair(first + better, first + worse, cost);
            }
        }
        (problem, numbers)
    }

    fn function(&self, solution: Solution, problem: &PairProblem, numbers: &[u32]) -> Function {
        let Solution { lambda, w, alpha, mut objective, lower_bound, iterations } = solution;
        if self.gaussian.is_some() && self.params.solver == PairSolver::Admm {
            // alpha is kept, and its w differs from ADMM's.
            objective = problem.objective_of(self.params.loss, lambda, &problem.weights_of(&alpha, lambda));
        }
        let learned = match (&self.gaussian, self.params.form) {
            (None, _) => QueryFunction::Linear(w.iter().map(|w| self.factor() * w).collect()),
            (Some(_), QueryForm::Scoring) => {
                let mut of_rows = vec![0.0; problem.n_rows()];
                for (pair, alpha) in problem.pairs().iter().zip(&alpha) {
                    of_rows[pair.better as usize] += alpha / lambda;
                    of_rows[pair.worse as usize] -= alpha / lambda;
                }
                let used = numbers.iter().copied().zip(of_rows).filter(|(_, beta)| *beta != 0.0);
                QueryFunction::Documents(used.collect())
            }
            (Some(gaussian), QueryForm::Ranking) => {
                let pair = |(&number, alpha): (&u32, &f64)| {
                    let (a, b) = gaussian.pairs[number as usize];
                    (a, b, alpha / lambda)
                };
                QueryFunction::Pairs(
                    numbers.iter().zip(&alpha).filter(|(_, a)| **a != 0.0).map(pair).collect(),
                )
            }
        };
        Function { learned, lambda, objective, lower_bound, iterations }
    }

    /// Minimises the linear hinge by order statistics. `HingePath` takes the mean over lists of the mean over their
    /// pairs; the weights of the lists make that proportional to the objective here.
    fn fit_without_pairs(&self, from: &[Neighbour], n: f64, lambdas: &[f64], mut each: impl FnMut(Function)) {
        let d = self.lists.n_features();
        let factor = self.factor();
        let (mut lengths, mut labels, mut values, mut weights) = (vec![], vec![], vec![], vec![]);
        for near in from {
            let list = self.lists.list(near.query);
            let count = list.len() as f64;
            let pairs = pair_count(list.labels());
            if pairs == 0.0 {
                continue;
            }
            weights.push(near.weight * 2.0 * pairs / (count * (count - 1.0)) / n);
            lengths.push(list.len());
            labels.extend_from_slice(list.labels());
            for i in 0..list.len() {
                let row = dense(list.row(i), d, &self.left_out);
                values.extend(row.into_iter().map(|x| (factor * x) as f32));
            }
        }
        let total: f64 = weights.iter().sum();
        let lists = FeatureLists::from_dense(&lengths, labels, d as u32, values)
            .expect("rows of valid lists are valid");
        let sample = Sample::weighted(&lists, weights).expect("weights are above 0");
        let scaled: Vec<f64> = lambdas.iter().map(|lambda| lambda / total).collect();
        let path = HingePath {
            lambdas: &scaled,
            tolerance: self.params.tolerance,
            max_iterations: self.params.max_iterations,
        };
        let mut at = 0;
        hinge_path(&path, &sample, |w, point| {
            each(Function {
                learned: QueryFunction::Linear(w.iter().map(|w| factor * w).collect()),
                lambda: lambdas[at],
                objective: total * point.objective,
                lower_bound: point.lower_bound.map(|bound| total * bound),
                iterations: point.iterations,
            });
            at += 1;
        });
    }

    /// Replaces `scores` by the scores of a list whose features are already scaled.
    pub fn score(&self, function: &Function, list: &List<'_>, scores: &mut Vec<f64>) {
        match (&function.learned, &self.gaussian) {
            (QueryFunction::Linear(w), _) => products::scores(list, w, scores),
            (QueryFunction::Documents(beta), Some(gaussian)) => {
                space::kernel_scores(gaussian, list, &self.left_out, beta, scores);
            }
            (QueryFunction::Pairs(beta), Some(gaussian)) => {
                space::pair_scores(gaussian, list, &self.left_out, beta, scores);
            }
            _ => unreachable!("functions of a Gaussian kernel come from a learner that has one"),
        }
    }
}

/// Returns the number of pairs of documents of different grades.
fn pair_count(labels: &[f32]) -> f64 {
    let mut sorted = labels.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let square = |n: usize| (n * n) as f64;
    let same: f64 = sorted.chunk_by(|a, b| a == b).map(|equal| square(equal.len())).sum();
    (square(labels.len()) - same) / 2.0
}
