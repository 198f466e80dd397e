//! A dataset with the same documents, queries and test judgments, whose other judged queries are dealt anew.
//!
//! A query for training has its positive grades as responses, and the others among the negatives. A query for validation has
//! all its grades as validation judgments. Grades are those of the training responses and negatives, and of the validation
//! judgments; so only a dataset without clicks can be dealt ([`Dataset::dealing`]).
//!
//! The vocabulary stays as it is: words that only queries have, and no document, are those of the former training queries.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, UInt8Array, UInt32Array, new_null_array};
use arrow_schema::{DataType, Field};
use foldhash::{HashMap, HashSet};
use matchrank_core::{Error, Result};

use super::replace::put_in_place;
use super::tables::TableWriter;
use super::{
    Dataset, Holdout, JUDGMENTS, MANIFEST, Manifest, NEGATIVES, RESPONSES, SKIPPED, Split, Statistics,
    content_hash,
};
use crate::files::{self, TemporaryFolder};
use crate::text::Analyser;

/// Use of a judged query in a dataset that is dealt anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Training,
    Validation,
    Nothing,
}

/// The judged queries of a dataset that are not test queries, with all that is known of them.
pub(crate) struct Dealing<'a> {
    dataset: &'a Dataset,
    /// Row of each query and its text, in the order of the rows.
    queries: Vec<(u32, String)>,
    /// Grades of each query's documents, in the order of `queries`; documents ascend.
    graded: Vec<Vec<(u32, f32)>>,
    /// Different words of each query.
    query_words: Vec<u64>,
    /// Different words of each document that has a positive grade.
    document_words: HashMap<u32, u64>,
}

impl Dataset {
    /// Collects the queries that can be dealt anew. None where training data are clicks, or where a query's text is both in
    /// the training and the validation data.
    pub(crate) fn dealing(&self) -> Result<Option<Dealing<'_>>> {
        let has_clicks = self.manifest.sources.iter().any(|source| source.role == "clicks");
        if has_clicks || self.manifest.split != Split::None {
            return Ok(None);
        }
        let texts: Vec<String> = self.queries()?.into_iter().map(|query| query.text).collect();
        let mut grades: Vec<(u32, u32, f32)> = Vec::new();
        let training = self.responses()?.into_iter().map(|pair| (pair.query, pair.document, pair.response));
        grades.extend(training.filter(|(.., response)| *response > 0.0));
        grades.extend(self.negatives()?.into_iter().map(|pair| (pair.query, pair.document, 0.0)));
        let is_training: HashSet<&str> =
            grades.iter().map(|(query, ..)| texts[*query as usize].as_str()).collect();
        for judged in self.judgments(Holdout::Validation)? {
            if is_training.contains(texts[judged.query as usize].as_str()) {
                return Ok(None);
            }
            grades.push((judged.query, judged.document, judged.grade));
        }
        grades.sort_unstable_by_key(|(query, document, _)| (*query, *document));
        let lists = grades.chunk_by(|a, b| a.0 == b.0);
        let (queries, graded): (Vec<_>, Vec<_>) = lists
            .map(|list| {
                let own = list.iter().map(|&(_, document, grade)| (document, grade)).collect::<Vec<_>>();
                ((list[0].0, texts[list[0].0 as usize].clone()), own)
            })
            .unzip();
        let analyser = Analyser::new(&self.manifest.analyser)?;
        let query_words = queries
            .iter()
            .map(|(_, text)| {
                let mut words = BTreeSet::new();
                analyser.tokens(text, |token| {
                    words.insert(token.to_owned());
                });
                words.len() as u64
            })
            .collect();
        let different = |texts: &[String]| {
            let mut words = BTreeSet::new();
            let names = self.manifest.fields.iter().map(|(name, _)| name);
            analyser.document(names.zip(texts.iter().map(String::as_str)), |_, token| {
                words.insert(token.to_owned());
            });
            words.len() as u64
        };
        let relevant: HashSet<u32> = graded
            .iter()
            .flatten()
            .filter(|(_, grade)| *grade > 0.0)
            .map(|(document, _)| *document)
            .collect();
        let mut document_words = HashMap::default();
        for (document, fields) in (0..).zip(self.texts()?) {
            let fields = fields?;
            if relevant.contains(&document) {
                document_words.insert(document, different(&fields));
            }
        }
        Ok(Some(Dealing { dataset: self, queries, graded, query_words, document_words }))
    }
}

