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
mod append;
#[cfg(test)]
mod append_tests;
#[cfg(test)]
mod attribute_tests;
mod attributes;
mod catalogue;
mod chunks;
mod clicks;
mod columns;
mod date_format;
mod delimiters;
mod document_rows;
mod documents;
mod escapes;
mod event_types;
mod events;
mod fields;
mod file_format;
mod history;
mod inputs;
mod items;
mod judgments;
pub(crate) mod languages;
mod listed;
mod log_rows;
mod memory_table;
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

use matchrank_core::progress::{Progress, Silent};
use matchrank_core::{Error, Result};

pub use crate::lines::LONGEST_RECORD;
pub use append::{AppendParams, append};
pub(crate) use attributes::attribute_cell;
pub use columns::{NamedColumns, Role};
pub use escapes::CsvEscape;
pub use event_types::EventKind;
pub use events::{METARANK_QUERY, UBI_OBJECT, UBI_POSITION};
pub use inputs::FileColumn;
pub use languages::LanguageOptions;
pub use memory_table::MemoryTable;
pub(crate) use nested::json_text;
pub use split::SplitBy;
pub use times::parse_date;

use crate::tally::Tally;
use aggregate::Aggregator;
use append::Former;
use attributes::WantedAttributes;
use clicks::ClickLog;
use documents::WantedFields;
use foldhash::HashSet;
use history::{HistoryWriter, origin_of};
use inputs::{InputFiles, InputSettings};
use judgments::JudgmentFile;
use listed::{ListedQueries, ListedSource};
use reading::Reading;
use target::DatasetTarget;
use zeros::ZeroFinder;

use crate::dataset::{
    ClickGrades, History, Holdout, LostZeros, MANIFEST, Manifest, PartKind, Query, SourceFile, Split,
    content_hash,
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
    /// Tables in memory, by the names under which the fields above list them in place of files.
    pub tables: BTreeMap<PathBuf, MemoryTable>,
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
    /// Attributes of the documents; `None` means the columns whose values suggest it.
    pub attributes: Option<Vec<String>>,
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
    /// Analyser of texts, unless languages are given.
    pub analyser: AnalyserParams,
    /// Languages of texts, in place of an analyser.
    pub language: Option<LanguageOptions>,
    /// Which words are kept.
    pub vocabulary: VocabularyParams,
    /// Rows of click logs before this time (milliseconds since 1970) are left out.
    pub drop_before: Option<i64>,
    /// Keep the rows of all files in the dataset, so that [`append`] can add to them.
    pub history: bool,
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
            tables: BTreeMap::new(),
            columns: NamedColumns::new(),
            file_columns: Vec::new(),
            csv_escape: CsvEscape::Auto,
            delimiter: None,
            date_format: None,
            event_weights: BTreeMap::new(),
            text: Vec::new(),
            attributes: None,
            field_weights: BTreeMap::new(),
            click_grades: ClickGrades::default(),
            min_clicks: 0.0,
            split: SplitBy::None,
            holdout: [0.1, 0.1],
            seed: 1,
            analyser: AnalyserParams::default(),
            language: None,
            vocabulary: VocabularyParams::default(),
            drop_before: None,
            history: true,
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
        if let Some(language) = &self.language {
            language.validate()?;
        }
        self.analyser.validate()?;
        self.vocabulary.validate()
    }
}

/// Reads everything and writes the dataset folder. An existing dataset at `out` is replaced only with
/// `replace`, and anything else there is never touched.
pub fn ingest(params: &IngestParams, out: &Path, replace: bool, progress: &dyn Progress) -> Result<Manifest> {
    params.validate()?;
    check_named(params)?;
    let target = DatasetTarget::prepare(out, params, replace)?;
    ingest_onto(params, None, target, progress)
}

