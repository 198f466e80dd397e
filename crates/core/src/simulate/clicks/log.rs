//! The traffic of a topic: the page of each query, and the clicks of its users.
//!
//! **Page.** A query's page contains the documents written for it, relevant documents written for others (*borrowed*),
//! and near misses and misses up to `list_size`, ordered by grade plus noise, as an imperfect engine would.
//!
//! **Traffic.** A query's sessions end when at least `Query::sessions` of them had a click and every document written
//! for the query was clicked. Both conditions depend only on the past (a stopping time), so the clicks at each position
//! still have the expectation of the click model. Thus each query and each document is clicked.
//!
//! **Mean.** The number of borrowed documents of a query is drawn with the mean that is still missing to reach
//! `clicked_per_query` at the current rate of noise; popular queries borrow more.

use std::ops::Range;

use rand::RngExt;

use super::click_model::{ClickModel, PositionCount, Session, imperfect_order};
use super::params::{ClickParams, LogRows};
use super::relevance::grade;
use super::topic::{Place, Query, Topic};
use crate::simulate::random::{Stream, early, geometric};

/// Number of documents examined to find one to borrow.
const LOOKS: usize = 8;
/// Weight, in queries, of the assumption that there are no unplanned pairs.
const WARM_UP: usize = 10;

/// A session with a click, of one query of the topic.
pub(super) struct ClickedSession {
    pub(super) query: u32,
    pub(super) session: Session,
}

/// Clicks at one position of a query's page.
pub(super) struct ClickedPair {
    pub(super) query: u32,
    pub(super) document: u32,
    pub(super) position: u8,
    pub(super) shown: u32,
    pub(super) clicks: u32,
}

/// The traffic of a topic. Documents are numbered over the whole simulation.
pub(super) struct Log {
    pages: Vec<u32>,
    page_ends: Vec<u32>,
    rows: LogRows,
    /// Visits, in the sessions layout.
    pub(super) visits: Vec<ClickedSession>,
    /// Pairs, in the pairs layout.
    pub(super) pairs: Vec<ClickedPair>,
    pub(super) positions: Vec<PositionCount>,
    /// Number of distinct clicked (query, document) pairs, and how many of them have grade 0 or 1.
    pub(super) n_pairs: u64,
    pub(super) n_noise_pairs: u64,
    pub(super) n_sessions: u64,
    pub(super) n_abandoned: u64,
}

impl Log {
    pub(super) fn page(&self, query: usize) -> &[u32] {
        let start = if query == 0 { 0 } else { self.page_ends[query - 1] as usize };
        &self.pages[start..self.page_ends[query] as usize]
    }
}

pub(super) fn simulate(topic: &Topic, place: &Place, params: &ClickParams, rng: &mut Stream) -> Log {
    let model = ClickModel::new(params);
    let positions = (1..=params.list_size).map(|position| PositionCount { position, ..Default::default() });
    let mut log = Log {
        pages: Vec::with_capacity(topic.queries.len() * params.list_size),
        page_ends: Vec::with_capacity(topic.queries.len()),
        rows: params.rows,
        visits: Vec::new(),
        pairs: Vec::new(),
        positions: positions.collect(),
        n_pairs: 0,
        n_noise_pairs: 0,
        n_sessions: 0,
        n_abandoned: 0,
    };
    let target = params.clicked_per_query * topic.queries.len() as f64;
    let weight_of = |query: &Query| 1.0 + (query.sessions as f64).ln();
    let mean_weight = topic.queries.iter().map(weight_of).sum::<f64>() / topic.queries.len() as f64;
    let mut written_so_far = 0;
    let mut planned = 0.0;
    for (q, query) in topic.queries.iter().enumerate() {
        let left = (topic.queries.len() - q) as f64;
        // Pairs per query beyond the written and planned ones: noise, minus those that stay unclicked.
        let unplanned = (log.n_pairs as f64 - f64::from(written_so_far) - planned) / (q + WARM_UP) as f64;
        let written_left = topic.documents.len() as f64 - f64::from(written_so_far);
        let missing = target - log.n_pairs as f64 - written_left - unplanned * left;
        let weight = weight_of(query) / mean_weight;
        let mean = weight * missing.max(0.0) / left;
        let written = &topic.written_for[q];
        written_so_far += written.len() as u32;
        planned += mean;
        let free = params.list_size - written.len();
        let least = usize::from(written.is_empty());
        let n_borrowed = geometric(mean, free, rng).max(least);
        let page = Page::new(topic, place, query, written, n_borrowed, params, rng);
        log.traffic(q as u32, query.sessions, &page, &model, rng);
    }
    log
}

/// The result page of one query, in the order of the engine.
struct Page {
    documents: Vec<u32>,
    grades: Vec<u8>,
    /// Bit `i` is set if document `i` was written for the query.
    written: u16,
}

