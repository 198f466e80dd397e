//! Runs, the documents that a system returned for each query with their scores, and the TREC run files that hold them.
//!
//! One document per line, `query Q0 document rank score tag`, separated by spaces or tabs. The rank column is ignored,
//! as in every evaluator: the score decides. Queries need not be contiguous in the file.
//!
//! A run is the largest file an evaluation reads, so it is read in two passes that both use all threads and copy
//! nothing. [`parse`] only finds the lines of each query. [`Run::read`] parses the lines of one query into a buffer
//! that the caller reuses. A run of ten million lines never exists in memory as ten million records.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

use foldhash::fast::FixedState;
use rayon::prelude::*;

use super::columns::{self, Chunk, is_space};
use crate::{Error, Result};

/// A document of a ranking with its score. A higher score means a better rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored<'a> {
    /// The document's id, UTF-8.
    pub document: &'a [u8],
    /// The score; never NaN in a parsed run.
    pub score: f64,
}

/// A TREC run file, indexed by query. Queries keep the order of their first line.
pub struct Run<'a> {
    file: String,
    queries: Vec<(&'a str, Range<usize>)>,
    pieces: Vec<Chunk<'a>>,
}

const EXPECTED: &str = "`query Q0 document rank score tag`";

/// Finds the lines of every query of a TREC run file, on all threads. `file` is its name in errors.
///
/// ```
/// let run = matchrank_core::data::run::parse("toy.run", b"q1 Q0 d1 1 0.5 me\nq1 Q0 d2 2 0.25 me\n")?;
/// let mut ranking = Vec::new();
/// run.read(0, &mut ranking)?;
/// assert_eq!((run.query(0), ranking[1].document, ranking[1].score), ("q1", &b"d2"[..], 0.25));
/// # Ok::<(), matchrank_core::Error>(())
/// ```
pub fn parse<'a>(file: &str, bytes: &'a [u8]) -> Result<Run<'a>> {
    let parts: Vec<Index<'a>> = columns::chunks(bytes).into_par_iter().map(index).collect();
    let mut line = 1;
    let mut found: Vec<(&'a str, Chunk<'a>)> = Vec::new();
    for mut part in parts {
        for piece in &mut part.pieces {
            piece.1.line += line;
        }
        if let Some(bad) = part.not_text {
            columns::check_text(file, Chunk { line, bytes: bad })?;
        }
        found.append(&mut part.pieces);
        line += part.n_lines;
    }
    if found.is_empty() {
        return Err(Error::parse(file, 0, format!("the file holds no ranked document; expected {EXPECTED}")));
    }
    Ok(group(file, &found))
}

/// Index of one chunk: runs of consecutive lines of the same query. First lines are counted from 0 within the chunk.
struct Index<'a> {
    pieces: Vec<(&'a str, Chunk<'a>)>,
    n_lines: u64,
    not_text: Option<&'a [u8]>,
}

fn index<'a>(bytes: &'a [u8]) -> Index<'a> {
    if columns::not_text(bytes).is_some() {
        return Index { pieces: Vec::new(), n_lines: 0, not_text: Some(bytes) };
    }
    let mut pieces: Vec<(&'a str, Chunk<'a>)> = Vec::new();
    let mut query: &'a [u8] = b"";
    let (mut at, mut line, mut start, mut start_line) = (0, 0, 0, 0);
    let mut close = |query: &'a [u8], start: usize, end: usize, line: u64| {
        if !query.is_empty() {
            pieces.push((columns::text(query), Chunk { line, bytes: &bytes[start..end] }));
        }
    };
    while at < bytes.len() {
        let rest = &bytes[at..];
        let same = !query.is_empty()
            && rest.starts_with(query)
            && rest.get(query.len()).is_none_or(|&b| is_space(b));
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        if !same {
            let found = rest[..length].split(|&b| is_space(b)).find(|c| !c.is_empty()).unwrap_or_default();
            if !found.is_empty() && found != query {
                close(query, start, at, start_line);
                (query, start, start_line) = (found, at, line);
            }
        }
        at += length;
        line += 1;
    }
    close(query, start, bytes.len(), start_line);
    Index { pieces, n_lines: line, not_text: None }
}

