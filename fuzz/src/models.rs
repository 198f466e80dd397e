//! Model files of every kind: edited behind a right checksum, and used in every way once they load.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::ingest::{IngestParams, ingest};
use matchrank_engine::model_file::{Model, open, save};
use matchrank_engine::models::registry::describe;
use matchrank_engine::models::{MatchingModel, RelatedQuery, bind};
use matchrank_engine::rankers::RankingModel;
use serde_json::{Map, Value, json};

/// Place of the checksum in the header.
const KEY: &[u8] = br#""checksum":""#;
/// The dataset that the golden files say they are of.
const GOLDEN_HASH: &str = "0123456789abcdef";

/// The folder of the golden model files.
fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/model_files")
}

/// The golden model files, one of every kind and version.
fn golden() -> &'static [Vec<u8>] {
    static GOLDEN: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    GOLDEN.get_or_init(|| {
        let entries = golden_folder().read_dir().expect("the golden files are in the tree");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
        paths.sort();
        paths.iter().map(|path| std::fs::read(path).expect("a readable file")).collect()
    })
}

/// The golden file of a kind and version, as a model of a dataset.
pub fn golden_of(name: &str, dataset: &Dataset) -> Vec<u8> {
    let path = golden_folder().join(format!("{name}.safetensors"));
    Parts::of(&std::fs::read(path).expect("a golden file"), dataset).bytes()
}

/// The bytes with the checksum made right, if they have a place for it.
pub fn repaired(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let at = memchr::memmem::find(&bytes, KEY)? + KEY.len();
    bytes.get_mut(at..at + 64)?.fill(b'0');
    let checksum = blake3::hash(&bytes).to_hex();
    bytes[at..at + 64].copy_from_slice(checksum.as_bytes());
    Some(bytes)
}

/// A golden file, chosen by the first byte, after the edits that the other bytes say.
pub fn edited(bytes: &[u8]) -> Vec<u8> {
    let mut script = Script(bytes);
    let mut file = Parts::of(&golden()[script.byte() as usize % golden().len()], dataset());
    while !script.0.is_empty() {
        file.edit(&mut script);
    }
    file.bytes()
}

/// Bytes that are read as a list of edits; what is missing at its end is 0.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn take(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.byte()).collect()
    }

    /// A number below `n`, which is above 0.
    fn below(&mut self, n: usize) -> usize {
        (self.byte() as usize * 256 + self.byte() as usize) % n
    }
}

/// A model file taken apart.
struct Parts {
    metadata: Map<String, Value>,
    arrays: BTreeMap<String, (String, Vec<u8>)>,
}

