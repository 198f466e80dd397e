//! Judgments of how relevant a document is to a query, and the TREC qrels files that hold them.
//!
//! One judgment per line, `query iteration document grade`, separated by spaces or tabs; the iteration is ignored.
//! Grades are numbers; 0 and below mean not relevant. A document may be judged once per query. Queries need not be
//! contiguous in the file.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

use foldhash::fast::FixedState;
use rayon::prelude::*;

use super::FeatureLists;
use super::columns::{self, Chunk};
use super::documents::Documents;
use crate::{Error, Result};

/// One judgment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgment<'a> {
    /// The query's id.
    pub query: &'a str,
    /// The document's id.
    pub document: &'a str,
    /// Relevance grade; 0 and below mean not relevant.
    pub grade: f32,
}

/// Judgments grouped by query. Queries keep the order of their first judgment, documents the order of their judgments.
/// Ids are borrowed, so that a mapped file is not copied.
///
/// ```
/// use matchrank_core::data::qrels;
///
/// let qrels = qrels::parse("toy.qrels", b"q1 0 d1 2\nq2 0 d7 1\nq1 0 d2 0\n")?;
/// assert_eq!(qrels.n_queries(), 2);
/// assert_eq!(qrels.of("q1").unwrap().iter().map(|d| d.grade).sum::<f32>(), 2.0);
/// # Ok::<(), matchrank_core::Error>(())
/// ```
#[derive(Debug, Default, Clone)]
pub struct Qrels<'a> {
    queries: Vec<(&'a str, Range<usize>)>,
    judged: Vec<Judged<'a>>,
    index: HashMap<&'a str, usize, FixedState>,
}

/// A judged document of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged<'a> {
    /// The document's id.
    pub document: &'a str,
    /// Relevance grade; 0 and below mean not relevant.
    pub grade: f32,
}

impl<'a> Qrels<'a> {
    /// Groups judgments by query. Returns an error if a document is judged twice for a query, or a grade is not finite.
    pub fn new(judgments: &[Judgment<'a>]) -> Result<Self> {
        if let Some(j) = judgments.iter().find(|j| !j.grade.is_finite()) {
            let message =
                format!("the grade of document {} for query {} is {}", j.document, j.query, j.grade);
            return Err(Error::Params(message));
        }
        let qrels = Self::group(judgments);
        match qrels.first_duplicate() {
            None => Ok(qrels),
            Some((query, document)) => {
                Err(Error::Params(format!("document {document} is judged twice for query {query}")))
            }
        }
    }

    /// Converts the labels of feature lists to judgments of their documents.
    pub fn of_lists(lists: &'a FeatureLists) -> Result<Self> {
        let judgments: Vec<Judgment<'a>> = lists
            .iter()
            .flat_map(|list| {
                (0..list.len()).map(move |i| Judgment {
                    query: list.query(),
                    document: list.document(i),
                    grade: list.labels()[i],
                })
            })
            .collect();
        Self::new(&judgments)
    }

    fn group(judgments: &[Judgment<'a>]) -> Self {
        let mut index = HashMap::with_hasher(FixedState::default());
        let mut queries: Vec<(&str, Range<usize>)> = Vec::new();
        let mut query_of = Vec::with_capacity(judgments.len());
        let mut current = usize::MAX;
        for j in judgments {
            if queries.get(current).is_none_or(|q| q.0 != j.query) {
                current = *index.entry(j.query).or_insert(queries.len());
                if current == queries.len() {
                    queries.push((j.query, 0..0));
                }
            }
            queries[current].1.end += 1;
            query_of.push(current);
        }
        let mut start = 0;
        for (_, range) in &mut queries {
            let n = range.end;
            *range = start..start;
            start += n;
        }
        let mut judged = vec![Judged { document: "", grade: 0.0 }; judgments.len()];
        for (j, &query) in judgments.iter().zip(&query_of) {
            let end = &mut queries[query].1.end;
            judged[*end] = Judged { document: j.document, grade: j.grade };
            *end += 1;
        }
        Self { queries, judged, index }
    }

    fn first_duplicate(&self) -> Option<(&'a str, &'a str)> {
        self.queries.par_iter().find_map_first(|(query, range)| {
            let judged = &self.judged[range.clone()];
            let mut seen = Documents::default();
            seen.reset(judged.len());
            let id = |i: usize| judged[i].document.as_bytes();
            judged
                .iter()
                .enumerate()
                .find(|(i, d)| seen.insert(d.document.as_bytes(), *i, id).is_some())
                .map(|(_, d)| (*query, d.document))
        })
    }

    /// Number of queries with a judgment.
    pub fn n_queries(&self) -> usize {
        self.queries.len()
    }

    /// Number of judgments.
    pub fn n_judgments(&self) -> usize {
        self.judged.len()
    }

    /// The id of the `i`-th query.
    pub fn query(&self, i: usize) -> &'a str {
        self.queries[i].0
    }

    /// The judged documents of the `i`-th query.
    pub fn judged(&self, i: usize) -> &[Judged<'a>] {
        &self.judged[self.queries[i].1.clone()]
    }

    /// The position of a query, if it has judgments.
    pub fn position(&self, query: &str) -> Option<usize> {
        self.index.get(query).copied()
    }

    /// The judged documents of a query, if it has any.
    pub fn of(&self, query: &str) -> Option<&[Judged<'a>]> {
        self.position(query).map(|i| self.judged(i))
    }

    /// Every judgment, query by query.
    pub fn iter(&self) -> impl Iterator<Item = Judgment<'a>> + '_ {
        (0..self.n_queries()).flat_map(move |i| {
            let query = self.query(i);
            self.judged(i).iter().map(move |d| Judgment { query, document: d.document, grade: d.grade })
        })
    }

    /// Writes the judgments as a TREC qrels file.
    pub fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        self.iter().try_for_each(|j| writeln!(out, "{} 0 {} {}", j.query, j.document, j.grade))
    }
}

