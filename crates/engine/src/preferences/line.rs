//! One preference as a line of text: a query, the better document, the worse document.
//!
//! Tab-separated, where documents are ids of a dataset, or texts:
//!
//! ```text
//! running shoes<TAB>d17<TAB>d4
//! running shoes<TAB>light trainers for runners<TAB>a hat for the sun
//! ```
//!
//! or JSON, which says what it has: `better` and `worse` are ids, `better_text` and `worse_text` a text, texts
//! by field, or words (as analysed) with their weights. A query is a text or words with weights.
//!
//! ```text
//! {"query": "running shoes", "better": "d17", "worse": "d4"}
//! {"query": "running shoes", "better_text": {"title": "light trainers"}, "worse": "d4"}
//! {"query": {"run": 0.4, "shoe": 0.9}, "better_text": {"trainer": 1.0}, "worse_text": "a hat"}
//! ```

use serde_json::Value;

/// A query or a document, as a line gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given {
    /// The id of a document.
    Id(String),
    /// A text.
    Text(String),
    /// Texts by field.
    Fields(Vec<(String, String)>),
    /// Words with weights.
    Words(Vec<(String, f32)>),
}

/// A preference, as a line gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Preference {
    pub(super) query: Given,
    pub(super) better: Given,
    pub(super) worse: Given,
}

/// Parses a line, or returns what is wrong with it. `texts`: documents of tab-separated lines are texts, not ids.
pub(super) fn parse(line: &str, texts: bool) -> Result<Preference, String> {
    if line.trim_start().starts_with('{') {
        return parse_json(line);
    }
    let cells: Vec<&str> = line.split('\t').collect();
    let [query, better, worse] = cells[..] else {
        return Err(format!(
            "{} columns separated by tabs, where 3 are expected: query, better document, worse document",
            cells.len()
        ));
    };
    let document =
        |cell: &str| if texts { Given::Text(cell.to_owned()) } else { Given::Id(cell.trim().to_owned()) };
    Ok(Preference { query: Given::Text(query.to_owned()), better: document(better), worse: document(worse) })
}

/// Returns an error if a line of JSON is no preference.
pub fn check_line(line: &str) -> Result<(), String> {
    parse_json(line).map(drop)
}

fn parse_json(line: &str) -> Result<Preference, String> {
    let mut value: Value = serde_json::from_str(line).map_err(|e| {
        let number = ["NaN", "Infinity"].into_iter().find(|name| line.contains(name));
        match number {
            Some(name) => format!("{name} is no number in JSON ({e})"),
            None => format!("is not valid JSON ({e})"),
        }
    })?;
    let query = given(value["query"].take(), "query")?.ok_or("has no \"query\"")?;
    let mut document = |name: &str| -> Result<Given, String> {
        let (id, text) = (value[name].take(), value[format!("{name}_text")].take());
        match (id, given(text, &format!("{name}_text"))?) {
            (Value::Null, Some(text)) => Ok(text),
            (Value::Null, None) => Err(format!("has neither \"{name}\" (an id) nor \"{name}_text\"")),
            (Value::String(id), None) => Ok(Given::Id(id)),
            (Value::Number(id), None) => Ok(Given::Id(id.to_string())),
            (_, Some(_)) => Err(format!("has both \"{name}\" and \"{name}_text\"; one is expected")),
            (other, None) => Err(format!("\"{name}\" is {other}; the id of a document is expected")),
        }
    };
    let (better, worse) = (document("better")?, document("worse")?);
    Ok(Preference { query, better, worse })
}

/// A text, texts by field, or words with weights; none where the key is absent.
fn given(value: Value, key: &str) -> Result<Option<Given>, String> {
    let wrong = || format!("\"{key}\" is neither a text, nor texts by field, nor words with weights");
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(Given::Text(text))),
        Value::Object(entries) if entries.values().all(Value::is_string) && !entries.is_empty() => {
            let text = |(name, value): (String, Value)| (name, value.as_str().unwrap_or_default().to_owned());
            Ok(Some(Given::Fields(entries.into_iter().map(text).collect())))
        }
        Value::Object(entries) => {
            let word = |(word, value): (String, Value)| {
                let weight = value.as_f64().map(|weight| weight as f32).filter(|weight| weight.is_finite());
                weight.map(|weight| (word, weight)).ok_or_else(wrong)
            };
            Ok(Some(Given::Words(entries.into_iter().map(word).collect::<Result<_, _>>()?)))
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_what_they_have() {
        let text = |text: &str| Given::Text(text.into());
        let id = |id: &str| Given::Id(id.into());
        let parsed = parse("red shoes\td1\td2", false).unwrap();
        assert_eq!(parsed, Preference { query: text("red shoes"), better: id("d1"), worse: id("d2") });
        assert_eq!(parse("a\tb c\td", true).unwrap().better, text("b c"));
        let parsed =
            parse(r#"{"query":{"a":0.5},"better_text":{"title":"b"},"worse":7,"time":1}"#, true).unwrap();
        assert_eq!(parsed.query, Given::Words(vec![("a".into(), 0.5)]));
        assert_eq!(parsed.better, Given::Fields(vec![("title".into(), "b".into())]));
        assert_eq!(parsed.worse, id("7"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let refused = |line: &str, expected: &str| {
            let error = parse(line, false).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        };
        refused("a\tb", "2 columns");
        refused("a\tb\tc\td", "4 columns");
        refused(r#"{"query":{"a":NaN},"better":"b","worse":"c"}"#, "NaN is no number");
        refused(r#"{"query":{"a":1e999},"better":"b","worse":"c"}"#, "number out of range");
        refused(r#"{"query":{"a":1e99},"better":"b","worse":"c"}"#, "words with weights");
        refused(r#"{"query":"a","better":"b""#, "not valid JSON");
        refused(r#"{"query":"a","better":"b"}"#, r#"neither "worse""#);
        refused(r#"{"query":"a","better":"b","better_text":"b","worse":"c"}"#, "both");
        refused(r#"{"query":["a"],"better":"b","worse":"c"}"#, "\"query\" is neither");
        refused(r#"{"better":"b","worse":"c"}"#, "no \"query\"");
        refused(r#"{"query":"a","better":{"id":"b"},"worse":"c"}"#, "the id of a document");
    }
}
