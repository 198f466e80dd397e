//! Manifest of a dataset folder.
//!
//! `manifest.json` holds a [`Manifest`] and `manifest_hash`, the BLAKE3 hash of the whole file with 64 zeros in place
//! of the hash. Unknown fields are ignored, but hashed. Manifests of version 0.1.0 have no such hash; `content_hash`
//! covers their settings.

use std::collections::BTreeMap;

use matchrank_core::message::{HAS, counted_with};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attributes::Attribute;
use super::history::History;
use crate::text::{AnalyserParams, FieldWeights};

/// Version of the folder's layout that this program writes.
pub const FORMAT_VERSION: u32 = 1;

/// `manifest.json` of a dataset folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// Version of the folder's layout.
    pub format_version: u32,
    /// Version of the program that wrote it.
    pub matchrank: String,
    /// Files that the dataset was made from.
    pub sources: Vec<SourceFile>,
    /// Division of clicks into training, validation and test.
    pub split: Split,
    /// Grades of held-out clicks; none where no click was held out, and in datasets of former versions, whose held-out
    /// clicks have grade 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub click_grades: Option<ClickGrades>,
    /// Pairs with fewer clicks than this were dropped from training.
    pub min_clicks: f64,
    /// Analysis of text; every model trained on the dataset uses the same.
    pub analyser: AnalyserParams,
    /// Text fields of the documents and their weights.
    pub fields: FieldWeights,
    /// Attributes of the documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<Attribute>,
    /// Number of words in all documents, repetitions included, by field.
    pub field_lengths: Vec<u64>,
    /// Table 1 of the papers.
    pub statistics: Statistics,
    /// Rows that were left out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Rows whose ids are unknown, and known with more or fewer leading zeros.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_zeros: Vec<LostZeros>,
    /// The tables: rows, bytes and BLAKE3 of each file.
    pub tables: BTreeMap<String, TableInfo>,
    /// BLAKE3 over the tables' hashes and the settings that decide how models see them.
    pub content_hash: String,
    /// Rows that were read, for adding to them; absent in folders of former versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
}

/// Placeholder for the hash while the hash is computed.
const BLANK: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[derive(Serialize)]
struct Sealed<'a> {
    #[serde(flatten)]
    manifest: &'a Manifest,
    manifest_hash: &'a str,
}

impl Manifest {
    /// Returns the text of `manifest.json`.
    pub(crate) fn to_json(&self) -> String {
        let sealed = Sealed { manifest: self, manifest_hash: BLANK };
        seal(&serde_json::to_string_pretty(&sealed).expect("a manifest is plain data"))
    }

    /// Parses the text of `manifest.json`; an error says what is wrong with it and what to do.
    pub(crate) fn from_json(json: &[u8]) -> Result<Self, String> {
        const CHANGED: &str =
            "was changed after it was written: its hash differs; ingest again, or restore the file";
        let json = std::str::from_utf8(json).map_err(|e| format!("is not valid JSON ({e}); ingest again"))?;
        let value: Value =
            serde_json::from_str(json).map_err(|e| format!("is not valid JSON ({e}); ingest again"))?;
        match value["format_version"].as_u64() {
            Some(version) if version <= u64::from(FORMAT_VERSION) && version > 0 => {}
            Some(version) => {
                return Err(format!(
                    "has format version {version}, but this program reads up to {FORMAT_VERSION}; use a newer one"
                ));
            }
            None => return Err("has no format_version; is it a matchrank dataset?".into()),
        }
        let hash = &value["manifest_hash"];
        let is_sealed = |hash: &str| hash.len() == BLANK.len() && seal(&json.replace(hash, BLANK)) == json;
        if !hash.is_null() && !hash.as_str().is_some_and(is_sealed) {
            return Err(CHANGED.into());
        }
        let manifest = Self::deserialize(&value)
            .map_err(|e| format!("has a missing or unexpected field ({e}); ingest again"))?;
        let settings = (&value["split"], &value["analyser"], &manifest.fields);
        if hash.is_null() && manifest.content_hash != content_hash(&manifest.tables, &settings) {
            return Err(CHANGED.into());
        }
        manifest.fields.validate().map_err(|e| e.to_string())?;
        manifest.analyser.validate().map_err(|e| e.to_string())?;
        Ok(manifest)
    }
}