/// Parses a TREC qrels file on all threads. `file` names it in errors.
pub fn parse<'a>(file: &str, bytes: &'a [u8]) -> Result<Qrels<'a>> {
    let parts: Vec<Result<Vec<Judgment<'a>>>> = number(columns::chunks(bytes))
        .into_par_iter()
        .map(|chunk| {
            columns::check_text(file, chunk)?;
            let mut judgments = Vec::with_capacity(chunk.bytes.len() / 24);
            for (line, text) in columns::lines(chunk) {
                judgments.extend(parse_line(file, line, text)?);
            }
            Ok(judgments)
        })
        .collect();
    let mut judgments = Vec::new();
    for part in parts {
        judgments.append(&mut part?);
    }
    if judgments.is_empty() {
        return Err(Error::parse(file, 0, "the file holds no judgment; expected `query 0 document grade`"));
    }
    let qrels = Qrels::group(&judgments);
    match qrels.first_duplicate() {
        None => Ok(qrels),
        Some((query, document)) => Err(duplicate(file, bytes, query, document)),
    }
}

/// Numbers the first line of every chunk by counting the lines before it.
fn number(chunks: Vec<&[u8]>) -> Vec<Chunk<'_>> {
    let counts: Vec<u64> = chunks.par_iter().map(|c| memchr::memchr_iter(b'\n', c).count() as u64).collect();
    let mut line = 1;
    let mut numbered = Vec::with_capacity(chunks.len());
    for (bytes, count) in chunks.into_iter().zip(counts) {
        numbered.push(Chunk { line, bytes });
        line += count;
    }
    numbered
}

/// Parses one line; `None` for a blank line.
fn parse_line<'a>(file: &str, line: u64, text: &'a [u8]) -> Result<Option<Judgment<'a>>> {
    let [query, _, document, grade] = match columns::split::<4>(text) {
        Ok(columns) => columns,
        Err(0) => return Ok(None),
        Err(n) => {
            let message = format!(
                "expected 4 columns, `query 0 document grade`, found {n}; ids must not contain spaces"
            );
            return Err(Error::parse(file, line, message));
        }
    };
    match fast_float2::parse::<f32, _>(grade) {
        Ok(value) if value.is_finite() => Ok(Some(Judgment {
            query: columns::text(query),
            document: columns::text(document),
            grade: value,
        })),
        _ => {
            let message = format!("the grade `{}` (column 4) is not a finite number", columns::shown(grade));
            Err(Error::parse(file, line, message))
        }
    }
}

