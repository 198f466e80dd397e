//! Click counts bound to the clicks and documents of a dataset.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::linalg::SparseRow;
use matchrank_core::progress::Progress;
use rayon::prelude::*;

use super::similar_queries::SimilarQueries;
use super::word_counts::WordCounts;
use super::{ClickCountParams, Smoothing};
use crate::dataset::{BoundDocuments, Clicks, GivenDocuments};
use crate::scoring::{Among, Explanation, Hit, Matcher, Pair, Scorer, SparseScorer, TopK, Why};
use crate::text::Analyser;

pub(super) struct ClickCountMatcher<'a> {
    counts: Arc<SmoothedCounts>,
    documents: BoundDocuments<'a>,
}

/// The clicks of a dataset, and those that smooth them.
struct SmoothedCounts {
    params: ClickCountParams,
    clicks: Arc<Clicks>,
    analyser: Analyser,
    others: Others,
}

/// Source of the clicks that smooth a query's own.
enum Others {
    /// Queries, and their rows in the dataset.
    Queries(Box<SimilarQueries>, Vec<u32>),
    Words(WordCounts),
}

/// A reason for a score: a share of the probability, and the documents that it is spread over.
struct Reason<'m> {
    name: String,
    share: f64,
    /// Responses by document, and their sum.
    responses: (SparseRow<'m>, f64),
}

impl<'a> ClickCountMatcher<'a> {
    pub(super) fn new(
        params: ClickCountParams,
        documents: BoundDocuments<'a>,
        clicks: Arc<Clicks>,
    ) -> Result<Self> {
        let analyser = Analyser::new(&documents.dataset.manifest.analyser)?;
        let others = match params.smoothing {
            Smoothing::Queries => {
                let rows = clicks.queries().map(|(row, _)| row).collect();
                Others::Queries(Box::new(SimilarQueries::new(&analyser, &clicks)?), rows)
            }
            Smoothing::Words => Others::Words(WordCounts::new(&analyser, &clicks)?),
        };
        let counts = SmoothedCounts { params, clicks, analyser, others };
        Ok(Self { counts: Arc::new(counts), documents })
    }

    /// The documents that a query reaches, as the matcher knows them, ascending.
    fn scores(&self, query: &str) -> Vec<(u32, f32)> {
        self.documents.number(self.counts.scores(query))
    }
}

impl SmoothedCounts {
    /// Returns the parts of the score of a query. Names are made for explanations only.
    fn reasons(&self, query: &str, is_named: bool) -> Vec<Reason<'_>> {
        let own = self.clicks.row_of(query).map(|row| self.clicks.of_query(row));
        let n_own = own.map_or(0.0, sum);
        let mu = self.params.mu;
        let name = |make: &dyn Fn() -> String| if is_named { make() } else { String::new() };
        let mut reasons: Vec<Reason<'_>> = Vec::new();
        reasons.extend(own.map(|row| Reason {
            name: name(&|| format!("query:{query}")),
            share: n_own / (n_own + mu),
            responses: (row, n_own),
        }));
        let of_others = mu / (n_own + mu);
        match &self.others {
            Others::Words(counts) => {
                let words = counts.weighed(&self.analyser, query);
                reasons.extend(words.into_iter().map(|(word, weight)| Reason {
                    name: name(&|| counts.words.get(word).to_owned()),
                    share: of_others * weight,
                    responses: (counts.by_word.row(word as usize), 1.0),
                }));
            }
            Others::Queries(index, rows) => {
                let mut found = index.nearest(&self.analyser, query, self.params.nearest);
                found.iter_mut().for_each(|(_, likeness)| *likeness = likeness.powf(self.params.power));
                let total: f64 = found.iter().map(|(_, likeness)| likeness).sum();
                reasons.extend(found.into_iter().map(|(number, likeness)| {
                    let responses = self.clicks.of_query(rows[number]);
                    Reason {
                        name: name(&|| format!("like query:{}", self.clicks.text(number))),
                        share: of_others * likeness / total,
                        responses: (responses, sum(responses)),
                    }
                }));
            }
        }
        reasons
    }

    /// The rows of the documents that a query reaches, ascending.
    fn scores(&self, query: &str) -> Vec<(u32, f32)> {
        let reasons = self.reasons(query, false);
        let parts = reasons.iter().flat_map(|Reason { share, responses: (row, n), .. }| {
            row.iter().map(move |(document, response)| (document, share * f64::from(response) / n))
        });
        let mut parts: Vec<(u32, f64)> = parts.collect();
        // Stable, so that parts are summed in the order of the reasons.
        parts.sort_by_key(|(document, _)| *document);
        let of_document = parts.chunk_by(|a, b| a.0 == b.0);
        of_document.map(|parts| (parts[0].0, parts.iter().map(|part| part.1).sum::<f64>() as f32)).collect()
    }
}

/// The sum of the responses of a row.
fn sum(row: SparseRow<'_>) -> f64 {
    row.values().iter().map(|&n| f64::from(n)).sum()
}

impl Matcher for ClickCountMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.documents.len()
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        Ok(Box::new(SparseScorer { scores: queries.par_iter().map(|query| self.scores(query)).collect() }))
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let row = self.documents.row(document);
        let id = self.documents.id(document)?;
        let mut pairs: Vec<Pair> = Vec::new();
        for Reason { name, share, responses: (responses, n) } in self.counts.reasons(query, true) {
            if let Some((_, response)) = responses.iter().find(|(other, _)| Some(*other) == row) {
                let affinity = f64::from(response) / n;
                pairs.push(Pair {
                    query_feature: name,
                    document_feature: format!("document:{id}"),
                    x: share as f32,
                    affinity: affinity as f32,
                    y: 1.0,
                    score: (share * affinity) as f32,
                });
            }
        }
        pairs.sort_by(|a, b| b.score.total_cmp(&a.score));
        let score = pairs.iter().map(|pair| f64::from(pair.score)).sum::<f64>() as f32;
        let score = (!pairs.is_empty()).then_some(score);
        Ok(Explanation { score, why: Why::Pairs { pairs, others: 0.0 } })
    }

    fn top_among(
        &self,
        queries: &[&str],
        k: usize,
        among: Option<Among<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Hit>>> {
        progress.begin("ranking", Some(queries.len() as u64), "queries");
        let of_query = |query: &&str| {
            let mut top = TopK::new(k);
            let scores = self.scores(query);
            let wanted =
                scores.iter().filter(|(document, _)| among.is_none_or(|among| among.holds(*document)));
            wanted.for_each(|&(document, score)| top.offer(Hit { document, score }));
            progress.advance(1);
            top.into_hits()
        };
        Ok(queries.par_iter().map(of_query).collect())
    }

    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        let documents = BoundDocuments::given(self.documents.dataset, documents);
        Ok(Box::new(ClickCountMatcher { counts: self.counts.clone(), documents }))
    }
}
