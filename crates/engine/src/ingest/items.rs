//! Documents of Metarank: `item` events with a list of fields.

use std::borrow::Cow;

use matchrank_core::{Error, Result};
use serde_json::Value;

use super::documents::NOT_NAMED;
use super::fields::{FieldValues, MOST_FIELDS};
use super::table::{Table, TableRows};
use crate::dataset::{Attribute, IgnoredColumn};

/// Returns the text fields of Metarank's `item` events, and the other fields.
pub(super) fn item_fields(table: &Table, wanted: &[String]) -> Result<(Vec<String>, Vec<IgnoredColumn>)> {
    let too_many = || {
        let message =
            format!("the items have more than {MOST_FIELDS} text fields; name some with option `text`");
        Error::format(table.name(), message)
    };
    let (mut texts, mut others): (Vec<String>, Vec<String>) = Default::default();
    let add = |names: &mut Vec<String>, name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        if wanted.is_empty() && names.len() > MOST_FIELDS { Err(too_many()) } else { Ok(()) }
    };
    let work = |rows: &TableRows<'_>| {
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        rows.for_each_json(|_, event| {
            let fields = event["fields"].as_array().filter(|_| event["event"] == "item");
            for field in fields.into_iter().flatten() {
                let names = if item_text(&field["value"]).is_some() { &mut texts } else { &mut others };
                field["name"].as_str().map_or(Ok(()), |name| add(names, name))?;
            }
            Ok(())
        })?;
        Ok((texts, others))
    };
    table.read(&[], work, |(new_texts, new_others)| {
        new_texts.iter().try_for_each(|name| add(&mut texts, name))?;
        new_others.iter().try_for_each(|name| add(&mut others, name))
    })?;
    others.retain(|name| !texts.contains(name));
    let mut ignored: Vec<IgnoredColumn> =
        others.iter().map(|name| IgnoredColumn::new(name, "no text")).collect();
    if wanted.is_empty() {
        return Ok((texts, ignored));
    }
    let unnamed = texts.iter().filter(|name| !wanted.contains(name));
    ignored.extend(unnamed.map(|name| IgnoredColumn::new(name, NOT_NAMED)));
    Ok((wanted.to_vec(), ignored))
}

/// Returns the text of a field of an item: a string, or a list of strings.
fn item_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(items) if !items.is_empty() => {
            let texts = items.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
            Some(Cow::Owned(texts.join(" ")))
        }
        _ => None,
    }
}

/// Returns the value of a field of an item as a text; numbers and flags have one, too.
fn item_value<'a>(event: &'a Value, name: &str) -> Option<Cow<'a, str>> {
    let field = event["fields"].as_array()?.iter().find(|field| field["name"] == name)?;
    match &field["value"] {
        value @ (Value::Number(_) | Value::Bool(_)) => Some(Cow::Owned(value.to_string())),
        value => item_text(value),
    }
}

/// Returns the values of the attributes of an item.
pub(super) fn item_attributes<'a>(event: &'a Value, attributes: &[Attribute]) -> Vec<Option<Cow<'a, str>>> {
    let value =
        |attribute: &Attribute| item_value(event, &attribute.name).filter(|text| !text.trim().is_empty());
    attributes.iter().map(value).collect()
}

/// Returns the values of fields of the first items.
pub(super) fn first_values(table: &Table, names: &[String]) -> Result<Vec<FieldValues>> {
    let mut found: Vec<FieldValues> = names.iter().map(|_| FieldValues::default()).collect();
    let Some(rows) = table.first_rows(&[])? else { return Ok(found) };
    rows.for_each_json(|_, event| {
        if event["event"] == "item" {
            for (values, name) in found.iter_mut().zip(names) {
                values.add(item_value(event, name).as_deref().map(str::trim).filter(|text| !text.is_empty()));
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// Returns the id of an `item` event, and the texts of the wanted fields.
pub(super) fn item<'a>(
    file: &str,
    line: u64,
    event: &'a Value,
    fields: &[String],
) -> Result<(&'a str, Vec<Cow<'a, str>>)> {
    let id =
        event["item"].as_str().ok_or_else(|| Error::parse(file, line, "the item event has no item id"))?;
    let values = event["fields"].as_array();
    let text = |field: &String| {
        values
            .and_then(|values| values.iter().find(|v| v["name"] == field.as_str()))
            .and_then(|v| item_text(&v["value"]))
            .unwrap_or_default()
    };
    Ok((id, fields.iter().map(text).collect()))
}

#[cfg(test)]
mod tests {
    use super::super::delimiters::CsvRules;
    use super::*;

    #[test]
    fn items_with_ever_new_fields_are_refused() {
        let item = |i: usize| {
            format!(
                r#"{{"event": "item", "timestamp": "1", "item": "d{i}", "fields": [{{"name": "f{i}", "value": "x"}}]}}"#
            )
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("items.jsonl");
        std::fs::write(&path, (0..=MOST_FIELDS).map(|i| item(i) + "\n").collect::<String>()).unwrap();
        let error =
            item_fields(&Table::open(&path, CsvRules::default()).unwrap(), &[]).err().unwrap().to_string();
        assert!(error.contains("more than 63 text fields"), "{error}");
    }
}
