//! TREC judgments: `query iteration document grade`.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use super::finding::{Finding, FoundLines, Malformed, Report, Severity, whole};
use super::grades::{Grades, without_relevant};
use super::{FileKind, Map, lines};
use matchrank_core::message::{counted, counted_with};

pub(super) fn examine(file: String, bytes: &[u8]) -> (Report, BTreeSet<String>) {
    let mut malformed = Malformed::default();
    let (mut repeated, mut contradictory, mut negative) =
        (FoundLines::default(), FoundLines::default(), FoundLines::default());
    let mut first_contradiction = None;
    let mut judged: Map<(&str, &str), (f64, u64)> = Map::default();
    let mut queries: Vec<&str> = Vec::new();
    let mut relevant: Map<&str, bool> = Map::default();
    let mut grades = Grades::default();
    for (line, text) in lines(bytes) {
        let (query, document, grade) = match judgment(text) {
            Ok(Some(judgment)) => judgment,
            Ok(None) => continue,
            Err(message) => {
                malformed.add(line, message);
                continue;
            }
        };
        match judged.entry((query, document)) {
            Entry::Occupied(earlier) if earlier.get().0 == grade => repeated.add(line),
            Entry::Occupied(earlier) => {
                contradictory.add(line);
                first_contradiction.get_or_insert((query, document, earlier.get().0, earlier.get().1, grade));
            }
            Entry::Vacant(free) => {
                free.insert((grade, line));
            }
        }
        if grade < 0.0 {
            negative.add(line);
        }
        grades.add(grade);
        match relevant.entry(query) {
            Entry::Occupied(mut any) => *any.get_mut() |= grade > 0.0,
            Entry::Vacant(free) => {
                queries.push(query);
                free.insert(grade > 0.0);
            }
        }
    }

    let mut findings: Vec<Finding> = malformed.findings().collect();
    findings.extend(contradictory.finding(
        Severity::Error,
        "contradictory-judgment",
        |n| {
            let (query, document, earlier, line, now) = first_contradiction.unwrap_or_default();
            format!(
                "{} a document that was judged differently before (the first: {document} of query {query} is {now} \
                 here and {earlier} on line {line})",
                counted_with(n, "line", ["judges", "judge"])
            )
        },
        "keep one judgment per query and document",
    ));
    findings.extend(repeated.finding(
        Severity::Warning,
        "duplicate-judgment",
        |n| format!("{} an earlier judgment", counted_with(n, "line", ["repeats", "repeat"])),
        "remove the copies",
    ));
    findings.extend(negative.finding(
        Severity::Info,
        "negative-grade",
        |n| format!("{} below 0", counted(n, "grade")),
        "measures take them as not relevant",
    ));
    findings.extend(grades.findings().into_iter().filter(|finding| finding.code != "one-label"));
    let nothing: Vec<&str> = queries.iter().copied().filter(|query| !relevant[query]).collect();
    findings.extend(without_relevant(&nothing, queries.len()));
    if !judged.is_empty() && judged.values().all(|(grade, _)| *grade > 0.0) {
        findings.push(whole(
            Severity::Info,
            "only-relevant",
            "every judged document is relevant".into(),
            "measures that need documents judged not relevant (bpref, pairwise error) say nothing here",
        ));
    }
    let summary = format!(
        "{}, {}, {}",
        counted(queries.len(), "query"),
        counted(judged.len(), "judged document"),
        grades.summary()
    );
    let queries = queries.into_iter().map(str::to_owned).collect();
    (Report { file, kind: Some(FileKind::Qrels), summary, findings }, queries)
}

/// Parses (query, document, grade) of a line; `None` if the line is blank.
fn judgment(line: &[u8]) -> Result<Option<(&str, &str, f64)>, String> {
    let text = std::str::from_utf8(line).map_err(|_| "the line is not valid UTF-8".to_owned())?;
    let fields: Vec<&str> = text.split(|c| c <= ' ').filter(|field| !field.is_empty()).collect();
    match fields[..] {
        [] => Ok(None),
        [query, _, document, grade] => match fast_float2::parse::<f64, _>(grade) {
            // Grades are kept in 32 bits.
            Ok(grade) if (grade as f32).is_finite() => Ok(Some((query, document, grade))),
            _ => Err(format!("the grade (column 4) is not a number: `{grade}`")),
        },
        _ => Err(format!("{} where 4 are expected: query 0 document grade", counted(fields.len(), "column"))),
    }
}