impl Parts {
    fn of(bytes: &[u8], dataset: &Dataset) -> Self {
        let size = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
        let (header, data) = (&bytes[8..8 + size], &bytes[8 + size..]);
        let mut header: Map<String, Value> = serde_json::from_slice(header).expect("a golden file");
        let Some(Value::Object(mut metadata)) = header.remove("__metadata__") else { unreachable!() };
        let hash = &dataset.manifest.content_hash;
        for value in metadata.values_mut() {
            *value = value.as_str().expect("metadata are strings").replace(GOLDEN_HASH, hash).into();
        }
        let arrays = header.into_iter().map(|(name, info)| {
            let end = |i: usize| info["data_offsets"][i].as_u64().expect("an offset") as usize;
            let dtype = info["dtype"].as_str().expect("a type").to_owned();
            (name, (dtype, data[end(0)..end(1)].to_vec()))
        });
        Self { metadata, arrays: arrays.collect() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut header = Map::new();
        let mut metadata = self.metadata.clone();
        metadata.insert("checksum".into(), "0".repeat(64).into());
        header.insert("__metadata__".into(), metadata.into());
        let mut data: Vec<u8> = Vec::new();
        let mut arrays: Vec<_> = self.arrays.iter().collect();
        // Wide numbers first, as the format aligns them.
        arrays.sort_by_key(|(_, (dtype, _))| std::cmp::Reverse(width(dtype)));
        for (name, (dtype, values)) in arrays {
            let start = data.len();
            data.extend(&values[..values.len() - values.len() % width(dtype)]);
            let shape = [(data.len() - start) / width(dtype)];
            let offsets = [start, data.len()];
            header.insert(name.clone(), json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets }));
        }
        let mut text = Value::from(header).to_string().into_bytes();
        text.resize(text.len().next_multiple_of(8), b' ');
        let bytes = [&(text.len() as u64).to_le_bytes()[..], &text, &data].concat();
        repaired(bytes).expect("a checksum is there")
    }

    fn edit(&mut self, script: &mut Script<'_>) {
        let what = script.byte() % 8;
        if what < 4 && !self.arrays.is_empty() {
            let n = script.below(self.arrays.len());
            let name = self.arrays.keys().nth(n).expect("below their number").clone();
            let (dtype, values) = self.arrays.get_mut(&name).expect("its name");
            let wide = width(dtype);
            match what {
                0 if !values.is_empty() => {
                    let at = script.below(values.len());
                    values[at] = script.byte();
                }
                1 if values.len() >= wide => {
                    let at = script.below(values.len() / wide) * wide;
                    let number = special(dtype, script.byte());
                    values[at..at + wide].copy_from_slice(&number[..wide]);
                }
                2 => {
                    let length = script.below(512) * wide;
                    values.resize(length, script.byte());
                }
                _ => drop(self.arrays.remove(&name)),
            }
        } else if !self.metadata.is_empty() {
            let n = script.below(self.metadata.len());
            let name = self.metadata.keys().nth(n).expect("below their number").clone();
            let mut text = self.metadata[&name].as_str().unwrap_or_default().as_bytes().to_vec();
            match what {
                7 => drop(self.metadata.remove(&name)),
                6 => {
                    // A number of the text becomes another.
                    let digits: Vec<usize> = (0..text.len()).filter(|&i| text[i].is_ascii_digit()).collect();
                    if !digits.is_empty() {
                        let at = digits[script.below(digits.len())];
                        let end = (at..text.len()).find(|&i| !text[i].is_ascii_digit()).unwrap_or(text.len());
                        let number = NUMBERS[script.byte() as usize % NUMBERS.len()];
                        text.splice(at..end, number.bytes());
                    }
                    self.metadata.insert(name, String::from_utf8_lossy(&text).into());
                }
                _ => {
                    let at = script.below(text.len() + 1);
                    let end = (at + script.byte() as usize).min(text.len());
                    let n = script.byte() as usize % 16;
                    text.splice(at..end, script.take(n));
                    self.metadata.insert(name, String::from_utf8_lossy(&text).into());
                }
            }
        }
    }
}

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "1e308",
    "-1e308",
    "1e-320",
    "4294967295",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "1e400",
    "NaN",
    "null",
    "true",
    "[]",
    "\"x\"",
];

fn width(dtype: &str) -> usize {
    match dtype {
        "U8" => 1,
        "U16" => 2,
        "U32" | "F32" => 4,
        _ => 8,
    }
}

/// A number at the edge of a type.
fn special(dtype: &str, n: u8) -> [u8; 8] {
    let n = n as usize;
    let wide: u64 = match dtype {
        "F32" => {
            [f32::NAN, f32::INFINITY, f32::MAX, f32::MIN, -0.0, 1e-45, -1.0, 1.0][n % 8].to_bits().into()
        }
        "F64" => [f64::NAN, f64::INFINITY, f64::MAX, f64::MIN, -0.0, 5e-324, -1.0, 1.0][n % 8].to_bits(),
        _ => [0, 1, 2, u64::MAX, u64::MAX - 1, 1 << 63, 1 << 32, 1 << 31][n % 8],
    };
    wide.to_le_bytes()
}

