//! RM3: BM25 with words of its best documents added to the query (pseudo-relevance feedback).
//!
//! The formulas are in [`matchrank_core::matching::rm3`]. Words are always taken from the best documents of the whole
//! collection, so that a document has the same score among candidates and in a ranking of the collection. The first pass
//! and a ranking of the collection go through the index of BM25; counts of words of all documents are kept in memory for
//! the words of the best ones.

mod matcher;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::matching::Rm3Params;

use super::bm25::{TextBm25, codec};
use super::memory::{PROGRAM, WORD};
use super::recipe::{NoFeatures, trainer};
use super::{Binding, MatchingKind, MatchingModel};
use crate::container::{Reader, Writer};
use crate::dataset::Dataset;
use crate::description::Description;
use crate::prose::human;
use crate::scoring::Matcher;
use crate::settings::Parameter;

/// RM3 in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "Rm3",
    help: "Ranks twice: BM25 finds the best documents of the collection, takes them as relevant, and adds their most likely \
           words to the query; BM25 ranks by the words of this query, which have weights. Finds documents that say the \
           same in other words. Hurts queries whose best documents are wrong, so compare it with BM25.",
    parameters: &[
        Parameter::new("k1", "1.2", "how soon repeating a word stops counting, from 0"),
        Parameter::new("b", "0.75", "how much long documents are held back, from 0 to 1"),
        Parameter::new("feedback", "10", "best documents that words are taken from"),
        Parameter::new("terms", "10", "words that are taken from them"),
        Parameter::new("original", "0.5", "share of the original query, from 0 to 1; with 1 it is BM25"),
        Parameter::new(
            "max_df",
            "0.1",
            "largest share of the documents that may have a word that is taken, from 0 to 1",
        ),
    ],
    is_seeded: false,
    space: &[
        ("k1", "0.4,0.6,0.9,1.2,1.6,2,3,4"),
        ("b", "0.25,0.4,0.6,0.75,0.9"),
        ("feedback", "3,5,10,20"),
        ("terms", "10,20,40"),
        ("original", "0.1,0.3,0.5,0.7,0.9,0.95"),
    ],
    trainer: Some(|settings| {
        trainer::<Rm3Params, NoFeatures>(
            settings,
            |params, _| params.validate(),
            |params, _, training| Ok(Arc::new(Rm3Model::of_dataset(params, training.dataset)?)),
        )
    }),
    memory: Some(|sizes| PROGRAM + WORD * (sizes.words + sizes.documents)),
    cost: 0.2,
    ..MatchingKind::new("rm3", "RM3: BM25 with words of its best documents added to the query", open)
};

/// RM3 over text.
#[derive(Debug, Clone)]
pub struct Rm3Model {
    /// Parameters.
    pub params: Rm3Params,
    /// BM25 of both passes, with k1 and b of the parameters.
    pub text: TextBm25,
}

impl Rm3Model {
    /// Fits BM25 from the counts that a dataset keeps; feedback has nothing to learn.
    pub fn of_dataset(params: &Rm3Params, dataset: &Dataset) -> Result<Self> {
        params.validate()?;
        Ok(Self { params: *params, text: TextBm25::of_dataset(&params.bm25(), dataset)? })
    }
}

fn open(file: &Reader<'_>) -> Result<Arc<dyn MatchingModel>> {
    let params: Rm3Params = file.json("params")?;
    params.validate()?;
    Ok(Arc::new(Rm3Model { params, text: codec::get_statistics(file, &params.bm25())? }))
}

impl MatchingModel for Rm3Model {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        Ok(Box::new(matcher::Rm3Matcher::new(self, binding.documents, binding.progress)?))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        file.put_json("params", &self.params)?;
        codec::put_statistics(file, &self.text)
    }

    fn describe(&self) -> Result<Description> {
        Ok(self.described())
    }

    fn summary(&self, _dataset: &Dataset) -> Description {
        self.described()
    }
}

impl Rm3Model {
    fn described(&self) -> Description {
        let mut description = Description::default();
        description.params(&self.params);
        description.fact("documents", human(self.text.bm25.n_documents()));
        description.fact("words", human(self.text.words.vocabulary.len() as u64));
        let details = &mut description.details;
        details.set("params", &self.params);
        details.set("documents", &self.text.bm25.n_documents());
        details.set("words", &self.text.words.vocabulary.len());
        details.set("average_length", &self.text.bm25.average_length());
        description
    }
}
