//! The documents of a dataset: read, checked for duplicate ids, analysed, written.

use std::path::{Path, PathBuf};

use arrow_schema::{DataType, Field};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::aggregate::MOST_DOCUMENTS;
use super::attributes::{Unreadable, WantedAttributes};
use super::clicks::with_nested;
use super::columns::{Mapping, Role, is_usual_id, plain};
use super::delimiters::CsvRules;
use super::document_rows::{DocumentRow, DocumentRows};
use super::events::is_metarank;
use super::fields::{Fields, values_of};
use super::inputs::InputSettings;
use super::items::{first_values, item, item_attributes, item_fields};
use super::table::{Table, TableRows};
use crate::dataset::Names;
use crate::dataset::tables::TableWriter;
use crate::dataset::{Attribute, IgnoredColumn, SourceFile, TableInfo, text_column};
use crate::files;
use crate::text::{Analyser, LanguageSample, LanguageShares, TermCounts};

/// Reason for not indexing a field if the user names the fields.
pub(super) const NOT_NAMED: &str = "not named as a text field";

/// Documents as written, and what later steps need of them.
pub(super) struct CollectedDocuments {
    pub(super) ids: Names,
    /// Different words of each document.
    pub(super) n_words: Vec<u32>,
    pub(super) counts: TermCounts,
    pub(super) fields: Vec<String>,
    pub(super) attributes: Vec<Attribute>,
    /// Words by field, repeated ones included.
    pub(super) lengths: Vec<u64>,
    pub(super) n_empty: u64,
    pub(super) n_repeated: u64,
    pub(super) sources: Vec<SourceFile>,
    pub(super) table: TableInfo,
    /// Languages of a sample.
    pub(super) languages: LanguageShares,
}

/// Text fields and attributes of documents.
#[derive(Clone, Debug, Default)]
pub(super) struct WantedFields {
    /// Fields that the user named; empty means those with usual names and short texts.
    pub(super) named: Vec<String>,
    /// Fields of the dataset that documents are added to.
    pub(super) fixed: Option<Vec<String>>,
    pub(super) attributes: WantedAttributes,
}

struct DocumentFile {
    name: String,
    table: Table,
    /// Column of the id, or `None` for Metarank events, whose `item` events are documents.
    id: Option<String>,
    columns: Vec<String>,
    /// True for a table of documents that `ingest` wrote.
    is_stored: bool,
    /// Note on a column of the id that was guessed.
    guess: Option<String>,
    /// Fields that are not indexed unless another file has them.
    ignored: Vec<IgnoredColumn>,
    /// Attributes that the first rows suggest, each with the number of its values there.
    attributes: Vec<(Attribute, usize)>,
}

/// Reads document files and writes the table of documents to `path`.
pub(super) fn read_documents(
    inputs: &[(&PathBuf, InputSettings)],
    wanted: &WantedFields,
    analyser: &Analyser,
    path: &Path,
    progress: &dyn Progress,
) -> Result<CollectedDocuments> {
    let files = inputs.iter().map(|(input, settings)| open_documents(input, settings, wanted));
    let mut files = files.collect::<Result<Vec<_>>>()?;
    let mut fields: Vec<String> = wanted.fixed.clone().unwrap_or_else(|| wanted.named.clone());
    if let Some(fixed) = &wanted.fixed {
        files.iter_mut().try_for_each(|file| file.keep_only(fixed, &wanted.attributes))?;
    } else if fields.is_empty() {
        for file in &files {
            for column in &file.columns {
                if !fields.contains(column) {
                    fields.push(column.clone());
                }
            }
        }
    }
    files.iter().filter_map(|file| file.guess.as_deref()).for_each(|guess| progress.note(guess));
    let found = files.iter_mut().flat_map(|file| std::mem::take(&mut file.attributes)).collect();
    let attributes = wanted.attributes.decide(found, &fields)?;
    // A field that one file has as a text is one in all files.
    for file in &mut files {
        let is_used = |name: &String| fields.contains(name) || attributes.iter().any(|a| a.name == *name);
        file.ignored.retain(|ignored| !is_used(&ignored.column));
        if file.id.is_some() {
            file.columns = fields.iter().filter(|f| file.table.columns().contains(f)).cloned().collect();
        }
    }
    if fields.is_empty() {
        let first = &files.first().ok_or_else(|| Error::Params("no document file was given".into()))?.name;
        return Err(Error::parse(
            first,
            1,
            "no text column beside the id; name the text columns with option `text NAME,NAME`",
        ));
    }
    write_documents(&files, (fields, attributes), analyser, path, progress)
}

