//! Documents as requests give them: by id, by text, by fields, or by features.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, SchemaType, Type,
};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::failure::Failure;
use crate::fleet::Snapshot;
use crate::listed::Listed;
use crate::service::Service;
use matchrank_engine::serving::Candidate;

/// A document of a request. An id that the collection knows stands for the stored document with its clicks; texts are used
/// for all others.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GivenDocument {
    /// Id, if one was given.
    pub(crate) id: Option<String>,
    /// Text without a field.
    pub(crate) text: Option<String>,
    /// Texts by field.
    pub(crate) fields: Vec<(String, String)>,
    /// Features by column, for rankers.
    pub(crate) features: Option<Vec<(u32, f32)>>,
    /// True for a string in place of an object: a text, or an id where a route takes ids.
    pub(crate) is_string: bool,
}

impl<'de> Deserialize<'de> for GivenDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DocumentVisitor)
    }
}

/// Returns the candidates of a request; a string among them is an id.
pub(crate) fn candidates(listed: Listed<GivenDocument>) -> Result<Vec<GivenDocument>, Failure> {
    Ok(listed.items("candidates")?.into_iter().map(GivenDocument::by_id).collect())
}

impl ToSchema for GivenDocument {}

impl PartialSchema for GivenDocument {
    fn schema() -> RefOr<Schema> {
        let named = ObjectBuilder::new()
            .property("name", Object::with_type(Type::String))
            .property("value", Object::with_type(SchemaType::AnyValue))
            .required("name")
            .required("value");
        let fields = one_of([
            Object::new().into(),
            ArrayBuilder::new().items(named).description(Some("Metarank's list of names and values")).into(),
        ]);
        let feature = || Object::with_type(SchemaType::from_iter([Type::Number, Type::Null]));
        let by_number = ObjectBuilder::new()
            .additional_properties(Some(AdditionalProperties::RefOr(feature().into())))
            .description(Some("Values by number of the feature, from 1"));
        let features = one_of([ArrayBuilder::new().items(feature()).into(), by_number.into()]);
        let id = SchemaType::from_iter([Type::String, Type::Number, Type::Null]);
        let object = ObjectBuilder::new()
            .property("id", Object::with_type(id))
            .property("text", Object::with_type(SchemaType::from_iter([Type::String, Type::Null])))
            .property("fields", fields)
            .property("features", features)
            .description(Some("A document; properties of other names are fields of it"));
        let string = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("A text or, where a route takes ids, an id"));
        one_of([string.into(), object.into()]).into()
    }
}

fn one_of(choices: [Schema; 2]) -> Schema {
    let choices = choices.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item);
    Schema::OneOf(choices.build())
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = GivenDocument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or an object with `id`, `text`, fields or `features`")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GivenDocument, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<GivenDocument, E> {
        Ok(GivenDocument { text: Some(text), is_string: true, ..GivenDocument::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<GivenDocument, A::Error> {
        let mut given = GivenDocument::default();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "id" => given.id = id(map.next_value()?).map_err(A::Error::custom)?,
                "text" => given.text = map.next_value()?,
                _ => match (name.as_str(), map.next_value::<Value>()?) {
                    // A text of this name is a field like any other.
                    (_, text @ Value::String(_)) => given.add_field(name, text),
                    ("features", value) => given.features = Some(features(value).map_err(A::Error::custom)?),
                    ("fields", value) => given.add_fields(value),
                    (_, value) => given.add_field(name, value),
                },
            }
        }
        Ok(given)
    }
}

