//! Models in words and numbers: what `train` and `inspect` print, written by the model itself.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::prose::to_json;

/// Describes a model to people (facts and remarks) and to programs (details).
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Description {
    /// Names and values, for a table of two columns.
    pub facts: Vec<(String, String)>,
    /// Texts and tables that follow the facts.
    pub remarks: Vec<Remark>,
    /// Details for programs.
    pub details: Details,
}

/// A text or a table that belongs to a description.
#[derive(Debug, Clone, PartialEq)]
pub enum Remark {
    /// A paragraph.
    Text(String),
    /// A table.
    Table {
        /// A sentence above the table; may be empty.
        title: String,
        /// Names of the columns.
        header: Vec<String>,
        /// Cells, row by row.
        rows: Vec<Vec<String>>,
    },
}

impl Remark {
    /// A table without a title.
    pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> Self {
        let header = header.iter().map(|&name| name.to_owned()).collect();
        Self::Table { title: String::new(), header, rows }
    }
}

/// Named values, nested to any depth, that serialise as a JSON object.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Details(Map<String, Value>);

impl Details {
    /// Sets a value.
    pub fn set(&mut self, name: &str, value: &impl Serialize) {
        self.0.insert(name.to_owned(), to_json(value));
    }

    /// Sets a value before all others.
    pub(crate) fn set_first(&mut self, name: &str, value: &impl Serialize) {
        self.0.shift_insert(0, name.to_owned(), to_json(value));
    }

    /// Removes a value.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }
}

impl Description {
    /// Adds a fact.
    pub fn fact(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.facts.push((name.into(), value.into()));
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.remarks.push(Remark::Text(text.into()));
    }

    /// Adds parameters by their names, as facts.
    pub(crate) fn params(&mut self, params: &impl Serialize) {
        let cell = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.as_f64().map_or(number.to_string(), |n| (n as f32).to_string()),
            other => other.to_string(),
        };
        if let Value::Object(params) = to_json(params) {
            self.facts.extend(params.iter().map(|(name, value)| (name.clone(), cell(value))));
        }
    }

    /// Adds the facts and remarks of a part of the model; the names of its facts get a prefix.
    pub(crate) fn part(&mut self, prefix: &str, part: Self) {
        self.facts.extend(part.facts.into_iter().map(|(name, value)| (format!("{prefix}{name}"), value)));
        self.remarks.extend(part.remarks);
    }
}

/// Figures that training or tuning reported on the way.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Curve {
    /// Name of the horizontal axis.
    pub x: String,
    /// Name of the vertical axis.
    pub y: String,
    /// The points, from left to right.
    pub points: Vec<[f64; 2]>,
    /// The place whose model was kept.
    pub kept: Option<f64>,
}

impl Curve {
    /// Points without a value are left out.
    pub(crate) fn new(
        x: &str,
        y: &str,
        points: impl IntoIterator<Item = (f64, Option<f64>)>,
        kept: Option<f64>,
    ) -> Self {
        let points = points.into_iter().filter_map(|(x, y)| Some([x, y?])).collect();
        Self { x: x.to_owned(), y: y.to_owned(), points, kept }
    }
}