/// Finds both lines of a duplicate judgment.
fn duplicate(file: &str, bytes: &[u8], query: &str, document: &str) -> Error {
    let mut lines = columns::lines(Chunk { line: 1, bytes }).filter_map(|(line, text)| {
        let [q, _, d, _] = columns::split::<4>(text).ok()?;
        (q == query.as_bytes() && d == document.as_bytes()).then_some(line)
    });
    let first = lines.next().expect("the judgment was parsed from this file");
    let second = lines.next().expect("the judgment appears twice");
    let message = format!(
        "document {document} is already judged for query {query} on line {first}; keep one of the two lines"
    );
    Error::parse(file, second, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(bytes: &[u8]) -> String {
        parse("x.qrels", bytes).unwrap_err().to_string()
    }

    #[test]
    fn spaces_tabs_crlf_blank_lines_and_ungrouped_queries() {
        let qrels = parse("x", b"q1 0 a 1\r\n\n  q2\t0\tb\t-2 \nq1 Q0 c 0.5").unwrap();
        let all: Vec<_> = qrels.iter().map(|j| (j.query, j.document, j.grade)).collect();
        assert_eq!(all, [("q1", "a", 1.0), ("q1", "c", 0.5), ("q2", "b", -2.0)]);
        assert_eq!(qrels.position("q2"), Some(1));
        assert_eq!(qrels.of("q3"), None);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_query() {
        let qrels = parse("x", "\u{feff}q1 0 a 1\nq1 0 b 0\n".as_bytes()).unwrap();
        assert_eq!((qrels.n_queries(), qrels.query(0)), (1, "q1"));
    }

    #[test]
    fn errors_name_the_line_and_say_what_to_do() {
        assert_eq!(
            error(b"q1 0 a 1\nq1 a 1\n"),
            "x.qrels:2: expected 4 columns, `query 0 document grade`, found 3; ids must not contain spaces"
        );
        assert_eq!(error(b"q1 0 a one\n"), "x.qrels:1: the grade `one` (column 4) is not a finite number");
        assert_eq!(error(b"q1 0 a NaN\n"), "x.qrels:1: the grade `NaN` (column 4) is not a finite number");
        assert_eq!(
            error(b"q1 0 a 1\nq2 0 a 1\n\nq1 0 a 2\n"),
            "x.qrels:4: document a is already judged for query q1 on line 1; keep one of the two lines"
        );
        assert_eq!(
            error(b"q1 0 a 1\nq1 0 \xff 1\n"),
            "x.qrels:2: the line is not UTF-8; convert the file, for example with `iconv -f latin1 -t utf-8`"
        );
        let empty = "x.qrels: the file holds no judgment; expected `query 0 document grade`";
        assert_eq!(error(b""), empty);
        assert_eq!(error(b" \n\r\n"), empty);
    }

    #[test]
    fn judgments_in_memory_are_checked_too() {
        let j = Judgment { query: "q", document: "d", grade: 1.0 };
        let twice = Qrels::new(&[j, j]).unwrap_err();
        assert_eq!(twice.to_string(), "document d is judged twice for query q");
        assert!(Qrels::new(&[Judgment { grade: f32::NAN, ..j }]).is_err());
    }

    proptest! {
        #[test]
        fn parse_of_write_is_the_same(grades in prop::collection::btree_map(("[a-c]{1,2}", "[!-~é]{1,3}"), -2.0f32..5.0, 1..40)) {
            let judgments: Vec<Judgment> = grades.iter()
                .map(|((q, d), &grade)| Judgment { query: q, document: d, grade }).collect();
            let qrels = Qrels::new(&judgments).unwrap();
            let mut text = Vec::new();
            qrels.write(&mut text).unwrap();
            let again = parse("x", &text).unwrap();
            prop_assert!(again.iter().eq(qrels.iter()));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse("x", &bytes);
        }

        #[test]
        fn arbitrary_columns_never_panic(text in "([ab1 \\t\\r\\n.-]|é){0,200}") {
            let _ = parse("x", text.as_bytes());
        }
    }
}
