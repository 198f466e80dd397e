//! LETOR / SVMlight feature lists.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, Hash, Hasher};

use matchrank_core::data::{FeatureLists, FeatureRow, FeatureRows, letor};
use matchrank_core::message::{HAS, IS, counted, counted_with, thousands};

use super::finding::{Finding, FoundLines, Malformed, Report, Severity, listed, whole};
use super::grades::{Grades, without_relevant};
use super::letor_memory::ListSizes;
use super::{FileKind, Map, columns, leak, lines};
use crate::rankers::registry;

/// Origin of a row.
#[derive(Clone, Copy)]
struct RowOrigin<'a> {
    line: u64,
    document: Option<&'a str>,
}

pub(super) fn examine(file: String, bytes: &[u8]) -> (Report, BTreeSet<String>) {
    let mut rows = FeatureRows::default();
    let mut origins: Map<&str, Vec<RowOrigin>> = Map::default();
    let mut malformed = Malformed::default();
    let mut scattered = FoundLines::default();
    let mut scattered_queries: Vec<&str> = Vec::new();
    let mut last = None;
    let mut entries = Vec::new();
    for (line, text) in lines(bytes) {
        let added = letor::parse_row(text, &mut entries).and_then(|row| {
            let Some(row) = row else { return Ok(None) };
            rows.push(row.query, row.document, row.label, &mut entries)?;
            Ok(Some(row))
        });
        match added {
            Ok(Some(row)) => {
                let known = origins.entry(row.query).or_default();
                if last != Some(row.query) && !known.is_empty() {
                    scattered.add(line);
                    if !scattered_queries.contains(&row.query) && scattered_queries.len() < 100 {
                        scattered_queries.push(row.query);
                    }
                }
                known.push(RowOrigin { line, document: row.document });
                last = Some(row.query);
            }
            Ok(None) => {}
            Err(message) => malformed.add(line, message),
        }
    }

    let lists = FeatureLists::from_rows(rows);
    let mut grades = Grades::default();
    lists.labels().iter().for_each(|label| grades.add(f64::from(*label)));
    let mut findings: Vec<Finding> = malformed.findings().collect();
    if lists.n_rows() > 0 {
        findings.extend(scattered.finding(
            Severity::Warning,
            "scattered-query",
            |n| {
                let times = if n == 1 { "once".to_owned() } else { format!("{} times", thousands(n)) };
                format!(
                    "rows of a query do not follow each other: {times} a query comes back ({})",
                    listed(&scattered_queries)
                )
            },
            "sort the rows by query; matchrank groups them itself, tools that count neighbouring rows \
             (LightGBM, XGBoost) take them for other queries",
        ));
        findings.extend(duplicates(&lists, &origins));
        findings.extend(missing(&lists));
        findings.extend(grades.findings());
        findings.extend(query_findings(&lists));
        findings.extend(columns::findings(&lists));
        findings.extend(leak::finding(&lists));
        findings.push(memory(&lists, bytes.len()));
    } else if findings.is_empty() {
        let message = "there is no row in the file, only comments".to_owned();
        findings.push(whole(Severity::Error, "empty-file", message, "check how it was written or copied"));
    }
    let summary = format!(
        "{}, {}, {}, {}",
        counted(lists.n_queries(), "query"),
        counted(lists.n_rows(), "row"),
        counted(lists.n_features(), "feature"),
        grades.summary()
    );
    let queries = lists.iter().map(|list| list.query().to_owned()).collect();
    (Report { file, kind: Some(FileKind::Letor), summary, findings }, queries)
}

/// Missing values, which not all rankers take.
fn missing(lists: &FeatureLists) -> Option<Finding> {
    let mut columns: BTreeSet<u64> = BTreeSet::new();
    let mut count = 0;
    for row in 0..lists.n_rows() {
        for (column, _) in lists.features().row(row).entries().filter(|(_, value)| value.is_nan()) {
            columns.insert(u64::from(column) + 1);
            count += 1;
        }
    }
    (count > 0).then(|| Finding {
        severity: Severity::Info,
        code: "missing-value",
        message: format!(
            "{} missing (NaN), of {} ({})",
            counted_with(count, "value", IS),
            counted(columns.len(), "feature"),
            listed(&columns.iter().collect::<Vec<_>>())
        ),
        count,
        lines: Vec::new(),
        fix: format!(
            "{} take them as they are; for linear rankers write a number (0, or the mean)",
            registry::names_of(|kind| kind.takes.missing)
        ),
    })
}

