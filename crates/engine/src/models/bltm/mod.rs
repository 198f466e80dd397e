//! BLTM: topics that queries and the documents they led to share, each in words of its own.

mod codec;
mod matcher;
mod training;

use std::sync::Arc;

use matchrank_core::matching::bltm::{Bltm, BltmParams};
use matchrank_core::matching::{Factor, dot};
use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

pub use training::train;

use super::latent::unknown;
use super::recipe::{chosen, trainer};
use super::{Binding, MatchingKind, MatchingModel, Related, RelatedQuery, RelatedWord};
use crate::container::Writer;
use crate::dataset::Dataset;
use crate::description::{Curve, Description, Remark};
use crate::features::{ClickParams, ClickTf};
use crate::prose::human;
use crate::scoring::Matcher;
use crate::settings::{Parameter, Settings};
use crate::text::BagOfWords;

/// BLTM in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "Bltm",
    help: "The bilingual topic model, learned by EM from pairs of a query and a clicked document. A score is how much \
           likelier the query is by the words of the document and by its topics, which are found from its words, than \
           by the words of the whole collection. The iteration that is best on the validation judgments, looked at \
           after every fifth, is kept.",
    parameters: &[
        Parameter::new("topics", "100", "topics"),
        Parameter::new(
            "iterations",
            "50",
            "iterations at most; ten without a better figure end the training",
        ),
        Parameter::new(
            "alpha",
            "0.01",
            "how strongly the topics of a pair are pulled towards all being equal",
        ),
        Parameter::new(
            "beta",
            "0.01",
            "how strongly the words of a topic are pulled towards all being equal",
        ),
        Parameter::new("steps", "20", "updates by which the topics of a document are found"),
        Parameter::new("document", "0.2", "share of the document's own words in the likelihood"),
        Parameter::new("topic", "0.1", "share of the topics; the rest is that of the collection"),
    ],
    feature_parameters: ClickParams::PARAMETERS,
    space: &[
        ("topics", "50,100,200"),
        ("document", "0.1,0.2,0.4"),
        ("topic", "0.05,0.1,0.2,0.4"),
        ("beta", "0.001,0.01,0.1"),
    ],
    effort: Some(("iterations", 5)),
    trainer: Some(|settings| {
        trainer::<BltmParams, ClickParams>(
            settings,
            |params, _| params.validate(),
            |params, clicks, training| Ok(Arc::new(train(params, clicks, training)?)),
        )
    }),
    memory: Some(|sizes| {
        let topics = BltmParams::default().topics as f64;
        sizes.learning() + 4.0 * topics * (sizes.pairs + 3.0 * sizes.words)
    }),
    cost: 10.0,
    ..MatchingKind::new(
        "bltm",
        "BLTM: topics that queries and the documents they led to share, each in words of its own",
        |file| Ok(Arc::new(codec::get(file)?)),
    )
};

/// Topics that a description lists, and words of each.
const LISTED_TOPICS: usize = 20;
const LISTED_WORDS: usize = 6;

/// A bilingual topic model over text.
#[derive(Debug, Clone)]
pub struct BltmModel {
    /// Parameters of its training and of its scores.
    pub params: BltmParams,
    /// Analyser, fields and vocabulary of the texts.
    pub words: BagOfWords,
    /// The topics.
    pub topics: Bltm,
    /// Report of its training.
    pub report: BltmReport,
}

/// Report of the training of a bilingual topic model; kept in its file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct BltmReport {
    /// Transformation of the counts of clicks.
    pub click_tf: ClickTf,
    /// Pairs of a query and a document it learned from.
    pub n_pairs: usize,
    /// NDCG@10 on the validation judgments, if there are any.
    pub validation: Option<f64>,
    /// The iteration whose model was kept.
    pub best: Option<usize>,
    /// Iterations.
    pub iterations: Vec<BltmIteration>,
}

/// An iteration of EM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BltmIteration {
    /// From 1.
    pub number: usize,
    /// Mean logarithm of the likelihood of a word.
    pub log_likelihood: f64,
    /// NDCG@10 on the validation judgments, where it was measured.
    pub validation: Option<f64>,
    /// Seconds it took, validation not counted. Not kept in files: the same training makes the same file.
    #[serde(skip)]
    pub seconds: f64,
}

/// A topic as people may read it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Topic {
    /// Its number, from 0.
    pub number: usize,
    /// Its mean share over the training pairs.
    pub share: f32,
    /// The likeliest words of queries.
    pub query_words: Vec<String>,
    /// The likeliest words of documents.
    pub document_words: Vec<String>,
}

