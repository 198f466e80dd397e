//! Settings of each input file: the columns that the user named for all files or for this one, the rules for
//! CSV files and the format of dates.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use matchrank_core::{Error, Result};

use super::append::Former;
use super::clicks::LOG_ROLES;
use super::columns::{NamedColumns, Role};
use super::date_format::DateFormat;
use super::delimiters::CsvRules;
use super::memory_table::MemoryTable;
use super::table::Table;
use super::{IngestParams, delimiters};
use crate::files;

/// A column that the user named for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileColumn {
    /// File: its path as given to `ingest`, or its name without the folder.
    pub file: PathBuf,
    /// Role of the column.
    pub role: Role,
    /// Name of the column.
    pub column: String,
}

impl FileColumn {
    fn option(&self) -> String {
        format!("option `column {}:{}={}`", self.file.display(), self.role.name(), self.column)
    }
}

/// Settings for reading one file.
#[derive(Clone, Default)]
pub(super) struct InputSettings {
    /// Columns named for the file, and those named for all files.
    pub(super) columns: NamedColumns,
    /// True if a column was named for this very file.
    pub(super) is_named: bool,
    pub(super) csv: CsvRules,
    /// Format of times that the user named.
    pub(super) date_format: Option<DateFormat>,
    /// Columns of the logs that hold ids of documents.
    pub(super) log_ids: Vec<String>,
    /// The rows, where a table in memory takes the place of the file.
    pub(super) memory: Option<MemoryTable>,
}

impl InputSettings {
    /// Opens the file, or the table in memory that takes its place.
    pub(super) fn open(&self, path: &Path) -> Result<Table> {
        match &self.memory {
            Some(memory) => Ok(Table::of_memory(path, memory.clone())),
            None => Table::open(path, self.csv),
        }
    }

    /// Returns an error if columns were named for a file whose format fixes them.
    pub(super) fn refuse_own_columns(&self, file: &str, format: &str) -> Result<()> {
        if !self.is_named {
            return Ok(());
        }
        let message =
            format!("is read as {format}, whose columns are fixed; omit option `column` for this file");
        Err(Error::format(file, message))
    }
}

/// Settings of all input files.
pub(super) struct InputFiles<'a> {
    params: &'a IngestParams,
    former: Option<&'a Former<'a>>,
    csv: CsvRules,
    date_format: Option<DateFormat>,
    own: BTreeMap<&'a Path, NamedColumns>,
}

impl<'a> InputFiles<'a> {
    /// Finds the file of every column that is named for one file. Returns an error if there is no such file or column.
    pub(super) fn resolve(params: &'a IngestParams, former: Option<&'a Former<'_>>) -> Result<Self> {
        let csv = params.csv_rules()?;
        let date_format = params.date_format.as_deref().map(DateFormat::parse).transpose()?;
        let mut own: BTreeMap<&Path, NamedColumns> = BTreeMap::new();
        for named in &params.file_columns {
            let path = find(params, named)?;
            let name = files::name_of(path);
            let roles: Vec<Role> =
                params.uses().filter(|(_, file)| *file == path).flat_map(|(r, _)| r).copied().collect();
            if !roles.contains(&named.role) {
                let known: Vec<&str> = roles.iter().map(|role| role.name()).collect();
                let message = format!("{}: the roles of this file are {}", named.option(), known.join(", "));
                return Err(Error::format(name, message));
            }
            let table = params.open(path, csv)?;
            if !table.columns().contains(&named.column) {
                let message = format!(
                    "{}: there is no column '{}'; the columns are {}",
                    named.option(),
                    named.column,
                    table.columns().join(", ")
                );
                return Err(Error::parse(name, 1, message));
            }
            let former = own.entry(path).or_default().insert(named.role, named.column.clone());
            if let Some(former) = former.filter(|former| *former != named.column) {
                let message =
                    format!("{}: the role has the column '{former}' already; name one", named.option());
                return Err(Error::format(name, message));
            }
        }
        Ok(Self { params, former, csv, date_format, own })
    }

    /// Returns the settings of a file; a column named for the file precedes one named for all.
    pub(super) fn of(&self, path: &Path) -> InputSettings {
        if self.former.is_some_and(|former| former.holds(path)) {
            return InputSettings::default();
        }
        let mut columns = self.former.map(Former::columns).unwrap_or_default();
        columns.extend(self.params.columns.iter().map(|(role, name)| (*role, name.clone())));
        let own = self.own.get(path);
        columns.extend(own.into_iter().flatten().map(|(role, name)| (*role, name.clone())));
        InputSettings {
            columns,
            is_named: own.is_some(),
            csv: self.csv,
            date_format: self.date_format.clone(),
            log_ids: Vec::new(),
            memory: self.params.tables.get(path).cloned(),
        }
    }
}

impl IngestParams {
    /// Opens an input: a file, or a table in memory.
    pub(super) fn open(&self, path: &Path, rules: CsvRules) -> Result<Table> {
        match self.tables.get(path) {
            Some(memory) => Ok(Table::of_memory(path, memory.clone())),
            None => Table::open(path, rules),
        }
    }

    pub(super) fn csv_rules(&self) -> Result<CsvRules> {
        let delimiter = self.delimiter.map(delimiters::checked).transpose()?;
        Ok(CsvRules { escape: self.csv_escape, delimiter })
    }

    /// Returns all files that are read, each with the roles that its columns may have.
    pub(super) fn uses(&self) -> impl Iterator<Item = (&'static [Role], &Path)> {
        const LOGS: &[Role] = &LOG_ROLES;
        const DOCUMENTS: &[Role] = &[Role::Document];
        const QUERIES: &[Role] = &[Role::QueryId, Role::Query];
        const JUDGMENTS: &[Role] = &[Role::QueryId, Role::Query, Role::Document, Role::Grade];
        let judgments = self.judgments.iter().map(|(_, path)| path).chain(&self.responses);
        let clicks = self.clicks.iter().map(|path| (LOGS, path));
        let documents = self.documents.iter().map(|path| (DOCUMENTS, path));
        let queries = self.queries.iter().map(|path| (QUERIES, path));
        let all = clicks.chain(documents).chain(queries).chain(judgments.map(|path| (JUDGMENTS, path)));
        all.map(|(roles, path)| (roles, path.as_path()))
    }
}

/// Returns the input file that a column is named for: the one of that path, else the only one of that name.
fn find<'a>(params: &'a IngestParams, named: &FileColumn) -> Result<&'a Path> {
    let mut given: Vec<&Path> = params.uses().map(|(_, path)| path).collect();
    given.sort_unstable();
    given.dedup();
    let list = |paths: &[&Path]| paths.iter().map(|path| files::name_of(path)).collect::<Vec<_>>().join(", ");
    let is_same = |path: &Path| {
        path == named.file
            || matches!((path.canonicalize(), named.file.canonicalize()), (Ok(a), Ok(b)) if a == b)
    };
    if let Some(path) = given.iter().find(|path| is_same(path)) {
        return Ok(path);
    }
    let of_name: Vec<&Path> =
        given.iter().filter(|path| path.file_name() == Some(named.file.as_os_str())).copied().collect();
    match of_name[..] {
        [path] => Ok(path),
        [] => Err(Error::Params(format!(
            "{}: no input file has that name; the files are {}",
            named.option(),
            list(&given)
        ))),
        _ => Err(Error::Params(format!(
            "{}: several input files have that name ({}); give the path",
            named.option(),
            list(&of_name)
        ))),
    }
}
