//! `matchrank doctor` as a user sees it: a small file per finding, and real data if it is present.
#![allow(clippy::print_stderr)]

use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// Runs the doctor on files with this content; returns exit code and output.
fn doctor(files: &[(&str, &[u8])], flags: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_matchrank"))
        .current_dir(folder.path())
        .arg("doctor")
        .args(flags)
        .args(files.iter().map(|(name, _)| name))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

/// Checks the exit code and the output for one file.
macro_rules! assert_doctor {
    ($name:literal, $content:expr) => {
        let (code, text) = doctor(&[($name, $content.as_ref())], &[]);
        insta::assert_snapshot!(format!("exit code {code}\n{text}"));
    };
}

#[test]
fn letor_clean() {
    assert_doctor!(
        "a.txt",
        "0 qid:1 1:0.5 2:1\n2 qid:1 1:0.25 2:3\n1 qid:1 1:1 2:4\n1 qid:2 1:2 2:1\n0 qid:2 1:3 2:1.5\n"
    );
}

#[test]
fn letor_malformed_lines() {
    assert_doctor!(
        "a.txt",
        "1 qid:1 1:1 2:5\nx qid:1 1:1\n0 1:1\n-1 qid:1 1:1\n1 qid:1 1:nan\n1 qid:1 2:1 2:2\n0 qid:1 0:3\n\
         # a comment\n1 qid:1 1:NULL\n0 qid:1 1:2 2:3\n"
    );
}

#[test]
fn letor_scattered() {
    assert_doctor!("a.txt", "0 qid:1 1:1\n0 qid:2 1:2\n1 qid:1 1:3\n1 qid:2 1:4\n");
}

#[test]
fn letor_label_gap() {
    assert_doctor!("a.txt", "0 qid:1 1:1\n2 qid:1 1:2\n4 qid:1 1:3\n");
}

#[test]
fn letor_one_label() {
    assert_doctor!("a.txt", "1 qid:1 1:1\n1 qid:1 1:2\n");
}

#[test]
fn letor_fractional_label() {
    assert_doctor!("a.txt", "0.5 qid:1 1:1\n1 qid:1 1:2\n");
}

#[test]
fn letor_columns() {
    assert_doctor!(
        "a.txt",
        "0 qid:1 1:1 2:7 3:4 4:0\n1 qid:1 1:2 2:7 3:4 4:0\n1 qid:2 1:3 2:7 3:5 4:0\n0 qid:2 1:4 2:7 3:5 4:0\n"
    );
}

#[test]
fn letor_sparse() {
    assert_doctor!("a.txt", "0 qid:1 1:1 10000000:2\n1 qid:1 2:1\n1 qid:2 7:1\n0 qid:2 9:1\n");
}

#[test]
fn letor_duplicates() {
    assert_doctor!(
        "a.txt",
        "0 qid:1 1:1 #docid = A\n1 qid:1 1:2 #docid = B\n0 qid:1 1:1 #docid = A\n0 qid:1 1:3 #docid = B\n\
         0 qid:2 1:1 #docid = A\n1 qid:2 1:1 #docid = C\n"
    );
}

#[test]
fn letor_queries() {
    assert_doctor!("a.txt", "0 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:3\n1 qid:3 1:4\n0 qid:3 1:5\n");
}

#[test]
fn letor_file_order_leak() {
    let mut text = String::new();
    for query in 1..=20 {
        for document in 0..20 {
            let label = u32::from(document < 4 + query % 3);
            text += &format!("{label} qid:{query} 1:{}\n", (document * 7 + query) % 20);
        }
    }
    assert_doctor!("a.txt", text);
}

#[test]
fn qrels_clean() {
    assert_doctor!("a.qrels", "1 0 A 1\n1 0 B 0\n2 0 A 2\n");
}

#[test]
fn qrels_problems() {
    assert_doctor!(
        "a.qrels",
        "1 0 A 1\n1 0 B 0\n1 0 A 1\n1 0 B 3\n2 0 C 0\n2 0 D -1\n1 A 1\n1 0 A yes\n1 0 A nan\n"
    );
}

#[test]
fn qrels_only_relevant() {
    assert_doctor!("a.qrels", "1 0 A 1\n1 0 B 3\n2 0 C 2\n");
}

#[test]
fn run_clean() {
    assert_doctor!("a.run", "1 Q0 A 1 0.9 bm25\n1 Q0 B 2 0.8 bm25\n2 Q0 A 1 3 bm25\n");
}

#[test]
fn run_problems() {
    assert_doctor!(
        "a.run",
        "1 Q0 A 1 0.9 bm25\n1 Q0 B 2 0.9 bm25\n1 Q0 C 3 0.95 bm25\n1 Q0 A 4 0.1 bm25\n2 Q0 A 1 3 lsi\n\
         2 Q0 B 2 NaN lsi\n2 Q0 C 3 high lsi\n2 Q0 D x 1 lsi\n2 Q0 E 5 1\n"
    );
}

#[test]
fn encoding() {
    let mut bytes = b"\xef\xbb\xbf1 0 caf\xc3\x83\xc2\xa9 1\r\n1 0 D\xef\xbf\xbd 0\r\n".to_vec();
    bytes.extend(b"1 0 caf\xe9 0\n2 0 na\xc3\xafve 1\n2 0 it\xc3\xa2\xe2\x82\xac\xe2\x84\xa2s 0\n");
    assert_doctor!("a.qrels", bytes);
}

#[test]
fn empty_and_utf16() {
    let (code, text) =
        doctor(&[("empty.txt", b" \n"), ("wide.txt", b"\xff\xfe0\0 \0q\0"), ("nothing.txt", b"")], &[]);
    insta::assert_snapshot!(format!("exit code {code}\n{text}"));
}

#[test]
fn train_and_test_share_a_query() {
    let train = b"0 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:1\n1 qid:2 1:3\n";
    let test = b"0 qid:2 1:1\n1 qid:2 1:2\n0 qid:3 1:1\n1 qid:3 1:3\n";
    let (code, text) = doctor(&[("train.txt", train), ("test.txt", test)], &[]);
    insta::assert_snapshot!(format!("exit code {code}\n{text}"));
}

#[test]
fn run_and_qrels_that_do_not_fit() {
    let qrels = b"1 0 A 1\n1 0 B 0\n2 0 A 2\n";
    let run = b"1 Q0 A 1 0.9 bm25\n3 Q0 A 1 0.8 bm25\n";
    let (code, text) = doctor(&[("a.run", run), ("a.qrels", qrels)], &[]);
    insta::assert_snapshot!(format!("exit code {code}\n{text}"));
}

#[test]
fn json() {
    let (code, text) =
        doctor(&[("a.txt", b"0 qid:1 1:1\n2 qid:1 1:x\n2 qid:1 1:3\n")], &["--format", "json"]);
    insta::assert_snapshot!(format!("exit code {code}\n{text}"));
}

#[test]
fn kind_overrides_the_guess() {
    let (code, text) = doctor(&[("a.txt", b"1 0 A 1\n")], &["--kind", "run"]);
    insta::assert_snapshot!(format!("exit code {code}\n{text}"));
}

#[test]
fn what_cannot_be_read_ends_with_2() {
    let (code, text) = doctor(&[("a.csv", b"query,document,clicks\nshoes,7,3\n")], &[]);
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_matchrank"));
    let absent = command.current_dir(folder.path()).args(["doctor", "absent.txt"]).output().unwrap();
    assert_eq!((code, absent.status.code()), (2, Some(2)));
    let absent = String::from_utf8(absent.stderr).unwrap();
    insta::assert_snapshot!(format!("{text}{absent}"));
}

/// Returns the folder of real data: `MATCHRANK_DATA`, else `../shared/data` next to the repository.
fn data_folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("MATCHRANK_DATA").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        eprintln!("skipped: {} is not a folder; set MATCHRANK_DATA", folder.display());
        return None;
    }
    Some(folder)
}

