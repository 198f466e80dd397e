//! A first look at a trained model: what `explain`, `related` and `inspect` say of it, in a few lines each.

use anyhow::Context;
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::matching::{Explanation, LatentModel, MatchingModel, RelatedWord, bind};
use serde::Serialize;

use crate::commands::{explain, inspect, related};
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
    related: Vec<RelatedWord>,
    /// Two sentences on what is inside the model.
    inspection: String,
}

impl Look {
    pub(super) fn new(
        model: &MatchingModel,
        dataset: &Dataset,
        query: &str,
        document: &str,
    ) -> anyhow::Result<Self> {
        let latent = related::latent(model).context("a latent model is looked at")?;
        let row = explain::row_of(dataset, document)?;
        let matcher = bind(model, dataset, Some(std::slice::from_ref(&row)), &Silent)?;
        let mut explanation = matcher.explain(query, 0)?;
        explain::shorten(&mut explanation, SHOWN);
        let (word, related) = first_related(latent, query);
        Ok(Self {
            model: model.kind(),
            query: query.to_owned(),
            document: document.to_owned(),
            explanation,
            word,
            related,
            inspection: inspect::in_short(latent)?,
        })
    }

    pub(super) fn text(&self) -> String {
        let Self { model, query, document, explanation, word, related, inspection } = self;
        format!(
            "Why {document} is the best document for '{query}' (explain):\n{}\n\n\
             Document words nearest to '{word}' in the latent space (related):\n{}\n\n\
             Inside the {model} model (inspect):\n{inspection}",
            explain::text(model, explanation, SHOWN),
            related::text(related.clone(), Format::Table)
        )
    }
}

/// The first word of a query that is near to any document word.
fn first_related(model: &LatentModel, query: &str) -> (String, Vec<RelatedWord>) {
    let near = |word: &str| model.related(word, SHOWN, 3).ok().filter(|related| !related.is_empty());
    let found = query.split_whitespace().find_map(|word| Some((word.to_owned(), near(word)?)));
    found.unwrap_or_default()
}
