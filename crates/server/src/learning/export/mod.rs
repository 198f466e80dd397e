//! The log as files: clicks and documents as `ingest` reads them, lessons as `update` reads them.

mod click_row;
mod parquet_rows;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use foldhash::HashMap;
use matchrank_engine::ingest::parse_date;
use matchrank_engine::{Error, files};
use serde_json::{Map, Value};

use self::click_row::ClickRow;
use self::parquet_rows::ParquetRows;
use super::event::{EventAction, EventReader};
use super::lessons::{LessonMaker, OnlineLesson};
use super::{LearningError, SearchWindow};
use crate::store::{LogSpan, Store, StoreError};

/// Counts of an export of clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedClicks {
    /// Events that were read.
    pub n_events: u64,
    /// Rows that were written: one for every document of an event.
    pub n_rows: u64,
    /// Rows that were left out because neither the event nor its search has a query.
    pub n_without_query: u64,
    /// Events whose type counts nothing, and events that are no clicks.
    pub n_others: u64,
    /// Events that cannot be read and were skipped.
    pub n_unreadable: u64,
    /// Sequence of the last event that was read; the next export begins after it.
    pub last: u64,
}

/// Counts of an export of documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedDocuments {
    /// Documents that were written.
    pub n_documents: u64,
    /// Sequence of the last change in the store.
    pub last: u64,
}

/// Counts of an export of lessons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedLessons {
    /// Preferences that were written.
    pub n_tuples: u64,
    /// Lists that were written.
    pub n_lists: u64,
    /// Events that cannot be read and were skipped.
    pub n_unreadable: u64,
    /// Sequence of the last event that was read.
    pub last: u64,
}

/// Returns the sequence behind which an export begins: a sequence number, or the last before a date. `None` for other texts.
pub fn sequence_of(store: &Store, since: &str) -> Result<Option<u64>, StoreError> {
    if !since.is_empty() && since.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(since.parse().ok());
    }
    parse_date(since).map(|time| store.sequence_before(time)).transpose()
}

/// Writes the clicks and impressions of a part of the log as JSON lines, which `ingest` reads as a click log.
pub fn export_clicks(
    store: &Store,
    span: LogSpan,
    out: &mut dyn Write,
) -> Result<ExportedClicks, LearningError> {
    let mut out = BufWriter::new(out);
    let exported = for_each_click(store, span, |row| {
        serde_json::to_writer(&mut out, row).map_err(|e| output_error(&e.into()))?;
        out.write_all(b"\n").map_err(|e| output_error(&e))
    })?;
    out.flush().map_err(|e| output_error(&e))?;
    Ok(exported)
}

/// Writes the clicks and impressions of a part of the log to a file, whole or not at all: Parquet if its name ends with
/// `.parquet`, else JSON lines, compressed if its name ends with `.zst` or `.gz`.
pub fn write_clicks(store: &Store, span: LogSpan, path: &Path) -> Result<ExportedClicks, LearningError> {
    let is_parquet = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"));
    let mut exported = Ok(ExportedClicks::default());
    let written = files::write_atomically(path, |out| {
        exported =
            if is_parquet { export_parquet(store, span, out) } else { export_clicks(store, span, out) };
        // The error itself is returned below.
        exported.as_ref().map(drop).map_err(|e| Error::format(files::name_of(path), e.to_string()))
    });
    let exported = exported?;
    written?;
    Ok(exported)
}

fn export_parquet(
    store: &Store,
    span: LogSpan,
    out: &mut dyn Write,
) -> Result<ExportedClicks, LearningError> {
    let mut rows = ParquetRows::new(out)?;
    let exported = for_each_click(store, span, |row| rows.push(row))?;
    rows.finish()?;
    Ok(exported)
}