/// Replaces the placeholder in a text with the hash of the text.
fn seal(text: &str) -> String {
    text.replace(BLANK, blake3::hash(text.as_bytes()).to_hex().as_str())
}

/// BLAKE3 over the tables' hashes and the settings that decide how models see them: split, analyser, fields.
pub(crate) fn content_hash(tables: &BTreeMap<String, TableInfo>, settings: &impl Serialize) -> String {
    let mut hasher = blake3::Hasher::new();
    for (name, table) in tables {
        hasher.update(format!("{name} {}\n", table.blake3).as_bytes());
    }
    hasher.update(serde_json::to_string(settings).expect("settings are plain data").as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// A file that went into the dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SourceFile {
    /// Role: clicks, documents, queries, responses, judgments.
    pub role: String,
    /// Name without the folder.
    pub file: String,
    /// Rows read.
    pub rows: u64,
    /// Findings about the file: delimiter, escapes of its quotes, order of dates, average positions, event types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Columns that were not used: no role in a log, not indexed in a file of documents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<IgnoredColumn>,
    /// Event types of a log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventType>,
}

/// A column of a file that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct IgnoredColumn {
    /// Name of the column; that of a nested field is dotted.
    pub column: String,
    /// Reason for not using the column.
    pub reason: String,
}

impl IgnoredColumn {
    pub(crate) fn new(column: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { column: column.into(), reason: reason.into() }
    }
}

/// A type of events in a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventType {
    /// Name of the type.
    pub name: String,
    /// Rows of the type in the file.
    pub rows: u64,
    /// Clicks that a row counts; 0 if it says that a document was shown, `None` if rows of the type were left out.
    pub weight: Option<f64>,
}

/// Columns that are named for one reason.
const NAMED_COLUMNS: usize = 12;

impl SourceFile {
    /// Describes the columns that were not used, by reason; `None` if all were.
    pub fn ignored_sentence(&self) -> Option<String> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for IgnoredColumn { column, reason } in &self.ignored {
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, columns)) => columns.push(column),
                None => reasons.push((reason, vec![column])),
            }
        }
        let list = |(reason, columns): &(&str, Vec<&str>)| {
            let more = columns.len().saturating_sub(NAMED_COLUMNS);
            let named = columns[..columns.len() - more].join(", ");
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("{named}{more} ({reason})")
        };
        let lists: Vec<String> = reasons.iter().map(list).collect();
        let what = if self.role == "documents" { "fields not indexed" } else { "columns ignored" };
        (!lists.is_empty()).then(|| format!("{what}: {}", lists.join("; ")))
    }
}

/// Rows whose ids differ from known ids by leading zeros alone, as after a spreadsheet has read ids as numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LostZeros {
    /// What the ids are of: `document` or `query`.
    pub of: String,
    /// File that the ids are in, without the folder.
    pub file: String,
    /// Rows that were left out.
    pub rows: u64,
    /// The first ids, each with the known id.
    pub examples: Vec<[String; 2]>,
}

impl LostZeros {
    /// Cause and fix.
    pub(crate) const FIX: &str =
        "a spreadsheet or a program may have read the ids as numbers; write the file again with ids as text";

    /// Describes the rows, with examples.
    pub(crate) fn sentence(&self) -> String {
        let Self { of, file, rows, examples } = self;
        let pairs = examples.iter().map(|[id, known]| format!("{id} here, {known} there"));
        format!(
            "{file}: {} a {of} id that differs from a known one by leading zeros alone ({})",
            counted_with(*rows, "row", HAS),
            pairs.collect::<Vec<_>>().join("; ")
        )
    }
}

/// A table of the dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableInfo {
    /// Rows.
    pub rows: u64,
    /// Size of the file.
    pub bytes: u64,
    /// BLAKE3 of the file.
    pub blake3: String,
}

/// Division of clicks into training, validation and test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Split {
    /// All clicks are training data; validation and test come from judgments, if there are any.
    None,
    /// Whole queries were held out by a hash of their text: their clicks are in no training data.
    Query {
        /// Share of queries held out for validation.
        validation: f64,
        /// Share of queries held out for test.
        test: f64,
        /// Seed of the hash.
        seed: u64,
    },
    /// The last clicks were held out.
    Time {
        /// Share of clicks held out for validation.
        validation: f64,
        /// Share of clicks held out for test, the last ones.
        test: f64,
        /// Clicks from this time on (ms since 1970) are validation data.
        validation_from: i64,
        /// Clicks from this time on (ms since 1970) are test data.
        test_from: i64,
    },
}

