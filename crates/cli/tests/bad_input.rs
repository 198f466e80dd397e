//! Bad input gives a message with file and line and exit code 2, and nothing is written.

mod matchrank;

use matchrank::{Folder, shop};

const DOCUMENTS: &str = "id,title\nd1,red shoes\nd2,blue shoes\n";
const LOG: &str = "query,document,clicks\nshoes,d1,2\nblue,d2,1\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("docs.csv", DOCUMENTS);
    folder.write("log.csv", LOG);
    folder.write("queries.tsv", "q1\tshoes\n");
    folder
}

/// Ingests with one file replaced; the error must contain `expected`, and nothing may be left behind.
fn refused(name: &str, content: impl AsRef<[u8]>, expected: &str) {
    let folder = folder();
    folder.write(name, content);
    let before = folder.names();
    let use_of = |default: &str| {
        let stem = default.split('.').next().unwrap();
        if name.starts_with(stem) { name.to_owned() } else { default.to_owned() }
    };
    let judgments =
        if name.ends_with(".qrels") { format!(" --judgments test={name}") } else { String::new() };
    let error = folder.refused(&format!(
        "ingest --clicks {} --documents {} --queries {}{judgments} --out data",
        use_of("log.csv"),
        use_of("docs.csv"),
        use_of("queries.tsv")
    ));
    assert!(error.contains(expected), "expected: {expected}\nfound: {error}");
    assert_eq!(folder.names(), before, "nothing is written");
}

#[test]
fn truncated_gzip() {
    let rows: String = (0..200_000).map(|i| format!("query {i},d1,1\n")).collect();
    let whole = Folder::new().gzip(format!("query,document,clicks\n{rows}").as_bytes());
    refused("log.csv.gz", &whole[..whole.len() / 2], "the compressed data is truncated or damaged");
    let documents: String = (0..50_000).map(|i| format!("x{i},title {i}\n")).collect();
    let whole = Folder::new().gzip(format!("id,title\n{documents}").as_bytes());
    refused(
        "docs.csv.gz",
        &whole[..whole.len() - 9],
        "docs.csv.gz:50002: the compressed data is truncated or damaged",
    );
}

#[test]
fn invalid_utf8() {
    refused(
        "log.csv",
        b"query,document,clicks\nshoes,d1,1\ncaf\xe9,d1,1\n",
        "log.csv:3: the text is not valid UTF-8",
    );
    refused("docs.csv", b"id,title\nd1,caf\xe9\n", "docs.csv:2: the text is not valid UTF-8");
}

#[test]
fn numbers_that_are_none() {
    refused(
        "log.csv",
        "query,document,clicks\nshoes,d1,NaN\n",
        "log.csv:2: clicks is NaN, which is not a usable number",
    );
    refused(
        "log.csv",
        "query,document,clicks\nshoes,d1,2\nblue,d1,-3\n",
        "log.csv:3: clicks is -3, which is negative",
    );
    refused(
        "log.csv",
        "query,document,clicks\nshoes,d1,two\n",
        "log.csv:2: clicks is 'two'; a number is expected",
    );
    refused("log.csv", "query,document,clicks,rank\nshoes,d1,2,first\n", "log.csv:2: position is 'first'");
    refused("log.csv", "query,document,time\nshoes,d1,soon\n", "log.csv:2: time is 'soon'; expected seconds");
}

#[test]
fn a_line_of_ten_megabytes() {
    let long = format!("query,document,clicks\nshoes,d1,1\n{},d1,1\n", "x".repeat(10 << 20));
    refused("log.csv", long, "log.csv:3: the record is longer than 8 MiB");
}

#[test]
fn columns_that_are_missing() {
    refused("log.csv", "query,clicks\nshoes,1\n", "log.csv:1: no column for the document");
    refused("log.csv", "a,b\nshoes,1\n", "the columns are a, b; name one with --column document=NAME");
    refused("log.csv", "query,document,clicks\nshoes,d1\n", "log.csv:2: 2 fields, where the header has 3");
    refused("docs.csv", "title,price\nshoes,1\n", "docs.csv:1: no column for the document");
    refused(
        "log.jsonl",
        "{\"query\": \"shoes\", \"document\": \"d1\"}\n{\"query\": \n",
        "log.jsonl:2: not valid JSON at column",
    );
    refused("log.jsonl", "[1]\n", "log.jsonl:1: a JSON object per line is expected");
    refused("log.parquet", "PAR1 not really", "log.parquet: is not a readable Parquet file");
}

