//! Trace of a search: one line per trial, so that an interrupted search can be resumed.
//!
//! The first line holds everything that the trials depend on. A trial with the same settings and the same share is not
//! repeated, whatever the strategy. An incomplete last line is dropped.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::by_name::ByName;
use crate::files;
use crate::json::Json;

/// One trial of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trial {
    /// Settings that differ from those that the search started from.
    pub settings: ByName<Json>,
    /// Share of the full effort: below 1 in the first rounds of successive halving.
    pub share: f64,
    /// Measure on the validation judgments; None if the trial failed.
    pub validation: Option<f64>,
    /// Error of a failed trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Seconds that the trial took.
    pub seconds: f64,
}

/// The trials of a search, in a file or in memory.
pub(super) struct Trace {
    file: Option<(PathBuf, File)>,
    known: Vec<Trial>,
}

impl Trace {
    pub(super) fn in_memory() -> Self {
        Self { file: None, known: Vec::new() }
    }

    /// Opens or creates a file. If its trials depend on something else, it is replaced with `replace`, and an error
    /// otherwise.
    pub(super) fn open(path: &Path, depends_on: &Value, replace: bool) -> Result<Self> {
        let name = files::name_of(path);
        let mut known = Vec::new();
        if path.exists() {
            let bytes = files::read_all(path)?;
            let text = String::from_utf8_lossy(&bytes);
            // Only complete lines count.
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            let mut lines = whole.lines();
            let header = lines.next().map(serde_json::from_str::<Value>);
            let is_ours = matches!(&header, Some(Ok(header)) if header == depends_on);
            if header.is_some() && !is_ours && !replace {
                return Err(Error::format(
                    name,
                    "holds the trials of another search (other data, model, settings, measure, seed or version); \
                     choose another file, or delete this one",
                ));
            }
            for (line, text) in (2..).zip(lines.filter(|_| is_ours)) {
                let trial = serde_json::from_str(text).map_err(|e| {
                    Error::parse(&name, line, format!("is not a trial ({e}); delete the line, or the file"))
                })?;
                known.push(trial);
            }
        }
        let mut text = depends_on.to_string() + "\n";
        for trial in &known {
            text += &line(trial);
        }
        files::write_atomically(path, |out| {
            out.write_all(text.as_bytes()).map_err(|e| Error::io(files::name_of(path), e))
        })?;
        let file =
            OpenOptions::new().append(true).open(path).map_err(|e| Error::io(files::name_of(path), e))?;
        Ok(Self { file: Some((path.to_owned(), file)), known })
    }

    /// Returns an earlier trial with these settings and share.
    pub(super) fn find(&self, settings: &ByName<Json>, share: f64) -> Option<&Trial> {
        self.known.iter().find(|trial| trial.settings == *settings && trial.share == share)
    }

    pub(super) fn add(&mut self, trial: Trial) -> Result<()> {
        if let Some((path, file)) = &mut self.file {
            let written = file.write_all(line(&trial).as_bytes()).and_then(|()| file.sync_data());
            written.map_err(|e| Error::io(files::name_of(path), e))?;
        }
        self.known.push(trial);
        Ok(())
    }
}

fn line(trial: &Trial) -> String {
    serde_json::to_string(trial).expect("a trial is plain data") + "\n"
}