/// Grades of held-out clicks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClickGrades {
    /// From 1 to 4 by the clicks of the document relative to those of the query's most clicked document
    /// ([`ClickGrades::of`]).
    #[default]
    Share,
    /// 1 for every document with a held-out click.
    Binary,
}

impl ClickGrades {
    /// Returns the grade of a document with `clicks` held-out clicks for a query whose most clicked document has `most`.
    ///
    /// By share, with s = clicks / most,
    ///
    /// ```text
    /// grade = max(1, round(log2(1 + 15 s)))        4 from s = 0.69, 3 from 0.31, 2 from 0.12, else 1
    /// ```
    /// The exponential gain 2^grade - 1 is 15 for the most clicked document and 15 s, rounded to 1, 3, 7 or 15, for the
    /// others: a document with half the clicks is worth about half. The linear gain keeps the order. NDCG divides by the
    /// gain of the best order, so a query whose clicked documents have about the same clicks has the same value as with
    /// grade 1. Grades are whole numbers, because trec_eval and LightGBM take no others.
    pub fn of(self, clicks: f64, most: f64) -> f32 {
        match self {
            Self::Share => (1.0 + 15.0 * clicks / most).log2().round().max(1.0) as f32,
            Self::Binary => 1.0,
        }
    }

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Binary => "binary",
        }
    }
}