/// Two queries and three documents, as the golden files have them.
fn dataset() -> &'static Dataset {
    static DATASET: OnceLock<Dataset> = OnceLock::new();
    DATASET.get_or_init(|| {
        let documents = b"id,title,body\nd1,Running shoes,light shoes for runners\nd2,Caf\xc3\xa9 table,a round table\nd3,sneaker,shoes on the table\n";
        let clicks = b"query,document,clicks\nsneaker,d1,3\nround table,d2,2\nround table,d3,1\n";
        let params = IngestParams {
            documents: vec![crate::file("documents.csv", documents)],
            clicks: vec![crate::file("clicks.csv", clicks)],
            ..Default::default()
        };
        let out = crate::folder().join("of_models");
        ingest(&params, &out, true, &Silent).expect("a sound log");
        Dataset::open(&out).expect("what was written opens")
    })
}

/// Three lists of three features.
fn lists() -> &'static FeatureLists {
    static LISTS: OnceLock<FeatureLists> = OnceLock::new();
    LISTS.get_or_init(|| {
        let text = b"2 qid:a 1:0.5 2:4 3:1\n0 qid:a 1:1 2:4\n1 qid:a 2:4 3:-2\n1 qid:b 1:3 2:6\n0 qid:b 2:6 3:0.25\n0 qid:c 2:1e30\n";
        letor::parse("lists", text, &Silent).expect("sound lists")
    })
}

/// Opens a file. What opens is the same after it was saved, and can be used.
pub fn check(path: &Path) {
    let again = crate::folder().join("again");
    match open(path) {
        Ok((Model::Matching(model), provenance)) => {
            save(&again, &*model, &provenance).expect("a loaded model can be saved");
            let Ok((Model::Matching(saved), provenance_again)) = open(&again) else {
                panic!("a saved model can be loaded")
            };
            assert!(provenance == provenance_again && model.kind() == saved.kind());
            assert_eq!(use_matching(&*model), use_matching(&*saved));
        }
        Ok((Model::Ranking(model), provenance)) => {
            save(&again, &*model, &provenance).expect("a loaded ranker can be saved");
            let Ok((Model::Ranking(saved), provenance_again)) = open(&again) else {
                panic!("a saved ranker can be loaded")
            };
            assert!(provenance == provenance_again && model.kind().name == saved.kind().name);
            assert_eq!(use_ranking(&*model), use_ranking(&*saved));
        }
        Err(_) => {}
    }
}

/// Describes, explains, ranks; returns the bits of the scores of the lists that can be ranked.
fn use_ranking(model: &dyn RankingModel) -> Vec<u64> {
    let _ = (model.describe(), model.course("ndcg@10"), model.importance(), model.settled());
    let mut bits = Vec::new();
    for list in lists().iter() {
        let all: Vec<usize> = (0..list.len()).collect();
        // A function that cannot be made is an error here, and would be a panic when ranking.
        if model.describe_function(&list).is_err() {
            continue;
        }
        let mut scores = Vec::new();
        model.score(&list, &mut scores);
        bits.extend(scores.iter().map(|score| score.to_bits()));
        for &i in &all {
            let _ = (model.contributions(&list, i), model.shapley(&list, i, &all));
        }
    }
    bits
}

/// Ranks, explains, inspects; returns the bits of the scores, or the error.
fn use_matching(model: &dyn MatchingModel) -> Result<Vec<Vec<(u32, u32)>>, String> {
    const QUERIES: [&str; 3] = ["round table", "sneaker running shoes", "zebra"];
    let _ = describe(model);
    for is_reverse in [false, true] {
        let query = RelatedQuery { words: QUERIES[1], top: 5, min_documents: 0, is_reverse };
        let _ = model.related(&query);
    }
    let matcher = bind(model, dataset(), None, &Silent).map_err(|e| e.to_string())?;
    let top = matcher.top(&QUERIES, 3, &Silent).map_err(|e| e.to_string())?;
    for query in QUERIES {
        let _ = matcher.explain(query, 2);
    }
    Ok(top.iter().map(|hits| hits.iter().map(|hit| (hit.document, hit.score.to_bits())).collect()).collect())
}
