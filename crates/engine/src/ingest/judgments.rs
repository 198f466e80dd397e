//! Graded judgments, as TREC qrels or as a table with columns.

use std::path::Path;

use foldhash::HashMap;
use matchrank_core::data::qrels;
use matchrank_core::{Error, Result};

use super::clicks::with_nested;
use super::columns::{Mapping, NamedColumns, Role, is_usual_grade};
use super::documents::source;
use super::file_format::has_table_ending;
use super::history::origin_of;
use super::inputs::InputSettings;
use super::listed::ListedQueries;
use super::table::Table;
use crate::dataset::{HistoryPart, IgnoredColumn, SourceFile, id_of_text};
use crate::files;
use crate::text::normalise_query;

/// Judgments of a file, and what was found out about the file.
pub(super) struct JudgmentFile {
    pub(super) name: String,
    pub(super) rows: Vec<Graded>,
    pub(super) remarks: Vec<String>,
    pub(super) ignored: Vec<IgnoredColumn>,
    /// The file that the rows of a former history came from.
    pub(super) former: Option<SourceFile>,
    /// BLAKE3 of the file.
    pub(super) origin: String,
}

impl JudgmentFile {
    /// Describes the file as a source of the dataset.
    pub(super) fn source(&self, role: &str) -> SourceFile {
        if let Some(source) = &self.former {
            return source.clone();
        }
        let source = source(role, &self.name, self.rows.len() as u64, self.remarks.clone());
        SourceFile { ignored: self.ignored.clone(), ..source }
    }

    /// Names the file that the rows of a former history came from.
    pub(super) fn of_former(self, part: &HistoryPart) -> Self {
        let HistoryPart { source, origin, .. } = part.clone();
        Self { name: source.file.clone(), former: Some(source), origin, ..self }
    }
}

/// A judgment by ids.
pub(super) struct Graded {
    pub(super) query: String,
    pub(super) document: String,
    pub(super) grade: f32,
}

/// Reads a file of judgments: TREC qrels, or a table with columns for query id (or text), document and
/// grade.
pub(super) fn read_judgments(
    path: &Path,
    settings: &InputSettings,
    listed: &ListedQueries,
) -> Result<JudgmentFile> {
    let named = &settings.columns;
    let name = files::name_of(path);
    let bytes = if settings.memory.is_some() { Vec::new() } else { files::read_all(path)? };
    let origin = origin_of(path)?;
    if settings.memory.is_some() || is_table(path, &bytes, named) {
        let table = settings.open(path)?;
        let (rows, ignored) = read_table(&name, &table, named, listed)?;
        let (remarks, ignored) = (table.remarks(), with_nested(ignored, &table));
        return Ok(JudgmentFile { name, rows, remarks, ignored, former: None, origin });
    }
    settings.refuse_own_columns(&name, "TREC judgments")?;
    let judgments = qrels::parse(&name, &bytes)?;
    let rows = judgments
        .iter()
        .map(|j| Graded { query: j.query.to_owned(), document: j.document.to_owned(), grade: j.grade })
        .collect();
    Ok(JudgmentFile { name, rows, remarks: Vec::new(), ignored: Vec::new(), former: None, origin })
}

/// Four columns ending in a number are TREC qrels whatever the file is called; else the content, the
/// ending of the name or a column that is called like a grade tells a table.
fn is_table(path: &Path, bytes: &[u8], named: &NamedColumns) -> bool {
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let fields: Vec<&str> = line.split_whitespace().collect();
    if fields.len() == 4 && fields[3].parse::<f32>().is_ok() {
        return false;
    }
    let graded =
        |column: &str| is_usual_grade(column) || named.get(&Role::Grade).is_some_and(|name| name == column);
    bytes.starts_with(b"PAR1")
        || line.trim_start().starts_with('{')
        || has_table_ending(path)
        || line.trim_end().split([',', ';', '\t', '|']).any(|column| graded(column.trim()))
}

fn read_table(
    name: &str,
    table: &Table,
    named: &NamedColumns,
    listed: &ListedQueries,
) -> Result<(Vec<Graded>, Vec<IgnoredColumn>)> {
    let columns = table.columns();
    let mut mapping =
        Mapping::of(name, columns, &[Role::QueryId, Role::Query, Role::Document, Role::Grade], named)?;
    // An id precedes the text of the query.
    if mapping.get(Role::QueryId).is_some() {
        mapping.remove(Role::Query);
    }
    let (query, by_text) = match (mapping.get(Role::QueryId), mapping.get(Role::Query)) {
        (Some(id), _) => (id, false),
        (None, Some(text)) => (text, true),
        (None, None) => {
            return Err(Error::parse(
                name,
                1,
                "no column for the query id; name one with option `column query_id=NAME`",
            ));
        }
    };
    let document = mapping.require(name, Role::Document, columns)?;
    let grade = mapping.require(name, Role::Grade, columns)?;
    // A query given by its text has the id of that text.
    let id_of = |query: &str| {
        if !by_text {
            return query.to_owned();
        }
        let text = normalise_query(query);
        listed.with_text(&text).map_or_else(|| id_of_text(&text), |number| listed.ids.get(number).to_owned())
    };
    let mut judgments: Vec<Graded> = Vec::new();
    let mut lines: HashMap<(String, String), u64> = HashMap::default();
    table.read(
        &[query, document, grade],
        |rows| {
            let mut part = Vec::new();
            rows.for_each(|row| {
                let [Some(query), Some(document), Some(text)] = row.fields else {
                    return Err(Error::parse(name, row.line, "the query, the document or the grade is empty"));
                };
                let grade: f32 = fast_float2::parse(text).ok().filter(|g: &f32| g.is_finite()).ok_or_else(|| {
                    Error::parse(name, row.line, format!("the grade is '{text}'; a number is expected"))
                })?;
                part.push((row.line, Graded { query: id_of(query), document: (*document).to_owned(), grade }));
                Ok(())
            })?;
            Ok(part)
        },
        |part| {
            for (line, graded) in part {
                if let Some(first) = lines.insert((graded.query.clone(), graded.document.clone()), line) {
                    let message = format!(
                        "the document {} of the query {} was judged on line {first} already; keep one of them",
                        graded.document, graded.query
                    );
                    return Err(Error::parse(name, line, message));
                }
                judgments.push(graded);
            }
            Ok(())
        },
    )?;
    Ok((judgments, mapping.ignored(columns)))
}