impl Dealing<'_> {
    /// Texts of the queries, those of the same text as often as they occur.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.queries.iter().map(|(_, text)| text.as_str())
    }

    /// Writes the dataset in which every query, given by its text, has a purpose. A former dataset in the folder is replaced.
    pub(crate) fn deal(&self, folder: &Path, purpose: impl Fn(&str) -> Purpose) -> Result<Dataset> {
        let temporary = TemporaryFolder::beside(folder)?;
        let unfinished = temporary.path().join("dataset");
        files::make_folder(&unfinished)?;
        let Dealt { responses, negatives, judged, statistics } = self.dealt(purpose)?;
        let former = &self.dataset.manifest;
        let mut tables = former.tables.clone();
        for changed in [RESPONSES, NEGATIVES, SKIPPED, JUDGMENTS] {
            tables.remove(changed);
        }
        for table in tables.keys() {
            let (from, to) = (self.dataset.folder().join(table), unfinished.join(table));
            // A file system without links gets a copy.
            if std::fs::hard_link(&from, &to).is_err() {
                std::fs::copy(&from, &to).map_err(|e| Error::io(files::name_of(&to), e))?;
            }
        }
        let number = |name| Field::new(name, DataType::UInt32, false);
        let value = |name| Field::new(name, DataType::Float32, false);
        let shown = Field::new("position", DataType::Float32, true);
        let columns = vec![number("query"), number("document"), value("response"), number("shown"), shown];
        let mut writer = TableWriter::create(&unfinished.join(RESPONSES), columns)?;
        let n = responses.len();
        writer.write(vec![
            numbers(responses.iter().map(|row| row.0)),
            numbers(responses.iter().map(|row| row.1)),
            values(responses.iter().map(|row| row.2)),
            numbers(std::iter::repeat_n(0, n)),
            new_null_array(&DataType::Float32, n),
        ])?;
        tables.insert(RESPONSES.to_owned(), writer.close()?);
        if !negatives.is_empty() {
            let columns = vec![number("query"), number("document")];
            let mut writer = TableWriter::create(&unfinished.join(NEGATIVES), columns)?;
            writer.write(vec![
                numbers(negatives.iter().map(|row| row.0)),
                numbers(negatives.iter().map(|row| row.1)),
            ])?;
            tables.insert(NEGATIVES.to_owned(), writer.close()?);
        }
        let split = Field::new("split", DataType::UInt8, false);
        let columns = vec![split, number("query"), number("document"), value("grade"), value("clicks")];
        let mut writer = TableWriter::create(&unfinished.join(JUDGMENTS), columns)?;
        let splits = UInt8Array::from_iter_values(judged.iter().map(|(holdout, ..)| *holdout as u8));
        writer.write(vec![
            Arc::new(splits),
            numbers(judged.iter().map(|row| row.1)),
            numbers(judged.iter().map(|row| row.2)),
            values(judged.iter().map(|row| row.3)),
            values(judged.iter().map(|row| row.4)),
        ])?;
        tables.insert(JUDGMENTS.to_owned(), writer.close()?);
        let content_hash = content_hash(&tables, &(&former.split, &former.analyser, &former.fields));
        let manifest = Manifest { tables, statistics, content_hash, history: None, ..former.clone() };
        let path = unfinished.join(MANIFEST);
        files::write_atomically(&path, |file| {
            file.write_all(manifest.to_json().as_bytes()).map_err(|e| Error::io(files::name_of(&path), e))
        })?;
        put_in_place(&unfinished, folder).map_err(|e| Error::io(files::name_of(folder), e))?;
        Dataset::open(folder)
    }

    fn dealt(&self, purpose: impl Fn(&str) -> Purpose) -> Result<Dealt> {
        let (mut responses, mut negatives, mut judged) = (Vec::new(), Vec::new(), Vec::new());
        let (mut n_x, mut n_judged, mut query_words) = (0, 0, 0);
        let mut answering: HashSet<u32> = HashSet::default();
        for (((query, text), graded), words) in self.queries.iter().zip(&self.graded).zip(&self.query_words) {
            match purpose(text) {
                Purpose::Training => {
                    let before = responses.len();
                    for &(document, grade) in graded {
                        if grade > 0.0 {
                            responses.push((*query, document, grade));
                            answering.insert(document);
                        } else {
                            negatives.push((*query, document));
                        }
                    }
                    if responses.len() > before {
                        n_x += 1;
                        query_words += words;
                    }
                }
                Purpose::Validation => {
                    let row = |&(document, grade)| (Holdout::Validation, *query, document, grade, 0.0);
                    judged.extend(graded.iter().map(row));
                    n_judged += 1;
                }
                Purpose::Nothing => {}
            }
        }
        let n_validation = judged.len() as u64;
        let test = self.dataset.judgments(Holdout::Test)?;
        judged.extend(test.iter().map(|row| (Holdout::Test, row.query, row.document, row.grade, row.clicks)));
        let former = &self.dataset.manifest.statistics;
        let (n_y, n_pairs) = (answering.len() as u64, responses.len() as u64);
        let document_words: u64 = answering.iter().map(|document| self.document_words[document]).sum();
        let mean = |sum: u64, n: u64| if n == 0 { 0.0 } else { sum as f64 / n as f64 };
        let statistics = Statistics {
            n_x,
            n_y,
            n_words: former.n_words,
            d_x: former.n_words + n_y,
            d_y: former.n_words + n_x,
            c_x: mean(query_words + n_pairs, n_x),
            c_y: mean(document_words + n_pairs, n_y),
            documents_per_query: mean(n_pairs, n_x),
            queries_per_document: mean(n_pairs, n_y),
            n_per_x_feature: mean(query_words + n_pairs, former.n_words + n_y),
            n_per_y_feature: mean(document_words + n_pairs, former.n_words + n_x),
            n_pairs,
            n_negatives: negatives.len() as u64,
            n_clicks: responses.iter().map(|(.., grade)| f64::from(*grade)).sum(),
            n_queries: former.n_queries,
            n_documents: former.n_documents,
            n_judgments: [n_validation, test.len() as u64],
            n_judged_queries: [n_judged, former.n_judged_queries[1]],
        };
        Ok(Dealt { responses, negatives, judged, statistics })
    }
}

