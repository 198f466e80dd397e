//! Rows of logs on their way into the history of a dataset, and back.
//!
//! A part holds the rows of one log as they were parsed: before it is known which documents and queries exist, and
//! which clicks are held out. Reading a part gives the rows of the log, in its order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field};
use matchrank_core::{Error, Result};
use parquet::basic::Encoding;
use parquet::schema::types::ColumnPath;

use super::clicks::{LogRow, QueryName, SearchName, Searches, Skip};
use super::judgments::Graded;
use super::log_rows::MOST_CLICKS;
use super::waves::in_waves;
use crate::dataset::tables::{self, TableWriter};
use crate::dataset::{HISTORY, HistoryPart, PartKind, SourceFile};
use crate::files;

/// Columns of the rows of a log.
#[derive(Default)]
pub(super) struct KeptRows {
    query: StringBuilder,
    query_id: StringBuilder,
    search: StringBuilder,
    document: StringBuilder,
    clicks: Float64Builder,
    shown: UInt64Builder,
    position: UInt32Builder,
    time: Int64Builder,
}

impl KeptRows {
    pub(super) fn push(&mut self, row: &LogRow<'_>) {
        // The query of a search may be in a log that is read later, so it is found anew.
        let (text, id) = match (row.search, row.query) {
            (Some(search), _) => (search.text, None),
            (None, QueryName::Text(text)) => (Some(text), None),
            (None, QueryName::Id(id)) => (None, Some(id)),
            (None, QueryName::Unknown) => (None, None),
        };
        self.query.append_option(text);
        self.query_id.append_option(id);
        self.search.append_option(row.search.map(|search| search.id));
        self.document.append_value(row.document);
        self.clicks.append_value(row.clicks);
        self.shown.append_value(row.shown);
        self.position.append_option(row.position);
        self.time.append_option(row.time);
    }

    fn finish(mut self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.query.finish()),
            Arc::new(self.query_id.finish()),
            Arc::new(self.search.finish()),
            Arc::new(self.document.finish()),
            Arc::new(self.clicks.finish()),
            Arc::new(self.shown.finish()),
            Arc::new(self.position.finish()),
            Arc::new(self.time.finish()),
        ]
    }
}

fn log_fields() -> Vec<Field> {
    vec![
        Field::new("query", DataType::Utf8, true),
        Field::new("query_id", DataType::Utf8, true),
        Field::new("search", DataType::Utf8, true),
        Field::new("document", DataType::Utf8, false),
        Field::new("clicks", DataType::Float64, false),
        Field::new("shown", DataType::UInt64, false),
        Field::new("position", DataType::UInt32, true),
        Field::new("time", DataType::Int64, true),
    ]
}

/// Writes the parts of a history, numbered by kind.
pub(super) struct HistoryWriter {
    folder: PathBuf,
    parts: Vec<HistoryPart>,
}

/// A part that is being written: the rows of a log.
pub(super) struct LogPart {
    file: String,
    writer: TableWriter,
}

impl LogPart {
    pub(super) fn write(&mut self, rows: KeptRows) -> Result<()> {
        self.writer.write(rows.finish())
    }
}

impl HistoryWriter {
    /// Creates the folder of the history in an unfinished dataset folder.
    pub(super) fn create(dataset: &Path) -> Result<Self> {
        let folder = dataset.join(HISTORY);
        files::make_folder(&folder)?;
        Ok(Self { folder, parts: Vec::new() })
    }

    /// Forgets all parts of logs, which are to be read again.
    pub(super) fn clear_logs(&mut self) -> Result<()> {
        let is_log = |part: &HistoryPart| matches!(part.kind, PartKind::Clicks | PartKind::Searches);
        for part in self.parts.iter().filter(|part| is_log(part)) {
            self.make_room(&part.file)?;
        }
        self.parts.retain(|part| !is_log(part));
        Ok(())
    }

