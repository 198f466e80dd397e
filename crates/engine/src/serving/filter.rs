//! Filters over the stored fields of documents.

use std::collections::BTreeMap;

use matchrank_core::{Error, Result};
use serde::Deserialize;
use serde_json::Value;

use super::collection::{Collection, DocumentPlace};
use crate::dataset::{AttributeCell, AttributeKind};
use crate::ingest::parse_date;
use crate::scoring::Among;

/// Conditions of a filter.
const MOST_CONDITIONS: usize = 20;
/// Values of a condition.
const MOST_VALUES: usize = 100;

/// Conditions on stored fields, which must all hold: a value, several values of which one must be there, or a range.
///
/// ```json
/// {"brand": "acme", "colour": ["red", "blue"], "price": {"gte": 10, "lt": 50}}
/// ```
///
/// A field with several values meets a condition if one of them does. Texts are compared as they are stored, and a text that
/// is a number meets conditions on numbers. A document without the field meets none.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Filter {
    conditions: BTreeMap<String, Condition>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Condition {
    Range(Range),
    Any(Vec<Value>),
    One(Value),
}

/// Bounds of numbers or dates.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    gte: Option<Bound>,
    gt: Option<Bound>,
    lte: Option<Bound>,
    lt: Option<Bound>,
}

/// A number, or a date as text.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Bound {
    Number(f64),
    Date(String),
}

impl Bound {
    /// The number, or the milliseconds since 1970; none for a text that is no date.
    fn value(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Date(text) => parse_date(text).map(|time| time as f64),
        }
    }
}

impl Range {
    fn bounds(&self) -> impl Iterator<Item = &Bound> {
        [&self.gte, &self.gt, &self.lte, &self.lt].into_iter().flatten()
    }

    fn holds(&self, value: f64) -> bool {
        let meets = |bound: &Option<Bound>, is: fn(f64, f64) -> bool| {
            bound.as_ref().is_none_or(|bound| bound.value().is_some_and(|bound| is(value, bound)))
        };
        meets(&self.gte, |value, bound| value >= bound)
            && meets(&self.gt, |value, bound| value > bound)
            && meets(&self.lte, |value, bound| value <= bound)
            && meets(&self.lt, |value, bound| value < bound)
    }
}

impl Condition {
    fn of_text(&self, text: &str) -> bool {
        let number = || text.trim().parse::<f64>().ok();
        let is = |wanted: &Value| match wanted {
            Value::String(wanted) => wanted == text,
            Value::Bool(wanted) => wanted.to_string() == text,
            wanted => wanted.as_f64().is_some_and(|wanted| number() == Some(wanted)),
        };
        !text.is_empty()
            && match self {
                Self::Range(range) => number().is_some_and(|number| range.holds(number)),
                Self::Any(wanted) => wanted.iter().any(is),
                Self::One(wanted) => is(wanted),
            }
    }

    /// By the value of an attribute; dates are compared with dates as texts.
    fn of_cell(&self, kind: AttributeKind, cell: &AttributeCell) -> bool {
        let is = |value: f64, wanted: &Value| match wanted {
            Value::String(text) if kind == AttributeKind::Date => parse_date(text) == Some(value as i64),
            Value::String(text) => text.trim().parse() == Ok(value),
            wanted => wanted.as_f64() == Some(value),
        };
        match (cell, self) {
            (AttributeCell::Missing, _) => false,
            (AttributeCell::Category(name), _) => self.of_text(name),
            (AttributeCell::Number(value), Self::Range(range)) => range.holds(*value),
            (AttributeCell::Number(value), Self::Any(wanted)) => {
                wanted.iter().any(|wanted| is(*value, wanted))
            }
            (AttributeCell::Number(value), Self::One(wanted)) => is(*value, wanted),
        }
    }

    fn of_value(&self, value: &Value) -> bool {
        match value {
            Value::Array(values) => values.iter().any(|value| self.of_value(value)),
            Value::String(text) => self.of_text(text),
            Value::Bool(value) => self.of_text(if *value { "true" } else { "false" }),
            Value::Number(number) => self.of_text(&number.to_string()),
            Value::Null | Value::Object(_) => false,
        }
    }

