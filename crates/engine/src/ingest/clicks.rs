//! Reads rows of click logs in any format: named columns, "User Behavior Insights" (UBI) events, or Metarank events.
//! All rows have the same shape and pass the same checks.
//!
//! Event formats name a search by an id and store its text elsewhere, so the searches are collected first
//! ([`Searches`]) and kept in memory while the events are read.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::HashMap;
use matchrank_core::{Error, Result};

use super::columns::{Mapping, NO_ROLE, Role};
use super::delimiters::CsvRules;
use super::documents::source;
use super::event_types::{LogEvents, count_types, find_types};
use super::events::{METARANK_FIELDS, count_interactions, is_metarank, metarank_query};
use super::history::FormerLog;
use super::inputs::InputSettings;
use super::table::Table;
use super::times::TimeFormat;
use crate::dataset::{IgnoredColumn, SourceFile};
use crate::files;

/// Clicks on a document for a query, or its impressions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogRow<'a> {
    pub(super) line: u64,
    pub(super) query: QueryName<'a>,
    /// Search of an event, which names the query.
    pub(super) search: Option<SearchName<'a>>,
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
    /// The query of a search that is not in the log.
    Unknown,
}

/// Search that an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SearchName<'a> {
    pub(super) id: &'a str,
    /// Text of the query in the event itself, for searches that are not in the log.
    pub(super) text: Option<&'a str>,
}

impl<'a> SearchName<'a> {
    /// Returns the query of the search.
    pub(super) fn query(self, searches: &'a Searches) -> QueryName<'a> {
        let found = searches.get(self.id).map(String::as_str);
        found.or(self.text).map_or(QueryName::Unknown, QueryName::Text)
    }
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
    Old,
}

impl Skip {
    /// Every reason.
    pub(super) const ALL: [Self; 7] = [
        Self::EmptyQuery,
        Self::EmptyDocument,
        Self::UnknownQuery,
        Self::UnknownDocument,
        Self::UnknownSearch,
        Self::OtherAction,
        Self::Old,
    ];

    /// Returns the reason in words.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Skip::EmptyQuery => "rows without a query",
            Skip::EmptyDocument => "rows without a document",
            Skip::UnknownQuery => "rows whose query id is in no queries file",
            Skip::UnknownDocument => "rows whose document is not in the collection",
            Skip::UnknownSearch => "events whose search is not in the log",
            Skip::OtherAction => "events of types that count nothing",
            Skip::Old => "rows before the drop date",
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
    /// Rows in the history of a former dataset.
    Former(Box<FormerLog>),
}

impl Layout {
    /// Returns the name of a format of events.
    fn of_events(&self) -> Option<&'static str> {
        match self {
            Self::Columns(_) | Self::Former(_) => None,
            Self::UbiQueries => Some("the queries of User Behavior Insights"),
            Self::UbiEvents => Some("events of User Behavior Insights"),
            Self::Metarank => Some("Metarank events"),
        }
    }
}

/// A click log file whose layout is known.
pub(super) struct ClickLog {
    name: String,
    pub(super) table: Table,
    layout: Layout,
    /// Column of the query id in a table that has the text of the query, too.
    unused_id: Option<String>,
    /// Event types, if the log has any.
    pub(super) events: Option<LogEvents>,
    pub(super) times: TimeFormat,
    /// Set when a position with a fraction is met.
    pub(super) averages: AtomicBool,
    /// Rows before this time (milliseconds since 1970) are left out.
    from: Option<i64>,
    /// BLAKE3 of the file.
    pub(super) origin: String,
}

/// Roles that the columns of a log may have.
pub(super) const LOG_ROLES: [Role; 8] = [
    Role::Query,
    Role::QueryId,
    Role::Document,
    Role::Clicks,
    Role::Shown,
    Role::Position,
    Role::Time,
    Role::Event,
];

