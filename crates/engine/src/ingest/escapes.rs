//! Quotes inside the cells of CSV files: doubled (`""`), as RFC 4180 and spreadsheets write them, or behind a backslash
//! (`\"`), as MySQL and Spark do.
//!
//! With backslashes, `\"`, `\,`, `\\` and a backslash before a line end stand for the second character, inside and
//! outside of quotes; where another delimiter separates the cells, it takes the place of the comma. A backslash before any other character is a backslash, as in `C:\temp`. A cell that is `\N`
//! without quotes is empty.
//!
//! The two dialects cut some files into different cells, so a file that mixes them is an error with its line.

use memchr::memmem;

use super::records::BackslashRecords;

/// Way in which a CSV file writes quotes inside of quoted cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsvEscape {
    /// Decide by the first rows: backslashes if the rows have the cells of the header that way only.
    #[default]
    Auto,
    /// Doubled: `""`.
    Double,
    /// Behind a backslash: `\"`.
    Backslash,
}

impl CsvEscape {
    const NAMED: [(Self, &str); 3] =
        [(Self::Auto, "auto"), (Self::Double, "double"), (Self::Backslash, "backslash")];

    /// Name in the manifest of a dataset.
    pub(super) fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(escape, _)| *escape == self).expect("every way has a name").1
    }

    /// Returns the way of a name; that of an unknown name is recognised by the rows.
    pub(super) fn from_name(name: &str) -> Self {
        Self::NAMED.iter().find(|(_, known)| *known == name).map_or(Self::Auto, |(escape, _)| *escape)
    }
}

/// Rules for quotes and escapes in a text file of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoting {
    /// Quotes mean nothing: TSV and JSON lines.
    Off,
    Doubled,
    Backslash,
}

/// Delimiter and quotes of a text file of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CsvDialect {
    pub(super) delimiter: u8,
    pub(super) quoting: Quoting,
}

/// Record that cannot be read: its line in the text, counted from 0, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadRecord {
    pub(super) line: u64,
    pub(super) reason: &'static str,
}

impl BadRecord {
    pub(super) fn located(self) -> (u64, String) {
        (self.line, self.reason.to_owned())
    }
}

const BACKSLASH_AMONG_DOUBLED: &str = "a quote inside a cell has a backslash before it (\\\"), but this file is read as \
                                       one that doubles quotes (\"\"); write all of them in one way, or say which one \
                                       it is with option `csv-escape`";

impl CsvDialect {
    /// Returns the end of the last complete record of `bytes` (one past its line end), given that a record begins at 0.
    pub(super) fn last_record_end(self, bytes: &[u8]) -> Option<usize> {
        let special = match self.quoting {
            Quoting::Off => None,
            Quoting::Doubled => memchr::memchr(b'"', bytes),
            Quoting::Backslash => memchr::memchr2(b'"', b'\\', bytes),
        };
        if special.is_none() {
            return memchr::memrchr(b'\n', bytes).map(|i| i + 1);
        }
        // A quote opens a quoted field only at the start of a field; a doubled quote inside closes it and opens
        // it again.
        let doubled = self.quoting == Quoting::Doubled;
        let (mut inside, mut opens, mut escaped, mut end) = (false, true, false, None);
        for (i, &byte) in bytes.iter().enumerate() {
            match byte {
                _ if escaped => (escaped, opens) = (false, false),
                b'\\' if !doubled => (escaped, opens) = (true, false),
                b'"' if inside => (inside, opens) = (false, doubled),
                b'"' if opens => inside = true,
                b'\n' if !inside => (opens, end) = (true, Some(i + 1)),
                _ if byte == self.delimiter && !inside => opens = true,
                _ => opens = false,
            }
        }
        end
    }
}

/// Decides on the escapes by the first rows of a file. Without a backslash before a quote, a delimiter or a line end
/// there is nothing to decide. Else backslashes escape if only so all rows have as many cells as the first and no text
/// stands behind a closing quote.
pub(super) fn detect_quoting(sample: &str, is_whole: bool, delimiter: u8) -> Quoting {
    let bytes = sample.as_bytes();
    let undecided = [b'"', delimiter, b'\n', b'\r'];
    let undecided = undecided.iter().any(|second| memmem::find(bytes, &[b'\\', *second]).is_some());
    if undecided && !fits_doubled(sample, is_whole, delimiter) && fits_backslash(sample, is_whole, delimiter)
    {
        Quoting::Backslash
    } else {
        Quoting::Doubled
    }
}

fn fits_backslash(sample: &str, is_whole: bool, delimiter: u8) -> bool {
    let (mut records, mut record, mut n_cells) =
        (BackslashRecords::new(sample, delimiter), csv::StringRecord::new(), None);
    loop {
        match records.next(&mut record) {
            // The last record of a sample may have been cut.
            _ if !is_whole && records.is_at_end() => return true,
            Ok(None) => return true,
            Ok(Some(_)) if *n_cells.get_or_insert(record.len()) == record.len() => {}
            Ok(Some(_)) | Err(_) => return false,
        }
    }
}

