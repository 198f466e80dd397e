//! The tables of a dataset, written partition by partition.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Float32Builder, UInt32Builder};
use arrow_array::{ArrayRef, Float32Array, StringArray, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field};
use foldhash::{HashMap, HashSet};
use matchrank_core::Result;
use matchrank_core::progress::Progress;
use rayon::prelude::*;

use super::aggregate::{Aggregator, QuerySums, Share};
use super::collection::{Collection, ListedQueries};
use super::judgments::Graded;
use super::names::{Names, id_of_text};
use super::{IngestParams, Tally, report, split, waves};
use crate::dataset::tables::TableWriter;
use crate::dataset::{
    DOCUMENTS, Holdout, JUDGMENTS, QUERIES, RESPONSES, Split, Statistics, TableInfo, VOCABULARY,
};
use crate::text::{Analyser, FieldWeights, TermCounts, VocabularyParams};

/// What was written.
pub(super) struct Written {
    pub(super) tables: BTreeMap<String, TableInfo>,
    pub(super) fields: FieldWeights,
    pub(super) field_lengths: Vec<u64>,
    pub(super) statistics: Statistics,
}

#[allow(clippy::too_many_arguments, reason = "the last step takes what all steps before it made, once")]
pub(super) fn write(
    params: &IngestParams,
    folder: &Path,
    collection: Collection,
    listed: &ListedQueries,
    aggregator: Aggregator,
    split: &Split,
    judged: Vec<(Holdout, Vec<Graded>)>,
    analyser: &Analyser,
    tally: &mut Tally,
    progress: &dyn Progress,
) -> Result<Written> {
    let mut queries = Queries::create(&folder.join(QUERIES), analyser)?;
    queries.write_listed(listed)?;
    let mut wanted = Names::default();
    for judgment in judged.iter().flat_map(|(_, rows)| rows) {
        if listed.ids.find(&judgment.query).is_none() {
            let _ = wanted.insert(&judgment.query);
        }
    }
    let mut unlisted = Unlisted { wanted, found: HashMap::default() };

    let mut pairs = Pairs::create(folder, collection.ids.len())?;
    let mut partitions = aggregator.finish();
    waves::in_waves(
        || Ok(partitions.next()),
        |partition| partition(),
        |rows| {
            progress.advance(1);
            let mut new_queries = Vec::new();
            for mut query in rows {
                if let Some(share) = split::share_of_query(split, listed_text(listed, &query)) {
                    query.pairs.iter_mut().for_each(|pair| pair.0 = share);
                }
                pairs.drop_unclicked(&mut query, params.min_clicks, tally);
                if query.pairs.is_empty() {
                    continue;
                }
                let number = match query.listed {
                    Some(number) => number,
                    None => {
                        let number = queries.next_number() + new_queries.len() as u32;
                        let mut id = id_of_text(&query.text);
                        while listed.ids.find(&id).is_some() {
                            id.push('~');
                        }
                        if unlisted.wanted.find(&id).is_some() {
                            unlisted.found.insert(id.clone(), number);
                        }
                        new_queries.push((id, std::mem::take(&mut query.text)));
                        number
                    }
                };
                pairs.add(number, &query);
            }
            queries.write(&new_queries)?;
            pairs.flush()
        },
    )?;

    for (holdout, rows) in judged {
        for row in rows {
            let query = listed.ids.find(&row.query).or_else(|| unlisted.found.get(&row.query).copied());
            let example = || format!("{} {}", row.query, row.document);
            match (query, collection.ids.find(&row.document)) {
                (None, _) => tally.add("judgments of queries whose text is unknown", 1, example),
                (_, None) => tally.add("judgments of documents that are not in the collection", 1, example),
                (Some(query), Some(document)) => pairs.judge(holdout, query, document, row.grade, 0.0),
            }
        }
        pairs.flush()?;
    }
    tally.add("repeated documents (same id, same text)", collection.n_repeated, || {
        "in the document files".into()
    });
    report(tally, progress);
    if collection.n_empty > 0 {
        progress.note(&format!("{} documents have no word", collection.n_empty));
    }

    let weights = params.field_weights.clone();
    if let Some(unknown) = weights.keys().find(|name| !collection.fields.contains(name)) {
        return Err(matchrank_core::Error::Params(format!(
            "a weight is given for the field '{unknown}', and the text fields are {}",
            collection.fields.join(", ")
        )));
    }
    let fields = FieldWeights::new(
        collection.fields.iter().map(|name| (name.clone(), weights.get(name).copied().unwrap_or(1.0))),
    )?;

    let mut tables = BTreeMap::from([(DOCUMENTS.to_owned(), collection.table.clone())]);
    let n_queries = queries.writer.rows();
    let query_words = queries.words_of(listed, &pairs.answered);
    let (query_table, query_counts) = queries.close()?;
    tables.insert(QUERIES.to_owned(), query_table);
    let mut statistics = pairs.close(&collection, query_words, &mut tables)?;
    let n_words = write_vocabulary(
        &folder.join(VOCABULARY),
        collection.counts,
        query_counts,
        &params.vocabulary,
        &mut tables,
    )?;
    finish_statistics(&mut statistics, n_words, n_queries, collection.ids.len() as u64);
    Ok(Written { tables, fields, field_lengths: collection.lengths, statistics })
}