impl ClickLog {
    pub(super) fn open(path: &Path, settings: &InputSettings) -> Result<Self> {
        let name = files::name_of(path);
        let table = settings.open(path)?;
        let has = |column: &str| table.columns().iter().any(|c| c == column);
        let mut mapping = Mapping::of(&name, table.columns(), &LOG_ROLES, &settings.columns)?;
        let mut unused_id = None;
        let layout = if has("action_name") && has("query_id") && mapping.get(Role::Event).is_none() {
            Layout::UbiEvents
        } else if has("user_query") && has("query_id") && mapping.get(Role::Document).is_none() {
            Layout::UbiQueries
        } else if is_metarank(&table)? {
            Layout::Metarank
        } else {
            mapping.require(&name, Role::Document, table.columns())?;
            if mapping.get(Role::QueryId).is_none() {
                mapping.require(&name, Role::Query, table.columns())?;
            }
            // A text of the query precedes its id.
            if mapping.get(Role::Query).is_some() {
                unused_id = mapping.remove(Role::QueryId);
            }
            Layout::Columns(Mapping::default())
        };
        if let Some(format) = layout.of_events() {
            settings.refuse_own_columns(&name, format)?;
        }
        let too_many = |column: &str| {
            Error::format(
                &name,
                format!("the column '{column}' has too many different values to be event types"),
            )
        };
        let events = match (&layout, mapping.get(Role::Event)) {
            (Layout::UbiQueries, _) => None,
            (Layout::UbiEvents, _) => {
                let counts = count_types(&table, "action_name")?;
                Some(LogEvents::new(counts.ok_or_else(|| too_many("action_name"))?, true))
            }
            (Layout::Metarank, _) => {
                let counts = count_interactions(&table)?;
                Some(LogEvents::new(counts.ok_or_else(|| too_many("type"))?, true))
            }
            (Layout::Columns(_), Some(column)) => {
                let counts = count_types(&table, column)?;
                Some(LogEvents::new(counts.ok_or_else(|| too_many(column))?, false))
            }
            (Layout::Former(_), _) => None,
            (Layout::Columns(_), None) => find_types(&table, &mapping)?.map(|(column, counts)| {
                mapping.guess(Role::Event, &column);
                LogEvents::new(counts, false)
            }),
        };
        let time = match &layout {
            Layout::Columns(_) => mapping.get(Role::Time),
            Layout::UbiEvents if has("timestamp") => Some("timestamp"),
            _ => None,
        };
        let times = match (&settings.date_format, time) {
            (Some(format), _) => TimeFormat::Named(format.clone()),
            (None, Some(column)) => TimeFormat::of_column(&table, column)?,
            (None, None) => TimeFormat::Standard,
        };
        let layout = if let Layout::Columns(_) = layout { Layout::Columns(mapping) } else { layout };
        let averages = AtomicBool::new(false);
        Ok(Self {
            name,
            table,
            layout,
            unused_id,
            events,
            times,
            averages,
            from: None,
            origin: String::new(),
        })
    }

    /// Opens the rows of a log in the history of a former dataset.
    pub(super) fn former(former: FormerLog) -> Result<Self> {
        Ok(Self {
            name: former.part.source.file.clone(),
            origin: former.part.origin.clone(),
            table: Table::open(&former.path, CsvRules::default())?,
            layout: Layout::Former(Box::new(former)),
            unused_id: None,
            events: None,
            times: TimeFormat::Standard,
            averages: AtomicBool::new(false),
            from: None,
        })
    }

    /// Returns the part of a former dataset that the rows are read from.
    pub(super) fn as_former(&self) -> Option<&FormerLog> {
        match &self.layout {
            Layout::Former(former) => Some(former),
            _ => None,
        }
    }

    /// Returns true if the rows go into the history; the rows of a former one are taken over as they are.
    pub(super) fn keeps_rows(&self) -> bool {
        self.as_former().is_none() || self.from.is_some()
    }