fn fits_doubled(sample: &str, is_whole: bool, delimiter: u8) -> bool {
    let dialect = CsvDialect { delimiter, quoting: Quoting::Doubled };
    let sample = dialect.whole_records(sample, is_whole);
    let n_cells = dialect.cells(sample);
    n_cells.windows(2).all(|pair| pair[0] == pair[1]) && check_doubled(sample, delimiter).is_ok()
}

impl CsvDialect {
    /// Returns the records of a sample that were not cut.
    pub(super) fn whole_records(self, sample: &str, is_whole: bool) -> &str {
        if is_whole { sample } else { &sample[..self.last_record_end(sample.as_bytes()).unwrap_or(0)] }
    }

    /// Returns the number of cells of every record of a text whose quotes are doubled.
    pub(super) fn cells(self, text: &str) -> Vec<usize> {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(self.delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        let (mut record, mut cells) = (csv::StringRecord::new(), Vec::new());
        while matches!(reader.read_record(&mut record), Ok(true)) {
            cells.push(record.len());
        }
        cells
    }
}

/// Returns an error for the first record with a backslash before a quote whose quotes cannot be doubled ones: text stands
/// behind a closing quote, or a quote stays open.
pub(super) fn check_doubled(text: &str, delimiter: u8) -> Result<(), BadRecord> {
    let bytes = text.as_bytes();
    if memmem::find(bytes, b"\\\"").is_none() {
        return Ok(());
    }
    let (mut inside, mut opens) = (false, true);
    let (mut has_backslash, mut is_bad) = (false, false);
    let (mut line, mut first_line) = (0, 0);
    let mut at = 0;
    while at < bytes.len() {
        let next = bytes.get(at + 1);
        match bytes[at] {
            b'"' if inside => {
                has_backslash |= bytes[at - 1] == b'\\';
                if next == Some(&b'"') {
                    at += 1;
                } else {
                    inside = false;
                    is_bad |= next.is_some_and(|byte| *byte != delimiter && !b"\r\n".contains(byte));
                }
            }
            b'"' if opens => (inside, opens) = (true, false),
            byte if byte == delimiter && !inside => opens = true,
            b'\n' if !inside => {
                if has_backslash && is_bad {
                    break;
                }
                line += 1;
                (opens, has_backslash, is_bad, first_line) = (true, false, false, line);
            }
            b'\n' => line += 1,
            _ => opens = false,
        }
        at += 1;
    }
    if has_backslash && (is_bad || inside) {
        return Err(BadRecord { line: first_line, reason: BACKSLASH_AMONG_DOUBLED });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslashes_among_doubled_quotes_are_errors_with_their_line() {
        let bad = Err(BadRecord { line: 3, reason: BACKSLASH_AMONG_DOUBLED });
        assert_eq!(check_doubled("a,b\n\"x\"\"\ny\",1\n\"x\\\"y\",1\n", b','), bad);
        assert_eq!(
            check_doubled("a,b\n\"x\\\"\",\"y\"\n", b','),
            Err(BadRecord { line: 1, reason: BACKSLASH_AMONG_DOUBLED })
        );
        for fine in
            ["a,b\n\"C:\\\",1\n", "a,b\n\"say \\\"\"yes\\\"\"\",1\n", "a,b\nx\\\"y,1\n", "\"x\" y,1\n"]
        {
            assert_eq!(check_doubled(fine, b','), Ok(()), "{fine}");
        }
    }

    #[test]
    fn files_are_read_as_before_unless_only_backslashes_fit() {
        for (text, expected) in [
            ("a,b\n\"x \\\"y\\\" z\",1\n", Quoting::Backslash),
            ("a,b\nx\\, y,1\n", Quoting::Backslash),
            ("a,b\n\"x\\\"\",1\n", Quoting::Backslash),
            ("a,b\n\"x \"\"y\"\" z\",1\n", Quoting::Doubled),
            // A path that ends in a backslash: doubled quotes fit.
            ("a,b\n\"C:\\\",1\n\"D:\\\",2\n", Quoting::Doubled),
            ("a,b\n\"C:\\\\temp\",1\n", Quoting::Doubled),
            // Both in one file: neither fits, and reading says which line.
            ("a,b\n\"x \\\"y\\\" z\",1\n\"x \"\"y\"\" z\",1\n", Quoting::Doubled),
            ("", Quoting::Doubled),
        ] {
            assert_eq!(detect_quoting(text, true, b','), expected, "{text}");
        }
        // The last record of a sample is cut.
        assert_eq!(detect_quoting("a,b\n\"x \\\"y\\\" z\",1\n\"x\\", false, b','), Quoting::Backslash);
    }
}
