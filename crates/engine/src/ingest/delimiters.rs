//! Delimiters of CSV files: comma, semicolon, tab or bar, recognised by the first rows of each file.

use std::io::Read;
use std::path::Path;

use matchrank_core::{Error, Result};

use super::escapes::{CsvDialect, CsvEscape, Quoting, detect_quoting};
use crate::files;

/// Delimiters that are recognised; the first wins where several fit.
const CANDIDATES: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Bytes that decide on the delimiter and the escapes of a file.
const SAMPLE: u64 = 1 << 20;

/// Settings of the user for CSV files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CsvRules {
    pub(super) escape: CsvEscape,
    /// Delimiter of all CSV files; `None` recognises it.
    pub(super) delimiter: Option<u8>,
}

/// Dialect of a file, and remarks on what was recognised.
pub(super) struct FoundDialect {
    pub(super) dialect: CsvDialect,
    pub(super) remarks: Vec<String>,
}

impl CsvRules {
    /// Returns the dialect of a CSV file, by its first rows where the user leaves the choice open.
    pub(super) fn dialect_of(self, path: &Path) -> Result<FoundDialect> {
        let mut bytes = Vec::new();
        let read = files::open(path)?.take(SAMPLE).read_to_end(&mut bytes);
        let is_whole = read.is_ok() && (bytes.len() as u64) < SAMPLE;
        // Damage, a character that was cut and bytes that are no UTF-8 end the sample; reading the file names the line.
        let valid = simdutf8::compat::from_utf8(&bytes).map_or_else(|e| e.valid_up_to(), str::len);
        let sample = std::str::from_utf8(&bytes[..valid]).unwrap_or_default().trim_start_matches('\u{feff}');
        let delimiter = self.delimiter.unwrap_or_else(|| detect(sample, is_whole));
        let quoting = match self.escape {
            CsvEscape::Double => Quoting::Doubled,
            CsvEscape::Backslash => Quoting::Backslash,
            CsvEscape::Auto => detect_quoting(sample, is_whole, delimiter),
        };
        let mut remarks = Vec::new();
        if self.delimiter.is_none() && delimiter != b',' {
            let name = delimiter_name(delimiter);
            remarks.push(format!("cells are separated by {name} (recognised by the first rows)"));
        }
        if self.escape == CsvEscape::Auto && quoting == Quoting::Backslash {
            remarks.push("quotes are escaped by backslashes (recognised by the first rows)".to_owned());
        }
        Ok(FoundDialect { dialect: CsvDialect { delimiter, quoting }, remarks })
    }
}

/// Returns the delimiter with which all first rows have as many cells as the header, and most of them. If there is
/// none, the delimiter with most cells in the header.
fn detect(sample: &str, is_whole: bool) -> u8 {
    let fit = |delimiter: u8| {
        let dialect = CsvDialect { delimiter, quoting: Quoting::Doubled };
        let cells = dialect.cells(dialect.whole_records(sample, is_whole));
        let header = cells.first().copied().unwrap_or(0);
        (header > 1 && cells.iter().all(|n| *n == header), header)
    };
    // Of equal ones, the last is the maximum.
    CANDIDATES.into_iter().rev().max_by_key(|delimiter| fit(*delimiter)).expect("there are candidates")
}

/// Returns a delimiter in words.
pub(super) fn delimiter_name(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "tabs".to_owned(),
        other => format!("'{}'", char::from(other)),
    }
}

/// Returns the byte of a delimiter that the user names.
pub(super) fn checked(delimiter: char) -> Result<u8> {
    // Control characters are usual in exports of Hive.
    let usable =
        delimiter.is_ascii() && !delimiter.is_ascii_alphanumeric() && !"\"\\\r\n\0".contains(delimiter);
    if usable {
        return Ok(delimiter as u8);
    }
    Err(Error::Params(format!(
        "the delimiter is {delimiter:?}; a tab, a punctuation mark or a control character of ASCII is expected, \
         such as ; or |"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_those_that_give_all_rows_the_cells_of_the_header() {
        for (text, expected) in [
            ("query,sku\nred,1\n", b','),
            ("query;sku;cnt\n\"red; blue\";1;2\nred, wide;2;3\n", b';'),
            ("query\tsku\nred, wide\t1\n", b'\t'),
            ("query|sku|price\nred;blue|1|2,50\n", b'|'),
            // One column, and no rows: commas as before.
            ("query\nred\n", b','),
            ("", b','),
            // Commas in all cells, and the header tells.
            ("name;price\na, b;1,5\nc, d;2,5\n", b';'),
            ("a,b\nx;y;z,1\n", b','),
            // No delimiter fits, and the header has most cells with commas: reading names the line.
            ("a,b,c\n1,2\n", b','),
        ] {
            assert_eq!(detect(text, true), expected, "{text}");
        }
        assert_eq!(detect("a;b\n1;2\n3;", false), b';', "the last record of a sample is cut");
    }

    #[test]
    fn letters_digits_quotes_and_backslashes_are_no_delimiters() {
        assert_eq!(checked('\t').unwrap(), b'\t');
        assert_eq!(checked('^').unwrap(), b'^');
        assert_eq!(checked('\u{1}').unwrap(), 1);
        for wrong in ['a', '7', '"', '\\', '\n', 'é'] {
            assert!(checked(wrong).is_err(), "{wrong:?}");
        }
    }
}
