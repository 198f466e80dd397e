//! Records of CSV and TSV texts, with their lines.

use super::escapes::{BadRecord, CsvDialect, Quoting, check_doubled};

const DOUBLED_AMONG_BACKSLASHES: &str = "a quote inside a cell is doubled (\"\"), but this file escapes quotes with \
                                         backslashes (\\\"); write all of them in one way, or say which one it is with \
                                         option `csv-escape`";
const AFTER_QUOTE: &str =
    "there is text between the closing quote of a cell and the next delimiter; is a quote not escaped?";
const OPEN_QUOTE: &str = "a quote is opened and never closed";

/// Records of a CSV or TSV text, with their lines counted from 0.
pub(super) enum Records<'t> {
    Plain {
        text: &'t str,
        reader: Box<csv::Reader<&'t [u8]>>,
        /// Lines before the byte up to which they are counted.
        line: u64,
        counted: usize,
        dialect: CsvDialect,
    },
    Backslash(BackslashRecords<'t>),
}

impl<'t> Records<'t> {
    pub(super) fn new(text: &'t str, dialect: CsvDialect) -> Self {
        let CsvDialect { delimiter, quoting } = dialect;
        if quoting == Quoting::Backslash {
            return Self::Backslash(BackslashRecords::new(text, delimiter));
        }
        let reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .quoting(quoting == Quoting::Doubled)
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        Self::Plain { text, reader: Box::new(reader), line: 0, counted: 0, dialect }
    }

    /// Returns an error if the text escapes quotes in another way than the file does.
    pub(super) fn check(&self) -> Result<(), (u64, String)> {
        match self {
            Self::Plain { text, dialect: CsvDialect { delimiter, quoting: Quoting::Doubled }, .. } => {
                check_doubled(text, *delimiter).map_err(BadRecord::located)
            }
            _ => Ok(()),
        }
    }

    /// Reads the next record into `record`. Returns its line, or `None` at the end.
    pub(super) fn next(&mut self, record: &mut csv::StringRecord) -> Result<Option<u64>, (u64, String)> {
        let (text, reader, line, counted) = match self {
            Self::Backslash(records) => return records.next(record).map_err(BadRecord::located),
            Self::Plain { text, reader, line, counted, .. } => (text, reader, line, counted),
        };
        match reader.read_record(record) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(e) => {
                let line = e.position().map_or(0, csv::Position::line);
                return Err((line.saturating_sub(1), e.to_string()));
            }
        }
        // The reader attributes blank lines and the second half of CRLF to the record that follows.
        let mut start = record.position().map_or(0, csv::Position::byte) as usize;
        start += text[start..].bytes().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        *line += memchr::memchr_iter(b'\n', &text.as_bytes()[*counted..start]).count() as u64;
        *counted = start;
        Ok(Some(*line))
    }
}

/// Reads the records of a CSV text whose quotes are escaped by backslashes.
pub(super) struct BackslashRecords<'t> {
    text: &'t str,
    delimiter: u8,
    at: usize,
    line: u64,
    cell: String,
}

impl<'t> BackslashRecords<'t> {
    pub(super) fn new(text: &'t str, delimiter: u8) -> Self {
        Self { text, delimiter, at: 0, line: 0, cell: String::new() }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Reads the next record into `record`. Returns its line, counted from 0, or `None` at the end. Empty lines are
    /// skipped.
    pub(super) fn next(&mut self, record: &mut csv::StringRecord) -> Result<Option<u64>, BadRecord> {
        record.clear();
        let bytes = self.text.as_bytes();
        while let Some(b'\r' | b'\n') = bytes.get(self.at) {
            self.line += u64::from(bytes[self.at] == b'\n');
            self.at += 1;
        }
        if self.is_at_end() {
            return Ok(None);
        }
        let (line, start) = (self.line, self.at);
        loop {
            self.cell.clear();
            if bytes.get(self.at) == Some(&b'"') {
                let closed = self.quoted_cell();
                let reason = match bytes.get(self.at) {
                    _ if !closed => Some(OPEN_QUOTE),
                    None | Some(b'\r' | b'\n') => None,
                    Some(&byte) if byte == self.delimiter => None,
                    Some(b'"') => Some(DOUBLED_AMONG_BACKSLASHES),
                    Some(_) => Some(AFTER_QUOTE),
                };
                if let Some(reason) = reason {
                    return Err(BadRecord { line, reason });
                }
            } else {
                self.plain_cell();
            }
            record.push_field(&self.cell);
            if bytes.get(self.at) != Some(&self.delimiter) {
                break;
            }
            self.at += 1;
        }
        self.line += memchr::memchr_iter(b'\n', &bytes[start..self.at]).count() as u64;
        Ok(Some(line))
    }

    /// Reads a cell from its opening quote to behind the closing one. Returns false if there is none.
    fn quoted_cell(&mut self) -> bool {
        self.at += 1;
        while let Some(n) = memchr::memchr2(b'"', b'\\', &self.text.as_bytes()[self.at..]) {
            self.cell.push_str(&self.text[self.at..self.at + n]);
            self.at += n;
            if self.text.as_bytes()[self.at] == b'"' {
                self.at += 1;
                return true;
            }
            self.escaped();
        }
        self.at = self.text.len();
        false
    }

    /// Reads a cell without quotes, up to the delimiter or the line end.
    fn plain_cell(&mut self) {
        let start = self.at;
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let ends = |byte: &u8| *byte == self.delimiter || b"\r\n\\".contains(byte);
            let n = rest.iter().position(ends).unwrap_or(rest.len());
            self.cell.push_str(&self.text[self.at..self.at + n]);
            self.at += n;
            if rest.get(n) != Some(&b'\\') {
                break;
            }
            self.escaped();
        }
        if &self.text[start..self.at] == "\\N" {
            self.cell.clear();
        }
    }

