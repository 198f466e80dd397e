//! Why a document has its score, by the model's own formula.

use matchrank_core::matching::bm25::Contribution;
use matchrank_core::message::shortest;
use serde::Serialize;

/// Why a document has its score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The score; none where the model says nothing about the document.
    pub score: Option<f32>,
    /// Parts of the score.
    #[serde(flatten)]
    pub why: Why,
}

/// Parts of a score.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "made_of", rename_all = "snake_case")]
pub enum Why {
    /// BM25: the shared terms, the largest part first. Their sum is the score.
    Terms {
        /// The terms.
        terms: Vec<TermContribution>,
    },
    /// RM3: the words of the query and those added to it, the largest part first. Their sum is the score.
    Expanded {
        /// Documents that words were taken from, the best first.
        feedback: Vec<FeedbackShare>,
        /// The words; those that the document does not have add nothing.
        words: Vec<ExpandedWord>,
    },
    /// A bilinear model: pairs of a query feature and a document feature, the largest part (positive or
    /// negative) first. Their sum and `others` together are the score.
    Pairs {
        /// The pairs.
        pairs: Vec<Pair>,
        /// Sum over the pairs of weaker features, where there are too many to list.
        others: f64,
    },
    /// Bilingual topics: the words of the query, what adds most first. Their sum is the score.
    Words {
        /// lambda: share of the document's own words in the smoothed likelihood.
        document: f64,
        /// mu: share of the topics.
        topic: f64,
        /// The words.
        words: Vec<WordLikelihood>,
    },
    /// A random walk: the ways from the document to the query over clicks, the likeliest first.
    Paths {
        /// Probability to stay in a step.
        self_transition: f64,
        /// Number of steps.
        steps: usize,
        /// Ways of one and of three clicks; longer ones are in the score, and not listed.
        paths: Vec<ClickPath>,
    },
    /// A combination: the weighted sum of standardised scores.
    Parts {
        /// The models, those of weight 0 too.
        parts: Vec<Part>,
    },
    /// A ranker over the scores of several models. `base` and what models, counts and attributes add are the score.
    Stacked {
        /// Kind of the ranker.
        ranker: String,
        /// Documents that it ranked for the query.
        candidates: usize,
        /// The mean of its scores of them.
        base: f64,
        /// The models.
        parts: Vec<StackedPart>,
        /// Counts of training clicks that the ranker knows; none where it knows none.
        counts: Vec<StackedCount>,
        /// Attributes of the document that the ranker knows.
        attributes: Vec<StackedAttribute>,
    },
}

/// A document that words were taken from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeedbackShare {
    /// Id of the document.
    pub document: String,
    /// Its share in the relevance model: its score for the original query, divided by the sum of these scores.
    pub share: f64,
}

/// Contribution of a word of an expanded query to a score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExpandedWord {
    /// Occurrences in the original query; 0 for a word that was added.
    pub in_query: f32,
    /// Its probability among the words that were taken from the best documents; 0 for a word of the query alone.
    pub relevance: f64,
    /// Its weight in the expanded query (`query_count`), its count in the document and what it adds.
    #[serde(flatten)]
    pub term: TermContribution,
}

/// Contribution of a pair of features to a score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Feature of the query: a word, or `document:ID` for a document that was clicked.
    pub query_feature: String,
    /// Feature of the document: a word, or `query:TEXT` for a query that led to a click.
    pub document_feature: String,
    /// Value of the query feature.
    pub x: f32,
    /// Weight of the pair in the model.
    pub affinity: f32,
    /// Value of the document feature.
    pub y: f32,
    /// The product of the three.
    pub score: f32,
}

/// Contribution of a query word to a score, by its likelihood.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WordLikelihood {
    /// The word, as analysed.
    pub word: String,
    /// Occurrences in the query.
    pub count: f32,
    /// Its share among the words of the document.
    pub in_document: f32,
    /// Likelihood in a query about the topics of the document.
    pub by_topics: f32,
    /// Its share among the words of the collection.
    pub in_collection: f32,
    /// The topic that adds most to `by_topics`.
    pub topic: Option<usize>,
    /// The likeliest document words of that topic.
    pub topic_words: Vec<String>,
    /// count * ln(1 + (lambda in_document + mu by_topics) / ((1 - lambda - mu) in_collection)).
    pub score: f32,
}

/// A way over clicks from a document to a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClickPath {
    /// Queries and documents on the way, between the two ends: none for a click on the document itself.
    pub over: Vec<String>,
    /// Probability to take this way when every step moves.
    pub probability: f64,
}

/// One model of a combination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// Kind of the model.
    pub model: String,
    /// Its weight.
    pub weight: f32,
    /// Mean of its scores over the collection.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// (score - mean) / deviation; 0 where the deviation is 0.
    pub standardised: f64,
    /// weight * standardised: what it adds.
    pub contribution: f64,
    /// Its own score and why.
    pub explanation: Explanation,
}

/// One model of a stack.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StackedPart {
    /// Name of the model.
    pub model: String,
    /// Its score, less the mean over the candidates, divided by the standard deviation.
    pub standardised: f64,
    /// The place of the document among the candidates by this model, from 1; none without a score.
    pub rank: Option<usize>,
    /// Contribution to the mean score of the candidates: the Shapley values of its features.
    pub adds: f64,
    /// Its own score and why.
    pub explanation: Explanation,
}

/// A count of training clicks that a stack ranks by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StackedCount {
    /// Name of the count.
    pub count: &'static str,
    /// log(1 + the count).
    pub scaled: f32,
    /// Contribution to the mean score of the candidates.
    pub adds: f64,
}

/// An attribute of a document that a stack ranks by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StackedAttribute {
    /// Name of the attribute; that of a date says that the value is an age.
    pub attribute: String,
    /// Value of the document; `None` if it is missing.
    pub value: Option<AttributeValue>,
    /// True if the query contains the value of a category; `None` for other kinds, and without a value.
    pub in_query: Option<bool>,
    /// Contribution to the mean score of the candidates, of all columns of the attribute.
    pub adds: f64,
}

/// Value of an attribute.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AttributeValue {
    /// A number, or an age in days.
    Number(f32),
    /// A category.
    Category(String),
}

impl StackedAttribute {
    /// Describes the value.
    pub fn description(&self) -> String {
        match (&self.value, self.in_query) {
            (None, _) => "missing".into(),
            (Some(AttributeValue::Number(number)), _) => shortest(f64::from(*number)),
            (Some(AttributeValue::Category(name)), Some(true)) => format!("{name}, in the query"),
            (Some(AttributeValue::Category(name)), _) => name.clone(),
        }
    }
}

/// A [`Contribution`] with its term spelled out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TermContribution {
    /// The term.
    #[serde(rename = "token")]
    pub text: String,
    /// Contribution, with its explanation.
    #[serde(flatten)]
    pub contribution: Contribution,
}
