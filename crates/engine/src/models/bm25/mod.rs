//! BM25 over text: words are matched with words; rare ones weigh more, long documents less.
//!
//! An index of the documents finds the best of a collection ([`Retriever`]); counts of words score given documents.

mod choose;
pub(super) mod codec;
mod matcher;
mod retriever;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::matching::SparseRow;
use matchrank_core::matching::bm25::{Bm25, Bm25Params};
use rayon::prelude::*;

pub(crate) use choose::choose;
pub(super) use matcher::{Bm25Scorer, Counts};
pub use retriever::Retriever;

use super::memory::{PROGRAM, WORD};
use super::recipe::{NoFeatures, trainer};
use super::{Binding, MatchingKind, MatchingModel};
use crate::container::Writer;
use crate::dataset::Dataset;
use crate::description::Description;
use crate::prose::{figure, human};
use crate::scoring::{Matcher, TermContribution};
use crate::settings::Parameter;
use crate::text::{Analyser, BagOfWords, FieldWeights, TermCounts, VocabularyParams};

/// BM25 in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "Bm25",
    parameters: &[
        Parameter::new("k1", "1.2", "how soon repeating a word stops counting, from 0"),
        Parameter::new("b", "0.75", "how much long documents are held back, from 0 to 1"),
    ],
    is_seeded: false,
    is_baseline: true,
    space: &[("k1", "0.6,0.9,1.2,1.6,2,3,5"), ("b", "0.1,0.25,0.4,0.5,0.6,0.75,0.9,1")],
    trainer: Some(|settings| {
        trainer::<Bm25Params, NoFeatures>(
            settings,
            |params, _| params.validate(),
            |params, _, training| Ok(Arc::new(TextBm25::of_dataset(params, training.dataset)?)),
        )
    }),
    memory: Some(|sizes| PROGRAM + WORD * (sizes.words + sizes.documents)),
    cost: 0.2,
    ..MatchingKind::new(
        "bm25",
        "BM25: matches words with words, weighing rare ones more and long documents less",
        |file| Ok(Arc::new(codec::get(file)?)),
    )
};

impl MatchingModel for TextBm25 {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        Ok(Box::new(matcher::Bm25Matcher::new(self, binding.documents)?))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        codec::put(file, self)
    }

    fn describe(&self) -> Result<Description> {
        let mut description = Description::default();
        let params = self.bm25.params();
        description.fact("k1, b", format!("{}, {}", params.k1, params.b));
        description.fact("documents", human(self.bm25.n_documents()));
        description.fact("words", human(self.words.vocabulary.len() as u64));
        let details = &mut description.details;
        details.set("params", params);
        details.set("n_documents", &self.bm25.n_documents());
        details.set("n_words", &self.words.vocabulary.len());
        details.set("average_length", &self.bm25.average_length());
        Ok(description)
    }

    fn summary(&self, _dataset: &Dataset) -> Description {
        let mut description = Description::default();
        description.params(self.bm25.params());
        description.fact("documents", human(self.bm25.n_documents()));
        description.fact("words", human(self.words.vocabulary.len() as u64));
        description.fact("words per document", figure(self.bm25.average_length(), 2));
        let details = &mut description.details;
        details.set("params", self.bm25.params());
        details.set("documents", &self.bm25.n_documents());
        details.set("words", &self.words.vocabulary.len());
        details.set("average_length", &self.bm25.average_length());
        description
    }
}

/// BM25 over text: everything needed to score a query nobody has seen against a document nobody has seen.
#[derive(Debug, Clone)]
pub struct TextBm25 {
    /// Analyser, fields and vocabulary of the texts.
    pub words: BagOfWords,
    /// BM25 over the counts.
    pub bm25: Bm25,
}

/// Documents that are counted together on one thread.
const CHUNK: usize = 1024;

impl TextBm25 {
    /// The statistics of a collection. A document is one text for each of `fields`, in their order.
    ///
    /// Documents are read in chunks that all threads share, so the collection need not be in memory; the
    /// result does not depend on the number of threads.
    pub fn fit<D, S>(
        params: &Bm25Params,
        analyser: &Analyser,
        fields: &FieldWeights,
        documents: impl IntoIterator<Item = D>,
    ) -> Result<Self>
    where
        D: AsRef<[S]> + Send + Sync,
        S: AsRef<str>,
    {
        params.validate()?;
        fields.validate()?;
        let mut counts = TermCounts::new();
        let mut total_length = 0.0;
        let mut documents = documents.into_iter();
        loop {
            let batch: Vec<D> = documents.by_ref().take(CHUNK * 16).collect();
            if batch.is_empty() {
                break;
            }
            let parts: Vec<(TermCounts, f64)> =
                batch.par_chunks(CHUNK).map(|chunk| count(analyser, fields, chunk)).collect();
            for (part, length) in parts {
                counts = counts.merge(part);
                total_length += length;
            }
        }
        let n_documents = counts.n_documents();
        let average_length = if n_documents == 0 { 0.0 } else { total_length / n_documents as f64 };
        let vocabulary = counts.into_vocabulary(&VocabularyParams::default())?;
        let bm25 =
            Bm25::new(params, n_documents, average_length, vocabulary.document_frequencies().to_vec())?;
        let words = BagOfWords { analyser: analyser.clone(), vocabulary, fields: fields.clone() };
        Ok(Self { words, bm25 })
    }

