//! Comparisons that are interrupted, over datasets and folds, and folders that hold the files of another.

use std::cell::Cell;
use std::path::Path;

use foldhash::HashSet;
use matchrank_core::data::letor;
use matchrank_core::progress::{Notes, Silent};
use matchrank_core::ranking::ScalingKind;

use super::*;
use crate::dataset::{Dataset, Holdout};
use crate::ingest::{IngestParams, SplitBy, ingest};
use crate::model_file;
use crate::models::combination::Combination;
use crate::models::folded::PooledQueries;
use crate::models::latent::LatentModel;
use crate::models::stack::{Stack, StackKind, StackParams};
use crate::models::{bind, find_part};
use crate::rankers::query_dependent::{QueryColumns, QueryInput};
use crate::validation::Validation;

/// A dataset of twenty documents of two groups of words; queries of either group click documents of their own.
struct Made {
    /// Queries that have training clicks.
    clicked: Vec<u32>,
    /// True if there are validation judgments, of the queries 30 to 44.
    validation: bool,
    /// True if the test, of the queries 45 to 59, has the documents of the other group relevant.
    turned: bool,
    /// True if responses are grades, not clicks.
    graded: bool,
}

impl Default for Made {
    fn default() -> Self {
        Self { clicked: (0..30).collect(), validation: true, turned: false, graded: false }
    }
}

impl Made {
    fn dataset(&self, folder: &Path, name: &str) -> Dataset {
        let file = |name: &str, content: String| {
            let path = folder.join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let words = |side: &str, i: u32| format!("{side}{} {side}{} shared{}", i % 2, 2 + i % 5, i % 7);
        let documents = (0..20).map(|i| format!("d{i}\t{}\n", words("doc", i))).collect();
        let queries = (0..60).map(|i| format!("q{i}\t{}\n", words("query", i))).collect();
        let clicks = self.clicked.iter().flat_map(|q| (8 * q..8 * q + 8).filter(move |i| q % 2 == i % 2));
        let log_pairs = clicks.map(|i| (i / 8, i % 20));
        let qrels = |queries: std::ops::Range<u32>, group: u32| {
            let pairs = queries.flat_map(|q| (0..20).map(move |d| (q, d)));
            let grade = |(q, d): (u32, u32)| u32::from(d % 2 == (q + group) % 2);
            pairs.map(|(q, d)| format!("q{q} 0 d{d} {}\n", grade((q, d)))).collect::<String>()
        };
        let test = file("test.qrels", qrels(45..60, u32::from(self.turned)));
        let mut judgments = vec![(Holdout::Test, test)];
        if self.validation {
            judgments.push((Holdout::Validation, file("validation.qrels", qrels(30..45, 0))));
        }
        let (log, name_of_log) = if self.graded {
            let clicks = log_pairs.map(|(q, d)| format!("q{q} 0 d{d} 1\n"));
            (clicks.collect::<String>(), "train.qrels")
        } else {
            let clicks = log_pairs.map(|(q, d)| format!("q{q},d{d},1\n"));
            (std::iter::once("query_id,document,clicks\n".to_owned()).chain(clicks).collect(), "log.csv")
        };
        let log = vec![file(name_of_log, log)];
        let (clicks, responses) = if self.graded { (Vec::new(), log) } else { (log, Vec::new()) };
        let params = IngestParams {
            clicks,
            responses,
            documents: vec![file("docs.tsv", documents)],
            queries: vec![file("queries.tsv", queries)],
            judgments,
            ..IngestParams::default()
        };
        ingest(&params, &folder.join(name), false, &Silent).unwrap();
        Dataset::open(&folder.join(name)).unwrap()
    }
}

fn dataset(folder: &Path) -> Dataset {
    Made::default().dataset(folder, "data")
}

fn plan(models: &[(&str, u32)]) -> Plan {
    let mut plan = Plan { trials: 1, ..Plan::default() };
    for (name, d) in models {
        plan.add_single(name, "pls", vec![("d".into(), (*d).into())]).unwrap();
    }
    plan
}

/// `a+b+c` is one sum of three models, whose parts are added in front.
#[test]
fn sums_of_several_models_are_flat() {
    let mut plan = Plan::default();
    plan.add("pls+rmls+bm25").unwrap();
    let plan = plan.finish().unwrap();
    let names: Vec<&str> = plan.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["pls", "rmls", "bm25", "pls+rmls+bm25"]);
    assert_eq!(plan.models[3].parts(), ["pls", "rmls", "bm25"]);
    let mut wrong = Plan::default();
    assert!(wrong.add("pls+unknown").unwrap_err().to_string().contains("no model called `unknown`"));
    let mut many = Plan::default();
    many.add(&["bm25"; 13].join("+")).unwrap();
    assert!(many.finish().unwrap_err().to_string().contains("2 to 12"));
}