impl GivenDocument {
    /// Adds fields: an object, or Metarank's list of names and values.
    fn add_fields(&mut self, fields: Value) {
        match fields {
            Value::Object(fields) => fields.into_iter().for_each(|(name, value)| self.add_field(name, value)),
            Value::Array(fields) => {
                for mut field in fields {
                    if let Some(name) = field["name"].as_str().map(str::to_owned) {
                        self.add_field(name, field["value"].take());
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds a text, the texts of a list, or a number as a feature if its name is the number of one. Other values say nothing
    /// about relevance.
    fn add_field(&mut self, name: String, value: Value) {
        match value {
            Value::String(text) => self.fields.push((name, text)),
            Value::Array(texts) => {
                let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
                if !texts.is_empty() {
                    self.fields.push((name, texts.join(" ")));
                }
            }
            Value::Number(value) => {
                if let (Some(column), Some(value)) = (column(&name), value.as_f64()) {
                    self.features.get_or_insert_default().push((column, value as f32));
                }
            }
            _ => {}
        }
    }

    /// Takes a document that was given as a string for an id.
    pub(crate) fn by_id(mut self) -> Self {
        if self.is_string {
            self.id = self.text.take();
        }
        self
    }

    /// Returns true if both are one document: of the same id or, without ids, of the same content.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let content = |document: &Self| {
            // Features may be NaN, which is unlike itself.
            let features = document.features.as_ref();
            features.map(|of| of.iter().map(|(column, value)| (*column, value.to_bits())).collect::<Vec<_>>())
        };
        match (&self.id, &other.id) {
            (None, None) => {
                (&self.text, &self.fields) == (&other.text, &other.fields) && content(self) == content(other)
            }
            (own, other) => own == other,
        }
    }

    /// Returns an error for an id that stands for nothing: the collection does not know it, and no content came with it.
    pub(crate) fn check_known(&self, live: &Snapshot) -> Result<(), Failure> {
        let has_content = self.text.is_some() || !self.fields.is_empty() || self.features.is_some();
        match &self.id {
            Some(id) if !has_content && live.collection.find(id).is_none() => {
                Err(Failure::NotFound(format!("there is no document {id:?}")))
            }
            _ => Ok(()),
        }
    }

    /// Keeps these fields alone, as Cohere's `rank_fields` does.
    pub(crate) fn retain_fields(&mut self, names: &[String]) {
        self.fields.retain(|(name, _)| names.contains(name));
        if !names.iter().any(|name| name == "text") {
            self.text = None;
        }
    }

    /// Returns the text that a response shows for the document: its own, else the stored one.
    pub(crate) fn shown_text(&self, service: &Service, live: &Snapshot) -> String {
        let stored = || {
            let number = self.id.as_deref().and_then(|id| live.collection.find(id))?;
            let stored = live.collection.stored(number);
            let text = stored.iter().find(|(name, _)| *name == service.main_field)?;
            text.1.as_str().map(str::to_owned)
        };
        let own_field =
            || self.fields.iter().find(|(name, _)| *name == service.main_field).map(|(_, text)| text.clone());
        self.text.clone().or_else(own_field).or_else(stored).unwrap_or_default()
    }

    fn resolve<'a>(&'a self, service: &'a Service, live: &Snapshot) -> ResolvedDocument<'a> {
        if let Some(number) = self.id.as_deref().and_then(|id| live.collection.find(id)) {
            return ResolvedDocument::Known(number);
        }
        let main = service.main_field.as_str();
        let mut texts = TextsByField::default();
        self.text.iter().for_each(|text| texts.add(main, text));
        let known = |field: &&(String, String)| service.fields.contains(&field.0);
        self.fields.iter().filter(known).for_each(|(name, text)| texts.add(name, text));
        if texts.0.is_empty() {
            // Texts of fields that the dataset does not have are better than none.
            self.fields.iter().for_each(|(_, text)| texts.add(main, text));
        }
        ResolvedDocument::Text(texts.0)
    }
}

/// Parses an id: a string, a number, or `null` for none.
fn id(value: Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(id) => Ok(Some(id)),
        Value::Number(id) => Ok(Some(id.to_string())),
        other => Err(format!("an id is {other}; a string is expected")),
    }
}

/// Parses features: a list of numbers, `null` for a missing one, or an object from numbers of features to values.
fn features(value: Value) -> Result<Vec<(u32, f32)>, String> {
    let number = |value: &Value| match value {
        Value::Null => Ok(f32::NAN),
        Value::Number(number) => Ok(number.as_f64().unwrap_or(f64::NAN) as f32),
        other => Err(format!("a feature is {other}; a number is expected, or null for a missing value")),
    };
    match &value {
        Value::Array(values) => {
            (0..).zip(values).map(|(column, value)| Ok((column, number(value)?))).collect()
        }
        Value::Object(values) => values
            .iter()
            .map(|(name, value)| {
                let column = column(name)
                    .ok_or_else(|| format!("{name:?} is no number of a feature; they count from 1"))?;
                Ok((column, number(value)?))
            })
            .collect(),
        _ => Err("`features` is neither a list nor an object".into()),
    }
}

/// Returns the column of a feature by its number.
fn column(name: &str) -> Option<u32> {
    name.parse::<u32>().ok()?.checked_sub(1)
}

/// Texts of a document, one for each field.
#[derive(Default)]
struct TextsByField<'a>(Vec<(&'a str, Cow<'a, str>)>);

impl<'a> TextsByField<'a> {
    fn add(&mut self, field: &'a str, text: &'a str) {
        match self.0.iter_mut().find(|(known, _)| *known == field) {
            Some((_, known)) => {
                let known = known.to_mut();
                known.push(' ');
                known.push_str(text);
            }
            None => self.0.push((field, text.into())),
        }
    }
}

/// A document with its number in the collection, or its texts by field.
enum ResolvedDocument<'a> {
    Known(u32),
    Text(Vec<(&'a str, Cow<'a, str>)>),
}

impl ResolvedDocument<'_> {
    /// Returns the texts by field; none for a document of the collection.
    fn texts(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Known(_) => Vec::new(),
            Self::Text(texts) => texts.iter().map(|(field, text)| (*field, &**text)).collect(),
        }
    }

    fn candidate<'t>(&self, texts: &'t [(&'t str, &'t str)]) -> Candidate<'t> {
        match self {
            Self::Known(number) => Candidate::Known(*number),
            Self::Text(_) => Candidate::Text(texts),
        }
    }
}

