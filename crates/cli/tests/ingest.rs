//! Files as other programs write them, through the real binary: columns of one file, escaped quotes, average positions,
//! lost zeros, grades of 0 and accents.

mod matchrank;

use matchrank::{Folder, one_line};
use serde_json::Value;

fn shop() -> Folder {
    let folder = Folder::new();
    folder.write("docs.csv", "id,title\n00123,Café crème\n00077,Blue shoes\n00009,Old hat\n");
    folder
}

#[test]
fn a_column_is_named_for_one_file() {
    let folder = shop();
    folder.write("web.csv", "typed,query,id\nred,x,00123\n");
    folder.write("app.csv", "typed,query,id\nx,blue,00077\n");
    let ingest = |columns: &str| {
        format!(
            "ingest --clicks web.csv app.csv --documents docs.csv --out data --force --format json {columns}"
        )
    };
    let manifest = folder.json(&ingest("--column web.csv:query=typed"));
    assert_eq!(manifest["statistics"]["n_pairs"], 2);
    folder.text("train clicks --data data --out m --quiet");
    folder.write("queries.tsv", "1\tred\n2\tblue\n");
    folder.text("rank --model m --data data --queries queries.tsv --out run --quiet");
    let run = folder.read("run");
    assert!(run.contains("1 Q0 00123 1 ") && run.contains("2 Q0 00077 1 "), "{run}");
    // The same for all files, as before.
    let manifest = folder.json(&ingest("--column query=typed"));
    assert_eq!(manifest["statistics"]["n_queries"], 2);

    let error = folder.refused(&ingest("--column wab.csv:query=typed"));
    assert!(error.contains("--column wab.csv:query=typed: no input file has that name"), "{error}");
    assert!(error.contains("app.csv, docs.csv, web.csv"), "{error}");
    let error = folder.refused(&ingest("--column web.csv:query=tiped"));
    assert!(error.contains("there is no column 'tiped'; the columns are typed, query, id"), "{error}");
    let error = folder.refused(&ingest("--column web.csv:colour=typed"));
    assert!(error.contains("'colour' is not a column role; the roles are query"), "{error}");
}

#[test]
fn escaped_quotes_are_recognised_and_said() {
    let folder = shop();
    folder.write(
        "log.csv",
        "query,document,clicks\n\"the \\\"red, wide\\\" one\",00123,2\nblue\\, old,00077,1\n",
    );
    let (code, out, err) = folder.run("ingest --clicks log.csv --documents docs.csv --out data");
    assert_eq!(code, 0, "{err}");
    assert!(err.contains("log.csv: quotes are escaped by backslashes"), "{err}");
    assert!(out.contains("log.csv") && out.contains("quotes are escaped by backslashes"), "{out}");
    let error =
        folder.refused("ingest --clicks log.csv --documents docs.csv --out data --force --csv-escape double");
    assert!(error.contains("log.csv:2: a quote inside a cell has a backslash before it"), "{error}");
    assert!(error.contains("--csv-escape"), "{error}");
    folder.write("log.csv", "query,document,clicks\n\"a \\\"b\\\"\",00123,2\n\"a \"\"b\"\"\",00077,1\n");
    for (escape, line) in [("auto", 2), ("double", 2), ("backslash", 3)] {
        let error = folder.refused(&format!(
            "ingest --clicks log.csv --documents docs.csv --out data --force --csv-escape {escape}"
        ));
        assert!(error.contains(&format!("log.csv:{line}: a quote inside a cell")), "{escape}: {error}");
    }
}

#[test]
fn average_positions_are_accepted_and_said() {
    let folder = shop();
    folder.write(
        "console.csv",
        "query,page,clicks,impressions,position\nshoes,00123,0,40,1.2\nshoes,00077,9,31,2.4\nhat,00009,3,8,1\n",
    );
    let ingest = "ingest --clicks console.csv --column document=page --documents docs.csv --out data";
    let (code, out, err) = folder.run(ingest);
    assert_eq!(code, 0, "{err}");
    for text in [one_line(&out), err] {
        assert!(text.contains("positions are averages, so no document counts as skipped"), "{text}");
    }
    assert!(!folder.path().join("data/skipped.parquet").exists());
    let (_, _, err) =
        folder.run("train ssi --data data --set d=2 --set iterations=1 --set tuples=100 --out m");
    assert!(!err.contains("the log has positions"), "{err}");
}