/// Rows of the tables that change.
struct Dealt {
    responses: Vec<(u32, u32, f32)>,
    negatives: Vec<(u32, u32)>,
    judged: Vec<(Holdout, u32, u32, f32, f32)>,
    statistics: Statistics,
}

fn numbers(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

fn values(values: impl Iterator<Item = f32>) -> ArrayRef {
    Arc::new(Float32Array::from_iter_values(values))
}

#[cfg(test)]
mod tests {
    use matchrank_core::progress::Silent;

    use super::*;
    use crate::ingest::{IngestParams, ingest};

    /// Ingests grades of four queries: two to train on, one for validation and one for the test.
    fn ingested(folder: &Path, name: &str, parts: [&str; 3]) -> Dataset {
        let file = |name: &str, content: &str| {
            let path = folder.join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let [train, validation, test] = parts;
        let judged = [(Holdout::Validation, validation), (Holdout::Test, test)];
        let judged = judged.into_iter().filter(|(_, rows)| !rows.is_empty());
        let params = IngestParams {
            documents: vec![file(
                "docs.tsv",
                "a\tred shoes\nb\tblue shoes shoes\nc\tgreen hat\nd\tblue hat\n",
            )],
            queries: vec![file("queries.tsv", "1\tred shoe\n2\tblue\n3\thats green\n4\thats\n")],
            responses: vec![file("train.qrels", train)],
            judgments: judged.map(|(of, rows)| (of, file(&format!("{}.qrels", of.name()), rows))).collect(),
            ..IngestParams::default()
        };
        let out = folder.join(name);
        ingest(&params, &out, false, &Silent).unwrap();
        Dataset::open(&out).unwrap()
    }

    /// Dealing queries anew is as ingesting them so.
    #[test]
    fn a_dealt_dataset_is_the_ingested_one() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = ("1 0 a 2\n1 0 b 0\n", "2 0 b 1\n2 0 d 1\n");
        let (three, test) = ("3 0 c 3\n3 0 d 0\n", "4 0 c 1\n");
        let dataset = ingested(folder.path(), "given", [&format!("{one}{two}"), three, test]);
        let wanted = ingested(folder.path(), "wanted", [&format!("{one}{three}"), two, test]);
        let dealing = dataset.dealing().unwrap().unwrap();
        let place = folder.path().join("dealt");
        let purpose = |text: &str| if text == "blue" { Purpose::Validation } else { Purpose::Training };
        for _ in 0..2 {
            let dealt = dealing.deal(&place, purpose).unwrap();
            let by_query = |dataset: &Dataset| {
                let (mut responses, mut negatives) =
                    (dataset.responses().unwrap(), dataset.negatives().unwrap());
                responses.sort_by_key(|pair| pair.query);
                negatives.sort_by_key(|pair| pair.query);
                (responses, negatives)
            };
            assert_eq!(by_query(&dealt), by_query(&wanted));
            for holdout in [Holdout::Validation, Holdout::Test] {
                assert_eq!(dealt.judgments(holdout).unwrap(), wanted.judgments(holdout).unwrap());
            }
            assert_eq!(dealt.queries().unwrap(), wanted.queries().unwrap());
            assert_eq!(dealt.document_ids().unwrap(), wanted.document_ids().unwrap());
            assert_eq!(dealt.manifest.statistics, wanted.manifest.statistics);
            assert_ne!(dealt.manifest.content_hash, dataset.manifest.content_hash);
        }
        // Nothing is left of a query without a purpose.
        let nothing = dealing.deal(&place, |text| match text {
            "blue" => Purpose::Nothing,
            _ => Purpose::Training,
        });
        let nothing = nothing.unwrap();
        assert!(nothing.responses().unwrap().iter().all(|pair| pair.query != 1));
        assert!(nothing.judgments(Holdout::Validation).unwrap().is_empty());
    }

    #[test]
    fn a_text_that_is_trained_on_and_validated_cannot_be_dealt() {
        let folder = tempfile::tempdir().unwrap();
        let dataset = ingested(folder.path(), "given", ["1 0 a 2\n", "1 0 b 1\n", "4 0 c 1\n"]);
        assert!(dataset.dealing().unwrap().is_none());
    }
}
