//! Explanations as flat lists: what adds to a score, and which words of the document do.

use std::collections::{BTreeMap, HashMap};

use matchrank_engine::scoring::{Explanation, Why};
use serde::Serialize;
use utoipa::ToSchema;

/// A named part of a score.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct ScorePart {
    /// A word, a pair of features, a model, a count, an attribute, or a path over clicks.
    pub(crate) name: String,
    /// Contribution to the score. Those of a random walk are probabilities of its paths and do not sum to the score.
    pub(crate) adds: f64,
}

/// Returns the parts of a score, the largest first, positive or negative.
pub(crate) fn score_parts(explanation: &Explanation) -> Vec<ScorePart> {
    let part = |name: String, adds: f64| ScorePart { name, adds };
    let mut parts: Vec<ScorePart> = match &explanation.why {
        Why::Terms { terms } => {
            terms.iter().map(|term| part(term.text.clone(), term.contribution.score)).collect()
        }
        Why::Expanded { words, .. } => {
            words.iter().map(|word| part(word.term.text.clone(), word.term.contribution.score)).collect()
        }
        Why::Pairs { pairs, others } => {
            let name = |query: &str, document: &str| format!("{query} × {document}");
            let of_pair = |pair: &matchrank_engine::scoring::Pair| {
                part(name(&pair.query_feature, &pair.document_feature), pair.score.into())
            };
            let rest = (*others != 0.0).then(|| part("all other pairs".into(), *others));
            pairs.iter().map(of_pair).chain(rest).collect()
        }
        Why::Words { words, .. } => {
            words.iter().map(|word| part(word.word.clone(), word.score.into())).collect()
        }
        Why::Paths { paths, .. } => {
            let name = |over: &[String]| if over.is_empty() { "a click".into() } else { over.join(" > ") };
            paths.iter().map(|path| part(name(&path.over), path.probability)).collect()
        }
        Why::Parts { parts } => parts.iter().map(|of| part(of.model.clone(), of.contribution)).collect(),
        Why::Stacked { base, parts, counts, attributes, .. } => {
            let models = parts.iter().map(|of| part(of.model.clone(), of.adds));
            let counts = counts.iter().map(|count| part(count.count.to_owned(), count.adds));
            let attributes = attributes.iter().map(|of| part(of.attribute.clone(), of.adds));
            let base = std::iter::once(part("mean of the candidates".into(), *base));
            base.chain(models).chain(counts).chain(attributes).collect()
        }
    };
    parts.retain(|part| part.adds != 0.0);
    parts.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()));
    parts
}

/// A part of the scores of two documents.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct PartDifference {
    /// Name of the part.
    pub(crate) name: String,
    /// What it adds to the score of the document.
    pub(crate) document: f64,
    /// What it adds to the score of the other.
    pub(crate) against: f64,
    /// The first less the second.
    pub(crate) difference: f64,
}

/// Returns what makes the scores of two documents differ, the largest difference first.
pub(crate) fn differences(document: &[ScorePart], against: &[ScorePart]) -> Vec<PartDifference> {
    let mut by_name: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for (side, parts) in [document, against].into_iter().enumerate() {
        for part in parts {
            by_name.entry(&part.name).or_default()[side] += part.adds;
        }
    }
    let mut all: Vec<PartDifference> = by_name
        .into_iter()
        .map(|(name, [document, against])| PartDifference {
            name: name.to_owned(),
            document,
            against,
            difference: document - against,
        })
        .collect();
    all.retain(|part| part.difference != 0.0);
    all.sort_by(|a, b| b.difference.abs().total_cmp(&a.difference.abs()));
    all
}

/// Returns what each word of the document adds to the score; words as analysed. Click features and ways over clicks are no
/// words. The words of a part of a stack or combination share what the part adds in proportion.
pub(crate) fn word_parts(explanation: &Explanation) -> HashMap<String, f64> {
    let mut words = HashMap::new();
    add_words(explanation, 1.0, &mut words);
    words
}

fn add_words(explanation: &Explanation, weight: f64, words: &mut HashMap<String, f64>) {
    let mut add = |word: &str, adds: f64| {
        if !word.starts_with("query:") {
            *words.entry(word.to_owned()).or_default() += weight * adds;
        }
    };
    match &explanation.why {
        Why::Terms { terms } => terms.iter().for_each(|term| add(&term.text, term.contribution.score)),
        Why::Expanded { words, .. } => {
            words.iter().for_each(|word| add(&word.term.text, word.term.contribution.score))
        }
        Why::Pairs { pairs, .. } => {
            pairs.iter().for_each(|pair| add(&pair.document_feature, pair.score.into()))
        }
        Why::Words { words, .. } => words.iter().for_each(|word| add(&word.word, word.score.into())),
        Why::Paths { .. } => {}
        Why::Parts { parts } => {
            parts.iter().for_each(|part| add_share(&part.explanation, weight * part.contribution, words));
        }
        Why::Stacked { parts, .. } => {
            parts.iter().for_each(|part| add_share(&part.explanation, weight * part.adds, words));
        }
    }
}

/// Divides what a part adds among its words.
fn add_share(explanation: &Explanation, adds: f64, words: &mut HashMap<String, f64>) {
    let own = word_parts(explanation);
    let total: f64 = own.values().map(|adds| adds.abs()).sum();
    if total > 0.0 {
        for (word, share) in own {
            *words.entry(word).or_default() += adds * share / total;
        }
    }
}