    /// Removes a file of an earlier reading. It may be a link to a part of the former dataset, which must not be written to.
    fn make_room(&self, file: &str) -> Result<PathBuf> {
        let path = self.folder.join(file);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(files::name_of(&path), error))
            }
            _ => Ok(path),
        }
    }

    fn next_name(&self, kind: PartKind) -> String {
        let number = 1 + self.parts.iter().filter(|part| part.kind == kind).count();
        format!("{}-{number:05}.parquet", kind.name())
    }

    /// Takes over a part of a former dataset as it is. The file is linked where the file system can link.
    pub(super) fn take_over(&mut self, former: &Path, part: &HistoryPart) -> Result<()> {
        let file = self.next_name(part.kind);
        let path = self.make_room(&file)?;
        if std::fs::hard_link(former, &path).is_err() {
            let io = |e| Error::io(files::name_of(&path), e);
            std::fs::copy(former, &path).map_err(io)?;
            std::fs::File::open(&path).and_then(|copy| copy.sync_all()).map_err(io)?;
        }
        self.parts.push(HistoryPart { file, ..part.clone() });
        Ok(())
    }

    /// Begins a part for the rows of a log.
    pub(super) fn begin_log(&self) -> Result<LogPart> {
        let file = self.next_name(PartKind::Clicks);
        let time = || ColumnPath::from("time");
        let writer = TableWriter::with_properties(&self.make_room(&file)?, log_fields(), |properties| {
            properties
                .set_column_dictionary_enabled(time(), false)
                .set_column_encoding(time(), Encoding::DELTA_BINARY_PACKED)
        })?;
        Ok(LogPart { file, writer })
    }

    /// Ends the part of a log; `skips` are the rows that could not be kept.
    pub(super) fn end_log(
        &mut self,
        part: LogPart,
        (source, origin): (&SourceFile, &str),
        skips: &BTreeMap<Skip, u64>,
    ) -> Result<()> {
        let LogPart { file, writer } = part;
        let left_out = skips.iter().map(|(skip, n)| (skip.reason().to_owned(), *n)).collect();
        let (kind, table) = (PartKind::Clicks, writer.close()?);
        let (source, origin) = (source.clone(), origin.to_owned());
        self.parts.push(HistoryPart { kind, file, table, left_out, source, origin });
        Ok(())
    }

    /// Writes a part of two columns of texts.
    pub(super) fn write_texts<'a>(
        &mut self,
        kind: PartKind,
        (source, origin): (&SourceFile, &str),
        rows: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<()> {
        let file = self.next_name(kind);
        let fields = ["id", "text"].map(|name| Field::new(name, DataType::Utf8, false));
        let mut writer = TableWriter::create(&self.make_room(&file)?, fields.to_vec())?;
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let (ids, texts): (Vec<&str>, Vec<&str>) = rows.by_ref().take(1 << 14).unzip();
            writer.write(vec![Arc::new(StringArray::from(ids)), Arc::new(StringArray::from(texts))])?;
        }
        let (table, left_out) = (writer.close()?, BTreeMap::new());
        let (source, origin) = (source.clone(), origin.to_owned());
        self.parts.push(HistoryPart { kind, file, table, left_out, source, origin });
        Ok(())
    }

    /// Writes a part of judgments.
    pub(super) fn write_judgments(
        &mut self,
        kind: PartKind,
        (source, origin): (&SourceFile, &str),
        rows: &[Graded],
    ) -> Result<()> {
        let file = self.next_name(kind);
        let text = |name| Field::new(name, DataType::Utf8, false);
        let fields = vec![text("query_id"), text("document"), Field::new("grade", DataType::Float32, false)];
        let mut writer = TableWriter::create(&self.make_room(&file)?, fields)?;
        for rows in rows.chunks(1 << 14) {
            writer.write(vec![
                Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.query))),
                Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.document))),
                Arc::new(Float32Array::from_iter_values(rows.iter().map(|row| row.grade))),
            ])?;
        }
        let (table, left_out) = (writer.close()?, BTreeMap::new());
        let (source, origin) = (source.clone(), origin.to_owned());
        self.parts.push(HistoryPart { kind, file, table, left_out, source, origin });
        Ok(())
    }

    /// Returns the parts by kind, after syncing their folder.
    pub(super) fn finish(mut self) -> Result<Vec<HistoryPart>> {
        let io = |e| Error::io(files::name_of(&self.folder), e);
        std::fs::File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(io)?;
        self.parts.sort_by(|a, b| (a.kind, &a.file).cmp(&(b.kind, &b.file)));
        Ok(self.parts)
    }
}

/// A part of a former dataset that holds the rows of a log.
pub(super) struct FormerLog {
    pub(super) path: PathBuf,
    pub(super) part: HistoryPart,
}