/// A sum that validation gave one part alone, after its models learned from more data.
#[test]
fn weights_stay_when_models_are_trained_again() {
    let folder = tempfile::tempdir().unwrap();
    let (less, more) = (
        Made { clicked: (0..20).collect(), ..Made::default() }.dataset(folder.path(), "less"),
        Made { validation: false, ..Made::default() }.dataset(folder.path(), "more"),
    );
    let mut plan = plan(&[("a", 2), ("b", 3)]);
    plan.add("a+b+bm25").unwrap();
    let plan = plan.finish().unwrap();
    let out = folder.path().join("out");
    let course = Course { plan: &plan, folder: &out, seed: 1, progress: &Silent, stop: &|| false };
    compare(Data { dataset: &less, refit: Some(&more) }, course).unwrap();
    let load = |path: &Path| model_file::load(path).unwrap().0;
    let (chosen, again) =
        (load(&Comparison::chosen_model(&out, "a+b+bm25")), load(&Comparison::model(&out, "a+b+bm25")));
    let sums: [&Combination; 2] = [find_part(&*chosen).unwrap(), find_part(&*again).unwrap()];
    assert_eq!((sums[0].models.len(), sums[0].rule), (3, Some(Default::default())));
    assert_eq!((&sums[0].weights, &sums[0].trials), (&sums[1].weights, &sums[1].trials));
    let own = load(&Comparison::model(&out, "a"));
    let debug = |model: &dyn crate::models::MatchingModel| {
        format!("{:?}", find_part::<LatentModel>(model).unwrap().model)
    };
    assert_eq!(debug(&*sums[1].models[0]), debug(&*own));
    assert_ne!(debug(&*sums[0].models[0]), debug(&*own));
}

#[test]
fn an_interrupted_comparison_says_so_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (dataset(folder.path()), folder.path().join("out"));
    let data = Data { dataset: &dataset, refit: None };
    let mut plan = plan(&[("narrow", 2), ("wide", 8)]);
    plan.add("narrow+wide").unwrap();
    let plan = plan.finish().unwrap();
    let asked = Cell::new(0);
    let stop = || asked.replace(asked.get() + 1) >= 1;
    let half =
        compare(data, Course { plan: &plan, folder: &out, seed: 1, stop: &stop, progress: &Silent }).unwrap();
    assert_eq!(half.models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["narrow"]);
    assert_eq!(half.unfinished, ["wide", "narrow+wide"]);
    assert_eq!(Comparison::open(&out).unwrap(), half);
    let whole =
        compare(data, Course { plan: &plan, folder: &out, seed: 1, stop: &|| false, progress: &Silent })
            .unwrap();
    assert!(whole.unfinished.is_empty() && whole.left_out.is_empty());
    assert_eq!(whole.models.len(), 3);
    assert_eq!(whole.models[0].seconds, half.models[0].seconds, "kept");
    // Stopped before the first: what is there stays in the table, and only what has to be made is unfinished.
    let kept =
        compare(data, Course { plan: &plan, folder: &out, seed: 1, stop: &|| true, progress: &Silent })
            .unwrap();
    assert_eq!(kept, whole);
    assert_eq!(Comparison::open(&out).unwrap(), whole);
    std::fs::remove_file(Comparison::entry_path(&out, "wide")).unwrap();
    let part =
        compare(data, Course { plan: &plan, folder: &out, seed: 1, stop: &|| true, progress: &Silent })
            .unwrap();
    assert_eq!(part.models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["narrow"]);
    assert_eq!((part.unfinished.len(), part.left_out.len()), (2, 0));
}