/// Rows that say the same twice, and documents that a query has twice with something else. Rows in
/// which every feature is 0 say nothing, so they are not taken for copies.
fn duplicates(lists: &FeatureLists, origins: &Map<&str, Vec<RowOrigin>>) -> impl Iterator<Item = Finding> {
    let (mut copies, mut documents) = (FoundLines::default(), FoundLines::default());
    let (mut copy_of, mut document_of) = (None, None);
    for list in lists.iter() {
        let origins = &origins[list.query()];
        let mut row_at: Map<u64, usize> = Map::default();
        let mut document_at: Map<&str, usize> = Map::default();
        for (i, origin) in origins.iter().enumerate() {
            let same = match row_at.entry(fingerprint(list.labels()[i], list.row(i))) {
                Entry::Occupied(earlier) => Some(*earlier.get()),
                Entry::Vacant(free) => {
                    free.insert(i);
                    None
                }
            };
            let same = same.filter(|&e| {
                list.labels()[e] == list.labels()[i]
                    && same_cells(list.row(e), list.row(i))
                    && origins[e].document == origin.document
                    && list.row(i).entries().next().is_some()
            });
            if let Some(earlier) = same {
                copies.add(origin.line);
                copy_of.get_or_insert(origins[earlier].line);
                continue;
            }
            if let Some(document) = origin.document
                && let Some(earlier) = document_at.insert(document, i)
            {
                documents.add(origin.line);
                document_of.get_or_insert((list.query(), document, origins[earlier].line));
            }
        }
    }
    let copies = copies.finding(
        Severity::Warning,
        "duplicate-row",
        |n| {
            format!(
                "{} an earlier row of the same query in label, document and every feature (the first repeats line {})",
                counted_with(n, "row", ["repeats", "repeat"]),
                copy_of.unwrap_or(0)
            )
        },
        "remove the copies; they count twice in training and in every measure",
    );
    let documents = documents.finding(
        Severity::Warning,
        "duplicate-document",
        |n| {
            let (query, document, line) = document_of.unwrap_or_default();
            format!(
                "{} a document again that its query has already, with another label or features (the first: \
                 {document} of qid:{query}, also on line {line})",
                counted_with(n, "row", ["names", "name"]),
            )
        },
        "keep one row per query and document",
    );
    copies.into_iter().chain(documents)
}

/// Returns true if two rows have the same features, the missing ones included.
fn same_cells(a: FeatureRow, b: FeatureRow) -> bool {
    let cells = |row: FeatureRow<'_>| {
        row.entries().map(|(column, value)| (column, value.to_bits())).collect::<Vec<_>>()
    };
    cells(a) == cells(b)
}

fn fingerprint(label: f32, row: FeatureRow) -> u64 {
    let mut hasher = foldhash::fast::FixedState::default().build_hasher();
    label.to_bits().hash(&mut hasher);
    row.entries().for_each(|(column, value)| (column, value.to_bits()).hash(&mut hasher));
    hasher.finish()
}

fn query_findings(lists: &FeatureLists) -> impl Iterator<Item = Finding> {
    let named = |keep: &dyn Fn(&[f32]) -> bool| -> Vec<&str> {
        lists.iter().filter(|list| keep(list.labels())).map(|list| list.query()).collect()
    };
    let nothing = named(&|labels| labels.iter().all(|label| *label <= 0.0));
    let single = named(&|labels| labels.len() == 1);
    let single = (!single.is_empty()).then(|| Finding {
        severity: Severity::Info,
        code: "single-document",
        message: format!(
            "{} only one document ({})",
            counted_with(single.len(), "query", HAS),
            listed(&single)
        ),
        count: single.len() as u64,
        lines: Vec::new(),
        fix: "any order of one document is right: such a query teaches nothing and lifts the mean".into(),
    });
    without_relevant(&nothing, lists.n_queries()).into_iter().chain(single)
}

/// Memory that training takes at its peak.
fn memory(lists: &FeatureLists, text: usize) -> Finding {
    let sizes = ListSizes::of(lists, text);
    let megabytes = |bytes: usize| thousands((bytes as f64 / 1e6).ceil() as u64);
    let form = if lists.features().dense_rows(0..0).is_some() { "dense" } else { "sparse" };
    let message = format!(
        "training takes about {} MB of memory for a linear ranker, {} MB for trees ({form} features)",
        megabytes(sizes.linear()),
        megabytes(sizes.trees())
    );
    whole(Severity::Info, "memory", message, "")
}
