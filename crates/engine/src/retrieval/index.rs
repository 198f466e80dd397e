use std::path::Path;
use std::sync::Arc;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tantivy::directory::{Directory, MmapDirectory, RamDirectory};
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{IndexWriter, InvertedIndexReader, SegmentReader, TantivyDocument};

use super::tokens::{LineTokens, NAME, SEPARATOR};
use crate::dataset::checksums;
use crate::dataset::replace::put_in_place;
use crate::files::{self, TemporaryFolder};
use crate::text::{Analyser, AnalyserParams};
use crate::unwind::caught;

/// Postings and exact lengths of every text field of a collection, in a folder or in memory.
///
/// The index knows tokens, not weights: k1, b and the weights of fields are chosen when a
/// [`Retriever`](crate::models::bm25::Retriever) is made. Documents are numbered in the order they were given.
pub struct Index {
    description: IndexDescription,
    pub(crate) segments: Vec<Segment>,
    /// The folder, or a name for messages.
    name: String,
}

/// Content of `matchrank.json` next to tantivy's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IndexDescription {
    format_version: u32,
    fields: Vec<String>,
    analyser: AnalyserParams,
    n_documents: u32,
}

/// A run of consecutive documents.
pub(crate) struct Segment {
    /// Number of its first document.
    pub(crate) first: u32,
    pub(crate) n_documents: u32,
    /// Postings of each field.
    pub(crate) postings: Vec<Arc<InvertedIndexReader>>,
    /// Number of tokens by field and document.
    pub(crate) lengths: Vec<Vec<u32>>,
}

const FORMAT_VERSION: u32 = 1;
pub(crate) const DESCRIPTION: &str = "matchrank.json";
/// Memory limit of tantivy before it writes a segment.
const MEMORY: usize = 1 << 30;
/// Documents analysed together by all threads.
const BATCH: usize = 8192;

impl Index {
    /// Indexes documents in memory. A document is one text for each of `fields`, in their order.
    pub fn in_memory<D: AsRef<[S]> + Sync, S: AsRef<str>>(
        analyser: &Analyser,
        fields: &[impl AsRef<str>],
        documents: impl IntoIterator<Item = D>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let index = tantivy::Index::create_in_ram(schema(fields.len()));
        let name = "index in memory";
        let description =
            write(&index, analyser, fields, documents, MEMORY, progress).map_err(|e| failed(name, e))??;
        Self::from_parts(&index, description, name.into())
    }

    /// Indexes documents into a folder, which appears only when it is complete, with a list of checksums. An
    /// index that stood there is replaced in one step; anything else that stands there is an error. Several
    /// processes may do this at a time: each has its own index, and the last one stays.
    pub fn build<D: AsRef<[S]> + Sync, S: AsRef<str>>(
        folder: &Path,
        (analyser, fields): (&Analyser, &[impl AsRef<str>]),
        documents: impl IntoIterator<Item = D>,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let name = files::name_of(folder);
        let io = |e| Error::io(name.clone(), e);
        if folder.exists() && !folder.join(DESCRIPTION).is_file() {
            return Err(Error::format(name, "exists and is not an index; choose another place or remove it"));
        }
        let temporary = TemporaryFolder::beside(folder)?;
        let inside = temporary.path().join("index");
        std::fs::create_dir(&inside).map_err(io)?;
        let directory = MmapDirectory::open(&inside).map_err(|e| failed(&name, e.into()))?;
        let index = tantivy::Index::create(directory, schema(fields.len()), Default::default())
            .map_err(|e| failed(&name, e))?;
        let description =
            write(&index, analyser, fields, documents, MEMORY, progress).map_err(|e| failed(&name, e))??;
        drop(index);
        files::write_atomically(&inside.join(DESCRIPTION), |out| {
            serde_json::to_writer_pretty(out, &description).map_err(|e| Error::io(name.clone(), e.into()))
        })?;
        checksums::seal(&inside)?;
        // Read before others can replace it.
        let built = Self { name: name.clone(), ..Self::open(&inside)? };
        match put_in_place(&inside, folder) {
            // Another process was faster.
            Err(_) if folder.join(DESCRIPTION).is_file() => Ok(built),
            placed => placed.map_err(io).map(|()| built),
        }
    }