#[test]
fn a_model_file_of_another_run_is_not_taken_for_ours() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (dataset(folder.path()), folder.path().join("out"));
    let data = Data { dataset: &dataset, refit: None };
    let made = |d: u32| {
        compare(
            data,
            Course {
                plan: &plan(&[("a", d)]).finish().unwrap(),
                folder: &out,
                seed: 1,
                stop: &|| false,
                progress: &Silent,
            },
        )
    };
    made(2).unwrap();
    let result = Comparison::entry_path(&out, "a");
    let ours = std::fs::read(&result).unwrap();
    // Another run into the same folder begins to write, and is killed before its result is there.
    std::fs::create_dir(out.join("runs/a.run.d")).unwrap();
    std::fs::remove_file(out.join("runs/a.run")).unwrap();
    std::fs::rename(out.join("runs/a.run.d"), out.join("runs/a.run")).unwrap();
    assert!(made(8).is_err(), "a folder is in the way of its run");
    assert!(!result.exists(), "so that what is left is no result");
    let left = Comparison::open(&out).unwrap();
    assert_eq!((left.models.len(), left.unfinished), (0, vec!["a".to_owned()]), "and the table names none");
    std::fs::remove_dir(out.join("runs/a.run")).unwrap();
    let again = made(2).unwrap();
    assert_eq!(again.models[0].params.0["d"], 2);
    let now: Entry = serde_json::from_slice(&std::fs::read(&result).unwrap()).unwrap();
    let before: Entry = serde_json::from_slice(&ours).unwrap();
    assert_eq!(now.per_query, before.per_query);
}

#[test]
fn stacks_are_chosen_by_the_measure_that_all_are() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    let data = Data { dataset: &dataset, refit: None };
    let mut plan = plan(&[("a", 2), ("b", 8)]);
    plan.add("listnet").unwrap();
    let by = |measure: &str, out: &str| {
        let plan = Plan { tuned_by: measure.parse().unwrap(), ..plan.clone() }.finish().unwrap();
        compare(
            data,
            Course {
                plan: &plan,
                folder: &folder.path().join(out),
                seed: 1,
                stop: &|| false,
                progress: &Silent,
            },
        )
        .unwrap()
    };
    let map = by("map", "map");
    assert_eq!(map.models[2].params.0["kept"]["measure"], "map", "said, as it is not the usual one");
    assert_eq!(map.models[2].validation["map"], map.models[2].params.0["kept"]["validation"]);
    let errors = by("mre", "mre");
    assert!(errors.left_out["listnet"].contains("better when larger"), "{:?}", errors.left_out);
}

/// Three folds of eight lists that feature 1 orders.
fn folds() -> Folds {
    let fold = |k: u32| {
        let rows = (8 * k..8 * k + 8).flat_map(|query| (0..6).map(move |i| (query, i)));
        let text: String = rows
            .map(|(query, i)| format!("{} qid:{query} 1:{} 2:{}\n", i / 2, i + query % 3, i % 2))
            .collect();
        letor::parse("x", text.as_bytes(), &Silent).unwrap()
    };
    let names = ["a", "b", "c"].map(String::from).to_vec();
    Folds { lists: (0..3).map(fold).collect(), names, content_hash: "folds".into() }
}