/// Reads everything, after the rows of a former dataset, and puts the new dataset in its place.
fn ingest_onto(
    params: &IngestParams,
    former: Option<&Former<'_>>,
    target: DatasetTarget,
    progress: &dyn Progress,
) -> Result<Manifest> {
    let folder = target.unfinished();
    let mut history = params.history.then(|| HistoryWriter::create(&folder)).transpose()?;
    let inputs = InputFiles::resolve(params, former)?;

    let opened = params.clicks.iter().map(|path| ClickLog::open(path, &inputs.of(path)));
    let mut logs = former.map(Former::logs).transpose()?.unwrap_or_default();
    let n_former = logs.len();
    logs.extend(opened.collect::<Result<Vec<_>>>()?);
    if params.history {
        for (log, path) in logs[n_former..].iter_mut().zip(&params.clicks) {
            log.origin = origin_of(path)?;
        }
    }
    event_types::decide_kinds(&mut logs[n_former..], &params.event_weights, former.is_some())?;
    if let Some(time) = params.drop_before {
        logs.iter_mut().try_for_each(|log| log.drop_before(time))?;
    }
    logs.iter().filter_map(ClickLog::note).for_each(|note| progress.note(&note));
    let mut searches = former.map(Former::searches).transpose()?.unwrap_or_default();
    let mut new_searches = Vec::new();
    for log in &logs[n_former..] {
        let found = log.searches()?;
        searches.extend(found.iter().cloned());
        new_searches.push(found);
    }

    let mut log_ids: Vec<String> = former.map(|former| former.log_ids().to_vec()).unwrap_or_default();
    log_ids.extend(logs.iter().filter_map(ClickLog::document_column).map(str::to_owned));
    let mut seen = HashSet::default();
    log_ids.retain(|id| seen.insert(id.clone()));
    let of_documents = |path| InputSettings { log_ids: log_ids.clone(), ..inputs.of(path) };
    let documents = params.documents.iter().map(|path| (path, of_documents(path))).collect::<Vec<_>>();
    let place = folder.join(crate::dataset::DOCUMENTS);
    let (analyser, collection) = match former {
        Some(former) => {
            let analyser = Analyser::new(&params.analyser)?;
            let places = (place.as_path(), target.scratch());
            let collection = former.documents(&documents, &params.text, &analyser, places, progress)?;
            (analyser, collection)
        }
        None => {
            let attributes =
                params.attributes.clone().map_or(WantedAttributes::Usual, WantedAttributes::Named);
            let wanted = WantedFields { named: params.text.clone(), fixed: None, attributes };
            let read = |analyser: &Analyser, is_first: bool| {
                // The files say the same things each time.
                let progress: &dyn Progress = if is_first { progress } else { &Silent };
                documents::read_documents(&documents, &wanted, analyser, &place, progress)
            };
            languages::read(&params.analyser, params.language.as_ref(), progress, read)?
        }
    };
    if params.text.is_empty() && former.is_none() {
        progress.note(&format!(
            "text fields of the documents: {} (option `text` overrides)",
            collection.fields.join(", ")
        ));
    }
    if params.attributes.is_none() && former.is_none() && !collection.attributes.is_empty() {
        let attributes = collection.attributes.iter().map(|a| format!("{} ({})", a.name, a.kind.name()));
        progress.note(&format!(
            "attributes of the documents: {} (option `attributes` overrides)",
            attributes.collect::<Vec<_>>().join(", ")
        ));
    }
    let advice = "name them with option `column query_id=NAME` and option `column query=NAME`";
    let mut query_files: Vec<PathBuf> = former.map(|f| f.files(PartKind::Queries)).unwrap_or_default();
    let n_former_files = query_files.len();
    query_files.extend(params.queries.iter().cloned());
    let (listed, mut query_sources) = ListedQueries::read(&query_files, |path| inputs.of(path), advice)?;
    let former_queries = former.into_iter().flat_map(|former| former.parts(PartKind::Queries));
    query_sources
        .iter_mut()
        .zip(former_queries)
        .for_each(|(listed, part)| listed.source = part.source.clone());
    if let Some(history) = &mut history {
        former.into_iter().try_for_each(|former| former.take_over(PartKind::Queries, history))?;
        for ListedSource { source, numbers } in &query_sources[n_former_files..] {
            history.write_texts(PartKind::Queries, (source, ""), listed.rows(numbers.clone()))?;
        }
    }

    if params.split == SplitBy::Time {
        progress.begin("times of the clicks", None, "rows");
    }
    let split = split::decide(params.split, params.holdout, params.seed, &logs, &searches)?;
    let responses = read_judgments(params.responses.iter(), former, PartKind::Responses, &inputs, &listed)?;
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
            sources: Vec::new(),
        };
        if let Some(history) = &mut history {
            history.clear_logs()?;
            former.into_iter().try_for_each(|former| former.take_over(PartKind::Searches, history))?;
        }
        progress.begin("clicks", None, "rows");
        let mut is_read = true;
        for log in &logs {
            is_read = reading.add_clicks(log, &searches, history.as_mut(), progress)?;
            if !is_read {
                break;
            }
        }
        if !is_read {
            continue;
        }
        if let Some(history) = &mut history {
            for ((found, log), source) in
                new_searches.iter().zip(&logs[n_former..]).zip(&reading.sources[n_former..])
            {
                if !found.is_empty() {
                    let rows = found.iter().map(|(id, text)| (id.as_str(), text.as_str()));
                    history.write_texts(PartKind::Searches, (source, &log.origin), rows)?;
                }
            }
        }
        for file in &responses {
            reading.add_responses(file)?;
        }
        let Reading { tally, lost_zeros, sources, .. } = reading;
        break (aggregator, sources, tally, lost_zeros);
    };
    let log_names: Vec<String> = log_sources.iter().map(|source| source.file.clone()).collect();
    let mut sources = collection.sources.clone();
    sources.extend(query_sources.into_iter().map(|listed| listed.source));
    sources.extend(log_sources);

    let mut judged = Vec::new();
    for (holdout, kind) in [(Holdout::Validation, PartKind::Validation), (Holdout::Test, PartKind::Test)] {
        let paths = params.judgments.iter().filter(|(of, _)| *of == holdout).map(|(_, path)| path);
        let files = read_judgments(paths, former, kind, &inputs, &listed)?;
        judged.extend(files.into_iter().map(|file| (holdout, kind, file)));
    }
    if let Some(history) = &mut history {
        for (kind, file) in responses
            .iter()
            .map(|file| (PartKind::Responses, file))
            .chain(judged.iter().map(|(_, kind, file)| (*kind, file)))
        {
            let role = kind.role();
            history.write_judgments(kind, (&file.source(role), &file.origin), &file.rows)?;
        }
    }
    sources.extend(judged.iter().map(|(_, kind, file)| file.source(kind.role())));
    let is_new = |source: &&SourceFile| former.is_none_or(|former| !former.has_source(source));
    for source in sources.iter().filter(is_new) {
        let sentences = source.remarks.iter().cloned().chain(source.ignored_sentence());
        sentences.for_each(|sentence| progress.note(&format!("{}: {sentence}", source.file)));
    }

    progress.begin("writing", Some(aggregate::PARTITIONS as u64), "partitions");
    let repeated_documents = collection.n_repeated;
    let written = output::write(
        params,
        &folder,
        collection,
        &listed,
        aggregator,
        &split,
        judged.into_iter().map(|(holdout, _, file)| (holdout, file)).collect(),
        &log_names,
        &analyser,
        &mut tally,
        &mut lost_zeros,
        progress,
    )?;
    let analyser = analyser.params().clone();
    let mut manifest =
        written.into_manifest((params, analyser), split, sources, (tally.counts(), lost_zeros));
    if let Some(history) = history {
        let settings = params.settings(former, log_ids);
        manifest.history = Some(History { settings, repeated_documents, parts: history.finish()? });
    }
    let json = manifest.to_json();
    files::write_atomically(&folder.join(MANIFEST), |w| {
        w.write_all(json.as_bytes()).map_err(|e| Error::io(MANIFEST, e))
    })?;
    target.put_in_place()?;
    Ok(manifest)
}