#[test]
fn lines_are_counted_right_in_windows_files_and_after_blank_lines() {
    refused("log.csv", "query,document,clicks\r\nshoes,d1,1\r\nblue,d1,x\r\n", "log.csv:3: clicks is 'x'");
    refused("log.csv", "query,document,clicks\n\n\nshoes,d1,1\n\nblue,d1,x\n", "log.csv:6: clicks is 'x'");
    refused("log.csv", "query,document,clicks\n\"a\nb\",d1,1\nblue,d1,x\n", "log.csv:4: clicks is 'x'");
    refused(
        "log.tsv",
        "query\tdocument\tclicks\r\nshoes\td1\t1\r\nblue\td1\tx\r\n",
        "log.tsv:3: clicks is 'x'",
    );
}

#[test]
fn columns_that_are_named_must_be_there() {
    let folder = folder();
    let error =
        folder.refused("ingest --clicks log.csv --documents docs.csv --column query=serch --out data");
    assert!(
        error.contains("--column query=serch: no file has a column of that name; there are query, document"),
        "{error}"
    );
    let error = folder.refused("ingest --clicks log.csv --documents docs.csv --text titel --out data");
    assert!(error.contains("no column 'titel'"), "{error}");
}

#[test]
fn a_dataset_of_nothing_is_refused() {
    refused(
        "log.csv",
        "query,document\nshoes,x1\nblue,x2\n",
        "log.csv: no pair of a query and a document is left: these were left out: rows whose document is not in the collection: 2 (first: log.csv:2)",
    );
    refused(
        "log.csv",
        "query,document\n",
        "no pair of a query and a document is left: the files have no rows",
    );
    refused(
        "test.qrels",
        "q7 0 d1 1\n",
        "test.qrels: no test judgment is left: these were left out: judgments of queries",
    );
    let folder = folder();
    let error = folder.refused("ingest --clicks log.csv --documents docs.csv --min-clicks 100 --out data");
    assert!(error.contains("too few clicks"), "{error}");
    folder.write("once.csv", "query,document,time\nshoes,d1,2026-01-01\nblue,d1,2026-01-01\n");
    let error = folder.refused("ingest --clicks once.csv --documents docs.csv --split time --out data");
    assert!(error.contains("once.csv: the clicks have too few different times"), "{error}");
}

#[test]
fn pipes_are_refused_where_a_file_is_read_twice() {
    let error = folder().refused("ingest --clicks - --documents docs.csv --out data");
    assert!(error.contains("-: is a pipe"), "{error}");
}

#[test]
fn a_damaged_table_is_refused() {
    let folder = folder();
    folder.text("ingest --clicks log.csv --documents docs.csv --out data");
    let path = folder.path().join("data/queries.parquet");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(
        folder
            .refused("train bm25 --data data --out m")
            .contains("queries.parquet: was changed after it was written")
    );
    let (code, out, _) = folder.run("doctor data");
    assert!(code == 1 && out.contains("damaged-table"), "{out}");
}

#[test]
fn judgments_with_three_columns() {
    refused("test.qrels", "q1 0 d1 1\nq1 d1 1\n", "test.qrels:2: expected 4 columns");
    refused("test.qrels", "q1 0 d1 1\nq1 0 d2 NaN\n", "test.qrels:2: ");
    refused("test.qrels", "", "test.qrels: ");
    refused(
        "test.qrels",
        "query_id,document,grade\nq1,d1,1\nq1,d1,2\n",
        "test.qrels:3: the document d1 of the query q1 was judged on line 2",
    );
    refused("test.qrels", "query_id,document,grade\nq1,d1,good\n", "test.qrels:2: the grade is 'good'");
}

#[test]
fn ids_that_are_used_twice() {
    refused(
        "docs.csv",
        "id,title\nd1,red\nd2,blue\nd1,green\n",
        "docs.csv:4: the document id 'd1' was already used at docs.csv:2 with another text",
    );
    refused(
        "queries.tsv",
        "q1\tshoes\nq1\thats\n",
        "queries.tsv:2: the query id 'q1' was already used with another text",
    );
    refused("docs.csv", "id,title\nd 1,red\n", "docs.csv:2: the document id 'd 1' contains a blank");
    refused(
        "docs.csv",
        "id,title,title\nd1,red,blue\n",
        "docs.csv:1: the header names the column 'title' twice",
    );
}

#[test]
fn empty_files() {
    refused("log.csv", "", "log.csv:1: the file is empty");
    refused("docs.csv", "", "docs.csv:1: the file is empty");
    refused("docs.csv", "id,title\n", "docs.csv: holds no document");
    refused("queries.tsv", "\n\n", "queries.tsv:1: the file is empty");
}

