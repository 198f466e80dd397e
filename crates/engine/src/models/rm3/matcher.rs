//! RM3 bound to documents: feedback comes from the whole collection, whatever is scored.

use std::sync::{Arc, OnceLock};

use matchrank_core::Result;
use matchrank_core::matching::SparseRow;
use matchrank_core::matching::bm25::Contribution;
use matchrank_core::matching::rm3::{ExpandedQuery, FeedbackDocument, expand};
use matchrank_core::progress::Progress;
use rayon::prelude::*;

use super::Rm3Model;
use crate::dataset::{BoundDocuments, Dataset, GivenDocuments};
use crate::models::bm25::{Bm25Scorer, Counts, Retriever};
use crate::retrieval::index_of;
use crate::scoring::{
    Among, ExpandedWord, Explanation, FeedbackShare, Hit, Matcher, Scorer, TermContribution, Why, sweep_top,
};
use crate::text::Bag;

pub(super) struct Rm3Matcher<'a> {
    feedback: Arc<Feedback<'a>>,
    documents: BoundDocuments<'a>,
    /// Counts of the bound documents, where they are not the whole collection.
    bound: OnceLock<Counts>,
}

/// The collection that words are taken from.
struct Feedback<'a> {
    model: &'a Rm3Model,
    dataset: &'a Dataset,
    retriever: Retriever<'a>,
    /// Counts of the whole collection, read when they are first asked for.
    collection: OnceLock<Counts>,
}

/// A query, the documents that words were taken from, and the query with these words.
struct Expansion {
    query: Bag,
    feedback: Vec<Hit>,
    expanded: ExpandedQuery,
}

impl Expansion {
    /// The expanded query, words with weights.
    fn row(&self) -> SparseRow<'_> {
        SparseRow::new(&self.expanded.terms, &self.expanded.weights).expect("terms ascend")
    }

    fn into_bag(self) -> Bag {
        Bag { indices: self.expanded.terms, counts: self.expanded.weights, length: self.query.length }
    }
}

impl<'a> Rm3Matcher<'a> {
    pub(super) fn new(
        model: &'a Rm3Model,
        documents: BoundDocuments<'a>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let words = &model.text.words;
        documents.dataset.places_of(&words.fields)?;
        let index = index_of(documents.dataset, words, progress)?;
        let retriever = Retriever::new(Arc::new(index), &model.text)?;
        let feedback = Feedback { model, dataset: documents.dataset, retriever, collection: OnceLock::new() };
        Ok(Self { feedback: Arc::new(feedback), documents, bound: OnceLock::new() })
    }

    /// Counts of the bound documents.
    fn counts(&self) -> Result<&Counts> {
        if self.documents.is_all() {
            return self.feedback.collection();
        }
        if self.bound.get().is_none() {
            let _ = self.bound.set(Counts::read(&self.feedback.model.text.words, self.documents)?);
        }
        Ok(self.bound.get().expect("it was just set"))
    }
}

impl Feedback<'_> {
    /// Counts of the whole collection, read when they are first asked for.
    fn collection(&self) -> Result<&Counts> {
        if self.collection.get().is_none() {
            let all = BoundDocuments::all(self.dataset);
            // Of two threads that read them at a time, one keeps its own.
            let _ = self.collection.set(Counts::read(&self.model.text.words, all)?);
        }
        Ok(self.collection.get().expect("it was just set"))
    }

    /// First pass: finds the best documents of the collection, and adds their words to the query.
    fn expand(&self, query: &str) -> Result<Expansion> {
        let collection = self.collection()?;
        let Rm3Model { params, text } = self.model;
        let query = text.words.query(query);
        let feedback = self.retriever.search_bag(&query, params.feedback)?;
        let documents: Vec<FeedbackDocument<'_>> = feedback
            .iter()
            .map(|hit| FeedbackDocument {
                row: collection.rows.row(hit.document as usize),
                length: collection.lengths[hit.document as usize],
                score: f64::from(hit.score),
            })
            .collect();
        let expanded = expand(params, &text.bm25, query.row(), &documents);
        Ok(Expansion { query, feedback, expanded })
    }

    /// Names the documents that words were taken from.
    fn shares(&self, feedback: &[Hit]) -> Result<Vec<FeedbackShare>> {
        let rows: Vec<u32> = feedback.iter().map(|hit| hit.document).collect();
        let ids = self.dataset.document_ids_of(&rows)?;
        let sum: f64 = feedback.iter().map(|hit| f64::from(hit.score)).sum();
        let share = |hit: &Hit| FeedbackShare {
            document: ids[&hit.document].clone(),
            share: f64::from(hit.score) / sum,
        };
        Ok(feedback.iter().map(share).collect())
    }
}

impl Matcher for Rm3Matcher<'_> {
    fn n_documents(&self) -> u32 {
        self.documents.len()
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        let counts = self.counts()?;
        let bags: Vec<Bag> = queries
            .par_iter()
            .map(|query| self.feedback.expand(query).map(Expansion::into_bag))
            .collect::<Result<_>>()?;
        Ok(Box::new(Bm25Scorer::new(&self.feedback.model.text.bm25, counts, bags)))
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let expansion = self.feedback.expand(query)?;
        let Rm3Model { text, .. } = self.feedback.model;
        let counts = self.counts()?;
        let (row, length) = (counts.rows.row(document as usize), counts.lengths[document as usize]);
        let contributions = text.bm25.explain(expansion.row(), row, length);
        let score = contributions.iter().map(|part| part.score).sum::<f64>();
        let mut shared = contributions.into_iter().peekable();
        let parts = expansion.row().iter().zip(&expansion.expanded.relevance);
        let mut words: Vec<ExpandedWord> = parts
            .map(|((term, weight), &relevance)| {
                let contribution = shared.next_if(|part| part.term == term).unwrap_or(Contribution {
                    term,
                    query_count: weight,
                    count: 0.0,
                    idf: text.bm25.idf(term),
                    saturation: 0.0,
                    score: 0.0,
                });
                let in_query = expansion.query.row().iter().find(|(own, _)| *own == term);
                let term =
                    TermContribution { text: text.words.vocabulary.term(term).to_owned(), contribution };
                ExpandedWord { in_query: in_query.map_or(0.0, |(_, count)| count), relevance, term }
            })
            .collect();
        words.sort_by(|a, b| b.term.contribution.score.total_cmp(&a.term.contribution.score));
        let feedback = self.feedback.shares(&expansion.feedback)?;
        let score = (score > 0.0).then_some(score as f32);
        Ok(Explanation { score, why: Why::Expanded { feedback, words } })
    }

    fn top_among(
        &self,
        queries: &[&str],
        k: usize,
        among: Option<Among<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Hit>>> {
        if !self.documents.is_all() {
            return sweep_top(self, queries, k, among, progress);
        }
        progress.begin("ranking", Some(queries.len() as u64), "queries");
        queries
            .par_iter()
            .map(|query| {
                let expanded = self.feedback.expand(query)?.into_bag();
                let hits = self.feedback.retriever.search_among(&expanded, k, among);
                progress.advance(1);
                hits
            })
            .collect()
    }

    /// Words are taken from documents of the dataset alone.
    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        let documents = BoundDocuments::given(self.feedback.dataset, documents);
        Ok(Box::new(Rm3Matcher { feedback: self.feedback.clone(), documents, bound: OnceLock::new() }))
    }

    fn settle(&mut self, _: u64, _: &dyn Progress) -> Result<()> {
        self.feedback.collection().map(drop)
    }
}