    /// Leaves out rows before a time. Returns an error if the times cannot be compared.
    pub(super) fn drop_before(&mut self, time: i64) -> Result<()> {
        if !self.has_time() {
            let message = "rows before a date are to be dropped, and there is no time column; name it with option \
                           `column time=NAME`";
            return Err(Error::parse(self.name(), 1, message));
        }
        self.times.check_comparable(self.name())?;
        self.from = Some(time);
        Ok(())
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns a note for the user on how the file is read.
    pub(super) fn note(&self) -> Option<String> {
        match &self.layout {
            Layout::Columns(mapping) => mapping.guesses(&self.name),
            Layout::Former(_) => None,
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

    /// Returns the column of a plain table that holds the ids of documents.
    pub(super) fn document_column(&self) -> Option<&str> {
        match &self.layout {
            Layout::Columns(mapping) => mapping.get(Role::Document),
            _ => None,
        }
    }

    /// Describes the file as a source of the dataset.
    pub(super) fn source(&self, rows: u64) -> SourceFile {
        if let Layout::Former(former) = &self.layout {
            return former.part.source.clone();
        }
        let mut remarks = self.table.remarks();
        remarks.extend(self.times.remark());
        if self.has_average_positions() {
            remarks.push("positions are averages, so no document counts as skipped".into());
        }
        remarks.extend(self.events.as_ref().and_then(LogEvents::remark));
        let events = self.events.as_ref().map(LogEvents::types).unwrap_or_default();
        SourceFile { events, ignored: self.ignored(), ..source("clicks", &self.name, rows, remarks) }
    }

    /// Returns the columns that are not used.
    fn ignored(&self) -> Vec<IgnoredColumn> {
        let fixed: Vec<&str> = match &self.layout {
            Layout::Columns(mapping) => {
                let mut ignored = mapping.ignored(self.table.columns());
                for column in ignored.iter_mut().filter(|c| Some(&c.column) == self.unused_id.as_ref()) {
                    column.reason = "the text of the query is used".into();
                }
                return with_nested(ignored, &self.table);
            }
            Layout::UbiQueries => vec!["query_id", "user_query"],
            Layout::UbiEvents => self.ubi_columns(),
            Layout::Metarank => METARANK_FIELDS.to_vec(),
            Layout::Former(_) => return Vec::new(),
        };
        let is_used = |column: &str| {
            fixed.iter().any(|used| {
                column.strip_prefix(used).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let columns = self.table.columns().iter().filter(|column| !is_used(column));
        with_nested(columns.map(|column| IgnoredColumn::new(column, NO_ROLE)).collect(), &self.table)
    }

    /// Returns true if every row has a time.
    pub(super) fn has_time(&self) -> bool {
        match &self.layout {
            Layout::Columns(mapping) => mapping.get(Role::Time).is_some(),
            Layout::UbiQueries | Layout::UbiEvents | Layout::Metarank | Layout::Former(_) => true,
        }
    }

    /// Returns the searches of an event log, in the order of the file.
    pub(super) fn searches(&self) -> Result<Vec<(String, String)>> {
        let mut searches = Vec::new();
        let merge = |found: Vec<(String, String)>| {
            searches.extend(found);
            Ok(())
        };
        match &self.layout {
            Layout::Columns(_) | Layout::UbiEvents | Layout::Former(_) => Ok(()),
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
        }?;
        Ok(searches)
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
        // Times whose days and months cannot be told apart are no times.
        let has_times = !matches!(self.times, TimeFormat::Ambiguous(..));
        let each = |done: &mut Done, line: u64, row: Result<LogRow<'_>, Skip>| match (self.from, row) {
            (_, Ok(row)) if !has_times => each(done, line, Ok(LogRow { time: None, ..row })),
            (Some(from), Ok(row)) => match row.time {
                Some(time) if time < from => each(done, line, Err(Skip::Old)),
                Some(_) => each(done, line, Ok(row)),
                None => {
                    let message = "the row has no time, and rows before a date are to be dropped";
                    Err(Error::parse(self.name(), line, message))
                }
            },
            (_, row) => each(done, line, row),
        };
        if let Layout::Former(former) = &self.layout {
            return former.read(searches, start, each, end, merge);
        }
        let (wanted, roles): (Vec<&str>, Vec<Role>) = match &self.layout {
            Layout::Columns(mapping) => {
                mapping.columns.iter().map(|(role, name)| (name.as_str(), *role)).unzip()
            }
            Layout::UbiQueries => return Ok(()),
            Layout::UbiEvents => (self.ubi_columns(), Vec::new()),
            Layout::Metarank | Layout::Former(_) => (Vec::new(), Vec::new()),
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
            at(Role::Event),
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
}

/// Adds the nested columns and the late fields of a table to the columns that are not used.
pub(super) fn with_nested(mut ignored: Vec<IgnoredColumn>, table: &Table) -> Vec<IgnoredColumn> {
    let nested = table.nested().iter().filter(|name| !table.columns().contains(name));
    ignored.extend(nested.map(|name| IgnoredColumn::new(name, "nested")));
    let late = table.late_fields().into_iter();
    ignored.extend(
        late.map(|(name, line)| {
            IgnoredColumn::new(name, format!("first in line {line}, and in no row before"))
        }),
    );
    ignored
}
