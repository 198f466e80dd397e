//! A model bound to a snapshot of the documents.

use std::sync::Arc;

use matchrank_core::progress::{Progress, Silent};
use matchrank_core::{Error, Result};
use self_cell::self_cell;

use super::Allowed;
use super::collection::Collection;
use super::view::{BaseMatcher, BoxedMatcher, ChunkMatcher, View};
use crate::dataset::{BoundDocuments, GivenDocument, GivenDocuments};
use crate::models::{Binding, MatchingModel};
use crate::scoring::{Explanation, Hit, Matcher};

/// A document to be scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Candidate<'a> {
    /// A document of the collection, by number.
    Known(u32),
    /// Any text: names of fields with their texts. A field that no model reads is ignored.
    Text(&'a [(&'a str, &'a str)]),
}

/// A model bound to a snapshot of the documents. See the [module](super).
pub struct Served {
    model: Arc<dyn MatchingModel>,
    collection: Arc<Collection>,
    /// The models without parts, from left to right.
    views: Vec<View>,
    /// `None` for a model without parts.
    whole: Option<Whole>,
}

self_cell! {
    /// A model of parts over the views of its parts.
    struct Whole {
        owner: (Arc<dyn MatchingModel>, Arc<Collection>, Vec<Arc<GivenDocuments>>),
        #[covariant]
        dependent: BoxedMatcher,
    }
}

impl Served {
    /// Binds a model to the documents of a collection. Images of documents take at most `bytes` of memory.
    pub fn bind(
        model: Arc<dyn MatchingModel>,
        collection: Arc<Collection>,
        bytes: u64,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let mut leaves = Vec::new();
        add_leaves(&model, &mut leaves);
        let share = bytes / leaves.len().max(1) as u64;
        let bind = |leaf: Arc<dyn MatchingModel>| {
            let base = BaseMatcher::bind(leaf, collection.base.clone(), share, progress)?;
            Ok(View { base: Arc::new(base), chunks: Vec::new(), n_documents: 0 })
        };
        let views = leaves.into_iter().map(bind).collect::<Result<_>>()?;
        Self::assemble(model, collection.clone(), views)
    }

    /// Binds the model to another snapshot of the same dataset. Only documents that are new there are read.
    pub fn rebound(&self, collection: Arc<Collection>) -> Result<Self> {
        if !Arc::ptr_eq(&self.collection.base, &collection.base) {
            return Err(Error::Params("the snapshot is of another dataset; bind the model anew".into()));
        }
        Self::assemble(self.model.clone(), collection, self.views.clone())
    }

    fn assemble(
        model: Arc<dyn MatchingModel>,
        collection: Arc<Collection>,
        mut views: Vec<View>,
    ) -> Result<Self> {
        for view in &mut views {
            let former = std::mem::take(&mut view.chunks);
            let mut first = collection.base.len();
            for chunk in &collection.chunks {
                let known = former.iter().find(|(_, matcher)| Arc::ptr_eq(matcher.chunk(), chunk));
                let matcher = match known {
                    Some((_, matcher)) => matcher.clone(),
                    None => Arc::new(ChunkMatcher::bind(view.base.clone(), chunk.clone())?),
                };
                view.chunks.push((first, matcher));
                first += chunk.documents.len() as u32;
            }
            view.n_documents = first;
        }
        let whole = (!model.parts().is_empty())
            .then(|| {
                let others = collection.chunks.iter().map(|chunk| chunk.documents.clone()).collect();
                Whole::try_new((model.clone(), collection.clone(), others), |(model, collection, others)| {
                    let documents = BoundDocuments::extended(&collection.base.dataset, others);
                    let clicks = collection.base.clicks.clone();
                    join(&**model, &mut views.iter(), &mut Binding::with_clicks(documents, clicks, &Silent))
                })
            })
            .transpose()?;
        Ok(Self { model, collection, views, whole })
    }

    /// The documents.
    pub fn collection(&self) -> &Arc<Collection> {
        &self.collection
    }

    /// The model.
    pub fn model(&self) -> &Arc<dyn MatchingModel> {
        &self.model
    }

    fn matcher(&self) -> &dyn Matcher {
        match &self.whole {
            Some(whole) => &**whole.borrow_dependent(),
            None => &self.views[0],
        }
    }

    /// The `k` best documents for a query, or the best that a filter lets through. Returns an error if a score is infinite.
    pub fn top(&self, query: &str, k: usize, allowed: Option<&Allowed>) -> Result<Vec<Hit>> {
        let among = allowed.map_or(self.collection.live(), Allowed::among);
        let hits = self.matcher().top_among(&[query], k, Some(among), &Silent)?.remove(0);
        finite(hits.iter().map(|hit| hit.score))?;
        Ok(hits)
    }

