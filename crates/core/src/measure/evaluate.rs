//! Evaluates rankings against judgments: values per query, means and an audit.

use rayon::prelude::*;
use serde::Serialize;

use super::dialect::{Conventions, Gain, Missing, NoRelevant, Ties};
use super::name::Measure;
use super::ranking::{Duplicate, Hit, Ranking, RankingBuilder};
use super::rankings::Rankings;
use super::{bpref, err, inversions, ndcg, precision};
use crate::data::qrels::Qrels;
use crate::{Error, Result};

/// Evaluation of a run under some conventions: a value per judged query and measure, and the means.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Evaluation {
    /// Measures.
    pub measures: Vec<Measure>,
    /// Conventions.
    pub conventions: Conventions,
    /// Counts of how often the conventions, rather than the ranking, decided.
    pub audit: Audit,
    /// All judged queries, in the order of the judgments.
    queries: Vec<String>,
    /// One row per judged query, one column per measure; a row of NaN is left out of the means.
    values: Vec<f64>,
}

/// Counts of how often something other than the ranking decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Audit {
    /// Number of queries with at least one judgment.
    pub judged_queries: u64,
    /// Number of judged queries that the means are computed over.
    pub queries_in_mean: u64,
    /// Number of judged queries without a relevant document.
    pub queries_without_relevant: u64,
    /// Number of judged queries that are missing from the run.
    pub queries_missing: u64,
    /// Number of queries of the run without any judgment; they are ignored.
    pub queries_unjudged: u64,
    /// Number of groups of equal scores, within the evaluated depth, whose documents differ in gain.
    pub deciding_ties: u64,
    /// Number of queries with such a tie.
    pub queries_with_deciding_ties: u64,
    /// Number of relevant documents that the run did not return.
    pub relevant_not_returned: u64,
    /// Number of queries with such a document.
    pub queries_with_relevant_not_returned: u64,
    /// Number of queries for which every ranked document is relevant: no order of them can be wrong.
    pub queries_all_relevant: u64,
}

impl Evaluation {
    /// Number of queries with judgments, including those that are left out of the means.
    pub fn n_queries(&self) -> usize {
        self.queries.len()
    }

    /// Ids of all judged queries, in the order of the judgments.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.queries.iter().map(String::as_str)
    }

    /// Id of the `i`-th judged query.
    pub fn query(&self, i: usize) -> &str {
        &self.queries[i]
    }

    /// Value of a measure for the `i`-th judged query; `None` if the query is left out.
    pub fn value(&self, i: usize, measure: usize) -> Option<f64> {
        let value = self.values[i * self.measures.len() + measure];
        (!value.is_nan()).then_some(value)
    }

    /// Mean of a measure over the queries that count; 0 if there are none.
    pub fn mean(&self, measure: usize) -> f64 {
        mean((0..self.n_queries()).filter_map(|i| self.value(i, measure)))
    }

    /// Mean of a measure over the queries that count, each weighted by `weight` of its id; `None` if the weights add up
    /// to 0. Weights must not be negative.
    pub fn weighted_mean(&self, measure: usize, weight: impl Fn(&str) -> f64) -> Option<f64> {
        let counted = (0..self.n_queries()).map(|i| (self.value(i, measure), weight(self.query(i))));
        weighted_mean(counted)
    }
}

/// Returns the mean of some values, 0 if there are none. Sums in order, so that the result never depends on threads.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0u64), |(sum, n), v| (sum + v, n + 1));
    if n == 0 { 0.0 } else { sum / n as f64 }
}

/// Returns the mean of weighted values, those without a value left out; `None` if the weights of the others add up to 0.
/// Sums in order, so that the result never depends on threads.
pub fn weighted_mean(values: impl Iterator<Item = (Option<f64>, f64)>) -> Option<f64> {
    let counted = values.filter_map(|(value, weight)| Some((value?, weight)));
    let (sum, weights) = counted.fold((0.0, 0.0), |(sum, all), (v, w)| (sum + v * w, all + w));
    (weights > 0.0).then(|| sum / weights)
}

