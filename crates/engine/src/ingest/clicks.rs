//! Reads rows of click logs in any format: named columns, "User Behavior Insights" (UBI) events, or Metarank events.
//! All rows have the same shape and pass the same checks.
//!
//! Event formats name a search by an id and store its text elsewhere, so the searches are collected first
//! ([`Searches`]) and kept in memory while the events are read.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::HashMap;
use matchrank_core::{Error, Result};

use super::columns::{Mapping, Role};
use super::events::metarank_query;
use super::inputs::InputSettings;
use super::table::{Table, TableRow};
use crate::files;

/// Clicks on a document for a query, or its impressions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogRow<'a> {
    pub(super) line: u64,
    pub(super) query: QueryName<'a>,
    pub(super) document: &'a str,
    pub(super) clicks: f64,
    pub(super) shown: u64,
    pub(super) position: Option<u32>,
    /// Milliseconds since 1970.
    pub(super) time: Option<i64>,
}

/// Name of the query in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum QueryName<'a> {
    Text(&'a str),
    Id(&'a str),
}

/// Reason for leaving out a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Skip {
    EmptyQuery,
    EmptyDocument,
    UnknownQuery,
    UnknownDocument,
    UnknownSearch,
    OtherAction,
}

impl Skip {
    /// Returns the reason in words.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Skip::EmptyQuery => "rows without a query",
            Skip::EmptyDocument => "rows without a document",
            Skip::UnknownQuery => "rows whose query id is in no queries file",
            Skip::UnknownDocument => "rows whose document is not in the collection",
            Skip::UnknownSearch => "events whose search is not in the log",
            Skip::OtherAction => "events that are neither clicks nor impressions",
        }
    }
}

/// Text of each search of an event log, by search id.
pub(super) type Searches = HashMap<String, String>;

enum Layout {
    Columns(Mapping),
    UbiQueries,
    UbiEvents,
    Metarank,
}

impl Layout {
    /// Returns the name of a format of events.
    fn of_events(&self) -> Option<&'static str> {
        match self {
            Self::Columns(_) => None,
            Self::UbiQueries => Some("the queries of User Behavior Insights"),
            Self::UbiEvents => Some("events of User Behavior Insights"),
            Self::Metarank => Some("Metarank events"),
        }
    }
}

/// A click log file whose layout is known.
pub(super) struct ClickLog {
    pub(super) path: PathBuf,
    name: String,
    pub(super) table: Table,
    layout: Layout,
    /// Set when a position with a fraction is met.
    averages: AtomicBool,
}

/// Roles that the columns of a log may have.
pub(super) const LOG_ROLES: [Role; 7] =
    [Role::Query, Role::QueryId, Role::Document, Role::Clicks, Role::Shown, Role::Position, Role::Time];

impl ClickLog {
    pub(super) fn open(path: &Path, settings: &InputSettings) -> Result<Self> {
        let name = files::name_of(path);
        let table = Table::open(path, settings.escape)?;
        let has = |column: &str| table.columns().iter().any(|c| c == column);
        let mapping = Mapping::of(&name, table.columns(), &LOG_ROLES, &settings.columns)?;
        let layout = if has("action_name") && has("query_id") {
            Layout::UbiEvents
        } else if has("user_query") && has("query_id") && mapping.get(Role::Document).is_none() {
            Layout::UbiQueries
        } else if table.is_json() && has("event") && has("timestamp") && has("id") {
            Layout::Metarank
        } else {
            mapping.require(&name, Role::Document, table.columns())?;
            if mapping.get(Role::QueryId).is_none() {
                mapping.require(&name, Role::Query, table.columns())?;
            }
            Layout::Columns(mapping)
        };
        if let Some(format) = layout.of_events() {
            settings.refuse_own_columns(&name, format)?;
        }
        Ok(Self { path: path.to_owned(), name, table, layout, averages: AtomicBool::new(false) })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns a note for the user on how the file is read.
    pub(super) fn note(&self) -> Option<String> {
        match &self.layout {
            Layout::Columns(mapping) => mapping.guesses(&self.name),
            events => events.of_events().map(|format| format!("{}: read as {format}", self.name)),
        }
    }

    /// Returns true if a position with a fraction was met, so that the positions of the file are averages.
    ///
    /// An average tells neither what stood above a document nor whether it was ever shown next to another one. So
    /// once this is known, all rows of the file are read as if they had no position. Rows that were read before are to
    /// be read again.
    pub(super) fn has_average_positions(&self) -> bool {
        self.averages.load(Ordering::Relaxed)
    }

    /// Returns what was found out about the file.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = self.table.remarks();
        if self.has_average_positions() {
            remarks.push("positions are averages, so no document counts as skipped".into());
        }
        remarks
    }

