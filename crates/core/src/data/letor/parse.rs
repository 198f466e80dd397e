//! Whole files: cut at line ends, parsed by all threads, put together in order.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::row::parse_row;
use crate::data::{FeatureLists, FeatureRows};
use crate::progress::Progress;
use crate::{Error, Result};

/// Bytes that one task parses: large enough that a task's overhead vanishes, small enough that all
/// threads finish together.
const PIECE: usize = 1 << 20;

/// Reads a LETOR / SVMlight file; [the module](super) says what is accepted. `file` is its name in
/// messages. The note that rows of a query were scattered goes to `progress`.
///
/// ```
/// use matchrank_core::data::letor;
/// use matchrank_core::progress::Silent;
///
/// let bytes = b"2 qid:7 1:0.5 2:3 #docid = A\n0 qid:7 2:1 #docid = B\n";
/// let lists = letor::parse("train.txt", bytes, &Silent).unwrap();
/// assert_eq!((lists.n_queries(), lists.n_rows(), lists.n_features()), (1, 2, 2));
/// assert_eq!(lists.document(1), "B");
///
/// let error = letor::parse("train.txt", b"1 qid:7 1:0.5\n0 1:0.5\n", &Silent).unwrap_err();
/// assert!(error.to_string().starts_with("train.txt:2: `qid:` is expected after the label"));
/// ```
pub fn parse(file: &str, bytes: &[u8], progress: &dyn Progress) -> Result<FeatureLists> {
    parse_files(&[(file, bytes)], progress)
}

/// Reads several files as one: the rows of the second follow those of the first. A query belongs to one file, except that
/// the last query of a file may go on at the start of the next; a query id in two files is an error that names both.
pub fn parse_files(files: &[(&str, &[u8])], progress: &dyn Progress) -> Result<FeatureLists> {
    parse_in_pieces(files, PIECE, progress)
}

pub(super) fn parse_in_pieces(
    files: &[(&str, &[u8])],
    piece: usize,
    progress: &dyn Progress,
) -> Result<FeatureLists> {
    let mut batches = Vec::new();
    let mut ends = Vec::with_capacity(files.len());
    for (file, bytes) in files {
        read(file, bytes, piece, &mut batches, progress)?;
        ends.push(batches.len());
    }
    one_file_for_each_query(files, &ends, &batches)?;
    Ok(FeatureLists::from_rows(batches))
}

/// Adds the rows of a file.
fn read<'a>(
    file: &str,
    bytes: &'a [u8],
    piece: usize,
    batches: &mut Vec<FeatureRows<'a>>,
    progress: &dyn Progress,
) -> Result<()> {
    progress.begin(&format!("reading {file}"), Some(bytes.len() as u64), "bytes");
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let pieces: Vec<Piece> = cut(text, piece)
        .into_par_iter()
        .map(|bytes| {
            let piece = Piece::parse(bytes);
            progress.advance(bytes.len() as u64);
            piece
        })
        .collect();

    let mut line = 0;
    let first = batches.len();
    for piece in pieces {
        if let Some(message) = piece.error {
            return Err(Error::parse(file, line + piece.n_lines, message));
        }
        line += piece.n_lines;
        batches.push(piece.rows);
    }
    if batches[first..].iter().all(FeatureRows::is_empty) {
        return Err(Error::parse(
            file,
            0,
            "there is no row in it; lines such as `0 qid:7 1:0.5` are expected",
        ));
    }
    if let Some(note) = scattered(&batches[first..]) {
        progress.note(&format!("{file}: {note}"));
    }
    Ok(())
}

/// Returns an error for a query that two files have, unless its rows go on from the end of one to the start of the next.
fn one_file_for_each_query(
    files: &[(&str, &[u8])],
    ends: &[usize],
    batches: &[FeatureRows<'_>],
) -> Result<()> {
    let mut file_of: HashMap<&str, usize, foldhash::fast::FixedState> = HashMap::default();
    let (mut start, mut last) = (0, None);
    for (number, &end) in ends.iter().enumerate() {
        for (i, (query, _)) in batches[start..end].iter().flat_map(|rows| rows.runs()).enumerate() {
            if i == 0 && last == Some(query) {
                file_of.insert(query, number);
            }
            let first = *file_of.entry(query).or_insert(number);
            if first != number {
                return Err(Error::format(
                    files[number].0,
                    format!(
                        "query {query} is in {} too; a query belongs to one file (only the last query of a file may go on \
                         at the start of the next), so give other ids, or name each file once",
                        files[first].0
                    ),
                ));
            }
            last = Some(query);
        }
        start = end;
    }
    Ok(())
}

/// The rows of a piece of the file, up to its end or its first error.
struct Piece<'a> {
    rows: FeatureRows<'a>,
    /// Lines read, the one with the error included.
    n_lines: u64,
    error: Option<String>,
}

impl<'a> Piece<'a> {
    fn parse(bytes: &'a [u8]) -> Self {
        let mut piece = Self { rows: FeatureRows::default(), n_lines: 0, error: None };
        let mut entries = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (line, after) = rest.split_at(end);
            rest = after;
            piece.n_lines += 1;
            let added = parse_row(line, &mut entries).and_then(|row| match row {
                Some(row) => piece.rows.push(row.query, row.document, row.label, &mut entries),
                None => Ok(()),
            });
            if let Err(message) = added {
                piece.error = Some(message);
                break;
            }
        }
        piece
    }
}

/// Pieces of about `size` bytes that end where a line ends.
fn cut(mut bytes: &[u8], size: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::with_capacity(bytes.len() / size + 1);
    while bytes.len() > size {
        let Some(at) = memchr::memchr(b'\n', &bytes[size - 1..]) else { break };
        let (piece, rest) = bytes.split_at(size + at);
        pieces.push(piece);
        bytes = rest;
    }
    if !bytes.is_empty() {
        pieces.push(bytes);
    }
    pieces
}

/// How many queries have rows that do not follow each other.
fn scattered(batches: &[FeatureRows]) -> Option<String> {
    let mut seen: HashSet<&str, foldhash::fast::FixedState> = HashSet::default();
    let mut again: HashSet<&str, foldhash::fast::FixedState> = HashSet::default();
    let mut first = None;
    let mut last = None;
    for (query, _) in batches.iter().flat_map(|rows| rows.runs()) {
        // A run may go on in the next batch.
        if last != Some(query) && !seen.insert(query) {
            again.insert(query);
            first.get_or_insert(query);
        }
        last = Some(query);
    }
    let n = again.len();
    let queries = if n == 1 { "1 query is" } else { &format!("{n} queries are") };
    first
        .map(|first| format!("the rows of {queries} scattered (the first is qid:{first}); they were grouped"))
}
