//! One query's ranking reduced to its judged documents and their ranks.
//!
//! A list of a thousand documents has a few dozen judged ones, and every measure is a sum over those. So the list is
//! reduced once to its judged documents and their ranks. Each measure then costs the number of judged documents, not
//! the length of the list. Sorting is skipped if the list is in order, as in nearly every run, and ties are resolved
//! only if documents of different grade share a score.

use super::dialect::{Conventions, Ideal, Ties};
use crate::data::documents::Documents;
use crate::data::qrels::Judged;
use crate::data::run::Scored;

/// A judged document in the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hit {
    /// Rank, counted from 1.
    pub(super) rank: u32,
    /// First and last rank of the documents with the same score.
    pub(super) tie: (u32, u32),
    pub(super) grade: f32,
}

/// Input of the measures for one query.
#[derive(Default)]
pub(super) struct Ranking {
    /// Judged documents in the list, by rank.
    pub(super) hits: Vec<Hit>,
    /// Length of the list.
    pub(super) n_ranked: usize,
    /// Grades of the ideal order, descending: of all judged documents, or of those in the list.
    pub(super) grades: Vec<f32>,
}

/// Returns true if a grade is relevant.
#[inline]
pub(super) fn is_relevant(grade: f32, rel: Option<f32>) -> bool {
    match rel {
        None => grade > 0.0,
        Some(least) => grade >= least,
    }
}

impl Ranking {
    /// Returns the number of relevant documents of the ideal order.
    pub(super) fn n_relevant(&self, rel: Option<f32>) -> usize {
        self.grades.partition_point(|&g| is_relevant(g, rel))
    }

    /// Iterates over the ranks of the relevant documents, up to a cut-off.
    pub(super) fn relevant_ranks(
        &self,
        cutoff: Option<u32>,
        rel: Option<f32>,
    ) -> impl Iterator<Item = u32> + '_ {
        let deepest = cutoff.unwrap_or(u32::MAX);
        self.hits
            .iter()
            .take_while(move |h| h.rank <= deepest)
            .filter(move |h| is_relevant(h.grade, rel))
            .map(|h| h.rank)
    }
}

/// A document of the list during sorting. Unjudged documents have a NaN grade.
#[derive(Clone, Copy)]
struct RankedDocument {
    score: f64,
    grade: f32,
    document: u32,
}

/// Converts scored documents to a [`Ranking`]; reused from query to query, so that nothing is allocated.
#[derive(Default)]
pub(super) struct RankingBuilder {
    documents: Documents,
    entries: Vec<RankedDocument>,
    returned: Vec<bool>,
    /// Result of the last [`RankingBuilder::rank`].
    pub(super) ranking: Ranking,
    /// Number of ties of the last ranking, within the requested depth, between documents of different gain.
    pub(super) deciding_ties: u64,
}

/// Position of the second occurrence of a document in the list.
pub(super) struct Duplicate(pub(super) usize);

impl RankingBuilder {
    pub(super) fn rank(
        &mut self,
        query: &str,
        judged: &[Judged<'_>],
        scored: &[Scored<'_>],
        conventions: &Conventions,
        depth: u32,
    ) -> Result<(), Duplicate> {
        let sorted = self.look_up(judged, scored, conventions.single_precision)?;
        if !sorted {
            self.entries.sort_by(|a, b| b.score.partial_cmp(&a.score).expect("scores are not NaN"));
        }
        self.collect_hits(query, scored, conventions.ties, depth);
        let grades = &mut self.ranking.grades;
        grades.clear();
        match conventions.ideal {
            Ideal::Judged => grades.extend(judged.iter().map(|d| d.grade)),
            Ideal::Ranked => grades.extend(self.ranking.hits.iter().map(|h| h.grade)),
        }
        grades.sort_unstable_by(|a, b| b.total_cmp(a));
        self.ranking.n_ranked = scored.len();
        Ok(())
    }

    /// Looks up the grade of every document; returns true if the scores already descend.
    fn look_up(
        &mut self,
        judged: &[Judged<'_>],
        scored: &[Scored<'_>],
        single_precision: bool,
    ) -> Result<bool, Duplicate> {
        let id = |i: usize| match judged.get(i) {
            Some(judged) => judged.document.as_bytes(),
            None => scored[i - judged.len()].document,
        };
        self.documents.reset(judged.len() + scored.len());
        for (i, document) in judged.iter().enumerate() {
            self.documents.insert(document.document.as_bytes(), i, id);
        }
        self.returned.clear();
        self.returned.resize(judged.len(), false);
        self.entries.clear();
        self.entries.reserve(scored.len());
        let mut previous = f64::INFINITY;
        let mut sorted = true;
        for (i, document) in scored.iter().enumerate() {
            let grade = match self.documents.insert(document.document, judged.len() + i, id) {
                None => f32::NAN,
                Some(known) if known < judged.len() && !self.returned[known] => {
                    self.returned[known] = true;
                    judged[known].grade
                }
                Some(_) => return Err(Duplicate(i)),
            };
            let score = if single_precision { f64::from(document.score as f32) } else { document.score };
            sorted &= score <= previous;
            previous = score;
            self.entries.push(RankedDocument { score, grade, document: i as u32 });
        }
        Ok(sorted)
    }

    /// Walks the list tie by tie.
    fn collect_hits(&mut self, query: &str, scored: &[Scored<'_>], ties: Ties, depth: u32) {
        let hits = &mut self.ranking.hits;
        hits.clear();
        self.deciding_ties = 0;
        let mut start = 0;
        while start < self.entries.len() {
            let score = self.entries[start].score;
            let mut end = start + 1;
            while end < self.entries.len() && self.entries[end].score == score {
                end += 1;
            }
            let tied = &mut self.entries[start..end];
            let (first, last) = (start as u32 + 1, end as u32);
            if tied.iter().any(|e| e.grade.to_bits() != tied[0].grade.to_bits()) {
                let gain = |e: &RankedDocument| e.grade.max(0.0);
                self.deciding_ties +=
                    u64::from(first <= depth && tied.iter().any(|e| gain(e) != gain(&tied[0])));
                order(tied, query, scored, ties);
            }
            for (rank, entry) in (first..).zip(tied.iter()) {
                if !entry.grade.is_nan() {
                    hits.push(Hit { rank, tie: (first, last), grade: entry.grade });
                }
            }
            start = end;
        }
    }
}

/// Orders documents of equal score, given in file order.
fn order(tied: &mut [RankedDocument], query: &str, scored: &[Scored<'_>], ties: Ties) {
    let id = |e: &RankedDocument| scored[e.document as usize].document;
    // NaN, an unjudged document, counts as 0; equal grades keep the file order
    let grade = |e: &RankedDocument| if e.grade.is_nan() { 0.0 } else { e.grade };
    match ties {
        Ties::File | Ties::Averaged => {}
        Ties::Document => tied.sort_unstable_by(|a, b| id(b).cmp(id(a))),
        Ties::Hash => {
            tied.sort_by_cached_key(|e| (Ties::hash(query.as_bytes(), id(e)), id(e)));
        }
        Ties::Worst => tied.sort_by(|a, b| grade(a).total_cmp(&grade(b))),
        Ties::Best => tied.sort_by(|a, b| grade(b).total_cmp(&grade(a))),
    }
}
