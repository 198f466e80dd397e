//! Columns of attributes: price, age, brand and the like.
//!
//! | attribute | columns |
//! |---|---|
//! | number | its value |
//! | date | age in days, relative to the newest date of the dataset |
//! | category | 1 or 0 for each of its most frequent values, and whether the query contains the value |
//!
//! A query contains a value if all words of the value, as analysed, are in the query. A document without a value is
//! missing in all columns of the attribute: NaN, and 0 when standardised over the documents that have one.

use foldhash::HashMap;
use matchrank_core::Result;
use matchrank_core::progress::Progress;
use serde::{Deserialize, Serialize};

use crate::dataset::{AttributeColumn, AttributeKind, BoundDocuments, Dataset, GivenDocuments, NO_CATEGORY};
use crate::scoring::{AttributeValue, StackedAttribute};
use crate::text::Analyser;

/// Values of a category that have a column of their own, at most.
const MOST_VALUES: usize = 20;
const MILLISECONDS_OF_DAY: f64 = 86_400_000.0;

/// An attribute that a ranker has columns of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StackAttribute {
    /// Name of the attribute in the dataset.
    pub name: String,
    /// Kind of its values.
    pub kind: AttributeKind,
    /// Categories that have a column, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

impl StackAttribute {
    /// Returns the attributes of a dataset, with the most frequent values of its categories.
    pub fn all_of(dataset: &Dataset) -> Result<Vec<Self>> {
        let names: Vec<&str> = dataset.attributes().iter().map(|attribute| attribute.name.as_str()).collect();
        let columns = dataset.attribute_columns(&names, None)?;
        let of_column = |(attribute, column): (&crate::dataset::Attribute, AttributeColumn)| Self {
            name: attribute.name.clone(),
            kind: attribute.kind,
            values: most_frequent(&column),
        };
        Ok(dataset.attributes().iter().zip(columns).map(of_column).collect())
    }

    /// Names of its columns, without those of standardised values.
    pub(super) fn columns(&self) -> Vec<String> {
        let name = &self.name;
        match self.kind {
            AttributeKind::Number => vec![name.clone()],
            AttributeKind::Date => vec![format!("age by {name}, days")],
            AttributeKind::Category => {
                let values = self.values.iter().map(|value| format!("{name} = {value}"));
                values.chain([format!("query contains {name}")]).collect()
            }
        }
    }

    /// Number of its columns, without those of standardised values.
    pub(super) fn n_columns(&self) -> usize {
        match self.kind {
            AttributeKind::Number | AttributeKind::Date => 1,
            AttributeKind::Category => self.values.len() + 1,
        }
    }
}

/// Most frequent categories; of equally frequent ones the first by name.
fn most_frequent(column: &AttributeColumn) -> Vec<String> {
    let AttributeColumn::Category { codes, names } = column else { return Vec::new() };
    let mut counts = vec![0u32; names.len()];
    codes.iter().filter(|code| **code != NO_CATEGORY).for_each(|code| counts[*code as usize] += 1);
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&code| std::cmp::Reverse(counts[code]));
    order.into_iter().take(MOST_VALUES).map(|code| names[code].clone()).collect()
}

/// Attributes bound to documents.
pub(super) struct AttributeColumns<'a> {
    attributes: Vec<(&'a StackAttribute, BoundValues)>,
    dataset: &'a Dataset,
    /// Newest time of every date of the dataset.
    newest: Vec<f64>,
    analyser: Analyser,
    /// Numbers of the words of all categories.
    words: HashMap<String, u32>,
}

/// Values of an attribute, by document.
enum BoundValues {
    /// The dataset lacks the attribute.
    Absent,
    Numbers(Vec<f32>),
    Categories {
        codes: Vec<u32>,
        names: Vec<String>,
        /// Numbers of the words of each category.
        words: Vec<Vec<u32>>,
        /// Codes of the categories that have a column.
        shown: Vec<Option<u32>>,
    },
}

impl<'a> AttributeColumns<'a> {
    /// Reads the attributes of documents. A note names those that the dataset lacks.
    pub(super) fn bind(
        attributes: &'a [StackAttribute],
        documents: BoundDocuments<'a>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let dataset = documents.dataset;
        let (present, absent): (Vec<_>, Vec<_>) =
            attributes.iter().partition(|attribute| is_there(dataset, attribute));
        if !absent.is_empty() {
            let names: Vec<String> = absent
                .iter()
                .map(|attribute| format!("{} ({})", attribute.name, attribute.kind.name()))
                .collect();
            progress.note(&format!(
                "the documents lack attributes that the model was trained with, which are taken as missing: {}",
                names.join(", ")
            ));
        }
        let dates: Vec<&str> =
            present.iter().filter(|a| a.kind == AttributeKind::Date).map(|a| a.name.as_str()).collect();
        // Ages of some documents are those that they have among all.
        let newest = dataset.attribute_columns(&dates, None)?;
        let newest = newest.iter().map(|column| column.range().map_or(0.0, |(_, newest)| newest)).collect();
        let analyser = Analyser::new(&dataset.manifest.analyser)?;
        let words = HashMap::default();
        let unbound = Self { attributes: Vec::new(), dataset, newest, analyser, words };
        unbound.with(attributes.iter(), documents)
    }

