//! The tables of training pairs and of judged pairs, and what is counted on the way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float32Builder, UInt32Builder};
use arrow_array::{ArrayRef, Float32Array, UInt8Array, UInt32Array};
use arrow_schema::{DataType, Field};
use foldhash::HashSet;
use matchrank_core::Result;

use super::aggregate::{QuerySums, Share};
use super::documents::CollectedDocuments;
use crate::dataset::tables::TableWriter;
use crate::dataset::{ClickGrades, Holdout, JUDGMENTS, NEGATIVES, RESPONSES, SKIPPED, Statistics, TableInfo};
use crate::tally::Tally;

/// Training pairs of a query that are no responses.
#[derive(Default)]
pub(super) struct Dropped {
    /// Documents that were shown above a click, or next below the last one, with their mean positions.
    skipped: Vec<(u32, f32)>,
    /// Documents judged with grade 0.
    pub(super) negatives: Vec<u32>,
}

/// The tables of training pairs and of judged pairs.
pub(super) struct PairTables {
    responses: TableWriter,
    judgments: TableWriter,
    /// Made when there is something to write.
    skipped: Option<TableWriter>,
    /// Made when there is something to write.
    negatives: Option<TableWriter>,
    folder: PathBuf,
    click_grades: ClickGrades,
    buffer: Vec<(u32, u32, f32, u64, Option<f64>)>,
    judged: Vec<(Holdout, u32, u32, f32, f32)>,
    /// Query, document, mean position.
    passed_over: Vec<(u32, u32, f32)>,
    /// Query, document.
    rejected: Vec<(u32, u32)>,
    /// Listed and unlisted queries with a training pair.
    pub(super) answered: HashSet<u32>,
    clicked: Vec<u32>,
    judged_queries: [HashSet<u32>; 2],
    n_judgments: [u64; 2],
    n_clicks: f64,
}

impl PairTables {
    pub(super) fn create(folder: &Path, n_documents: usize, click_grades: ClickGrades) -> Result<Self> {
        let number = |name| Field::new(name, DataType::UInt32, false);
        let value = |name| Field::new(name, DataType::Float32, false);
        let responses = vec![
            number("query"),
            number("document"),
            value("response"),
            number("shown"),
            Field::new("position", DataType::Float32, true),
        ];
        let judgments = vec![
            Field::new("split", DataType::UInt8, false),
            number("query"),
            number("document"),
            value("grade"),
            value("clicks"),
        ];
        Ok(Self {
            responses: TableWriter::create(&folder.join(RESPONSES), responses)?,
            judgments: TableWriter::create(&folder.join(JUDGMENTS), judgments)?,
            skipped: None,
            negatives: None,
            folder: folder.to_owned(),
            click_grades,
            buffer: Vec::new(),
            judged: Vec::new(),
            passed_over: Vec::new(),
            rejected: Vec::new(),
            answered: HashSet::default(),
            clicked: vec![0; n_documents],
            judged_queries: [HashSet::default(), HashSet::default()],
            n_judgments: [0; 2],
            n_clicks: 0.0,
        })
    }

    /// Leaves out pairs without a response, and training pairs below the minimum. Of the training pairs without a
    /// response those come back that say something: documents judged with grade 0, and, with their positions, those
    /// that stood above a document that was clicked in training, and the first one below the last of these.
    pub(super) fn drop_unclicked(
        &self,
        query: &mut QuerySums,
        min_clicks: f64,
        tally: &mut Tally,
    ) -> Dropped {
        let training = || {
            let pairs = query.pairs.iter().filter(|(share, ..)| *share == Share::Train);
            pairs.filter_map(|(_, document, sums)| Some((*document, sums.clicks(), sums.position()? as f32)))
        };
        let clicked_at = training().filter(|(_, clicks, _)| *clicks > 0.0).map(|(.., position)| position);
        let unclicked_at =
            || training().filter(|(_, clicks, _)| *clicks <= 0.0).map(|(document, _, at)| (document, at));
        let mut dropped = Dropped::default();
        if let Some(lowest) = clicked_at.reduce(f32::max) {
            let next = unclicked_at().filter(|(_, at)| *at > lowest);
            let next = next.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            dropped.skipped = unclicked_at().filter(|(_, at)| *at < lowest).chain(next).collect();
        }
        let (mut unclicked, mut rare, mut held_out) = (0, 0, 0);
        query.pairs.retain(|(share, document, sums)| {
            let clicks = sums.clicks();
            let keep = clicks > 0.0 && (*share != Share::Train || clicks >= min_clicks);
            match (sums.is_negative(), share) {
                (true, Share::Train) => dropped.negatives.push(*document),
                (true, _) => held_out += 1,
                (false, _) => unclicked += u64::from(clicks <= 0.0),
            }
            rare += u64::from(clicks > 0.0 && !keep);
            keep
        });
        let example = || if query.listed.is_some() { "a listed query".into() } else { query.text.clone() };
        tally.add("pairs without a click", unclicked, example);
        tally.add("held-out pairs with grade 0", held_out, example);
        tally.add("training pairs with too few clicks", rare, example);
        dropped
    }

