//! From files with frictions to datasets.

use std::path::PathBuf;

use matchrank_core::progress::{Notes, Silent};
use matchrank_core::{Error, Result};

use super::*;
use crate::dataset::{Clicks, Dataset, HeldOut};
use crate::doctor;

/// A folder of files and of the datasets made from them.
pub(super) struct Files(pub(super) tempfile::TempDir);

impl Files {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(super) fn ingest(&self, params: &IngestParams) -> Result<Dataset> {
        let out = self.0.path().join("data");
        ingest(params, &out, true, &Silent)?;
        Dataset::open(&out)
    }

    pub(super) fn refused(&self, params: &IngestParams) -> String {
        self.ingest(params).err().map(|error: Error| error.to_string()).expect("refused")
    }
}

/// Query text, document id and response of every training pair.
pub(super) fn pairs(dataset: &Dataset) -> Vec<(String, String, f32)> {
    let (queries, documents) = (dataset.queries().unwrap(), dataset.document_ids().unwrap());
    let pair = |r: &crate::dataset::Response| {
        (queries[r.query as usize].text.clone(), documents[r.document as usize].clone(), r.response)
    };
    let mut pairs: Vec<_> = dataset.responses().unwrap().iter().map(pair).collect();
    pairs.sort_by(|a, b| a.partial_cmp(b).unwrap());
    pairs
}

pub(super) fn pair(query: &str, document: &str, response: f32) -> (String, String, f32) {
    (query.to_owned(), document.to_owned(), response)
}

fn column(file: &str, role: Role, column: &str) -> FileColumn {
    FileColumn { file: file.into(), role, column: column.into() }
}

#[test]
fn columns_are_named_for_one_file() {
    let files = Files::new();
    let mut params = IngestParams {
        // In the first log `typed` is the query and `query` a trap; in the second it is the other way round.
        clicks: vec![
            files.write("a/log.csv", "typed,query,sku\nred,x,d1\n"),
            files.write("b/other.csv", "typed,query,sku\nx,blue,d2\n"),
        ],
        documents: vec![files.write("docs.csv", "sku,code,title\nx1,d1,red shoe\nx2,d2,blue shoe\n")],
        file_columns: vec![
            column("log.csv", Role::Query, "typed"),
            column("docs.csv", Role::Document, "code"),
        ],
        ..IngestParams::default()
    };
    let expected = [pair("blue", "d2", 1.0), pair("red", "d1", 1.0)];
    assert_eq!(pairs(&files.ingest(&params).unwrap()), expected);
    // By path, and before a column that is named for all files.
    params.file_columns[0].file = files.0.path().join("a/../a/log.csv");
    params.columns.insert(Role::Query, "query".into());
    assert_eq!(pairs(&files.ingest(&params).unwrap()), expected);

    for (choice, expected) in [
        (column("missing.csv", Role::Query, "typed"), "no input file has that name; the files are "),
        (
            column("log.csv", Role::Query, "tiped"),
            "there is no column 'tiped'; the columns are typed, query, sku",
        ),
        (column("docs.csv", Role::Clicks, "code"), "the roles of this file are document"),
        (column("log.csv", Role::Query, "query"), "the role has the column 'typed' already"),
    ] {
        let mut params = params.clone();
        params.file_columns.push(choice);
        let error = files.refused(&params);
        assert!(error.contains(expected), "{expected}: {error}");
    }
    params.clicks[1] = files.write("b/log.csv", "typed,query,sku\nx,blue,d2\n");
    params.file_columns[0].file = "log.csv".into();
    let error = files.refused(&params);
    assert!(error.contains("several input files have that name") && error.contains("b/log.csv"), "{error}");
}

#[test]
fn formats_with_fixed_columns_refuse_names_for_them() {
    let files = Files::new();
    let events = "{\"action_name\": \"click\", \"query_id\": \"s\", \"user_query\": \"red\", \"object_id\": \"d1\", \
                  \"timestamp\": \"2026-01-01\"}\n";
    let mut params = IngestParams {
        clicks: vec![files.write("events.jsonl", events)],
        documents: vec![files.write("docs.tsv", "d1\tred shoe\n")],
        ..IngestParams::default()
    };
    files.ingest(&params).unwrap();
    params.file_columns = vec![column("events.jsonl", Role::Document, "object_id")];
    let error = files.refused(&params);
    assert!(error.contains("events of User Behavior Insights, whose columns are fixed"), "{error}");
}