    /// The attributes of other documents.
    pub(super) fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<AttributeColumns<'s>> {
        let unbound = AttributeColumns {
            attributes: Vec::new(),
            dataset: self.dataset,
            newest: self.newest.clone(),
            analyser: self.analyser.clone(),
            words: HashMap::default(),
        };
        let attributes = self.attributes.iter().map(|(attribute, _)| *attribute);
        unbound.with(attributes, BoundDocuments::given(self.dataset, documents))
    }

    fn with(
        self,
        attributes: impl Iterator<Item = &'a StackAttribute> + Clone,
        documents: BoundDocuments<'_>,
    ) -> Result<Self> {
        let mut bound = self;
        let present = attributes.clone().filter(|attribute| is_there(bound.dataset, attribute));
        let names: Vec<&str> = present.map(|attribute| attribute.name.as_str()).collect();
        let mut read = documents.attribute_columns(&names)?.into_iter();
        let mut newest = bound.newest.clone().into_iter();
        for attribute in attributes {
            let values = if is_there(bound.dataset, attribute) {
                match read.next().expect("a column for each attribute that is there") {
                    AttributeColumn::Number(values) => {
                        BoundValues::Numbers(values.into_iter().map(single).collect())
                    }
                    AttributeColumn::Date(values) => {
                        let newest = newest.next().expect("a newest date for each date");
                        let age = |time: f64| single((newest - time) / MILLISECONDS_OF_DAY);
                        BoundValues::Numbers(values.into_iter().map(age).collect())
                    }
                    column => bound.categories(attribute, column),
                }
            } else {
                BoundValues::Absent
            };
            bound.attributes.push((attribute, values));
        }
        Ok(bound)
    }

    fn categories(&mut self, attribute: &StackAttribute, column: AttributeColumn) -> BoundValues {
        let shown = attribute.values.iter().map(|value| column.code_of(value)).collect();
        let AttributeColumn::Category { codes, names } = column else { return BoundValues::Absent };
        let words = names.iter().map(|name| {
            let mut words = Vec::new();
            self.analyser.tokens(name, |word| {
                let next = self.words.len() as u32;
                words.push(*self.words.entry(word.to_owned()).or_insert(next));
            });
            words
        });
        let words = words.collect();
        BoundValues::Categories { codes, names, words, shown }
    }

    /// Number of columns, without those of standardised values.
    pub(super) fn len(&self) -> usize {
        self.attributes.iter().map(|(attribute, _)| attribute.n_columns()).sum()
    }

    /// Columns for a query and some documents; NaN without a value.
    pub(super) fn of(&self, query: &str, documents: &[u32]) -> Vec<Vec<f32>> {
        let query = self.words_of(query);
        let mut columns = Vec::with_capacity(self.len());
        for (attribute, values) in &self.attributes {
            match values {
                BoundValues::Absent => {
                    columns
                        .extend(std::iter::repeat_n(vec![f32::NAN; documents.len()], attribute.n_columns()));
                }
                BoundValues::Numbers(values) => {
                    columns.push(documents.iter().map(|&document| values[document as usize]).collect());
                }
                BoundValues::Categories { codes, words, shown, .. } => {
                    let column = |is: &dyn Fn(u32) -> bool| -> Vec<f32> {
                        let code = documents.iter().map(|&document| codes[document as usize]);
                        code.map(
                            |code| if code == NO_CATEGORY { f32::NAN } else { f32::from(u8::from(is(code))) },
                        )
                        .collect()
                    };
                    columns.extend(shown.iter().map(|shown| column(&|code| *shown == Some(code))));
                    columns.push(column(&|code| contains(&query, &words[code as usize])));
                }
            }
        }
        columns
    }

    /// Numbers of the words of a query that some category has, ascending.
    fn words_of(&self, query: &str) -> Vec<u32> {
        let mut numbers = Vec::new();
        self.analyser.tokens(query, |word| numbers.extend(self.words.get(word)));
        numbers.sort_unstable();
        numbers
    }

    /// Describes the attributes of a document, with what their columns add.
    pub(super) fn explained(&self, query: &str, document: u32, adds: &[f64]) -> Vec<StackedAttribute> {
        let (query, mut adds) = (self.words_of(query), adds.iter());
        let explained = self.attributes.iter().map(|(attribute, values)| {
            let adds = adds.by_ref().take(attribute.n_columns()).sum();
            let name = match attribute.kind {
                AttributeKind::Date => attribute.columns().remove(0),
                _ => attribute.name.clone(),
            };
            let (value, in_query) = match values {
                BoundValues::Absent => (None, None),
                BoundValues::Numbers(values) => {
                    let value = values[document as usize];
                    ((!value.is_nan()).then_some(AttributeValue::Number(value)), None)
                }
                BoundValues::Categories { codes, names, words, .. } => match codes[document as usize] {
                    NO_CATEGORY => (None, None),
                    code => {
                        let code = code as usize;
                        (
                            Some(AttributeValue::Category(names[code].clone())),
                            Some(contains(&query, &words[code])),
                        )
                    }
                },
            };
            StackedAttribute { attribute: name, value, in_query, adds }
        });
        explained.collect()
    }
}

/// Returns true if a dataset has an attribute of the kind that a model was trained with.
fn is_there(dataset: &Dataset, attribute: &StackAttribute) -> bool {
    dataset.attributes().iter().any(|own| own.name == attribute.name && own.kind == attribute.kind)
}

/// Returns true if there are words and a query, given by ascending numbers, has all of them.
fn contains(query: &[u32], words: &[u32]) -> bool {
    !words.is_empty() && words.iter().all(|word| query.binary_search(word).is_ok())
}

/// Rounds to single precision, within its range.
fn single(value: f64) -> f32 {
    value.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}
