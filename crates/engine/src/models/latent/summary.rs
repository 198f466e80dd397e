//! The summary of a training that `train` prints for latent models.

use super::describe::{COLLAPSED, EMPTY, base_facts};
use super::{Inputs, IterationRow, LatentModel, LatentReport};
use crate::dataset::Dataset;
use crate::description::{Description, Remark};
use crate::features::FeatureStatistics;
use crate::preferences::RuleCheck;
use crate::prose::{figure, human};

pub(super) fn summary(model: &LatentModel, dataset: &Dataset) -> Description {
    let report = &model.report;
    let mut description = Description::default();
    facts(model, &mut description);
    description.remarks.extend(iterations(report));
    description.remarks.extend(epochs(report));
    let remarks =
        [report.features.as_ref().and_then(|features| counting(features, dataset)), warning(report)];
    description.remarks.extend(remarks.into_iter().flatten().map(Remark::Text));
    let details = &mut description.details;
    details.set("params", &model.params);
    if let Inputs::Features(features) = &model.inputs {
        details.set("features", features.params());
    }
    details.set("report", report);
    let iterations = report.iterations.iter().map(|row| row.seconds);
    let seconds: Vec<f64> = iterations.chain(report.epochs.iter().map(|epoch| epoch.seconds)).collect();
    details.set("iteration_seconds", &seconds);
    details.set("collapsed", &report.kept().is_some_and(has_collapsed));
    description
}

fn facts(model: &LatentModel, description: &mut Description) {
    description.params(&model.params);
    // Settings of the base are told as they were chosen.
    description.facts.retain(|(name, _)| !["base", "k1", "b", "share"].contains(&name.as_str()));
    description.facts.extend(base_facts(model));
    if model.params.0["d"].as_u64().is_some_and(|d| d > model.model.d() as u64) {
        description.fact("latent dimensions found", human(model.model.d() as u64));
    }
    if let Inputs::Features(features) = &model.inputs {
        if features.use_clicks() {
            description.params(features.params());
        } else {
            description.params(&features.params().words());
        }
        description.fact("words", human(features.n_words() as u64));
    }
    let report = &model.report;
    if let Some(statistics) = &report.features {
        let FeatureStatistics { n_x, n_y, n_words, d_x, d_y, c_x, c_y, n_pairs, .. } = statistics;
        description.fact("queries with clicks", human(*n_x as u64));
        description.fact("documents, with and without clicks", human(*n_y as u64));
        let made_of = |d: usize, of: &str| match d - n_words {
            0 => format!("{}: words", human(d as u64)),
            n => format!("{}: words and {} {of}", human(d as u64), human(n as u64)),
        };
        description.fact("features of queries", made_of(*d_x, "documents"));
        description.fact("features of documents", made_of(*d_y, "queries"));
        let nonzero = format!("{}, {}", figure(*c_x, 1), figure(*c_y, 1));
        description.fact("nonzero per query and document", nonzero);
        description.fact("pairs", human(*n_pairs as u64));
    }
    if let (Some(first), Some(last)) = (report.singular_values.first(), report.singular_values.last()) {
        description.fact("singular values", format!("{first:.3e} to {last:.3e}"));
    }
    if let (Some(residual), Some(steps)) = (report.residual, report.steps) {
        description.fact("residual", format!("{residual:.1e} after {steps} steps"));
    }
    if let Some(rules) = &report.rules {
        description.facts.extend(rule_check(rules));
    }
    let why = |validation: Option<f64>| if validation.is_some() { "best on validation" } else { "the last" };
    if let Some(best) = report.best.filter(|_| !report.epochs.is_empty()) {
        description.fact("kept iteration", format!("{best} ({})", why(report.validation)));
    }
    if let Some(kept) = report.kept() {
        let (x, y) = (100.0 * kept.report.density_x, 100.0 * kept.report.density_y);
        description.fact("density of both sides", format!("{x:.1} %, {y:.1} %"));
        description.fact("kept iteration", format!("{} ({})", kept.report.number, why(kept.validation)));
    }
    if let Some(ndcg) = report.validation {
        description.fact("validation NDCG@10", format!("{ndcg:.4}"));
    }
}

/// Explains why the sizes are not those that ingestion counted.
fn counting(features: &FeatureStatistics, dataset: &Dataset) -> Option<String> {
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

fn iterations(report: &LatentReport) -> Option<Remark> {
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
    (!report.iterations.is_empty()).then(|| Remark::table(&header, rows.collect()))
}

fn epochs(report: &LatentReport) -> Option<Remark> {
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
    (!report.epochs.is_empty()).then(|| Remark::table(&header, rows.collect()))
}

/// Facts about preferences from clicks that judgments confirm or contradict.
pub fn rule_check(rules: &RuleCheck) -> Vec<(String, String)> {
    let mut facts = vec![("preferences by Joachims' rules".to_owned(), human(rules.n_pairs))];
    if rules.n_judged > 0 {
        facts.push(("of which both documents judged (validation)".into(), human(rules.n_judged)));
        let (against, equal) = (100.0 * rules.contradicted(), 100.0 * rules.equal());
        facts.push((
            "of these contradicted by the judgments".into(),
            format!("{against:.1} % (and {equal:.1} % of the same grade)"),
        ));
    }
    facts
}

fn has_collapsed(row: &IterationRow) -> bool {
    row.report.collapse_x.is_collapsed() || row.report.collapse_y.is_collapsed()
}

fn warning(report: &LatentReport) -> Option<String> {
    if report.kept().is_some_and(|row| row.report.density_x == 0.0 || row.report.density_y == 0.0) {
        return Some(EMPTY.to_owned());
    }
    if report.kept().is_some_and(has_collapsed) {
        return Some(COLLAPSED.to_owned());
    }
    let first = report.iterations.iter().find(|row| has_collapsed(row))?;
    Some(format!(
        "WARNING: training collapsed in iteration {}: all rows point in nearly the same direction, so every query \
         would rank documents in nearly the same order. Iteration {} was kept. Centering prevents it (center=true).",
        first.report.number,
        report.best.unwrap_or_default()
    ))
}
