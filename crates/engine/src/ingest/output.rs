//! The tables of a dataset, written partition by partition.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field};
use foldhash::{HashMap, HashSet};
use matchrank_core::Result;
use matchrank_core::progress::Progress;
use rayon::prelude::*;

use super::aggregate::{Aggregator, QuerySums};
use super::documents::Collection;
use super::judgments::Graded;
use super::listed::ListedQueries;
use super::names::{Names, id_of_text};
use super::pairs::Pairs;
use super::tally::Tally;
use super::{IngestParams, split, waves};
use crate::dataset::tables::TableWriter;
use crate::dataset::{DOCUMENTS, Holdout, QUERIES, Split, Statistics, TableInfo, VOCABULARY};
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
    tally.report(progress);
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
