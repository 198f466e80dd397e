//! Checks data files and reports problems in plain words, with line numbers and fixes.
//!
//! A strict parser stops at the first line that it cannot read. The doctor continues: such a line is one of its
//! findings. Each kind of file has its own checks, in its own module:
//!
//! | module | checks |
//! |---|---|
//! | `encoding` | any text: UTF-8, mojibake, byte order mark, line ends |
//! | `grades` | the labels of judged documents: gaps, nothing relevant |
//! | `letor` | LETOR / SVMlight feature lists |
//! | `leak` | labels that the order of a LETOR file gives away |
//! | `columns` | features that are constant, or constant within every query |
//! | `qrels` | TREC judgments |
//! | `run` | TREC runs |
//! | `dataset` | a dataset folder: damage, empty texts |
//! | `held_out` | judged queries of a dataset: test data in training |
//! | `test_queries` | test queries of a dataset: their number, and what training knows of their answers |
//! | `memory` | memory that training the matching models on a dataset takes |
//! | `together` | files given together: shared queries, runs without judgments |

mod attributes;
mod columns;
mod dataset;
mod encoding;
mod finding;
mod grades;
mod held_out;
mod kind;
mod leak;
mod letor;
mod letor_memory;
mod memory;
mod qrels;
mod run;
mod test_queries;
mod together;

use std::collections::HashMap;
use std::path::Path;

pub use finding::{Finding, Report, Severity};
pub use kind::FileKind;

use matchrank_core::progress::Progress;

use crate::{Error, Result, files};

/// Map with a fast hash that is the same in every run.
type Map<K, V> = HashMap<K, V, foldhash::fast::FixedState>;

/// Examines files one by one, and then together. Returns one report per file, and a last one on all files together if
/// there is a finding. The kind is recognised by the content unless given.
///
/// Returns an error if a file cannot be read, or is of no known kind.
pub fn examine(
    paths: &[impl AsRef<Path>],
    kind: Option<FileKind>,
    progress: &dyn Progress,
) -> Result<Vec<Report>> {
    progress.begin("examining", Some(paths.len() as u64), "files");
    let mut reports = Vec::new();
    let mut examined = Vec::new();
    for path in paths {
        let path = path.as_ref();
        if path.is_dir() {
            reports.push(dataset::examine(path)?);
            progress.advance(1);
            continue;
        }
        let file = files::name_of(path);
        let bytes = files::read_all(path)?;
        if let Some(finding) = encoding::not_text(&bytes) {
            reports.push(Report {
                file,
                kind: None,
                summary: "cannot be examined".into(),
                findings: vec![finding],
            });
            continue;
        }
        let kind = kind.or_else(|| FileKind::recognise(&bytes)).ok_or_else(|| {
            let message = "the first lines look neither like LETOR (`0 qid:7 1:0.5`) nor like qrels \
                           (`query 0 document grade`) nor like a run (`query Q0 document rank score tag`); \
                           give the kind of the file explicitly; tables of clicks, documents and queries are read by \
                           `ingest`, and `doctor` checks the dataset that it makes";
            Error::format(&file, message)
        })?;
        let (mut report, queries) = match kind {
            FileKind::Letor => letor::examine(file, &bytes),
            FileKind::Qrels => qrels::examine(file, &bytes),
            FileKind::Run => run::examine(file, &bytes),
            FileKind::Dataset => {
                return Err(Error::format(&file, "is a file; a dataset is a folder made by `ingest`"));
            }
        };
        report.findings.extend(encoding::findings(&bytes));
        report.findings.sort_by_key(|finding| finding.severity);
        progress.advance(1);
        examined.push((kind, report.file.clone(), queries));
        reports.push(report);
    }
    reports.extend(together::examine(&examined));
    Ok(reports)
}

/// Returns the lines of a file with their numbers, up to the line feed (a carriage return stays).
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let text = bytes.strip_prefix(encoding::BYTE_ORDER_MARK).unwrap_or(bytes);
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    (1..).zip(text.split(|b| *b == b'\n'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Report, Severity, encoding, letor, qrels, run};

    fn all(bytes: &[u8]) -> [Report; 3] {
        encoding::findings(bytes);
        encoding::not_text(bytes);
        [letor::examine, qrels::examine, run::examine].map(|examine| examine("a".into(), bytes).0)
    }

    /// Returns true if the examination found nothing that the strict parser would reject.
    fn sound(report: &Report) -> bool {
        report.findings.iter().all(|finding| finding.severity == Severity::Info)
    }

    #[test]
    fn columns_and_grades_are_those_of_the_strict_parsers() {
        for text in ["q 0 d\u{1}x 1\n", "q 0 d 1e39\n", "q\u{b}0\u{b}d\u{b}1\n", "q 0 d 1\n"] {
            let parsed = matchrank_core::data::qrels::parse("a", text.as_bytes());
            let (report, _) = qrels::examine("a".into(), text.as_bytes());
            assert_eq!(sound(&report), parsed.is_ok(), "{text:?}");
        }
        let (report, _) = run::examine("a".into(), b"q Q0 d\x01x 1 0.5 t\n");
        assert!(!sound(&report));
    }

    #[test]
    fn a_file_of_nothing_but_separators_or_a_mark_is_empty() {
        for bytes in [&b""[..], b" \r\n", b"\0\0\x01\n", encoding::BYTE_ORDER_MARK] {
            assert_eq!(encoding::not_text(bytes).unwrap().code, "empty-file");
        }
        assert_eq!(encoding::not_text(b"\0q"), None);
        assert_eq!(letor::examine("a".into(), b"# no row\n").0.findings[0].code, "empty-file");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            all(&bytes);
        }

        #[test]
        fn almost_files_never_panic(text in "([0-9.:# \t\r\nQqid=e+-]|qid:[0-9]| [0-9]:[0-9.e-]{1,3}|1 0 A [0-9]\n|1 Q0 A 1 [0-9] t\n){0,60}") {
            for report in all(text.as_bytes()) {
                prop_assert!(report.findings.iter().all(|finding| finding.count > 0 && !finding.message.is_empty()));
            }
        }
    }
}