/// Evaluates rankings against judgments on all threads. The result is the same for any number of threads.
pub fn evaluate<R: Rankings + ?Sized>(
    qrels: &Qrels<'_>,
    rankings: &R,
    measures: &[Measure],
    conventions: &Conventions,
) -> Result<Evaluation> {
    conventions.validate(measures)?;
    check_grades(qrels, measures, conventions)?;
    let depth = measures.iter().map(Measure::depth).max().unwrap_or(0);
    let scored: Vec<Result<Option<QueryValues>>> = (0..rankings.n_queries())
        .into_par_iter()
        .with_min_len(8)
        .map_init(
            || (Vec::new(), RankingBuilder::default()),
            |(ranking, ranker), i| {
                rankings.read(i, ranking)?;
                let Some(position) = qrels.position(rankings.query(i)) else { return Ok(None) };
                let judged = qrels.judged(position);
                ranker.rank(rankings.query(i), judged, ranking, conventions, depth).map_err(
                    |Duplicate(at)| rankings.duplicate(i, &String::from_utf8_lossy(ranking[at].document)),
                )?;
                let relevant = judged.iter().filter(|d| d.grade > 0.0).count();
                let returned = ranker.ranking.relevant_ranks(None, None).count();
                let values: Vec<f64> =
                    measures.iter().map(|m| value(m, &ranker.ranking, conventions)).collect();
                Ok(Some(QueryValues {
                    position,
                    values,
                    deciding_ties: ranker.deciding_ties,
                    not_returned: (relevant - returned) as u64,
                    all_relevant: returned > 0 && returned == ranker.ranking.n_ranked,
                }))
            },
        )
        .collect();

    let mut audit = Audit { judged_queries: qrels.n_queries() as u64, ..Audit::default() };
    let mut found: Vec<Option<QueryValues>> = (0..qrels.n_queries()).map(|_| None).collect();
    for row in scored {
        match row? {
            None => audit.queries_unjudged += 1,
            Some(row) => {
                audit.deciding_ties += row.deciding_ties;
                audit.queries_with_deciding_ties += u64::from(row.deciding_ties > 0);
                audit.queries_all_relevant += u64::from(row.all_relevant);
                let position = row.position;
                if found[position].replace(row).is_some() {
                    let query = qrels.query(position);
                    return Err(Error::Params(format!("query {query} has two rankings; keep one")));
                }
            }
        }
    }
    let mut values = Vec::with_capacity(qrels.n_queries() * measures.len());
    for (i, row) in found.into_iter().enumerate() {
        let relevant = qrels.judged(i).iter().filter(|d| d.grade > 0.0).count() as u64;
        audit.queries_without_relevant += u64::from(relevant == 0);
        audit.queries_missing += u64::from(row.is_none());
        let not_returned = row.as_ref().map_or(relevant, |r| r.not_returned);
        audit.relevant_not_returned += not_returned;
        audit.queries_with_relevant_not_returned += u64::from(not_returned > 0);
        let left_out = relevant == 0 && conventions.no_relevant == NoRelevant::LeftOut
            || row.is_none() && conventions.missing == Missing::LeftOut;
        audit.queries_in_mean += u64::from(!left_out);
        match row {
            _ if left_out => values.extend(measures.iter().map(|_| f64::NAN)),
            Some(row) => values.extend(row.values),
            None => values.extend(measures.iter().map(Measure::worst)),
        }
    }
    Ok(Evaluation {
        measures: measures.to_vec(),
        conventions: *conventions,
        audit,
        queries: (0..qrels.n_queries()).map(|i| qrels.query(i).to_owned()).collect(),
        values,
    })
}

/// Evaluates one list: documents with scores and grades. Documents of equal score keep the given order. With ndcg and
/// err, grades may be at most 1000.
pub fn evaluate_list(
    scores: &[f64],
    grades: &[f32],
    measures: &[Measure],
    conventions: &Conventions,
) -> Vec<f64> {
    assert_eq!(scores.len(), grades.len(), "every document has a score and a grade");
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut hits = Vec::with_capacity(order.len());
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let first = hits.len() as u32 + 1;
        let tie = (first, first + tied.len() as u32 - 1);
        hits.extend((first..).zip(tied).map(|(rank, &i)| Hit { rank, tie, grade: grades[i] }));
    }
    let mut ideal = grades.to_vec();
    ideal.sort_unstable_by(|a, b| b.total_cmp(a));
    let ranking = Ranking { n_ranked: hits.len(), hits, grades: ideal };
    measures.iter().map(|measure| value(measure, &ranking, conventions)).collect()
}

/// Highest grade r for measures with 2^r; sums of larger powers would overflow.
const HIGHEST_EXPONENT: f32 = 1000.0;

/// Returns an error if a grade is too high for a measure.
fn check_grades(qrels: &Qrels<'_>, measures: &[Measure], conventions: &Conventions) -> Result<()> {
    let grades = qrels.iter().map(|judgment| (judgment.query, judgment.document, judgment.grade));
    too_high(grades, measures, conventions).map_or(Ok(()), |(_, message)| Err(Error::Params(message)))
}