    pub(super) fn add(&mut self, number: u32, query: &QuerySums, dropped: Dropped) {
        self.rejected.extend(dropped.negatives.into_iter().map(|document| (number, document)));
        if query.pairs.is_empty() {
            return;
        }
        let skipped = dropped.skipped.into_iter();
        self.passed_over.extend(skipped.map(|(document, position)| (number, document, position)));
        let most = |of: Share| {
            let own = query.pairs.iter().filter(|(share, ..)| *share == of);
            own.map(|(.., sums)| sums.clicks()).fold(0.0, f64::max)
        };
        let most = [most(Share::Validation), most(Share::Test)];
        for (share, document, sums) in &query.pairs {
            let clicks = sums.clicks();
            let mut judge = |holdout: Holdout| {
                let grade = self.click_grades.of(clicks, most[holdout as usize]);
                self.judge(holdout, number, *document, grade, clicks as f32);
            };
            match share {
                Share::Train => {
                    self.buffer.push((number, *document, clicks as f32, sums.shown, sums.position()));
                    self.answered.insert(number);
                    self.clicked[*document as usize] += 1;
                    self.n_clicks += clicks;
                }
                Share::Validation => judge(Holdout::Validation),
                Share::Test => judge(Holdout::Test),
            }
        }
    }

    pub(super) fn judge(&mut self, holdout: Holdout, query: u32, document: u32, grade: f32, clicks: f32) {
        self.judged.push((holdout, query, document, grade, clicks));
        self.judged_queries[holdout as usize].insert(query);
        self.n_judgments[holdout as usize] += 1;
    }

    /// Returns true if there is neither a training pair nor a judgment.
    pub(super) fn is_empty(&self) -> bool {
        self.answered.is_empty() && self.n_judgments == [0, 0]
    }