    /// Reads the index of a folder into memory, and compares every file with the list of checksums. Nothing is mapped,
    /// so that what was compared is what is searched, whatever happens to the files.
    pub fn open(folder: &Path) -> Result<Self> {
        let name = files::name_of(folder);
        let described = folder.join(DESCRIPTION);
        let text = std::fs::read_to_string(&described).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Error::format(&name, format!("is not an index: it has no {DESCRIPTION}"))
            }
            _ => Error::io(files::name_of(&described), e),
        })?;
        #[derive(Deserialize)]
        struct Version {
            format_version: u32,
        }
        let damaged = |e: serde_json::Error| Error::format(files::name_of(&described), e.to_string());
        let version = serde_json::from_str::<Version>(&text).map_err(damaged)?.format_version;
        if version != FORMAT_VERSION {
            return Err(Error::format(
                name,
                format!(
                    "the index has format version {version}, this program reads {FORMAT_VERSION}; build it again"
                ),
            ));
        }
        let contents = checksums::verified(folder)?;
        let description: IndexDescription = serde_json::from_str(&text).map_err(damaged)?;
        // Behind right checksums, crafted files may still make tantivy panic.
        let opened = caught(|| {
            let directory = RamDirectory::create();
            for (file, bytes) in contents {
                let io = |e| Error::io(files::name_of(&folder.join(&file)), e);
                directory.atomic_write(Path::new(&file), &bytes).map_err(io)?;
            }
            let index = tantivy::Index::open(directory).map_err(|e| failed(&name, e))?;
            Self::from_parts(&index, description, name.clone())
        });
        opened.unwrap_or_else(|panic| Err(Error::format(&name, format!("the index is damaged ({panic})"))))
    }

    fn from_parts(index: &tantivy::Index, description: IndexDescription, name: String) -> Result<Self> {
        let segments = read_segments(index, description.fields.len()).map_err(|e| failed(&name, e))?;
        let mut next = 0;
        for segment in &segments {
            if segment.first != next {
                return Err(Error::format(
                    name,
                    format!("documents from {next} on are missing; build it again"),
                ));
            }
            next = segment.first.saturating_add(segment.n_documents);
        }
        if next != description.n_documents {
            return Err(Error::format(
                name,
                format!("has {next} documents instead of {}; build it again", description.n_documents),
            ));
        }
        Ok(Self { description, segments, name })
    }

    /// Number of documents.
    pub fn n_documents(&self) -> u32 {
        self.description.n_documents
    }

    /// Names of the text fields.
    pub fn fields(&self) -> &[String] {
        &self.description.fields
    }

    /// Analyser of the texts.
    pub fn analyser(&self) -> &AnalyserParams {
        &self.description.analyser
    }

    /// The folder, or a name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Fields are known to tantivy by number, so that users may name them as they like: the text of field i is
/// `t<i>`, its length `n<i>`, and `row` the number of the document.
fn schema(n_fields: usize) -> Schema {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(NAME)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(false);
    let text = TextOptions::default().set_indexing_options(indexing);
    let mut schema = Schema::builder();
    for field in 0..n_fields {
        schema.add_text_field(&format!("t{field}"), text.clone());
        schema.add_u64_field(&format!("n{field}"), FAST);
    }
    schema.add_u64_field("row", FAST);
    schema.build()
}

