//! Tests of the book and the README: commands print what the pages show, links lead somewhere, lists are complete.
//!
//! A block of commands runs if the line above it is `<!-- run -->`. The blocks of a page run in one folder, from top to
//! bottom. The folder holds a small simulated log (`log/`), its dataset (`shop/`), and feature lists (`train.txt`,
//! `vali.txt`, `test.txt`). Lines that start with `$ ` are commands. The lines below must occur in the output, in this
//! order, and `...` stands for any lines. `<!-- run bestbuy -->` runs if the Best Buy click log is present. A block
//! below `<!-- file NAME -->` is written to that file.
#![cfg(unix)]

mod matchrank;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use matchrank::Folder;
use matchrank_engine::rankers::registry as rankers;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the pages of the book, by their paths below `docs/src`.
fn pages() -> Vec<(String, String)> {
    let source = repository().join("docs/src");
    let (mut pages, mut folders) = (Vec::new(), vec![source.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "md") {
                let name = entry.strip_prefix(&source).unwrap().to_str().unwrap().to_owned();
                pages.push((name, std::fs::read_to_string(&entry).unwrap()));
            }
        }
    }
    pages.sort();
    pages
}

/// A fenced block with the comment above it.
struct Block<'a> {
    mark: Option<&'a str>,
    line: usize,
    lines: Vec<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut open, mut above) = (Vec::<Block<'_>>::new(), false, "");
    for (number, line) in (1..).zip(page.lines()) {
        if line.starts_with("```") {
            if !open {
                let mark = above.strip_prefix("<!-- ").and_then(|mark| mark.strip_suffix(" -->"));
                blocks.push(Block { mark, line: number, lines: Vec::new() });
            }
            open = !open;
        } else if open {
            blocks.last_mut().unwrap().lines.push(line);
        }
        above = line;
    }
    assert!(!open, "a block is not closed");
    blocks
}

/// Runs the marked blocks of a page in a folder.
fn run_page(name: &str, page: &str, mark: &str, folder: &Path) {
    let binary = Path::new(env!("CARGO_BIN_EXE_matchrank")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    for block in blocks(page) {
        if let Some(file) = block.mark.and_then(|mark| mark.strip_prefix("file ")) {
            std::fs::write(folder.join(file), block.lines.join("\n") + "\n").unwrap();
        }
        if block.mark != Some(mark) {
            continue;
        }
        let mut lines = block.lines.iter().peekable();
        assert!(lines.peek().is_some_and(|line| line.starts_with("$ ")), "{name}:{}: no command", block.line);
        while let Some(line) = lines.next() {
            let mut command = line.strip_prefix("$ ").unwrap().to_owned();
            while command.ends_with('\\') {
                command.pop();
                command += lines.next().expect("a line after a backslash");
            }
            // Pages show the output of a terminal: results and notes together.
            let output = Command::new("sh")
                .args(["-c", &format!("exec 2>&1; {command}")])
                .env("PATH", &path)
                .env("COLUMNS", "100")
                .current_dir(folder)
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            let failed = !matches!(output.status.code(), Some(0 | 1));
            assert!(!failed, "{name}:{}: {command}\n{printed}", block.line);
            let mut rest = printed.lines().map(str::trim_end);
            while let Some(shown) = lines.next_if(|line| !line.starts_with("$ ")) {
                let found = *shown == "..." || shown.is_empty() || rest.any(|line| line == shown.trim_end());
                assert!(found, "{name}:{}: {command}\nmissing: {shown}\nprinted:\n{printed}", block.line);
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        let target = to.join(entry.file_name().unwrap());
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            std::fs::copy(&entry, &target).unwrap();
        }
    }
}

/// Creates the folder that pages start with.
fn small_shop() -> Folder {
    let folder = Folder::new();
    folder.text("simulate clicks --preset small --out log --quiet");
    folder.text(
        "ingest --clicks log/clicks.csv --documents log/documents.jsonl --queries log/queries.tsv --text title,url \
         --judgments validation=log/validation.qrels --judgments test=log/test.qrels --out shop --quiet",
    );
    for model in ["bm25", "lsi-dt"] {
        folder.text(&format!("train {model} --data shop --out {model}.model --quiet"));
    }
    for split in ["validation", "test"] {
        folder.text(&format!(
            "features --data shop --of bm25.model lsi-dt.model --clicks --split {split} --out {split}.txt --quiet"
        ));
    }
    // Every other query of the validation lists is for training.
    let lists = folder.read("validation.txt");
    let mut halves = [String::new(), String::new()];
    let mut queries: Vec<&str> = Vec::new();
    for line in lists.lines().filter(|line| !line.starts_with('#')) {
        let query = line.split(' ').nth(1).unwrap();
        if queries.last() != Some(&query) {
            queries.push(query);
        }
        halves[queries.len() % 2] += &format!("{line}\n");
    }
    folder.write("train.txt", &halves[0]);
    folder.write("vali.txt", &halves[1]);
    for file in ["bm25.model", "lsi-dt.model", "validation.txt"] {
        std::fs::remove_file(folder.path().join(file)).unwrap();
    }
    folder
}

#[test]
fn commands_print_what_the_pages_show() {
    let (start, mut ran) = (small_shop(), 0);
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    for (name, page) in pages().into_iter().chain([("README.md".to_owned(), readme)]) {
        if blocks(&page).iter().any(|block| block.mark == Some("run")) {
            let folder = Folder::new();
            copy(start.path(), folder.path());
            run_page(&name, &page, "run", folder.path());
            ran += 1;
        }
    }
    assert!(ran >= 15, "only {ran} pages have commands that run");
}

#[test]
#[allow(clippy::print_stderr)]
fn the_tutorial_prints_what_it_shows() {
    let named = std::env::var_os("MATCHRANK_DATA").map(PathBuf::from);
    let data = named.unwrap_or_else(|| repository().join("../shared/data")).join("bestbuy");
    if !data.join("clicks_train_part.csv.gz").exists() {
        eprintln!("skipped: the Best Buy click log is not present");
        return;
    }
    let folder = Folder::new();
    copy(&data, folder.path());
    let page = std::fs::read_to_string(repository().join("docs/src/tutorial.md")).unwrap();
    run_page("tutorial.md", &page, "run bestbuy", folder.path());
}

#[test]
fn the_command_reference_is_fresh() {
    let page = std::fs::read_to_string(repository().join("docs/src/commands.md")).unwrap();
    let fresh = Folder::new().text("reference");
    assert!(page == fresh, "docs/src/commands.md is out of date: matchrank reference > docs/src/commands.md");
}

/// Pages of models list every parameter of `train --help`, with its default.
#[test]
fn pages_of_models_list_every_parameter() {
    let folder = Folder::new();
    let help = folder.text("train --help");
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let models = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for model in models.filter(|model| !model.is_empty() && *model != "help") {
        let file = match model {
            "lsi-dt" | "lsi-qd" => "models/lsi.md".to_owned(),
            "mart" | "lambdamart" => "rankers/boosted-trees.md".to_owned(),
            _ if rankers::find(model).is_some() => format!("rankers/{model}.md"),
            _ => format!("models/{model}.md"),
        };
        let page = std::fs::read_to_string(repository().join("docs/src").join(&file))
            .unwrap_or_else(|_| panic!("{model} has no page {file}"));
        let help = folder.text(&format!("train {model} --help"));
        let parameters =
            help.split("Parameters for --set").nth(1).and_then(|text| text.split("Usage:").next());
        for line in parameters.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("  ")) {
            // `beta=0.5, gamma=0.3  thresholds ...`
            for setting in
                line.split("  ").next().unwrap().split([',', ' ']).filter(|word| word.contains('='))
            {
                let (name, default) = setting.split_once('=').unwrap();
                if name.is_empty()
                    || !name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit())
                {
                    continue;
                }
                let shared = ["tf", "idf", "click_tf", "click_weight"].contains(&name);
                let row = format!("| `{name}` | {default}");
                assert!(shared || page.contains(&row), "{file} lacks {row}");
            }
        }
    }
}

