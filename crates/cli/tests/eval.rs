//! `matchrank eval` as a user sees it: tables, JSON, CSV, and every error message.

use std::io::Write;
use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;

const QRELS: &str = "\
q1 0 a 3\nq1 0 b 1\nq1 0 c 0\nq2 0 a 2\nq2 0 d 0\nq3 0 b 1\nq3 0 c 2\nq4 0 a 0\nq5 0 e 1\n";
const GOOD: &str = "\
q1 Q0 a 1 3.5 good\nq1 Q0 b 2 2.5 good\nq1 Q0 c 3 1.5 good\nq2 Q0 a 1 9 good\nq2 Q0 d 2 8 good\n\
q3 Q0 c 1 2 good\nq3 Q0 b 2 1 good\nq4 Q0 a 1 1 good\nq5 Q0 e 1 1 good\n";
const BAD: &str = "\
q1 Q0 c 1 3 bad\nq1 Q0 x 2 2 bad\nq1 Q0 b 3 1 bad\nq2 Q0 d 1 1 bad\nq2 Q0 a 2 1 bad\n\
q3 Q0 y 1 5 bad\nq3 Q0 b 2 4 bad\nq4 Q0 z 1 1 bad\nq9 Q0 z 1 1 bad\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("test.qrels", QRELS);
        folder.write("good.run", GOOD);
        folder.write("bad.run", BAD);
        folder
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Runs `matchrank eval`; returns exit code, standard output and standard error.
    fn eval(&self, args: &str) -> (i32, String, String) {
        let output = Command::cargo_bin("matchrank")
            .unwrap()
            .current_dir(&self.0)
            .arg("eval")
            .args(args.split_whitespace())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn ok(&self, args: &str) -> String {
        let (code, stdout, stderr) = self.eval(args);
        assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
        stdout
    }

    fn json(&self, args: &str) -> Value {
        serde_json::from_str(&self.ok(&format!("{args} --format json"))).unwrap()
    }

    fn error(&self, args: &str) -> String {
        let (code, stdout, stderr) = self.eval(args);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        stderr
    }
}

#[test]
fn table() {
    let folder = Folder::new();
    insta::assert_snapshot!(folder.ok("--qrels test.qrels --run good.run --measures ndcg@10,map,mre"));
    insta::assert_snapshot!(
        "two_runs",
        folder.ok(
            "--qrels test.qrels --run good.run bad.run --measures ndcg@3,map,mrr --level 0.3 --dialect trec"
        )
    );
}

#[test]
fn markdown_with_bins_and_queries() {
    let folder = Folder::new();
    folder.write("bins.tsv", "q1\tseen often\nq2\tseen often\nq3\tunseen\n");
    insta::assert_snapshot!(
        folder.ok("--qrels test.qrels --run good.run bad.run --measures map --bins bins.tsv --per-query \
         --significance none --format markdown")
    );
}

#[test]
fn json_keeps_its_contract() {
    let folder = Folder::new();
    let result = folder.json("--qrels test.qrels --run good.run bad.run --measures nDCG@10,map --per-query");
    assert_eq!(result["dialect"], "matchrank");
    assert_eq!(result["queries"], 4);
    assert_eq!(result["runs"][0]["name"], "good");
    assert_eq!(result["runs"][0]["measures"]["ndcg@10"], 1.0);
    let map = result["runs"][1]["measures"]["map"].as_f64().unwrap();
    // q1: (1/3)/2; q2: a tie of two, one of the two orders; q3: (1/2)/2; q5 missing: 0
    let either = [1.0, 0.5].map(|q2| (1.0 / 6.0 + q2 + 0.25) / 4.0);
    assert!(either.iter().any(|e| (map - e).abs() < 1e-12), "{map}");
    assert_eq!(result["runs"][0]["per_query"]["q1"]["map"], 1.0);
    assert_eq!(result["runs"][0]["per_query"]["q4"], Value::Null);
    assert_eq!(result["audit"]["judged_queries"], 5);
    assert_eq!(result["audit"]["queries_without_relevant"], 1);
    assert_eq!(result["runs"][1]["audit"]["queries_missing"], 1);
    assert_eq!(result["runs"][1]["audit"]["queries_unjudged"], 1);
    assert_eq!(result["runs"][1]["audit"]["deciding_ties"], 1);
    let pair = &result["significance"]["comparisons"][0];
    assert_eq!((&pair["better"], &pair["worse"]), (&Value::from("good"), &Value::from("bad")));
    assert_eq!(result["conventions"]["gain"], "exp");
}