#[test]
fn escaped_quotes_are_recognised_or_said() {
    let files = Files::new();
    let documents = |rows: &str| files.write("docs.csv", format!("id,title,body\n{rows}"));
    let log = files.write("log.csv", "query,document\nred,d1\n");
    let params = |documents| IngestParams {
        clicks: vec![log.clone()],
        documents: vec![documents],
        ..Default::default()
    };
    let texts = |dataset: &Dataset| {
        let mut texts = Vec::new();
        dataset
            .for_each_documents(|documents| {
                texts.extend(
                    (0..documents.len())
                        .map(|i| format!("{}|{}", documents.text(i, 0), documents.text(i, 1))),
                );
                Ok(())
            })
            .unwrap();
        texts
    };
    let escaped = "d1,\"a \\\"red, wide\\\" shoe\",\"C:\\\\x\"\nd2,red\\, blue,\\N\n";
    let dataset = files.ingest(&params(documents(escaped))).unwrap();
    assert_eq!(texts(&dataset), ["a \"red, wide\" shoe|C:\\x", "red, blue|"]);
    assert!(dataset.manifest.sources[0].remarks[0].contains("backslashes"));
    assert!(dataset.manifest.sources[1].remarks.is_empty());
    let forced = IngestParams { csv_escape: CsvEscape::Backslash, ..params(documents(escaped)) };
    assert_eq!(texts(&files.ingest(&forced).unwrap()), texts(&dataset));
    let refused = IngestParams { csv_escape: CsvEscape::Double, ..params(documents(escaped)) };
    assert!(files.refused(&refused).contains("docs.csv:2: a quote inside a cell has a backslash"));

    let doubled = "d1,\"a \"\"red, wide\"\" shoe\",\"C:\\\"\nd2,\"red, blue\",x\n";
    let dataset = files.ingest(&params(documents(doubled))).unwrap();
    assert_eq!(texts(&dataset), ["a \"red, wide\" shoe|C:\\", "red, blue|x"]);
    assert!(dataset.manifest.sources[0].remarks.is_empty());
}

#[test]
fn files_that_mix_escapes_are_refused_with_the_line() {
    let files = Files::new();
    let log = files.write("log.csv", "query,document\nred,d1\n");
    let padding: String = (0..200_000).map(|i| format!("p{i},plain text\n")).collect();
    let (doubled, backslash) = ("d1,\"a \"\"red\"\" shoe\"\n", "d2,\"a \\\"blue\\\" shoe\"\n");
    for (rows, expected) in [
        (format!("{doubled}{backslash}"), ":3: a quote inside a cell has a backslash before it"),
        (
            format!("{doubled}{padding}{backslash}"),
            ":200003: a quote inside a cell has a backslash before it",
        ),
        (format!("{backslash}{doubled}"), ":2: a quote inside a cell has a backslash before it"),
        (format!("{backslash}{padding}{doubled}"), ":200003: a quote inside a cell is doubled"),
    ] {
        let params = IngestParams {
            clicks: vec![log.clone()],
            documents: vec![files.write("docs.csv", format!("id,title\n{rows}"))],
            ..IngestParams::default()
        };
        let error = files.refused(&params);
        assert!(error.contains(expected) && error.contains("option `csv-escape`"), "{expected}: {error}");
    }
}

/// Documents skipped for a query, and clicked documents with positions.
fn positions(dataset: &Dataset) -> (usize, usize) {
    (dataset.skipped().unwrap().len(), dataset.clicked_positions().unwrap().len())
}

#[test]
fn average_positions_make_no_skipped_documents() {
    let files = Files::new();
    let documents = files.write("docs.tsv", "d1\tred\nd2\tblue\nd3\tgreen\n");
    let header = "query,page,clicks,impressions,position\n";
    let rows = |third: &str| format!("{header}shoes,d1,0,10,1\nshoes,d2,4,9,2\nshoes,d3,0,7,{third}\n");
    let params = |clicks: Vec<PathBuf>| IngestParams {
        clicks,
        documents: vec![documents.clone()],
        columns: NamedColumns::from([(Role::Document, "page".into())]),
        ..IngestParams::default()
    };
    let single = files.write("single.csv", rows("3"));
    let dataset = files.ingest(&params(vec![single.clone()])).unwrap();
    assert_eq!(positions(&dataset), (2, 1));
    assert!(dataset.manifest.sources[1].remarks.is_empty());

    let averages = files.write("averages.csv", rows("3.4"));
    let dataset = files.ingest(&params(vec![averages.clone()])).unwrap();
    assert_eq!(positions(&dataset), (0, 0), "a fraction makes all positions of the file averages");
    assert_eq!(pairs(&dataset), [pair("shoes", "d2", 4.0)]);
    assert_eq!(
        dataset.manifest.sources[1].remarks,
        ["positions are averages, so no document counts as skipped"]
    );

    // Beside a log of single impressions, the positions of that log count as if it were alone.
    for logs in [vec![single.clone(), averages.clone()], vec![averages, single]] {
        let dataset = files.ingest(&params(logs)).unwrap();
        assert_eq!(positions(&dataset), (2, 1));
        assert_eq!(pairs(&dataset), [pair("shoes", "d2", 8.0)]);
        assert_eq!(dataset.clicked_positions().unwrap()[0].position, 2.0);
    }
    // A fraction that comes late changes what was read before.
    let many: String =
        (0..100_000).map(|i| format!("query {},d{},1,3,{}\n", i % 999, 1 + i % 3, 1 + i % 7)).collect();
    let late = files.write("late.csv", format!("{header}{many}shoes,d1,0,10,1.5\n"));
    let dataset = files.ingest(&params(vec![late])).unwrap();
    assert_eq!(positions(&dataset), (0, 0));
    assert_eq!(dataset.manifest.statistics.n_clicks, 100_000.0);
    assert_eq!(dataset.manifest.sources[1].rows, 100_001);

    for wrong in ["-1.5", "NaN", "2,4", "first", "0.5"] {
        let bad = files.write("bad.csv", format!("{header}shoes,d1,0,10,\"{wrong}\"\n"));
        let error = files.refused(&params(vec![bad]));
        assert!(error.contains("bad.csv:2: position is"), "{wrong}: {error}");
    }
}

