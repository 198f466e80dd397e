//! Formats of tables, recognised by the name (`.csv`, `.tsv`, `.jsonl`, `.ndjson`, `.parquet`, each also with `.gz` or
//! `.zst`) and otherwise by the first bytes.

use std::path::Path;

use matchrank_core::Result;

use super::escapes::{CsvDialect, Quoting};
use crate::files;

/// Format of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Format {
    Delimited {
        dialect: CsvDialect,
        header: bool,
    },
    JsonLines,
    Parquet,
    /// No file: rows in memory.
    Memory,
}

/// Delimiter and quotes of CSV files, before a file tells its own.
pub(super) const COMMAS: CsvDialect = CsvDialect { delimiter: b',', quoting: Quoting::Doubled };
/// Tabs, and quotes that mean nothing.
pub(super) const TABS: CsvDialect = CsvDialect { delimiter: b'\t', quoting: Quoting::Off };

impl Format {
    /// Returns the format of a file.
    pub(super) fn of_file(path: &Path) -> Result<Self> {
        Ok(match ending(path).as_str() {
            "csv" => Self::delimited(COMMAS),
            // Cells of a file without a tab are separated by something else, whatever the file is called.
            "tsv" | "tab" if first_line(path)?.contains(&b'\t') => Self::delimited(TABS),
            "tsv" | "tab" => Self::delimited(COMMAS),
            "jsonl" | "ndjson" | "json" => Self::JsonLines,
            "parquet" | "pq" => Self::Parquet,
            _ => sniff(path)?,
        })
    }

    fn delimited(dialect: CsvDialect) -> Self {
        Self::Delimited { dialect, header: true }
    }

    /// Returns the rules that tell where a record ends; a line end always ends a JSON object.
    pub(super) fn dialect(&self) -> CsvDialect {
        match self {
            Self::Delimited { dialect, .. } => *dialect,
            Self::JsonLines | Self::Parquet | Self::Memory => TABS,
        }
    }
}

/// Returns true if the ending of a file name is that of a table.
pub(super) fn has_table_ending(path: &Path) -> bool {
    matches!(ending(path).as_str(), "csv" | "tsv" | "jsonl" | "ndjson" | "parquet" | "pq")
}

/// Returns the ending of a name that tells the format, without a compression ending.
fn ending(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    name.rsplit_once('.').map_or(String::new(), |(_, end)| end.to_owned())
}

/// Returns the first line that is not empty, or its beginning.
fn first_line(path: &Path) -> Result<Vec<u8>> {
    let mut reader = files::open(path)?;
    let head = reader.fill_buf().map_err(|e| files::damaged(path, e))?;
    let mut lines = head.split(|&b| b == b'\n');
    Ok(lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default().to_owned())
}

fn sniff(path: &Path) -> Result<Format> {
    let line = first_line(path)?;
    Ok(if line.starts_with(b"PAR1") {
        Format::Parquet
    } else if line.trim_ascii_start().starts_with(b"{") {
        Format::JsonLines
    } else if line.contains(&b'\t') {
        Format::delimited(TABS)
    } else {
        Format::delimited(COMMAS)
    })
}
