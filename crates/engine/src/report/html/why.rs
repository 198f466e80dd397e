//! Why a document is first: explanations as heat maps of word pairs, and as bars.

mod heat;
mod strips;

use foldhash::{HashMap, HashSet};
use maud::{Markup, html};

use self::heat::heat_map;
use self::strips::{Strip, strips};
use super::numbers::{grade, listed, short};
use super::script::shown_query;
use crate::report::shown::shortened;
use crate::report::{Explained, Page};
use crate::scoring::{Explanation, Why};

/// Results that are explained without the script.
const SHOWN: usize = 2;
/// Words, paths and terms that are listed.
const LISTED: usize = 8;
/// Characters of a query or document on a way over clicks.
const STEP: usize = 60;
/// Models of a stack that are explained themselves.
const INNER: usize = 2;

pub(super) fn section(page: &Page) -> Markup {
    if page.explained.is_empty() {
        return html! {};
    }
    let queries: HashSet<usize> = page.explained.iter().map(|explained| explained.opened).collect();
    html! {
        section #why aria-labelledby="why-title" {
            h2 #why-title { "Why a document is first" }
            p { "Scores taken apart by the models' own formulas. In a heat map every cell is what a word of the query and a word of "
                "the document add together; " span.key.plus { "blue" } " adds, " span.key.minus { "orange" } " takes away. "
                "Explained is the first result of every model for " (queries.len()) " of the queries above." }
            div.controls.scripted {
                label { "Model " select #why-model {
                    @for (i, model) in page.comparison.models.iter().enumerate() {
                        @if page.explained.iter().any(|explained| explained.model == i) { option value=(i) { (model.name) } }
                    }
                } }
                label.wide { "Query " select #why-query {} }
            }
            @let shown = shown(page);
            div #why-shown data-first=(shown[0].opened) { @for explained in shown { (article(page, explained)) } }
            @for (i, explained) in page.explained.iter().enumerate() {
                template id={ "why-" (i) } { (article(page, explained)) }
            }
        }
    }
}

/// Relevant documents that the best model has first, else whatever it has first.
fn shown(page: &Page) -> Vec<&Explained> {
    let best = page.explained.iter().map(|explained| explained.model).min().unwrap_or(0);
    let mut own: Vec<&Explained> =
        page.explained.iter().filter(|explained| explained.model == best).collect();
    own.sort_by_key(|explained| grade_of(page, explained).is_none_or(|grade| grade <= 0.0));
    own.truncate(SHOWN);
    own
}

fn grade_of(page: &Page, explained: &Explained) -> Option<f32> {
    page.opened[explained.opened].top[explained.model].first().and_then(|(_, grade)| *grade)
}

fn article(page: &Page, explained: &Explained) -> Markup {
    let query = &page.queries[page.opened[explained.opened].query];
    let document = &page.documents[explained.document];
    html! {
        article.why {
            header {
                p.query { (shown_query(query)) }
                p.document {
                    (grade_chip(grade_of(page, explained))) " " strong { (document.title) } " " span.faint { (document.id) }
                }
            }
            (explanation(&page.comparison.models[explained.model].name, &explained.explanation, 0))
        }
    }
}

/// The grade of a document, by colour and number.
pub(super) fn grade_chip(value: Option<f32>) -> Markup {
    match value {
        Some(value) => {
            let level = value.clamp(0.0, 4.0).ceil() as u32;
            html! { span class={ "grade g" (level) } title="grade" { (grade(value)) } }
        }
        None => html! { span.grade.none title="not judged" { "?" } },
    }
}

