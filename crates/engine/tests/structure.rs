//! Structure of the sources, read as text outside of tests.
//!
//! Modules depend on those below them and on no others, the name of a type means one thing in its crate, messages of the
//! engine name no command-line flag, and public signatures name no JSON value and no map of another crate. What breaks a rule fails here with the file and the line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules of core, the lowest first.
const CORE: [&str; 10] =
    ["error", "progress", "linalg", "data", "measure", "solve", "matching", "bounds", "ranking", "simulate"];

/// Modules of the engine, the lowest first.
const ENGINE: [&str; 33] = [
    "memory",
    "unwind",
    "files",
    "lines",
    "tally",
    "prose",
    "evidence",
    "json",
    "by_name",
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
    "serving",
    "tuning",
    "doctor",
    "comparison",
    "report",
    "refresh",
    "reproduce",
];

/// Calls `each` with the path below `sources`, the number and the text of every line of code.
fn for_each_line(sources: &Path, mut each: impl FnMut(&Path, usize, &str)) {
    let mut folders = vec![sources.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test(&path) {
                let place = path.strip_prefix(sources).unwrap();
                let text = fs::read_to_string(&path).unwrap();
                production(&text).for_each(|(number, line)| each(place, number, line));
            }
        }
    }
}

/// Returns every use of another module of the crate: the module it is in, the one it uses, and its place.
fn uses(sources: &Path) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for_each_line(sources, |place, number, line| {
        let own = place.components().next().unwrap().as_os_str().to_string_lossy();
        let own = own.trim_end_matches(".rs");
        for used in line.split("crate::").skip(1) {
            let module = used.split(|c: char| !(c.is_ascii_lowercase() || c == '_')).next();
            let module = module.unwrap_or_default().to_owned();
            found.push((own.to_owned(), module, format!("{}:{number}", place.display())));
        }
    });
    found
}

/// Returns the name of the type that a line of code defines.
fn defined_type(line: &str) -> Option<&str> {
    let line =
        line.strip_prefix("pub").map_or(line, |rest| rest.split_once(' ').map_or("", |(_, rest)| rest));
    let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|word| line.strip_prefix(word))?;
    rest.split(|c: char| !c.is_alphanumeric()).next()
}

/// Returns true if a line of code has two hyphens before a letter, as flags do and custom properties of style sheets.
fn names_a_flag(line: &str) -> bool {
    let code = line.trim_start();
    let is_flag = |(at, _): (usize, &str)| {
        let before = code[..at].chars().next_back();
        code[at + 2..].starts_with(|c: char| c.is_ascii_lowercase())
            && before.is_none_or(|c| " (\"'`\\".contains(c))
    };
    // Examples of a kind are command lines.
    !code.starts_with("\"--letor") && !code.contains("style=") && code.match_indices("--").any(is_flag)
}

/// Returns true if a line of a public signature names a type of another crate that is not ours to promise.
fn is_foreign(line: &str) -> bool {
    let words =
        |line: &str| line.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>();
    words(line).iter().any(|word| ["Value", "IndexMap", "IndexSet", "foldhash"].contains(&word.as_str()))
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

#[test]
fn the_name_of_a_type_means_one_thing() {
    for of_crate in ["core", "engine"] {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for_each_line(&sources(of_crate), |place, number, line| {
            if let Some(name) = defined_type(line) {
                places.entry(name.to_owned()).or_default().push(format!("{}:{number}", place.display()));
            }
        });
        assert!(places.len() > 100, "{of_crate}: {} types were found", places.len());
        let twice: Vec<_> = places.iter().filter(|(_, places)| places.len() > 1).collect();
        assert!(twice.is_empty(), "{of_crate}: {twice:?}");
    }
    assert_eq!(defined_type("pub(super) struct Row<'a> {"), Some("Row"));
    assert_eq!(defined_type("enum Kind {"), Some("Kind"));
    assert_eq!(defined_type("    type Report = PathReport;"), None);
}

/// Files that read a clock: to report how long something took, to save in time, to choose a number of threads that
/// changes no result, or to keep a limit that the user asked for. What a model learns, and which is chosen, counts work.
const CLOCKS: [&str; 14] = [
    "core/matching/sparse_preference/learner.rs",
    "engine/comparison/course.rs",
    "engine/comparison/making.rs",
    "engine/comparison/measuring.rs",
    "engine/comparison/models.rs",
    "engine/memory.rs",
    "engine/models/bltm/training.rs",
    "engine/models/latent/epochs.rs",
    "engine/models/rmls/mod.rs",
    "engine/models/sparse_preference/training/learn.rs",
    "engine/rankers/perceptron/online/mod.rs",
    "engine/rankers/query_dependent/model.rs",
    "engine/refresh/mod.rs",
    "engine/tuning/mod.rs",
];

#[test]
fn clocks_are_read_where_they_change_no_model() {
    let mut found = Vec::new();
    for of_crate in ["core", "engine"] {
        for_each_line(&sources(of_crate), |place, number, line| {
            let file = format!("{of_crate}/{}", place.display());
            let reads = ["Instant", "SystemTime", "elapsed("].iter().any(|word| line.contains(word));
            if reads && !CLOCKS.contains(&file.as_str()) && !file.starts_with("engine/reproduce/") {
                found.push(format!("{file}:{number}: {}", line.trim()));
            }
        });
    }
    assert!(found.is_empty(), "count work instead of seconds, or say here why not:\n{}", found.join("\n"));
}

#[test]
fn messages_of_the_engine_name_no_flag() {
    let mut found = Vec::new();
    for_each_line(&sources("engine"), |place, number, line| {
        if names_a_flag(line) {
            found.push(format!("{}:{number}: {}", place.display(), line.trim()));
        }
    });
    assert!(found.is_empty(), "write \"option `name`\" instead of a flag:\n{}", found.join("\n"));
    assert!(names_a_flag("    \"give one with --documents\","));
    assert!(names_a_flag("    --set max_iterations=... for more\","));
    assert!(!names_a_flag("    let less = a--b;"));
}

#[test]
fn public_signatures_name_no_foreign_value_or_map() {
    let mut found = Vec::new();
    for of_crate in ["core", "engine"] {
        let mut is_public = false;
        for_each_line(&sources(of_crate), |place, number, line| {
            let code = line.trim();
            is_public |= code.starts_with("pub ") && !code.starts_with("pub use ");
            // What a struct holds in parentheses is private, unless it says otherwise.
            let is_private = code.starts_with("pub struct ") && code.contains('(') && !code.contains("(pub ");
            if is_public && is_foreign(code) && !is_private {
                found.push(format!("{of_crate}/{}:{number}: {code}", place.display()));
            }
            is_public &= !code.ends_with(['{', ';', ',', '}'])
                || code.ends_with(',') && line.starts_with("    ") && !code.starts_with("pub ");
        });
    }
    assert!(found.is_empty(), "use Json and ByName:\n{}", found.join("\n"));
    assert!(is_foreign("pub fn params(&self) -> Value {"));
    assert!(is_foreign("pub bins: IndexMap<String, f64>,"));
    assert!(!is_foreign("pub fn values(&self) -> Vec<f64> {"));
}
