//! Adds rows to a dataset: today's events, changes of the catalogue, queries and judgments.
//!
//! The result has the bytes of one `ingest` of all files together, with the catalogue as it is now: the rows of former
//! logs are read from the history of the dataset instead of their files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use matchrank_core::message::{counted, thousands};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::attributes::WantedAttributes;
use super::catalogue::{self, read_removed};
use super::clicks::{ClickLog, Searches};
use super::documents::{self, CollectedDocuments, WantedFields};
use super::history::{FormerLog, HistoryWriter, origin_of, read_searches};
use super::inputs::InputSettings;
use super::target::DatasetTarget;
use super::{
    CsvEscape, FileColumn, IngestParams, MemoryTable, NamedColumns, Role, SplitBy, check_named, event_types,
    ingest_onto,
};
use crate::dataset::{
    ClickGrades, DOCUMENTS, Dataset, History, HistoryPart, Holdout, IngestSettings, MANIFEST, Manifest,
    PartKind, SourceFile, Split,
};
use crate::files::{self, Lock};
use crate::text::Analyser;

/// What `append` takes. Settings that are not here are those of the dataset.
#[derive(Clone, Debug, Default)]
pub struct AppendParams {
    /// Click logs.
    pub clicks: Vec<PathBuf>,
    /// Documents that are new or changed.
    pub documents: Vec<PathBuf>,
    /// True if `documents` are the whole catalogue; documents of the dataset that are not among them are removed.
    pub whole_catalogue: bool,
    /// Files with the ids of documents to remove, one in each line. Their clicks stay in the history.
    pub removed: Vec<PathBuf>,
    /// Files of queries (id, text).
    pub queries: Vec<PathBuf>,
    /// Graded judgments to learn from.
    pub responses: Vec<PathBuf>,
    /// Judgments to tune on and to report.
    pub judgments: Vec<(Holdout, PathBuf)>,
    /// Tables in memory, by the names under which the fields above list them in place of files.
    pub tables: BTreeMap<PathBuf, MemoryTable>,
    /// Columns for all files; they precede those that the dataset was made with.
    pub columns: NamedColumns,
    /// Columns for one file each.
    pub file_columns: Vec<FileColumn>,
    /// Rows of logs before this time (milliseconds since 1970) are left out, former ones included.
    pub drop_before: Option<i64>,
    /// Skip files of events and judgments that were added before, instead of refusing them.
    pub skip_known: bool,
    /// Bytes the aggregation of clicks may hold in memory; 0 means the default.
    pub memory: usize,
}

/// Adds rows to the dataset in `folder` and replaces it in one step. Returns an error, and leaves the dataset as it is,
/// if the dataset has no history.
pub fn append(changes: &AppendParams, folder: &Path, progress: &dyn Progress) -> Result<Manifest> {
    if !folder.join(MANIFEST).is_file() {
        Dataset::open(folder)?;
    }
    // Whoever reads the former rows must be the next to replace them.
    let _lock = Lock::beside(&folder.canonicalize().map_err(|e| Error::io(files::name_of(folder), e))?)?;
    let dataset = Dataset::open(folder)?;
    let history = dataset.history()?;
    let settings = &history.settings;
    let nothing = changes.clicks.is_empty()
        && changes.documents.is_empty()
        && changes.removed.is_empty()
        && changes.queries.is_empty()
        && changes.responses.is_empty()
        && changes.judgments.is_empty()
        && changes.drop_before.is_none();
    let fail = |message: &str| Err(Error::Params(message.into()));
    if nothing {
        return fail(
            "nothing to add; give option `clicks`, option `documents`, option `removed`, option `queries`, option \
             `responses`, option `judgments` or option `drop-before`",
        );
    }
    if changes.whole_catalogue && changes.documents.is_empty() {
        return fail("option `whole-catalogue` needs the catalogue; give option `documents`");
    }
    let manifest = &dataset.manifest;
    let (split, holdout, seed) = match &manifest.split {
        Split::None => (SplitBy::None, [0.1, 0.1], 1),
        Split::Query { validation, test, seed } => (SplitBy::Query, [*validation, *test], *seed),
        Split::Time { validation, test, .. } => (SplitBy::Time, [*validation, *test], 1),
    };
    if split != SplitBy::None && !changes.judgments.is_empty() {
        return fail("the dataset holds clicks out for validation and test, so it takes no judgments");
    }
    let clicks = unknown_files(&changes.clicks, changes, history, progress)?;
    let responses = unknown_files(&changes.responses, changes, history, progress)?;
    let defaults = IngestParams::default();
    let params = IngestParams {
        clicks,
        documents: changes.documents.clone(),
        queries: changes.queries.clone(),
        tables: changes.tables.clone(),
        responses,
        judgments: changes.judgments.clone(),
        columns: changes.columns.clone(),
        file_columns: changes.file_columns.clone(),
        csv_escape: CsvEscape::from_name(&settings.csv_escape),
        delimiter: settings.delimiter,
        date_format: settings.date_format.clone(),
        event_weights: settings.event_weights.clone(),
        text: settings.text.clone(),
        attributes: None,
        field_weights: manifest.fields.iter().map(|(name, weight)| (name.to_owned(), weight)).collect(),
        click_grades: manifest.click_grades.unwrap_or(ClickGrades::Binary),
        min_clicks: manifest.min_clicks,
        split,
        holdout,
        seed,
        analyser: manifest.analyser.clone(),
        language: None,
        vocabulary: settings.vocabulary.clone(),
        drop_before: changes.drop_before,
        history: true,
        memory: if changes.memory == 0 { defaults.memory } else { changes.memory },
    };
    event_types::check_weights(&params.event_weights)?;
    params.vocabulary.validate()?;
    check_named(&params)?;
    let former = Former { dataset: &dataset, history, changes };
    let target = DatasetTarget::prepare(folder, &params, true)?;
    ingest_onto(&params, Some(&former), target, progress)
}

