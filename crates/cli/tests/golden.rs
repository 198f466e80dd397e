//! Datasets and comparisons of former versions keep working.

mod matchrank;

use std::path::{Path, PathBuf};

use matchrank::Folder;

const DATASETS: [&str; 2] = ["v0.1.0", "manifest_hash"];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(path, to).unwrap();
        }
    }
}

#[test]
fn datasets_of_every_version_open_and_rank() {
    let expected = std::fs::read_to_string(golden("datasets/test.run")).unwrap();
    for version in DATASETS {
        let folder = Folder::new();
        copy(&golden("datasets").join(version), &folder.path().join("data"));
        let (code, out, err) = folder.run("doctor data");
        // It has two test queries, which is said.
        let warned = out.contains("few-test-queries") && out.contains("0 errors, 1 warning,");
        assert!(code == 0 && warned, "{version}\n{out}\n{err}");
        folder.text("train bm25 --data data --out m --quiet");
        for _ in 0..2 {
            folder.text("rank --model m --data data --split test --out run --quiet");
            assert_eq!(folder.read("run"), expected, "{version}");
        }
        folder.text("train rmls --data data --out m2 --quiet");
    }
}

/// An index without checksums cannot be trusted, and is built again once.
#[test]
fn an_index_of_a_former_version_is_built_again() {
    let folder = Folder::new();
    copy(&golden("datasets/v0.1.0"), &folder.path().join("data"));
    folder.text("train bm25 --data data --out m --quiet");
    let rank = || folder.run("rank --model m --data data --split test --out run");
    let (code, _, err) = rank();
    assert!(code == 0 && err.contains("checksums.json: is missing; building the index again"), "{err}");
    let (code, _, err) = rank();
    assert!(code == 0 && !err.contains("building the index"), "{err}");
    // An index with checksums is used as it is.
    let folder = Folder::new();
    copy(&golden("datasets/manifest_hash"), &folder.path().join("data"));
    folder.text("train bm25 --data data --out m --quiet");
    let (code, _, err) = folder.run("rank --model m --data data --split test --out run");
    assert!(code == 0 && !err.contains("index"), "{err}");
}

#[test]
fn comparisons_of_every_version_make_a_report() {
    for version in ["v0.1.0"] {
        let folder = Folder::new();
        copy(&golden("datasets/v0.1.0"), &folder.path().join("data"));
        copy(&golden("comparisons").join(version), &folder.path().join("comparison"));
        folder.text("report comparison --data data --out page.html");
        let page = folder.read("page.html");
        for word in ["bm25", "pls", "running trainers", "ndcg@10"] {
            assert!(page.to_lowercase().contains(word), "{version}: {word}");
        }
        // Nothing is trained again: existing results are used.
        let (code, _, err) = folder.run("report comparison --data data --baseline pls --out other.html");
        assert_eq!(code, 0, "{err}");
    }
}

/// Fields that a later version adds are ignored.
#[test]
fn a_comparison_of_a_later_version_makes_a_report() {
    let folder = Folder::new();
    copy(&golden("datasets/v0.1.0"), &folder.path().join("data"));
    copy(&golden("comparisons/v0.1.0"), &folder.path().join("comparison"));
    for name in ["comparison.json", "results/bm25.json"] {
        let name = format!("comparison/{name}");
        let text = folder.read(&name);
        folder.write(&name, text.replacen('{', "{\"later\": [1, {}],", 1));
    }
    folder.text("report comparison --data data --out page.html");
    let text = folder.read("comparison/comparison.json");
    folder.write("comparison/comparison.json", text.replacen("\"ndcg@10\"", "\"ndcg@0\"", 1));
    let error = folder.refused("report comparison --data data --out page.html");
    assert!(
        error.contains("comparison.json: is not what `compare` writes (the cut-off of `ndcg@0`"),
        "{error}"
    );
}
