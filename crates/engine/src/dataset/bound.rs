//! Documents that a matcher knows: all of a dataset, some of them, or others that are given with their texts.

use std::sync::Arc;

use matchrank_core::Result;

use super::{Dataset, GivenDocuments};
use crate::text::FieldWeights;

/// The documents that a matcher knows, as 0, 1, ...
#[derive(Clone, Copy)]
pub struct BoundDocuments<'a> {
    /// The dataset, whose clicks are known.
    pub dataset: &'a Dataset,
    selection: Selection<'a>,
}

#[derive(Clone, Copy)]
enum Selection<'a> {
    All,
    /// Ascending row numbers.
    Rows(&'a [u32]),
    Given(&'a GivenDocuments),
    /// All documents of the dataset and, after them, others.
    Extended(&'a [Arc<GivenDocuments>]),
}

impl<'a> BoundDocuments<'a> {
    /// All documents of a dataset.
    pub fn all(dataset: &'a Dataset) -> Self {
        Self { dataset, selection: Selection::All }
    }

    /// Documents by ascending row numbers; `None` for all.
    pub fn rows(dataset: &'a Dataset, wanted: Option<&'a [u32]>) -> Self {
        Self { dataset, selection: wanted.map_or(Selection::All, Selection::Rows) }
    }

    /// Documents that are given with their texts, beside a dataset whose clicks are known.
    pub fn given(dataset: &'a Dataset, documents: &'a GivenDocuments) -> Self {
        Self { dataset, selection: Selection::Given(documents) }
    }

    /// All documents of a dataset and, after them, others that are given with their texts.
    pub(crate) fn extended(dataset: &'a Dataset, others: &'a [Arc<GivenDocuments>]) -> Self {
        Self { dataset, selection: Selection::Extended(others) }
    }

    /// The same rows of another dataset, which has the same documents.
    pub(crate) fn of<'b>(&self, dataset: &'b Dataset) -> BoundDocuments<'b>
    where
        'a: 'b,
    {
        BoundDocuments { dataset, selection: self.selection }
    }

    /// Number of documents.
    pub fn len(&self) -> u32 {
        let of_dataset = self.dataset.manifest.statistics.n_documents as u32;
        match self.selection {
            Selection::All => of_dataset,
            Selection::Extended(others) => {
                of_dataset + others.iter().map(|documents| documents.len() as u32).sum::<u32>()
            }
            Selection::Rows(rows) => rows.len() as u32,
            Selection::Given(documents) => documents.len() as u32,
        }
    }

    /// Returns true if there is no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if these are all documents of the dataset.
    pub fn is_all(&self) -> bool {
        matches!(self.selection, Selection::All)
    }

    /// Row of a document in the dataset; none for a given one that the dataset does not have.
    pub fn row(&self, document: u32) -> Option<u32> {
        match self.selection {
            Selection::All => Some(document),
            Selection::Rows(rows) => Some(rows[document as usize]),
            Selection::Given(documents) => documents.row(document),
            Selection::Extended(others) => match self.other(others, document) {
                Some((documents, document)) => documents.row(document),
                None => Some(document),
            },
        }
    }

    /// The given documents that one is among, and its number there; none for a document of the dataset.
    fn other(&self, others: &'a [Arc<GivenDocuments>], document: u32) -> Option<(&'a GivenDocuments, u32)> {
        let mut at = document.checked_sub(self.dataset.manifest.statistics.n_documents as u32)?;
        others.iter().find_map(|documents| match at.checked_sub(documents.len() as u32) {
            Some(rest) => {
                at = rest;
                None
            }
            None => Some((&**documents, at)),
        })
    }

    /// Numbers of documents in the place of rows, each with a score. Both ascend.
    pub(crate) fn number(&self, scores: Vec<(u32, f32)>) -> Vec<(u32, f32)> {
        let by_row =
            |row: u32| scores.binary_search_by_key(&row, |entry| entry.0).ok().map(|at| scores[at].1);
        match self.selection {
            Selection::All => scores,
            Selection::Rows(rows) => {
                let number =
                    |&(row, score): &(u32, f32)| Some((rows.binary_search(&row).ok()? as u32, score));
                scores.iter().filter_map(number).collect()
            }
            Selection::Given(_) | Selection::Extended(_) => {
                let score = |number| Some((number, by_row(self.row(number)?)?));
                (0..self.len()).filter_map(score).collect()
            }
        }
    }

    /// Id of a document.
    pub(crate) fn id(&self, document: u32) -> Result<String> {
        let given = match self.selection {
            Selection::Given(documents) => Some((documents, document)),
            Selection::Extended(others) => self.other(others, document),
            Selection::All | Selection::Rows(_) => None,
        };
        if let Some((documents, document)) = given {
            return Ok(documents.id(document).to_owned());
        }
        let row = self.row(document).expect("documents of a dataset have rows");
        Ok(self.dataset.document_ids_of(&[row])?.remove(&row).unwrap_or_default())
    }

    /// Makes something of every document, on all threads: `make` gets its row in the dataset, if it has one, and the texts
    /// of `fields`, in their order. `take` gets what was made, in the order of the documents.
    pub(crate) fn map<T: Send>(
        &self,
        fields: &FieldWeights,
        make: impl Fn(Option<u32>, &[&str]) -> T + Sync,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        match self.selection {
            Selection::All => {
                self.dataset.map_documents(fields, None, |row, texts| make(Some(row), texts), take)
            }
            Selection::Rows(rows) => {
                self.dataset.map_documents(fields, Some(rows), |row, texts| make(Some(row), texts), take)
            }
            Selection::Given(documents) => {
                documents.map(&self.dataset.places_of(fields)?, &make, &mut take);
                Ok(())
            }
            Selection::Extended(others) => {
                self.dataset.map_documents(fields, None, |row, texts| make(Some(row), texts), &mut take)?;
                let places = self.dataset.places_of(fields)?;
                others.iter().for_each(|documents| documents.map(&places, &make, &mut take));
                Ok(())
            }
        }
    }
}