/// A log that counts positions from 0 can be learned from.
#[test]
fn positions_may_start_at_0() {
    let files = Files::new();
    let params = IngestParams {
        clicks: vec![
            files
                .write("log.csv", "query,document,clicks,position\nq,d1,0,0\nq,d2,1,1\nr,d1,1,0\nr,d2,0,1\n"),
        ],
        documents: vec![files.write("docs.tsv", "d1\tred\nd2\tblue\n")],
        ..IngestParams::default()
    };
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(positions(&dataset), (2, 2));
    doctor::examine(&[dataset.folder()], None, &Silent).unwrap();
}

#[test]
fn lost_zeros_are_named_and_never_repaired() {
    let files = Files::new();
    let mut params = IngestParams {
        clicks: vec![
            files.write("log.csv", "query,document\nred,123\nred,123\nblue,77\nblue,00123\ngreen,nine\n"),
        ],
        documents: vec![files.write("docs.tsv", "00123\tred\n0077\tblue\n9\tgreen\n")],
        queries: vec![files.write("queries.tsv", "01\tred\n")],
        judgments: vec![(Holdout::Test, files.write("qrels", "01 0 123 1\n1 0 9 1\n01 0 9 1\n"))],
        ..IngestParams::default()
    };
    let notes = Notes::default();
    let out = files.0.path().join("data");
    let manifest = ingest(&params, &out, true, &notes).unwrap();
    let dataset = Dataset::open(&out).unwrap();
    assert_eq!(pairs(&dataset), [pair("blue", "00123", 1.0)]);
    assert_eq!(dataset.judgments(Holdout::Test).unwrap().len(), 1);
    let sentences: Vec<String> = manifest.lost_zeros.iter().map(LostZeros::sentence).collect();
    assert_eq!(
        sentences,
        [
            "log.csv: 3 rows have a document id that differs from a known one by leading zeros alone \
             (123 here, 00123 there; 77 here, 0077 there)",
            "qrels: 1 row has a document id that differs from a known one by leading zeros alone (123 here, 00123 there)",
            "qrels: 1 row has a query id that differs from a known one by leading zeros alone (1 here, 01 there)",
        ]
    );
    let notes = notes.take();
    assert!(
        sentences.iter().all(|sentence| notes.iter().any(|note| note.starts_with(sentence))),
        "{notes:?}"
    );
    assert!(
        notes.iter().any(|note| note.contains("a spreadsheet or a program may have read the ids as numbers"))
    );
    let reports = doctor::examine(&[&out], None, &Silent).unwrap();
    let found: Vec<_> = reports[0].findings.iter().filter(|f| f.code == "lost-leading-zeros").collect();
    assert_eq!(found.iter().map(|f| &f.message).collect::<Vec<_>>(), sentences.iter().collect::<Vec<_>>());
    assert!(found.iter().all(|f| f.severity == doctor::Severity::Warning && f.fix.contains("ids as text")));

    // If nothing else is left, the error says so.
    params.clicks = vec![files.write("log.csv", "query,document\nred,123\n")];
    params.judgments.clear();
    let error = files.refused(&params);
    assert!(error.contains("(123 here, 00123 there)") && error.contains("ids as text"), "{error}");
}

