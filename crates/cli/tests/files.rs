//! Files, signals and the terminal through the real binary: files that are replaced, left behind or refused.
#![cfg(unix)]

mod matchrank;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};

use matchrank::{Folder, shop, wait_for};
use matchrank_engine::rankers::registry::RANKERS;

/// Sends a signal; returns the exit code and standard error.
fn end(child: Child, signal: &str) -> (i32, String) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    (output.status.code().expect("an exit code"), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    std::fs::read(folder.path().join(name)).unwrap()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn temporaries(folder: &Folder) -> Vec<String> {
    folder.names().into_iter().filter(|name| name.starts_with(".matchrank-")).collect()
}

const GIVEN: &str = "--set margin=1 --set c=0.1 --set lambda=0.0001";

const LETOR: &str = "2 qid:1 1:100 2:1 # docid = a\n0 qid:1 1:2 2:300 # docid = b\n\
                     1 qid:2 1:50 2:7 # docid = c\n0 qid:2 1:1 2:200 # docid = d\n";

#[test]
fn an_interrupted_training_leaves_the_former_model() {
    let folder = shop();
    folder.text(&format!("train sparse-preference --data shop {GIVEN} --set tuples=2000 --out words.model"));
    let before = bytes(&folder, "words.model");
    // Before anything is learned: no tuple has come yet.
    let mut child =
        folder.start(&format!("train sparse-preference --data shop {GIVEN} --tuples - --out words.model"));
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("a stream cannot be read a second time")));
    // The stream ends after the program knows of the signal.
    let mut input = child.stdin.take();
    let rest = std::thread::spawn(move || {
        let lines = lines.map_while(Result::ok).inspect(|line| {
            if line.starts_with("interrupted") {
                input = None;
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    let (code, _) = end(child, "-INT");
    let err = rest.join().unwrap();
    assert_eq!(code, 130, "{err}");
    assert!(err.contains("no model is written; words.model is left as it was"), "{err}");
    assert!(!err.contains("there was no tuple"), "{err}");
    assert_eq!(bytes(&folder, "words.model"), before);
    // While it learns: the checkpoint is next to the former model.
    let child = folder.start(&format!(
        "train sparse-preference --data shop {GIVEN} --set tuples=1000000000 --checkpoint 0 --out words.model"
    ));
    wait_for("a checkpoint", || folder.path().join("words.model.checkpoint").exists());
    let (code, err) = end(child, "-TERM");
    assert_eq!(code, 143, "{err}");
    assert!(err.contains("words.model is left as it was; what was learned is saved"), "{err}");
    assert_eq!(bytes(&folder, "words.model"), before);
    assert_eq!(folder.json("inspect words.model.checkpoint --format json")["kind"], "sparse-preference");
    // A training that finishes replaces the model and removes its checkpoint.
    folder.text(&format!("train sparse-preference --data shop {GIVEN} --set tuples=3000 --out words.model"));
    assert_ne!(bytes(&folder, "words.model"), before);
    assert!(!folder.path().join("words.model.checkpoint").exists() && temporaries(&folder).is_empty());
}

/// Starts a command and waits until it writes under a temporary name.
fn writing(folder: &Folder) -> Child {
    let child = folder.start("simulate clicks --preset half-year --out log");
    wait_for("a temporary file", || !left(folder).is_empty());
    child
}

/// Returns the temporary files in the output folder of [`writing`].
fn left(folder: &Folder) -> Vec<String> {
    let entries = folder.path().join("log").read_dir().into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".matchrank-")).collect()
}

#[test]
fn signals_end_a_command_with_their_code_and_without_leftovers() {
    for (signal, expected) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let folder = Folder::new();
        let child = writing(&folder);
        let (code, err) = end(child, signal);
        assert_eq!(code, expected, "{err}");
        assert_eq!(err.matches("interrupted").count(), 1, "{err}");
        assert_eq!(left(&folder), Vec::<String>::new());
    }
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    let folder = Folder::new();
    let mut child = writing(&folder);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!left(&folder).is_empty());
    folder.text("simulate clicks --preset small --out log --force");
    assert_eq!(left(&folder), Vec::<String>::new());
}

