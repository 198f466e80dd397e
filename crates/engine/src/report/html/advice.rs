//! Advice of the comparison, and how the model was chosen.

use maud::{Markup, html};

use super::numbers::{CONFIDENCE, counted, measure, rounded, sentence, signed};
use crate::doctor::Severity;
use crate::report::Page;

pub(super) fn section(page: &Page) -> Markup {
    let advice = page.comparison.advice();
    let notes = page.comparison.chosen.iter().flat_map(|choice| choice.notes());
    let lines: Vec<String> = advice.into_iter().chain(notes).map(|line| sentence(&line)).collect();
    html! {
        section #advice aria-labelledby="advice-title" {
            h2 #advice-title { "Advice" }
            @if !lines.is_empty() { ul.advice { @for line in lines { li { (line) } } } }
            p { (chosen(page)) }
            @if let Some(warnings) = warnings(page) { p { (warnings) " Details are in the " a href="#data" { "appendix" } "." } }
        }
    }
}

/// Describes how the model was chosen, and what it reaches on the test queries.
fn chosen(page: &Page) -> String {
    let split = &page.comparison.split;
    let model = &page.comparison.models[page.chosen];
    let tuned_by = measure(&split.tuned_by);
    let protocol = match page.split {
        Some(_) => format!(
            "All choices were made on {} by {tuned_by}; the test queries were ranked once.",
            counted(split.validation_queries, "validation query")
        ),
        None => format!(
            "Each fold was tested once, by rankers trained on other folds; their parameters were chosen on the fold before it \
             by {tuned_by}."
        ),
    };
    let figure = |figures: &crate::comparison::Figures, name: &str| {
        rounded(figures.get(name).copied().unwrap_or(f64::NAN))
    };
    let validation = figure(&model.validation, &split.tuned_by);
    let mut text = format!(
        "{protocol} The validation queries choose {} ({tuned_by} {validation}), which reaches {} {} on the test queries",
        model.name,
        measure(&split.measures[0]),
        figure(&model.test, &split.measures[0]),
    );
    if page.chosen != page.baseline {
        let pair = page.pairs.get(0, page.chosen, page.baseline);
        text += &format!(", {} over {}", signed(pair.difference), page.comparison.models[page.baseline].name);
        if pair.queries > 1 {
            text += &format!(" ({CONFIDENCE} {} to {})", signed(pair.interval[0]), signed(pair.interval[1]));
        }
    }
    text.push('.');
    if page.comparison.chosen.is_some() {
        text += " A richer model is chosen only if it is better than a simpler one by more than one standard error.";
    }
    text
}

/// States how many errors and warnings `doctor` has on the data.
fn warnings(page: &Page) -> Option<String> {
    let findings = page.findings.iter().flat_map(|report| &report.findings);
    let of = |severity: Severity| findings.clone().filter(|finding| finding.severity == severity).count();
    let counts: Vec<String> = [(Severity::Error, "error"), (Severity::Warning, "warning")]
        .into_iter()
        .map(|(severity, noun)| (of(severity), noun))
        .filter(|(n, _)| *n > 0)
        .map(|(n, noun)| counted(n, noun))
        .collect();
    (!counts.is_empty()).then(|| format!("The doctor found {} in the data.", counts.join(" and ")))
}
