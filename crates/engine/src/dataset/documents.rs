//! The documents of a dataset: read batch by batch, and turned into whatever a model needs of them.

use std::path::Path;

use arrow_array::{Array, RecordBatch, StringArray};
use matchrank_core::{Error, Result};
use rayon::prelude::*;
use std::collections::HashMap;

use super::{DOCUMENTS, Dataset, QUERIES, tables, text_column};
use crate::text::FieldWeights;

/// Documents that one thread takes at a time.
const CHUNK: usize = 512;

/// Documents as they are read: ids, and for every field the texts.
pub struct Documents<'a> {
    ids: &'a StringArray,
    fields: Vec<&'a StringArray>,
}

impl Documents<'_> {
    /// Number of documents in this batch.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns true if the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Id of a document of this batch.
    pub fn id(&self, row: usize) -> &str {
        self.ids.value(row)
    }

    /// Text of a field (in the order of the manifest's fields) of a document of this batch.
    pub fn text(&self, row: usize, field: usize) -> &str {
        self.fields[field].value(row)
    }
}

impl Dataset {
    /// Calls `each` with the documents batch by batch, in the order of their rows.
    pub fn for_each_documents(&self, mut each: impl FnMut(&Documents<'_>) -> Result<()>) -> Result<()> {
        let path = self.folder.join(DOCUMENTS);
        self.text_batches()?.try_for_each(|batch| each(&self.documents_of(&path, &batch?)?))
    }

    /// The texts of all documents, field by field, in the order of their rows; read as they are drawn.
    pub fn texts(&self) -> Result<impl Iterator<Item = Result<Vec<String>>>> {
        let path = self.folder.join(DOCUMENTS);
        Ok(self.text_batches()?.flat_map(move |batch| {
            let texts = batch.and_then(|batch| {
                let documents = self.documents_of(&path, &batch)?;
                let n_fields = self.manifest.fields.len();
                let row =
                    |row| Ok((0..n_fields).map(|field| documents.text(row, field).to_owned()).collect());
                Ok((0..documents.len()).map(row).collect::<Vec<_>>())
            });
            texts.unwrap_or_else(|error| vec![Err(error)])
        }))
    }

    /// Batches of the documents without their attributes.
    fn text_batches(&self) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let fields = self.manifest.fields.iter().map(|(name, _)| text_column(name));
        let columns: Vec<String> = ["id".to_owned()].into_iter().chain(fields).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        self.batches(DOCUMENTS, Some(&columns))
    }

