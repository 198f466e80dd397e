//! Protocol of the comparison, so that readers can check and reproduce it.

use maud::{Markup, html};

use super::numbers::{counted, day, measure};
use super::table::test;
use crate::dataset::Split;
use crate::report::Page;
use crate::validation::Ranked;

/// Protocol, for the appendix.
pub(super) fn protocol(page: &Page) -> Markup {
    let split = &page.comparison.split;
    let ranked = match split.ranked {
        Ranked::Judged => "For each query its judged documents are ranked, the papers' protocol.",
        Ranked::All => {
            "For each query the whole collection is ranked; documents that nobody judged count as irrelevant."
        }
    };
    html! {
            ol.steps {
                @match &page.split {
                    Some(divided) => {
                        li { (in_words(divided)) }
                        li { "The models learned from the training data. Iterations, weights, parameters and the rankers of stacks come "
                            "from " (counted(split.validation_queries, "validation query")) ", chosen by "
                            (measure(&split.tuned_by)) "."
                            @if let Some(n) = split.folds {
                                " These are the training and validation queries of the dataset, dealt to " (counted(n, "fold")) ": "
                                "each was ranked by models that had not seen it. The chosen models were then trained on all of them."
                            }
                            @if let Some(name) = &split.chosen_on {
                                " This was done on the dataset " (name) "; the chosen models were then trained again on this dataset, "
                                "which has the same documents and the same test."
                            } }
                    }
                    None => li { "Each fold was tested once, by rankers trained on all other folds except the one before it. "
                        "That fold chose epochs, lambdas and numbers of trees by " (measure(&split.tuned_by)) ". "
                        @if split.refit { "With these parameters, rankers were trained again with that fold included. " }
                        "Means are over folds; intervals and tests are over queries." }
                }
                li { "After all choices were made, every model ranked " (counted(split.test_queries, "test query"))
                    ", once: test was measured once. " (ranked) }
                li { "The gain of a grade r is 2" sup { "r" } " − 1 unless a measure says otherwise. Queries without a relevant document are left out of the "
                    "means; equal scores are ordered by a hash of the ids, so the order of a file never helps a model." }
                li { "Every pair of models was compared by the " (test(&split.test)) " over queries; p-values are "
                    "corrected for the number of pairs (Holm), and a difference is significant below " (split.level) ". "
                    "Intervals are the middle 95 % of means over resampled queries." }
            }
            @for model in &page.comparison.models {
                @for note in &model.notes { p.note { (model.name) ": " (note) } }
            }
            dl.facts {
                dt { "matchrank" } dd { (page.comparison.version) }
                @if let Some(date) = &page.comparison.made_on { dt { "compared on" } dd { time datetime=(date) { (day(date)) } } }
                dt { "dataset" } dd { (page.comparison.data.name) }
                dt { "content hash (BLAKE3)" } dd.hash { (page.comparison.data.content_hash) }
                dt { "seed" } dd { (split.seed) }
                dt { "threads" } dd { (split.threads) }
                dt { "measures" } dd { (split.measures.iter().map(|name| measure(name)).collect::<Vec<_>>().join(", ")) }
            }
            p.note { "The same data, version and seed give the same figures for any number of threads." }
    }
}

fn in_words(split: &Split) -> String {
    let share = |value: f64| format!("{} %", super::numbers::short(100.0 * value));
    match split {
        Split::None => {
            "Validation and test judgments came with the data; they are not training data.".to_owned()
        }
        Split::Query { validation, test, .. } => format!(
            "Whole queries were held out, chosen by a hash of their text: {} for validation, {} for test. Their clicks \
             are in no training data.",
            share(*validation),
            share(*test)
        ),
        Split::Time { validation, test, .. } => format!(
            "The last clicks were held out: {} for test, and {} before them for validation. They are in no training data.",
            share(*test),
            share(*validation)
        ),
    }
}
