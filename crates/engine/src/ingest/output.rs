//! The tables of a dataset, written partition by partition.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field};
use foldhash::{HashMap, HashSet};
use matchrank_core::message::{HAS, counted_with};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use rayon::prelude::*;

use super::aggregate::{Aggregator, QuerySums, Share};
use super::documents::CollectedDocuments;
use super::judgments::JudgmentFile;
use super::listed::ListedQueries;
use super::pairs::PairTables;
use super::zeros::{ZeroFinder, ZeroTally};
use super::{IngestParams, split, waves};
use crate::dataset::tables::TableWriter;
use crate::dataset::{
    Attribute, DOCUMENTS, Holdout, LostZeros, Names, QUERIES, Split, Statistics, TableInfo, VOCABULARY,
    id_of_text,
};
use crate::tally::Tally;
use crate::text::{
    Analyser, FieldWeights, LanguageSample, MISMATCH_FIX, TermCounts, VocabularyParams, mismatch,
};

/// Counts of what was written.
pub(super) struct Written {
    pub(super) tables: BTreeMap<String, TableInfo>,
    pub(super) fields: FieldWeights,
    pub(super) attributes: Vec<Attribute>,
    pub(super) field_lengths: Vec<u64>,
    pub(super) statistics: Statistics,
}

#[allow(clippy::too_many_arguments, reason = "the last step takes what all steps before it made, once")]
pub(super) fn write(
    params: &IngestParams,
    folder: &Path,
    collection: CollectedDocuments,
    listed: &ListedQueries,
    aggregator: Aggregator,
    split: &Split,
    judged: Vec<(Holdout, JudgmentFile)>,
    log_names: &[String],
    analyser: &Analyser,
    tally: &mut Tally,
    lost_zeros: &mut Vec<LostZeros>,
    progress: &dyn Progress,
) -> Result<Written> {
    let mut queries = Queries::create(&folder.join(QUERIES), analyser)?;
    queries.write_listed(listed)?;
    let mut wanted = Names::default();
    for judgment in judged.iter().flat_map(|(_, file)| &file.rows) {
        if listed.ids.find(&judgment.query).is_none() {
            let _ = wanted.insert(&judgment.query);
        }
    }
    let mut unlisted = Unlisted { wanted, found: HashMap::default() };

    let mut pairs = PairTables::create(folder, collection.ids.len(), params.click_grades)?;
    let mut partitions = aggregator.finish();
    waves::in_waves(
        rayon::current_num_threads().min(4),
        || Ok(partitions.next()),
        |partition| partition(),
        |rows| {
            progress.advance(1);
            let mut new_queries = Vec::new();
            for mut query in rows {
                if let Some(share) = split::share_of_query(split, listed_text(listed, &query)) {
                    query.pairs.iter_mut().for_each(|pair| pair.0 = share);
                }
                let dropped = pairs.drop_unclicked(&mut query, params.min_clicks, tally);
                // Only listed queries have judgments, so one without any response has a number.
                if query.pairs.is_empty() && dropped.negatives.is_empty() {
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
                        let trained = query.pairs.iter().any(|(share, ..)| *share == Share::Train);
                        new_queries.push((id, std::mem::take(&mut query.text), trained));
                        number
                    }
                };
                pairs.add(number, &query, dropped);
            }
            queries.write(&new_queries)?;
            pairs.flush()
        },
    )?;

    let mut judged_pairs = HashSet::default();
    let (known_documents, known_queries) = (ZeroFinder::new(&collection.ids), ZeroFinder::new(&listed.ids));
    let judged_files: Vec<(Holdout, String)> =
        judged.iter().map(|(holdout, file)| (*holdout, file.name.clone())).collect();
    for (holdout, JudgmentFile { name, rows, .. }) in judged {
        let path = Path::new(&name);
        let (mut documents, mut query_ids) = (ZeroTally::default(), ZeroTally::default());
        for row in rows {
            let query = listed.ids.find(&row.query).or_else(|| unlisted.found.get(&row.query).copied());
            let example = || format!("{} {}", row.query, row.document);
            match (query, collection.ids.find(&row.document)) {
                (None, _) => {
                    query_ids.add(&row.query, &known_queries);
                    tally.add("judgments of queries whose text is unknown", 1, example);
                }
                (_, None) => {
                    documents.add(&row.document, &known_documents);
                    tally.add("judgments of documents that are not in the collection", 1, example);
                }
                (Some(query), Some(document)) => {
                    if !judged_pairs.insert((holdout, query, document)) {
                        return Err(Error::Params(format!(
                            "the document {} of the query {} is judged twice for {}; keep one of the judgments",
                            row.document,
                            row.query,
                            holdout.name()
                        )));
                    }
                    pairs.judge(holdout, query, document, row.grade, 0.0);
                }
            }
        }
        lost_zeros
            .extend(documents.of_file("document", path).into_iter().chain(query_ids.of_file("query", path)));
        pairs.flush()?;
    }
    tally.add("repeated documents (same id, same text)", collection.n_repeated, || {
        "in the document files".into()
    });
    tally.report(progress);
    let lost: Vec<String> = lost_zeros.iter().map(LostZeros::sentence).collect();
    lost.iter().for_each(|sentence| progress.note(&format!("{sentence}; {}", LostZeros::FIX)));
    let zeros = match &lost[..] {
        [] => String::new(),
        lost => format!("; {}; {}", lost.join("; "), LostZeros::FIX),
    };
    if !log_names.is_empty() && pairs.is_empty() {
        let cause = match pairs.n_negatives() {
            0 => tally.summary(),
            n if tally.counts().is_empty() => format!("{} grade 0", counted_with(n, "pair", HAS)),
            n => format!("{} grade 0; {}", counted_with(n, "pair", HAS), tally.summary()),
        };
        let message = format!("no pair of a query and a document is left: {cause}{zeros}");
        return Err(Error::format(log_names.join(", "), message));
    }
    for (holdout, name) in judged_files {
        if !pairs.has_judgments(holdout) {
            let message = format!("no {} judgment is left: {}{zeros}", holdout.name(), tally.summary());
            return Err(Error::format(name, message));
        }
    }
    if collection.n_empty > 0 {
        progress.note(&format!("{} no word", counted_with(collection.n_empty, "document", HAS)));
    }

    let weights = params.field_weights.clone();
    if let Some(unknown) = weights.keys().find(|name| !collection.fields.contains(name)) {
        return Err(Error::Params(format!(
            "a weight is given for the field '{unknown}', and the text fields are {}",
            collection.fields.join(", ")
        )));
    }
    let fields = FieldWeights::new(
        collection.fields.iter().map(|name| (name.clone(), weights.get(name).copied().unwrap_or(1.0))),
    )?;

    let attributes = collection.attributes.clone();
    let mut tables = BTreeMap::from([(DOCUMENTS.to_owned(), collection.table.clone())]);
    let n_queries = queries.writer.rows();
    queries.count_listed(listed, &pairs.answered);
    let query_words = queries.n_words;
    if let Some(warning) = mismatch(analyser.params(), &queries.sample.shares(), "queries") {
        progress.note(&format!("{warning}; {MISMATCH_FIX}"));
    }
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
    Ok(Written { tables, fields, attributes, field_lengths: collection.lengths, statistics })
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
    /// Words of the queries that have a training pair: held-out queries leave no trace in what models see.
    counts: TermCounts,
    /// Different words of each of these queries, added up.
    n_words: u64,
    /// Languages of these queries.
    sample: LanguageSample,
}