#[test]
fn a_comparison_over_folds_is_interrupted_between_folds_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (folds, columns) = (folds(), QueryColumns::default());
    let rankers = Rankers {
        rankers: ["ranksvm", "listnet"].map(PlannedRanker::named).to_vec(),
        scalings: vec![ScalingKind::MinMax],
        query: QueryInput::Columns(&columns),
        refit: false,
    };
    let run = |stop: &dyn Fn() -> bool, trials: usize| {
        let plan = Plan { trials, ..Plan::default() };
        compare_folds(
            &folds,
            &rankers,
            Course { plan: &plan, folder: folder.path(), seed: 1, stop, progress: &Silent },
        )
        .unwrap()
    };
    // Asked before every ranker and every fold: stopped before the second fold of the second ranker.
    let asked = Cell::new(0);
    let half = run(&|| asked.replace(asked.get() + 1) >= 6, 1);
    assert_eq!(half.models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["ranksvm"]);
    assert_eq!(
        (half.unfinished.as_slice(), half.split.mean_over),
        (&["listnet".to_owned()][..], MeanOver::Folds)
    );
    let whole = run(&|| false, 1);
    assert!(whole.unfinished.is_empty() && whole.models.len() == 2);
    assert_eq!(whole.models[0].seconds, half.models[0].seconds, "kept");
    assert_eq!(run(&|| false, 1).models, whole.models, "all are kept");
    assert_eq!(run(&|| true, 1), whole, "also by a comparison that is stopped at once");
    // An incomplete result is computed again.
    let path = Comparison::entry_path(folder.path(), "listnet");
    let mut entry = Comparison::entry(folder.path(), "listnet").unwrap();
    entry.per_query.values_mut().for_each(|values| values.truncate(1));
    std::fs::write(&path, serde_json::to_vec(&entry).unwrap()).unwrap();
    assert_eq!(run(&|| false, 1).models[1].test, whole.models[1].test);
    // Tuning changes the key, and the trials of a fold are gone on with.
    let tuned = run(&|| false, 3);
    assert!(tuned.models.iter().all(|model| model.trials >= 9), "three of each fold at least");
    // The result of a ranker that is being replaced goes after its row, and no other row with it.
    Comparison::forget(folder.path(), "listnet").unwrap();
    let left = Comparison::open(folder.path()).unwrap();
    assert_eq!(left.models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["ranksvm"]);
    assert!(left.models[0].beats_by.values().all(|beaten| beaten.is_empty()), "a row that is not there");
    assert_eq!(left.unfinished, ["listnet"]);
    Comparison::entry(folder.path(), "listnet").unwrap_err();
    let again = run(&|| false, 3);
    assert_eq!(again.models[1].tuning_seconds, tuned.models[1].tuning_seconds, "the trials are kept");
    assert_eq!(again.models[1].test, tuned.models[1].test);
}

#[test]
fn a_value_that_a_ranker_cannot_take_leaves_it_out_and_a_repeated_document_is_said_before_training() {
    let folder = tempfile::tempdir().unwrap();
    let columns = QueryColumns::default();
    let rankers = Rankers {
        rankers: vec![PlannedRanker::named("listnet")],
        scalings: vec![ScalingKind::MinMax],
        query: QueryInput::Columns(&columns),
        refit: false,
    };
    let run = |text: &str, name: &str, trials: usize| {
        let mut folds = folds();
        folds.lists[1] = letor::parse("x", text.as_bytes(), &Silent).unwrap();
        let plan = Plan { trials, ..Plan::default() };
        compare_folds(
            &folds,
            &rankers,
            Course {
                plan: &plan,
                folder: &folder.path().join(name),
                seed: 1,
                stop: &|| false,
                progress: &Silent,
            },
        )
    };
    for trials in [1, 3] {
        let missing = run("1 qid:8 1:1\n0 qid:8 1:NaN\n", &format!("missing{trials}"), trials).unwrap();
        assert!(missing.left_out["listnet"].contains("x:2: feature 1"), "{:?}", missing.left_out);
    }
    let twice = run("1 qid:8 1:1 #docid=a\n0 qid:8 1:2 #docid=a\n", "twice", 1).unwrap_err().to_string();
    assert!(twice.contains("x:2: document a appears twice in this query (first at x:1)"), "{twice}");
    assert!(!folder.path().join("twice").exists(), "nothing was made");
}

