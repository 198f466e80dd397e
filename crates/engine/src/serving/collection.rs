//! A snapshot of the documents that are served.

use std::sync::Arc;

use arrow_array::temporal_conversions::timestamp_ms_to_datetime;
use foldhash::{HashMap, HashMapExt};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use serde_json::{Map, Value};

use super::base::BaseDocuments;
use super::filter::{Allowed, Filter};
use crate::dataset::{Attribute, AttributeCell, AttributeKind, Dataset, GivenDocument, GivenDocuments};
use crate::ingest::{attribute_cell, json_text};
use crate::json::Json;
use crate::scoring::Among;

/// A change of the documents that are served.
#[derive(Debug, Clone, PartialEq)]
pub enum DocumentChange {
    /// A new document, or a new version of one.
    Put {
        /// Id of the document.
        id: String,
        /// Fields by name: texts, numbers, lists of texts. Fields that no model reads are kept, too.
        fields: Map<String, Value>,
    },
    /// A document is removed.
    Delete {
        /// Id of the document.
        id: String,
    },
}

impl DocumentChange {
    /// Id of the document.
    pub fn id(&self) -> &str {
        match self {
            Self::Put { id, .. } | Self::Delete { id } => id,
        }
    }
}

/// Documents that were added or changed, in the order of their numbers.
pub(super) struct AddedDocuments {
    pub(super) documents: Arc<GivenDocuments>,
    /// Objects as they were given.
    pub(super) fields: Vec<Value>,
    numbers: HashMap<String, u32>,
}

/// A snapshot of the documents that are served, by number. See the [module](super).
#[derive(Clone)]
pub struct Collection {
    pub(super) base: Arc<BaseDocuments>,
    /// Chunks, each smaller than the one before.
    pub(super) chunks: Vec<Arc<AddedDocuments>>,
    /// A bit for every document that is there.
    live: Arc<Vec<u64>>,
    n_live: u32,
}

impl Collection {
    /// Reads the documents and clicks of a dataset into memory.
    pub fn open(dataset: Dataset, progress: &dyn Progress) -> Result<Self> {
        let base = BaseDocuments::read(dataset, progress)?;
        let n = base.len();
        let mut live = vec![!0u64; n as usize / 64];
        live.extend((!n.is_multiple_of(64)).then(|| (1 << (n % 64)) - 1));
        Ok(Self { base: Arc::new(base), chunks: Vec::new(), live: Arc::new(live), n_live: n })
    }

    /// The dataset below.
    pub fn dataset(&self) -> &Dataset {
        &self.base.dataset
    }

    /// Number of documents that are there.
    pub fn n_documents(&self) -> u32 {
        self.n_live
    }

    /// Number of documents that were added or changed since the dataset was made, hidden versions included.
    pub fn n_changed(&self) -> u32 {
        self.n_numbers() - self.base.len()
    }

    /// Number of chunks of documents that were added or changed. It grows with the logarithm of their number.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Numbers of documents, hidden ones included.
    pub(super) fn n_numbers(&self) -> u32 {
        self.base.len() + self.chunks.iter().map(|chunk| chunk.documents.len() as u32).sum::<u32>()
    }

    /// Number of the document with an id.
    pub fn find(&self, id: &str) -> Option<u32> {
        let mut first = self.n_numbers();
        for chunk in self.chunks.iter().rev() {
            first -= chunk.documents.len() as u32;
            if let Some(number) = chunk.numbers.get(id) {
                return Some(first + number).filter(|&number| self.is_live(number));
            }
        }
        self.base.ids.find(id).filter(|&number| self.is_live(number))
    }

    /// Id of a document.
    ///
    /// # Panics
    /// If there is no document of this number.
    pub fn id(&self, number: u32) -> &str {
        match self.place(number) {
            DocumentPlace::Base(row) => self.base.ids.get(row),
            DocumentPlace::Chunk(chunk, at) => chunk.documents.id(at),
        }
    }