/// Reads a table of documents that was written before, and writes it again with all that is counted on the way.
pub(super) fn read_stored(
    stored: &Path,
    (fields, attributes): (&[String], &[Attribute]),
    analyser: &Analyser,
    path: &Path,
    progress: &dyn Progress,
) -> Result<CollectedDocuments> {
    let file = DocumentFile {
        name: files::name_of(stored),
        table: Table::open(stored, CsvRules::default())?,
        id: Some("id".into()),
        columns: fields.to_vec(),
        is_stored: true,
        guess: None,
        ignored: Vec::new(),
        attributes: Vec::new(),
    };
    write_documents(&[file], (fields.to_vec(), attributes.to_vec()), analyser, path, progress)
}

fn write_documents(
    files: &[DocumentFile],
    (fields, attributes): (Vec<String>, Vec<Attribute>),
    analyser: &Analyser,
    path: &Path,
    progress: &dyn Progress,
) -> Result<CollectedDocuments> {
    let mut schema = vec![Field::new("id", DataType::Utf8, false)];
    schema.extend(fields.iter().map(|f| Field::new(text_column(f), DataType::Utf8, false)));
    schema.extend(attributes.iter().map(|a| Field::new(a.column(), a.kind.data_type(), true)));
    let mut writer = TableWriter::create(path, schema)?;
    let mut sample = LanguageSample::default();
    let (mut ids, mut n_words, mut counts) = (Names::default(), Vec::new(), TermCounts::new());
    let mut hashes: Vec<u64> = Vec::new();
    let mut places: Vec<(usize, u64)> = Vec::new();
    let mut lengths = vec![0; fields.len()];
    let (mut n_empty, mut n_repeated, mut sources) = (0, 0, Vec::new());
    progress.begin("documents", None, "documents");
    for (number, file) in files.iter().enumerate() {
        let mut rows = 0;
        let mut unreadable = vec![Unreadable::default(); attributes.len()];
        let merge = |mut part: DocumentRows| {
            rows += part.ids.len() as u64;
            progress.advance(part.ids.len() as u64);
            part.count_unreadable(&mut unreadable);
            let mut keep = vec![true; part.ids.len()];
            for (i, id) in part.ids.iter().enumerate() {
                let hash = content_hash(part.texts.iter().map(|t| t[i].as_str()));
                match ids.insert(id) {
                    Ok(_) => {
                        hashes.push(hash);
                        places.push((number, part.lines[i]));
                        n_words.push(part.n_words[i]);
                        n_empty += u64::from(part.n_words[i] == 0);
                    }
                    // Metarank repeats items that changed; the first is kept.
                    Err(first) if hashes[first as usize] == hash || file.id.is_none() => keep[i] = false,
                    Err(first) => {
                        let (file_number, line) = places[first as usize];
                        return Err(Error::parse(
                            &file.name,
                            part.lines[i],
                            format!(
                                "the document id '{id}' was already used at {}:{line} with another text; ids must be unique",
                                files[file_number].name
                            ),
                        ));
                    }
                }
            }
            if ids.len() > MOST_DOCUMENTS {
                return Err(Error::format(&file.name, format!("more than {MOST_DOCUMENTS} documents")));
            }
            if keep.iter().any(|k| !k) {
                n_repeated += keep.iter().filter(|k| !**k).count() as u64;
                part = part.kept(&keep, (analyser, &fields));
            }
            for row in 0..part.ids.len() {
                sample.see(part.texts.iter().map(|texts| texts[row].as_str()));
            }
            lengths.iter_mut().zip(&part.lengths).for_each(|(sum, n)| *sum += n);
            counts = std::mem::take(&mut counts).merge(std::mem::take(&mut part.counts));
            writer.write(part.into_columns())
        };
        file.read((&fields, &attributes), analyser, merge)?;
        let mut remarks = file.table.remarks();
        remarks.extend(attributes.iter().zip(&unreadable).filter_map(|(a, texts)| texts.remark(a)));
        sources.push(SourceFile {
            ignored: with_nested(file.ignored.clone(), &file.table),
            ..source("documents", &file.name, rows, remarks)
        });
    }
    if ids.is_empty() {
        return Err(Error::format(&files[0].name, "holds no document"));
    }
    Ok(CollectedDocuments {
        ids,
        n_words,
        counts,
        fields,
        attributes,
        lengths,
        n_empty,
        n_repeated,
        sources,
        table: writer.close()?,
        languages: sample.shares(),
    })
}

fn content_hash<'a>(texts: impl Iterator<Item = &'a str>) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    u64::from_le_bytes(hasher.finalize().as_bytes()[..8].try_into().expect("eight bytes"))
}