/// Joins the runs of lines of the same query, in file order.
fn group<'a>(file: &str, found: &[(&'a str, Chunk<'a>)]) -> Run<'a> {
    let mut known: HashMap<&str, usize, FixedState> = HashMap::default();
    let mut queries: Vec<(&str, Range<usize>)> = Vec::new();
    let mut query_of = Vec::with_capacity(found.len());
    for (query, _) in found {
        let i = *known.entry(query).or_insert(queries.len());
        if i == queries.len() {
            queries.push((query, 0..0));
        }
        queries[i].1.end += 1;
        query_of.push(i);
    }
    let mut start = 0;
    for (_, range) in &mut queries {
        let n = range.end;
        *range = start..start;
        start += n;
    }
    let mut pieces = vec![Chunk { line: 0, bytes: b"" }; found.len()];
    for ((_, piece), i) in found.iter().zip(query_of) {
        let end = &mut queries[i].1.end;
        pieces[*end] = *piece;
        *end += 1;
    }
    Run { file: file.to_owned(), queries, pieces }
}

impl<'a> Run<'a> {
    /// Number of queries of the run.
    pub fn n_queries(&self) -> usize {
        self.queries.len()
    }

    /// The id of the `i`-th query.
    pub fn query(&self, i: usize) -> &'a str {
        self.queries[i].0
    }

    /// Parses the lines of the `i`-th query into `ranking`, in file order.
    pub fn read(&self, i: usize, ranking: &mut Vec<Scored<'a>>) -> Result<()> {
        ranking.clear();
        for &piece in &self.pieces[self.queries[i].1.clone()] {
            ranking.reserve(piece.bytes.len() / 24);
            for (line, text) in columns::lines(piece) {
                ranking.extend(parse_line(text).map_err(|problem| problem.at(&self.file, line, text))?);
            }
        }
        Ok(())
    }

    /// The tag of the run: the last column of its first line.
    pub fn tag(&self) -> Option<&'a str> {
        let (_, line) = columns::lines(*self.pieces.first()?).next()?;
        columns::split::<6>(line).ok().map(|columns| columns::text(columns[5]))
    }

    /// Builds the error of a document that appears twice in the list of query `i`, naming both lines.
    pub fn duplicate(&self, i: usize, document: &str) -> Error {
        let mut lines = self.pieces[self.queries[i].1.clone()]
            .iter()
            .flat_map(|&piece| columns::lines(piece))
            .filter(|(_, text)| {
                columns::split::<6>(text).is_ok_and(|columns| columns[2] == document.as_bytes())
            })
            .map(|(line, _)| line);
        let first = lines.next().unwrap_or(0);
        let second = lines.next().unwrap_or(first);
        let message = format!(
            "document {document} is already ranked for query {} on line {first}; keep one of the two lines",
            self.query(i)
        );
        Error::parse(&self.file, second, message)
    }
}

enum LineProblem {
    Columns(usize),
    Score,
}

impl LineProblem {
    #[cold]
    fn at(self, file: &str, line: u64, text: &[u8]) -> Error {
        let message = match self {
            Self::Columns(n) => {
                format!("expected 6 columns, {EXPECTED}, found {n}; ids must not contain spaces")
            }
            Self::Score => {
                let score =
                    columns::split::<6>(text).map_or_else(|_| String::new(), |c| columns::shown(c[4]));
                format!("the score `{score}` (column 5) is not a number")
            }
        };
        Error::parse(file, line, message)
    }
}

/// Parses one line; `None` for a blank line.
#[inline]
fn parse_line(text: &[u8]) -> Result<Option<Scored<'_>>, LineProblem> {
    let [_, _, document, _, score, _] = match columns::split::<6>(text) {
        Ok(columns) => columns,
        Err(0) => return Ok(None),
        Err(n) => return Err(LineProblem::Columns(n)),
    };
    match fast_float2::parse::<f64, _>(score) {
        Ok(score) if !score.is_nan() => Ok(Some(Scored { document, score })),
        _ => Err(LineProblem::Score),
    }
}

