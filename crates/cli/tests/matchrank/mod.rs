//! A folder of files, and the real binary run inside it.
#![allow(dead_code, unreachable_pub, reason = "a module of every test file, not all of which use all of it")]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use assert_cmd::Command;
use serde_json::Value;

pub struct Folder {
    path: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl Folder {
    pub fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        Self { path: temporary.path().to_owned(), _temporary: Some(temporary) }
    }

    /// Creates a folder with a small simulated log in `log`, and its dataset with judgments in `data`.
    pub fn with_dataset() -> Self {
        let folder = Self::new();
        folder.text("simulate clicks --preset small --out log --quiet");
        folder.text(
            "ingest --clicks log/clicks.csv --documents log/documents.jsonl --queries log/queries.tsv --text title,url \
             --judgments validation=log/validation.qrels --judgments test=log/test.qrels --out data",
        );
        folder
    }

    /// Starts the binary, with pipes for its input and outputs.
    pub fn start(&self, args: &str) -> Child {
        std::process::Command::new(env!("CARGO_BIN_EXE_matchrank"))
            .current_dir(&self.path)
            .args(args.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path.join(name), content).unwrap();
    }

    pub fn write_parquet(&self, name: &str, columns: &[&str], rows: &[Vec<&str>]) {
        let array = |i: usize| Arc::new(StringArray::from_iter_values(rows.iter().map(|r| r[i]))) as ArrayRef;
        let batch =
            RecordBatch::try_from_iter(columns.iter().enumerate().map(|(i, c)| (*c, array(i)))).unwrap();
        let file = File::create(self.path.join(name)).unwrap();
        let mut writer = parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    pub fn gzip(&self, content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path.join(name)).unwrap()
    }

    /// Runs the binary; returns exit code, standard output and standard error.
    pub fn run(&self, args: &str) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_matchrank"))
            .current_dir(&self.path)
            .args(args.split_whitespace())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().expect("not killed"), text(output.stdout), text(output.stderr))
    }

    /// Runs the binary with a text on its standard input.
    pub fn run_with(&self, args: &str, input: &str) -> (i32, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_matchrank"))
            .current_dir(&self.path)
            .args(args.split_whitespace())
            .write_stdin(input)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().expect("not killed"), text(output.stdout), text(output.stderr))
    }

    /// Returns the standard output of a run that must succeed.
    pub fn text(&self, args: &str) -> String {
        let (code, out, err) = self.run(args);
        assert_eq!(code, 0, "{args}\n{out}\n{err}");
        out
    }

    /// Returns the standard output of a run that must succeed as JSON.
    pub fn json(&self, args: &str) -> Value {
        serde_json::from_str(&self.text(args)).unwrap()
    }

    /// Returns the standard error of a run that must end with exit code 2.
    pub fn refused(&self, args: &str) -> String {
        let (code, out, err) = self.run(args);
        assert_eq!(code, 2, "{args}\n{out}\n{err}");
        err
    }

    /// Returns the names of the files and folders here, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.path.read_dir().unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Creates a dataset of shoppers who type "sneaker" and click shoes called "trainers", or type "lid" and click hats.
pub fn shop() -> Folder {
    let folder = Folder::new();
    let documents: String = (0..12)
        .map(|i| {
            let title = if i % 2 == 0 { "trainers for running" } else { "hat for the sun" };
            format!("d{i},{title} model{}\n", i / 2)
        })
        .collect();
    folder.write("docs.csv", format!("id,title\n{documents}"));
    let clicks: String = (0..60)
        .map(|i| {
            let query = ["sneaker", "lid", "cheap sneaker", "cheap lid"][i % 4];
            let document = (2 * (i / 4) + i % 2) % 12;
            format!("{query},d{document},{}\n", 1 + i % 3)
        })
        .collect();
    folder.write("log.csv", format!("query,document,clicks\n{clicks}"));
    folder.write("queries.tsv", "new1\tred sneaker\nnew2\tred lid\nnew3\tzebra\n");
    let qrels: String = (0..12)
        .flat_map(|d| (1..3).map(move |q| format!("new{q} 0 d{d} {}\n", u8::from(d % 2 == (q + 1) % 2))))
        .collect();
    folder.write("dev.qrels", &qrels);
    folder.json(
        "ingest --clicks log.csv --documents docs.csv --queries queries.tsv --judgments validation=dev.qrels \
         --judgments test=dev.qrels --out shop --format json --quiet",
    );
    folder
}

/// Joins the lines of a table's cell.
pub fn one_line(table: &str) -> String {
    table.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Waits until something has happened, two minutes at most.
pub fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let started = Instant::now();
    while !happened() {
        assert!(started.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