    fn documents_of<'a>(&self, path: &Path, batch: &'a RecordBatch) -> Result<Documents<'a>> {
        let fields =
            self.manifest.fields.iter().map(|(name, _)| tables::column(path, batch, &text_column(name)));
        Ok(Documents { ids: tables::ids(path, batch)?, fields: fields.collect::<Result<_>>()? })
    }

    /// The ids of all documents, in the order of their rows; their texts are not read.
    pub fn document_ids(&self) -> Result<Vec<String>> {
        let path = self.folder.join(DOCUMENTS);
        let mut all = Vec::new();
        for batch in self.batches(DOCUMENTS, Some(&["id"]))? {
            let batch = &batch?;
            let ids = tables::ids(&path, batch)?;
            all.extend((0..ids.len()).map(|i| ids.value(i).to_owned()));
        }
        Ok(all)
    }

    /// The ids of all documents, or of those `wanted`, given by ascending rows, in one piece of memory.
    pub(crate) fn id_list(&self, wanted: Option<&[u32]>) -> Result<IdList> {
        let path = self.folder.join(DOCUMENTS);
        let mut list = IdList::default();
        let (mut first, mut taken) = (0u32, 0);
        for batch in self.batches(DOCUMENTS, Some(&["id"]))? {
            let batch = &batch?;
            let ids = tables::ids(&path, batch)?;
            let end = first + ids.len() as u32;
            match wanted {
                None => (0..ids.len()).for_each(|i| list.push(ids.value(i))),
                Some(wanted) => {
                    let here = wanted[taken..].iter().take_while(|&&row| row < end);
                    taken += here.map(|row| list.push(ids.value((row - first) as usize))).count();
                }
            }
            first = end;
        }
        Ok(list)
    }

    /// The ids of some queries, by row number.
    pub(crate) fn query_ids_of(&self, rows: &[u32]) -> Result<HashMap<u32, String>> {
        self.cells(QUERIES, "id", rows)
    }

    /// The ids of some documents, by row number.
    pub fn document_ids_of(&self, rows: &[u32]) -> Result<HashMap<u32, String>> {
        self.cells(DOCUMENTS, "id", rows)
    }

    /// The texts that some documents have in a field, by row number.
    pub fn document_texts_of(&self, field: &str, rows: &[u32]) -> Result<HashMap<u32, String>> {
        self.cells(DOCUMENTS, &text_column(field), rows)
    }

    /// The texts of some queries, by row number.
    pub fn query_texts_of(&self, rows: &[u32]) -> Result<HashMap<u32, String>> {
        self.cells(QUERIES, "text", rows)
    }

    fn cells(&self, table: &str, column: &str, rows: &[u32]) -> Result<HashMap<u32, String>> {
        let mut wanted = rows.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let mut cells = HashMap::default();
        let path = self.folder.join(table);
        let mut first = 0u32;
        for batch in self.batches(table, Some(&[column]))? {
            if cells.len() == wanted.len() {
                break;
            }
            let batch = &batch?;
            let texts: &StringArray = tables::column(&path, batch, column)?;
            let end = first + texts.len() as u32;
            let rest = &wanted[cells.len()..];
            for &row in rest.iter().take_while(|&&row| row < end) {
                cells.insert(row, texts.value((row - first) as usize).to_owned());
            }
            first = end;
        }
        Ok(cells)
    }

    /// Returns the positions of a model's text fields among those of the documents; their order may differ.
    pub fn places_of(&self, fields: &FieldWeights) -> Result<Vec<usize>> {
        let place = |name: &str| {
            self.manifest.fields.position(name).ok_or_else(|| {
                let have: Vec<&str> = self.manifest.fields.iter().map(|(name, _)| name).collect();
                Error::Params(format!(
                    "the model reads the text field '{name}', and the documents of {} have {}; it was trained on other data",
                    self.folder.display(),
                    have.join(", ")
                ))
            })
        };
        fields.iter().map(|(name, _)| place(name)).collect()
    }

    /// Makes something of every document, or of those `wanted` (ascending row numbers), on all threads:
    /// `make` gets the number of the document and the texts of `fields`, in their order, and `take` gets
    /// what was made, in the order of the documents.
    pub fn map_documents<T: Send>(
        &self,
        fields: &FieldWeights,
        wanted: Option<&[u32]>,
        make: impl Fn(u32, &[&str]) -> T + Sync,
        mut take: impl FnMut(T),
    ) -> Result<()> {
        let places = self.places_of(fields)?;
        let mut first = 0u32;
        let mut wanted = wanted;
        self.for_each_documents(|batch| {
            let end = first + batch.len() as u32;
            let numbers: Vec<u32> = match &mut wanted {
                None => (first..end).collect(),
                Some(rest) => {
                    let (now, later) = rest.split_at(rest.partition_point(|&number| number < end));
                    *rest = later;
                    now.to_vec()
                }
            };
            let made: Vec<Vec<T>> = numbers
                .par_chunks(CHUNK)
                .map(|numbers| {
                    let mut texts = Vec::with_capacity(places.len());
                    let made = numbers.iter().map(|&number| {
                        texts.clear();
                        texts
                            .extend(places.iter().map(|&place| batch.text((number - first) as usize, place)));
                        make(number, &texts)
                    });
                    made.collect()
                })
                .collect();
            made.into_iter().flatten().for_each(&mut take);
            first = end;
            Ok(())
        })
    }
}

/// Ids in one piece of memory, by number.
#[derive(Default)]
pub(crate) struct IdList {
    bytes: String,
    ends: Vec<usize>,
}

impl IdList {
    fn push(&mut self, id: &str) {
        self.bytes.push_str(id);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, number: u32) -> &str {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }
}