/// Analyses on all threads and indexes on one, so that documents keep their order.
fn write<D: AsRef<[S]> + Sync, S: AsRef<str>>(
    index: &tantivy::Index,
    analyser: &Analyser,
    fields: &[impl AsRef<str>],
    documents: impl IntoIterator<Item = D>,
    memory: usize,
    progress: &dyn Progress,
) -> tantivy::Result<Result<IndexDescription>> {
    index.tokenizers().register(NAME, LineTokens::default());
    let schema = index.schema();
    let numbered = |letter: char| -> tantivy::Result<Vec<Field>> {
        (0..fields.len()).map(|field| schema.get_field(&format!("{letter}{field}"))).collect()
    };
    let (texts, lengths, row) = (numbered('t')?, numbered('n')?, schema.get_field("row")?);
    let mut writer: IndexWriter = index.writer_with_num_threads(1, memory)?;
    writer.set_merge_policy(Box::new(NoMergePolicy));
    progress.begin("indexing documents", None, "documents");
    let names: Vec<&str> = fields.iter().map(AsRef::as_ref).collect();
    let (mut n_documents, n_fields) = (0u32, fields.len());
    let mut documents = documents.into_iter();
    loop {
        let batch: Vec<D> = documents.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        if n_documents.checked_add(batch.len() as u32).is_none_or(|n| n >= tantivy::TERMINATED) {
            return Ok(Err(Error::Params("an index holds at most 2,147,483,646 documents".into())));
        }
        let analysed: Vec<Vec<(String, u64)>> = batch
            .par_iter()
            .map(|document| {
                let document = document.as_ref();
                assert_eq!(document.len(), n_fields, "one text for every field");
                joined(analyser, names.iter().copied(), document)
            })
            .collect();
        for document in analysed {
            let mut out = TantivyDocument::new();
            for (field, (tokens, length)) in document.into_iter().enumerate() {
                out.add_text(texts[field], tokens);
                out.add_u64(lengths[field], length);
            }
            out.add_u64(row, u64::from(n_documents));
            writer.add_document(out)?;
            n_documents += 1;
        }
        progress.advance(batch.len() as u64);
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(Ok(IndexDescription {
        format_version: FORMAT_VERSION,
        fields: fields.iter().map(|name| name.as_ref().to_owned()).collect(),
        analyser: analyser.params().clone(),
        n_documents,
    }))
}

/// The tokens of each field of a document as [`LineTokens`] reads them, and their number.
fn joined<'a, S: AsRef<str>>(
    analyser: &Analyser,
    fields: impl Iterator<Item = &'a str> + Clone,
    texts: &'a [S],
) -> Vec<(String, u64)> {
    let mut out: Vec<(String, u64)> =
        texts.iter().map(|text| (String::with_capacity(text.as_ref().len() + 1), 0)).collect();
    analyser.document(fields.zip(texts.iter().map(AsRef::as_ref)), |field, token| {
        let (tokens, n) = &mut out[field];
        tokens.push_str(token);
        tokens.push(SEPARATOR);
        *n += 1;
    });
    out
}

/// Opens segments one by one: unlike tantivy's reader, that needs no lock file and so no right to write.
fn read_segments(index: &tantivy::Index, n_fields: usize) -> tantivy::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    for segment in index.searchable_segments()? {
        let reader = SegmentReader::open(&segment)?;
        let n_documents = reader.max_doc();
        let column = |name: &str| -> tantivy::Result<Vec<u64>> {
            let mut values = vec![0; n_documents as usize];
            reader.fast_fields().u64(name)?.first_or_default_col(0).get_range(0, &mut values);
            Ok(values)
        };
        let mut postings = Vec::new();
        let mut lengths = Vec::new();
        for field in 0..n_fields {
            postings.push(reader.inverted_index(reader.schema().get_field(&format!("t{field}"))?)?);
            lengths.push(column(&format!("n{field}"))?.into_iter().map(|n| n as u32).collect());
        }
        let first = column("row")?.first().copied().unwrap_or(0) as u32;
        segments.push(Segment { first, n_documents, postings, lengths });
    }
    segments.sort_by_key(|segment| segment.first);
    Ok(segments)
}