    /// Returns an error for a condition that no document could meet, or that takes long to check.
    fn check(&self, field: &str) -> Result<()> {
        let is_value = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
        let wrong = |what: &str| Err(Error::Params(format!("the filter of {field:?} {what}")));
        match self {
            Self::Range(range) if range.bounds().next().is_none() => {
                wrong("has no bound; give gte, gt, lte or lt")
            }
            Self::Range(range) if range.bounds().any(|bound| bound.value().is_none()) => {
                wrong("has a bound that is no number and no date such as 2026-01-31")
            }
            Self::Any(values) if values.is_empty() => wrong("lists no value"),
            Self::Any(values) if values.len() > MOST_VALUES => {
                wrong(&format!("lists {} values; at most {MOST_VALUES} are possible", values.len()))
            }
            Self::Any(values) if !values.iter().all(is_value) => {
                wrong("has a value that is no text or number")
            }
            Self::One(value) if !is_value(value) => {
                wrong("is no text, number, list of them, or range (gte, gt, lte, lt)")
            }
            _ => Ok(()),
        }
    }
}

/// Documents of a collection that a filter lets through.
#[derive(Debug, Clone)]
pub struct Allowed {
    words: Vec<u64>,
    n: u32,
}

impl Allowed {
    pub(super) fn new(collection: &Collection, filter: &Filter) -> Result<Self> {
        if filter.conditions.len() > MOST_CONDITIONS {
            return Err(Error::Params(format!(
                "the filter has {} conditions; at most {MOST_CONDITIONS} are possible",
                filter.conditions.len()
            )));
        }
        let fields = &collection.dataset().manifest.fields;
        let attributes = collection.dataset().attributes();
        let attribute = |field: &str| attributes.iter().position(|attribute| attribute.name == field);
        let conditions: Vec<(&str, &Condition, Option<usize>)> = filter
            .conditions
            .iter()
            .map(|(field, condition)| (field.as_str(), condition, attribute(field)))
            .collect();
        for (field, condition) in &filter.conditions {
            condition.check(field)?;
            let is_given = collection
                .chunks
                .iter()
                .any(|chunk| chunk.fields.iter().any(|fields| fields.get(field).is_some()));
            if fields.position(field).is_none() && attribute(field).is_none() && !is_given {
                let names = collection.dataset().attributes().iter().map(|attribute| attribute.name.as_str());
                let mut known: Vec<&str> = fields.iter().map(|(name, _)| name).chain(names).collect();
                known.dedup();
                return Err(Error::Params(format!(
                    "the filter names the field {field:?}, which no document has; stored fields are {}",
                    known.join(", ")
                )));
            }
        }
        let mut words = collection.live_words().to_vec();
        let mut n = 0;
        for (at, word) in words.iter_mut().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let number = at as u32 * 64 + bit;
                let meets = |&(field, condition, place): &(&str, &Condition, Option<usize>)| match (
                    collection.place(number),
                    place,
                ) {
                    (DocumentPlace::Base(row), Some(place)) => condition
                        .of_cell(attributes[place].kind, &collection.base.attributes[place].cell(row)),
                    (DocumentPlace::Base(row), None) => condition.of_text(collection.base.text(row, field)),
                    (DocumentPlace::Chunk(chunk, at), Some(place)) => {
                        condition.of_cell(attributes[place].kind, &chunk.documents.attributes(at)[place])
                    }
                    (DocumentPlace::Chunk(chunk, at), None) => {
                        chunk.fields[at as usize].get(field).is_some_and(|value| condition.of_value(value))
                    }
                };
                if conditions.iter().all(meets) {
                    n += 1;
                } else {
                    *word &= !(1 << bit);
                }
            }
        }
        Ok(Self { words, n })
    }

    /// Number of documents.
    pub fn len(&self) -> u32 {
        self.n
    }

    /// Returns true if the filter lets no document through.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    pub(super) fn among(&self) -> Among<'_> {
        Among::new(&self.words)
    }
}