    /// Fits BM25 from the counts that a dataset keeps; only the vocabulary is read.
    pub fn of_dataset(params: &Bm25Params, dataset: &Dataset) -> Result<Self> {
        let manifest = &dataset.manifest;
        let vocabulary = dataset.document_vocabulary()?;
        let frequencies = vocabulary.document_frequencies().to_vec();
        let bm25 = Bm25::new(params, vocabulary.n_documents(), dataset.average_length(), frequencies)?;
        let analyser = Analyser::new(&manifest.analyser)?;
        Ok(Self { words: BagOfWords { analyser, vocabulary, fields: manifest.fields.clone() }, bm25 })
    }

    /// The score of a document, given as one text for each field, for a query.
    pub fn score(&self, query: &str, document: &[impl AsRef<str>]) -> f64 {
        let (query, document) = (self.words.query(query), self.words.document(document));
        self.bm25.score(query.row(), document.row(), document.length)
    }

    /// Returns the contribution of each term to the score, the largest first.
    pub fn explain(&self, query: &str, document: &[impl AsRef<str>]) -> Vec<TermContribution> {
        let (query, document) = (self.words.query(query), self.words.document(document));
        self.explain_rows(query.row(), document.row(), document.length)
    }

    pub(super) fn explain_rows(
        &self,
        query: SparseRow<'_>,
        document: SparseRow<'_>,
        length: f32,
    ) -> Vec<TermContribution> {
        let parts = self.bm25.explain(query, document, length).into_iter();
        let mut parts: Vec<TermContribution> = parts
            .map(|contribution| TermContribution {
                text: self.words.vocabulary.term(contribution.term).to_owned(),
                contribution,
            })
            .collect();
        parts.sort_by(|a, b| b.contribution.score.total_cmp(&a.contribution.score));
        parts
    }
}

/// Term counts and total weighted length of some documents.
fn count<D: AsRef<[S]>, S: AsRef<str>>(
    analyser: &Analyser,
    fields: &FieldWeights,
    documents: &[D],
) -> (TermCounts, f64) {
    let mut counts = TermCounts::new();
    let mut total_length = 0.0;
    let mut lengths = vec![0u32; fields.len()];
    for document in documents {
        let texts = document.as_ref();
        assert_eq!(texts.len(), fields.len(), "one text for every field");
        counts.begin_document();
        lengths.fill(0);
        let named = fields.iter().map(|(name, _)| name).zip(texts.iter().map(AsRef::as_ref));
        analyser.document(named, |field, token| {
            lengths[field] += 1;
            counts.add(token);
        });
        total_length += f64::from(fields.weighted(&lengths));
    }
    (counts, total_length)
}

#[cfg(test)]
mod own_tests {
    use super::*;
    use crate::text::AnalyserParams;

    #[test]
    fn fits_scores_and_explains() {
        let analyser = Analyser::new(&AnalyserParams::default()).unwrap();
        let fields = FieldWeights::new([("title", 2.0), ("body", 1.0)]).unwrap();
        let documents = [["Dogs", "they run and run"], ["Cats", "sleeping all day"], ["", ""]];
        let model = TextBm25::fit(&Bm25Params::default(), &analyser, &fields, documents).unwrap();
        assert_eq!(model.bm25.n_documents(), 3);
        // Lengths 2 + 2, 2 + 2 (sleep, day) and 0.
        assert!((model.bm25.average_length() - 8.0 / 3.0).abs() < 1e-12);
        let parts = model.explain("running dog", &documents[0]);
        assert_eq!(parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>(), ["dog", "run"]);
        let sum: f64 = parts.iter().map(|part| part.contribution.score).sum();
        assert!((sum - model.score("running dog", &documents[0])).abs() < 1e-12);
        assert_eq!(model.score("running dog", &documents[1]), 0.0);
        let empty =
            TextBm25::fit(&Bm25Params::default(), &analyser, &fields, Vec::<[&str; 2]>::new()).unwrap();
        assert_eq!(empty.score("dog", &documents[0]), 0.0);
    }
}