/// Every reader of responses sees the same data with and without grades of 0.
#[test]
fn grades_of_0_are_kept_and_are_no_responses() {
    let files = Files::new();
    let documents = files.write("docs.tsv", "d1\tred shoe\nd2\tblue shoe\nd3\tgreen hat\nd4\told hat\n");
    let queries = files.write("queries.tsv", "q1\tshoe\nq2\that\nq3\tboot\nq4\tshoe\n");
    let test = files.write("test.qrels", "q1 0 d1 1\nq1 0 d3 1\nq3 0 d4 1\nq2 0 d2 1\n");
    let with = "q1 0 d1 2\nq1 0 d2 1\nq1 0 d3 0\nq2 0 d3 1\nq2 0 d2 -1\nq3 0 d4 0\nq4 0 d1 0\nq4 0 d4 0\n";
    let without: String = with
        .lines()
        .filter(|line| !line.ends_with(['0']))
        .filter(|line| !line.ends_with("-1"))
        .map(|line| format!("{line}\n"))
        .collect();
    let made = |name: &str, responses: &str| {
        let params = IngestParams {
            responses: vec![files.write("train.qrels", responses)],
            documents: vec![documents.clone()],
            queries: vec![queries.clone()],
            judgments: vec![(Holdout::Test, test.clone())],
            ..IngestParams::default()
        };
        let out = files.0.path().join(name);
        ingest(&params, &out, false, &Silent).unwrap();
        Dataset::open(&out).unwrap()
    };
    let (with, without) = (made("with", with), made("without", &without));
    let ids = |dataset: &Dataset| {
        let (queries, documents) = (dataset.queries().unwrap(), dataset.document_ids().unwrap());
        let id = |n: &crate::dataset::Negative| {
            format!("{} {}", queries[n.query as usize].id, documents[n.document as usize])
        };
        let mut ids: Vec<String> = dataset.negatives().unwrap().iter().map(id).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&with), ["q1 d3", "q2 d2", "q3 d4", "q4 d1", "q4 d4"]);
    assert_eq!(ids(&without), [""; 0]);

    // All tables but that of the negatives, and all counts but their number.
    let mut tables = with.manifest.tables.clone();
    assert_eq!(tables.remove(crate::dataset::NEGATIVES).unwrap().rows, 5);
    assert_eq!(tables, without.manifest.tables);
    let mut statistics = with.manifest.statistics.clone();
    assert_eq!(std::mem::take(&mut statistics.n_negatives), 5);
    assert_eq!(statistics, without.manifest.statistics);
    assert_eq!(with.manifest.left_out, without.manifest.left_out);
    assert!(with.responses().unwrap().iter().all(|response| response.response > 0.0));
    // The click graph, seen queries, and what the doctor says of leaks.
    let graph = |dataset: &Dataset| Clicks::of(dataset).unwrap().into_by_query();
    assert_eq!(graph(&with), graph(&without));
    let seen = |dataset: &Dataset| HeldOut::of(dataset, Holdout::Test).unwrap().clicks;
    assert_eq!(seen(&with), seen(&without));
    assert_eq!(seen(&with), [3.0, 1.0, 0.0], "q3 has a grade of 0 alone, and is unseen");
    let findings = |dataset: &Dataset| doctor::examine(&[dataset.folder()], None, &Silent).unwrap().remove(0);
    assert_eq!(findings(&with).findings, findings(&without).findings);
    assert!(findings(&with).summary.ends_with("3 pairs in training, 5 pairs with grade 0"));
}

#[test]
fn grades_of_0_alone_are_nothing_to_learn_from() {
    let files = Files::new();
    let params = IngestParams {
        responses: vec![files.write("train.qrels", "q1 0 d1 0\n")],
        documents: vec![files.write("docs.tsv", "d1\tred shoe\n")],
        queries: vec![files.write("queries.tsv", "q1\tshoe\n")],
        ..IngestParams::default()
    };
    let error = files.refused(&params);
    assert!(error.contains("no pair of a query and a document is left: 1 pair has grade 0"), "{error}");
}

#[test]
fn datasets_remember_whether_accents_are_folded() {
    let files = Files::new();
    let mut params = IngestParams {
        clicks: vec![files.write("log.csv", "query,document\ncafé,d1\ncafe,d1\n")],
        documents: vec![files.write("docs.tsv", "d1\tCafé Müller\n")],
        ..IngestParams::default()
    };
    let words = |dataset: &Dataset| {
        let vocabulary = dataset.vocabulary().unwrap();
        let mut words: Vec<String> = vocabulary.iter().map(|(word, ..)| word.to_owned()).collect();
        words.sort();
        words
    };
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(words(&dataset), ["cafe", "muller"]);
    assert_eq!(dataset.manifest.statistics.n_queries, 2, "queries stay as they were typed");
    let folded = dataset.manifest.content_hash.clone();
    params.analyser.fold_accents = false;
    let dataset = files.ingest(&params).unwrap();
    assert_eq!(words(&dataset), ["cafe", "café", "müller"]);
    assert_ne!(dataset.manifest.content_hash, folded);
}