/// Reads files of judgments, those of a former dataset first.
fn read_judgments<'a>(
    paths: impl Iterator<Item = &'a PathBuf>,
    former: Option<&Former<'_>>,
    kind: PartKind,
    inputs: &InputFiles<'_>,
    listed: &ListedQueries,
) -> Result<Vec<JudgmentFile>> {
    let mut read = Vec::new();
    for part in former.into_iter().flat_map(|former| former.parts(kind)) {
        let path = former.expect("the part belongs to it").file(part);
        let file = judgments::read_judgments(&path, &InputSettings::default(), listed)?;
        read.push(file.of_former(part));
    }
    for path in paths {
        read.push(judgments::read_judgments(path, &inputs.of(path), listed)?);
    }
    Ok(read)
}

/// Every column the user named must be in some file.
fn check_named(params: &IngestParams) -> Result<()> {
    if params.columns.is_empty() {
        return Ok(());
    }
    let mut columns: Vec<String> = Vec::new();
    // A file that is no table, such as TREC qrels, has no columns to offer.
    let rules = params.csv_rules()?;
    for table in params.uses().filter_map(|(_, path)| params.open(path, rules).ok()) {
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
        (params, analyser): (&IngestParams, AnalyserParams),
        split: Split,
        sources: Vec<SourceFile>,
        (left_out, lost_zeros): (BTreeMap<String, u64>, Vec<LostZeros>),
    ) -> Manifest {
        let content_hash = content_hash(&self.tables, &(&split, &analyser, &self.fields));
        Manifest {
            format_version: crate::dataset::FORMAT_VERSION,
            matchrank: env!("CARGO_PKG_VERSION").to_owned(),
            sources,
            click_grades: (split != Split::None).then_some(params.click_grades),
            split,
            min_clicks: params.min_clicks,
            analyser,
            fields: self.fields,
            attributes: self.attributes,
            field_lengths: self.field_lengths,
            statistics: self.statistics,
            left_out,
            lost_zeros,
            tables: self.tables,
            content_hash,
            history: None,
        }
    }
}
