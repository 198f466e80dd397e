//! Damage that any text file can have.

use memchr::memmem;

use super::finding::{Finding, FoundLines, Severity, whole};
use super::lines;
use matchrank_core::message::{IS, counted, counted_with};

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns a finding if the bytes are not text that the other checks can read.
pub(super) fn not_text(bytes: &[u8]) -> Option<Finding> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Some(whole(
            Severity::Error,
            "utf-16",
            "the file is UTF-16".into(),
            "convert it to UTF-8, for example with `iconv -f UTF-16 -t UTF-8`",
        ));
    }
    // Control characters separate columns as blanks do.
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    text.iter().all(|byte| *byte <= b' ').then(|| {
        whole(Severity::Error, "empty-file", "the file is empty".into(), "check how it was written or copied")
    })
}

/// Checks encoding and line ends.
pub(super) fn findings(bytes: &[u8]) -> Vec<Finding> {
    let (mut invalid, mut replaced, mut mojibake) =
        (FoundLines::default(), FoundLines::default(), FoundLines::default());
    let (mut crlf, mut n_lines) = (FoundLines::default(), 0);
    let all_valid = simdutf8::basic::from_utf8(bytes).is_ok();
    let any_replaced = memmem::find(bytes, "\u{fffd}".as_bytes()).is_some();
    let all_ascii = bytes.is_ascii();
    for (number, line) in lines(bytes) {
        n_lines += 1;
        if !all_valid && simdutf8::basic::from_utf8(line).is_err() {
            invalid.add(number);
        }
        if any_replaced && memmem::find(line, "\u{fffd}".as_bytes()).is_some() {
            replaced.add(number);
        }
        if !all_ascii && is_mojibake(line) {
            mojibake.add(number);
        }
        if line.ends_with(b"\r") {
            crlf.add(number);
        }
    }

    let mut found = Vec::new();
    found.extend(invalid.finding(
        Severity::Error,
        "invalid-utf8",
        |n| format!("{} not valid UTF-8", counted_with(n, "line", IS)),
        "convert the file from the encoding it is in, for example with `iconv -f LATIN1 -t UTF-8`",
    ));
    found.extend(replaced.finding(
        Severity::Warning,
        "replacement-character",
        |n| format!("{} with U+FFFD, left where an earlier conversion lost a character", counted(n, "line")),
        "convert the original file again with its true encoding",
    ));
    found.extend(mojibake.finding(
        Severity::Warning,
        "mojibake",
        |n| {
            format!(
                "{} with letters such as `Ã©`: UTF-8 that was read as Latin-1 and encoded again",
                counted(n, "line")
            )
        },
        "convert back, for example with `iconv -f UTF-8 -t LATIN1`, or read the original as UTF-8",
    ));
    if bytes.starts_with(BYTE_ORDER_MARK) {
        found.push(whole(
            Severity::Info,
            "byte-order-mark",
            "the file starts with a byte order mark".into(),
            "matchrank skips it; other tools take it for a part of the first field",
        ));
    }
    let mixed = crlf.count < n_lines;
    let crlf = crlf.finding(
        Severity::Info,
        "crlf",
        |n| {
            let some =
                if mixed { format!("{} of {n_lines}", counted(n, "line")) } else { "all lines".into() };
            format!("{some} end in CRLF, as Windows writes them")
        },
        "matchrank reads both; `tr -d '\\r'` removes them for tools that do not",
    );
    found.extend(crlf.map(|finding| if mixed { finding } else { Finding { lines: Vec::new(), ..finding } }));
    found
}

/// Returns true if a line has letters that appear when UTF-8 is read as Latin-1 or Windows-1252 and encoded again: `Ã`
/// or `Â` before another letter beyond ASCII, or `â€`.
pub(super) fn is_mojibake(line: &[u8]) -> bool {
    memchr::memchr_iter(0xc3, line).any(|at| match line[at + 1..] {
        [0x83, next, ..] => next >= 0x80,
        [0x82, 0xc2, ..] => true,
        [0xa2, 0xe2, 0x82, 0xac, ..] => true,
        _ => false,
    })
}
