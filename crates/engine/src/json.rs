//! JSON values in the public interface, so that no other crate's type is part of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::prose::to_json;

/// A value as JSON has it: a number, a text, a truth value, a list or an object.
///
/// ```
/// use matchrank_engine::json::Json;
///
/// assert_eq!(Json::of(&0.5).as_f64(), Some(0.5));
/// assert_eq!(Json::parse("log").as_str(), Some("log"));
/// assert_eq!(Json::parse("{\"d\": 100}").field("d").and_then(|d| d.as_u64()), Some(100));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(pub(crate) Value);

impl Json {
    /// Converts plain data.
    pub fn of(value: &impl Serialize) -> Self {
        Self(to_json(value))
    }

    /// Reads a value as people type it: JSON where it is JSON, and a text otherwise.
    pub fn parse(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())))
    }

    /// Returns a number.
    pub fn as_f64(&self) -> Option<f64> {
        self.0.as_f64()
    }

    /// Returns a whole number, 0 or more.
    pub fn as_u64(&self) -> Option<u64> {
        self.0.as_u64()
    }

    /// Returns a text.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_str()
    }

    /// Returns a field of an object.
    pub fn field(&self, name: &str) -> Option<Self> {
        self.0.get(name).cloned().map(Self)
    }

    /// Writes the value as people type it: texts without quotes, 1 for 1.0.
    pub fn plain(&self) -> String {
        match &self.0 {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.as_f64().map_or(number.to_string(), |number| number.to_string()),
            other => other.to_string(),
        }
    }
}

impl From<Json> for Value {
    fn from(value: Json) -> Self {
        value.0
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<u32> for Json {
    fn from(number: u32) -> Self {
        Self(number.into())
    }
}
