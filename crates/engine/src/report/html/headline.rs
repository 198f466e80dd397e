//! Headline of the page: the best model, its lead, and whether the lead is significant.

use maud::{Markup, html};

use super::numbers::{counted, listed, measure, p, rounded, sentence, signed, thousands};
use crate::comparison::{Choice, Compared};
use crate::evidence::too_few;
use crate::report::Page;
use crate::report::shown::shortened;

/// Largest number of characters of the name of the data.
const NAME: usize = 60;

pub(super) fn section(page: &Page) -> Markup {
    let models = &page.comparison.models;
    let first = measure(&page.comparison.split.measures[0]);
    let best = &models[0];
    html! {
        p.kicker { "Models compared on " strong { (shortened(&page.comparison.data.name, NAME)) } }
        h1 { (title(page)) }
        div.tiles {
            div.tile {
                b { (rounded(figure(page, best))) }
                span { (first) " of " strong { (best.name) } @if let Some([low, high]) = interval(page, best) {
                    ", 95 % interval " (rounded(low)) " to " (rounded(high))
                } }
            }
            @if models.len() > 1 {
                (lead(page, 1, "the next best"))
                @if page.baseline > 1 { (lead(page, page.baseline, "the baseline")) }
            }
            div.tile {
                b { (thousands(page.n_measured() as u64)) }
                span { "test queries, " (page.comparison.split.ranked.describe()) "; measured once" }
            }
        }
        @for paragraph in paragraphs(page) { p.lead { (paragraph) } }
    }
}

fn figure(page: &Page, model: &Compared) -> f64 {
    model.test.get(&page.comparison.split.measures[0]).copied().unwrap_or(f64::NAN)
}

fn interval(page: &Page, model: &Compared) -> Option<[f64; 2]> {
    model.intervals.get(&page.comparison.split.measures[0]).copied()
}

/// Returns true if the first model of the table is significantly better than another, as the comparison found.
fn beats(page: &Page, other: usize) -> bool {
    page.comparison.models[0].beats.contains(&page.comparison.models[other].name)
}

fn title(page: &Page) -> String {
    let models = &page.comparison.models;
    let best = &models[0].name;
    match models.len() {
        1 => format!("{best} is the only model"),
        _ if too_few(page.n_measured()).is_some() => {
            "Too few test queries to tell the models apart".to_owned()
        }
        _ if page.baseline == 0 && models.iter().enumerate().skip(1).all(|(i, _)| beats(page, i)) => {
            format!("No model comes near the baseline {best}")
        }
        _ if page.baseline == 0 => format!("No model beats the baseline {best}"),
        _ if beats(page, 1) => format!("{best} is the best model"),
        _ if beats(page, page.baseline) => {
            format!("{best} is ahead, though its lead over {} may be chance", models[1].name)
        }
        _ => format!("No clear winner: the lead of {best} may be chance"),
    }
}

/// Shows the lead of the best model over another.
fn lead(page: &Page, other: usize, role: &str) -> Markup {
    let pair = page.pairs.get(0, 0, other);
    let real = beats(page, other);
    html! {
        div class={ "tile " @if real { "real" } @else { "chance" } } {
            b { (signed(pair.difference)) }
            span {
                "over " strong { (page.comparison.models[other].name) } ", " (role)
                ": " @if real { "significant" } @else { "not significant" }
                " (" (p(pair.p)) ")"
                @if pair.queries > 1 { ", 95 % interval " (signed(pair.interval[0])) " to " (signed(pair.interval[1])) }
            }
        }
    }
}

fn paragraphs(page: &Page) -> Vec<String> {
    let split = &page.comparison.split;
    let models = &page.comparison.models;
    let mut paragraphs = Vec::new();
    let near: Vec<&str> = models
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(i, _)| !beats(page, *i))
        .map(|(_, model)| model.name.as_str())
        .collect();
    if models.len() > 1 {
        let best = &models[0].name;
        paragraphs.push(match near.len() {
            0 => format!("{best} is significantly better than every other model."),
            _ => format!(
                "These test queries cannot distinguish {best} from {}; {best} is significantly better than {}.",
                listed(&near),
                match models.len() - 1 - near.len() {
                    0 => "no other model".to_owned(),
                    1 => "the other".to_owned(),
                    n => format!("the other {n}"),
                }
            ),
        });
    }
    let tuned_by = measure(&split.tuned_by);
    paragraphs.push(match page.split {
        Some(_) => format!(
            "All choices were made on {} by {tuned_by}; the test queries were ranked once. {}",
            counted(split.validation_queries, "validation query"),
            by_validation(page)
        ),
        None => format!(
            "Each fold was tested once, by rankers trained on other folds; their parameters were chosen on the fold \
             before it by {tuned_by}. {}",
            by_validation(page)
        ),
    });
    paragraphs
}

/// Describes the model that the validation queries choose.
fn by_validation(page: &Page) -> String {
    match &page.comparison.chosen {
        Some(choice) => chosen(page, choice),
        None => best_by_validation(page),
    }
}

/// Describes the choice of a comparison, with its lead over the baseline.
fn chosen(page: &Page, choice: &Choice) -> String {
    let label = measure(&page.comparison.split.tuned_by);
    let model = page.comparison.models.iter().find(|model| model.name == choice.name);
    let reaches = model.map_or(f64::NAN, |model| figure(page, model));
    let mut text = format!(
        "The validation queries choose {} ({label} {}), which reaches {} on the test queries",
        choice.name,
        rounded(choice.validation),
        rounded(reaches)
    );
    if let Some(lead) = &choice.lead {
        let [low, high] = lead.interval;
        text += &format!(
            ", {} over {} (95 % interval {} to {})",
            signed(lead.difference),
            lead.over,
            signed(low),
            signed(high)
        );
    }
    text +=
        ". A richer model is chosen only if it is better than a simpler one by more than one standard error.";
    for note in choice.notes() {
        text += &format!(" {}", sentence(&note));
    }
    text
}

/// Describes the model with the best validation figure, where the comparison names no choice.
fn best_by_validation(page: &Page) -> String {
    let models = &page.comparison.models;
    let known = models.iter().enumerate().filter_map(|(i, model)| {
        Some((i, *model.validation.get(&page.comparison.split.tuned_by)?))
            .filter(|(_, value)| value.is_finite())
    });
    // Among equally good models, the one that is higher in the table.
    let Some((chosen, value)) = known.reduce(|best, other| if other.1 > best.1 { other } else { best })
    else {
        return String::new();
    };
    let (name, label) = (&models[chosen].name, measure(&page.comparison.split.tuned_by));
    match chosen {
        0 if models.len() == 1 => format!("On the validation queries its {label} is {}.", rounded(value)),
        0 => {
            format!("The validation queries alone would choose {name} as well ({label} {}).", rounded(value))
        }
        _ => format!(
            "The validation queries alone would choose {name} ({label} {}), which reaches {} on the test queries.",
            rounded(value),
            rounded(figure(page, &models[chosen]))
        ),
    }
}