/// Returns the files whose rows are not in the history. Files that are have been added before, by a command that was run
/// twice, and their rows must not count twice.
fn unknown_files(
    paths: &[PathBuf],
    changes: &AppendParams,
    history: &History,
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>> {
    let mut unknown = Vec::new();
    for path in paths {
        let origin = origin_of(path)?;
        // Files without a row are alike, and pipes have no origin.
        let is_known =
            |part: &&HistoryPart| part.table.rows > 0 && !origin.is_empty() && part.origin == origin;
        match history.parts.iter().find(is_known) {
            None => unknown.push(path.clone()),
            Some(part) => {
                let name = files::name_of(path);
                let known = format!("its rows are in the dataset already (added as {})", part.source.file);
                if !changes.skip_known {
                    return Err(Error::format(name, format!("{known}; omit the file")));
                }
                progress.note(&format!("{name}: skipped; {known}"));
            }
        }
    }
    Ok(unknown)
}

/// A dataset that rows are added to.
pub(super) struct Former<'a> {
    dataset: &'a Dataset,
    history: &'a History,
    changes: &'a AppendParams,
}

impl Former<'_> {
    pub(super) fn parts(&self, kind: PartKind) -> impl Iterator<Item = &HistoryPart> {
        self.history.of_kind(kind)
    }

    pub(super) fn file(&self, part: &HistoryPart) -> PathBuf {
        self.dataset.history_file(part)
    }

    pub(super) fn files(&self, kind: PartKind) -> Vec<PathBuf> {
        self.parts(kind).map(|part| self.file(part)).collect()
    }

    /// Returns true for a file of the dataset itself.
    pub(super) fn holds(&self, path: &Path) -> bool {
        path.starts_with(self.dataset.folder())
    }

    pub(super) fn has_source(&self, source: &SourceFile) -> bool {
        self.dataset.manifest.sources.contains(source)
    }

    /// Returns the columns that were named when the dataset was made.
    pub(super) fn columns(&self) -> NamedColumns {
        let columns = self.history.settings.columns.iter();
        columns.filter_map(|(role, name)| Some((Role::from_name(role).ok()?, name.clone()))).collect()
    }

    pub(super) fn log_ids(&self) -> &[String] {
        &self.history.settings.log_ids
    }

    /// Opens the rows of the former logs.
    pub(super) fn logs(&self) -> Result<Vec<ClickLog>> {
        let parts = self.parts(PartKind::Clicks);
        parts.map(|part| ClickLog::former(FormerLog { path: self.file(part), part: part.clone() })).collect()
    }

    pub(super) fn searches(&self) -> Result<Searches> {
        let mut searches = Searches::default();
        for part in self.parts(PartKind::Searches) {
            read_searches(&self.file(part), part, &mut searches)?;
        }
        Ok(searches)
    }

    /// Takes over the parts of a kind as they are.
    pub(super) fn take_over(&self, kind: PartKind, history: &mut HistoryWriter) -> Result<()> {
        self.parts(kind).try_for_each(|part| history.take_over(&self.file(part), part))
    }

    /// Writes the catalogue as it is now to `place`; `scratch` is a folder for files on the way.
    pub(super) fn documents(
        &self,
        changed: &[(&PathBuf, InputSettings)],
        named: &[String],
        analyser: &Analyser,
        (place, scratch): (&Path, &Path),
        progress: &dyn Progress,
    ) -> Result<CollectedDocuments> {
        let manifest = &self.dataset.manifest;
        let fields: Vec<String> = manifest.fields.iter().map(|(name, _)| name.to_owned()).collect();
        let attributes = &manifest.attributes;
        let wanted = WantedFields {
            named: named.to_vec(),
            fixed: Some(fields.clone()),
            attributes: WantedAttributes::Fixed(attributes.clone()),
        };
        let columns = (&fields[..], &attributes[..]);
        let removed = read_removed(&self.changes.removed)?;
        let sources = || manifest.sources.iter().filter(|source| source.role == "documents").cloned();
        if self.changes.whole_catalogue {
            let collection = documents::read_documents(changed, &wanted, analyser, place, progress)?;
            if let Some(id) = removed.iter().find(|id| collection.ids.find(id).is_some()) {
                return Err(Error::Params(format!(
                    "the document {id} is to be removed and is in the whole catalogue; omit it from one of the two"
                )));
            }
            let former = self.dataset.document_ids()?;
            let n_gone = former.iter().filter(|id| collection.ids.find(id).is_none()).count() as u64;
            let n_new = collection.ids.len() as u64 + n_gone - former.len() as u64;
            progress.note(&format!(
                "catalogue: {} new, {} of {} removed",
                counted(n_new, "document"),
                thousands(n_gone),
                thousands(former.len() as u64)
            ));
            return Ok(collection);
        }
        if changed.is_empty() && removed.is_empty() {
            let stored = self.dataset.folder().join(DOCUMENTS);
            let collection = documents::read_stored(&stored, columns, analyser, place, progress)?;
            let n_repeated = self.history.repeated_documents;
            return Ok(CollectedDocuments { sources: sources().collect(), n_repeated, ..collection });
        }
        let changes_at = scratch.join("changed-documents.parquet");
        let changes = match changed {
            [] => None,
            _ => Some(documents::read_documents(changed, &wanted, analyser, &changes_at, progress)?),
        };
        let merged_at = scratch.join("merged-documents.parquet");
        let former = self.dataset.folder().join(DOCUMENTS);
        let merged = catalogue::merge(
            (&former, &manifest.tables[DOCUMENTS]),
            changes.as_ref().map(|changes| (changes_at.as_path(), &changes.table)),
            &removed,
            &merged_at,
        )?;
        progress.note(&format!(
            "catalogue: {} new, {} changed, {} removed, {} given as before",
            counted(merged.added, "document"),
            thousands(merged.changed),
            thousands(merged.removed),
            thousands(merged.unchanged),
        ));
        let unknown = removed.len() as u64 - merged.removed.min(removed.len() as u64);
        if unknown > 0 {
            progress.note(&format!(
                "{} to remove are not in the dataset, or given anew",
                counted(unknown, "document")
            ));
        }
        let collection = documents::read_stored(&merged_at, columns, analyser, place, progress)?;
        let (new_sources, n_repeated) =
            changes.map_or((Vec::new(), 0), |changes| (changes.sources, changes.n_repeated));
        let n_repeated = self.history.repeated_documents + n_repeated + merged.unchanged;
        Ok(CollectedDocuments { sources: sources().chain(new_sources).collect(), n_repeated, ..collection })
    }
}

impl IngestParams {
    /// Returns the settings that apply to rows that are added later.
    pub(super) fn settings(&self, former: Option<&Former<'_>>, log_ids: Vec<String>) -> IngestSettings {
        let mut columns = former.map(Former::columns).unwrap_or_default();
        columns.extend(self.columns.iter().map(|(role, name)| (*role, name.clone())));
        IngestSettings {
            columns: columns.into_iter().map(|(role, name)| (role.name().to_owned(), name)).collect(),
            log_ids,
            csv_escape: self.csv_escape.name().to_owned(),
            delimiter: self.delimiter,
            date_format: self.date_format.clone(),
            event_weights: self.event_weights.clone(),
            text: self.text.clone(),
            vocabulary: self.vocabulary.clone(),
        }
    }
}
