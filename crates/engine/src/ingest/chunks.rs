//! Cuts a stream of text into chunks that begin and end at record boundaries, so that many cores can
//! parse one file, and keeps the line number of each chunk so that errors can name their line.

use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

use matchrank_core::{Error, Result};

use super::escapes::{CsvDialect, Quoting};
use crate::files;
use crate::lines::LONGEST_RECORD;

/// Bytes a chunk is filled to before it is cut at its last record end.
const CHUNK: usize = 2 << 20;

/// Whole records of a file.
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    /// Line of the first record, counted from 1.
    pub(super) line: u64,
}

impl Chunk {
    /// The chunk as text; an error names the first line that is not UTF-8.
    pub(super) fn text(&self, path: &Path) -> Result<&str> {
        simdutf8::compat::from_utf8(&self.bytes).map_err(|e| {
            let bad = memchr::memchr_iter(b'\n', &self.bytes[..e.valid_up_to()]).count() as u64;
            Error::parse(
                files::name_of(path),
                self.line + bad,
                "the text is not valid UTF-8; convert the file, for example with `iconv -f latin1 -t utf-8`",
            )
        })
    }
}

/// Reads chunks of records from a file.
pub(super) struct Chunks {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    /// Quotes and backslashes may hide line ends (CSV).
    dialect: CsvDialect,
    rest: Vec<u8>,
    line: u64,
    ended: bool,
}

impl Chunks {
    pub(super) fn open(path: &Path, dialect: CsvDialect) -> Result<Self> {
        let reader = files::open(path)?;
        Ok(Self { path: path.to_owned(), reader, dialect, rest: Vec::new(), line: 1, ended: false })
    }

    /// The next chunk with more than empty lines, or `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Chunk>> {
        loop {
            let chunk = self.read()?;
            // A file of empty lines, such as a compressed one of a few bytes that expands to gigabytes, is read fast.
            if chunk.as_ref().is_none_or(|chunk| !chunk.bytes.iter().all(|byte| b"\r\n".contains(byte))) {
                return Ok(chunk);
            }
        }
    }

    /// The next chunk. A byte order mark is dropped.
    fn read(&mut self) -> Result<Option<Chunk>> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut target = CHUNK;
        let first = self.line == 1 && !self.ended && bytes.is_empty();
        loop {
            if !self.ended && bytes.len() < target {
                let missing = (target - bytes.len()) as u64;
                let n = (&mut self.reader).take(missing).read_to_end(&mut bytes).map_err(|e| {
                    let line = self.line + memchr::memchr_iter(b'\n', &bytes).count() as u64;
                    match files::damaged(&self.path, e) {
                        Error::Format { file, message } => Error::parse(file, line, message),
                        other => other,
                    }
                })?;
                self.ended = (n as u64) < missing;
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            let cut = if self.ended { Some(bytes.len()) } else { self.dialect.last_record_end(&bytes) };
            if let Some(cut) = cut {
                self.rest = bytes.split_off(cut);
                break;
            }
            if bytes.len() > LONGEST_RECORD {
                return Err(self.too_long(self.line));
            }
            target = bytes.len() + CHUNK;
        }
        if first && bytes.starts_with("\u{feff}".as_bytes()) {
            bytes.drain(..3);
        }
        let chunk = Chunk { line: self.line, bytes };
        self.line += memchr::memchr_iter(b'\n', &chunk.bytes).count() as u64;
        Ok(Some(chunk))
    }

    fn too_long(&self, line: u64) -> Error {
        let why = if self.dialect.quoting != Quoting::Off { ", or a quote that is never closed" } else { "" };
        Error::parse(
            files::name_of(&self.path),
            line,
            format!(
                "the record is longer than {} MiB; is this a text file with one record per line{why}?",
                LONGEST_RECORD >> 20
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const DOUBLED: CsvDialect = CsvDialect { delimiter: b',', quoting: Quoting::Doubled };
    const OFF: CsvDialect = CsvDialect { delimiter: b'\t', quoting: Quoting::Off };

    fn file(content: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        file
    }

    #[test]
    fn records_with_quoted_line_ends_are_not_cut() {
        assert_eq!(DOUBLED.last_record_end(b"a,\"x\ny\"\nb,\"z\n"), Some(8));
        assert_eq!(DOUBLED.last_record_end(b"a,\"x\"\"\ny\"\nb"), Some(10));
        assert_eq!(DOUBLED.last_record_end(b"5\" disk,1\nb,2\nc"), Some(14));
        assert_eq!(OFF.last_record_end(b"a,\"x\ny\"\nb,\"z\n"), Some(13));
        assert_eq!(DOUBLED.last_record_end(b"1,42\"\" TV,x\nb,2\nc"), Some(16));
        assert_eq!(DOUBLED.last_record_end(b"a,\"x|\"\";\n\"\"y\"\nb"), Some(14));
        assert_eq!(DOUBLED.last_record_end(b"no line end"), None);
    }

    #[test]
    fn chunks_put_together_are_the_file_and_know_their_lines() {
        let content: String = (0..400_000).map(|i| format!("row {i},\"text\"\n")).collect();
        let file = file(content.as_bytes());
        let mut chunks = Chunks::open(file.path(), DOUBLED).unwrap();
        let (mut joined, mut n) = (Vec::new(), 0);
        while let Some(chunk) = chunks.next().unwrap() {
            let first = std::str::from_utf8(&chunk.bytes).unwrap().split(',').next().unwrap();
            assert_eq!(first, format!("row {}", chunk.line - 1));
            joined.extend(chunk.bytes);
            n += 1;
        }
        assert!(n > 2);
        assert_eq!(joined, content.as_bytes());
    }

    #[test]
    fn chunks_of_empty_lines_are_left_out_and_their_lines_counted() {
        let content = format!("a\n{}b\n", "\r\n".repeat(3 * CHUNK));
        let file = file(content.as_bytes());
        let mut chunks = Chunks::open(file.path(), OFF).unwrap();
        let (first, last) = (chunks.next().unwrap().unwrap(), chunks.next().unwrap().unwrap());
        assert!(first.bytes.starts_with(b"a\n") && last.bytes.ends_with(b"b\n"));
        let line = last.line + memchr::memchr_iter(b'\n', &last.bytes).count() as u64 - 1;
        assert_eq!((first.line, line), (1, 3 * CHUNK as u64 + 2));
        assert!(chunks.next().unwrap().is_none());
    }

    #[test]
    fn a_record_without_end_is_refused_with_its_line() {
        let mut content = b"id,text\n1,".to_vec();
        content.resize(content.len() + LONGEST_RECORD + CHUNK, b'x');
        content.extend(b"\n2,y\n");
        let file = file(&content);
        let mut chunks = Chunks::open(file.path(), DOUBLED).unwrap();
        assert_eq!(chunks.next().unwrap().unwrap().bytes, b"id,text\n");
        let error = chunks.next().map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(":2: the record is longer than 8 MiB"), "{error}");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused_with_their_line() {
        let file = file(b"a\nb\n\xe9t\xe9\n");
        let chunk = Chunks::open(file.path(), OFF).unwrap().next().unwrap().unwrap();
        let error = chunk.text(file.path()).unwrap_err().to_string();
        assert!(error.contains(":3: the text is not valid UTF-8"), "{error}");
    }
}
