//! From logs, documents and judgments to a dataset folder.
//!
//! ```text
//! documents ----> collection --------------------------> documents.parquet
//! queries ------> listed queries --------+
//! clicks -------> rows -> aggregate -----+--> output --> queries, responses, judgments, vocabulary
//! responses ----> rows -> aggregate -----+
//! judgments -----------------------------+
//! ```
//!
//! The log is never in memory whole: rows are parsed chunk by chunk on all cores and added up per
//! (query, document) in partitions that go to disk when they outgrow [`IngestParams::memory`].
//! The folder is written under a temporary name and renamed when it is complete.

mod aggregate;
mod chunks;
mod clicks;
mod columns;
mod date_format;
mod delimiters;
mod documents;
mod escapes;
mod event_types;
mod events;
mod fields;
mod file_format;
mod inputs;
mod items;
mod judgments;
mod listed;
mod log_rows;
mod nested;
mod output;
mod pairs;
mod reading;
mod records;
#[cfg(test)]
mod shape_tests;
mod split;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod times;
mod waves;
mod zeros;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

pub use crate::lines::LONGEST_RECORD;
pub use columns::{NamedColumns, Role};
pub use escapes::CsvEscape;
pub use inputs::FileColumn;
pub use split::SplitBy;

use crate::tally::Tally;
use aggregate::Aggregator;
use clicks::{ClickLog, Searches};
use inputs::{InputFiles, InputSettings};
use listed::ListedQueries;
use reading::Reading;
use table::Table;
use target::DatasetTarget;
use zeros::ZeroFinder;

use crate::dataset::{
    ClickGrades, Holdout, LostZeros, MANIFEST, Manifest, Query, SourceFile, Split, content_hash,
};
use crate::files;
use crate::text::{Analyser, AnalyserParams, VocabularyParams};

/// Everything `ingest` takes.
#[derive(Clone, Debug)]
pub struct IngestParams {
    /// Click logs.
    pub clicks: Vec<PathBuf>,
    /// Files of documents.
    pub documents: Vec<PathBuf>,
    /// Files of queries (id, text).
    pub queries: Vec<PathBuf>,
    /// Graded judgments in place of clicks.
    pub responses: Vec<PathBuf>,
    /// Judgments to tune on and to report.
    pub judgments: Vec<(Holdout, PathBuf)>,
    /// Columns named by the user for all files.
    pub columns: NamedColumns,
    /// Columns named by the user for one file each; they precede those for all files.
    pub file_columns: Vec<FileColumn>,
    /// Way in which CSV files write quotes inside of cells.
    pub csv_escape: CsvEscape,
    /// Delimiter of CSV files; `None` recognises it by the first rows of each file.
    pub delimiter: Option<char>,
    /// Format of the times of click logs, in the notation of strftime; `None` recognises it.
    pub date_format: Option<String>,
    /// Clicks that an event of a type counts; types that are not named are left out.
    pub event_weights: BTreeMap<String, f64>,
    /// Text columns of the documents; empty means those with usual names and short texts.
    pub text: Vec<String>,
    /// Weights of text fields; those not named weigh 1.
    pub field_weights: BTreeMap<String, f32>,
    /// Grades of held-out clicks.
    pub click_grades: ClickGrades,
    /// Training pairs with fewer clicks are dropped.
    pub min_clicks: f64,
    /// Split into training, validation and test.
    pub split: SplitBy,
    /// Shares held out for validation and test.
    pub holdout: [f64; 2],
    /// Seed of the split by query.
    pub seed: u64,
    /// Analyser of texts.
    pub analyser: AnalyserParams,
    /// Which words are kept.
    pub vocabulary: VocabularyParams,
    /// Bytes the aggregation of clicks may hold in memory.
    pub memory: usize,
}

impl Default for IngestParams {
    fn default() -> Self {
        Self {
            clicks: Vec::new(),
            documents: Vec::new(),
            queries: Vec::new(),
            responses: Vec::new(),
            judgments: Vec::new(),
            columns: NamedColumns::new(),
            file_columns: Vec::new(),
            csv_escape: CsvEscape::Auto,
            delimiter: None,
            date_format: None,
            event_weights: BTreeMap::new(),
            text: Vec::new(),
            field_weights: BTreeMap::new(),
            click_grades: ClickGrades::default(),
            min_clicks: 0.0,
            split: SplitBy::None,
            holdout: [0.1, 0.1],
            seed: 1,
            analyser: AnalyserParams::default(),
            vocabulary: VocabularyParams::default(),
            memory: 1 << 30,
        }
    }
}