    /// Scores of candidates for a query; none where the model says nothing. Models that standardise scores do so over the
    /// candidates.
    pub fn score(&self, query: &str, candidates: &[Candidate<'_>]) -> Result<Vec<Option<f32>>> {
        let mut scores = vec![0.0; candidates.len()];
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        let known: Option<Vec<u32>> = candidates.iter().map(number).collect();
        match known {
            Some(numbers) => self.matcher().begin(&[query])?.list(0, &numbers, &mut scores),
            None => {
                let given = self.given(candidates);
                let numbers: Vec<u32> = (0..given.len() as u32).collect();
                let over = self.matcher().over(&given)?;
                over.begin(&[query])?.list(0, &numbers, &mut scores);
            }
        }
        finite(scores.iter().copied().filter(|score| !score.is_nan()))?;
        Ok(scores.into_iter().map(|score| Some(score).filter(|score| !score.is_nan())).collect())
    }

    /// Explains the score of a document.
    pub fn explain(&self, query: &str, candidate: &Candidate<'_>) -> Result<Explanation> {
        match candidate {
            Candidate::Known(number) => Ok(self.explain_among(query, &[*number], None)?.remove(0)),
            Candidate::Text(_) => {
                let given = self.given(std::slice::from_ref(candidate));
                self.matcher().over(&given)?.explain(query, 0)
            }
        }
    }

    /// Explains the scores of documents of the collection, as [`Self::top`] with the same filter gives them.
    pub fn explain_among(
        &self,
        query: &str,
        documents: &[u32],
        allowed: Option<&Allowed>,
    ) -> Result<Vec<Explanation>> {
        let among = allowed.map_or(self.collection.live(), Allowed::among);
        self.matcher().explain_among(query, documents, Some(among))
    }

    /// Explains the scores of some of a list of candidates, as [`Self::score`] gives them.
    pub fn explain_in_list(
        &self,
        query: &str,
        candidates: &[Candidate<'_>],
        places: &[usize],
    ) -> Result<Vec<Explanation>> {
        let known: Option<Vec<u32>> = candidates.iter().map(number).collect();
        match known {
            Some(numbers) => self.matcher().explain_in_list(query, &numbers, places),
            None => {
                let given = self.given(candidates);
                let numbers: Vec<u32> = (0..given.len() as u32).collect();
                self.matcher().over(&given)?.explain_in_list(query, &numbers, places)
            }
        }
    }

    /// Candidates with their texts; documents of the collection keep their clicks.
    fn given(&self, candidates: &[Candidate<'_>]) -> GivenDocuments {
        let fields = &self.collection.dataset().manifest.fields;
        let mut given = GivenDocuments::default();
        for candidate in candidates {
            match candidate {
                Candidate::Known(number) => {
                    let texts = fields.iter().map(|(name, _)| self.collection.text(*number, name).to_owned());
                    given.push(GivenDocument {
                        id: self.collection.id(*number).to_owned(),
                        texts: texts.collect(),
                        attributes: self.collection.cells(*number),
                        row: self.collection.row(*number),
                    });
                }
                Candidate::Text(texts) => {
                    let text = |name: &str| {
                        let found = texts.iter().find(|(field, _)| *field == name);
                        found.map_or(String::new(), |(_, text)| (*text).to_owned())
                    };
                    let texts = fields.iter().map(|(name, _)| text(name)).collect();
                    given.push(GivenDocument { texts, ..GivenDocument::default() });
                }
            }
        }
        given
    }
}

fn number(candidate: &Candidate<'_>) -> Option<u32> {
    match candidate {
        Candidate::Known(number) => Some(*number),
        Candidate::Text(_) => None,
    }
}

fn add_leaves(model: &Arc<dyn MatchingModel>, leaves: &mut Vec<Arc<dyn MatchingModel>>) {
    let parts = model.parts();
    if parts.is_empty() {
        leaves.push(model.clone());
    }
    parts.into_iter().for_each(|(_, part)| add_leaves(part, leaves));
}

/// Joins the views of the models without parts, from left to right, to a matcher of the whole model.
fn join<'a>(
    model: &'a dyn MatchingModel,
    views: &mut std::slice::Iter<'_, View>,
    binding: &mut Binding<'a, '_>,
) -> Result<Box<dyn Matcher + 'a>> {
    let parts = model.parts();
    if parts.is_empty() {
        return Ok(Box::new(views.next().expect("there is a view for every model without parts").clone()));
    }
    let parts = parts.into_iter().map(|(_, part)| join(&**part, views, binding)).collect::<Result<_>>()?;
    model.bind_parts(parts, binding)
}

fn finite(mut scores: impl Iterator<Item = f32>) -> Result<()> {
    match scores.find(|score| !score.is_finite()) {
        Some(score) => Err(Error::Diverged(format!(
            "a score is {score}: the numbers of the model are too large for the data; train it again"
        ))),
        None => Ok(()),
    }
}