    /// Returns true if every row has a time.
    pub(super) fn has_time(&self) -> bool {
        match &self.layout {
            Layout::Columns(mapping) => mapping.get(Role::Time).is_some(),
            Layout::UbiQueries | Layout::UbiEvents | Layout::Metarank => true,
        }
    }

    /// Collects the searches of an event log.
    pub(super) fn collect_searches(&self, searches: &mut Searches) -> Result<()> {
        let merge = |found: Vec<(String, String)>| {
            searches.extend(found);
            Ok(())
        };
        match &self.layout {
            Layout::Columns(_) | Layout::UbiEvents => Ok(()),
            Layout::UbiQueries => self.table.read(
                &["query_id", "user_query"],
                |rows| {
                    let mut found = Vec::new();
                    rows.for_each(|row| {
                        if let [Some(id), Some(query)] = row.fields {
                            found.push(((*id).to_owned(), (*query).to_owned()));
                        }
                        Ok(())
                    })?;
                    Ok(found)
                },
                merge,
            ),
            Layout::Metarank => self.table.read(
                &[],
                |rows| {
                    let mut found = Vec::new();
                    rows.for_each_json(|_, event| {
                        if event["event"] == "ranking"
                            && let (Some(id), Some(query)) = (event["id"].as_str(), metarank_query(event))
                        {
                            found.push((id.to_owned(), query.to_owned()));
                        }
                        Ok(())
                    })?;
                    Ok(found)
                },
                merge,
            ),
        }
    }

