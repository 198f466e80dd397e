//! Documents without a training response: what a model can say about them, and whether the validation queries notice.
//!
//! A model that knows documents by their clicks alone finds none of the others. A latent model has features of words for
//! them, but learned their rows from documents with responses: on four collections PLS and RMLS have an NDCG@10 from
//! 0.000 to 0.03 on queries whose relevant documents have no response. Means over all queries hide both.

use matchrank_core::Result;
use matchrank_core::message::{HAS, counted, counted_with, thousands};
use matchrank_core::progress::Silent;

use super::{MatchingModel, bind, registry};
use crate::dataset::Dataset;
use crate::validation::Validation;

/// Queries from which a figure is worth reporting.
const ENOUGH: usize = 5;

/// What a kind of model can say about documents without a training response. A model that is made of others can say what
/// the best of its parts can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum UnseenDocuments {
    /// Gives them no score: it knows documents by their responses alone.
    Unscored,
    /// Scores them by features whose weights it learned from responses; how well, is measured after training.
    Learned,
    /// Scores them by their words, as it does all documents.
    Scored,
}

/// Returns what a model can say about documents without a training response.
pub fn unseen_documents(model: &dyn MatchingModel) -> UnseenDocuments {
    let parts = model.parts();
    let own = || registry::find(model.kind()).map_or(UnseenDocuments::Scored, |kind| kind.unseen_documents);
    parts.iter().map(|(_, part)| unseen_documents(&***part)).max().unwrap_or_else(own)
}

/// Returns the number of documents without a training response, and for every validation query true if all of its relevant
/// documents are such; none for a query without a relevant document.
pub(crate) fn dependent_on_unseen(
    dataset: &Dataset,
    validation: Option<&Validation>,
) -> Result<(usize, Vec<Option<bool>>)> {
    let mut is_seen = vec![false; dataset.manifest.statistics.n_documents as usize];
    for response in dataset.responses()?.iter().filter(|response| response.response > 0.0) {
        is_seen[response.document as usize] = true;
    }
    let depends = |relevant: Vec<u32>| {
        let any_seen = relevant.iter().any(|&document| is_seen[document as usize]);
        (!relevant.is_empty()).then_some(!any_seen)
    };
    let depends = validation.iter().flat_map(|validation| validation.relevant()).map(depends).collect();
    Ok((is_seen.iter().filter(|seen| !**seen).count(), depends))
}

/// Returns a warning for users of a trained model that gives documents without a training response no score, or that
/// was measured on them: on the validation queries all of whose relevant documents are such.
pub fn note_on_unseen(
    model: &dyn MatchingModel,
    dataset: &Dataset,
    validation: Option<&Validation>,
) -> Result<Option<String>> {
    let can = unseen_documents(model);
    if can == UnseenDocuments::Scored {
        return Ok(None);
    }
    let (n_unseen, depends) = dependent_on_unseen(dataset, validation)?;
    if n_unseen == 0 {
        return Ok(None);
    }
    let name = model.kind();
    let documents = format!(
        "{} of {} no training response",
        thousands(n_unseen as u64),
        counted_with(dataset.manifest.statistics.n_documents as usize, "document", HAS)
    );
    let n_measured = depends.iter().flatten().count();
    let n_dependent = depends.iter().filter(|depends| **depends == Some(true)).count();
    let queries = format!(
        "{} of {} no relevant document but these",
        thousands(n_dependent as u64),
        counted_with(n_measured, "validation query", HAS)
    );
    Ok(match (can, validation) {
        (UnseenDocuments::Unscored, _) if n_dependent == 0 => {
            Some(format!("{documents}, and {name} gives these no score"))
        }
        (UnseenDocuments::Unscored, _) => {
            Some(format!("{documents}, and {name} gives these no score; {queries}"))
        }
        (_, Some(validation)) if n_dependent >= ENOUGH => {
            let matcher = bind(model, dataset, validation.wanted(), &Silent)?;
            let values = validation.by_query(&mut *matcher.begin(&validation.queries())?)?;
            let mean = |wanted: bool| {
                let own = values.iter().zip(&depends).filter(|(_, depends)| **depends == Some(wanted));
                let own: Vec<f64> = own.filter_map(|(value, _)| *value).collect();
                (!own.is_empty()).then(|| own.iter().sum::<f64>() / own.len() as f64)
            };
            let (unseen, others) = (mean(true).unwrap_or(0.0), mean(false));
            let measure = validation.measure();
            let beside = others.map_or(String::new(), |others| format!(", and {others:.4} for the others"));
            let is_poor = measure.higher_is_better() && others.is_none_or(|others| unseen < 0.5 * others);
            let advice = if is_poor {
                "; such documents need a model of their words beside it: a combination, a stack, or base=bm25 where a model has it"
            } else {
                ""
            };
            Some(format!(
                "{documents}; {queries}, and for them {measure} of {name} is {unseen:.4}{beside}{advice}"
            ))
        }
        _ => Some(format!(
            "{documents}, and {name} learned from the others; too few validation queries depend on them to say how well it \
             scores them"
        )),
    })
}

/// Returns a warning about a validation figure of 0: nothing was chosen by it.
pub fn note_on_zero(validation: &Validation, figure: f64) -> Option<String> {
    let measure = validation.measure();
    (figure == 0.0 && measure.higher_is_better()).then(|| {
        format!(
            "validation {measure} is 0: for {} the model ranks no relevant document where the measure looks; it is \
             of no use for such queries, and nothing was chosen by this figure",
            counted(validation.n_queries(), "validation query")
        )
    })
}

/// Returns the warnings for users of a model that was trained on a dataset.
pub fn training_notes(model: &dyn MatchingModel, dataset: &Dataset, seed: u64) -> Result<Vec<String>> {
    let figure = model.validation();
    if figure != Some(0.0) && unseen_documents(model) == UnseenDocuments::Scored {
        return Ok(Vec::new());
    }
    let validation = Validation::of(dataset, seed, &Silent)?;
    let zero =
        validation.as_ref().zip(figure).and_then(|(validation, figure)| note_on_zero(validation, figure));
    Ok(zero.into_iter().chain(note_on_unseen(model, dataset, validation.as_ref())?).collect())
}