#[test]
fn the_umask_and_the_permissions_of_replaced_files_are_kept() {
    let folder = shop();
    let run = |umask: &str, args: &str| {
        let command = format!("umask {umask}; exec {} {args} --quiet", env!("CARGO_BIN_EXE_matchrank"));
        let output = Command::new("sh").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let at = |name: &str| folder.path().join(name);
    for (umask, of_file, of_folder) in [("077", 0o600, 0o700), ("002", 0o664, 0o775), ("022", 0o644, 0o755)] {
        let (model, data) = (format!("{umask}.model"), format!("data{umask}"));
        run(umask, &format!("train bm25 --data shop --out {model}"));
        assert_eq!(mode(&at(&model)), of_file);
        run(umask, &format!("ingest --clicks log.csv --documents docs.csv --out {data}"));
        assert_eq!((mode(&at(&data)), mode(&at(&data).join("manifest.json"))), (of_folder, of_file));
    }
    run("022", "train bm25 --data shop --out 077.model");
    assert_eq!(mode(&at("077.model")), 0o600);
    run("022", "ingest --clicks log.csv --documents docs.csv --out data077 --force");
    assert_eq!(mode(&at("data077")), 0o700);
}

#[test]
fn compressed_files_that_expand_without_measure_are_refused() {
    let folder = Folder::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    (0..300).for_each(|_| encoder.write_all(&[b'\n'; 1 << 20]).unwrap());
    folder.write("bomb", encoder.finish().unwrap());
    folder.write("train.txt", LETOR);
    folder.write("run.txt", "1 Q0 a 1 2 x\n");
    folder.write("qrels.txt", "1 0 a 1\n");
    for command in [
        "eval --qrels bomb --run run.txt",
        "eval --qrels qrels.txt --run bomb",
        "train listnet --letor bomb --out x.model",
        "train listnet --letor train.txt --validation bomb --out x.model",
        "train listnet --letor train.txt --query-weights bomb --out x.model",
        "train query-dependent --letor train.txt --query-features bomb --out x.model",
        "compare --letor bomb train.txt run.txt --models listnet",
        "compare --data nowhere --plan bomb",
        "inspect bomb",
    ] {
        let err = folder.refused(command);
        assert!(
            err.contains("bomb: expands to more than the limit of 256 MiB") && err.contains("--max-size"),
            "{command}: {err}"
        );
        let (_, _, err) = folder.run(&format!("{command} --max-size 1G"));
        assert!(!err.contains("expands to more"), "{command}: {err}");
    }
}

/// 300 MiB with less than twice as much memory: an error, not the end of the process.
#[cfg(target_os = "linux")]
#[test]
fn files_that_memory_does_not_hold_are_refused() {
    let folder = Folder::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    (0..300).for_each(|_| encoder.write_all(&[b'\n'; 1 << 20]).unwrap());
    folder.write("bomb", encoder.finish().unwrap());
    folder.write("train.txt", LETOR);
    let train = "train query-dependent --letor train.txt --query-features bomb --out x.model";
    let command = format!(
        "ulimit -v 600000; exec {} {train} --max-size 1G --threads 1 --quiet",
        env!("CARGO_BIN_EXE_matchrank")
    );
    let output = Command::new("sh").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("bomb: has ") && err.contains("too many for this machine's memory"), "{err}");
}