impl IngestParams {
    fn validate(&self) -> Result<()> {
        let fail = |message: &str| Err(Error::Params(message.into()));
        if self.documents.is_empty() {
            return fail("no document file; give one with option `documents`");
        }
        if self.clicks.is_empty() && self.responses.is_empty() && self.judgments.is_empty() {
            return fail(
                "nothing to learn from or to measure with; give option `clicks`, option `responses` or option `judgments`",
            );
        }
        if self.queries.is_empty() && !self.responses.is_empty() {
            return fail("option `responses` names queries by id; give their texts with option `queries`");
        }
        if self.split != SplitBy::None && !self.judgments.is_empty() {
            return fail(
                "option `split` holds clicks out for validation and test, and option `judgments` gives both; choose one",
            );
        }
        if self.split != SplitBy::None && self.clicks.is_empty() {
            return fail("option `split` divides clicks, and there are none; give option `clicks`");
        }
        if self.min_clicks.is_nan() || self.min_clicks < 0.0 {
            return fail("option `min-clicks` must be 0 or more");
        }
        if let Some((name, weight)) = self.field_weights.iter().find(|(_, w)| !(w.is_finite() && **w > 0.0)) {
            return Err(Error::Params(format!(
                "the weight of the field '{name}' is {weight}; it must be above 0"
            )));
        }
        event_types::check_weights(&self.event_weights)?;
        if !self.event_weights.is_empty() && self.clicks.is_empty() {
            return fail(
                "option `event-weights` weights events of click logs, and there are none; give option `clicks`",
            );
        }
        self.vocabulary.validate()
    }
}

/// Reads everything and writes the dataset folder. An existing dataset at `out` is replaced only with
/// `replace`, and anything else there is never touched.
pub fn ingest(params: &IngestParams, out: &Path, replace: bool, progress: &dyn Progress) -> Result<Manifest> {
    params.validate()?;
    let analyser = Analyser::new(&params.analyser)?;
    let target = DatasetTarget::prepare(out, params, replace)?;
    let folder = target.unfinished();

    check_named(params)?;
    let inputs = InputFiles::resolve(params)?;
    let logs = params.clicks.iter().map(|path| ClickLog::open(path, &inputs.of(path)));
    let mut logs = logs.collect::<Result<Vec<_>>>()?;
    event_types::decide_kinds(&mut logs, &params.event_weights)?;
    logs.iter().filter_map(ClickLog::note).for_each(|note| progress.note(&note));
    let mut searches = Searches::default();
    logs.iter().try_for_each(|log| log.collect_searches(&mut searches))?;

    let documents = folder.join(crate::dataset::DOCUMENTS);
    let log_ids: Vec<String> = logs.iter().filter_map(ClickLog::document_column).map(str::to_owned).collect();
    let of_documents = |path| InputSettings { log_ids: log_ids.clone(), ..inputs.of(path) };
    let collection = documents::read_documents(
        &params.documents.iter().map(|path| (path, of_documents(path))).collect::<Vec<_>>(),
        &params.text,
        &analyser,
        &documents,
        progress,
    )?;
    if params.text.is_empty() {
        progress.note(&format!(
            "text fields of the documents: {} (option `text` overrides)",
            collection.fields.join(", ")
        ));
    }
    let advice = "name them with option `column query_id=NAME` and option `column query=NAME`";
    let (listed, query_sources) = ListedQueries::read(&params.queries, |path| inputs.of(path), advice)?;

    if params.split == SplitBy::Time {
        progress.begin("times of the clicks", None, "rows");
    }
    let split = split::decide(params.split, params.holdout, params.seed, &logs, &searches)?;
    // Whether positions are averages may show late in a log; then all logs are read again. Once is enough for each log.
    let (aggregator, log_sources, mut tally, mut lost_zeros) = loop {
        let aggregator = Aggregator::new(params.memory, target.scratch());
        let mut reading = Reading {
            collection: &collection,
            listed: &listed,
            split: &split,
            aggregator: &aggregator,
            known_documents: ZeroFinder::new(&collection.ids),
            known_queries: ZeroFinder::new(&listed.ids),
            tally: Tally::default(),
            lost_zeros: Vec::new(),
        };
        progress.begin("clicks", None, "rows");
        let mut sources = Vec::new();
        for log in &logs {
            let Some(rows) = reading.add_clicks(log, &searches, progress)? else { break };
            sources.push(log.source(rows));
        }
        if sources.len() < logs.len() {
            continue;
        }
        for path in &params.responses {
            sources.push(reading.add_responses(path, &inputs.of(path))?);
        }
        let Reading { tally, lost_zeros, .. } = reading;
        break (aggregator, sources, tally, lost_zeros);
    };
    let mut sources = collection.sources.clone();
    sources.extend(query_sources);
    sources.extend(log_sources);

    let mut judged = Vec::new();
    for (holdout, path) in &params.judgments {
        let file = judgments::read_judgments(path, &inputs.of(path), &listed)?;
        sources.push(file.source(&format!("{} judgments", holdout.name()), path));
        judged.push((*holdout, file.rows));
    }
    for source in &sources {
        let sentences = source.remarks.iter().cloned().chain(source.ignored_sentence());
        sentences.for_each(|sentence| progress.note(&format!("{}: {sentence}", source.file)));
    }

    progress.begin("writing", Some(aggregate::PARTITIONS as u64), "partitions");
    let written = output::write(
        params,
        &folder,
        collection,
        &listed,
        aggregator,
        &split,
        judged,
        &analyser,
        &mut tally,
        &mut lost_zeros,
        progress,
    )?;
    let manifest = written.into_manifest(params, split, sources, (tally.counts(), lost_zeros));
    let json = manifest.to_json();
    files::write_atomically(&folder.join(MANIFEST), |w| {
        w.write_all(json.as_bytes()).map_err(|e| Error::io(MANIFEST, e))
    })?;
    target.put_in_place()?;
    Ok(manifest)
}