fn failed(name: &str, error: tantivy::TantivyError) -> Error {
    Error::format(name, format!("the index cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use matchrank_core::progress::Silent;

    use super::*;

    fn analyser() -> Analyser {
        Analyser::new(&AnalyserParams::default()).unwrap()
    }

    #[test]
    fn folders_are_replaced_only_when_they_are_indexes() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("index");
        let build = |texts: &[[&str; 1]]| Index::build(&folder, (&analyser(), &["text"]), texts, &Silent);
        assert_eq!(build(&[["one"], ["two"]]).unwrap().n_documents(), 2);
        assert_eq!(build(&[["three"]]).unwrap().n_documents(), 1);
        let opened = Index::open(&folder).unwrap();
        assert_eq!((opened.n_documents(), opened.fields()), (1, &["text".to_owned()][..]));
        // Nothing else is left beside it.
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1);

        let other = parent.path().join("other");
        std::fs::create_dir(&other).unwrap();
        let refused = Index::build(&other, (&analyser(), &["text"]), [["x"]], &Silent).err().unwrap();
        assert!(refused.to_string().contains("not an index"), "{refused}");
        assert!(Index::open(&other).err().unwrap().to_string().contains("matchrank.json"));
    }

    #[test]
    fn damage_is_an_error() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("index");
        Index::build(&folder, (&analyser(), &["text"]), [["one"]], &Silent).unwrap();
        let described = folder.join(DESCRIPTION);
        let whole = std::fs::read_to_string(&described).unwrap();
        let list = std::fs::read(folder.join(checksums::LIST)).unwrap();
        for (from, to, expected) in [
            ("\"format_version\": 1", "\"format_version\": 2", "format version 2"),
            ("\"n_documents\": 1", "\"n_documents\": 5", "1 documents instead of 5"),
            ("\"fields\"", "\"felds\"", "felds"),
        ] {
            assert!(whole.contains(from), "{whole}");
            std::fs::write(&described, whole.replace(from, to)).unwrap();
            let message = Index::open(&folder).err().unwrap().to_string();
            assert!(message.contains(expected) || message.contains("checksum differs"), "{message}");
            std::fs::remove_file(folder.join(checksums::LIST)).unwrap();
            checksums::seal(&folder).unwrap();
            let message = Index::open(&folder).err().unwrap().to_string();
            assert!(message.contains(expected), "{message}");
        }
        std::fs::write(&described, &whole).unwrap();
        std::fs::write(folder.join(checksums::LIST), list).unwrap();
        assert!(Index::open(&folder).is_ok());
        std::fs::write(folder.join("meta.json"), "{").unwrap();
        assert!(Index::open(&folder).is_err());
    }

    /// Processes have no lock in common where the file system has none.
    #[test]
    fn indexes_are_built_side_by_side() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("index");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let built =
                            Index::build(&folder, (&analyser(), &["text"]), [["one"], ["two"]], &Silent);
                        assert_eq!(built.unwrap().n_documents(), 2);
                    }
                });
            }
        });
        assert_eq!(Index::open(&folder).unwrap().n_documents(), 2);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 1);
    }

    /// Little memory makes tantivy write several segments; documents keep their numbers.
    #[test]
    fn several_segments_are_one_collection() {
        let index = tantivy::Index::create_in_ram(schema(1));
        let documents = (0..120_000).map(|row: u32| [format!("word{row} shared")]);
        let description =
            write(&index, &analyser(), &["text"], documents, 15_000_000, &Silent).unwrap().unwrap();
        let index = Index::from_parts(&index, description, "test".into()).unwrap();
        assert!(index.segments.len() > 1, "{}", index.segments.len());
        for segment in &index.segments {
            assert!(segment.lengths[0].iter().all(|&length| length == 2));
            for document in [0, segment.n_documents - 1] {
                let term = format!("word{}", segment.first + document);
                let info = segment.postings[0].terms().get(&term).unwrap().unwrap();
                let option = IndexRecordOption::WithFreqs;
                let postings = segment.postings[0].read_block_postings_from_terminfo(&info, option).unwrap();
                assert_eq!(postings.docs(), [document]);
            }
        }
    }
}
