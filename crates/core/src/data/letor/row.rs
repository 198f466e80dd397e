//! Grammar of one line.

use crate::data::HIGHEST_FEATURE;
use crate::data::columns::{CARRIAGE_RETURN, ZERO_BYTE};

/// Spellings of missing values besides NaN.
const MISSING: [&[u8]; 2] = [b"NULL", b"NA"];

/// Fields of a line other than its features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LetorRow<'a> {
    /// The grade.
    pub label: f32,
    /// The text after `qid:`.
    pub query: &'a str,
    /// The `docid` of the comment.
    pub document: Option<&'a str>,
}

/// Parses one line, which may end in LF, CRLF or nothing. Replaces `entries` by its features as (column, value) in the
/// order of the line, column 0 being feature 1. Returns `None` for a blank line or a line with only a comment.
///
/// Checks the grammar only; [`FeatureRows::push`](crate::data::FeatureRows::push) checks the values.
pub fn parse_row<'a>(
    line: &'a [u8],
    entries: &mut Vec<(u32, f32)>,
) -> std::result::Result<Option<LetorRow<'a>>, String> {
    entries.clear();
    let line = trim_end(line);
    if let Some(at) = memchr::memchr2(b'\r', b'\0', line) {
        return Err(if line[at] == 0 { ZERO_BYTE } else { CARRIAGE_RETURN }.to_owned());
    }
    let (fields, comment) = match memchr::memchr(b'#', line) {
        Some(at) => (&line[..at], Some(&line[at + 1..])),
        None => (line, None),
    };
    let mut rest = skip_space(fields);
    if rest.is_empty() {
        return Ok(None);
    }
    let label = field(&mut rest);
    let label = fast_float2::parse::<f32, _>(label).map_err(|_| {
        format!("a label (a number) is expected at the start of the line, found {}", quote(label))
    })?;

    let query = field(&mut rest);
    let query = query.strip_prefix(b"qid:").ok_or_else(|| missing_qid(query))?;
    if query.is_empty() {
        return Err("the query id after `qid:` is empty; write it without a space, as in `qid:7`".to_owned());
    }
    let query = text(query, "query id")?;

    while !rest.is_empty() {
        let (column, value, after) = feature(rest)?;
        entries.push((column, value));
        rest = skip_space(after);
    }
    let document = comment.and_then(docid).map(|id| text(id, "docid")).transpose()?;
    Ok(Some(LetorRow { label, query, document }))
}

/// Returns the line without its line end.
fn trim_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    &line[..line.iter().rposition(|byte| *byte != b'\r').map_or(0, |at| at + 1)]
}

/// Parses one `id:value` at the start of `rest` and returns the remainder.
#[inline]
fn feature(rest: &[u8]) -> std::result::Result<(u32, f32, &[u8]), String> {
    let mut id = 0u64;
    let mut n = 0;
    while let Some(digit) = rest.get(n).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        // Only ten digits matter; a longer number only has to stay above the limit.
        id = (id * 10 + u64::from(digit)).min(1 << 40);
        n += 1;
    }
    if n == 0 || rest.get(n) != Some(&b':') {
        return Err(not_a_feature(rest));
    }
    if id == 0 || id > u64::from(HIGHEST_FEATURE) {
        return Err(format!(
            "features are numbered from 1 to {HIGHEST_FEATURE}, found {}",
            quote(token(rest))
        ));
    }
    let written = &rest[n + 1..];
    match fast_float2::parse_partial::<f32, _>(written) {
        Ok((value, length)) if written.get(length).is_none_or(|b| is_space(*b)) => {
            Ok(((id - 1) as u32, value, &written[length..]))
        }
        _ => match token(written) {
            missing if MISSING.iter().any(|name| missing.eq_ignore_ascii_case(name)) => {
                Ok(((id - 1) as u32, f32::NAN, &written[missing.len()..]))
            }
            found => Err(format!("the value of feature {id} is not a number: {}", quote(found))),
        },
    }
}

/// Returns the value of `docid = VALUE` in a comment: up to the next `NAME =`, or to the end of the line. The value
/// includes blanks, so that `a b` and `a c` are two documents.
pub(super) fn docid(comment: &[u8]) -> Option<&[u8]> {
    let at = memchr::memmem::find(comment, b"docid")?;
    let value = skip_space(skip_space(&comment[at + 5..]).strip_prefix(b"=")?);
    let mut end = 0;
    loop {
        let rest = skip_space(&value[end..]);
        let word = token(rest);
        let is_name = skip_space(&rest[word.len()..]).starts_with(b"=") || end > 0 && is_assignment(word);
        if word.is_empty() || is_name {
            break;
        }
        end = value.len() - rest.len() + word.len();
    }
    (end > 0).then_some(&value[..end])
}

/// Returns true for a word of the form `NAME=VALUE`.
fn is_assignment(word: &[u8]) -> bool {
    let name = word.iter().position(|byte| *byte == b'=').map_or(&word[..0], |at| &word[..at]);
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn skip_space(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().position(|b| !is_space(*b)).unwrap_or(bytes.len())..]
}

/// Returns the bytes up to the next space.
fn token(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|b| is_space(*b)).unwrap_or(bytes.len())]
}

/// Takes the next field and the space after it off `rest`.
fn field<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let field = token(rest);
    *rest = skip_space(&rest[field.len()..]);
    field
}

fn text<'a>(bytes: &'a [u8], what: &str) -> std::result::Result<&'a str, String> {
    std::str::from_utf8(bytes)
        .map_err(|_| format!("the {what} {} is not valid UTF-8; convert the file to UTF-8", quote(bytes)))
}

fn missing_qid(found: &[u8]) -> String {
    let found = if found.is_empty() { "the end of the line".to_owned() } else { quote(found) };
    format!(
        "`qid:` is expected after the label, found {found}; a ranking file says which query each row belongs to \
         (`0 qid:7 1:0.5`; `qid:1` on every row when there is one list)"
    )
}

fn not_a_feature(rest: &[u8]) -> String {
    let found = token(rest);
    if found.starts_with(b"qid:") {
        return "`qid:` appears twice in the line; is a line break missing?".to_owned();
    }
    format!("a feature such as `3:0.5` is expected, found {}", quote(found))
}

/// Quotes the start of the input, escaped so that any bytes are readable.
fn quote(bytes: &[u8]) -> String {
    const LONGEST: usize = 40;
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]);
    let shown: String = shown
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect();
    let dots = if bytes.len() > LONGEST { "..." } else { "" };
    format!("`{shown}{dots}`")
}