/// Finds the first grade that is too high for a measure; returns its place and the message.
pub(crate) fn too_high<'a>(
    grades: impl Iterator<Item = (&'a str, &'a str, f32)>,
    measures: &[Measure],
    conventions: &Conventions,
) -> Option<(usize, String)> {
    let exponential = measures.iter().find(|measure| match measure {
        Measure::Ndcg { gain, .. } => gain.unwrap_or(conventions.gain) == Gain::Exponential,
        Measure::Err { .. } => true,
        _ => false,
    });
    let measure = exponential?;
    let (at, (query, document, grade)) =
        grades.enumerate().find(|(_, (_, _, grade))| *grade > HIGHEST_EXPONENT)?;
    let message = format!(
        "the grade of document {document} for query {query} is {grade}, but `{measure}` computes 2^grade and \
         supports grades up to {HIGHEST_EXPONENT}; use ndcg(gain=linear), or smaller grades"
    );
    Some((at, message))
}

struct QueryValues {
    position: usize,
    values: Vec<f64>,
    deciding_ties: u64,
    not_returned: u64,
    all_relevant: bool,
}

/// Computes a measure for one query. An empty sum is -0 and would print as such; adding 0 makes it 0.
fn value(measure: &Measure, ranking: &Ranking, conventions: &Conventions) -> f64 {
    raw_value(measure, ranking, conventions) + 0.0
}

fn raw_value(measure: &Measure, ranking: &Ranking, conventions: &Conventions) -> f64 {
    let averaged = conventions.ties == Ties::Averaged;
    let nothing_relevant = |rel| conventions.no_relevant == NoRelevant::One && ranking.n_relevant(rel) == 0;
    match *measure {
        Measure::Ndcg { .. } if nothing_relevant(None) => 1.0,
        Measure::Map { rel, .. } if nothing_relevant(rel) => 1.0,
        Measure::Ndcg { cutoff, gain } => {
            ndcg::ndcg(ranking, cutoff, gain.unwrap_or(conventions.gain), conventions.ties)
        }
        Measure::Map { rel, .. } if averaged => precision::average_precision_of_ties(ranking, rel),
        Measure::Map { cutoff, rel } => {
            precision::average_precision(ranking, cutoff, rel, conventions.map_over_cutoff)
        }
        Measure::Mrr { cutoff, rel } => precision::reciprocal_rank(ranking, cutoff, rel),
        Measure::Precision { cutoff, rel } => precision::precision(ranking, cutoff, rel),
        Measure::Recall { cutoff, rel } => precision::recall(ranking, cutoff, rel),
        Measure::Err { cutoff, max } => err::err(ranking, cutoff, max),
        Measure::Rbp { p, rel } => precision::rank_biased_precision(ranking, p, rel, conventions.graded_rbp),
        Measure::Bpref { rel } => bpref::bpref(ranking, rel),
        Measure::Mre => inversions::mis_ranking_error(ranking),
        Measure::PairwiseError => inversions::pairwise_error(ranking),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::qrels;
    use crate::measure::Dialect;

    #[test]
    fn weighted_means_leave_queries_without_a_value_out() {
        let qrels = qrels::parse("x", b"a 0 d 1\nb 0 d 1\nn 0 d 0\n").unwrap();
        let run = [("a", vec![("d", 1.0)]), ("b", vec![("e", 2.0), ("d", 1.0)]), ("n", vec![("d", 1.0)])];
        let measures = Measure::parse_list("mrr").unwrap();
        let evaluation = evaluate(&qrels, &run[..], &measures, &Conventions::default()).unwrap();
        let weighted = |a, b, n| {
            evaluation.weighted_mean(0, |query| match query {
                "a" => a,
                "b" => b,
                _ => n,
            })
        };
        assert_eq!(weighted(1.0, 3.0, 100.0), Some((1.0 + 3.0 * 0.5) / 4.0));
        assert_eq!(weighted(1.0, 1.0, 1.0), Some(evaluation.mean(0)));
        assert_eq!(weighted(0.0, 0.0, 5.0), None);
    }

    #[test]
    fn grades_beyond_the_range_of_powers_of_two_are_refused() {
        let qrels = qrels::parse("x", b"q 0 a 1000\nq 0 b 2000\n").unwrap();
        let run = [("q", vec![("a", 2.0), ("b", 1.0)])];
        let value = |name: &str, dialect| {
            let measures = Measure::parse_list(name).unwrap();
            evaluate(&qrels, &run[..], &measures, &Conventions::of(dialect)).map(|result| result.value(0, 0))
        };
        for (name, dialect) in [
            ("ndcg", Dialect::Matchrank),
            ("map,ndcg(gain=exp)@2", Dialect::Trec),
            ("err(max=4)", Dialect::Ranx),
        ] {
            let error = value(name, dialect).unwrap_err().to_string();
            assert!(error.starts_with("the grade of document b for query q is 2000"), "{error}");
        }
        assert!(value("ndcg(gain=linear)", Dialect::Matchrank).unwrap().unwrap() < 1.0);
        assert!(value("ndcg", Dialect::Trec).unwrap().unwrap() < 1.0);
    }
}