    /// Reads a backslash, and the character behind it if it is one that needs it.
    fn escaped(&mut self) {
        self.at += 1;
        match self.text.as_bytes().get(self.at) {
            Some(&byte) if byte == self.delimiter || b"\"\\\r\n".contains(&byte) => {
                self.cell.push(char::from(byte));
                self.at += 1;
            }
            _ => self.cell.push('\\'),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BACKSLASH: CsvDialect = CsvDialect { delimiter: b',', quoting: Quoting::Backslash };

    fn records(text: &str) -> Result<Vec<(u64, Vec<String>)>, BadRecord> {
        let (mut reader, mut record, mut all) =
            (BackslashRecords::new(text, b','), csv::StringRecord::new(), Vec::new());
        while let Some(line) = reader.next(&mut record)? {
            all.push((line, record.iter().map(str::to_owned).collect()));
        }
        Ok(all)
    }

    /// Writes cells as MySQL (`ENCLOSED BY '"'`, or optionally) and Spark do.
    fn written(rows: &[Vec<String>], quotes: bool) -> String {
        let escaped = |cell: &String| {
            let mut out = String::new();
            for c in cell.chars() {
                let special = "\\\"".contains(c) || !quotes && ",\r\n".contains(c);
                out.extend(special.then_some('\\').into_iter().chain([c]));
            }
            if quotes { format!("\"{out}\"") } else { out }
        };
        rows.iter().map(|row| row.iter().map(escaped).collect::<Vec<_>>().join(",") + "\n").collect()
    }

    #[test]
    fn escapes_are_those_of_mysql_and_spark() {
        let text = "id,text\n1,\"5\\\" pipe, \\\\ slash\"\n2,red\\, blue\r\n\n3,\\N\n4,\"C:\\temp\"\n5,\"a\nb\"\n6,\\\"x\n7,";
        let expected = [
            (0, ["id", "text"]),
            (1, ["1", "5\" pipe, \\ slash"]),
            (2, ["2", "red, blue"]),
            (4, ["3", ""]),
            (5, ["4", "C:\\temp"]),
            (6, ["5", "a\nb"]),
            (8, ["6", "\"x"]),
            (9, ["7", ""]),
        ];
        let found = records(text).unwrap();
        assert_eq!(found, expected.map(|(line, cells)| (line, cells.map(str::to_owned).to_vec())));
    }

    #[test]
    fn doubled_quotes_among_backslashes_are_errors_with_their_line() {
        let reason = |text: &str| records(text).unwrap_err();
        let mixed = reason("a,b\n\"x\\\"y\",1\n\"x\"\"y\",1\n");
        assert_eq!(mixed, BadRecord { line: 2, reason: DOUBLED_AMONG_BACKSLASHES });
        assert_eq!(reason("a\n\"x\" y\n"), BadRecord { line: 1, reason: AFTER_QUOTE });
        assert_eq!(reason("a\n\"x\n\n"), BadRecord { line: 1, reason: OPEN_QUOTE });
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in (1_usize..4).prop_flat_map(|n| prop::collection::vec(
                prop::collection::vec("[ab\\\\\",\n\r é]{0,6}", n..=n), 1..6)),
            quotes in any::<bool>(),
        ) {
            // A single empty cell without quotes is an empty line, and `\N` has a meaning of its own.
            prop_assume!(quotes || rows[0].len() > 1);
            let text = written(&rows, quotes);
            let found: Vec<Vec<String>> = records(&text).unwrap().into_iter().map(|(_, cells)| cells).collect();
            prop_assert_eq!(&found, &rows);
            // Cut at any record end, the rest is read alike.
            let cut = BACKSLASH.last_record_end(text.as_bytes());
            prop_assert_eq!(cut, Some(text.len()));
            for (at, _) in text.char_indices() {
                let end = BACKSLASH.last_record_end(&text.as_bytes()[..at]).unwrap_or(0);
                let first = records(&text[..end]).unwrap();
                let rest = records(&text[end..]).unwrap();
                let both: Vec<Vec<String>> = first.into_iter().chain(rest).map(|(_, cells)| cells).collect();
                prop_assert_eq!(&both, &rows);
            }
        }
    }
}