/// Calls `act` with documents of a request as the engine takes them.
pub(crate) fn with_candidates<T>(
    service: &Service,
    live: &Snapshot,
    documents: &[GivenDocument],
    act: impl FnOnce(&[Candidate<'_>]) -> T,
) -> T {
    let resolved: Vec<_> = documents.iter().map(|document| document.resolve(service, live)).collect();
    let texts: Vec<_> = resolved.iter().map(ResolvedDocument::texts).collect();
    let candidates: Vec<Candidate<'_>> =
        resolved.iter().zip(&texts).map(|(document, texts)| document.candidate(texts)).collect();
    act(&candidates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> GivenDocument {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn texts_of_a_field_are_joined() {
        let mut texts = TextsByField::default();
        [("title", "red"), ("url", "x"), ("title", "hat"), ("title", "42")]
            .into_iter()
            .for_each(|(field, text)| texts.add(field, text));
        let texts: Vec<(&str, &str)> = texts.0.iter().map(|(field, text)| (*field, &**text)).collect();
        assert_eq!(texts, [("title", "red hat 42"), ("url", "x")]);
    }

    #[test]
    fn documents_are_the_same_by_id_or_content() {
        let same = |a: &str, b: &str| parse(a).by_id().is_same_as(&parse(b).by_id());
        assert!(same("\"d1\"", "{\"id\": \"d1\", \"features\": [1]}"));
        assert!(!same("\"d1\"", "{\"text\": \"d1\"}"));
        assert!(!same("\"d1\"", "\"d2\""));
        assert!(same("{\"features\": [null, 1]}", "{\"features\": [null, 1]}"));
        assert!(!same("{\"features\": [null, 1]}", "{\"features\": [1, null]}"));
        assert!(!same("{\"text\": \"hat\"}", "{\"title\": \"hat\"}"));
    }

    #[test]
    fn documents_come_in_many_forms() {
        let text = GivenDocument { text: Some("red hat".into()), ..GivenDocument::default() };
        assert_eq!(parse("\"red hat\"").text, text.text);
        assert_eq!(parse("{\"text\": \"red hat\"}"), text);
        assert_eq!(parse("{\"text\": \"red hat\"}").by_id(), text, "a text is no id");
        assert_eq!(parse("\"d1\"").by_id().id.as_deref(), Some("d1"));
        assert_eq!(parse("{\"id\": 3, \"text\": null}").id.as_deref(), Some("3"));
        assert_eq!(parse("{\"id\": null, \"text\": \"red hat\"}"), text);
        let named = parse("{\"features\": \"waterproof\", \"fields\": \"wide\", \"label\": \"new\"}");
        let names = ["features", "fields", "label"].into_iter().zip(["waterproof", "wide", "new"]);
        assert_eq!(named.fields, names.map(|(name, text)| (name.into(), text.into())).collect::<Vec<_>>());
        let fields = parse(
            "{\"id\": \"d1\", \"title\": \"hat\", \"tags\": [\"a\", \"b\"], \"price\": 3, \"label\": 1}",
        );
        assert_eq!(fields.id.as_deref(), Some("d1"));
        assert_eq!(fields.fields, [("title".into(), "hat".into()), ("tags".into(), "a b".into())]);
        assert_eq!(fields.features, None);
        let metarank = parse(
            "{\"id\": \"d1\", \"fields\": [{\"name\": \"title\", \"value\": \"hat\"}, {\"name\": \"2\", \"value\": 0.5}]}",
        );
        assert_eq!(metarank.fields, [("title".into(), "hat".into())]);
        assert_eq!(metarank.features, Some(vec![(1, 0.5)]));
        assert_eq!(parse("{\"features\": [1, 0.5]}").features, Some(vec![(0, 1.0), (1, 0.5)]));
        assert_eq!(parse("{\"features\": {\"3\": 1}}").features, Some(vec![(2, 1.0)]));
        for wrong in ["3", "{\"features\": {\"0\": 1}}", "{\"features\": [\"a\"]}", "{\"id\": [3]}"] {
            assert!(serde_json::from_str::<GivenDocument>(wrong).is_err(), "{wrong}");
        }
    }
}