#[test]
fn every_page_is_in_the_summary_and_every_link_leads_somewhere() {
    let pages = pages();
    let source = repository().join("docs/src");
    let summary = &pages.iter().find(|(name, _)| name == "SUMMARY.md").unwrap().1;
    let mut linked = BTreeSet::new();
    let roots = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
        .map(|name| (name, std::fs::read_to_string(repository().join(name)).unwrap()));
    let of_book = pages.iter().map(|(name, page)| (source.join(name), page.as_str()));
    for (path, page) in
        of_book.chain(roots.iter().map(|(name, page)| (repository().join(name), page.as_str())))
    {
        for target in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.contains("://") || target.starts_with('#') {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = path.parent().unwrap().join(file);
            let page = file.canonicalize().unwrap_or_else(|_| panic!("{}: no {target}", path.display()));
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&page).unwrap();
                let has = text.lines().any(|line| line.starts_with('#') && anchor_of(line) == anchor);
                assert!(has, "{}: no heading for {target}", path.display());
            }
            if path.ends_with("SUMMARY.md") {
                linked.insert(page);
            }
        }
    }
    for (name, _) in &pages {
        let listed = name == "SUMMARY.md" || linked.contains(&source.join(name).canonicalize().unwrap());
        assert!(listed, "{name} is not in SUMMARY.md:\n{summary}");
    }
}

/// Returns the anchor that mdBook gives to a heading.
fn anchor_of(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn the_readme_is_short() {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let words = readme.split_whitespace().count();
    assert!(words < 900, "{words} words");
}

#[test]
fn errata_are_printed_in_every_format() {
    let folder = Folder::new();
    let corrections = folder.json("reproduce errata --format json");
    let corrections = corrections.as_array().unwrap();
    assert!(corrections.iter().all(|correction| correction["holds"] == true));
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    assert!(readme.contains(&format!("runs {} corrections", corrections.len())));
    let n_figures: usize =
        corrections.iter().map(|correction| correction["figures"].as_array().unwrap().len()).sum();
    let csv = folder.text("reproduce errata --format csv");
    assert_eq!(csv.lines().next(), Some("paper,place,figure,value,holds"));
    assert_eq!(csv.lines().count(), n_figures + 1);
    let table = folder.text("reproduce errata");
    assert_eq!(table.matches("  printed: ").count(), corrections.len());
}