#[test]
fn outputs_that_would_overwrite_inputs_are_refused() {
    let folder = shop();
    folder.write("a.txt", LETOR);
    folder.write("names.txt", "one\ntwo\n");
    folder.write("weights.tsv", "1\t2\n");
    folder.write("good.tsv", "sneaker\td0\td1\n");
    folder.write("lists.jsonl", "");
    folder.text("train bm25 --data shop --out bm25.model");
    folder.text("train rmls --data shop --set d=2 --out rmls.model");
    folder.text("train perceptron --letor a.txt --out p.model");
    folder.text(&format!("train sparse-preference --data shop {GIVEN} --set tuples=500 --out words.model"));
    folder.text("compare --data shop --models bm25 --trials 1 --out models");
    let before: Vec<(String, Vec<u8>)> = folder
        .names()
        .into_iter()
        .filter(|name| folder.path().join(name).is_file())
        .map(|name| (name.clone(), bytes(&folder, &name)))
        .collect();
    for command in [
        "train listnet --letor a.txt --out a.txt",
        "train listnet --letor a.txt --out ./shop/../a.txt",
        "train listnet --letor a.txt --query-weights weights.tsv --out weights.tsv",
        "train perceptron --letor a.txt --out x.model --curve a.txt",
        "train perceptron --letor a.txt --out x.model --curve x.model",
        "train lambdamart --letor a.txt --out a.txt",
        "train query-dependent --letor a.txt --out a.txt",
        "train combination --data shop --of bm25.model rmls.model --out bm25.model",
        "train stack --data shop --of bm25.model rmls.model --out rmls.model",
        "train sparse-preference --data shop --tuples good.tsv --out good.tsv",
        "train bm25 --data shop --out shop/bm25.model",
        "train bm25 --data shop --out shop/documents.parquet",
        "rank --model p.model --letor a.txt --out a.txt",
        "rank --model p.model --letor a.txt --out p.model",
        "rank --model bm25.model --data shop --queries queries.tsv --out queries.tsv",
        "rank --model bm25.model --data shop --candidates dev.qrels --out dev.qrels",
        "rank --model bm25.model --data shop --out shop/manifest.json",
        "features --data shop --of bm25.model --out bm25.model",
        "features --data shop --of bm25.model --out x.txt --names x.txt",
        "export synonyms words.model --out words.model",
        "export elasticsearch p.model --features names.txt --out names.txt",
        "export query-vectors rmls.model --queries queries.tsv --out queries.tsv",
        "update words.model --tuples good.tsv --out good.tsv",
        "update p.model --lists lists.jsonl --out lists.jsonl",
        "tune bm25 --data shop --trials 1 --trace x --out x",
        "tune bm25 --data shop --trials 1 --out shop/index.model",
        "report models --out models/comparison.json",
        "report models --out models/models/bm25.model",
        "compare --data shop --models bm25 --out shop",
        "compare --data shop --models bm25 --out shop/models",
    ] {
        let err = folder.refused(command);
        let refused = ["would overwrite", "would be written twice", "is inside the dataset"];
        assert!(refused.iter().any(|message| err.contains(message)), "{command}: {err}");
    }
    for (name, content) in before {
        assert!(bytes(&folder, &name) == content, "{name}");
    }
    // As documented, a model is updated in place and compared with its last export.
    folder.text("update words.model --tuples good.tsv --data shop --out words.model");
    folder.text("export synonyms words.model --format csv --threshold 0 --out pairs.csv");
    folder.text("export synonyms words.model --format csv --threshold 0 --out pairs.csv --diff pairs.csv");
    folder.text("report models");
    folder.text("report models");
}

#[test]
fn names_that_are_no_utf8_are_written_as_near_as_text_can_be() {
    let folder = shop();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let run = |args: &[&std::ffi::OsStr]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_matchrank")).current_dir(folder.path()).args(args).output();
        let output = output.unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{err}");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let words = |text: &'static str| text.split(' ').map(std::ffi::OsStr::new).collect::<Vec<_>>();
    let trained = run(&[&words("train bm25 --data shop --format json --out")[..], &[name]].concat());
    assert_eq!(trained["file"], "caf\u{fffd}");
    let model = name;
    let ranked = [&words("rank --data shop --format json --out x.run --model")[..], &[model]].concat();
    assert_eq!(run(&ranked)["queries"], 2);
    std::fs::remove_file(folder.path().join(name)).unwrap();
    std::fs::rename(folder.path().join("shop"), folder.path().join(name)).unwrap();
    let compared =
        [&words("compare --models bm25 --trials 1 --out models --format json --data")[..], &[name]].concat();
    let compared = run(&compared);
    assert!(compared["data"]["folder"].as_str().unwrap().ends_with("caf\u{fffd}"), "{compared}");
}

#[test]
fn links_are_followed_and_dangling_ones_refused_first() {
    let folder = shop();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
    link("shop", "link");
    folder.text("ingest --clicks log.csv --documents docs.csv --min-clicks 2 --out link --force");
    assert!(folder.path().join("link").is_symlink());
    let manifest: serde_json::Value = serde_json::from_str(&folder.read("shop/manifest.json")).unwrap();
    assert_eq!(manifest["min_clicks"], 2.0);
    link("nowhere", "dangling");
    for command in [
        "train rmls --data nothing --out dangling",
        "ingest --clicks nothing.csv --documents docs.csv --out dangling --force",
        "compare --data nothing --models bm25 --out dangling",
    ] {
        let err = folder.refused(command);
        assert!(err.contains("dangling: is a link to nowhere, which does not exist"), "{command}: {err}");
    }
    assert!(folder.path().join("dangling").is_symlink());
}

