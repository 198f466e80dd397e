//! Modules depend on those below them and on no others.
//!
//! Reads the `crate::module` paths of every source file outside of tests, so that a dependency of a lower module on a
//! higher one fails here with the file and the line.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules of core, the lowest first.
const CORE: [&str; 10] =
    ["error", "progress", "linalg", "data", "measure", "solve", "matching", "bounds", "ranking", "simulate"];

/// Modules of the engine, the lowest first.
const ENGINE: [&str; 28] = [
    "memory",
    "unwind",
    "files",
    "lines",
    "tally",
    "prose",
    "settings",
    "description",
    "parquet_file",
    "text",
    "dataset",
    "outputs",
    "features",
    "retrieval",
    "scoring",
    "validation",
    "container",
    "preferences",
    "rankers",
    "models",
    "ranking",
    "model_file",
    "ingest",
    "tuning",
    "doctor",
    "comparison",
    "report",
    "reproduce",
];

/// Every line of a source that uses another module of its crate: the module it is in, the one it uses, and its place.
fn uses(sources: &Path) -> Vec<(String, String, String)> {
    let mut folders = vec![sources.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !is_test(&path) {
                let place = path.strip_prefix(sources).unwrap();
                let own = place.components().next().unwrap().as_os_str().to_string_lossy();
                let own = own.trim_end_matches(".rs").to_owned();
                for (number, line) in production(&fs::read_to_string(&path).unwrap()) {
                    for used in line.split("crate::").skip(1) {
                        let module = used.split(|c: char| !(c.is_ascii_lowercase() || c == '_')).next();
                        let module = module.unwrap_or_default().to_owned();
                        found.push((own.clone(), module, format!("{}:{number}", place.display())));
                    }
                }
            }
        }
    }
    found
}

fn is_test(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_in_tests = path.components().any(|part| part.as_os_str() == "tests");
    is_in_tests || name.ends_with("tests") || name == "testing" || name == "lib"
}

/// Lines of code before the tests of a file, with their numbers.
fn production(source: &str) -> impl Iterator<Item = (usize, &str)> {
    // A declaration of a test module in a file of its own is no end.
    let is_inline = |at: &usize| source[*at..].lines().nth(1).is_some_and(|line| line.ends_with('{'));
    let ends = source.match_indices("#[cfg(test)]\nmod ").map(|(at, _)| at);
    let end = ends.into_iter().find(is_inline).unwrap_or(source.len());
    let lines = source[..end].lines().enumerate().map(|(number, line)| (number + 1, line));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Uses of a module that is not below, and modules without a place in the order.
fn back_edges(order: &[&str], uses: &[(String, String, String)]) -> Vec<String> {
    let rank = |module: &str| order.iter().position(|known| *known == module);
    let mut wrong = Vec::new();
    for (own, used, place) in uses {
        match (rank(own), rank(used)) {
            (None, _) => wrong.push(format!("{place}: module {own} has no place in the order of layers")),
            (Some(own_rank), Some(used_rank)) if used_rank > own_rank => {
                wrong.push(format!("{place}: {own} uses {used}, which stands above it"));
            }
            _ => {}
        }
    }
    wrong
}

fn sources(of_crate: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(of_crate).join("src")
}

#[test]
fn modules_use_only_those_below_them() {
    for (name, order) in [("core", &CORE[..]), ("engine", &ENGINE[..])] {
        let uses = uses(&sources(name));
        assert!(uses.len() > 50, "{name}: {} uses were found", uses.len());
        let wrong = back_edges(order, &uses);
        assert!(wrong.is_empty(), "{name}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn a_back_edge_is_found() {
    let inserted = [("linalg".into(), "ranking".into(), "linalg/csr.rs:7".into())];
    assert_eq!(back_edges(&CORE, &inserted), ["linalg/csr.rs:7: linalg uses ranking, which stands above it"]);
    let unknown = [("new".into(), "data".into(), "new.rs:1".into())];
    assert_eq!(back_edges(&CORE, &unknown).len(), 1);
}