/// Table 1 of the papers, over the training clicks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Statistics {
    /// n_x: queries with a training response.
    pub n_x: u64,
    /// n_y: documents with a training response.
    pub n_y: u64,
    /// Different words of queries and documents.
    pub n_words: u64,
    /// d_x = words + n_y: features of a query.
    pub d_x: u64,
    /// d_y = words + n_x: features of a document.
    pub d_y: u64,
    /// c_x: mean nonzero features of a query.
    pub c_x: f64,
    /// c_y: mean nonzero features of a document.
    pub c_y: f64,
    /// Mean documents per query (with a response).
    pub documents_per_query: f64,
    /// Mean queries per document (with a response).
    pub queries_per_document: f64,
    /// N_x: mean queries per query feature.
    pub n_per_x_feature: f64,
    /// N_y: mean documents per document feature.
    pub n_per_y_feature: f64,
    /// Query-document pairs with a training response.
    pub n_pairs: u64,
    /// Query-document pairs that were judged with grade 0 for training; they are no responses.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub n_negatives: u64,
    /// Sum of the training responses: clicks, or grades.
    pub n_clicks: f64,
    /// All queries of the dataset, held-out ones included.
    pub n_queries: u64,
    /// All documents of the collection, unclicked ones included.
    pub n_documents: u64,
    /// Judged pairs for validation and for test (held-out clicks where there are no judgments).
    pub n_judgments: [u64; 2],
    /// Judged queries for validation and for test.
    pub n_judged_queries: [u64; 2],
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let (split, analyser) = (Split::None, AnalyserParams::default());
        // Weights whose digits as f32 and as f64 differ.
        let fields = FieldWeights::new([("title", 0.1), ("body", 1e-6), ("url", 3e15)]).unwrap();
        let info = TableInfo { rows: 3, bytes: 9, blake3: "abc".into() };
        let tables = BTreeMap::from([("documents.parquet".to_owned(), info)]);
        Manifest {
            format_version: FORMAT_VERSION,
            matchrank: "0".into(),
            sources: Vec::new(),
            content_hash: content_hash(&tables, &(&split, &analyser, &fields)),
            split,
            click_grades: None,
            min_clicks: 0.3,
            analyser,
            fields,
            attributes: Vec::new(),
            field_lengths: vec![u64::MAX, 1, 2],
            statistics: Statistics { n_clicks: 1e300, c_x: 1.0 / 3.0, ..Statistics::default() },
            left_out: BTreeMap::new(),
            lost_zeros: Vec::new(),
            tables,
            history: None,
        }
    }

    #[test]
    fn grades_follow_the_share_of_the_most_clicked() {
        let grade = |clicks| ClickGrades::Share.of(clicks, 1000.0);
        let grades = [1.0, 60.0, 121.0, 123.0, 250.0, 310.0, 312.0, 500.0, 686.0, 688.0, 1000.0].map(grade);
        assert_eq!(grades, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 4.0]);
        assert_eq!([0.2, 7.0].map(|clicks| ClickGrades::Binary.of(clicks, 7.0)), [1.0, 1.0]);
        // The most clicked document has grade 4 however few clicks there are, and weights of events may be fractions.
        assert_eq!([1e-3, 1.0, 1e12].map(|clicks| ClickGrades::Share.of(clicks, clicks)), [4.0; 3]);
    }

    #[test]
    fn every_edit_of_a_manifest_is_found() {
        let json = manifest().to_json();
        assert_eq!(Manifest::from_json(json.as_bytes()).unwrap(), manifest());
        for (from, to) in [
            ("0.1\n", "0.2\n"),
            ("0.1\n", "0.10000000149011612\n"),
            ("0.1\n", "0.1 \n"),
            ("\"n_x\": 0", "\"n_x\": 1"),
            ("\"min_clicks\": 0.3", "\"min_clicks\": 0.4"),
            ("\"rows\": 3", "\"rows\": 4"),
            ("\"sources\": []", "\"sources\": [], \"new\": 1"),
            ("\"stemmer\": \"english\"", "\"stemmer\": \"porter\""),
        ] {
            let edited = json.replacen(from, to, 1);
            assert_ne!(edited, json, "{from}");
            let message = Manifest::from_json(edited.as_bytes()).unwrap_err();
            assert!(message.contains("its hash differs"), "{from}: {message}");
        }
        let hash = &json[json.len() - 67..json.len() - 3];
        for other in ["", "0", BLANK, &hash.replace(|c: char| c.is_ascii_digit(), "7")] {
            let message = Manifest::from_json(json.replace(hash, other).as_bytes()).unwrap_err();
            assert!(message.contains("its hash differs"), "{other}: {message}");
        }
    }

    #[test]
    fn manifests_without_a_hash_load_and_their_settings_are_checked() {
        let json = serde_json::to_string_pretty(&manifest()).unwrap();
        assert_eq!(Manifest::from_json(json.as_bytes()).unwrap(), manifest());
        for (from, to) in
            [("0.1\n", "0.2\n"), ("\"abc\"", "\"abd\""), ("\"stemmer\": \"english\"", "\"stemmer\": null")]
        {
            let edited = json.replacen(from, to, 1);
            assert_ne!(edited, json, "{from}");
            assert!(
                Manifest::from_json(edited.as_bytes()).unwrap_err().contains("its hash differs"),
                "{from}"
            );
        }
    }

    /// A later program may add fields, and its hash covers them.
    #[test]
    fn fields_of_later_programs_are_ignored() {
        let sealed = Sealed { manifest: &manifest(), manifest_hash: BLANK };
        let json = serde_json::to_string_pretty(&sealed).unwrap();
        let later = json.replacen('{', "{\"later\": {\"a\": [1, 2]},", 1);
        let later = seal(&later.replacen("\"n_x\"", "\"n_later\": 7, \"n_x\"", 1));
        assert_eq!(Manifest::from_json(later.as_bytes()).unwrap(), manifest());
    }

    /// The hash is valid, so that only the analyser is wrong.
    #[test]
    fn an_analyser_that_is_not_there_is_an_error() {
        let sealed = Sealed { manifest: &manifest(), manifest_hash: BLANK };
        let json = serde_json::to_string_pretty(&sealed).unwrap();
        let edited = json.replacen("\"stop_words\": \"english\"", "\"stop_words\": \"klingon\"", 1);
        assert_ne!(edited, json);
        let message = Manifest::from_json(seal(&edited).as_bytes()).unwrap_err();
        assert!(message.contains("no stop words for \"klingon\""), "{message}");
    }

    #[test]
    fn what_is_no_manifest_is_an_error() {
        for json in ["", "null", "[]", "3", "{\"format_version\": -1}", "{\"format_version\": 1}"] {
            assert!(Manifest::from_json(json.as_bytes()).is_err(), "{json}");
        }
    }
}