#[test]
fn stacks_learn_nothing_from_the_test_judgments() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan(&[("a", 2), ("b", 8)]);
    plan.add("listnet").unwrap();
    let plan = plan.finish().unwrap();
    let made = |turned: bool| {
        let name = if turned { "turned" } else { "data" };
        let dataset = Made { turned, ..Made::default() }.dataset(folder.path(), name);
        let out = folder.path().join(format!("{name}-out"));
        let data = Data { dataset: &dataset, refit: None };
        let table =
            compare(data, Course { plan: &plan, folder: &out, seed: 1, stop: &|| false, progress: &Silent })
                .unwrap()
                .models
                .remove(2);
        let (model, _) = model_file::load(&Comparison::model(&out, "listnet")).unwrap();
        let stack: &Stack = find_part(&*model).expect("a stack");
        (table, stack.clone())
    };
    let ((plain, stack), (turned, other)) = (made(false), made(true));
    assert_eq!((&plain.validation, &plain.params), (&turned.validation, &turned.params));
    assert_eq!(format!("{:?}", stack.ranker), format!("{:?}", other.ranker));
    assert_eq!(stack.trials, other.trials);
    assert_ne!(plain.test, turned.test, "the judgments of the test are others");
}

#[test]
fn data_that_holds_answers_of_the_test_is_no_data_to_train_again_on() {
    let folder = tempfile::tempdir().unwrap();
    let base = dataset(folder.path());
    let plan = plan(&[("a", 2)]).finish().unwrap();
    let refit = |name: &str, clicked: Vec<u32>| {
        let more = Made { clicked, validation: false, ..Made::default() }.dataset(folder.path(), name);
        let data = Data { dataset: &base, refit: Some(&more) };
        compare(
            data,
            Course {
                plan: &plan,
                folder: &folder.path().join(format!("{name}-out")),
                seed: 1,
                stop: &|| false,
                progress: &Silent,
            },
        )
    };
    // Clicks of validation queries are what there is more to learn from.
    refit("validated", (0..45).collect()).unwrap();
    // Four clicks on relevant documents for each of fifteen test queries with ten relevant documents.
    let error = refit("all", (0..60).collect()).unwrap_err().to_string();
    assert!(error.contains("all: 60 of 150 relevant test pairs have a training response here"), "{error}");
    let error = refit("one", (0..46).collect()).unwrap_err().to_string();
    assert!(error.contains("one: 4 of 150 relevant test pairs have a training response here"), "{error}");
    // Pairs that are in the data everything was chosen on, too, are not new.
    let known = Made { clicked: (0..46).collect(), ..Made::default() }.dataset(folder.path(), "known");
    let more = Made { clicked: (0..46).collect(), validation: false, ..Made::default() }
        .dataset(folder.path(), "known-more");
    let data = Data { dataset: &known, refit: Some(&more) };
    compare(
        data,
        Course {
            plan: &plan,
            folder: &folder.path().join("known-out"),
            seed: 1,
            stop: &|| false,
            progress: &Silent,
        },
    )
    .unwrap();
}

