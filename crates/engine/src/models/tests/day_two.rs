//! A model meets the next day's dataset: documents have come and gone, and rows have other numbers.

use super::*;
use crate::model_file::{Provenance, load, save};
use crate::models::training_tests::{all, checkerboard};

/// The checkerboard with other documents before, between and after its own, without its last document, and with a query
/// that nobody asked before.
fn next_day(folder: &std::path::Path) -> Dataset {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let write = |name: &str, content: String| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let mut documents = "new0\tdoceven0 docodd1\n".to_owned();
    for (i, line) in read("docs.tsv").lines().take(19).enumerate() {
        documents += &format!("{line}\nnew{}\tdoceven{} other\n", i + 1, i % 3);
    }
    let clicks: String = read("log.csv")
        .lines()
        .filter(|line| !line.contains(",d19,"))
        .fold(String::new(), |all, line| all + line + "\n");
    let queries = format!("other\tqueryodd1 queryeven3\n{}", read("queries.tsv"));
    let params = IngestParams {
        clicks: vec![write("log2.csv", clicks + "other,new3,5\nq1,new4,2\n")],
        documents: vec![write("docs2.tsv", documents)],
        queries: vec![write("queries2.tsv", queries)],
        ..IngestParams::default()
    };
    ingest(&params, &folder.join("next"), false, &Silent).unwrap();
    Dataset::open(&folder.join("next")).unwrap()
}

/// Scores of all documents for a query, by id.
fn scores(model: &dyn MatchingModel, dataset: &Dataset, query: &str) -> Vec<(String, f32)> {
    let matcher = bind(model, dataset, None, &Silent).unwrap();
    let ids = dataset.document_ids().unwrap();
    let mut scores = vec![0.0; ids.len()];
    let rows: Vec<u32> = (0..ids.len() as u32).collect();
    let scorer = matcher.begin(&[query]).unwrap();
    scorer.list(0, &rows, &mut scores);
    let mut blocks = vec![0.0; ids.len()];
    scorer.block(0..ids.len() as u32, &mut blocks);
    for (list, block) in scores.iter().zip(&blocks) {
        assert!((list - block).abs() < 1e-4 || (list.is_nan() && block.is_nan()), "{list} {block}");
    }
    ids.into_iter().zip(scores).collect()
}

#[test]
fn click_features_are_found_by_ids_and_texts() {
    let (folder, today) = checkerboard(true);
    let tomorrow = next_day(folder.path());
    // LSI of words has no click features.
    for model in all(&today, 1).into_iter().filter(|model| model.kind.name != "lsi-dt") {
        let kind = model.kind.name;
        let path = folder.path().join("model");
        save(&path, &model as &dyn MatchingModel, &Provenance::default()).unwrap();
        let (loaded, _) = load(&path).unwrap();
        // An even query clicked no document that is gone or new; so its features are the same.
        for query in ["queryeven0 queryeven0", "queryeven2 queryeven4"] {
            let (before, after) = (scores(&model, &today, query), scores(&*loaded, &tomorrow, query));
            let mut n_compared = 0;
            for (id, score) in &before[..19] {
                let (_, found) = after.iter().find(|(other, _)| other == id).unwrap();
                assert_eq!(found.to_bits(), score.to_bits(), "{kind}: {query} {id}");
                n_compared += usize::from(*score != 0.0 && !score.is_nan());
            }
            assert!(n_compared > 8, "{kind}: {n_compared}");
            let is_scored = |id: &str| !after.iter().find(|(other, _)| other == id).unwrap().1.is_nan();
            assert_eq!(is_scored("new7"), kind != "lsi-qd", "{kind}: a document it never saw");
        }
        // A query that has clicks tomorrow only.
        let unknown = scores(&*loaded, &tomorrow, "queryodd1 queryeven3");
        assert_eq!(unknown.iter().all(|(_, score)| score.is_nan()), kind == "lsi-qd", "{kind}");
        explains_by_name(&*loaded, &tomorrow);
    }
}

/// Features of an explanation have the names that the dataset at hand gives them.
fn explains_by_name(model: &dyn MatchingModel, tomorrow: &Dataset) {
    let ids = tomorrow.document_ids().unwrap();
    let document = ids.iter().position(|id| id == "d4").unwrap();
    let matcher = bind(model, tomorrow, None, &Silent).unwrap();
    let explanation = matcher.explain("queryeven0 queryeven0", document as u32).unwrap();
    let Why::Pairs { pairs, .. } = explanation.why else { panic!("a latent model explains by pairs") };
    let queries = tomorrow.queries().unwrap();
    let responses = tomorrow.responses().unwrap();
    let own =
        responses.iter().filter(|response| queries[response.query as usize].text == "queryeven0 queryeven0");
    let clicked: Vec<&str> = own.map(|response| ids[response.document as usize].as_str()).collect();
    for pair in &pairs {
        if let Some(id) = pair.query_feature.strip_prefix("document:") {
            assert!(clicked.contains(&id), "{id} is none of {clicked:?}");
        }
        if let Some(text) = pair.document_feature.strip_prefix("query:") {
            assert!(text.starts_with("queryeven"), "{text} did not click d4");
        }
    }
    let named = |prefix: &str| pairs.iter().any(|pair| pair.query_feature.starts_with(prefix));
    assert!(named("document:") || named("query:"), "{}", model.kind());
}

#[test]
fn a_model_of_a_former_version_says_that_it_knows_words_alone() {
    let (folder, today) = checkerboard(true);
    let tomorrow = next_day(folder.path());
    let models = all(&today, 1);
    let mut former = models[1].clone();
    let Inputs::Features(features) = &former.inputs else { panic!("PLS knows words") };
    let words =
        Features::new(features.params(), features.words().clone(), features.source().clone()).unwrap();
    former.inputs = Inputs::Features(Box::new(words));
    let query = "queryeven0 queryeven0";
    assert_eq!(scores(&former, &today, query), scores(&models[1], &today, query));
    assert_ne!(scores(&former, &tomorrow, query)[1], scores(&models[1], &tomorrow, query)[1]);
    let mut former = models[3].clone();
    former.inputs = Inputs::Rows { source: former.inputs.source().clone(), keys: None };
    assert_eq!(
        format!("{:?}", scores(&former, &today, query)),
        format!("{:?}", scores(&models[3], &today, query))
    );
    let error = bind(&former, &tomorrow, None, &Silent).err().unwrap().to_string();
    assert!(error.contains("former version") && error.contains("train it"), "{error}");
}