impl FormerLog {
    /// Returns the rows that were left out when the log was read.
    pub(super) fn skips(&self) -> BTreeMap<Skip, u64> {
        let known = |reason: &str| Skip::ALL.into_iter().find(|skip| skip.reason() == reason);
        self.part.left_out.iter().filter_map(|(reason, n)| Some((known(reason)?, *n))).collect()
    }

    /// Processes the rows as [`ClickLog::read`](super::clicks::ClickLog::read) does.
    pub(super) fn read<Done: Send>(
        &self,
        searches: &Searches,
        start: impl Fn() -> Done + Sync,
        each: impl Fn(&mut Done, u64, Result<LogRow<'_>, Skip>) -> Result<()> + Sync,
        end: impl Fn(&mut Done) -> Result<()> + Sync,
        merge: impl FnMut(Done) -> Result<()>,
    ) -> Result<()> {
        let mut batches = tables::batches(&self.path, None, self.part.table.rows)?;
        let mut row = 1;
        let next = || {
            let Some(batch) = batches.next().transpose()? else { return Ok(None) };
            let first = row;
            row += batch.num_rows() as u64;
            Ok(Some((batch, first)))
        };
        let work = |(batch, first): (RecordBatch, u64)| {
            let mut done = start();
            self.rows(&batch, first, searches, |line, row| each(&mut done, line, Ok(row)))?;
            end(&mut done)?;
            Ok(done)
        };
        in_waves(2 * rayon::current_num_threads(), next, work, merge)
    }

    fn rows(
        &self,
        batch: &RecordBatch,
        first: u64,
        searches: &Searches,
        mut each: impl FnMut(u64, LogRow<'_>) -> Result<()>,
    ) -> Result<()> {
        let path = &self.path;
        let query: &StringArray = tables::nullable_column(path, batch, "query")?;
        let query_id: &StringArray = tables::nullable_column(path, batch, "query_id")?;
        let search: &StringArray = tables::nullable_column(path, batch, "search")?;
        let document: &StringArray = tables::column(path, batch, "document")?;
        let clicks: &Float64Array = tables::column(path, batch, "clicks")?;
        let shown: &UInt64Array = tables::column(path, batch, "shown")?;
        let position: &UInt32Array = tables::nullable_column(path, batch, "position")?;
        let time: &Int64Array = tables::nullable_column(path, batch, "time")?;
        fn cell(array: &StringArray, i: usize) -> Option<&str> {
            array.is_valid(i).then(|| array.value(i))
        }
        for i in 0..batch.num_rows() {
            let line = first + i as u64;
            let n_clicks = clicks.value(i);
            if !(0.0..=MOST_CLICKS).contains(&n_clicks) || shown.value(i) as f64 > MOST_CLICKS {
                let message = format!("row {line} has {n_clicks} clicks; ingest again, or restore the file");
                return Err(Error::format(files::name_of(path), message));
            }
            let text = cell(query, i);
            let search = cell(search, i).map(|id| SearchName { id, text });
            let query = match (search, text, cell(query_id, i)) {
                (Some(search), ..) => search.query(searches),
                (None, Some(text), _) => QueryName::Text(text),
                (None, None, Some(id)) => QueryName::Id(id),
                (None, None, None) => QueryName::Unknown,
            };
            each(
                line,
                LogRow {
                    line,
                    query,
                    search,
                    document: document.value(i),
                    clicks: n_clicks,
                    shown: shown.value(i),
                    position: position.is_valid(i).then(|| position.value(i)),
                    time: time.is_valid(i).then(|| time.value(i)),
                },
            )?;
        }
        Ok(())
    }
}

/// Reads the searches of a former log.
pub(super) fn read_searches(path: &Path, part: &HistoryPart, searches: &mut Searches) -> Result<()> {
    for batch in tables::batches(path, None, part.table.rows)? {
        let batch = batch?;
        let (ids, texts): (&StringArray, &StringArray) =
            (tables::column(path, &batch, "id")?, tables::column(path, &batch, "text")?);
        searches.extend((0..batch.num_rows()).map(|i| (ids.value(i).to_owned(), texts.value(i).to_owned())));
    }
    Ok(())
}

/// Returns the BLAKE3 of the content of a file, decompressed; nothing for a pipe, which can be read only once.
pub(super) fn origin_of(path: &Path) -> Result<String> {
    if !path.is_file() {
        return Ok(String::new());
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(files::open(path)?).map_err(|error| files::damaged(path, error))?;
    Ok(hasher.finalize().to_hex().to_string())
}