    /// Returns true for a document without a training click in a dataset that has some.
    pub fn is_new(&self, number: u32) -> bool {
        self.row(number).map_or(self.base.clicks.queries().len() > 0, |row| self.base.is_new[row as usize])
    }

    /// Row of a document in the dataset.
    pub(super) fn row(&self, number: u32) -> Option<u32> {
        match self.place(number) {
            DocumentPlace::Base(row) => Some(row),
            DocumentPlace::Chunk(chunk, at) => chunk.documents.row(at),
        }
    }

    /// Fields of a document: its texts and attributes, and for documents that were added or changed all that was given.
    pub fn stored(&self, number: u32) -> Vec<(&str, Json)> {
        match self.place(number) {
            DocumentPlace::Base(row) => {
                let texts = self.base.dataset.manifest.fields.iter();
                let texts = texts.map(|(name, _)| (name, Json::from(self.base.text(row, name))));
                let attributes = self.base.dataset.attributes().iter().zip(self.base.cells(row));
                // A short text may be both.
                let is_text = |name: &str| self.base.dataset.manifest.fields.position(name).is_some();
                let attributes = attributes.filter(|(attribute, _)| !is_text(&attribute.name));
                let mut stored: Vec<(&str, Json)> = texts.collect();
                for (attribute, cell) in attributes {
                    stored
                        .extend(json_of(attribute, cell).map(|value| (attribute.name.as_str(), Json(value))));
                }
                stored
            }
            DocumentPlace::Chunk(chunk, at) => {
                let fields = chunk.fields[at as usize].as_object().into_iter().flatten();
                fields.map(|(name, value)| (name.as_str(), Json(value.clone()))).collect()
            }
        }
    }

    /// Text of a document in a field that models read.
    pub fn text(&self, number: u32, field: &str) -> &str {
        match self.place(number) {
            DocumentPlace::Base(row) => self.base.text(row, field),
            DocumentPlace::Chunk(chunk, at) => {
                let place = self.base.dataset.manifest.fields.position(field);
                place.map_or("", |place| &chunk.documents.texts(at)[place])
            }
        }
    }

    /// Attributes of a document, in the order of the manifest.
    pub(super) fn cells(&self, number: u32) -> Vec<AttributeCell> {
        match self.place(number) {
            DocumentPlace::Base(row) => self.base.cells(row),
            DocumentPlace::Chunk(chunk, at) => chunk.documents.attributes(at).to_vec(),
        }
    }

    /// Documents that a filter lets through.
    pub fn allowed(&self, filter: &Filter) -> Result<Allowed> {
        Allowed::new(self, filter)
    }

    /// Applies changes, in their order, and returns the new snapshot.
    pub fn with(&self, changes: &[DocumentChange]) -> Result<Self> {
        let mut latest: HashMap<&str, &DocumentChange> = HashMap::with_capacity(changes.len());
        for change in changes {
            latest.insert(change.id(), change);
        }
        let mut new = self.clone();
        let live = Arc::make_mut(&mut new.live);
        for &id in latest.keys() {
            if let Some(number) = self.find(id) {
                live[number as usize / 64] &= !(1 << (number % 64));
                new.n_live -= 1;
            }
        }
        // In the order of the changes, so that numbers do not depend on a hash.
        let mut put: Vec<(String, Value)> = Vec::new();
        for change in changes {
            if let DocumentChange::Put { id, fields } = change
                && latest.get(id.as_str()).is_some_and(|latest| std::ptr::eq(*latest, change))
            {
                check_id(id)?;
                put.push((id.clone(), Value::Object(fields.clone())));
            }
        }
        new.n_live += put.len() as u32;
        new.append(put);
        Ok(new)
    }

