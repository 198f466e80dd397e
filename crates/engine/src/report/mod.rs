//! Renders a comparison as one HTML page: what changes for searchers with the model that validation chose, whether the
//! change is significant, which model to deploy, and why.
//!
//! ```text
//! comparison folder + dataset -> prepare -> Page -> html -> one file
//! ```
//!
//! [`prepare`] reads everything and computes what `compare` did not: differences of every pair of models with their
//! confidence intervals, the queries that tell models apart, explanations of their first results, and the findings of
//! `doctor`. [`html`] is a pure function of the [`Page`]. The file needs no network, and runs one small script. Without
//! JavaScript all figures, tables and curves are there, and only the queries cannot be opened.
//!
//! Texts of queries and documents are untrusted. [`maud`] escapes whatever is not markup. Data for the script is JSON
//! without `<`, `>` and `&`, and the script writes text as text. The page tells the browser to run no script but its
//! own and to fetch nothing.
//!
//! | file | content |
//! |---|---|
//! | `prepare` | reading the folder; [`Page`] |
//! | `change` | the change that searchers see: first results with the chosen model and with the baseline |
//! | `examples` | three queries before and after, and the rule that picks them |
//! | `paired` | differences between models query by query, with intervals and p-values |
//! | `openable` | the choice of queries that can be opened |
//! | `shown` | the documents that are shown, shortened |
//! | `explained` | explanations of results |
//! | `html/` | one file per section of the page; `page.css`, `page.js` |

mod change;
mod examples;
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

pub use change::SearchChange;
pub use examples::{Example, ExampleKind};
pub use explained::Explained;
pub use html::html;
pub use openable::OpenQuery;
pub use paired::{ModelPairs, Paired};
pub use prepare::{Page, prepare};
pub use shown::ShownDocument;

use crate::dataset::Dataset;
use crate::files;

/// Content of a report beyond the figures.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportParams {
    /// Baseline that the page starts with; readers can pick another. By default the BM25 model, or the worst model if
    /// there is none.
    pub baseline: Option<String>,
    /// Largest number of queries whose results can be opened.
    pub open: usize,
    /// Largest number of these queries whose first results are explained.
    pub explain: usize,
}

impl Default for ReportParams {
    fn default() -> Self {
        Self { baseline: None, open: 200, explain: 16 }
    }
}

/// Comparison to report.
#[derive(Clone, Copy)]
pub struct ReportSource<'a> {
    /// Folder of the comparison.
    pub folder: &'a Path,
    /// Dataset of the comparison; none for rankers over folds of feature lists.
    pub dataset: Option<&'a Dataset>,
}

/// Writes the report of a comparison. Returns the size of the file.
pub fn write(
    source: ReportSource<'_>,
    out: &Path,
    params: &ReportParams,
    progress: &dyn Progress,
) -> Result<u64> {
    files::check_writable(out)?;
    let page = html(&prepare(source.folder, source.dataset, params, progress)?);
    files::write_atomically(out, |file| {
        file.write_all(page.as_bytes()).map_err(|e| Error::io(files::name_of(out), e))
    })?;
    Ok(page.len() as u64)
}
