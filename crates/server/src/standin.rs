//! Stand-in for `matchrank_engine::serving` until that module is merged: the same shape over `bind`, slow.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::collections::HashMap;
use std::sync::Arc;

use matchrank_core::progress::{Progress, Silent};
use matchrank_engine::Result;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::models::{MatchingModel, bind};
use matchrank_engine::scoring::{Explanation, Hit};
use serde::Deserialize;
use serde_json::{Map, Value};

pub struct Collection {
    dataset: Arc<Dataset>,
    ids: Vec<String>,
    numbers: HashMap<String, u32>,
    texts: Vec<Vec<String>>,
    is_new: Vec<bool>,
    deleted: Vec<bool>,
}

pub struct Allowed(Vec<bool>);

#[derive(Debug, Clone, Deserialize)]
pub struct Filter(pub Map<String, Value>);

#[derive(Debug, Clone)]
pub enum DocumentChange {
    Put { id: String, fields: Map<String, Value> },
    Delete { id: String },
}

pub enum Candidate<'a> {
    Known(u32),
    Text(&'a [(&'a str, &'a str)]),
}

impl Collection {
    pub fn open(dataset: Arc<Dataset>, _: &dyn Progress) -> Result<Self> {
        let ids = dataset.document_ids()?;
        let numbers = ids.iter().cloned().zip(0..).collect();
        let texts = dataset.texts()?.collect::<Result<_>>()?;
        let is_new = dataset.new_documents()?;
        let deleted = vec![false; ids.len()];
        Ok(Self { dataset, ids, numbers, texts, is_new, deleted })
    }
    pub fn n_documents(&self) -> u32 {
        self.deleted.iter().filter(|&&d| !d).count() as u32
    }
    pub fn find(&self, id: &str) -> Option<u32> {
        self.numbers.get(id).copied().filter(|&n| !self.deleted[n as usize])
    }
    pub fn id(&self, number: u32) -> &str {
        &self.ids[number as usize]
    }
    pub fn stored(&self, number: u32) -> Vec<(&str, Value)> {
        let texts = &self.texts[number as usize];
        self.dataset
            .manifest
            .fields
            .iter()
            .zip(texts)
            .map(|((name, _), t)| (name, Value::from(t.clone())))
            .collect()
    }
    pub fn is_new(&self, number: u32) -> bool {
        self.is_new[number as usize]
    }
    pub fn with(&self, changes: &[DocumentChange], _: &dyn Progress) -> Result<Self> {
        let mut next = Self {
            dataset: self.dataset.clone(),
            ids: self.ids.clone(),
            numbers: self.numbers.clone(),
            texts: self.texts.clone(),
            is_new: self.is_new.clone(),
            deleted: self.deleted.clone(),
        };
        for change in changes {
            match change {
                DocumentChange::Put { id, fields } => {
                    let row: Vec<String> = next
                        .dataset
                        .manifest
                        .fields
                        .iter()
                        .map(|(name, _)| {
                            fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
                        })
                        .collect();
                    match next.numbers.get(id) {
                        Some(&n) => (next.texts[n as usize], next.deleted[n as usize]) = (row, false),
                        None => {
                            next.numbers.insert(id.clone(), next.ids.len() as u32);
                            next.ids.push(id.clone());
                            next.texts.push(row);
                            next.is_new.push(true);
                            next.deleted.push(false);
                        }
                    }
                }
                DocumentChange::Delete { id } => {
                    if let Some(&n) = next.numbers.get(id) {
                        next.deleted[n as usize] = true;
                    }
                }
            }
        }
        Ok(next)
    }
    pub fn allowed(&self, filter: &Filter) -> Result<Allowed> {
        let passes = |number: u32| {
            let stored = self.stored(number);
            filter
                .0
                .iter()
                .all(|(name, wanted)| stored.iter().any(|(field, value)| field == name && value == wanted))
        };
        Ok(Allowed((0..self.ids.len() as u32).map(passes).collect()))
    }
}

pub struct Served {
    model: Arc<dyn MatchingModel>,
    collection: Arc<Collection>,
}

impl Served {
    pub fn bind(
        model: Arc<dyn MatchingModel>,
        collection: Arc<Collection>,
        _: &dyn Progress,
    ) -> Result<Self> {
        bind(&*model, &collection.dataset, None, &Silent)?;
        Ok(Self { model, collection })
    }
    pub fn rebound(&self, collection: Arc<Collection>) -> Result<Self> {
        Ok(Self { model: self.model.clone(), collection })
    }
    pub fn collection(&self) -> &Arc<Collection> {
        &self.collection
    }
    pub fn model(&self) -> &Arc<dyn MatchingModel> {
        &self.model
    }
    pub fn top(&self, query: &str, k: usize, allowed: Option<&Allowed>) -> Result<Vec<Hit>> {
        let matcher = bind(&*self.model, &self.collection.dataset, None, &Silent)?;
        let mut hits = matcher.top(&[query], 100_000, &Silent)?.remove(0);
        hits.retain(|hit| {
            !self.collection.deleted[hit.document as usize]
                && allowed.is_none_or(|a| a.0[hit.document as usize])
        });
        hits.truncate(k);
        Ok(hits)
    }
    pub fn score(&self, query: &str, candidates: &[Candidate<'_>]) -> Result<Vec<Option<f32>>> {
        let matcher = bind(&*self.model, &self.collection.dataset, None, &Silent)?;
        let scorer = matcher.begin(&[query])?;
        Ok(candidates
            .iter()
            .map(|candidate| match candidate {
                Candidate::Known(number) => {
                    let mut scores = [0.0];
                    scorer.list(0, &[*number], &mut scores);
                    Some(scores[0]).filter(|s| !s.is_nan())
                }
                Candidate::Text(fields) => {
                    let shared =
                        query.split(' ').filter(|w| fields.iter().any(|(_, t)| t.contains(w))).count();
                    (shared > 0).then_some(shared as f32)
                }
            })
            .collect())
    }
    pub fn explain(&self, query: &str, candidate: &Candidate<'_>) -> Result<Explanation> {
        let matcher = bind(&*self.model, &self.collection.dataset, None, &Silent)?;
        match candidate {
            Candidate::Known(number) => matcher.explain(query, *number),
            Candidate::Text(_) => matcher.explain(query, 0),
        }
    }
}
