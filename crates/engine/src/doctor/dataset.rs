//! A dataset folder: whole tables, texts that say something, and no test data in training.

use std::path::Path;

use foldhash::{HashMap, HashSet};

use super::finding::{Finding, Report, Severity, listed, whole};
use super::{FileKind, attributes, encoding, held_out, memory, test_queries};
use crate::Result;
use crate::dataset::{Clicks, Dataset, Holdout, LostZeros, Query};
use crate::files;
use crate::preferences::RuleCheck;
use crate::text::{Analyser, LanguageSample, MISMATCH_FIX, mismatch};
use matchrank_core::message::{counted, thousands};

/// Left-out rows above this share of a source are a warning.
const MANY: f64 = 0.05;

pub(super) fn examine(folder: &Path) -> Result<Report> {
    let file = files::name_of(folder);
    let dataset = Dataset::open_unchecked(folder)?;
    let s = &dataset.manifest.statistics;
    let summary = format!(
        "{}, {}, {} in training",
        counted(s.n_queries, "query"),
        counted(s.n_documents, "document"),
        counted(s.n_pairs, "pair")
    );
    let summary = match s.n_negatives {
        0 => summary,
        n => format!("{summary}, {} with grade 0", counted(n, "pair")),
    };
    let damaged = dataset.problems()?.into_iter().map(|problem| {
        whole(
            Severity::Error,
            "damaged-table",
            format!("{} {}", problem.file, problem.message),
            "ingest again, or restore the file",
        )
    });
    let mut findings: Vec<Finding> = damaged.collect();
    if findings.is_empty() {
        let analyser = Analyser::new(&dataset.manifest.analyser)?;
        let queries = dataset.queries()?;
        findings.extend(document_findings(&dataset, &analyser)?);
        findings.extend(query_findings(&queries, &analyser));
        findings.extend(held_out::findings(&dataset, &queries)?);
        findings.extend(test_queries::findings(&dataset)?);
        findings.extend(preferences(&dataset)?);
        findings.extend(attributes::finding(&dataset)?);
        findings.extend(left_out(&dataset));
        findings.extend(dataset.manifest.lost_zeros.iter().map(lost_zeros));
        findings.push(memory::finding(&dataset.manifest.statistics));
    }
    findings.sort_by_key(|finding| finding.severity);
    Ok(Report { file, kind: Some(FileKind::Dataset), summary, findings })
}

fn document_findings(dataset: &Dataset, analyser: &Analyser) -> Result<Vec<Finding>> {
    let (mut empty, mut damaged, mut copies): (Vec<String>, Vec<String>, Vec<String>) = Default::default();
    let mut seen: HashSet<blake3::Hash> = HashSet::default();
    let n_fields = dataset.manifest.fields.len();
    let mut sample = LanguageSample::default();
    dataset.for_each_documents(|documents| {
        for row in 0..documents.len() {
            let mut hasher = blake3::Hasher::new();
            let (mut n_words, mut broken) = (0, false);
            let names = dataset.manifest.fields.iter().map(|(name, _)| name);
            let fields = names.zip((0..n_fields).map(|field| documents.text(row, field)));
            analyser.document(fields.clone(), |_, _| n_words += 1);
            sample.see(fields.clone().map(|(_, text)| text));
            for (_, text) in fields {
                broken |= text.contains('\u{fffd}') || encoding::is_mojibake(text.as_bytes());
                hasher.update(text.as_bytes()).update(&[0]);
            }
            if n_words == 0 {
                empty.push(documents.id(row).to_owned());
            } else if !seen.insert(hasher.finalize()) {
                copies.push(documents.id(row).to_owned());
            }
            if broken {
                damaged.push(documents.id(row).to_owned());
            }
        }
        Ok(())
    })?;
    let n = dataset.manifest.statistics.n_documents;
    let of = |some: &[String]| {
        format!("{} of {} ({})", counted(some.len(), "document"), thousands(n), listed(some))
    };
    let found = [
        some(&empty, Severity::Warning, "empty-text", |d| {
            (
                format!("{} without a word", of(d)),
                "no model can find them by text; check the text columns (option `text`)",
            )
        }),
        some(&damaged, Severity::Warning, "encoding-damage", |d| {
            let message = format!("{} with U+FFFD or letters such as `Ã©`", of(d));
            (message, "convert the original files again with their true encoding")
        }),
        some(&copies, Severity::Info, "duplicate-text", |d| {
            (
                format!("{} with the text of an earlier one", of(d)),
                "right for variants; else keep one of them",
            )
        }),
        language(analyser, &sample, "documents"),
    ];
    Ok(found.into_iter().flatten().collect())
}

