//! Chooses the judged queries, and their judged documents.
//!
//! Queries of the log are judged with a probability that grows with the square root of their popularity; other judged
//! queries are absent from the log. A list contains part of the result page (nothing for an unseen query), relevant
//! documents whether or not anybody ever saw them there, near misses, and documents of the topic and of other topics.
//! Grades depend on the concepts and not on the clicks.

use rand::RngExt;

use super::log::{Log, grade_of};
use super::params::ClickParams;
use super::topic::{Place, Query, Topic};
use crate::simulate::random::{KeptMean, Stream, early, weighted_sample};

/// Number of documents examined to find relevant ones for a query.
const LOOKS: usize = 40;

/// A judged query of a topic.
pub(super) struct JudgedTopicQuery {
    /// Number in `Topic::queries` or, if absent from the log, in `Topic::unseen`.
    pub(super) query: usize,
    pub(super) seen: bool,
    /// True if the query is for validation; the others are for test.
    pub(super) validation: bool,
    /// Documents by their number in the whole simulation, with their grades.
    pub(super) documents: Vec<(u32, u8)>,
}

pub(super) fn judge(
    topic: &Topic,
    place: &Place,
    log: &Log,
    params: &ClickParams,
    rng: &mut Stream,
) -> Vec<JudgedTopicQuery> {
    let mean = params.judged_per_query;
    let mut lengths = KeptMean::new(mean, (mean / 2.0) as usize, (1.5 * mean).ceil() as usize);
    let mut judged = Vec::new();
    let weights = topic.queries.iter().map(|query| (query.sessions as f64).sqrt());
    let seen = weighted_sample(weights, place.seen.len(), rng);
    for (n, query) in place.seen.clone().zip(seen) {
        let documents = list(topic, place, &topic.queries[query], log.page(query), params, &mut lengths, rng);
        judged.push(JudgedTopicQuery { query, seen: true, validation: n % 2 == 0, documents });
    }
    for (query, n) in place.unseen.clone().enumerate() {
        let documents = list(topic, place, &topic.unseen[query], &[], params, &mut lengths, rng);
        judged.push(JudgedTopicQuery { query, seen: false, validation: n % 2 == 0, documents });
    }
    judged
}

fn list(
    topic: &Topic,
    place: &Place,
    query: &Query,
    page: &[u32],
    params: &ClickParams,
    lengths: &mut KeptMean,
    rng: &mut Stream,
) -> Vec<(u32, u8)> {
    let length = lengths.draw(rng);
    let mut documents: Vec<(u32, u8)> = Vec::with_capacity(length);
    let judge = |d: u32| (d, grade_of(topic, &place.documents, query, d));
    let of_topic = |d: u32| place.documents.start as u32 + d;
    let holding = |concept: u32, rng: &mut Stream| {
        let holding = &topic.holding[concept as usize];
        (!holding.is_empty()).then(|| of_topic(holding[early(holding.len(), rng)]))
    };

    documents.extend(page.iter().take(length / 2).map(|&d| judge(d)));

    let mut serving: Vec<(u32, u8)> =
        (0..LOOKS).filter_map(|_| holding(query.concepts[0], rng)).map(judge).collect();
    serving.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    serving.dedup();
    serving.retain(|s| !documents.contains(s));
    let n_serving = (length / 5 + if page.is_empty() { length / 4 } else { 0 }).min(serving.len());
    documents.extend_from_slice(&serving[..n_serving]);

    for attempt in 0..8 * length {
        if documents.len() >= length {
            break;
        }
        let found = match attempt % 4 {
            0 => holding(query.concepts[0], rng),
            1 => holding(query.concepts[rng.random_range(0..query.concepts.len())], rng),
            2 => Some(of_topic(rng.random_range(0..topic.documents.len() as u32))),
            _ => Some(rng.random_range(0..params.documents as u32)),
        };
        if let Some(d) = found
            && documents.iter().all(|known| known.0 != d)
        {
            documents.push(judge(d));
        }
    }
    lengths.used(documents.len());
    documents.sort_unstable();
    documents
}
