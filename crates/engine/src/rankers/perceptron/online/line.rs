//! A line of JSON as a list.

use std::borrow::Cow;
use std::fmt;

use matchrank_core::data::{FeatureLists, FeatureRows};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// A list of a larger weight would drown all that was learned before.
const LARGEST_WEIGHT: f64 = 1000.0;
const NO_DOCUMENT: &str = "the list has no document";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamLine<'a> {
    #[serde(default, borrow)]
    query: Option<Cow<'a, str>>,
    #[serde(default = "one")]
    weight: f64,
    #[serde(borrow)]
    documents: Vec<Document<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    #[serde(default, borrow)]
    id: Option<Cow<'a, str>>,
    grade: f32,
    features: LineFeatures,
}

fn one() -> f64 {
    1.0
}

/// (column, value) of the features that are there.
struct LineFeatures(Vec<(u32, f32)>);

impl<'de> Deserialize<'de> for LineFeatures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = LineFeatures;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("features: an array of numbers, or an object from their numbers to values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<LineFeatures, A::Error> {
                let mut entries = Vec::new();
                let mut column = 0;
                while let Some(value) = values.next_element::<Option<f32>>()? {
                    entries.extend(value.map(|value| (column, value)));
                    column += 1;
                }
                Ok(LineFeatures(entries))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut values: A) -> Result<LineFeatures, A::Error> {
                let mut entries = Vec::new();
                while let Some((name, value)) = values.next_entry::<Cow<'_, str>, Option<f32>>()? {
                    let Some(number) = name.parse::<u32>().ok().filter(|&number| number > 0) else {
                        return Err(serde::de::Error::custom(format!(
                            "the feature {name:?} is no number; features are numbered from 1"
                        )));
                    };
                    entries.extend(value.map(|value| (number - 1, value)));
                }
                Ok(LineFeatures(entries))
            }
        }
        deserializer.deserialize_any(Reading)
    }
}

/// Returns an error if a line is no list. Which features a model has is not checked.
pub fn check_list(line: &[u8]) -> Result<(), String> {
    let line = parse(line)?;
    if line.documents.is_empty() {
        return Err(NO_DOCUMENT.into());
    }
    let is_finite = |document: &Document<'_>| document.grade.is_finite();
    match line.documents.iter().position(|document| !is_finite(document)) {
        Some(place) => Err(format!("document {}: the grade is not a finite number", place + 1)),
        None => Ok(()),
    }
}

fn parse(line: &[u8]) -> Result<StreamLine<'_>, String> {
    let line: StreamLine<'_> =
        serde_json::from_slice(line).map_err(|e| format!("is not a list in JSON: {e}"))?;
    if !(0.0..=LARGEST_WEIGHT).contains(&line.weight) {
        return Err(format!(
            "the weight is {}; a number from 0 to {LARGEST_WEIGHT} is expected",
            line.weight
        ));
    }
    Ok(line)
}

/// The list of a line and its weight; what is wrong with a line that is none. Features beyond `n_features` are unknown.
pub(super) fn read(line: &[u8], n_features: usize) -> Result<(FeatureLists, f64), String> {
    let line = parse(line)?;
    let mut rows = FeatureRows::default();
    let query = line.query.as_deref().unwrap_or("list");
    let mut documents = line.documents;
    for (i, document) in documents.iter_mut().enumerate() {
        let id = document.id.as_deref();
        let of = |what: String| format!("document {}: {what}", id.map_or((i + 1).to_string(), str::to_owned));
        let LineFeatures(entries) = &mut document.features;
        if let Some((column, _)) = entries.iter().find(|(column, _)| *column as usize >= n_features) {
            let number = u64::from(*column) + 1;
            return Err(of(format!("feature {number} is unknown; the model has {n_features}")));
        }
        rows.push(query, id, document.grade, entries).map_err(of)?;
    }
    if rows.is_empty() {
        return Err(NO_DOCUMENT.into());
    }
    Ok((FeatureLists::from_rows(rows), line.weight))
}
