//! Documents that are in no dataset, or changed since: candidates of a request, additions to a catalogue.

use rayon::prelude::*;

use super::AttributeCell;

/// Documents below which one thread is faster than several.
const PARALLEL: usize = 64;

/// A document that is given.
#[derive(Debug, Clone, Default)]
pub struct GivenDocument {
    /// Its id; empty if it has none.
    pub id: String,
    /// A text for each text field of the dataset, in the order of its manifest.
    pub texts: Vec<String>,
    /// A value for each attribute of the dataset, in the order of its manifest; attributes beyond the last are missing.
    pub attributes: Vec<AttributeCell>,
    /// Row in the dataset of the document whose clicks it has.
    pub row: Option<u32>,
}

/// Documents that are given, by number.
#[derive(Debug, Clone, Default)]
pub struct GivenDocuments {
    documents: Vec<GivenDocument>,
}

impl GivenDocuments {
    /// Adds a document.
    pub fn push(&mut self, document: GivenDocument) {
        self.documents.push(document);
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns true if there is no document.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Id of a document.
    pub fn id(&self, document: u32) -> &str {
        &self.documents[document as usize].id
    }

    /// Texts of a document by field.
    pub fn texts(&self, document: u32) -> &[String] {
        &self.documents[document as usize].texts
    }

    /// Values that a document has for the attributes of the dataset.
    pub(crate) fn attributes(&self, document: u32) -> &[AttributeCell] {
        &self.documents[document as usize].attributes
    }

    /// Row of a document in the dataset.
    pub fn row(&self, document: u32) -> Option<u32> {
        self.documents[document as usize].row
    }

    /// Values of an attribute of the dataset, given by its place in the manifest.
    pub(super) fn cells(&self, place: usize) -> impl Iterator<Item = &AttributeCell> {
        self.documents
            .iter()
            .map(move |document| document.attributes.get(place).unwrap_or(&AttributeCell::Missing))
    }

    /// Makes something of every document from the texts in some places; `take` gets what was made, in order.
    pub(super) fn map<T: Send>(
        &self,
        places: &[usize],
        make: &(impl Fn(Option<u32>, &[&str]) -> T + Sync),
        take: &mut impl FnMut(T),
    ) {
        let make = |document: usize| {
            let texts: Vec<&str> =
                places.iter().map(|&place| self.documents[document].texts[place].as_str()).collect();
            make(self.documents[document].row, &texts)
        };
        if self.len() < PARALLEL {
            (0..self.len()).map(make).for_each(take);
        } else {
            let made: Vec<T> = (0..self.len()).into_par_iter().map(make).collect();
            made.into_iter().for_each(take);
        }
    }
}
