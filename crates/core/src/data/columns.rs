//! Lines of whitespace-separated columns, and splitting of files into chunks for threads.

use crate::{Error, Result};

/// Approximate number of bytes that a thread takes at a time.
const CHUNK: usize = 1 << 20;

/// A piece of a file that consists of whole lines, and the number of its first line, counted from 1.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a> {
    pub(crate) line: u64,
    pub(crate) bytes: &'a [u8],
}

/// Strips the UTF-8 byte order mark from the start of a file, if there is one. Otherwise it would become part of the
/// first query id.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Cuts a file at line ends into pieces of about a megabyte.
pub(crate) fn chunks(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = without_mark(bytes);
    let mut chunks = Vec::with_capacity(bytes.len() / CHUNK + 1);
    while rest.len() > CHUNK {
        let Some(end) = memchr::memchr(b'\n', &rest[CHUNK..]) else { break };
        let (chunk, tail) = rest.split_at(CHUNK + end + 1);
        chunks.push(chunk);
        rest = tail;
    }
    if !rest.is_empty() {
        chunks.push(rest);
    }
    chunks
}

/// The lines of a chunk, without their ends, each with its number.
pub(crate) fn lines<'a>(chunk: Chunk<'a>) -> impl Iterator<Item = (u64, &'a [u8])> {
    let mut rest = chunk.bytes;
    let mut line = chunk.line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let item = (line, &rest[..end]);
        rest = rest.get(end + 1..).unwrap_or_default();
        line += 1;
        Some(item)
    })
}

/// Spaces, tabs, carriage returns and every other byte up to the space separate columns.
#[inline(always)]
pub(crate) fn is_space(byte: u8) -> bool {
    byte <= b' '
}

/// Splits a line into exactly `N` columns. Otherwise returns the number of columns found.
#[inline]
pub(crate) fn split<const N: usize>(line: &[u8]) -> Result<[&[u8]; N], usize> {
    let mut columns = [&line[..0]; N];
    let mut at = 0;
    for (n, column) in columns.iter_mut().enumerate() {
        while at < line.len() && is_space(line[at]) {
            at += 1;
        }
        let start = at;
        while at < line.len() && !is_space(line[at]) {
            at += 1;
        }
        if at == start {
            return Err(n);
        }
        *column = &line[start..at];
    }
    if line[at..].iter().all(|&b| is_space(b)) { Ok(columns) } else { Err(count(line)) }
}

/// Returns the number of columns of a line.
pub(crate) fn count(line: &[u8]) -> usize {
    line.split(|&b| is_space(b)).filter(|c| !c.is_empty()).count()
}

const NOT_UTF8: &str = "the line is not UTF-8; convert the file, for example with `iconv -f latin1 -t utf-8`";
pub(crate) const CARRIAGE_RETURN: &str = "the line contains a carriage return; lines end in LF or CRLF: convert \
                                          files that end them with CR alone (`tr '\\r' '\\n'`)";
pub(crate) const ZERO_BYTE: &str = "the line contains a zero byte; the file is damaged, or it is UTF-16: copy it \
                                    again, or convert it to UTF-8";

/// Returns an error that names the first line of a piece that is not text: not UTF-8, with a zero byte, or with a
/// carriage return before the end of the line. Control characters separate columns, so such lines would be misread
/// silently.
pub(crate) fn check_text(file: &str, chunk: Chunk<'_>) -> Result<()> {
    let bytes = chunk.bytes;
    let Some((at, message)) = not_text(bytes) else { return Ok(()) };
    let line = chunk.line + memchr::memchr_iter(b'\n', &bytes[..at]).count() as u64;
    Err(Error::parse(file, line, message))
}

/// Finds the first byte that is not text, and the reason.
pub(crate) fn not_text(bytes: &[u8]) -> Option<(usize, &'static str)> {
    let not_utf8 = std::str::from_utf8(bytes).err().map(|e| (e.valid_up_to(), NOT_UTF8));
    let zero = memchr::memchr(0, bytes).map(|at| (at, ZERO_BYTE));
    let within =
        |at: &usize| bytes[*at..].iter().find(|byte| **byte != b'\r').is_some_and(|byte| *byte != b'\n');
    let carriage_return = memchr::memchr_iter(b'\r', bytes).find(within).map(|at| (at, CARRIAGE_RETURN));
    [not_utf8, zero, carriage_return].into_iter().flatten().min_by_key(|(at, _)| *at)
}

/// Returns a column as text. [`check_text`] has checked the file, and columns end at ASCII bytes.
pub(crate) fn text(column: &[u8]) -> &str {
    std::str::from_utf8(column).expect("the file was checked to be UTF-8")
}

/// Returns at most 40 characters of a column, for messages.
pub(crate) fn shown(column: &[u8]) -> String {
    let text = String::from_utf8_lossy(column);
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chunks_and_lines_lose_nothing(text in "[ab\\n]{0,200}") {
            let joined: Vec<u8> = chunks(text.as_bytes()).concat();
            prop_assert_eq!(joined, text.as_bytes());
            let ours: Vec<&[u8]> = lines(Chunk { line: 1, bytes: text.as_bytes() }).map(|l| l.1).collect();
            let theirs: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn split_is_split_ascii_whitespace(text in "[ab \\t\\r]{0,20}") {
            let words: Vec<&[u8]> = text.split_ascii_whitespace().map(str::as_bytes).collect();
            match split::<3>(text.as_bytes()) {
                Ok(columns) => prop_assert_eq!(&columns[..], &words[..]),
                Err(n) => { prop_assert_eq!(n, words.len()); prop_assert_ne!(n, 3) }
            }
        }
    }

    #[test]
    fn lines_that_are_no_text_are_named() {
        let check = |bytes: &[u8]| check_text("f", Chunk { line: 5, bytes }).map_err(|e| e.to_string());
        for fine in [&b"a b\r\nc d\r\r\n"[..], b"a\n\nb", b"a\r", b""] {
            assert_eq!(check(fine), Ok(()));
        }
        for (bytes, line, message) in [
            (&b"a b\r\n\0\0\nc"[..], 6, "zero byte"),
            (b"a\tb\rc\td\r", 5, "carriage return"),
            (b"a\n\n\xff\n\0", 7, "not UTF-8"),
        ] {
            let error = check(bytes).unwrap_err();
            assert!(error.starts_with(&format!("f:{line}: ")) && error.contains(message), "{error}");
        }
    }

    #[test]
    fn chunks_end_at_line_ends() {
        let text = "0123456789\n".repeat(300_000);
        let parts = chunks(text.as_bytes());
        assert_eq!(parts.len(), 4);
        assert!(parts.iter().all(|p| p.ends_with(b"\n")));
        assert_eq!(parts.concat(), text.as_bytes());
    }

    #[test]
    fn long_columns_are_cut_in_messages() {
        assert_eq!(shown("é".repeat(50).as_bytes()), format!("{}...", "é".repeat(40)));
    }
}