impl<'a> Queries<'a> {
    fn create(path: &Path, analyser: &'a Analyser) -> Result<Self> {
        let fields = vec![Field::new("id", DataType::Utf8, false), Field::new("text", DataType::Utf8, false)];
        Ok(Self {
            writer: TableWriter::create(path, fields)?,
            analyser,
            counts: TermCounts::new(),
            n_words: 0,
            sample: LanguageSample::default(),
        })
    }

    fn next_number(&self) -> u32 {
        self.writer.rows() as u32
    }

    fn write_listed(&mut self, listed: &ListedQueries) -> Result<()> {
        let ids: Vec<&str> = listed.ids.iter().collect();
        for (ids, texts) in ids.chunks(1 << 16).zip(listed.texts.chunks(1 << 16)) {
            self.writer.write(vec![
                Arc::new(StringArray::from_iter_values(ids)) as ArrayRef,
                Arc::new(StringArray::from_iter_values(texts)),
            ])?;
        }
        Ok(())
    }

    /// Writes queries of the log: id, text, and whether they have a training pair.
    fn write(&mut self, queries: &[(String, String, bool)]) -> Result<()> {
        if queries.is_empty() {
            return Ok(());
        }
        self.count(
            queries.iter().filter(|(.., trained)| *trained).map(|(_, text, _)| text.as_str()).collect(),
        );
        self.writer.write(vec![
            Arc::new(StringArray::from_iter_values(queries.iter().map(|(id, ..)| id))) as ArrayRef,
            Arc::new(StringArray::from_iter_values(queries.iter().map(|(_, text, _)| text))),
        ])
    }

    /// Counts the words of the listed queries that have a training pair.
    fn count_listed(&mut self, listed: &ListedQueries, trained: &HashSet<u32>) {
        let texts = listed.texts.iter().zip(0..).filter(|(_, number)| trained.contains(number));
        self.count(texts.map(|(text, _)| text.as_str()).collect());
    }

    fn count(&mut self, texts: Vec<&str>) {
        texts.iter().for_each(|text| self.sample.see(std::iter::once(*text)));
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
        self.n_words += words;
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
