//! A first look at a trained model: what `explain`, `related` and `inspect` say of it, in a few lines each.

use anyhow::Context;
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::models::latent::LatentModel;
use matchrank_engine::models::{MatchingModel, Related, RelatedQuery, bind, find_part};
use matchrank_engine::scoring::Explanation;
use serde::Serialize;
use serde_json::Value;

use crate::commands::{explain, related};
use crate::terminal::Format;

/// Parts of an explanation and related words that are shown.
const SHOWN: usize = 5;

#[derive(Serialize)]
pub(super) struct Look {
    model: &'static str,
    /// The test query with the most training clicks.
    pub(super) query: String,
    /// The best document for it by this model.
    pub(super) document: String,
    explanation: Explanation,
    /// The first word of the query that the model knows.
    pub(super) word: String,
    related: Value,
    #[serde(skip)]
    related_text: String,
    /// Two sentences on what is inside the model.
    inspection: String,
}

impl Look {
    pub(super) fn new(
        model: &dyn MatchingModel,
        dataset: &Dataset,
        query: &str,
        document: &str,
    ) -> anyhow::Result<Self> {
        let latent: &LatentModel = find_part(model).context("a latent model is looked at")?;
        let row = explain::row_of(dataset, document)?;
        let matcher = bind(model, dataset, Some(std::slice::from_ref(&row)), &Silent)?;
        let mut explanation = matcher.explain(query, 0)?;
        explain::shorten(&mut explanation, SHOWN);
        let (word, related) = first_related(model, query).unwrap_or_default();
        Ok(Self {
            model: model.kind(),
            query: query.to_owned(),
            document: document.to_owned(),
            explanation,
            word,
            related: related.as_ref().map_or(Value::Array(Vec::new()), related::words_of),
            related_text: related.map_or(String::new(), |related| related::text(&related, Format::Table)),
            inspection: latent.in_short()?,
        })
    }

    pub(super) fn text(&self) -> String {
        let Self { model, query, document, explanation, word, related_text, inspection, .. } = self;
        format!(
            "Why {document} is the best document for '{query}' (explain):\n{}\n\n\
             Document words nearest to '{word}' in the latent space (related):\n{related_text}\n\n\
             Inside the {model} model (inspect):\n{inspection}",
            explain::text(model, explanation, SHOWN)
        )
    }
}

/// The first word of a query that is near to any document word.
fn first_related(model: &dyn MatchingModel, query: &str) -> Option<(String, Option<Related>)> {
    let near = |words: &str| {
        let related = model.related(&RelatedQuery { words, top: SHOWN, min_documents: 3, is_reverse: false });
        related?.ok().filter(|related| !related.words.is_empty())
    };
    query.split_whitespace().find_map(|word| Some((word.to_owned(), Some(near(word)?))))
}