fn explanation(model: &str, explanation: &Explanation, depth: usize) -> Markup {
    let Some(score) = explanation.score else {
        return html! { p.note { strong { (model) } " says nothing about this document." } };
    };
    let (total, score) = (f64::from(score), short(f64::from(score)));
    match &explanation.why {
        Why::Terms { terms } => html! {
            p.formula { strong { (model) } ", score " (score) ": the sum over shared words" }
            (strips(terms.iter().take(LISTED).map(|term| Strip {
                name: term.text.clone(),
                value: term.contribution.score,
                detail: format!("idf {}, {}× in the document", short(term.contribution.idf), short(f64::from(term.contribution.count))),
            }), terms.len().saturating_sub(LISTED)))
        },
        Why::Expanded { feedback, words } => html! {
            p.formula { strong { (model) } ", score " (score) ": the sum over words of the query and of its " (feedback.len()) " best documents" }
            (strips(words.iter().take(LISTED).map(|word| Strip {
                name: word.term.text.clone(),
                value: word.term.contribution.score,
                detail: format!(
                    "{}weight {}, {}× in the document",
                    if word.in_query > 0.0 { "" } else { "added, " },
                    short(f64::from(word.term.contribution.query_count)),
                    short(f64::from(word.term.contribution.count)),
                ),
            }), words.len().saturating_sub(LISTED)))
        },
        Why::Pairs { pairs, others } => html! {
            p.formula { strong { (model) } ", score " (score) ": the sum over pairs of words" }
            (heat_map(pairs, *others, total))
        },
        Why::Words { words, .. } => html! {
            p.formula { strong { (model) } ", score " (score) ": how likely the query is, given the document and its topics" }
            (strips(words.iter().take(LISTED).map(|word| Strip {
                name: word.word.clone(),
                value: f64::from(word.score),
                detail: match word.topic {
                    Some(topic) => format!("topic {topic}: {}", word.topic_words.iter().take(5).cloned().collect::<Vec<_>>().join(" ")),
                    None => String::new(),
                },
            }), words.len().saturating_sub(LISTED)))
        },
        Why::Paths { paths, steps, .. } => html! {
            p.formula { strong { (model) } ", score " (score) ": " (steps) " steps over clicks; the likeliest ways from the document to the query" }
            (strips(paths.iter().take(LISTED).map(|path| Strip {
                name: if path.over.is_empty() { "a click on the document".to_owned() } else { path.over.iter().map(|step| shortened(step, STEP)).collect::<Vec<_>>().join(" → ") },
                value: path.probability,
                detail: String::new(),
            }), paths.len().saturating_sub(LISTED)))
        },
        Why::Parts { parts } => html! {
            p.formula { strong { (model) } ", score " (score) ": the weighted sum of standardised scores" }
            (strips(parts.iter().map(|part| Strip {
                name: part.model.clone(),
                value: part.contribution,
                detail: format!("{} × {}", short(f64::from(part.weight)), short(part.standardised)),
            }), 0))
            (inner(parts.iter().map(|part| (part.model.as_str(), &part.explanation, part.contribution)), depth))
        },
        Why::Stacked { ranker, candidates, base, parts, counts, attributes } => html! {
            p.formula { strong { (model) } ", score " (score) ": " (ranker) " over the scores of " (parts.len()) " models for " (candidates)
                " candidates; their mean score, " (short(*base)) ", and what every model adds to it" }
            (strips(parts.iter().map(|part| Strip {
                name: part.model.clone(),
                value: part.adds,
                detail: part.rank.map_or("no score".to_owned(), |rank| format!("its rank {rank}")),
            }).chain(counts.iter().map(|count| Strip {
                name: format!("log(1 + {})", count.count),
                value: count.adds,
                detail: short(f64::from(count.scaled)),
            })).chain(attributes.iter().map(|attribute| Strip {
                name: attribute.attribute.clone(),
                value: attribute.adds,
                detail: attribute.description(),
            })), 0))
            (inner(parts.iter().map(|part| (part.model.as_str(), &part.explanation, part.adds)), depth))
        },
    }
}

/// The models inside a model: those that add most, one level down.
fn inner<'a>(parts: impl Iterator<Item = (&'a str, &'a Explanation, f64)>, depth: usize) -> Markup {
    if depth > 0 {
        return html! {};
    }
    let mut parts: Vec<(&str, &Explanation, f64)> = parts.collect();
    parts.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    let names: Vec<&str> = parts.iter().skip(INNER).map(|part| part.0).collect();
    html! {
        div.inner {
            @for (model, why, _) in parts.iter().take(INNER) { div { (explanation(model, why, depth + 1)) } }
        }
        @if !names.is_empty() { p.note { "Those that add most are taken apart; not " (listed(&names)) "." } }
    }
}

/// For the script: number of the explanation by (query, model).
pub(super) fn places(page: &Page) -> HashMap<(usize, usize), usize> {
    page.explained.iter().enumerate().map(|(i, explained)| ((explained.opened, explained.model), i)).collect()
}