    pub(super) fn has_judgments(&self, holdout: Holdout) -> bool {
        self.n_judgments[holdout as usize] > 0
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.buffer.sort_unstable_by_key(|row| (row.0, row.1));
        let rows = std::mem::take(&mut self.buffer);
        let mut positions = Float32Builder::with_capacity(rows.len());
        let mut shown = UInt32Builder::with_capacity(rows.len());
        for row in &rows {
            positions.append_option(row.4.map(|p| p as f32));
            shown.append_value(u32::try_from(row.3).unwrap_or(u32::MAX));
        }
        self.responses.write(vec![
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.0))) as ArrayRef,
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.1))),
            Arc::new(Float32Array::from_iter_values(rows.iter().map(|r| r.2))),
            Arc::new(shown.finish()),
            Arc::new(positions.finish()),
        ])?;
        self.flush_skipped()?;
        self.flush_negatives()?;
        let rows = std::mem::take(&mut self.judged);
        self.judgments.write(vec![
            Arc::new(UInt8Array::from_iter_values(rows.iter().map(|r| r.0 as u8))) as ArrayRef,
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.1))),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.2))),
            Arc::new(Float32Array::from_iter_values(rows.iter().map(|r| r.3))),
            Arc::new(Float32Array::from_iter_values(rows.iter().map(|r| r.4))),
        ])
    }

    fn flush_skipped(&mut self) -> Result<()> {
        let mut rows = std::mem::take(&mut self.passed_over);
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_unstable_by_key(|row| (row.0, row.1));
        if self.skipped.is_none() {
            let number = |name| Field::new(name, DataType::UInt32, false);
            let fields =
                vec![number("query"), number("document"), Field::new("position", DataType::Float32, false)];
            self.skipped = Some(TableWriter::create(&self.folder.join(SKIPPED), fields)?);
        }
        self.skipped.as_mut().expect("just made").write(vec![
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.0))) as ArrayRef,
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.1))),
            Arc::new(Float32Array::from_iter_values(rows.iter().map(|r| r.2))),
        ])
    }

    fn flush_negatives(&mut self) -> Result<()> {
        let mut rows = std::mem::take(&mut self.rejected);
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_unstable();
        if self.negatives.is_none() {
            let fields = ["query", "document"].map(|name| Field::new(name, DataType::UInt32, false));
            self.negatives = Some(TableWriter::create(&self.folder.join(NEGATIVES), fields.to_vec())?);
        }
        self.negatives.as_mut().expect("just made").write(vec![
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.0))) as ArrayRef,
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.1))),
        ])
    }

    /// Returns the number of training pairs with grade 0 written so far.
    pub(super) fn n_negatives(&self) -> u64 {
        self.negatives.as_ref().map_or(0, TableWriter::rows)
    }

    pub(super) fn close(
        self,
        collection: &CollectedDocuments,
        query_words: u64,
        tables: &mut BTreeMap<String, TableInfo>,
    ) -> Result<Statistics> {
        let (n_pairs, n_negatives) = (self.responses.rows(), self.n_negatives());
        tables.insert(RESPONSES.to_owned(), self.responses.close()?);
        tables.insert(JUDGMENTS.to_owned(), self.judgments.close()?);
        if let Some(skipped) = self.skipped {
            tables.insert(SKIPPED.to_owned(), skipped.close()?);
        }
        if let Some(negatives) = self.negatives {
            tables.insert(NEGATIVES.to_owned(), negatives.close()?);
        }
        let answering = self.clicked.iter().zip(&collection.n_words).filter(|(clicked, _)| **clicked > 0);
        let (n_y, document_words) =
            answering.fold((0_u64, 0_u64), |(n, words), (_, own)| (n + 1, words + u64::from(*own)));
        let n_x = self.answered.len() as u64;
        let mean = |sum: u64, n: u64| if n == 0 { 0.0 } else { sum as f64 / n as f64 };
        Ok(Statistics {
            n_x,
            n_y,
            c_x: mean(query_words + n_pairs, n_x),
            c_y: mean(document_words + n_pairs, n_y),
            documents_per_query: mean(n_pairs, n_x),
            queries_per_document: mean(n_pairs, n_y),
            n_pairs,
            n_negatives,
            n_clicks: self.n_clicks,
            n_judgments: self.n_judgments,
            n_judged_queries: self.judged_queries.map(|queries| queries.len() as u64),
            ..Statistics::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use matchrank_core::progress::Silent;

    use crate::dataset::{Dataset, Holdout};
    use crate::ingest::{IngestParams, SplitBy, ingest};

    #[test]
    fn the_minimum_of_clicks_is_for_training_pairs_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        // Twenty clicks, one a day: the last two days are the test, the two before them validation.
        let clicks = (1..=20).map(|day| {
            let document = match day {
                1 => "rare",
                17 | 18 => "validated",
                19 => "tested",
                20 => "once",
                _ => "often",
            };
            format!("red shoes,{document},2026-01-{day:02}\n")
        });
        let log = std::iter::once("query,document,time\n".to_owned()).chain(clicks).collect::<String>();
        let names = ["rare", "often", "validated", "tested", "once"];
        let documents = names.map(|name| format!("{name}\tred {name}\n")).concat();
        let params = IngestParams {
            clicks: vec![file("log.csv", &log)],
            documents: vec![file("docs.tsv", &documents)],
            split: SplitBy::Time,
            holdout: [0.1, 0.1],
            min_clicks: 2.0,
            ..IngestParams::default()
        };
        let out = folder.path().join("data");
        ingest(&params, &out, false, &Silent).unwrap();
        let dataset = Dataset::open(&out).unwrap();
        let ids = dataset.document_ids().unwrap();
        let named = |documents: Vec<u32>| -> Vec<&str> {
            let mut names: Vec<&str> = documents.iter().map(|row| ids[*row as usize].as_str()).collect();
            names.sort_unstable();
            names
        };
        let judged = |holdout| dataset.judgments(holdout).unwrap().iter().map(|j| j.document).collect();
        let trained = dataset.responses().unwrap().iter().map(|r| r.document).collect();
        assert_eq!(named(trained), ["often"], "one click in training is below the minimum");
        assert_eq!(named(judged(Holdout::Validation)), ["validated"]);
        assert_eq!(named(judged(Holdout::Test)), ["once", "tested"], "one held-out click is enough");
    }
}
