//! What is said of how training went: iterations, epochs, preferences, collapse.

use matchrank_engine::dataset::Dataset;
use matchrank_engine::features::FeatureStatistics;
use matchrank_engine::matching::{BltmReport, IterationRow, Report};
use matchrank_engine::training::preference::RuleCheck;

use crate::terminal::{Format, human, table};

/// The iterations that were measured, and the last.
pub(super) fn bltm_iterations(report: &BltmReport) -> Option<String> {
    let header = ["iteration", "log-likelihood of a word", "validation NDCG@10", "seconds so far"];
    let mut seconds = 0.0;
    let mut rows = Vec::new();
    for (place, iteration) in report.iterations.iter().enumerate() {
        seconds += iteration.seconds;
        if iteration.validation.is_some() || place % 5 == 4 || place + 1 == report.iterations.len() {
            let mark = if Some(iteration.number) == report.best { " *" } else { "" };
            rows.push(vec![
                format!("{}{mark}", iteration.number),
                format!("{:.4}", iteration.log_likelihood),
                iteration.validation.map_or(String::new(), |ndcg| format!("{ndcg:.4}")),
                format!("{seconds:.2}"),
            ]);
        }
    }
    (!rows.is_empty()).then(|| table(&header, rows, Format::Table))
}

/// Why the sizes are not those that `ingest` printed.
pub(super) fn counting(features: &FeatureStatistics, dataset: &Dataset) -> Option<String> {
    let s = &dataset.manifest.statistics;
    let FeatureStatistics { n_x, n_y, d_x, d_y, .. } = *features;
    let sizes = [("n_x", s.n_x, n_x), ("n_y", s.n_y, n_y), ("d_x", s.d_x, d_x), ("d_y", s.d_y, d_y)];
    let other: Vec<String> = sizes
        .iter()
        .filter(|(_, counted, here)| *counted != *here as u64)
        .map(|(name, counted, _)| format!("{name} = {}", human(*counted)))
        .collect();
    let same_text = if s.n_x == n_x as u64 { "" } else { " Queries of the same text are one here." };
    (!other.is_empty()).then(|| {
        format!(
            "`ingest` counted {}: only documents and queries with training clicks. A model has a feature for \
             every document and query of the dataset; those without training clicks, such as held-out queries, stay \
             without a row.{same_text}",
            other.join(", ")
        )
    })
}

pub(super) fn iterations(report: &Report) -> Option<String> {
    let header = [
        "iteration",
        "objective",
        "validation NDCG@10",
        "density x",
        "density y",
        "length of mean row",
        "effective rank",
        "in one direction",
        "seconds",
    ];
    let rows = report.iterations.iter().map(|row| {
        let r = &row.report;
        let mark = if Some(r.number) == report.best { " *" } else { "" };
        vec![
            format!("{}{mark}", r.number),
            format!("{:.6}", r.objective),
            row.validation.map_or(String::new(), |ndcg| format!("{ndcg:.4}")),
            format!("{:.1} %", 100.0 * r.density_x),
            format!("{:.1} %", 100.0 * r.density_y),
            format!("{:.3}", r.collapse_y.mean_row),
            format!("{:.1}", r.collapse_y.effective_rank),
            format!("{:.0} %", 100.0 * r.collapse_y.aligned),
            format!("{:.2}", row.seconds),
        ]
    });
    (!report.iterations.is_empty()).then(|| table(&header, rows.collect(), Format::Table))
}

/// What judgments say about preferences from clicks.
pub(crate) fn rule_check(rules: &RuleCheck) -> Vec<(String, String)> {
    let mut rows = vec![("preferences by Joachims' rules".to_owned(), human(rules.n_pairs))];
    if rules.n_judged > 0 {
        rows.push(("of which both documents judged (validation)".into(), human(rules.n_judged)));
        let (against, equal) = (100.0 * rules.contradicted(), 100.0 * rules.equal());
        rows.push((
            "of these contradicted by the judgments".into(),
            format!("{against:.1} % (and {equal:.1} % of the same grade)"),
        ));
    }
    rows
}

pub(super) fn epochs(report: &Report) -> Option<String> {
    let within = report.epochs.iter().any(|epoch| epoch.violations.is_some());
    let mut header = vec!["iteration", "loss", "within the margin", "validation NDCG@10", "seconds"];
    if !within {
        header.remove(2);
    }
    let rows = report.epochs.iter().map(|epoch| {
        let mark = if Some(epoch.number) == report.best { " *" } else { "" };
        let mut row = vec![format!("{}{mark}", epoch.number), format!("{:.5}", epoch.loss)];
        row.extend(epoch.violations.map(|share| format!("{:.1} %", 100.0 * share)));
        row.push(epoch.validation.map_or(String::new(), |ndcg| format!("{ndcg:.4}")));
        row.push(format!("{:.2}", epoch.seconds));
        row
    });
    (!report.epochs.is_empty()).then(|| table(&header, rows.collect(), Format::Table))
}

pub(super) fn is_collapsed(report: &Report) -> bool {
    report.kept().is_some_and(has_collapsed)
}

fn has_collapsed(row: &IterationRow) -> bool {
    row.report.collapse_x.is_collapsed() || row.report.collapse_y.is_collapsed()
}

/// What a collapse means, for someone who has never heard of it.
pub(crate) const COLLAPSED: &str = "\
WARNING: the model has collapsed: its rows point in one direction, so documents come in nearly the same order, \
whatever the query. Centering prevents it (--set center=true); if it is on, fewer iterations \
(--set iterations=1) help.";

/// What a model without rows means.
pub(crate) const EMPTY: &str = "\
WARNING: the model is empty: every row is zero, so it scores nothing. The thresholds leave nothing (lower beta and \
gamma, or use --set threshold=relative), or there are too few queries to learn from.";

pub(super) fn warning(report: &Report) -> Option<String> {
    if report.kept().is_some_and(|row| row.report.density_x == 0.0 || row.report.density_y == 0.0) {
        return Some(EMPTY.to_owned());
    }
    if is_collapsed(report) {
        return Some(COLLAPSED.to_owned());
    }
    let first = report.iterations.iter().find(|row| has_collapsed(row))?;
    Some(format!(
        "WARNING: training collapsed in iteration {}: the rows came to point in one direction, so documents would \
         come in nearly the same order, whatever the query. Iteration {} was kept. Centering prevents it \
         (--set center=true).",
        first.report.number,
        report.best.unwrap_or_default()
    ))
}
