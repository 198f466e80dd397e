//! Whole files: read in blocks, split at line ends, parsed by all threads, joined in order.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Read;

use rayon::prelude::*;

use super::row::parse_row;
use crate::data::{FeatureLists, FeatureRows};
use crate::message::{IS, counted_with};
use crate::progress::Progress;
use crate::{Error, Result};

/// Bytes that one task parses: large enough to hide the overhead of a task, small enough that all threads finish
/// together.
const PIECE: usize = 1 << 20;

/// Number of pieces in memory at a time.
const PIECES: usize = 32;

/// Maximum length of a line in bytes. A row of a million features takes about 15 MiB.
const LONGEST_LINE: usize = 256 << 20;

/// A file to read.
pub struct LetorSource<'a> {
    /// Name for messages.
    pub name: String,
    /// The text.
    pub content: Box<dyn Read + 'a>,
    /// Length of the text in bytes, if known beforehand.
    pub length: Option<u64>,
}

impl<'a> LetorSource<'a> {
    /// Wraps bytes in memory as a file.
    pub fn bytes(name: &str, bytes: &'a [u8]) -> Self {
        Self { name: name.to_owned(), content: Box::new(bytes), length: Some(bytes.len() as u64) }
    }
}

/// Reads a LETOR / SVMlight file; [the module](super) describes the format. `file` is its name in messages. If the rows
/// of a query are scattered, `progress` receives a note.
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
    read([Ok(LetorSource::bytes(file, bytes))], 0, progress)
}

/// Reads several files as one: the rows of the second follow those of the first. A query belongs to one file, except
/// that the last query of a file may continue at the start of the next. A query id in two files is an error that names
/// both. Rows without a document id are numbered through all files, after `rows_before` rows that were read earlier. At
/// most some megabytes of text are in memory at a time, and each file is opened only after the files before it are
/// read.
pub fn read<'a>(
    files: impl IntoIterator<Item = Result<LetorSource<'a>>>,
    rows_before: usize,
    progress: &dyn Progress,
) -> Result<FeatureLists> {
    read_after(rows_before, files, PIECE, progress)
}

#[cfg(test)]
pub(super) fn read_in_pieces(
    files: Vec<LetorSource<'_>>,
    piece: usize,
    progress: &dyn Progress,
) -> Result<FeatureLists> {
    read_after(0, files.into_iter().map(Ok), piece, progress)
}

fn read_after<'a>(
    rows_before: usize,
    files: impl IntoIterator<Item = Result<LetorSource<'a>>>,
    piece: usize,
    progress: &dyn Progress,
) -> Result<FeatureLists> {
    let mut rows = FeatureRows::default();
    rows.rows_before = rows_before;
    for file in files {
        read_file(file?, piece, &mut rows, progress)?;
    }
    check_queries(&rows, progress)?;
    Ok(FeatureLists::from_rows(rows))
}

/// Adds the rows of a file.
fn read_file(
    mut file: LetorSource<'_>,
    piece: usize,
    rows: &mut FeatureRows,
    progress: &dyn Progress,
) -> Result<()> {
    progress.begin(&format!("reading {}", file.name), file.length, "bytes");
    let (rows_before, number) = (rows.len(), rows.files.len() as u32);
    rows.files.push(file.name.clone());
    let mut lines = 0;
    let mut text = Vec::new();
    let mut is_first = true;
    loop {
        // A line that is longer than the block enlarges the block.
        let block = (piece * PIECES).max(2 * text.len());
        let wanted = (block - text.len()) as u64;
        let found = (&mut file.content).take(wanted).read_to_end(&mut text);
        let found = found.map_err(|e| Error::io(&file.name, e))?;
        let is_last = (found as u64) < wanted;
        let end = if is_last { text.len() } else { memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1) };
        if end == 0 && !is_last {
            if text.len() >= LONGEST_LINE {
                let message = format!(
                    "the line is longer than {} MiB; rows must end in LF or CRLF: is the file damaged, or not text?",
                    LONGEST_LINE >> 20
                );
                return Err(Error::parse(&file.name, lines + 1, message));
            }
            continue;
        }
        let block = &text[..end];
        let block = if is_first { block.strip_prefix(b"\xef\xbb\xbf").unwrap_or(block) } else { block };
        is_first = false;
        let pieces: Vec<TextPiece> = cut(block, piece)
            .into_par_iter()
            .map(|bytes| {
                let piece = TextPiece::parse(bytes);
                progress.advance(bytes.len() as u64);
                piece
            })
            .collect();
        for piece in pieces {
            if let Some(message) = piece.error {
                return Err(Error::parse(&file.name, lines + piece.n_lines, message));
            }
            rows.append(piece.rows, number, lines);
            lines += piece.n_lines;
        }
        if is_last {
            break;
        }
        text.drain(..end);
    }
    if rows.len() == rows_before {
        let message = "the file has no rows; lines such as `0 qid:7 1:0.5` are expected";
        return Err(Error::parse(file.name, 0, message));
    }
    Ok(())
}

/// Returns an error for a query that appears in two files, unless its rows continue from the end of one file at the
/// start of the next. Notes queries whose rows are not contiguous.
fn check_queries(rows: &FeatureRows, progress: &dyn Progress) -> Result<()> {
    let mut last_file: HashMap<&str, u32, foldhash::fast::FixedState> = HashMap::default();
    let mut scattered: BTreeMap<u32, (&str, HashSet<&str>)> = BTreeMap::new();
    let mut end = 0;
    for (query, length) in rows.runs() {
        let file = rows.origins[end].file;
        end += length;
        let Some(earlier) = last_file.insert(query, rows.origins[end - 1].file) else { continue };
        if earlier != file {
            return Err(Error::format(
                &rows.files[file as usize],
                format!(
                    "query {query} is also in {}; a query belongs to one file (only the last query of a file \
                     may continue at the start of the next): change the ids, or name each file once",
                    rows.files[earlier as usize]
                ),
            ));
        }
        scattered.entry(file).or_insert((query, HashSet::new())).1.insert(query);
    }
    for (file, (first, queries)) in scattered {
        let queries = counted_with(queries.len(), "query", IS);
        progress.note(&format!(
            "{}: the rows of {queries} scattered (the first is qid:{first}); they were grouped",
            rows.files[file as usize]
        ));
    }
    Ok(())
}

/// The rows of a piece of the file, up to its end or its first error.
struct TextPiece {
    rows: FeatureRows,
    /// Number of lines read, including the line with the error.
    n_lines: u64,
    error: Option<String>,
}

impl TextPiece {
    fn parse(bytes: &[u8]) -> Self {
        let mut piece = Self { rows: FeatureRows::default(), n_lines: 0, error: None };
        let mut entries = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (line, after) = rest.split_at(end);
            rest = after;
            piece.n_lines += 1;
            let added = parse_row(line, &mut entries).and_then(|row| match row {
                Some(row) => piece.rows.push_line(piece.n_lines as u32, &row, &mut entries),
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

/// Splits bytes at line ends into pieces of about `size` bytes.
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