impl Page {
    fn new(
        topic: &Topic,
        place: &Place,
        query: &Query,
        written: &[u32],
        n_borrowed: usize,
        params: &ClickParams,
        rng: &mut Stream,
    ) -> Self {
        let offset = place.documents.start as u32;
        let mut found: Vec<(u32, u8)> = Vec::with_capacity(params.list_size);
        for &d in written {
            found.push((offset + d, grade(&query.concepts, &topic.documents[d as usize].concepts)));
        }
        for _ in 0..n_borrowed {
            if let Some(best) = borrow(topic, query, &found, offset, rng) {
                found.push(best);
            }
        }
        // Misses; only a few attempts, because a small topic may have nothing else to show.
        for _ in 0..4 * params.list_size {
            if found.len() == params.list_size {
                break;
            }
            let miss = miss(topic, &place.documents, query, params.documents, rng);
            if miss.1 < 2 && found.iter().all(|f| f.0 != miss.0) {
                found.push(miss);
            }
        }
        let order = imperfect_order(found.iter().map(|f| f.1), rng);
        let mut page = Self { documents: Vec::new(), grades: Vec::new(), written: 0 };
        for (position, i) in order.into_iter().enumerate() {
            page.documents.push(found[i].0);
            page.grades.push(found[i].1);
            page.written |= u16::from(i < written.len()) << position;
        }
        page
    }
}

/// Returns the best of a few documents that contain a concept of the query, mostly the main one.
fn borrow(
    topic: &Topic,
    query: &Query,
    found: &[(u32, u8)],
    offset: u32,
    rng: &mut Stream,
) -> Option<(u32, u8)> {
    let mut best: Option<(u32, u8)> = None;
    for look in 0..LOOKS {
        let concept = if look < 6 { query.concepts[0] } else { *query.concepts.last().expect("never empty") };
        let holding = &topic.holding[concept as usize];
        let d = if holding.is_empty() {
            rng.random_range(0..topic.documents.len() as u32)
        } else {
            holding[early(holding.len(), rng)]
        };
        let grade = grade(&query.concepts, &topic.documents[d as usize].concepts);
        let new = found.iter().all(|f| f.0 != offset + d);
        if new && best.is_none_or(|b| grade > b.1) {
            best = Some((offset + d, grade));
        }
    }
    best
}

/// Draws a document for another concept of the query, of the topic, or of the whole collection.
fn miss(
    topic: &Topic,
    documents: &Range<usize>,
    query: &Query,
    n_documents: usize,
    rng: &mut Stream,
) -> (u32, u8) {
    let document = match rng.random_range(0..4) {
        0 => {
            let concept = query.concepts[rng.random_range(0..query.concepts.len())];
            let holding = &topic.holding[concept as usize];
            if holding.is_empty() { 0 } else { documents.start + holding[early(holding.len(), rng)] as usize }
        }
        1 | 2 => documents.start + early(documents.len(), rng),
        _ => rng.random_range(0..n_documents),
    };
    (document as u32, grade_of(topic, documents, query, document as u32))
}

/// Returns the grade of a document of any topic; those of other topics are Bad.
pub(super) fn grade_of(topic: &Topic, documents: &Range<usize>, query: &Query, document: u32) -> u8 {
    if documents.contains(&(document as usize)) {
        grade(&query.concepts, &topic.documents[document as usize - documents.start].concepts)
    } else {
        0
    }
}

impl Log {
    fn traffic(&mut self, query: u32, least: usize, page: &Page, model: &ClickModel, rng: &mut Stream) {
        let n = page.documents.len();
        let mut cells = [[(0u32, 0u32); 16]; 16];
        let (mut with_click, mut clicked) = (0, 0u16);
        let mut swaps = [0u32; 16];
        let mut sessions = 0u32;
        while with_click < least || page.written & !clicked != 0 {
            let session = model.visit(&page.grades, &mut self.positions, rng);
            sessions += 1;
            if session.swapped != Session::UNCHANGED {
                swaps[session.swapped as usize] += 1;
            }
            if session.clicked == 0 {
                self.n_abandoned += 1;
                continue;
            }
            with_click += 1;
            for k in (0..n).filter(|k| session.clicked >> k & 1 == 1) {
                let document = session.shown_at(k);
                cells[document][k].1 += 1;
                clicked |= 1 << document;
            }
            if self.rows == LogRows::Sessions {
                self.visits.push(ClickedSession { query, session });
            }
        }
        self.n_sessions += u64::from(sessions);
        self.n_pairs += u64::from(clicked.count_ones());
        for (i, row) in cells[..n].iter_mut().enumerate() {
            self.n_noise_pairs += u64::from(clicked >> i & 1 == 1 && page.grades[i] < 2);
            let below = swaps[i];
            let above = if i == 0 { 0 } else { swaps[i - 1] };
            row[i].0 = sessions - below - above;
            if i + 1 < n {
                row[i + 1].0 = below;
            }
            if i > 0 {
                row[i - 1].0 = above;
            }
            if self.rows == LogRows::Sessions {
                continue;
            }
            for (k, &(shown, clicks)) in row[..n].iter().enumerate().filter(|(_, cell)| cell.1 > 0) {
                let document = page.documents[i];
                self.pairs.push(ClickedPair { query, document, position: k as u8 + 1, shown, clicks });
            }
        }
        self.pages.extend_from_slice(&page.documents);
        self.page_ends.push(self.pages.len() as u32);
    }
}
