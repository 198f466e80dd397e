//! Filters over the stored fields of documents.

use std::collections::BTreeMap;

use matchrank_core::{Error, Result};
use serde::Deserialize;
use serde_json::Value;

use super::collection::{Collection, Place};
use crate::scoring::Among;

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

/// Bounds of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    gte: Option<f64>,
    gt: Option<f64>,
    lte: Option<f64>,
    lt: Option<f64>,
}

impl Range {
    fn holds(&self, value: f64) -> bool {
        self.gte.is_none_or(|bound| value >= bound)
            && self.gt.is_none_or(|bound| value > bound)
            && self.lte.is_none_or(|bound| value <= bound)
            && self.lt.is_none_or(|bound| value < bound)
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

    fn of_value(&self, value: &Value) -> bool {
        match value {
            Value::Array(values) => values.iter().any(|value| self.of_value(value)),
            Value::String(text) => self.of_text(text),
            Value::Bool(value) => self.of_text(if *value { "true" } else { "false" }),
            Value::Number(number) => self.of_text(&number.to_string()),
            Value::Null | Value::Object(_) => false,
        }
    }

    /// Returns an error for a condition that no document could meet.
    fn check(&self, field: &str) -> Result<()> {
        let is_value = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
        let wrong = |what: &str| Err(Error::Params(format!("the filter of {field:?} {what}")));
        match self {
            Self::Range(Range { gte: None, gt: None, lte: None, lt: None }) => {
                wrong("has no bound; give gte, gt, lte or lt")
            }
            Self::Any(values) if values.is_empty() => wrong("lists no value"),
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
        let fields = &collection.dataset().manifest.fields;
        for (field, condition) in &filter.conditions {
            condition.check(field)?;
            let is_given = collection
                .chunks
                .iter()
                .any(|chunk| chunk.fields.iter().any(|fields| fields.get(field).is_some()));
            if fields.position(field).is_none() && !is_given {
                let known: Vec<&str> = fields.iter().map(|(name, _)| name).collect();
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
                if filter.conditions.iter().all(|(field, condition)| match collection.place(number) {
                    Place::Base(row) => condition.of_text(collection.base.text(row, field)),
                    Place::Chunk(chunk, at) => {
                        chunk.fields[at as usize].get(field).is_some_and(|value| condition.of_value(value))
                    }
                }) {
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
