//! Searches whose clicks may still come, and the preferences of those that are over.
//!
//! Joachims' rules need all clicks of a search: a document that was clicked later was not passed over. So a search stays
//! open for a time after its first event, and gives its preferences when it closes. The time is the one at which events
//! were received, which the log holds; the clock of the machine plays no part. The same log gives the same preferences
//! in the same order, whenever it is read.

use std::collections::VecDeque;

use foldhash::HashMap;
use matchrank_engine::ingest::EventKind;
use matchrank_engine::preferences::{ShownResult, passed_over};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::event::{DocumentAction, SearchAction};

/// Documents of a search that are looked at.
const MOST_DOCUMENTS: usize = 1000;

/// Limits of the time for which a search waits for clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchWindow {
    /// Milliseconds from the first event of a search to its end. Half an hour by default.
    pub milliseconds: i64,
    /// Searches that are open at the same time; the oldest of more is closed. 10,000 by default.
    pub most_open: usize,
}

impl Default for SearchWindow {
    fn default() -> Self {
        Self { milliseconds: 30 * 60 * 1000, most_open: 10_000 }
    }
}

/// Document of an open search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OpenResult {
    document: String,
    position: Option<u32>,
    clicked: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct OpenSearch {
    id: String,
    /// Time at which its first event was received.
    opened: i64,
    query: Option<String>,
    results: Vec<OpenResult>,
}

impl OpenSearch {
    fn note(&mut self, document: &str, position: Option<u32>, clicked: bool) {
        let has_room = self.results.len() < MOST_DOCUMENTS;
        let known = self.results.iter_mut().find(|result| result.document == document);
        match known {
            Some(result) => {
                result.clicked |= clicked;
                // A document that is shown twice stands where it stood highest.
                result.position = match (result.position, position) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
            }
            None if has_room => {
                self.results.push(OpenResult { document: document.to_owned(), position, clicked });
            }
            None => {}
        }
    }

    /// Appends the preferences of the search as lines of a tuple file.
    fn close(self, lines: &mut Vec<String>) {
        let Some(query) = self.query else { return };
        let mut results: Vec<(u32, OpenResult)> =
            self.results.into_iter().filter_map(|result| Some((result.position?, result))).collect();
        results.sort_by_key(|(position, _)| *position);
        let shown = results
            .iter()
            .map(|(position, result)| ShownResult { position: *position, is_clicked: result.clicked });
        for (better, worse) in passed_over(&shown.collect::<Vec<_>>()) {
            let [better, worse] = [better, worse].map(|place| &results[place].1.document);
            lines.push(json!({ "query": query, "better": better, "worse": worse }).to_string());
        }
    }
}

/// Searches whose clicks may still come, in the order in which they opened.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenSearches {
    window: SearchWindow,
    /// Number of the first search of `open`.
    first: u64,
    open: VecDeque<OpenSearch>,
    /// Number of each open search.
    numbers: HashMap<String, u64>,
}

/// Open searches as a checkpoint keeps them.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedSearches {
    window: SearchWindow,
    open: Vec<OpenSearch>,
}

impl OpenSearches {
    pub(super) fn new(window: SearchWindow) -> Self {
        Self { window, ..Self::default() }
    }

    pub(super) fn save(&self) -> SavedSearches {
        SavedSearches { window: self.window, open: self.open.iter().cloned().collect() }
    }

    pub(super) fn restore(saved: SavedSearches) -> Self {
        let numbers = (0..).zip(&saved.open).map(|(number, search)| (search.id.clone(), number)).collect();
        Self { window: saved.window, first: 0, open: saved.open.into(), numbers }
    }

    /// Closes the searches that are over at a time.
    pub(super) fn close_until(&mut self, received: i64, lines: &mut Vec<String>) {
        let is_over =
            |search: &OpenSearch| search.opened.saturating_add(self.window.milliseconds) <= received;
        while self.open.front().is_some_and(is_over) {
            Self::close_first(&mut self.open, &mut self.numbers, &mut self.first, lines);
        }
    }

    pub(super) fn add_search(&mut self, received: i64, action: &SearchAction, lines: &mut Vec<String>) {
        let Some(id) = &action.search else { return };
        let search = self.opened(id, received);
        if search.query.is_none() {
            search.query.clone_from(&action.query);
        }
        for shown in &action.shown {
            search.note(&shown.document, Some(shown.position), false);
        }
        self.close_excess(lines);
    }

    pub(super) fn add_document(&mut self, received: i64, action: &DocumentAction, lines: &mut Vec<String>) {
        let (Some(id), effect) = (&action.search, action.effect()) else { return };
        if effect == EventKind::LeftOut {
            return;
        }
        let search = self.opened(id, received);
        if search.query.is_none() {
            search.query.clone_from(&action.query);
        }
        search.note(&action.document, action.position, matches!(effect, EventKind::Counts(_)));
        self.close_excess(lines);
    }

    fn opened(&mut self, id: &str, received: i64) -> &mut OpenSearch {
        let number = match self.numbers.get(id) {
            Some(number) => *number,
            None => {
                let number = self.first + self.open.len() as u64;
                self.numbers.insert(id.to_owned(), number);
                let id = id.to_owned();
                self.open.push_back(OpenSearch { id, opened: received, query: None, results: Vec::new() });
                number
            }
        };
        &mut self.open[(number - self.first) as usize]
    }

    fn close_excess(&mut self, lines: &mut Vec<String>) {
        while self.open.len() > self.window.most_open.max(1) {
            Self::close_first(&mut self.open, &mut self.numbers, &mut self.first, lines);
        }
    }

    fn close_first(
        open: &mut VecDeque<OpenSearch>,
        numbers: &mut HashMap<String, u64>,
        first: &mut u64,
        lines: &mut Vec<String>,
    ) {
        if let Some(search) = open.pop_front() {
            numbers.remove(&search.id);
            *first += 1;
            search.close(lines);
        }
    }
}