fn listed_text<'a>(listed: &'a ListedQueries, query: &'a QuerySums) -> &'a str {
    query.listed.map_or(&query.text, |number| &listed.texts[number as usize])
}

/// Judged queries that are in no queries file, to be met in the log by their text.
struct Unlisted {
    wanted: Names,
    found: HashMap<String, u32>,
}

/// The table of queries, with the counts of their words.
struct Queries<'a> {
    writer: TableWriter,
    analyser: &'a Analyser,
    counts: TermCounts,
    /// Different words of all unlisted queries together; each of them has a pair.
    unlisted_words: u64,
}

impl<'a> Queries<'a> {
    fn create(path: &Path, analyser: &'a Analyser) -> Result<Self> {
        let fields = vec![Field::new("id", DataType::Utf8, false), Field::new("text", DataType::Utf8, false)];
        Ok(Self {
            writer: TableWriter::create(path, fields)?,
            analyser,
            counts: TermCounts::new(),
            unlisted_words: 0,
        })
    }

    fn next_number(&self) -> u32 {
        self.writer.rows() as u32
    }

    fn write_listed(&mut self, listed: &ListedQueries) -> Result<()> {
        let ids: Vec<&str> = listed.ids.iter().collect();
        for (ids, texts) in ids.chunks(1 << 16).zip(listed.texts.chunks(1 << 16)) {
            self.count(texts.iter().map(String::as_str).collect());
            self.writer.write(vec![
                Arc::new(StringArray::from_iter_values(ids)) as ArrayRef,
                Arc::new(StringArray::from_iter_values(texts)),
            ])?;
        }
        Ok(())
    }

    fn write(&mut self, queries: &[(String, String)]) -> Result<()> {
        if queries.is_empty() {
            return Ok(());
        }
        self.unlisted_words += self.count(queries.iter().map(|(_, text)| text.as_str()).collect());
        self.writer.write(vec![
            Arc::new(StringArray::from_iter_values(queries.iter().map(|(id, _)| id))) as ArrayRef,
            Arc::new(StringArray::from_iter_values(queries.iter().map(|(_, text)| text))),
        ])
    }

    /// Adds the words of texts to the counts and says how many different words they have, each by itself.
    fn count(&mut self, texts: Vec<&str>) -> u64 {
        let (counts, words) = texts
            .par_chunks(4096)
            .map(|texts| {
                let (mut counts, mut words) = (TermCounts::new(), 0);
                for text in texts {
                    counts.begin_document();
                    self.analyser.tokens(text, |token| words += u64::from(counts.add(token)));
                }
                (counts, words)
            })
            .reduce(|| (TermCounts::new(), 0), |(a, n), (b, m)| (a.merge(b), n + m));
        self.counts = std::mem::take(&mut self.counts).merge(counts);
        words
    }

    /// Different words of all queries that have a training pair.
    fn words_of(&self, listed: &ListedQueries, answered: &HashSet<u32>) -> u64 {
        let listed_words: u64 = (0..listed.len())
            .into_par_iter()
            .filter(|number| answered.contains(&(*number as u32)))
            .fold(
                || (TermCounts::new(), 0),
                |(mut counts, mut words), number| {
                    counts.begin_document();
                    self.analyser
                        .tokens(&listed.texts[number], |token| words += u64::from(counts.add(token)));
                    (counts, words)
                },
            )
            .map(|(_, words)| words)
            .sum();
        listed_words + self.unlisted_words
    }

    fn close(self) -> Result<(TableInfo, TermCounts)> {
        Ok((self.writer.close()?, self.counts))
    }
}

/// The tables of training pairs and of judged pairs.
struct Pairs {
    responses: TableWriter,
    judgments: TableWriter,
    buffer: Vec<(u32, u32, f32, u64, Option<f64>)>,
    judged: Vec<(Holdout, u32, u32, f32, f32)>,
    /// Listed and unlisted queries with a training pair.
    answered: HashSet<u32>,
    clicked: Vec<u32>,
    judged_queries: [HashSet<u32>; 2],
    n_judgments: [u64; 2],
    n_clicks: f64,
}

