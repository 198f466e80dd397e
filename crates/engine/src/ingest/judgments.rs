//! Graded judgments, as TREC qrels or as a table with columns.

use std::path::Path;

use matchrank_core::data::qrels;
use matchrank_core::{Error, Result};

use super::columns::{Mapping, Named, Role};
use super::table::Table;
use crate::files;

/// A judgment by ids.
pub(super) struct Graded {
    pub(super) query: String,
    pub(super) document: String,
    pub(super) grade: f32,
}

/// Reads a file of judgments: a table when its first line names the columns, TREC qrels otherwise.
pub(super) fn read_judgments(path: &Path, named: &Named) -> Result<Vec<Graded>> {
    let name = files::name_of(path);
    let bytes = files::read_all(path)?;
    if let Some(table) = table_of(path, &bytes)? {
        return read_table(&name, &table, named);
    }
    let judgments = qrels::parse(&name, &bytes)?;
    Ok(judgments
        .iter()
        .map(|j| Graded { query: j.query.to_owned(), document: j.document.to_owned(), grade: j.grade })
        .collect())
}

/// The file as a table, when it looks like one: Parquet, JSON lines, or a header that names a grade.
fn table_of(path: &Path, bytes: &[u8]) -> Result<Option<Table>> {
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let header = String::from_utf8_lossy(line).to_lowercase();
    let named = ["grade", "relevance", "label", "score", "rating", "judgment"]
        .iter()
        .any(|word| header.contains(word));
    let is_table = bytes.starts_with(b"PAR1")
        || line.trim_ascii_start().starts_with(b"{")
        || (named && line.iter().any(|b| matches!(b, b',' | b'\t')));
    is_table.then(|| Table::open(path)).transpose()
}

fn read_table(name: &str, table: &Table, named: &Named) -> Result<Vec<Graded>> {
    let columns = table.columns();
    let mapping =
        Mapping::of(name, columns, &[Role::QueryId, Role::Query, Role::Document, Role::Grade], named)?;
    let query = mapping.get(Role::QueryId).or(mapping.get(Role::Query));
    let query = query.ok_or_else(|| {
        Error::parse(name, 1, "no column for the query id; name one with --column query_id=NAME")
    })?;
    let document = mapping.require(name, Role::Document, columns)?;
    let grade = mapping.require(name, Role::Grade, columns)?;
    let mut judgments = Vec::new();
    table.read(
        &[query, document, grade],
        |rows| {
            let mut part = Vec::new();
            rows.for_each(|row| {
                let [Some(query), Some(document), Some(text)] = row.fields else {
                    return Err(Error::parse(
                        name,
                        row.line,
                        "the query, the document or the grade is empty",
                    ));
                };
                let grade: f32 =
                    fast_float2::parse(text).ok().filter(|g: &f32| g.is_finite()).ok_or_else(|| {
                        Error::parse(name, row.line, format!("the grade is '{text}'; a number is expected"))
                    })?;
                part.push(Graded { query: (*query).to_owned(), document: (*document).to_owned(), grade });
                Ok(())
            })?;
            Ok(part)
        },
        |part| {
            judgments.extend(part);
            Ok(())
        },
    )?;
    Ok(judgments)
}
