//! A comparison as one HTML page: which model is best on this data, by how much, is it real, and why.
//!
//! ```text
//! comparison folder + dataset -> prepare -> Page -> html -> one file
//! ```
//!
//! [`prepare`] reads everything and computes what `compare` did not: differences of every pair of models with their
//! confidence intervals, the queries that tell models apart, explanations of their first results, what `doctor` says of
//! the data. [`html`] is a pure function of the [`Page`]. The file needs no network and runs one small script of ours;
//! without it the figures, tables and curves are all there, and only the queries cannot be opened.
//!
//! Texts of queries and documents are not ours: markup is made by [`maud`], which escapes whatever is not markup, data
//! for the script is JSON without `<`, `>` and `&`, the script writes text as text, and the page tells the browser to
//! run no script but its own and to fetch nothing.
//!
//! | file | what it holds |
//! |---|---|
//! | `prepare` | reading the folder; [`Page`] |
//! | `paired` | differences between models query by query, with intervals and p-values |
//! | `openable` | which queries can be opened |
//! | `shown` | the documents that are shown, shortened |
//! | `explained` | which results are explained, and how |
//! | `html/` | one section of the page a file; `page.css`, `page.js` |

mod explained;
mod html;
mod openable;
mod paired;
mod prepare;
mod shown;
#[cfg(test)]
mod tests;

use std::path::Path;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

pub use explained::Explained;
pub use html::html;
pub use openable::Opened;
pub use paired::{Paired, Pairs};
pub use prepare::{Page, prepare};
pub use shown::ShownDocument;

use crate::dataset::Dataset;
use crate::files;

/// What goes into a report beside the figures.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportParams {
    /// The model that others are measured against at first; the reader may pick another. By default the BM25 model,
    /// and where there is none the worst.
    pub baseline: Option<String>,
    /// Most queries whose results can be opened.
    pub open: usize,
    /// Most queries of these whose first results are explained.
    pub explain: usize,
}

impl Default for ReportParams {
    fn default() -> Self {
        Self { baseline: None, open: 200, explain: 16 }
    }
}

/// Writes the report of a comparison's folder; `dataset` must be what was compared on. Returns the size of the file.
pub fn write(
    folder: &Path,
    dataset: &Dataset,
    out: &Path,
    params: &ReportParams,
    progress: &dyn Progress,
) -> Result<u64> {
    files::check_writable(out)?;
    let page = html(&prepare(folder, dataset, params, progress)?);
    files::write_atomically(out, |file| {
        file.write_all(page.as_bytes()).map_err(|e| Error::io(files::name_of(out), e))
    })?;
    Ok(page.len() as u64)
}