impl Pairs {
    fn create(folder: &Path, n_documents: usize) -> Result<Self> {
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
            buffer: Vec::new(),
            judged: Vec::new(),
            answered: HashSet::default(),
            clicked: vec![0; n_documents],
            judged_queries: [HashSet::default(), HashSet::default()],
            n_judgments: [0; 2],
            n_clicks: 0.0,
        })
    }

    /// Leaves out pairs that were shown and never clicked, and training pairs below the minimum.
    fn drop_unclicked(&self, query: &mut QuerySums, min_clicks: f64, tally: &mut Tally) {
        let (mut unclicked, mut rare) = (0, 0);
        query.pairs.retain(|(share, _, sums)| {
            let clicks = sums.clicks();
            let keep = clicks > 0.0 && (*share != Share::Train || clicks >= min_clicks);
            unclicked += u64::from(clicks <= 0.0);
            rare += u64::from(clicks > 0.0 && !keep);
            keep
        });
        let example = || if query.listed.is_some() { "a listed query".into() } else { query.text.clone() };
        tally.add("pairs without a click", unclicked, example);
        tally.add("training pairs with fewer clicks than --min-clicks", rare, example);
    }

    fn add(&mut self, number: u32, query: &QuerySums) {
        for (share, document, sums) in &query.pairs {
            let clicks = sums.clicks();
            match share {
                Share::Train => {
                    self.buffer.push((number, *document, clicks as f32, sums.shown, sums.position()));
                    self.answered.insert(number);
                    self.clicked[*document as usize] += 1;
                    self.n_clicks += clicks;
                }
                Share::Validation => self.judge(Holdout::Validation, number, *document, 1.0, clicks as f32),
                Share::Test => self.judge(Holdout::Test, number, *document, 1.0, clicks as f32),
            }
        }
    }

    fn judge(&mut self, holdout: Holdout, query: u32, document: u32, grade: f32, clicks: f32) {
        self.judged.push((holdout, query, document, grade, clicks));
        self.judged_queries[holdout as usize].insert(query);
        self.n_judgments[holdout as usize] += 1;
    }

    fn flush(&mut self) -> Result<()> {
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
        let rows = std::mem::take(&mut self.judged);
        self.judgments.write(vec![
            Arc::new(UInt8Array::from_iter_values(rows.iter().map(|r| r.0 as u8))) as ArrayRef,
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.1))),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.2))),
            Arc::new(Float32Array::from_iter_values(rows.iter().map(|r| r.3))),
            Arc::new(Float32Array::from_iter_values(rows.iter().map(|r| r.4))),
        ])
    }

    fn close(
        self,
        collection: &Collection,
        query_words: u64,
        tables: &mut BTreeMap<String, TableInfo>,
    ) -> Result<Statistics> {
        let n_pairs = self.responses.rows();
        tables.insert(RESPONSES.to_owned(), self.responses.close()?);
        tables.insert(JUDGMENTS.to_owned(), self.judgments.close()?);
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
            n_clicks: self.n_clicks,
            n_judgments: self.n_judgments,
            n_judged_queries: self.judged_queries.map(|queries| queries.len() as u64),
            ..Statistics::default()
        })
    }
}

fn finish_statistics(statistics: &mut Statistics, n_words: u64, n_queries: u64, n_documents: u64) {
    let mean = |sum: f64, n: u64| if n == 0 { 0.0 } else { sum / n as f64 };
    statistics.n_words = n_words;
    statistics.n_queries = n_queries;
    statistics.n_documents = n_documents;
    statistics.d_x = n_words + statistics.n_y;
    statistics.d_y = n_words + statistics.n_x;
    statistics.n_per_x_feature = mean(statistics.c_x * statistics.n_x as f64, statistics.d_x);
    statistics.n_per_y_feature = mean(statistics.c_y * statistics.n_y as f64, statistics.d_y);
}

/// Words of documents by falling document frequency, then words of queries alone; says how many in all.
fn write_vocabulary(
    path: &Path,
    documents: TermCounts,
    queries: TermCounts,
    params: &VocabularyParams,
    tables: &mut BTreeMap<String, TableInfo>,
) -> Result<u64> {
    let queries = queries.into_vocabulary(&VocabularyParams::default())?;
    let queries_alone: Vec<_> = queries.iter().filter(|(term, ..)| !documents.contains(term)).collect();
    let documents = documents.into_vocabulary(params)?;
    let mut writer = TableWriter::create(
        path,
        vec![
            Field::new("term", DataType::Utf8, false),
            Field::new("document_frequency", DataType::UInt32, false),
            Field::new("collection_frequency", DataType::UInt64, false),
            Field::new("query_frequency", DataType::UInt32, false),
        ],
    )?;
    let of_queries = |term: &str| queries.id(term).map_or(0, |id| queries.document_frequency(id));
    let mut rows: Vec<(&str, u32, u64, u32)> =
        documents.iter().map(|(term, df, cf)| (term, df, cf, of_queries(term))).collect();
    rows.extend(queries_alone.iter().map(|(term, df, _)| (*term, 0, 0, *df)));
    for rows in rows.chunks(1 << 16) {
        writer.write(vec![
            Arc::new(StringArray::from_iter_values(rows.iter().map(|r| r.0))) as ArrayRef,
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.1))),
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.2))),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.3))),
        ])?;
    }
    tables.insert(path.file_name().expect("a file").to_string_lossy().into_owned(), writer.close()?);
    Ok(rows.len() as u64)
}