    /// Processes the rows chunk by chunk on all cores. For every chunk, `start` makes a result, `each` adds a row or
    /// the reason for leaving it out, and `end` finishes the result. `merge` receives the results in file order.
    pub(super) fn read<Done: Send>(
        &self,
        searches: &Searches,
        start: impl Fn() -> Done + Sync,
        each: impl Fn(&mut Done, u64, Result<LogRow<'_>, Skip>) -> Result<()> + Sync,
        end: impl Fn(&mut Done) -> Result<()> + Sync,
        merge: impl FnMut(Done) -> Result<()>,
    ) -> Result<()> {
        let (wanted, roles): (Vec<&str>, Vec<Role>) = match &self.layout {
            Layout::Columns(mapping) => {
                mapping.columns.iter().map(|(role, name)| (name.as_str(), *role)).unzip()
            }
            Layout::UbiQueries => return Ok(()),
            Layout::UbiEvents => (self.ubi_columns(), Vec::new()),
            Layout::Metarank => (Vec::new(), Vec::new()),
        };
        let at = |role: Role| roles.iter().position(|r| *r == role);
        let columns = [
            at(Role::Query),
            at(Role::QueryId),
            at(Role::Document),
            at(Role::Clicks),
            at(Role::Shown),
            at(Role::Position),
            at(Role::Time),
        ];
        self.table.read(
            &wanted,
            |rows| {
                let mut done = start();
                match &self.layout {
                    Layout::Metarank => rows.for_each_json(|line, event| {
                        self.metarank_rows(searches, line, event, |row| each(&mut done, line, row))
                    })?,
                    Layout::UbiEvents => rows.for_each(|row| {
                        let parsed = self.ubi_row(searches, &wanted, &row)?;
                        each(&mut done, row.line, parsed)
                    })?,
                    _ => rows.for_each(|row| {
                        let parsed = self.column_row(&columns, &row)?;
                        each(&mut done, row.line, parsed)
                    })?,
                }
                end(&mut done)?;
                Ok(done)
            },
            merge,
        )
    }

    fn column_row<'a>(
        &self,
        columns: &[Option<usize>; 7],
        row: &TableRow<'a>,
    ) -> Result<Result<LogRow<'a>, Skip>> {
        let field = |i: usize| columns[i].and_then(|c| row.fields[c]);
        let query = match (columns[0], field(0), field(1)) {
            (Some(_), Some(text), _) => QueryName::Text(text),
            (None, _, Some(id)) => QueryName::Id(id),
            _ => return Ok(Err(Skip::EmptyQuery)),
        };
        let Some(document) = field(2) else { return Ok(Err(Skip::EmptyDocument)) };
        let clicks = field(3).map(|text| self.count(row.line, "clicks", text)).transpose()?;
        let shown = field(4).map(|text| self.count(row.line, "shown", text)).transpose()?;
        let (clicks, shown) = match (columns[3], columns[4]) {
            (Some(_), Some(_)) => (clicks.unwrap_or(0.0), shown.unwrap_or(0.0)),
            // Click counts without impressions: a clicked document was shown.
            (Some(_), None) => (clicks.unwrap_or(0.0), clicks.unwrap_or(0.0)),
            // Only an impression flag: a row that is not an impression is a click.
            (None, Some(_)) if shown.is_some_and(|s| s > 0.0) => (0.0, 1.0),
            _ => (1.0, 1.0),
        };
        let position = field(5).map(|text| self.position_or_average(row.line, text)).transpose()?.flatten();
        let time = field(6).map(|text| self.time(row.line, text)).transpose()?;
        Ok(Ok(LogRow { line: row.line, query, document, clicks, shown: shown as u64, position, time }))
    }

    fn count(&self, line: u64, what: &str, text: &str) -> Result<f64> {
        let value = match text {
            "true" | "True" | "TRUE" => 1.0,
            "false" | "False" | "FALSE" => 0.0,
            _ => fast_float2::parse(text).map_err(|_| {
                Error::parse(&self.name, line, format!("{what} is '{text}'; a number is expected"))
            })?,
        };
        if !(0.0..=1e12).contains(&value) {
            let why = if value < 0.0 { "negative" } else { "not a usable number" };
            let message = format!("{what} is {text}, which is {why}; a count from 0 to 10^12 is expected");
            return Err(Error::parse(&self.name, line, message));
        }
        Ok(value)
    }

    /// Returns a position, or `None` if the positions of the file are averages.
    fn position_or_average(&self, line: u64, text: &str) -> Result<Option<u32>> {
        let value: f64 = fast_float2::parse(text).unwrap_or(f64::NAN);
        if value.fract() != 0.0 && (1.0..=1e9).contains(&value) {
            self.averages.store(true, Ordering::Relaxed);
        }
        if self.has_average_positions() && (0.0..=1e9).contains(&value) {
            return Ok(None);
        }
        self.position(line, text).map(Some)
    }

    pub(super) fn position(&self, line: u64, text: &str) -> Result<u32> {
        let value: f64 = fast_float2::parse(text).unwrap_or(f64::NAN);
        if value.fract() == 0.0 && (0.0..=1e9).contains(&value) {
            return Ok(value as u32);
        }
        Err(Error::parse(
            &self.name,
            line,
            format!("position is '{text}'; a whole number from 0, or an average from 1, is expected"),
        ))
    }

    pub(super) fn time(&self, line: u64, text: &str) -> Result<i64> {
        parse_time(text).ok_or_else(|| {
            let expected = "seconds, milliseconds or microseconds since 1970, or a date like 2011-09-14 12:46:28 or \
                            2011-09-14T12:46:28.660Z";
            Error::parse(&self.name, line, format!("time is '{text}'; expected {expected}"))
        })
    }
}

/// Returns the milliseconds since 1970 of a date or of a number of seconds, milliseconds, microseconds or nanoseconds.
/// The size of the number decides its unit.
fn parse_time(text: &str) -> Option<i64> {
    if text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit()) {
        return parse_time(&format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]));
    }
    if let Ok(number) = fast_float2::parse::<f64, _>(text) {
        return match number.abs() {
            n if n < 1e11 => Some((number * 1e3) as i64),
            n if n < 1e14 => Some(number as i64),
            n if n < 1e17 => Some((number / 1e3) as i64),
            n if n < 1e20 => Some((number / 1e6) as i64),
            _ => None,
        };
    }
    let nanoseconds = arrow_cast::parse::string_to_timestamp_nanos(text).ok()?;
    Some(nanoseconds.div_euclid(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_many_kinds_are_understood() {
        let expected = Some(1_316_004_388_660);
        assert_eq!(parse_time("2011-09-14 12:46:28.66"), expected);
        assert_eq!(parse_time("2011-09-14T12:46:28.660Z"), expected);
        assert_eq!(parse_time("2011-09-14T14:46:28.660+02:00"), expected);
        assert_eq!(parse_time("1316004388660"), expected);
        assert_eq!(parse_time("1316004388.66"), expected);
        assert_eq!(parse_time("1316004388660000"), expected);
        assert_eq!(parse_time("2011-09-14"), Some(1_315_958_400_000));
        assert_eq!(parse_time("20110914"), Some(1_315_958_400_000));
        assert_eq!(parse_time("99999999"), None);
        assert_eq!(parse_time("yesterday"), None);
        assert_eq!(parse_time("NaN"), None);
    }
}