impl BltmModel {
    /// Checks that there is a place for every word.
    pub fn validate(&self) -> Result<()> {
        let n_words = self.words.vocabulary.len();
        let found = (self.topics.queries().n_features(), self.topics.documents().n_features());
        if found != (n_words, n_words) || self.topics.n_topics() != self.params.topics {
            return Err(Error::Shape(format!(
                "{} topics over {} query words and {} document words, and there should be {} over {n_words}",
                self.topics.n_topics(),
                found.0,
                found.1,
                self.params.topics
            )));
        }
        self.params.validate()
    }

    /// All topics, the one with the largest share first, each with its `n` likeliest words.
    pub fn list_topics(&self, n: usize) -> Vec<Topic> {
        let topic = |z: usize| Topic {
            number: z,
            share: self.topics.prior()[z],
            query_words: self.likeliest(self.topics.queries(), z, n),
            document_words: self.likeliest(self.topics.documents(), z, n),
        };
        let mut topics: Vec<Topic> = (0..self.topics.n_topics()).map(topic).collect();
        topics.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.number.cmp(&b.number)));
        topics
    }

    /// The likeliest words of a topic on one side; ties by the id of the word.
    fn likeliest(&self, side: &Factor, z: usize, n: usize) -> Vec<String> {
        let mut words: Vec<(u32, f32)> = rows(side).map(|(word, row)| (word, row[z])).collect();
        words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        words.iter().take(n).map(|(word, _)| self.words.vocabulary.term(*word).to_owned()).collect()
    }

    /// The document words that are likeliest beside the words of a query: p(v | query) = sum_z p(v | z)
    /// p(z | query), p(z | query) by the mean of p(z | w) over its words. Ties by the id of the word; words of
    /// fewer than `min_documents` documents are left out.
    pub fn related(&self, query: &str, top: usize, min_documents: u32) -> Result<Vec<RelatedWord>> {
        let bag = self.words.query(query);
        let mut theta = vec![0f32; self.topics.n_topics()];
        for (word, n) in bag.row().iter() {
            let mut row = vec![0f32; theta.len()];
            self.topics.queries().add(word, 1.0, &mut row);
            row.iter_mut().zip(self.topics.prior()).for_each(|(p, share)| *p *= share);
            let sum: f32 = row.iter().sum();
            if sum > 0.0 {
                theta.iter_mut().zip(&row).for_each(|(theta, p)| *theta += n * p / sum);
            }
        }
        let sum: f32 = theta.iter().sum();
        if sum == 0.0 && bag.indices.is_empty() {
            return Err(unknown(query, &self.words));
        }
        if sum == 0.0 {
            return Err(Error::Params(format!(
                "the model has learned nothing about {query:?}: no training query with a response has it"
            )));
        }
        theta.iter_mut().for_each(|theta| *theta /= sum);
        let vocabulary = &self.words.vocabulary;
        let mut found: Vec<(u32, f32)> = rows(self.topics.documents())
            .filter(|(word, _)| vocabulary.document_frequency(*word) >= min_documents.max(1))
            .map(|(word, row)| (word, dot(row, &theta)))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found.truncate(top);
        let weighted = |(word, value)| RelatedWord {
            word: vocabulary.term(word).to_owned(),
            value,
            n_documents: vocabulary.document_frequency(word),
        };
        Ok(found.into_iter().map(weighted).collect())
    }

    /// p(w | C): the share of every word in the collection, each counted once more, so that none is 0.
    pub(crate) fn background(words: &BagOfWords) -> Vec<f32> {
        let counts = words.vocabulary.collection_frequencies();
        let total: f64 = counts.iter().map(|&n| n as f64 + 1.0).sum();
        counts.iter().map(|&n| ((n as f64 + 1.0) / total) as f32).collect()
    }
}

/// The words that have a row, with p(w | z).
fn rows(side: &Factor) -> impl Iterator<Item = (u32, &[f32])> {
    let values = match side.rows() {
        matchrank_core::matching::Rows::Dense(values) => values.as_slice(),
        matchrank_core::matching::Rows::Sparse(_) => unreachable!("topics are dense"),
    };
    let kept = (0..).zip(side.row_of()).filter(|(_, row)| **row != Factor::NONE);
    kept.map(move |(word, &row)| (word, &values[row as usize * side.d()..][..side.d()]))
}

