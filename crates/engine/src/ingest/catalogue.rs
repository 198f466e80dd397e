//! Changes of the catalogue: documents that are new, changed or removed, merged into those of a dataset.

use std::path::{Path, PathBuf};

use arrow_array::{Array, RecordBatch};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave_record_batch;
use matchrank_core::{Error, Result};

use super::documents::check_id;
use crate::dataset::tables::{self, TableWriter};
use crate::dataset::{Names, TableInfo};
use crate::files;

/// Numbers of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Merged {
    pub(super) added: u64,
    pub(super) changed: u64,
    pub(super) removed: u64,
    /// Documents that were given again as they were.
    pub(super) unchanged: u64,
}

/// Merges a table of changes into a table of documents of the same columns and writes the result to `out`: changed
/// documents stay in their place, new ones follow.
pub(super) fn merge(
    former: (&Path, &TableInfo),
    changes: Option<(&Path, &TableInfo)>,
    removed: &Names,
    out: &Path,
) -> Result<Merged> {
    let changes = changes.map(|(path, info)| Changes::read(path, info)).transpose()?;
    let mut merged = Merged::default();
    let mut met = vec![false; changes.as_ref().map_or(0, |changes| changes.ids.len())];
    let mut writer: Option<TableWriter> = None;
    let mut write = |batch: &RecordBatch| {
        let writer = match &mut writer {
            Some(writer) => writer,
            None => {
                let fields = batch.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
                writer.insert(TableWriter::create(out, fields)?)
            }
        };
        writer.write(batch.columns().to_vec())
    };
    let (path, info) = former;
    for batch in tables::batches(path, None, info.rows)? {
        let batch = batch?;
        let ids = tables::ids(path, &batch)?;
        let mut rows: Vec<(usize, usize)> = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let id = ids.value(row);
            let change = changes.as_ref().and_then(|changes| Some((changes.ids.find(id)? as usize, changes)));
            match change {
                Some((at, changes)) => {
                    met[at] = true;
                    rows.push((1, at));
                    let is_same = is_same_row((&batch, row), (&changes.batch, at));
                    *(if is_same { &mut merged.unchanged } else { &mut merged.changed }) += 1;
                }
                None if removed.find(id).is_some() => merged.removed += 1,
                None => rows.push((0, row)),
            }
        }
        if !rows.is_empty() {
            let sources = [Some(&batch), changes.as_ref().map(|changes| &changes.batch)];
            let sources: Vec<&RecordBatch> = sources.into_iter().flatten().collect();
            write(&interleaved(&sources, &rows, path)?)?;
        }
    }
    if let Some(changes) = &changes {
        let new: Vec<(usize, usize)> =
            met.iter().enumerate().filter(|(_, met)| !**met).map(|(at, _)| (0, at)).collect();
        merged.added = new.len() as u64;
        if !new.is_empty() {
            write(&interleaved(&[&changes.batch], &new, path)?)?;
        }
    }
    match writer {
        Some(writer) => writer.close()?,
        None => return Err(Error::format(files::name_of(path), "no document is left; keep at least one")),
    };
    Ok(merged)
}

/// Documents that are new or changed, in memory.
struct Changes {
    ids: Names,
    batch: RecordBatch,
}

impl Changes {
    fn read(path: &Path, info: &TableInfo) -> Result<Self> {
        let batches = tables::batches(path, None, info.rows)?.collect::<Result<Vec<_>>>()?;
        let damaged = |message: String| Error::format(files::name_of(path), message);
        let schema = batches.first().ok_or_else(|| damaged("holds no document".into()))?.schema();
        let batch = concat_batches(&schema, &batches).map_err(|e| damaged(e.to_string()))?;
        let mut ids = Names::default();
        for id in tables::ids(path, &batch)?.iter().flatten() {
            let _ = ids.insert(id);
        }
        Ok(Self { ids, batch })
    }
}

fn interleaved(sources: &[&RecordBatch], rows: &[(usize, usize)], path: &Path) -> Result<RecordBatch> {
    interleave_record_batch(sources, rows).map_err(|e| {
        let message = format!("the documents have other columns than those of the dataset: {e}");
        Error::format(files::name_of(path), message)
    })
}

fn is_same_row(a: (&RecordBatch, usize), b: (&RecordBatch, usize)) -> bool {
    let pairs = a.0.columns().iter().zip(b.0.columns());
    pairs.into_iter().all(|(x, y)| x.slice(a.1, 1).as_ref() == y.slice(b.1, 1).as_ref())
}

/// Reads files of document ids, one in each line.
pub(super) fn read_removed(paths: &[PathBuf]) -> Result<Names> {
    let mut removed = Names::default();
    for path in paths {
        let name = files::name_of(path);
        let bytes = files::read_all(path)?;
        let text = std::str::from_utf8(&bytes)
            .map_err(|_| Error::format(&name, "is not UTF-8 text; expected one document id in each line"))?;
        for (line, id) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            check_id(&name, line, "document", id.trim())?;
            let _ = removed.insert(id.trim());
        }
    }
    Ok(removed)
}