#[test]
fn warnings_are_problems_when_asked() {
    // A feature that never varies.
    let file: &[(&str, &[u8])] =
        &[("a.txt", b"0 qid:1 1:0.5 2:1\n2 qid:1 1:0.25 2:1\n1 qid:2 1:2 2:1\n0 qid:2 1:3 2:1\n")];
    let ((relaxed, text), (strict, _)) = (doctor(file, &[]), doctor(file, &["--strict"]));
    assert!(text.contains("warning") && !text.contains("1 error"), "{text}");
    assert_eq!((relaxed, strict), (0, 1));
    let wrong: &[(&str, &[u8])] = &[("a.txt", b"0 qid:1 1:0.5\nx qid:1 1:2\n1 qid:1 1:3\n")];
    assert_eq!(doctor(wrong, &[]).0, 1);
}

/// Returns the findings of real files as (file, code, count).
fn real_findings(paths: &[PathBuf]) -> Vec<(usize, String, u64)> {
    let output = Command::new(env!("CARGO_BIN_EXE_matchrank"))
        .args(["doctor", "--format", "json"])
        .args(paths)
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let files = json["files"].as_array().unwrap().iter().enumerate();
    files
        .flat_map(|(i, file)| file["findings"].as_array().unwrap().iter().map(move |finding| (i, finding)))
        .map(|(i, f)| (i, f["code"].as_str().unwrap().to_owned(), f["count"].as_u64().unwrap()))
        .collect()
}

#[test]
fn ohsumed_leaks_its_order_and_mq2008_does_not() {
    let Some(data) = data_folder() else { return };
    let folds = |name: &str| -> Vec<PathBuf> {
        (1..=5).map(|k| data.join(format!("{name}/Fold{k}/test.txt.gz"))).collect()
    };
    let ohsumed = real_findings(&folds("letor_ohsumed"));
    assert_eq!(ohsumed.iter().filter(|(_, code, _)| code == "file-order-leak").count(), 5, "{ohsumed:?}");
    let query_level = ohsumed.iter().filter(|(_, code, _)| code == "query-level-feature");
    assert_eq!(query_level.map(|(_, _, n)| *n).collect::<Vec<_>>(), [9; 5]);
    assert!(ohsumed.iter().all(|(_, code, _)| code != "malformed-line" && code != "shared-query"));

    let mq2008 = real_findings(&folds("letor_mq2008"));
    assert!(mq2008.iter().all(|(_, code, _)| code != "file-order-leak"), "{mq2008:?}");
    let without = mq2008.iter().filter(|(_, code, _)| code == "no-relevant-document");
    assert_eq!(without.map(|(_, _, n)| n).sum::<u64>(), 220);
}

#[test]
fn a_table_of_clicks_is_not_taken_for_a_run() {
    // A few lines have six fields with a number in the position of the rank.
    let lines: String = (0..40).map(|i| format!("red shoes {i},sku{i},2011-09-14 12:46:28\n")).collect();
    let log = format!("query,document,time\nthe best red 3 shoes,x y\n{lines}");
    let (code, said) = doctor(&[("clicks.csv", log.as_bytes())], &[]);
    assert_eq!(code, 2);
    assert!(said.contains("look neither like LETOR") && said.contains("are read by `ingest`"), "{said}");
}
