//! What was tried, one line a trial, so that a search goes on where it was stopped.
//!
//! The first line says what the trials depend on. A trial of the same settings at the same share is not made again,
//! whatever the strategy. A last line that was cut short is dropped.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::files;

/// Settings that were tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What differs from the settings that the search started from.
    pub settings: Map<String, Value>,
    /// Share of the full effort: below 1 in the first rounds of successive halving.
    pub share: f64,
    /// The measure on the validation judgments; none where the settings failed.
    pub validation: Option<f64>,
    /// Why they failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Seconds it took.
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

    /// Opens or begins a file. Trials that depend on something else are an error, or replaced.
    pub(super) fn open(path: &Path, depends_on: &Value, replace: bool) -> Result<Self> {
        let name = files::name_of(path);
        let mut known = Vec::new();
        if path.exists() {
            let bytes = files::read_all(path)?;
            let text = String::from_utf8_lossy(&bytes);
            // Only whole lines count.
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            let mut lines = whole.lines();
            let header = lines.next().map(serde_json::from_str::<Value>);
            let is_ours = matches!(&header, Some(Ok(header)) if header == depends_on);
            if header.is_some() && !is_ours && !replace {
                return Err(Error::format(
                    name,
                    "holds the trials of another search (other data, model, settings, measure, seed or version); \
                     name another file, or delete this one",
                ));
            }
            for (line, text) in (2..).zip(lines.filter(|_| is_ours)) {
                let trial = serde_json::from_str(text).map_err(|e| {
                    Error::parse(&name, line, format!("is no trial ({e}); delete the line, or the file"))
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

    /// A trial that was made before.
    pub(super) fn find(&self, settings: &Map<String, Value>, share: f64) -> Option<&Trial> {
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