impl MatchingModel for BltmModel {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        Ok(Box::new(matcher::BltmMatcher::new(self, binding.documents, binding.progress)?))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        codec::put(file, self)
    }

    fn describe(&self) -> Result<Description> {
        let Self { params, topics, report, words } = self;
        let mut description = Description::default();
        description.fact("topics", human(topics.n_topics() as u64));
        description.fact("words of queries", human(topics.queries().n_rows() as u64));
        description.fact("words of documents", human(topics.documents().n_rows() as u64));
        description.fact("share of document, topics", format!("{}, {}", params.document, params.topic));
        description.fact("pairs", human(report.n_pairs as u64));
        // exp of the entropy: as many topics of equal share would be as mixed.
        let entropy: f64 =
            topics.prior().iter().map(|&p| f64::from(p)).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum();
        description.fact("topics in use (by their shares)", format!("{:.1}", entropy.exp()));
        if let Some(best) = report.best {
            description.fact("kept iteration", format!("{best} of {}", report.iterations.len()));
        }
        if let Some(ndcg) = report.validation {
            description.fact("validation NDCG@10", format!("{ndcg:.4}"));
        }
        let listed = self.list_topics(LISTED_WORDS);
        let rows = listed.iter().take(LISTED_TOPICS).map(|topic| {
            let share = format!("{:.1} %", 100.0 * topic.share);
            vec![topic.number.to_string(), share, topic.query_words.join(" "), topic.document_words.join(" ")]
        });
        let header = ["topic", "share", "words of queries", "words of documents"];
        description.remarks.push(Remark::Table {
            title: "The largest topics by their likeliest words (JSON has all of them):".into(),
            header: header.map(str::to_owned).into(),
            rows: rows.collect(),
        });
        let details = &mut description.details;
        details.set("params", params);
        details.set("n_words", &words.vocabulary.len());
        details.set("n_query_words", &topics.queries().n_rows());
        details.set("n_document_words", &topics.documents().n_rows());
        details.set("topics", &listed);
        details.set("report", report);
        Ok(description)
    }

    fn summary(&self, _dataset: &Dataset) -> Description {
        let Self { params, topics, report, words } = self;
        let clicks = ClickParams { click_tf: report.click_tf };
        let mut description = Description::default();
        description.params(params);
        description.params(&clicks);
        description.fact("pairs", human(report.n_pairs as u64));
        description.fact("words of queries", human(topics.queries().n_rows() as u64));
        description.fact("words of documents", human(topics.documents().n_rows() as u64));
        if let Some(best) = report.best {
            let why = if report.validation.is_some() { "best on validation" } else { "the last" };
            description.fact("kept iteration", format!("{best} ({why})"));
        }
        if let Some(ndcg) = report.validation {
            description.fact("validation NDCG@10", format!("{ndcg:.4}"));
        }
        description.remarks.extend(report.table());
        let details = &mut description.details;
        details.set("params", &AllParams { params, clicks: &clicks });
        details.set("words", &words.vocabulary.len());
        details.set("report", report);
        let seconds: Vec<f64> = report.iterations.iter().map(|row| row.seconds).collect();
        details.set("iteration_seconds", &seconds);
        description
    }

    fn validation(&self) -> Option<f64> {
        self.report.validation
    }

    fn curves(&self) -> Vec<Curve> {
        let kept = self.report.best.map(|best| best as f64);
        let rows = || self.report.iterations.iter().map(|row| (row.number as f64, row));
        let validation = rows().map(|(number, row)| (number, row.validation));
        let likelihood = rows().map(|(number, row)| (number, Some(row.log_likelihood)));
        vec![
            Curve::new("iteration", "validation NDCG@10", validation, kept),
            Curve::new("iteration", "log-likelihood of a word", likelihood, kept),
        ]
    }

    fn chosen(&self) -> Settings {
        self.report.best.iter().map(|best| chosen("iterations", best)).collect()
    }

    fn related(&self, query: &RelatedQuery<'_>) -> Option<Result<Related>> {
        let related = || {
            query.forward_only(KIND.name)?;
            Ok(Related {
                model: KIND.name,
                value: "weight",
                column: "probability",
                words: self.related(query.words, query.top, query.min_documents)?,
                unknown: None,
                is_reverse: false,
            })
        };
        Some(related())
    }
}

/// Parameters of the model and of its pairs, as one object.
#[derive(Serialize)]
struct AllParams<'a> {
    #[serde(flatten)]
    params: &'a BltmParams,
    #[serde(flatten)]
    clicks: &'a ClickParams,
}

impl BltmReport {
    /// The iterations that were measured, and the last.
    fn table(&self) -> Option<Remark> {
        let header = ["iteration", "log-likelihood of a word", "validation NDCG@10", "seconds so far"];
        let mut seconds = 0.0;
        let mut rows = Vec::new();
        for (place, iteration) in self.iterations.iter().enumerate() {
            seconds += iteration.seconds;
            if iteration.validation.is_some() || place % 5 == 4 || place + 1 == self.iterations.len() {
                let mark = if Some(iteration.number) == self.best { " *" } else { "" };
                rows.push(vec![
                    format!("{}{mark}", iteration.number),
                    format!("{:.4}", iteration.log_likelihood),
                    iteration.validation.map_or(String::new(), |ndcg| format!("{ndcg:.4}")),
                    format!("{seconds:.2}"),
                ]);
            }
        }
        (!rows.is_empty()).then(|| Remark::table(&header, rows))
    }
}