fn query_findings(queries: &[Query], analyser: &Analyser) -> Vec<Finding> {
    let mut empty: Vec<String> = Vec::new();
    let mut by_text: HashMap<&str, u32> = HashMap::default();
    let mut sample = LanguageSample::default();
    for query in queries {
        sample.see(std::iter::once(query.text.as_str()));
        let mut n_words = 0;
        analyser.tokens(&query.text, |_| n_words += 1);
        if n_words == 0 {
            empty.push(query.id.clone());
        }
        *by_text.entry(&query.text).or_default() += 1;
    }
    let mut shared: Vec<String> =
        by_text.iter().filter(|(_, n)| **n > 1).map(|(text, _)| format!("'{text}'")).collect();
    shared.sort();
    let found = [
        some(&empty, Severity::Warning, "empty-query", |q| {
            let message = format!("{} without a word ({})", counted(q.len(), "query"), listed(q));
            (message, "only their clicks can match them; are they stop words, or in another script?")
        }),
        some(&shared, Severity::Info, "shared-text", |t| {
            let message = format!(
                "{} belong to more than one query id ({})",
                counted(t.len(), "query text"),
                listed(t)
            );
            (message, "clicks by text went to the first id")
        }),
        language(analyser, &sample, "queries"),
    ];
    found.into_iter().flatten().collect()
}

/// Warns if texts are in other languages than the analyser.
fn language(analyser: &Analyser, sample: &LanguageSample, what: &str) -> Option<Finding> {
    let shares = sample.shares();
    let message = mismatch(analyser.params(), &shares, what)?;
    Some(Finding {
        severity: Severity::Warning,
        code: "language-mismatch",
        message,
        count: shares.n_documents as u64,
        lines: Vec::new(),
        fix: MISMATCH_FIX.into(),
    })
}

/// Preferences by Joachims' rules beside all judgments; nothing is tuned by this.
fn preferences(dataset: &Dataset) -> Result<Option<Finding>> {
    let holdouts = [Holdout::Validation, Holdout::Test];
    let check = RuleCheck::of(dataset, &Clicks::of(dataset)?, &holdouts)?;
    let Some(check) = check.filter(|check| check.n_judged > 0) else { return Ok(None) };
    let RuleCheck { n_pairs, n_judged, n_contradicted, .. } = check;
    let message = format!(
        "of {} preferences for clicked documents (over those passed over above, or next below) {} are between judged \
         documents; the judgments contradict {:.1} % of these, and have {:.1} % at the same grade",
        thousands(n_pairs),
        thousands(n_judged),
        100.0 * check.contradicted(),
        100.0 * check.equal()
    );
    Ok(Some(Finding {
        severity: Severity::Info,
        code: "contradicted-clicks",
        message,
        count: n_contradicted,
        lines: Vec::new(),
        fix: "ssi and sparse-preference learn from them; the setting judged=0 leaves them out".into(),
    }))
}

/// Reports rows that `ingest` left out.
fn left_out(dataset: &Dataset) -> Vec<Finding> {
    let rows = |role: &str| {
        dataset.manifest.sources.iter().filter(|s| s.role.contains(role)).map(|s| s.rows).sum::<u64>()
    };
    let finding = |(reason, &n): (&String, &u64)| {
        let (total, code, fix) = match reason.as_str() {
            r if r.starts_with("judgments of documents") => (
                rows("judgments"),
                "judged-document-absent",
                "add the documents, or measure without these judgments",
            ),
            r if r.starts_with("judgments") => {
                (rows("judgments"), "judged-query-unknown", "add the queries with option `queries`")
            }
            r if r.starts_with("rows") || r.starts_with("events") => (
                rows("clicks") + rows("responses"),
                "rows-left-out",
                "check the files if this is more than expected",
            ),
            _ => (0, "left-out", ""),
        };
        let share =
            if total > 0 { format!(" ({:.1} %)", 100.0 * n as f64 / total as f64) } else { String::new() };
        let many = total > 0 && n as f64 > MANY * total as f64;
        let severity = if many || code.starts_with("judged") { Severity::Warning } else { Severity::Info };
        Finding {
            severity,
            code,
            message: format!("ingest left out {reason}: {}{share}", thousands(n)),
            count: n,
            lines: Vec::new(),
            fix: fix.into(),
        }
    };
    dataset.manifest.left_out.iter().map(finding).collect()
}

fn lost_zeros(lost: &LostZeros) -> Finding {
    Finding {
        severity: Severity::Warning,
        code: "lost-leading-zeros",
        message: lost.sentence(),
        count: lost.rows,
        lines: Vec::new(),
        fix: LostZeros::FIX.into(),
    }
}

/// A finding about some of many, unless there is none.
pub(super) fn some(
    names: &[String],
    severity: Severity,
    code: &'static str,
    words: impl FnOnce(&[String]) -> (String, &'static str),
) -> Option<Finding> {
    (!names.is_empty()).then(|| {
        let (message, fix) = words(names);
        Finding { severity, code, message, count: names.len() as u64, lines: Vec::new(), fix: fix.into() }
    })
}