/// Every column the user named must be in some file.
fn check_named(params: &IngestParams) -> Result<()> {
    if params.columns.is_empty() {
        return Ok(());
    }
    let mut columns: Vec<String> = Vec::new();
    // A file that is no table, such as TREC qrels, has no columns to offer.
    let rules = params.csv_rules()?;
    for table in params.uses().filter_map(|(_, path)| Table::open(path, rules).ok()) {
        let new: Vec<String> = table.columns().iter().filter(|c| !columns.contains(c)).cloned().collect();
        columns.extend(new);
    }
    match params.columns.iter().find(|(_, name)| !columns.contains(name)) {
        Some((role, name)) => Err(Error::Params(format!(
            "option `column {}={name}`: no file has a column of that name; there are {}",
            role.name(),
            columns.join(", ")
        ))),
        None => Ok(()),
    }
}

/// Reads files of queries (id, text) as `ingest` does: texts normalised, ids unique.
pub fn read_queries(files: &[PathBuf], columns: &NamedColumns) -> Result<Vec<Query>> {
    let advice = "call them query_id and query in the first line, or give a .tsv file of two columns, id and \
                  text, without a header";
    let settings = InputSettings { columns: columns.clone(), ..InputSettings::default() };
    let (listed, _) = ListedQueries::read(files, |_| settings.clone(), advice)?;
    Ok(listed
        .ids
        .iter()
        .zip(&listed.texts)
        .map(|(id, text)| Query { id: id.into(), text: text.clone() })
        .collect())
}

impl output::Written {
    fn into_manifest(
        self,
        params: &IngestParams,
        split: Split,
        sources: Vec<SourceFile>,
        (left_out, lost_zeros): (BTreeMap<String, u64>, Vec<LostZeros>),
    ) -> Manifest {
        let content_hash = content_hash(&self.tables, &(&split, &params.analyser, &self.fields));
        Manifest {
            format_version: crate::dataset::FORMAT_VERSION,
            matchrank: env!("CARGO_PKG_VERSION").to_owned(),
            sources,
            click_grades: (split != Split::None).then_some(params.click_grades),
            split,
            min_clicks: params.min_clicks,
            analyser: params.analyser.clone(),
            fields: self.fields,
            field_lengths: self.field_lengths,
            statistics: self.statistics,
            left_out,
            lost_zeros,
            tables: self.tables,
            content_hash,
        }
    }
}