fn for_each_click(
    store: &Store,
    span: LogSpan,
    mut each: impl FnMut(&ClickRow<'_>) -> Result<(), LearningError>,
) -> Result<ExportedClicks, LearningError> {
    let queries = queries_of_searches(store)?;
    let mut exported = ExportedClicks { last: span.after, ..ExportedClicks::default() };
    let mut reader = EventReader::default();
    store.for_each_event(span, |stored| {
        exported.n_events += 1;
        exported.last = stored.sequence;
        let Some(event) = reader.read(&stored) else { return Ok(()) };
        let n_before = (exported.n_rows, exported.n_without_query);
        click_row::for_each_row(&stored, &event, &queries, |row| match row {
            Some(row) => {
                exported.n_rows += 1;
                each(&row)
            }
            None => {
                exported.n_without_query += 1;
                Ok(())
            }
        })?;
        exported.n_others += u64::from((exported.n_rows, exported.n_without_query) == n_before);
        Ok::<_, LearningError>(())
    })?;
    exported.n_unreadable = reader.n_unreadable();
    Ok(exported)
}

/// Collects the query of every search in the log, whenever it came.
fn queries_of_searches(store: &Store) -> Result<HashMap<String, String>, LearningError> {
    let mut queries: HashMap<String, String> = HashMap::default();
    let mut reader = EventReader::default();
    store.for_each_event(LogSpan::ALL, |stored| {
        if let Some(EventAction::Search(action)) = reader.read(&stored).map(|event| event.action)
            && let (Some(search), Some(query)) = (action.search, action.query)
        {
            queries.entry(search).or_insert(query);
        }
        Ok::<_, LearningError>(())
    })?;
    Ok(queries)
}

/// Writes the documents that were put in a part of the log, and not removed since, as JSON lines, which `ingest` reads as
/// documents. A document without its id gets one in the field `id`.
pub fn export_documents(
    store: &Store,
    span: LogSpan,
    out: &mut dyn Write,
) -> Result<ExportedDocuments, LearningError> {
    let mut out = BufWriter::new(out);
    let mut exported = ExportedDocuments { last: store.last_sequence(), ..Default::default() };
    store.for_each_document(|document| {
        let Some(json) = document.json.filter(|_| span.contains(document.sequence)) else { return Ok(()) };
        let damaged =
            || LearningError::Refused(format!("the document {} of the store is no JSON object", document.id));
        let given: Map<String, Value> = serde_json::from_str(&json).map_err(|_| damaged())?;
        let mut object = Map::new();
        object.insert("id".to_owned(), document.id.into());
        object.extend(given.into_iter().filter(|(name, _)| name != "id"));
        writeln!(out, "{}", Value::Object(object)).map_err(|e| output_error(&e))?;
        exported.n_documents += 1;
        Ok::<_, LearningError>(())
    })?;
    out.flush().map_err(|e| output_error(&e))?;
    Ok(exported)
}

/// Writes the ids of the documents that were removed in a part of the log, one in each line.
pub fn export_removed(
    store: &Store,
    span: LogSpan,
    out: &mut dyn Write,
) -> Result<ExportedDocuments, LearningError> {
    let mut out = BufWriter::new(out);
    let mut exported = ExportedDocuments { last: store.last_sequence(), ..Default::default() };
    store.for_each_document(|document| {
        if document.json.is_none() && span.contains(document.sequence) {
            writeln!(out, "{}", document.id).map_err(|e| output_error(&e))?;
            exported.n_documents += 1;
        }
        Ok::<_, LearningError>(())
    })?;
    out.flush().map_err(|e| output_error(&e))?;
    Ok(exported)
}

/// Writes what online models learn from a part of the log: preferences as `update` reads tuples, and lists as
/// it reads lists. A learner that begins with it and the same window learns the same, and consecutive parts have the lessons
/// of the whole.
pub fn export_lessons(
    store: &Store,
    (span, window): (LogSpan, SearchWindow),
    mut tuples: Option<&mut dyn Write>,
    mut lists: Option<&mut dyn Write>,
) -> Result<ExportedLessons, LearningError> {
    let mut maker = LessonMaker::open_at(store, span.after, window)?;
    let mut exported = ExportedLessons { last: span.after, ..ExportedLessons::default() };
    let mut lessons = Vec::new();
    store.for_each_event(span, |stored| {
        exported.last = stored.sequence;
        maker.add(&stored, &mut lessons);
        for lesson in lessons.drain(..) {
            match &lesson {
                OnlineLesson::Tuple(line) => exported.n_tuples += write_line(&mut tuples, line)?,
                OnlineLesson::List(line) => exported.n_lists += write_line(&mut lists, line)?,
            }
        }
        Ok::<_, LearningError>(())
    })?;
    exported.n_unreadable = maker.n_unreadable();
    Ok(exported)
}

/// Writes a line if there is an output for it; returns the number of lines written.
fn write_line(out: &mut Option<&mut dyn Write>, line: &str) -> Result<u64, LearningError> {
    let Some(out) = out else { return Ok(0) };
    writeln!(out, "{line}").map_err(|e| output_error(&e))?;
    Ok(1)
}

fn output_error(error: &io::Error) -> LearningError {
    LearningError::Refused(format!("the output cannot be written: {error}"))
}