#[test]
fn a_pair_that_was_clicked_before_the_test_and_again_in_it_is_no_leak() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    // Every query clicks one document of its own for two thirds of the time, then another one, in validation and test.
    let clicks = (0..300u32).map(|i| {
        let (day, query) = (i / 10, i % 10);
        format!("q{query},d{},2026-01-{:02}\n", if day < 20 { query } else { query + 10 }, day + 1)
    });
    let log = std::iter::once("query_id,document,time\n".to_owned()).chain(clicks).collect();
    let (clicks, documents, queries) = (
        file("log.csv", log),
        file("docs.tsv", (0..20).map(|i| format!("d{i}\tword{i} all\n")).collect()),
        file("queries.tsv", (0..10).map(|i| format!("q{i}\tword{i} query{i}\n")).collect()),
    );
    let part = |name: &str, holdout: [f64; 2]| {
        let params = IngestParams {
            clicks: vec![clicks.clone()],
            documents: vec![documents.clone()],
            queries: vec![queries.clone()],
            split: SplitBy::Time,
            holdout,
            ..IngestParams::default()
        };
        ingest(&params, &folder.path().join(name), false, &Silent).unwrap();
        Dataset::open(&folder.path().join(name)).unwrap()
    };
    let (base, more) = (part("base", [0.2, 0.2]), part("more", [0.0, 0.2]));
    let data = Data { dataset: &base, refit: Some(&more) };
    let plan = plan(&[("a", 2)]).finish().unwrap();
    compare(
        data,
        Course {
            plan: &plan,
            folder: &folder.path().join("out"),
            seed: 1,
            stop: &|| false,
            progress: &Silent,
        },
    )
    .unwrap();
}

#[test]
fn a_stack_that_will_be_refused_is_refused_before_anything_is_trained() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (dataset(folder.path()), folder.path().join("out"));
    let mut plan = plan(&[("narrow", 2), ("wide", 8)]);
    let parts = ["narrow", "wide"].map(String::from).to_vec();
    let mut stack = |name: &str, of: &[String], folds: usize| {
        let params = StackParams { folds, ranker: StackKind::ListNet, ..StackParams::default() };
        let what = What::Stack { of: of.to_vec(), params };
        plan.push(Planned { name: name.into(), what, space: None, trials: None }).unwrap();
    };
    // There are 15 validation queries.
    stack("many-folds", &parts, 16);
    stack("good", &parts, 5);
    stack("of-a-stack", &["narrow".into(), "good".into()], 5);
    stack("of-a-refused", &["narrow".into(), "many-folds".into()], 5);
    let plan = plan.finish().unwrap();
    let notes = Notes::default();
    let course = Course { plan: &plan, folder: &out, seed: 1, stop: &|| false, progress: &notes };
    let made = compare(Data { dataset: &dataset, refit: None }, course).unwrap();
    let names: Vec<&str> = made.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["narrow", "wide", "good"]);
    for (name, why) in [
        ("many-folds", "there are 15 judged validation queries, and a ranker over models needs at least 16"),
        ("of-a-stack", "one of the models is a stack"),
        ("of-a-refused", "many-folds, which it is made of, is missing"),
    ] {
        let said = &made.left_out.get(name).unwrap();
        assert!(said.contains(why), "{name}: {said}");
    }
    let notes = notes.take();
    let refused: Vec<usize> =
        (0..).zip(&notes).filter(|(_, n)| n.contains(": left out: ")).map(|(i, _)| i).collect();
    let first = notes.iter().position(|note| note.contains("stacking")).unwrap();
    assert_eq!(refused.len(), 3, "each is said once: {notes:?}");
    assert!(refused.iter().all(|&i| i < first), "{notes:?}");
    // A stack by a measure that is better when smaller, and one whose result is there already.
    let by_error = Plan { tuned_by: "mre".parse().unwrap(), ..plan.clone() };
    let course = Course { plan: &by_error, folder: &folder.path().join("mre"), progress: &Silent, ..course };
    let made = compare(Data { dataset: &dataset, refit: None }, course).unwrap();
    assert!(made.left_out.get("good").unwrap().contains("better when larger"), "{:?}", made.left_out);
}

