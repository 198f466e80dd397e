//! The queries of queries files: ids, normalised texts, and which text belongs to which id.

use std::ops::Range;
use std::path::{Path, PathBuf};

use matchrank_core::{Error, Result};

use super::clicks::with_nested;
use super::columns::{NO_ROLE, Role, plain};
use super::documents::{check_id, source};
use super::inputs::InputSettings;
use super::table;
use crate::dataset::{IgnoredColumn, Names, SourceFile};
use crate::files;
use crate::text::normalise_query;

/// The queries of the queries files, in their order.
#[derive(Default)]
pub(super) struct ListedQueries {
    pub(super) ids: Names,
    /// Normalised text of each query.
    pub(super) texts: Vec<String>,
    /// Different normalised texts.
    distinct: Names,
    /// The first query with each of them.
    first: Vec<u32>,
}

/// A file of queries, and the numbers of those that it was the first to list.
pub(super) struct ListedSource {
    pub(super) source: SourceFile,
    pub(super) numbers: Range<usize>,
}

impl ListedQueries {
    /// Returns ids and texts of some queries.
    pub(super) fn rows(&self, numbers: Range<usize>) -> impl Iterator<Item = (&str, &str)> {
        numbers.map(|number| (self.ids.get(number as u32), self.texts[number].as_str()))
    }

    /// The first listed query with a normalised text.
    pub(super) fn with_text(&self, text: &str) -> Option<u32> {
        self.distinct.find(text).map(|n| self.first[n as usize])
    }

    /// Reads queries files: columns for id and text, or two columns without a header. `advice` ends the
    /// error where there is no such column.
    pub(super) fn read(
        inputs: &[PathBuf],
        settings: impl Fn(&Path) -> InputSettings,
        advice: &str,
    ) -> Result<(Self, Vec<ListedSource>)> {
        let (mut listed, mut sources) = (Self::default(), Vec::new());
        for input in inputs {
            let name = files::name_of(input);
            let settings = settings(input);
            let table = settings.open(input)?;
            let named = settings.columns;
            let columns = table.columns();
            let find =
                |names: &[&str]| names.iter().find_map(|n| columns.iter().find(|c| plain(c) == *n)).cloned();
            let id = named.get(&Role::QueryId).filter(|n| columns.contains(n)).cloned();
            let text = named.get(&Role::Query).filter(|n| columns.contains(n)).cloned();
            let id = id.or_else(|| find(&["id", "_id", "query_id", "queryid", "qid"]));
            let text = text
                .or_else(|| find(&["text", "query", "query_text", "title", "user_query"]))
                .or_else(|| find(Role::Query.usual_names()));
            let (Some(id), Some(text)) = (id, text) else {
                let message = format!(
                    "a column with the query id and one with its text are needed; the columns are {}; {advice}",
                    columns.join(", ")
                );
                return Err(Error::parse(name, 1, message));
            };
            let (mut rows, first) = (0, listed.ids.len());
            let work = |rows: &table::TableRows<'_>| {
                let mut part = Vec::new();
                rows.for_each(|row| {
                    let id =
                        row.fields[0].ok_or_else(|| Error::parse(&name, row.line, "the query has no id"))?;
                    check_id(&name, row.line, "query", id)?;
                    part.push((row.line, id.to_owned(), normalise_query(row.fields[1].unwrap_or_default())));
                    Ok(())
                })?;
                Ok(part)
            };
            table.read(&[&id, &text], work, |part| {
                for (line, id, text) in part {
                    rows += 1;
                    match listed.ids.insert(&id) {
                        Ok(number) => {
                            if listed.distinct.insert(&text).is_ok() {
                                listed.first.push(number);
                            }
                            listed.texts.push(text);
                        }
                        Err(first) if listed.texts[first as usize] == text => {}
                        Err(_) => {
                            let message = format!(
                                "the query id '{id}' was already used with another text; ids must be unique"
                            );
                            return Err(Error::parse(&name, line, message));
                        }
                    }
                }
                Ok(())
            })?;
            let ignored = columns.iter().filter(|column| **column != id && **column != text);
            let ignored = ignored.map(|column| IgnoredColumn::new(column, NO_ROLE)).collect();
            let source = SourceFile {
                ignored: with_nested(ignored, &table),
                ..source("queries", &name, rows, table.remarks())
            };
            sources.push(ListedSource { source, numbers: first..listed.ids.len() });
        }
        Ok((listed, sources))
    }
}
