//! Dataset folders and their indexes: damage is detected, foreign files are kept, processes share them.

mod matchrank;

use std::process::{Command, Stdio};

use matchrank::Folder;

const INGEST: &str = "ingest --clicks log.csv --documents docs.csv --out data --quiet";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("docs.csv", "id,title\nd1,red shoes\nd2,blue shoes\nd3,blue hat\n");
    folder.write("log.csv", "query,document,clicks\nshoes,d1,2\nblue,d2,1\n");
    folder.write("queries.tsv", "q1\tshoes\nq2\tblue shoes\nq3\thats\n");
    folder.text(INGEST);
    folder
}

const RANK: &str = "rank --model m --data data --queries queries.tsv --out run";

#[test]
fn an_edited_manifest_is_refused() {
    let folder = folder();
    let manifest = folder.read("data/manifest.json");
    for (from, to) in
        [("      1.0\n", "      2.0\n"), ("\"n_queries\": 2", "\"n_queries\": 1000000000000000000")]
    {
        assert!(manifest.contains(from), "{manifest}");
        folder.write("data/manifest.json", manifest.replacen(from, to, 1));
        let error = folder.refused("train bm25 --data data --out m");
        assert!(error.contains("manifest.json: was changed after it was written"), "{error}");
        assert!(folder.refused("doctor data").contains("was changed after"), "doctor too");
    }
    folder.write("data/manifest.json", &manifest);
    folder.text("train bm25 --data data --out m");
}

#[test]
fn a_damaged_index_is_built_again_with_a_note() {
    let folder = folder();
    folder.text("train bm25 --data data --out m");
    folder.text(RANK);
    let expected = folder.read("run");
    let index = || {
        let entries = folder.path().join("data/index").read_dir().unwrap();
        entries.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap()
    };
    let rebuilt = |what: &str| {
        let (code, _, err) = folder.run(RANK);
        assert!(code == 0 && err.contains("building the index again"), "{what}: {err}");
        assert!(!err.contains("panicked"), "{what}: {err}");
        assert_eq!(folder.read("run"), expected, "{what}");
    };
    let endings = ["fast", "idx", "term", "pos", "fieldnorm", "store", "json"];
    for (which, ending) in endings.into_iter().enumerate() {
        let file =
            index().read_dir().unwrap().map(|entry| entry.unwrap().path()).find(|path| {
                path.extension().is_some_and(|e| e == ending) && path.metadata().unwrap().len() > 0
            });
        let file = file.unwrap_or_else(|| panic!("a file that ends in {ending}"));
        let mut bytes = std::fs::read(&file).unwrap();
        let at = (which * 37 + 11) % bytes.len();
        bytes[at] ^= 4;
        std::fs::write(&file, bytes).unwrap();
        rebuilt(ending);
    }
    for name in ["matchrank.json", "checksums.json", "meta.json"] {
        std::fs::remove_file(index().join(name)).unwrap();
        rebuilt(name);
    }
    let (_, _, err) = folder.run(RANK);
    assert!(!err.contains("building the index"), "{err}");
}

#[test]
fn processes_share_the_index_of_a_fresh_dataset() {
    let folder = folder();
    folder.text("train bm25 --data data --out m");
    folder.text(RANK);
    let expected = folder.read("run");
    for round in 0..8 {
        std::fs::remove_dir_all(folder.path().join("data/index")).unwrap();
        let started: Vec<_> = (0..4)
            .map(|i| {
                let args = format!("rank --model m --data data --queries queries.tsv --out run{i}");
                Command::new(env!("CARGO_BIN_EXE_matchrank"))
                    .current_dir(folder.path())
                    .args(args.split(' '))
                    .stdout(Stdio::null())
                    .stderr(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for (i, process) in started.into_iter().enumerate() {
            let output = process.wait_with_output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "round {round}: {err}");
            assert_eq!(folder.read(&format!("run{i}")), expected);
        }
        let names: Vec<_> = folder.path().join("data/index").read_dir().unwrap().collect();
        assert_eq!(names.len(), 2, "an index and a lock: {names:?}");
    }
}

#[test]
fn ingest_replaces_nothing_but_the_dataset() {
    let folder = folder();
    folder.text("train bm25 --data data --out m");
    folder.text(RANK);
    let force = format!("{INGEST} --force");
    let manifest = folder.read("data/manifest.json");
    for name in ["data/log.parquet", "data/index/notes.txt", "data/thesis.txt"] {
        folder.write(name, "precious");
        let error = folder.refused(&force);
        assert!(error.contains(&format!("{name}: is not part of the dataset")), "{error}");
        assert_eq!(folder.read(name), "precious");
        assert_eq!(folder.read("data/manifest.json"), manifest);
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    // Not even a file that the manifest lists, while it is an input.
    let error =
        folder.refused("ingest --clicks log.csv --documents data/documents.parquet --out data --force");
    assert!(error.contains("data/documents.parquet: is in data, which is to be replaced"), "{error}");
    // A failure leaves the former dataset.
    folder.write("log.csv", "query,document,clicks\nshoes,d1,x\n");
    folder.refused(&force);
    assert_eq!(folder.read("data/manifest.json"), manifest);
    folder.write("log.csv", "query,document,clicks\nhats,d3,7\n");
    let before = folder.names();
    folder.text(&force);
    assert_ne!(folder.read("data/manifest.json"), manifest);
    assert_eq!(folder.names(), before, "nothing is left beside it");
    assert!(!folder.path().join("data/index").exists());
    folder.text("train bm25 --data data --out m");
}

#[test]
#[cfg(unix)]
fn links_and_permissions_of_a_dataset_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    std::fs::rename(path("data"), path("real")).unwrap();
    std::fs::set_permissions(path("real"), std::fs::Permissions::from_mode(0o750)).unwrap();
    symlink("real", path("data")).unwrap();
    folder.write("log.csv", "query,document,clicks\nhats,d3,7\n");
    let before = folder.names();
    folder.text(&format!("{INGEST} --force"));
    assert!(path("data").is_symlink() && folder.read("real/manifest.json").contains("\"n_pairs\": 1"));
    assert_eq!(path("real").metadata().unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(folder.names(), before);
    symlink("nowhere", path("dangling")).unwrap();
    let error = folder.refused("ingest --clicks log.csv --documents docs.csv --out dangling");
    assert!(error.contains("dangling: is a link to nowhere, which does not exist"), "{error}");
}

/// Bytes that make the Parquet reader panic give an ordinary error message.
#[test]
fn damaged_parquet_logs_are_refused_without_a_panic() {
    let folder = folder();
    let rows: Vec<Vec<&str>> =
        (0..30).map(|i| vec![["shoes", "blue"][i % 2], ["d1", "d2", "d3"][i % 3]]).collect();
    folder.write_parquet("log.parquet", &["query", "document"], &rows);
    let whole = std::fs::read(folder.path().join("log.parquet")).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        folder.write("damaged.parquet", bytes);
        let (code, _, err) =
            folder.run("ingest --clicks damaged.parquet --documents docs.csv --out other --force");
        assert!(code == 0 || code == 2, "byte {at}: {code} {err}");
        assert!(!err.contains("panicked"), "byte {at}: {err}");
    }
}