#[test]
fn a_comparison_says_what_its_queries_can_show() {
    let folder = tempfile::tempdir().unwrap();
    let (dataset, out) = (dataset(folder.path()), folder.path().join("out"));
    let plan = plan(&[("narrow", 1), ("wide", 8)]).finish().unwrap();
    let notes = Notes::default();
    let course = Course { plan: &plan, folder: &out, seed: 1, stop: &|| false, progress: &notes };
    let made = compare(Data { dataset: &dataset, refit: None }, course).unwrap();
    let notes = notes.take();
    let forecast =
        notes.iter().position(|note| note.starts_with("with 15 test queries, differences in ndcg@10"));
    assert!(forecast.is_some(), "{notes:?}");
    let smallest = made.smallest_difference.unwrap();
    assert_eq!((smallest.queries, smallest.pairs), (15, 1));
    let values = |name: &str| Comparison::entry(&out, name).unwrap().per_query["ndcg@10"].clone();
    let deviation =
        matchrank_core::measure::significance::deviation_of_differences(&values("narrow"), &values("wide"));
    assert_eq!(Some(smallest.deviation), deviation);
    assert!(made.evidence().unwrap().starts_with("with 15 test queries, "));
    // All relevant documents have clicks; queries share no words with those of training but in groups.
    let bins: Vec<&String> = made.models[0].bins.names().collect();
    assert_eq!(bins, ["seen", "documents", "duplicates", "clicks", "length"]);
    assert_eq!(made.models[0].bins["documents"][0].bin, "relevant document seen");
}

/// Everything is chosen over folds of the judged queries, and learned from all of them in the end.
#[test]
fn few_validation_queries_are_dealt_to_folds() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = Made { graded: true, ..Made::default() }.dataset(folder.path(), "judged");
    let out = folder.path().join("out");
    let mut plan = plan(&[("a", 2), ("b", 3)]);
    for name in ["a+b+bm25", "listnet"] {
        plan.add(name).unwrap();
    }
    let plan = plan.finish().unwrap();
    let notes = Notes::default();
    let said = || notes.take().join("\n");
    let course = Course { plan: &plan, folder: &out, seed: 1, progress: &notes, stop: &|| false };
    let data = Data { dataset: &dataset, refit: None };
    let table = compare(data, course).unwrap();
    assert_eq!(table.models.len(), 5, "{:?}", table.left_out);
    assert_eq!(
        (table.split.folds, table.split.validation_queries, table.split.test_queries),
        (Some(5), 45, 15)
    );
    assert!(said().contains("15 validation queries: everything is chosen over 5 folds"));

    // Training and validation queries are what the models of the table learned from.
    let all = Dataset::open(&out.join("data").join("judged")).unwrap();
    assert_eq!((table.data.name.as_str(), &table.data.content_hash), ("judged", &all.manifest.content_hash));
    assert_eq!((all.manifest.statistics.n_x, all.manifest.statistics.n_judged_queries), (45, [0, 15]));
    let (model, _) = model_file::load(&Comparison::model(&out, "listnet")).unwrap();
    bind(&*model, &all, None, &Silent).unwrap().top(&["query1 shared2"], 3, &Silent).unwrap();

    // Every query is ranked by a model whose fold has nothing of it, and is validated on and trained on elsewhere.
    let texts: Vec<String> = dataset.queries().unwrap().into_iter().map(|query| query.text).collect();
    let mut n_absent = 0;
    for fold in 1..=5 {
        let fold = Dataset::open(&out.join("folds").join(format!("fold-{fold}"))).unwrap();
        let of = |rows: Vec<u32>| -> HashSet<&str> {
            rows.iter().map(|&row| texts[row as usize].as_str()).collect()
        };
        let trained = of(fold.responses().unwrap().iter().map(|pair| pair.query).collect());
        let judged = of(fold.judgments(Holdout::Validation).unwrap().iter().map(|pair| pair.query).collect());
        assert!(trained.is_disjoint(&judged));
        let absent: HashSet<&str> = texts[..45]
            .iter()
            .map(String::as_str)
            .filter(|text| !trained.contains(text) && !judged.contains(text))
            .collect();
        assert!(!absent.is_empty() && !judged.is_empty() && trained.len() > judged.len());
        n_absent += absent.len();
    }
    assert_eq!(n_absent, texts[..45].iter().collect::<HashSet<_>>().len(), "each text in one fold");

    // The same command keeps everything; a lost model of a fold is made again.
    assert_eq!(compare(data, course).unwrap(), table);
    assert_eq!(said().matches("kept from before").count(), 5);
    std::fs::remove_file(Comparison::chosen_fold(&out, "a", 3)).unwrap();
    let again = compare(data, course).unwrap();
    assert_eq!(said().matches("kept from before").count(), 4);
    assert_eq!(
        again.models.iter().map(|model| &model.test).collect::<Vec<_>>(),
        table.models.iter().map(|model| &model.test).collect::<Vec<_>>()
    );

    // No folds where they are not wanted, or cannot be made.
    let none = Plan { folds: Some(0), ..plan.clone() };
    let plain = compare(data, Course { plan: &none, ..course }).unwrap();
    assert_eq!((plain.split.folds, plain.split.validation_queries), (None, 15));
    let clicked = Made::default().dataset(folder.path(), "clicked");
    let data = Data { dataset: &clicked, refit: None };
    assert_eq!(compare(data, course).unwrap().split.folds, None);
    let asked = Plan { folds: Some(4), ..plan.clone() };
    let error = compare(data, Course { plan: &asked, ..course }).unwrap_err().to_string();
    assert!(error.contains("cannot be dealt to 4 folds"), "{error}");
    assert!(Plan { folds: Some(2), ..plan }.finish().unwrap_err().to_string().contains("3 to 20 folds"));
}

