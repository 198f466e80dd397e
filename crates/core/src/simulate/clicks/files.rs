//! Formats the part of a topic in each file of the simulation.

use std::io::Write;

use rand::RngExt;

use super::concepts::{GENERAL, WordNumber};
use super::judgments::JudgedTopicQuery;
use super::log::Log;
use super::params::{ClickParams, LogRows};
use super::random::Stream;
use super::topic::{Document, Place, Query, Topic};
use super::words::Speller;

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
        LogRows::Sessions => "session,user,time,query,document,position,shown,clicks\n",
        LogRows::Pairs => "query,document,position,shown,clicks\n",
    }
}

/// 2026-01-05, a Monday, in days since 1970-01-01.
const FIRST_DAY: u32 = 20_458;

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
            self.type_query(&texts[visit.query as usize], rng, &mut head);
            let page = log.page(visit.query as usize);
            let clicked = visit.session.clicked;
            let last = 15 - clicked.leading_zeros() as usize;
            for k in 0..(last + 2).min(page.len()) {
                let document = page[visit.session.shown_at(k)];
                parts.clicks.extend_from_slice(&head);
                put(&mut parts.clicks, format_args!(",d{document},{},1,{}\n", k + 1, clicked >> k & 1));
                parts.rows += 1;
            }
        }
    }

    /// Writes a query as a user types it: sometimes with capitals or extra spaces.
    fn type_query(&self, text: &[u8], rng: &mut Stream, out: &mut Vec<u8>) {
        let start = out.len();
        if !rng.random_bool(self.params.typing_noise) {
            out.extend_from_slice(text);
            return;
        }
        match rng.random_range(0..4) {
            0 => {
                out.extend_from_slice(text);
                out[start].make_ascii_uppercase();
            }
            1 => out.extend(text.iter().map(u8::to_ascii_uppercase)),
            2 => {
                out.extend_from_slice(text);
                out.push(b' ');
            }
            _ => text.iter().for_each(|&c| {
                out.extend_from_slice(if c == b' ' { b"  " } else { std::slice::from_ref(&c) })
            }),
        }
    }
}

fn put(out: &mut Vec<u8>, what: std::fmt::Arguments) {
    out.write_fmt(what).expect("writing to memory does not fail");
}

/// Draws seconds since the first midnight: any day, with a fifth of the daytime traffic at night (22 to 6 h).
fn some_time(days: u32, rng: &mut Stream) -> u32 {
    loop {
        let second = rng.random_range(0..86_400);
        if (6 * 3_600..22 * 3_600).contains(&second) || rng.random_bool(0.2) {
            return rng.random_range(0..days) * 86_400 + second;
        }
    }
}

/// Formats ISO 8601 in UTC; the date follows Howard Hinnant's `civil_from_days`, for years after 1970.
fn put_time(seconds: u32, out: &mut Vec<u8>) {
    let days = FIRST_DAY + seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u32::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    put(out, format_args!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"));
}

/// Returns true if a query and a document have a word in common.
pub(super) fn share_a_word(query: &Query, document: &Document) -> bool {
    query.words.iter().any(|w| document.title.contains(w) || document.site.contains(w))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        let at = |seconds| {
            let mut out = Vec::new();
            put_time(seconds, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(at(0), "2026-01-05T00:00:00Z");
        assert_eq!(at(86_400 * 54 + 3_661), "2026-02-28T01:01:01Z");
        assert_eq!(at(86_400 * 55), "2026-03-01T00:00:00Z");
        assert_eq!(at(86_400 * (361 + 365 + 59) - 1), "2028-02-28T23:59:59Z");
        assert_eq!(at(86_400 * (361 + 365 + 59)), "2028-02-29T00:00:00Z");
    }
}