#[test]
fn rows_that_cannot_be_used_are_counted_not_hidden() {
    let folder = folder();
    folder.write("log.csv", "query,document,clicks\nshoes,d1,2\n ,d1,1\nshoes,,1\nshoes,d9,4\nshoes,d2,0\n");
    let (code, out, err) =
        folder.run("ingest --clicks log.csv --documents docs.csv --out data --format json");
    assert_eq!(code, 0, "{err}");
    for note in [
        "left out rows without a query: 1 (first: log.csv:3)",
        "left out rows without a document: 1 (first: log.csv:4)",
        "left out rows whose document is not in the collection: 1 (first: log.csv:5)",
        "left out pairs without a click: 1 (first",
    ] {
        assert!(err.contains(note), "{note}\n{err}");
    }
    let manifest: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(manifest["left_out"]["rows without a query"], 1);
    assert_eq!(manifest["statistics"]["n_pairs"], 1);
}

#[test]
fn folders_and_models_that_are_none() {
    let folder = folder();
    let ingest = "ingest --clicks log.csv --documents docs.csv --out data";
    folder.text(ingest);
    assert!(folder.refused(ingest).contains("data: is already a dataset"), "not replaced without --force");
    folder.text(&format!("{ingest} --force"));
    std::fs::create_dir(folder.path().join("mine")).unwrap();
    folder.write("mine/thesis.txt", "precious");
    let error = folder.refused("ingest --clicks log.csv --documents docs.csv --out mine --force");
    assert!(error.contains("mine: exists and is not a dataset"), "{error}");
    assert_eq!(folder.read("mine/thesis.txt"), "precious");
    assert!(folder.refused("demo --out mine").contains("mine exists and is not a former demo"));
    assert!(folder.refused("train bm25 --data mine --out m").contains("mine: is not a dataset folder"));
    assert!(
        folder.refused("train bm25 --data data --set beta=1 --out m").contains("it has k1, b")
            || folder.refused("train bm25 --data data --set beta=1 --out m").contains("it has b, k1")
    );
    assert!(folder.refused("train bm25 --data data --set b=2 --out m").contains("b must be"));
    folder.text("train bm25 --data data --out m");
    assert!(folder.refused("rank --model m --data data --out run").contains("there are no test judgments"));
    assert!(folder.refused("rank --model docs.csv --data data --out run").contains("docs.csv"));
    folder.write("data/manifest.json", "{\"format_version\": 99}");
    assert!(folder.refused("train bm25 --data data --out m").contains("has format version 99"));
    assert!(
        folder
            .refused("ingest --clicks nowhere.csv --documents docs.csv --out x")
            .contains("nowhere.csv: there is no such file or folder; check the name")
    );
    assert!(folder.refused("ingest --documents docs.csv --out x").contains("nothing to learn from"));
    for judgments in ["dev.qrels test.qrels", "validation=dev.qrels,test=test.qrels"] {
        let error = folder.refused(&format!(
            "ingest --clicks log.csv --documents docs.csv --judgments {judgments} --out x"
        ));
        assert!(error.contains("--judgments validation=FILE --judgments test=FILE"), "{error}");
    }
    let several = "--judgments validation=nodev.qrels test=notest.qrels";
    let error = folder.refused(&format!("ingest --clicks log.csv --documents docs.csv {several} --out x"));
    assert!(error.contains("nodev.qrels: there is no such file"), "{error}");
}

#[test]
fn errors_name_the_file_that_they_are_about() {
    let folder = shop();
    folder.write("lists.txt", "1 qid:1 1:1 # docid = = d2\n0 qid:1 1:0\n1 qid:2 1:1\n0 qid:2 1:0\n");
    folder.text("train perceptron --letor lists.txt --out perceptron.model");
    let error = folder.refused("rank --model perceptron.model --letor lists.txt --out run");
    assert!(error.contains("lists.txt: the id \"= d2\" has a blank"), "{error}");
    folder.write("high.qrels", "new1 0 d1 1e9\n");
    folder.write("one.run", "new1 Q0 d1 1 1 x\n");
    let error = folder.refused("eval --qrels high.qrels --run one.run");
    assert!(error.contains("high.qrels: the grade of document d1 for query new1 is 1000000000"), "{error}");
    let name = "x".repeat(300);
    folder.write("long.toml", format!("[[model]]\nname = \"{name}\"\nkind = \"ranksvm\"\n"));
    for i in 1..=3 {
        folder.write(&format!("fold{i}.txt"), format!("1 qid:{i} 1:1\n0 qid:{i} 1:0\n"));
    }
    let error =
        folder.refused("compare --letor fold1.txt fold2.txt fold3.txt --plan long.toml --out comparison");
    assert!(error.contains("long.toml: the name xxxx") && error.contains("too long"), "{error}");
    folder.text("compare --data shop --models bm25 --trials 1 --out comparison");
    folder.write("notes.csv", folder.read("docs.csv").replacen("title", "note", 1));
    folder.text("ingest --clicks log.csv --documents notes.csv --text note --out other");
    folder.text("train bm25 --data other --out comparison/models/bm25.model");
    let error = folder.refused("report comparison --data shop");
    assert!(error.contains("bm25.model: the model reads the text field 'note'"), "{error}");
}
