//! Documents as requests give them: by id, by text, by fields, or by features.

use std::borrow::Cow;
use std::fmt;

use matchrank_core::data::{FeatureLists, FeatureRows};
use matchrank_engine::ranking::check_finite;
use matchrank_engine::scoring::Explanation;
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use crate::failure::Failure;
use crate::fleet::{Named, Snapshot};
use crate::service::Service;
use crate::version::Scorer;
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
}

impl<'de> Deserialize<'de> for GivenDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DocumentVisitor)
    }
}

struct DocumentVisitor;

impl<'de> Visitor<'de> for DocumentVisitor {
    type Value = GivenDocument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or an object with `id`, `text`, fields or `features`")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GivenDocument, E> {
        Ok(GivenDocument { text: Some(text.to_owned()), ..GivenDocument::default() })
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<GivenDocument, E> {
        Ok(GivenDocument { text: Some(text), ..GivenDocument::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<GivenDocument, A::Error> {
        let mut given = GivenDocument::default();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "id" => given.id = Some(map.next_value()?),
                "text" => given.text = map.next_value()?,
                "features" => given.features = Some(features(map.next_value()?).map_err(A::Error::custom)?),
                "fields" => given.add_fields(map.next_value()?),
                "label" | "relevancy" => drop(map.next_value::<IgnoredAny>()?),
                _ => {
                    let value: Value = map.next_value()?;
                    given.add_field(name, value);
                }
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

    /// Takes the text of a document that was given as nothing but a string for its id.
    pub(crate) fn by_id(mut self) -> Self {
        if self.id.is_none() && self.fields.is_empty() && self.features.is_none() {
            self.id = self.text.take();
        }
        self
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
            Some((_, known)) => *known = format!("{known} {text}").into(),
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

/// Calls `act` with a document as the engine takes it.
pub(crate) fn with_candidate<T>(
    service: &Service,
    live: &Snapshot,
    document: &GivenDocument,
    act: impl FnOnce(&Candidate<'_>) -> T,
) -> T {
    let resolved = document.resolve(service, live);
    act(&resolved.candidate(&resolved.texts()))
}

/// Calls `act` with all documents of a request as the engine takes them.
fn with_candidates<T>(
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

/// Explains the scores that [`rank`] gives the documents at some places of a request.
pub(crate) fn explain_ranked(
    service: &Service,
    live: &Snapshot,
    (model, query): (&Named<'_>, &str),
    (documents, places): (&[GivenDocument], &[usize]),
) -> Result<Vec<Explanation>, Failure> {
    let served = model.matching()?;
    let explain = |candidates: &[Candidate<'_>]| served.explain_in_list(query, candidates, places);
    Ok(with_candidates(service, live, documents, explain)?)
}

/// A document of a request with its place there and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankedDocument {
    /// Place in the request, from 0.
    pub(crate) index: usize,
    /// Score; none where the model says nothing about the document, which counts as 0.
    pub(crate) score: Option<f32>,
}

impl RankedDocument {
    /// The score by which the document is ordered.
    pub(crate) fn value(&self) -> f32 {
        self.score.unwrap_or(0.0)
    }
}

/// Scores documents and orders them, the best first. Documents of equal score keep their order.
pub(crate) fn rank(
    service: &Service,
    live: &Snapshot,
    model: &Named<'_>,
    query: &str,
    documents: &[GivenDocument],
) -> Result<Vec<RankedDocument>, Failure> {
    let scores = match &model.version.scorer {
        Scorer::Ranking(ranker) => {
            let lists = feature_lists(documents)?;
            ranker.kind().require_complete(&lists)?;
            let mut scores = Vec::new();
            ranker.score(&lists.list(0), &mut scores);
            scores.into_iter().map(|score| Some(score as f32)).collect()
        }
        Scorer::Matching(served) => {
            with_candidates(service, live, documents, |candidates| served.score(query, candidates))?
        }
    };
    check_finite(model.name, scores.iter().copied().flatten())?;
    let mut ranked: Vec<RankedDocument> =
        scores.into_iter().enumerate().map(|(index, score)| RankedDocument { index, score }).collect();
    ranked.sort_by(|a, b| b.value().total_cmp(&a.value()).then(a.index.cmp(&b.index)));
    Ok(ranked)
}

fn feature_lists(documents: &[GivenDocument]) -> Result<FeatureLists, Failure> {
    let mut rows = FeatureRows::default();
    for (index, document) in documents.iter().enumerate() {
        let Some(features) = &document.features else {
            return Err(Failure::Unusable(format!(
                "document {index} has no `features`, which a ranker needs"
            )));
        };
        let name = index.to_string();
        rows.push("request", Some(&name), 0.0, &mut features.clone())
            .map_err(|message| Failure::Unusable(format!("document {index}: {message}")))?;
    }
    Ok(FeatureLists::from_rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> GivenDocument {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn documents_come_in_many_forms() {
        let text = GivenDocument { text: Some("red hat".into()), ..GivenDocument::default() };
        assert_eq!(parse("\"red hat\""), text);
        assert_eq!(parse("{\"text\": \"red hat\"}"), text);
        assert_eq!(parse("\"d1\"").by_id().id.as_deref(), Some("d1"));
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
        for wrong in ["3", "{\"features\": {\"0\": 1}}", "{\"features\": [\"a\"]}", "{\"id\": 3}"] {
            assert!(serde_json::from_str::<GivenDocument>(wrong).is_err(), "{wrong}");
        }
    }
}
