//! Notes on models that cannot score documents without a training response.

use super::*;

/// Thirty queries click documents of their own; validation queries, with words of their own, look for the documents from
/// `first` on, of which those from 30 on were never clicked.
fn made(first: u32) -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let documents = (0..60).map(|i| format!("d{i}\tdocument{i} group{}\n", i % 6)).collect();
    let queries = (0..30).map(|i| format!("q{i}\tquery{i} kind{}\n", i % 6));
    let queries = queries.chain((0..20).map(|i| format!("v{i}\tkind{}\n", i % 6))).collect();
    let log = std::iter::once("query_id,document,clicks\n".to_owned())
        .chain((0..30).map(|i| format!("q{i},d{i},1\n")))
        .collect();
    let validation = (0..20).map(|i| format!("v{i} 0 d{} 1\n", first + i)).collect();
    let params = IngestParams {
        clicks: vec![file("log.csv", log)],
        documents: vec![file("docs.tsv", documents)],
        queries: vec![file("queries.tsv", queries)],
        judgments: vec![(crate::dataset::Holdout::Validation, file("validation.qrels", validation))],
        ..IngestParams::default()
    };
    ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
    let dataset = Dataset::open(&folder.path().join("data")).unwrap();
    (folder, dataset)
}

fn trained(kind: &str, dataset: &Dataset) -> Model {
    let settings: &[(String, Json)] = if kind == "pls" { &[("d".into(), 8u32.into())] } else { &[] };
    Recipe::new(kind, settings).unwrap().train(&Training::new(dataset, 1, &Silent)).unwrap()
}

#[test]
fn models_of_clicks_say_which_documents_they_cannot_find() {
    let (_folder, dataset) = made(25);
    for kind in ["clicks", "random-walk"] {
        assert_eq!(
            training_notes(&*trained(kind, &dataset), &dataset, 1).unwrap(),
            [format!(
                "30 of 60 documents have no training response, and {kind} gives these no score; 15 of 20 validation \
                 queries have no relevant document but these"
            )]
        );
    }
    // Every validation query has a relevant document that was clicked.
    let (_folder, dataset) = made(0);
    let notes = training_notes(&*trained("clicks", &dataset), &dataset, 1).unwrap();
    assert_eq!(notes, ["30 of 60 documents have no training response, and clicks gives these no score"]);
    assert_eq!(training_notes(&*trained("bm25", &dataset), &dataset, 1).unwrap(), Vec::<String>::new());
}

#[test]
fn latent_models_are_measured_on_documents_without_a_response() {
    let (_folder, dataset) = made(25);
    let pls = trained("pls", &dataset);
    let notes = training_notes(&*pls, &dataset, 1).unwrap();
    let note = notes.iter().find(|note| note.starts_with("30 of 60")).unwrap_or_else(|| panic!("{notes:?}"));
    assert!(
        note.starts_with(
            "30 of 60 documents have no training response; 15 of 20 validation queries have no relevant document but \
             these, and for them ndcg@10 of pls is "
        ),
        "{note}"
    );
    // The figures of the note are those of the two groups of queries: together the validation figure.
    let figure = |start: &str| -> f64 {
        let rest = note.split_once(start).unwrap().1;
        rest[..6].parse().unwrap()
    };
    let others: f64 =
        note.split_once(" for the others").unwrap().0.rsplit(' ').next().unwrap().parse().unwrap();
    let unseen = figure("of pls is ");
    let all = pls.validation().unwrap();
    assert!((0.75 * unseen + 0.25 * others - all).abs() < 1e-4, "{note}: {all}");
    // Four such queries are too few to measure, which is said.
    let (_folder, dataset) = made(14);
    let pls = trained("pls", &dataset);
    let notes = training_notes(&*pls, &dataset, 1).unwrap();
    let is_said = |note: &String| note.contains("too few validation queries depend on them");
    assert!(
        notes.iter().any(is_said) && !notes.iter().any(|note| note.contains("ndcg@10 of pls is")),
        "{notes:?}"
    );
}

#[test]
fn parts_decide_and_a_figure_of_zero_is_said() {
    let (_folder, dataset) = made(40);
    let [clicks, pls, bm25] = ["clicks", "pls", "bm25"].map(|kind| trained(kind, &dataset));
    let both = |first: &Model, second: &Model| {
        let trial = WeightTrial { weights: vec![0.5, 0.5], validation: 0.0 };
        let sum = Combination::of_two(0.5, [first.clone(), second.clone()]).unwrap();
        Combination { trials: vec![trial], ..sum }
    };
    assert_eq!(unseen_documents(&*clicks), UnseenDocuments::Unscored);
    assert_eq!(unseen_documents(&both(&clicks, &clicks)), UnseenDocuments::Unscored);
    assert_eq!(unseen_documents(&both(&clicks, &pls)), UnseenDocuments::Learned);
    assert_eq!(unseen_documents(&both(&bm25, &pls)), UnseenDocuments::Scored);
    let notes = training_notes(&both(&bm25, &clicks), &dataset, 1).unwrap();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].starts_with("validation ndcg@10 is 0: "), "{notes:?}");
    let validation = Validation::of(&dataset, 1, &Silent).unwrap().unwrap();
    assert_eq!(note_on_zero(&validation, 0.01), None);
    assert_eq!(note_on_zero(&validation.by("mre".parse().unwrap()), 0.0), None, "0 is the best");
}
