//! Documents that are in no dataset, or changed since: candidates of a request, additions to a catalogue.

use rayon::prelude::*;

/// Documents below which one thread is faster than several.
const PARALLEL: usize = 64;

/// Documents with their texts, one for each text field of a dataset, in the order of its manifest.
#[derive(Debug, Clone, Default)]
pub struct GivenDocuments {
    ids: Vec<String>,
    /// Texts of a document, one after the other.
    texts: Vec<Vec<String>>,
    rows: Vec<Option<u32>>,
}

impl GivenDocuments {
    /// Adds a document: its id, its texts by field, and its row in the dataset whose clicks it keeps, if it has one.
    pub fn push(&mut self, id: String, texts: Vec<String>, row: Option<u32>) {
        self.ids.push(id);
        self.texts.push(texts);
        self.rows.push(row);
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns true if there is no document.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Id of a document.
    pub fn id(&self, document: u32) -> &str {
        &self.ids[document as usize]
    }

    /// Texts of a document by field.
    pub fn texts(&self, document: u32) -> &[String] {
        &self.texts[document as usize]
    }

    /// Row of a document in the dataset.
    pub fn row(&self, document: u32) -> Option<u32> {
        self.rows[document as usize]
    }

    /// Makes something of every document from the texts in some places; `take` gets what was made, in order.
    pub(super) fn map<T: Send>(
        &self,
        places: &[usize],
        make: &(impl Fn(Option<u32>, &[&str]) -> T + Sync),
        take: &mut impl FnMut(T),
    ) {
        let make = |document: usize| {
            let texts: Vec<&str> = places.iter().map(|&place| self.texts[document][place].as_str()).collect();
            make(self.rows[document], &texts)
        };
        if self.len() < PARALLEL {
            (0..self.len()).map(make).for_each(take);
        } else {
            let made: Vec<T> = (0..self.len()).into_par_iter().map(make).collect();
            made.into_iter().for_each(take);
        }
    }
}