/// Writes one query's ranking, best first, as lines of a TREC run.
pub fn write_query(
    out: &mut dyn Write,
    query: &str,
    ranking: &[(impl AsRef<str>, f32)],
    tag: &str,
) -> std::io::Result<()> {
    for (i, (document, score)) in ranking.iter().enumerate() {
        writeln!(out, "{query} Q0 {} {} {score} {tag}", document.as_ref(), i + 1)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_all<'a>(run: &Run<'a>) -> Result<Vec<(&'a str, Vec<Scored<'a>>)>> {
        (0..run.n_queries())
            .map(|i| {
                let mut ranking = Vec::new();
                run.read(i, &mut ranking)?;
                Ok((run.query(i), ranking))
            })
            .collect()
    }

    fn error(bytes: &[u8]) -> String {
        let run = parse("x.run", bytes);
        run.and_then(|run| read_all(&run).map(|_| ())).unwrap_err().to_string()
    }

    #[test]
    fn ungrouped_queries_tabs_crlf_and_blank_lines() {
        let text = b"q1 Q0 a 1 3 t\r\nq10\tQ0\tb\t1\t-1e3\tt\n\n q1 Q0 c 2 .5 t\nq1 Q0 d 9 inf t";
        let run = parse("x", text).unwrap();
        let all = read_all(&run).unwrap();
        assert_eq!(run.tag(), Some("t"));
        assert_eq!(all.iter().map(|q| q.0).collect::<Vec<_>>(), ["q1", "q10"]);
        let q1: Vec<_> = all[0].1.iter().map(|d| (d.document, d.score)).collect();
        assert_eq!(q1, [(&b"a"[..], 3.0), (b"c", 0.5), (b"d", f64::INFINITY)]);
        assert_eq!(all[1].1[0].score, -1000.0);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_query() {
        let run = parse("x", "\u{feff}q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\n".as_bytes()).unwrap();
        assert_eq!((run.n_queries(), run.query(0)), (1, "q1"));
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            error(b"q1 Q0 a 1 3 t\n\nq1 Q0 b 1 3\n"),
            "x.run:3: expected 6 columns, `query Q0 document rank score tag`, found 5; ids must not contain spaces"
        );
        assert_eq!(error(b"q1 Q0 a 1 nan t\n"), "x.run:1: the score `nan` (column 5) is not a number");
        assert_eq!(error(b"q1 Q0 a 1 1,5 t\n"), "x.run:1: the score `1,5` (column 5) is not a number");
        assert!(error(b"q1 Q0 a 1 1 t\nq1 Q0 \xe9 1 1 t\n").starts_with("x.run:2: the line is not UTF-8"));
        assert!(error(b"\n\n").starts_with("x.run: the file holds no ranked document"));
    }

    #[test]
    fn line_numbers_hold_across_chunks_and_pieces() {
        let mut text = String::new();
        for i in 0..120_000 {
            text.push_str(&format!("q{} Q0 doc{i} 1 0.5 tag\n", i / 50_000));
        }
        text.push_str("q1 Q0 bad 1 x tag\n");
        assert!(text.len() > 2 << 20, "more than two chunks");
        assert_eq!(error(text.as_bytes()), "x.run:120001: the score `x` (column 5) is not a number");
        let run = parse("x", text.as_bytes()).unwrap();
        assert!(run.duplicate(1, "doc70000").to_string().contains("on line 70001"));
    }

    proptest! {
        #[test]
        fn parse_of_write_is_the_same(
            lists in prop::collection::btree_map("[a-c]{1,3}", prop::collection::vec(("[!-~é]{1,4}", any::<f32>()), 1..9), 1..9)
        ) {
            let mut text = Vec::new();
            for (query, list) in &lists {
                write_query(&mut text, query, list, "tag").unwrap();
            }
            let run = parse("x", &text).unwrap();
            let nan = lists.values().flatten().any(|d| d.1.is_nan());
            prop_assert_eq!(read_all(&run).is_err(), nan);
            if !nan {
                let all = read_all(&run).unwrap();
                let all = all.iter().flat_map(|(q, r)| r.iter().map(move |d| (*q, d.document, d.score as f32)));
                let expected = lists.iter()
                    .flat_map(|(q, r)| r.iter().map(move |d| (q.as_str(), d.0.as_bytes(), d.1)));
                prop_assert!(all.eq(expected));
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse("x", &bytes).and_then(|run| read_all(&run).map(|_| ()));
        }

        #[test]
        fn arbitrary_columns_never_panic(text in "([ab1 \\t\\r\\n.-]|é){0,200}") {
            let _ = parse("x", text.as_bytes()).and_then(|run| read_all(&run).map(|_| ()));
        }
    }
}