/// Over folds, a query depends on new documents if the model of its fold has no response to any of its relevant ones.
#[test]
fn over_folds_documents_are_new_to_the_model_of_the_fold() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let file = |name: &str, content: String| {
        std::fs::write(folder.join(name), content).unwrap();
        folder.join(name)
    };
    // Query i has the relevant document i % 17, so that most documents have two or three queries, and some folds lack one.
    let qrels = |queries: std::ops::Range<u32>| queries.map(|i| format!("q{i} 0 d{} 1\n", i % 17)).collect();
    let params = IngestParams {
        responses: vec![file("train.qrels", qrels(0..30))],
        documents: vec![file("docs.tsv", (0..20).map(|i| format!("d{i}\tdoc{i} word{}\n", i % 3)).collect())],
        queries: vec![file(
            "queries.tsv",
            (0..60).map(|i| format!("q{i}\tquery{i} word{}\n", i % 3)).collect(),
        )],
        judgments: vec![
            (Holdout::Validation, file("validation.qrels", qrels(30..45))),
            (Holdout::Test, file("test.qrels", qrels(45..60))),
        ],
        ..IngestParams::default()
    };
    ingest(&params, &folder.join("data"), false, &Silent).unwrap();
    let dataset = Dataset::open(&folder.join("data")).unwrap();
    let all = folder.join("all");
    let folds = PooledQueries::of(&dataset, 5, 1, [folder, &all]).unwrap().unwrap();
    let validation = Validation::of(&folds.pooled, 1, &Silent).unwrap().unwrap();
    let found = models::dependent(&folds.pooled, &validation, Some(&folds)).unwrap();

    let text = |i: u32| format!("query{i} word{}", i % 3);
    // The model of a fold learns from all but this fold and the next one.
    let learns = |fold: usize, i: u32| ![fold, (fold + 1) % 5].contains(&folds.fold(&text(i)));
    let is_new = |i: u32| !(0..45).any(|other| other % 17 == i % 17 && learns(folds.fold(&text(i)), other));
    let expected: HashSet<String> = (0..45).filter(|&i| is_new(i)).map(|i| format!("q{i}")).collect();
    assert!(!expected.is_empty() && expected.len() < 45, "{expected:?}");
    assert_eq!(found, expected);
}