    /// Adds a chunk, together with the chunks before that are not larger.
    fn append(&mut self, put: Vec<(String, Value)>) {
        if put.is_empty() {
            return;
        }
        let mut first = self.n_numbers();
        let mut merged = put;
        while let Some(last) = self.chunks.last()
            && last.documents.len() <= merged.len()
        {
            let last = self.chunks.pop().expect("there is a last chunk");
            first -= last.documents.len() as u32;
            let kept = (0..last.documents.len() as u32).filter(|&at| is_set(&self.live, first + at));
            let kept = kept.map(|at| (last.documents.id(at).to_owned(), last.fields[at as usize].clone()));
            let mut kept: Vec<_> = kept.collect();
            kept.append(&mut merged);
            merged = kept;
        }
        let live = Arc::make_mut(&mut self.live);
        let n = first + merged.len() as u32;
        live.resize((n as usize).div_ceil(64), 0);
        // Bits from `first` on are those of the new chunk, which has no hidden document, and none behind it.
        (first..live.len() as u32 * 64).for_each(|number| {
            let bit = 1 << (number % 64);
            let word = &mut live[number as usize / 64];
            *word = if number < n { *word | bit } else { *word & !bit };
        });
        let base = &self.base;
        let names: Vec<&str> = base.dataset.manifest.fields.iter().map(|(name, _)| name).collect();
        let mut documents = GivenDocuments::default();
        let mut kept = Vec::with_capacity(merged.len());
        let mut numbers = HashMap::with_capacity(merged.len());
        for (at, (id, fields)) in (0..).zip(merged) {
            let texts = names.iter().map(|name| json_text(&fields, name).unwrap_or_default()).collect();
            numbers.insert(id.clone(), at);
            let row = base.ids.find(&id);
            let cell = |attribute: &Attribute| {
                attribute_cell(attribute, json_text(&fields, &attribute.name).as_deref())
            };
            let attributes = base.dataset.attributes().iter().map(cell).collect();
            documents.push(GivenDocument { id, texts, attributes, row });
            kept.push(fields);
        }
        self.chunks.push(Arc::new(AddedDocuments { documents: Arc::new(documents), fields: kept, numbers }));
    }

    /// The documents that are there.
    pub(super) fn live(&self) -> Among<'_> {
        Among::new(&self.live)
    }

    pub(super) fn live_words(&self) -> &[u64] {
        &self.live
    }

    fn is_live(&self, number: u32) -> bool {
        is_set(&self.live, number)
    }

    pub(super) fn place(&self, number: u32) -> DocumentPlace<'_> {
        let Some(mut at) = number.checked_sub(self.base.len()) else { return DocumentPlace::Base(number) };
        for chunk in &self.chunks {
            match at.checked_sub(chunk.documents.len() as u32) {
                Some(rest) => at = rest,
                None => return DocumentPlace::Chunk(chunk, at),
            }
        }
        panic!("there is no document {number}");
    }
}

/// Where a document is.
pub(super) enum DocumentPlace<'a> {
    /// Its row in the dataset.
    Base(u32),
    /// A chunk, and its number there.
    Chunk(&'a AddedDocuments, u32),
}

/// A value of an attribute; a date as text.
fn json_of(attribute: &Attribute, cell: AttributeCell) -> Option<Value> {
    match cell {
        AttributeCell::Missing => None,
        AttributeCell::Number(time) if attribute.kind == AttributeKind::Date => {
            timestamp_ms_to_datetime(time as i64).map(|time| time.and_utc().to_rfc3339().into())
        }
        AttributeCell::Number(number) => Some(number.into()),
        AttributeCell::Category(name) => Some(name.into()),
    }
}

fn is_set(words: &[u64], number: u32) -> bool {
    Among::new(words).holds(number)
}

/// Returns an error for an id that a run or a table could not hold.
fn check_id(id: &str) -> Result<()> {
    if id.is_empty() || id.contains(|c: char| c.is_whitespace() || c < ' ') {
        return Err(Error::Params(format!("the id {id:?} is empty or has blanks; give another")));
    }
    Ok(())
}