fn open_documents(path: &Path, settings: &InputSettings, wanted: &WantedFields) -> Result<DocumentFile> {
    let WantedFields { named: wanted, attributes, .. } = wanted;
    let named = &settings.columns;
    let name = files::name_of(path);
    let table = settings.open(path)?;
    let has = |column: &str| table.columns().iter().any(|c| c == column);
    if is_metarank(&table)? {
        settings.refuse_own_columns(&name, "Metarank events")?;
        let (columns, ignored) = item_fields(&table, wanted)?;
        let others = ignored.iter().map(|ignored| &ignored.column).filter(|name| !columns.contains(name));
        let names: Vec<String> = columns.iter().chain(others).cloned().collect();
        let attributes = attributes.among(&names, &first_values(&table, &names)?);
        let (id, is_stored, guess) = (None, false, None);
        return Ok(DocumentFile { columns, ignored, name, table, id, is_stored, guess, attributes });
    }
    // In a collection a column called `id` is the document's id, whatever else looks like one.
    let by_name =
        ["id", "_id"].iter().find(|c| has(c)).filter(|_| !named.get(&Role::Document).is_some_and(|n| has(n)));
    let (id, guess) = match by_name {
        Some(column) => ((*column).to_owned(), None),
        None => {
            // A column that has the name of the column of the log holds the ids of the log; `sku` is that of
            // `product_sku`, too.
            let mut named = named.clone();
            let ends_alike = |a: &str, b: &str| a.strip_suffix(b).is_some_and(|stem| stem.ends_with('_'));
            let is_alike = |column: &String| {
                let (name, mut of_log) = (plain(column), settings.log_ids.iter().map(|id| plain(id)));
                of_log.any(|id| is_usual_id(&name) && (ends_alike(&id, &name) || ends_alike(&name, &id)))
            };
            let same = settings.log_ids.iter().find(|column| has(column));
            let as_in_log = same.or_else(|| table.columns().iter().find(|column| is_alike(column)));
            let is_named = named.get(&Role::Document).is_some_and(|n| has(n));
            if let Some(column) = as_in_log.filter(|_| !is_named) {
                named.insert(Role::Document, column.clone());
            }
            let mapping = Mapping::of(&name, table.columns(), &[Role::Document], &named)?;
            let id = mapping.require(&name, Role::Document, table.columns())?.to_owned();
            let guess =
                format!("{name}: ids of the documents: '{id}' (option `column document=NAME` overrides)");
            let is_usual = is_named || id == Role::Document.name();
            (id, (!is_usual).then_some(guess))
        }
    };
    let others: Vec<String> = table.columns().iter().filter(|c| **c != id).cloned().collect();
    let values = values_of(&table, &others)?;
    let attributes = attributes.among(&others, &values);
    let is_stored = false;
    if wanted.is_empty() {
        let Fields { columns, ignored } = Fields::choose(&table, &others, &values);
        return Ok(DocumentFile {
            name,
            table,
            id: Some(id),
            guess,
            columns,
            is_stored,
            ignored,
            attributes,
        });
    }
    if let Some(absent) = wanted.iter().find(|w| !others.contains(w)) {
        let message = format!(
            "no column '{absent}' (named by option `text`); the columns are {}",
            table.columns().join(", ")
        );
        return Err(Error::parse(name, 1, message));
    }
    let ignored = others.iter().filter(|c| !wanted.contains(c));
    let ignored = ignored.map(|c| IgnoredColumn::new(c, NOT_NAMED)).collect();
    let columns = wanted.to_vec();
    Ok(DocumentFile { name, table, id: Some(id), guess, columns, is_stored, ignored, attributes })
}

impl DocumentFile {
    /// Keeps to the fields of the dataset that the documents are added to.
    fn keep_only(&mut self, fields: &[String], attributes: &WantedAttributes) -> Result<()> {
        let has = |field: &&String| self.id.is_none() || self.table.columns().contains(field);
        if let Some(absent) = fields.iter().find(|field| !has(field)) {
            let message = format!(
                "no column '{absent}', which is a text field of the dataset; give changed documents with all their \
                 fields; the columns are {}",
                self.table.columns().join(", ")
            );
            return Err(Error::parse(&self.name, 1, message));
        }
        if let WantedAttributes::Fixed(attributes) = attributes
            // An object without a field has no value, and a header without one has lost the column.
            && !self.table.is_json()
            && let Some(absent) = attributes.iter().find(|attribute| !has(&&attribute.name))
        {
            let message = format!(
                "no column '{}', which is an attribute of the dataset; give changed documents with all their attributes; \
                 the columns are {}",
                absent.name,
                self.table.columns().join(", ")
            );
            return Err(Error::parse(&self.name, 1, message));
        }
        let others = self.columns.iter().filter(|column| !fields.contains(column));
        self.ignored.extend(others.map(|column| IgnoredColumn::new(column, "no field of the dataset")));
        Ok(())
    }