#[test]
fn links_inside_a_dataset_are_not_followed() {
    let folder = shop();
    folder.text("train bm25 --data shop --out bm25.model");
    std::fs::create_dir(folder.path().join("elsewhere")).unwrap();
    let rank = "rank --model bm25.model --data shop --queries queries.tsv --out a.run";
    let index = folder.path().join("shop/index");
    let _ = std::fs::remove_dir_all(&index);
    std::os::unix::fs::symlink("../elsewhere", &index).unwrap();
    let err = folder.refused(rank);
    assert!(err.contains("shop/index: is a link, but links inside a dataset are not followed"), "{err}");
    assert_eq!(folder.path().join("elsewhere").read_dir().unwrap().count(), 0, "nothing is written there");
    let err = folder.refused("ingest --clicks log.csv --documents docs.csv --out shop --force");
    assert!(err.contains("shop/index"), "{err}");
    std::fs::remove_file(&index).unwrap();
    folder.text(rank);
    // An index that is itself a link.
    let own =
        index.read_dir().unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    std::fs::rename(&own, folder.path().join("moved")).unwrap();
    std::os::unix::fs::symlink("../../moved", &own).unwrap();
    assert!(folder.refused(rank).contains("is a link"));
}

#[test]
fn refusals_of_the_system_say_what_to_do() {
    let folder = shop();
    folder.write("plain", "x");
    folder.write("a.txt", LETOR);
    for (command, expected) in [
        (
            "compare --letor a.txt --models listnet --out plain",
            "plain: is a file, but a folder is expected here",
        ),
        (
            "compare --letor a.txt --models listnet --out plain/x",
            "plain: is a file, but a folder is expected here",
        ),
        (
            "compare --data shop --models bm25 --plan no.toml --out new",
            "no.toml: there is no such file or folder",
        ),
        ("simulate clicks --preset small --out plain", "plain: is a file, but a folder is expected here"),
        ("inspect no.model", "no.model: there is no such file or folder; check the name"),
        (
            "train listnet --letor no.txt --out x.model",
            "no.txt: there is no such file or folder; check the name",
        ),
        ("train listnet --letor a.txt --out no/x.model", "there is no such folder; make it first"),
        (
            "train sparse-preference --data shop --tuples no.tsv --out x.model",
            "no.tsv: there is no such file",
        ),
        ("doctor no.txt", "no.txt: there is no such file or folder; check the name"),
    ] {
        let err = folder.refused(command);
        assert!(err.contains(expected) && !err.contains("os error"), "{command}: {err}");
    }
    assert!(!folder.path().join("new").exists());
    // Permissions do not restrict the superuser.
    std::fs::create_dir(folder.path().join("closed")).unwrap();
    std::fs::set_permissions(folder.path().join("closed"), std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(folder.path().join("closed/x"), "").is_err() {
        for command in [
            "train listnet --letor a.txt --out closed/x.model",
            "compare --letor a.txt --models listnet --out closed/c",
        ] {
            let err = folder.refused(command);
            assert!(
                err.contains("permission denied; change the permissions") && !err.contains("os error"),
                "{err}"
            );
        }
    }
}

#[test]
fn nothing_is_ingested_into_a_dataset() {
    let folder = shop();
    let err = folder.refused("ingest --clicks log.csv --documents docs.csv --out shop/inner");
    assert!(err.contains("shop/inner: is inside the dataset"), "{err}");
    assert!(!folder.path().join("shop/inner").exists());
}

/// A file that happens to have the name of a checkpoint is not removed by a training that wrote none.
#[test]
fn only_checkpoints_of_its_own_are_removed() {
    let folder = shop();
    let train = "train sparse-preference --data shop --set tuples=200 --out words.model";
    folder.text(train);
    folder.write("words.model.checkpoint", "mine");
    folder.text(train);
    assert_eq!(folder.read("words.model.checkpoint"), "mine");
}

#[test]
fn two_comparisons_do_not_write_to_one_folder() {
    let folder = shop();
    std::fs::create_dir(folder.path().join("models")).unwrap();
    let lock = std::fs::File::create(folder.path().join("models/.matchrank-lock")).unwrap();
    lock.lock().unwrap();
    let err = folder.refused("compare --data shop --models bm25 --trials 1 --out models");
    assert!(err.contains("models: another process is writing to this folder"), "{err}");
    drop(lock);
    folder.text("compare --data shop --models bm25 --trials 1 --out models");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let folder = shop();
    let err = folder.refused("eval --qrels no\x1b[31m.txt --run x");
    assert!(err.contains("no\\u001b[31m.txt") && !err.contains('\x1b'), "{err}");
    folder.text("train bm25 --data shop --out m\x1b[31m.model");
    let out = folder.text("features --data shop --of m\x1b[31m.model --candidates judged --out x.txt");
    assert!(out.contains("m\\u001b[31m") && !out.contains('\x1b'), "{out}");
}

#[test]
fn scores_beyond_numbers_are_an_error_that_names_the_model() {
    let folder = Folder::new();
    folder.write("train.txt", LETOR);
    folder.write("huge.txt", "1 qid:1 1:3e38 # docid = a\n0 qid:1 2:3e38 # docid = b\n");
    folder.text("train perceptron --letor train.txt --scaling none --out p.model");
    let err = folder.refused("rank --model p.model --letor huge.txt --out x.run");
    assert!(err.contains("p.model: a score of query 1 is"), "{err}");
    assert!(!folder.path().join("x.run").exists());
}

/// A library in the current folder is never loaded. Skipped if there is no LightGBM to copy there.
#[test]
fn libraries_of_the_current_folder_are_not_loaded() {
    let Some(library) = std::env::var_os("MATCHRANK_LIGHTGBM") else {
        let _ = writeln!(std::io::stderr(), "skipped: MATCHRANK_LIGHTGBM names no library");
        return;
    };
    let folder = Folder::new();
    folder.write("train.txt", LETOR);
    std::fs::create_dir_all(folder.path().join("lightgbm/lib")).unwrap();
    folder.write("lightgbm/__init__.py", "");
    std::fs::copy(library, folder.path().join("lightgbm/lib/lib_lightgbm.so")).unwrap();
    let run = |variable: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_matchrank"));
        command.current_dir(folder.path()).env_remove("MATCHRANK_LIGHTGBM").env("PYTHONPATH", folder.path());
        variable.map(|path| command.env("MATCHRANK_LIGHTGBM", path));
        let output = command
            .args("train mart --letor train.txt --set min_rows=1 --out x.model".split_whitespace())
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (_, err) = run(None);
    let ours = folder.path().file_name().unwrap().to_str().unwrap();
    // If LightGBM is installed on this machine, that library is loaded.
    assert!(!err.contains(ours), "{err}");
    assert!(err.contains("which is not installed") || err.contains("grown by LightGBM's library /"), "{err}");
    let (code, err) = run(Some("lightgbm/lib/lib_lightgbm.so"));
    assert!(
        code == 0 && err.contains("note: trees are grown by LightGBM's library /") && err.contains(ours),
        "{err}"
    );
}

#[test]
fn help_names_all_rankers_and_exit_codes() {
    let folder = Folder::new();
    let help = folder.text("train --help");
    for ranker in RANKERS {
        let line = help.lines().find(|line| line.trim_start().starts_with(&format!("{} ", ranker.name)));
        let summary = ranker.summary.split(':').next().unwrap();
        assert!(line.is_some_and(|line| line.contains(summary)), "{}: {help}", ranker.name);
    }
    let help = folder.text("--help").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("130 interrupted") && help.contains("143 terminated"), "{help}");
}

/// Pipes and devices are not files to protect.
#[test]
fn pipes_are_written_to_directly() {
    let folder = shop();
    folder.text("train bm25 --data shop --out bm25.model");
    folder.write("trainers.tsv", "q1\ttrainers\n");
    // /dev/stdout is a link to the pipe, which has no path that could be followed.
    for out in ["-", "/dev/stdout"] {
        let rank = "rank --model bm25.model --data shop --queries trainers.tsv --quiet --out";
        let mut child = folder.start(&format!("{rank} {out}"));
        let mut run = String::new();
        child.stdout.take().unwrap().read_to_string(&mut run).unwrap();
        assert!(child.wait().unwrap().success() && run.contains(" Q0 "), "{out}: {run}");
    }
    folder.text("rank --model bm25.model --data shop --out /dev/null");
}