#[test]
fn lost_zeros_are_named_by_ingest_and_by_doctor() {
    let folder = shop();
    folder.write("log.csv", "query,document\ncafe,123\nshoes,77\nhat,00009\n");
    let (code, _, err) = folder.run("ingest --clicks log.csv --documents docs.csv --out data");
    assert_eq!(code, 0, "{err}");
    let expected = "2 rows have a document id that differs from a known one by leading zeros alone \
                    (123 here, 00123 there; 77 here, 00077 there)";
    assert!(err.contains(expected) && err.contains("write the file again with ids as text"), "{err}");
    let (code, out, _) = folder.run("doctor data --format json");
    let found: Value = serde_json::from_str(&out).unwrap();
    let findings = found["files"][0]["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["code"] == "lost-leading-zeros").unwrap();
    assert_eq!((code, &finding["severity"], &finding["count"]), (0, &"warning".into(), &2.into()));
    assert!(finding["message"].as_str().unwrap().contains(expected));
    folder.write("log.csv", "query,document\ncafe,123\n");
    let error = folder.refused("ingest --clicks log.csv --documents docs.csv --out other");
    assert!(error.contains("(123 here, 00123 there)"), "{error}");
    folder.write("qrels", "001 0 d1 1\n002 0 d1 1\n");
    folder.write("run", "1 Q0 d1 1 3 x\n2 Q0 d1 1 2 x\n");
    let (code, out, _) = folder.run("doctor --strict qrels run");
    assert!(code == 1 && out.contains("lost-leading-zeros: 2 query ids of qrels"), "{out}");
}

#[test]
fn grades_of_0_are_counted_and_learned_from() {
    let folder = shop();
    folder.write("queries.tsv", "q1\tshoes\nq2\that\n");
    folder.write("train.qrels", "q1 0 00077 2\nq1 0 00009 0\nq2 0 00009 1\nq2 0 00123 0\n");
    let ingest = "ingest --responses train.qrels --queries queries.tsv --documents docs.csv --out data";
    let out = folder.text(ingest);
    let line = out.lines().find(|line| line.contains("negatives")).unwrap();
    assert!(line.contains("grade 0") && line.trim_end().ends_with('2'), "{out}");
    let (code, out, err) = folder.run("doctor data");
    assert!(code == 0 && out.contains("2 pairs in training, 2 pairs with grade 0"), "{out}{err}");
    for model in ["ssi --set d=2 --set iterations=1 --set tuples=100", "sparse-preference --set tuples=100"] {
        let (code, _, err) = folder.run(&format!("train {model} --data data --out m"));
        let expected = "documents that were judged with grade 0 count as worse (2 pairs)";
        assert!(code == 0 && err.contains(expected), "{model}: {err}");
    }
    // Others do not see them.
    let rank = || {
        folder.text("train rmls --data data --out m --set d=2 --quiet");
        folder.text("rank --model m --data data --queries queries.tsv --out run --quiet");
        folder.read("run")
    };
    let with = rank();
    folder.write("train.qrels", "q1 0 00077 2\nq2 0 00009 1\n");
    folder.text(&format!("{ingest} --force"));
    assert_eq!(with, rank());
}

#[test]
fn accents_are_removed_for_english_and_on_request() {
    let folder = shop();
    folder.write("log.csv", "query,document\ncoffee,00123\n");
    folder.write("queries.tsv", "q1\tcafe creme\n");
    let hits = |flags: &str| {
        let ingest = "ingest --clicks log.csv --documents docs.csv --out data --force";
        let out = folder.text(&format!("{ingest} {flags}"));
        folder.text("train bm25 --data data --out m --quiet");
        folder.text("rank --model m --data data --queries queries.tsv --out run --quiet");
        (one_line(&out).contains("accents: removed"), folder.read("run").contains("00123"))
    };
    assert_eq!(hits(""), (true, true));
    assert_eq!(hits("--fold-accents off"), (false, false));
    assert_eq!(hits("--language none"), (false, false));
    assert_eq!(hits("--language none --fold-accents on"), (true, true));
    assert_eq!(hits("--language french --fold-accents on"), (true, true));
    // A model keeps the analysis of its dataset.
    folder.text("ingest --clicks log.csv --documents docs.csv --out plain --fold-accents off");
    folder.text("rank --model m --data plain --queries queries.tsv --out run --quiet");
    assert!(folder.read("run").contains("00123"));
}
