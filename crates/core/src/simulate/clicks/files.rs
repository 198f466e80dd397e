//! Formats the part of a topic in each file of the simulation.

use rand::RngExt;

use super::concepts::{GENERAL, WordNumber};
use super::judgments::JudgedTopicQuery;
use super::log::Log;
use super::params::{ClickParams, LogRows};
use super::topic::{Document, Place, Query, Topic};
use super::words::Speller;
use crate::simulate::log_lines::{SESSIONS_HEADER, put, put_session, put_time, some_time, type_query};
use crate::simulate::random::Stream;

/// The part of a topic in every file.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) clicks: Vec<u8>,
    pub(super) documents: Vec<u8>,
    pub(super) queries: Vec<u8>,
    pub(super) validation: Vec<u8>,
    pub(super) test: Vec<u8>,
    /// Number of rows in `clicks`.
    pub(super) rows: u64,
}

/// First line of the click log.
pub(super) fn header(rows: LogRows) -> &'static str {
    match rows {
        LogRows::Sessions => SESSIONS_HEADER,
        LogRows::Pairs => "query,document,position,shown,clicks\n",
    }
}

/// Writes the texts of one topic.
struct Scribe<'a> {
    place: &'a Place,
    params: &'a ClickParams,
    speller: Speller,
}

pub(super) fn write(
    topic: &Topic,
    place: &Place,
    log: &Log,
    judged: &[JudgedTopicQuery],
    params: &ClickParams,
    rng: &mut Stream,
) -> Parts {
    let scribe = Scribe { place, params, speller: Speller::new(params.topics) };
    let mut parts = Parts::default();
    let texts: Vec<Vec<u8>> = topic.queries.iter().map(|q| scribe.text(&q.words)).collect();
    for (id, text) in place.queries.clone().zip(&texts) {
        scribe.query_line(id, text, &mut parts.queries);
    }
    for (i, query) in topic.unseen.iter().enumerate() {
        scribe.query_line(scribe.unseen_id(i), &scribe.text(&query.words), &mut parts.queries);
    }
    for (id, document) in place.documents.clone().zip(&topic.documents) {
        scribe.document_line(id, document, &mut parts.documents);
    }
    match params.rows {
        LogRows::Sessions => scribe.sessions(log, &texts, rng, &mut parts),
        LogRows::Pairs => scribe.pairs(log, &texts, &mut parts),
    }
    for judged in judged {
        let out = if judged.validation { &mut parts.validation } else { &mut parts.test };
        let id =
            if judged.seen { place.queries.start + judged.query } else { scribe.unseen_id(judged.query) };
        for (document, grade) in &judged.documents {
            put(out, format_args!("q{id} 0 d{document} {grade}\n"));
        }
    }
    parts
}

impl Scribe<'_> {
    /// Returns the id of an unseen query; these are numbered after all queries of the log.
    fn unseen_id(&self, i: usize) -> usize {
        self.params.queries + self.place.unseen.start + i
    }

    fn spell(&self, word: WordNumber, out: &mut Vec<u8>) {
        match word.checked_sub(GENERAL) {
            Some(general) => self.speller.spell(self.params.topics, general as usize, out),
            None => self.speller.spell(self.place.topic, word as usize, out),
        }
    }

    fn text(&self, words: &[WordNumber]) -> Vec<u8> {
        let mut text = Vec::with_capacity(9 * words.len());
        for (i, &word) in words.iter().enumerate() {
            if i > 0 {
                text.push(b' ');
            }
            self.spell(word, &mut text);
        }
        text
    }

    fn query_line(&self, id: usize, text: &[u8], out: &mut Vec<u8>) {
        put(out, format_args!("q{id}\t"));
        out.extend_from_slice(text);
        out.push(b'\n');
    }

    /// Writes a document. The URL consists of the names of the site and the first word of the title: `/sita/lomina`.
    /// Any analyser that breaks at slashes finds these words and no others.
    fn document_line(&self, id: usize, document: &Document, out: &mut Vec<u8>) {
        put(out, format_args!("{{\"id\":\"d{id}\",\"title\":\""));
        let start = out.len();
        out.extend_from_slice(&self.text(&document.title));
        out[start].make_ascii_uppercase();
        out.extend_from_slice(b"\",\"url\":\"");
        for &word in document.site.iter().chain(&document.title[..1]) {
            out.push(b'/');
            self.spell(word, out);
        }
        out.extend_from_slice(b"\"}\n");
    }

    fn pairs(&self, log: &Log, texts: &[Vec<u8>], parts: &mut Parts) {
        for pair in &log.pairs {
            parts.clicks.extend_from_slice(&texts[pair.query as usize]);
            let (document, position) = (pair.document, pair.position);
            put(&mut parts.clicks, format_args!(",d{document},{position},{},{}\n", pair.shown, pair.clicks));
        }
        parts.rows = log.pairs.len() as u64;
    }

    fn sessions(&self, log: &Log, texts: &[Vec<u8>], rng: &mut Stream, parts: &mut Parts) {
        let mut times: Vec<(u32, u32)> = Vec::with_capacity(log.visits.len());
        times.extend((0..).zip(&log.visits).map(|(i, _)| (some_time(self.params.days, rng), i)));
        times.sort_unstable();
        let n_users = (self.params.queries / 2).max(1) as f64;
        let mut head = Vec::new();
        for (number, &(time, visit)) in times.iter().enumerate() {
            let visit = &log.visits[visit as usize];
            // A few users search a lot, most search little.
            let user = (rng.random::<f64>().powi(2) * n_users) as usize;
            head.clear();
            put(&mut head, format_args!("s{}-{number},u{user},", self.place.topic));
            put_time(time, &mut head);
            head.push(b',');
            type_query(&texts[visit.query as usize], self.params.typing_noise, rng, &mut head);
            head.extend_from_slice(b",d");
            let page = log.page(visit.query as usize);
            parts.rows += put_session(&head, page, visit.session, &mut parts.clicks);
        }
    }
}

/// Returns true if a query and a document have a word in common.
pub(super) fn share_a_word(query: &Query, document: &Document) -> bool {
    query.words.iter().any(|w| document.title.contains(w) || document.site.contains(w))
}