    fn read(
        &self,
        (fields, attributes): (&[String], &[Attribute]),
        analyser: &Analyser,
        merge: impl FnMut(DocumentRows) -> Result<()>,
    ) -> Result<()> {
        let stored = |name: String, stored: String| if self.is_stored { stored } else { name };
        let texts = fields
            .iter()
            .map(|field| self.columns.contains(field).then(|| stored(field.clone(), text_column(field))));
        let attribute = |a: &Attribute| stored(a.name.clone(), a.column());
        let texts: Vec<Option<String>> = texts.collect();
        let values: Vec<String> = attributes.iter().map(attribute).collect();
        let mut wanted: Vec<&str> = Vec::new();
        if let Some(id) = self.id.as_deref() {
            wanted.push(id);
            let present = values.iter().filter(|name| self.table.columns().contains(name));
            for name in texts.iter().flatten().chain(present) {
                if !wanted.contains(&name.as_str()) {
                    wanted.push(name);
                }
            }
        }
        let place = |name: &str| wanted.iter().position(|wanted| *wanted == name);
        let text_places: Vec<Option<usize>> = texts.iter().map(|name| place(name.as_deref()?)).collect();
        let value_places: Vec<Option<usize>> = values.iter().map(|name| place(name)).collect();
        let analyser = (analyser, fields);
        let work = |rows: &TableRows<'_>| {
            let mut part = DocumentRows::of(fields.len(), attributes, self.is_stored);
            if self.id.is_none() {
                rows.for_each_json(|line, event| match event["event"].as_str() {
                    Some("item") => {
                        let (id, texts) = item(&self.name, line, event, fields)?;
                        let values = item_attributes(event, attributes);
                        let values: Vec<Option<&str>> =
                            values.iter().map(|value| value.as_deref().map(str::trim)).collect();
                        let row = DocumentRow { line, id, attributes: &values };
                        part.push(&self.name, &row, texts.iter().map(AsRef::as_ref), analyser)
                    }
                    _ => Ok(()),
                })?;
                return Ok(part);
            }
            rows.for_each(|row| {
                let id = row.fields[0]
                    .ok_or_else(|| Error::parse(&self.name, row.line, "the document has no id"))?;
                let field = |place: &Option<usize>| place.and_then(|place| row.fields[place]);
                let values: Vec<Option<&str>> = value_places.iter().map(field).collect();
                let texts = text_places.iter().map(|place| field(place).unwrap_or_default());
                part.push(
                    &self.name,
                    &DocumentRow { line: row.line, id, attributes: &values },
                    texts,
                    analyser,
                )
            })?;
            Ok(part)
        };
        self.table.read(&wanted, work, merge)
    }
}

/// Run files separate columns by blanks and control characters, so ids must have none.
pub(super) fn check_id(file: &str, line: u64, what: &str, id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(Error::parse(file, line, format!("the {what} has no id")));
    }
    if let Some(c) = id.chars().find(|c| c.is_whitespace() || *c < ' ') {
        let held = if c == ' ' { "a blank".to_owned() } else { format!("{c:?}") };
        let id = id.escape_debug();
        let message = format!(
            "the {what} id '{id}' contains {held}, which run and judgment files cannot hold; replace it"
        );
        return Err(Error::parse(file, line, message));
    }
    Ok(())
}

pub(super) fn source(role: &str, file: &str, rows: u64, remarks: Vec<String>) -> SourceFile {
    let file =
        Path::new(file).file_name().map_or_else(|| file.to_owned(), |f| f.to_string_lossy().into_owned());
    SourceFile { role: role.to_owned(), file, rows, remarks, ignored: Vec::new(), events: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_single_columns() {
        assert!(check_id("docs.csv", 2, "document", "d\u{e9}-1%").is_ok());
        let error = |id: &str| check_id("docs.csv", 2, "document", id).unwrap_err().to_string();
        assert_eq!(error(""), "docs.csv:2: the document has no id");
        assert!(error("d 1").starts_with("docs.csv:2: the document id 'd 1' contains a blank"));
        assert!(error("d\u{1}1").starts_with("docs.csv:2: the document id 'd\\u{1}1' contains '\\u{1}'"));
    }
}
