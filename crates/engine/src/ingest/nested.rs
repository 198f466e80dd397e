//! Nested JSON objects as rows of text fields: a field inside of objects, or of a list of objects, has a dotted name.
//!
//! `{"name": {"en": "shoe"}, "categories": [{"name": "sport"}, {"name": "men"}]}` has the fields `name.en` and
//! `categories.name`; the text of the second is `sport men`. A list of strings or numbers is one text, too. Lists of
//! lists have no text.

use foldhash::HashSet;
use matchrank_core::{Error, Result};
use serde_json::Value;

/// Dotted names of the fields of JSON objects, each once, in order of appearance.
#[derive(Default)]
pub(super) struct JsonFields {
    pub(super) names: Vec<String>,
    /// Names of values that have no text.
    pub(super) nested: Vec<String>,
    known: HashSet<String>,
}

impl JsonFields {
    /// Adds the fields of an object.
    pub(super) fn add(&mut self, value: &Value) {
        self.add_below("", value);
    }

    fn add_below(&mut self, prefix: &str, value: &Value) {
        let Value::Object(map) = value else { return };
        for (key, inner) in map {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            self.add_value(path, inner);
        }
    }

    fn add_value(&mut self, path: String, value: &Value) {
        match value {
            Value::Object(_) => self.add_below(&path, value),
            Value::Array(items) if items.iter().any(Value::is_array) => {
                if self.known.insert(path.clone()) {
                    self.nested.push(path);
                }
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                items.iter().for_each(|item| self.add_below(&path, item));
            }
            _ => {
                if self.known.insert(path.clone()) {
                    self.names.push(path);
                }
            }
        }
    }
}

/// Parses the object of a line.
pub(super) fn json_object(file: &str, line: u64, text: &str) -> Result<Value> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        _ if text.trim_start().starts_with('[') => Err(Error::parse(
            file,
            line,
            "a JSON object per line is expected, and this is a list; write one object per line, for example with `jq -c '.[]'`",
        )),
        Ok(_) => {
            Err(Error::parse(file, line, "a JSON object per line is expected, such as {\"query\": \"...\"}"))
        }
        Err(e) => {
            let what = e.to_string();
            let what = what.split(" at line ").next().unwrap_or_default();
            Err(Error::parse(file, line, format!("not valid JSON at column {}: {what}", e.column())))
        }
    }
}

/// Returns the value at a dotted name as text; the parts of a list are joined by a blank.
pub(crate) fn json_text(value: &Value, path: &str) -> Option<String> {
    if let Some(Value::String(text)) = value.get(path) {
        return Some(text.clone());
    }
    let mut text = String::new();
    add_texts(value, path, &mut text);
    Some(text).filter(|text| !text.is_empty())
}

/// Adds the texts at a dotted name. Names of fields may have dots, so the longest name counts.
fn add_texts(value: &Value, path: &str, text: &mut String) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_texts(item, path, text)),
        Value::Object(map) => {
            if let Some(found) = map.get(path) {
                add_leaf(found, text);
                return;
            }
            let ends = path.match_indices('.').map(|(at, _)| at);
            let inner = ends.rev().find_map(|at| map.get(&path[..at]).map(|inner| (inner, &path[at + 1..])));
            if let Some((inner, rest)) = inner {
                add_texts(inner, rest, text);
            }
        }
        _ => {}
    }
}

fn add_leaf(value: &Value, text: &mut String) {
    let part = match value {
        Value::Null | Value::Object(_) => return,
        Value::String(part) => part.as_str(),
        Value::Array(items) => {
            items.iter().filter(|item| !item.is_array()).for_each(|item| add_leaf(item, text));
            return;
        }
        Value::Bool(_) | Value::Number(_) => &value.to_string(),
    };
    if !text.is_empty() && !part.is_empty() {
        text.push(' ');
    }
    text.push_str(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_fields_have_dotted_names_and_lists_are_joined() {
        let value = json_object(
            "products.jsonl",
            1,
            r#"{"id": 7, "name": {"en": "shoe", "de": "Schuh"}, "categories": [{"id": 1, "name": "sport"}, {"name": "men"}],
                "tags": ["red", 42, null], "grid": [[1, 2]], "a.b": "dotted", "c": {"d.e": true}, "none": null}"#,
        )
        .unwrap();
        let mut fields = JsonFields::default();
        fields.add(&value);
        fields.add(&value);
        let mut names = fields.names.clone();
        names.sort();
        assert_eq!(
            names,
            ["a.b", "c.d.e", "categories.id", "categories.name", "id", "name.de", "name.en", "none", "tags"]
        );
        assert_eq!(fields.nested, ["grid"]);
        for (path, expected) in [
            ("id", Some("7")),
            ("name.en", Some("shoe")),
            ("name", None),
            ("categories.name", Some("sport men")),
            ("categories.id", Some("1")),
            ("tags", Some("red 42")),
            ("grid", None),
            ("a.b", Some("dotted")),
            ("c.d.e", Some("true")),
            ("none", None),
            ("missing.x", None),
        ] {
            assert_eq!(json_text(&value, path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_list_of_objects_is_refused_with_advice() {
        for text in ["[", "[{\"id\": 1}]"] {
            let error = json_object("products.json", 1, text).unwrap_err().to_string();
            assert!(error.contains("one object per line, for example with `jq -c '.[]'`"), "{error}");
        }
    }
}