#[test]
fn csv_by_run_bin_and_query() {
    let folder = Folder::new();
    folder.write("bins.tsv", "q1\tseen\nq2\tseen\nq3\tunseen\n");
    let base = "--qrels test.qrels --run good.run --measures mrr,rbp(p=0.5,rel=2) --format csv";
    assert_eq!(folder.ok(base), "run,queries,mrr,\"rbp(p=0.5,rel=2)\"\ngood,4,1,0.375\n");
    assert_eq!(
        folder.ok(&format!("{base} --bins bins.tsv")),
        "run,bin,queries,mrr,\"rbp(p=0.5,rel=2)\"\ngood,(all),4,1,0.375\ngood,seen,2,1,0.5\n\
         good,unseen,1,1,0.5\ngood,(none),1,1,0\n"
    );
    assert_eq!(
        folder.ok(&format!("{base} --bins bins.tsv --per-query")),
        "run,bin,query,mrr,\"rbp(p=0.5,rel=2)\"\ngood,seen,q1,1,0.5\ngood,seen,q2,1,0.5\n\
         good,unseen,q3,1,0.5\ngood,,q5,1,0\n"
    );
}

#[test]
fn dialects_and_flags_change_the_figures() {
    let folder = Folder::new();
    let mrr = |flags: &str| {
        let result = folder.json(&format!("--qrels test.qrels --run bad.run --measures map {flags}"));
        result["runs"][0]["measures"]["map"].as_f64().unwrap()
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    // trec: q5 is left out, q4 counts 0, the tie of q2 puts d before a
    close(mrr("--dialect trec"), (1.0 / 6.0 + 0.5 + 0.25) / 4.0);
    close(mrr("--dialect trec --complete"), (1.0 / 6.0 + 0.5 + 0.25) / 5.0);
    close(mrr("--dialect ranx"), (1.0 / 6.0 + 0.5 + 0.25) / 5.0);
    close(mrr("--dialect ranx --ties best"), (1.0 / 6.0 + 1.0 + 0.25) / 5.0);
    // lightgbm: relevant documents that the run lacks are unknown; nothing relevant counts 1
    close(mrr("--dialect lightgbm"), (1.0 / 3.0 + 0.5 + 0.5 + 1.0) / 4.0);
    close(mrr("--dialect sklearn"), (1.0 / 3.0 + 0.5 + 0.5 + 0.0) / 4.0);
}

#[test]
fn compressed_files_and_names_that_clash() {
    let folder = Folder::new();
    let gz = |name: &str, text: &str| {
        let file = std::fs::File::create(folder.0.path().join(name)).unwrap();
        let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        gz.write_all(text.as_bytes()).unwrap();
        gz.finish().unwrap();
    };
    gz("test.qrels.gz", QRELS);
    gz("good.run.gz", GOOD);
    let result = folder.json("--qrels test.qrels.gz --run good.run.gz good.run bad.run --measures map");
    let names: Vec<&str> =
        result["runs"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["good.run.gz", "good.run", "bad"]);
    assert_eq!(result["runs"][0]["measures"], result["runs"][1]["measures"]);
    let whole = std::fs::read(folder.0.path().join("good.run.gz")).unwrap();
    folder.write("cut.run.gz", &whole[..whole.len() / 2]);
    let error = folder.error("--qrels test.qrels --run cut.run.gz");
    assert!(error.starts_with("error: cut.run.gz: the compressed data is truncated"), "{error}");
}

#[test]
fn labels_of_a_letor_file_are_judgments() {
    let folder = Folder::new();
    folder
        .write("x.letor", "2 qid:1 1:0.5 # docid = A\n0 qid:1 1:0.1 # docid = B\n1 qid:2 1:1\n0 qid:2 1:0\n");
    folder.write("x.run", "1 Q0 B 1 2 t\n1 Q0 A 2 1 t\n2 Q0 3 1 2 t\n2 Q0 4 2 1 t\n");
    let result = folder.json("--letor x.letor --run x.run --measures mrr --per-query");
    assert_eq!(result["runs"][0]["per_query"], serde_json::json!({"1": {"mrr": 0.5}, "2": {"mrr": 1.0}}));
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = Folder::new();
    let args = "--qrels test.qrels --run good.run bad.run --significance fisher --per-query --format json";
    let one = folder.ok(&format!("{args} --threads 1"));
    assert_eq!(one, folder.ok(&format!("{args} --threads 3")));
}

#[test]
fn errors_name_file_and_line_and_exit_with_2() {
    let folder = Folder::new();
    let cases: [(&str, &[u8], &str); 7] = [
        ("three.qrels", b"q1 0 a 1\nq1 a 1\n", "error: three.qrels:2: expected 4 columns"),
        ("grade.qrels", b"q1 0 a high\n", "error: grade.qrels:1: the grade `high` (column 4)"),
        (
            "twice.qrels",
            b"q1 0 a 1\nq1 0 a 0\n",
            "error: twice.qrels:2: document a is already judged for query q1 on line 1",
        ),
        ("latin.qrels", b"q1 0 a 1\nq1 0 \xe9 1\n", "error: latin.qrels:2: the line is not UTF-8"),
        ("empty.qrels", b"", "error: empty.qrels: the file holds no judgment"),
        ("inf.qrels", b"q1 0 a inf\n", "error: inf.qrels:1: the grade `inf` (column 4)"),
        (
            "other.qrels",
            b"x1 0 a 1\n",
            "error: good.run: has 5 queries, none of them judged in other.qrels; check that both files use the same query ids",
        ),
    ];
    for (name, content, message) in cases {
        folder.write(name, content);
        let error = folder.error(&format!("--qrels {name} --run good.run"));
        assert!(error.starts_with(message), "{error}");
    }
    let cases: [(&str, &[u8], &str); 5] = [
        ("five.run", b"q1 Q0 a 1 1\n", "error: five.run:1: expected 6 columns"),
        (
            "nan.run",
            b"q1 Q0 a 1 1 t\nq1 Q0 b 1 NaN t\n",
            "error: nan.run:2: the score `NaN` (column 5) is not a number",
        ),
        (
            "twice.run",
            b"q1 Q0 a 1 1 t\nq2 Q0 a 1 1 t\nq1 Q0 a 1 2 t\n",
            "error: twice.run:3: document a is already ranked for query q1 on line 1",
        ),
        ("latin.run", b"q1 Q0 \xe9 1 1 t\n", "error: latin.run:1: the line is not UTF-8"),
        ("empty.run", b"\n\n", "error: empty.run: the file holds no ranked document"),
    ];
    for (name, content, message) in cases {
        folder.write(name, content);
        let error = folder.error(&format!("--qrels test.qrels --run {name}"));
        assert!(error.starts_with(message), "{error}");
    }
    let long = [b"q1 Q0 ".as_slice(), &vec![b'x'; 10 << 20], b" 1\n"].concat();
    folder.write("long.run", long);
    assert!(
        folder
            .error("--qrels test.qrels --run long.run")
            .starts_with("error: long.run:1: expected 6 columns")
    );
}

#[test]
fn errors_of_usage_exit_with_2() {
    let folder = Folder::new();
    let base = "--qrels test.qrels --run good.run";
    for (flags, message) in [
        ("--measures foo", "unknown measure `foo`; known measures: ndcg@k, map"),
        ("--measures p", "`p` needs a cut-off, for example `p@10`"),
        ("--dialect sklearn --measures mrr", "`mrr` is not defined with averaged ties"),
        ("--dialect trek", "unknown dialect `trek`; known dialects: matchrank, trec"),
        ("--level 2", "expected a number between 0 and 1"),
        ("--bins absent.tsv", "absent.tsv: there is no such file or folder"),
        ("--letor x", "cannot be used with"),
    ] {
        let error = folder.error(&format!("{base} {flags}"));
        assert!(error.contains(message), "{flags}: {error}");
    }
    assert!(folder.error("--run good.run").contains("<--qrels <FILE>|--letor <FILE>...|--data <DATASET>>"));
    assert!(folder.error("--qrels test.qrels").contains("--run <FILE>..."));
    assert!(folder.error("--qrels test.qrels --run none.run").contains("none.run: there is no such file"));
}

#[test]
fn byte_order_marks_are_skipped_and_huge_grades_refused() {
    let folder = Folder::new();
    folder.write("mark.qrels", format!("\u{feff}{QRELS}"));
    folder.write("mark.run", format!("\u{feff}{GOOD}"));
    let plain = folder.ok("--qrels test.qrels --run good.run --format csv").replace("good", "mark");
    assert_eq!(folder.ok("--qrels mark.qrels --run mark.run --format csv"), plain);
    folder.write("clicks.qrels", "q1 0 a 5000\nq1 0 b 1\n");
    let (code, _, error) = folder.eval("--qrels clicks.qrels --run good.run");
    assert!(code == 2 && error.contains("computes 2^grade"), "{error}");
    folder.ok("--qrels clicks.qrels --run good.run --measures ndcg(gain=linear)@10");
    let (code, _, error) = folder.eval("--qrels test.qrels --run good.run --by seen");
    assert!(code == 2 && error.contains("--by needs --data"), "{error}");
}
