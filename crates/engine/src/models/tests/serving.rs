//! Models that are served: snapshots of documents, against matchers of whole datasets.

use matchrank_core::progress::Silent;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::json;

use super::*;
use crate::serving::{Candidate, Collection, DocumentChange, Filter, Served};

fn put(id: &str, text: &str) -> DocumentChange {
    let serde_json::Value::Object(fields) =
        json!({ "text": text, "brand": ["acme", id], "price": text.len() })
    else {
        unreachable!("an object")
    };
    DocumentChange::Put { id: id.to_owned(), fields }
}

fn delete(id: &str) -> DocumentChange {
    DocumentChange::Delete { id: id.to_owned() }
}

fn served(model: &Model, collection: &Arc<Collection>) -> Served {
    Served::bind(model.clone(), collection.clone(), 1 << 30, &Silent).unwrap()
}

/// Scores and ids, the best first, equal scores by id.
fn by_id(hits: Vec<Hit>, id: impl Fn(u32) -> String) -> Vec<(f32, String)> {
    let mut named: Vec<(f32, String)> = hits.iter().map(|hit| (hit.score, id(hit.document))).collect();
    named.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    named
}

#[test]
fn a_served_model_ranks_as_its_matcher() {
    let (_folder, dataset) = dataset();
    let collection = Arc::new(Collection::open(Dataset::open(dataset.folder()).unwrap(), &Silent).unwrap());
    for model in models(&dataset) {
        let kind = model.kind();
        let matcher = bind(&*model, &dataset, None, &Silent).unwrap();
        let served = served(&model, &collection);
        let documents = [7, 2400, 1, 1100];
        for query in QUERIES {
            let expected = matcher.top(&[query], 30, &Silent).unwrap().remove(0);
            let found = served.top(query, 30, None).unwrap();
            let scores = |hits: &[Hit]| hits.iter().map(|hit| hit.score).collect::<Vec<_>>();
            assert!(close(&scores(&found), &scores(&expected)), "{kind}: {query}\n{found:?}\n{expected:?}");
            let mut listed = [0.0; 4];
            matcher.begin(&[query]).unwrap().list(0, &documents, &mut listed);
            let known = documents.map(Candidate::Known);
            let scored = served.score(query, &known).unwrap();
            let scored: Vec<f32> = scored.into_iter().map(|score| score.unwrap_or(f32::NAN)).collect();
            assert!(close(&scored, &listed), "{kind}: {query} {scored:?} {listed:?}");
            let explained = served.explain_in_list(query, &known, &[0, 1, 2, 3]).unwrap();
            let explained: Vec<f32> = explained.iter().map(|why| why.score.unwrap_or(f32::NAN)).collect();
            assert!(close(&explained, &listed), "{kind}: {query} {explained:?} {listed:?}");
            let explained = served.explain(query, &Candidate::Known(7)).unwrap();
            let expected = matcher.explain(query, 7).unwrap();
            let scores = [explained.score, expected.score].map(|score| score.unwrap_or(f32::NAN));
            assert!(close(&scores[..1], &scores[1..]), "{kind}: {query} {scores:?}");
        }
    }
}

/// A snapshot after changes ranks as a matcher of the dataset that `ingest` makes of the changed documents.
#[test]
fn a_changed_collection_is_a_dataset_with_the_changes() {
    let (folder, first) = dataset();
    let mut texts: Vec<(String, String)> = std::fs::read_to_string(folder.path().join("docs.tsv"))
        .unwrap()
        .lines()
        .map(|line| line.split_once('\t').map(|(id, text)| (id.to_owned(), text.to_owned())).unwrap())
        .collect();
    let mut changes = Vec::new();
    for number in [3usize, 11, 1500, 2499] {
        texts[number].1 = format!("w1 w2 w{number} w16");
    }
    for number in 0..90 {
        texts.push((format!("new{number}"), format!("w{} w3 w21", number % 40)));
    }
    let removed = ["d5", "d22", "d2000"];
    texts.retain(|(id, _)| !removed.contains(&id.as_str()));
    for (id, text) in &texts {
        if id.starts_with("new") || ["d3", "d11", "d1500", "d2499"].contains(&id.as_str()) {
            changes.push(put(id, text));
        }
    }
    changes.extend(removed.map(delete));
    let path = |name: &str| folder.path().join(name);
    let documents: String = texts.iter().map(|(id, text)| format!("{id}\t{text}\n")).collect();
    std::fs::write(path("changed.tsv"), documents).unwrap();
    let params = IngestParams {
        clicks: vec![path("log.csv")],
        documents: vec![path("changed.tsv")],
        queries: vec![path("queries.tsv")],
        split: SplitBy::Time,
        ..IngestParams::default()
    };
    ingest(&params, &path("changed"), false, &Silent).unwrap();
    let second = Dataset::open(&path("changed")).unwrap();
    let ids = second.document_ids().unwrap();
    let models = models(&first);
    let collection = Arc::new(Collection::open(first, &Silent).unwrap());
    // One change at a time, and several.
    let mut changed = (*collection).clone();
    for change in &changes[..20] {
        changed = changed.with(std::slice::from_ref(change)).unwrap();
    }
    for changes in changes[20..].chunks(13) {
        changed = changed.with(changes).unwrap();
    }
    assert_eq!(changed.n_documents() as usize, texts.len());
    let changed = Arc::new(changed);
    for model in models {
        let kind = model.kind();
        // A combination takes means over hidden documents, and RM3 takes words from documents of the dataset alone.
        let has = |kind: &str| format!("{model:?}").contains(kind);
        if kind == "combination" || has("Rm3Model") {
            continue;
        }
        let matcher = bind(&*model, &second, None, &Silent).unwrap();
        let served = served(&model, &collection).rebound(changed.clone()).unwrap();
        for query in QUERIES {
            let expected = matcher.top(&[query], 3000, &Silent).unwrap().remove(0);
            let expected = by_id(expected, |document| ids[document as usize].clone());
            let found =
                by_id(served.top(query, 3000, None).unwrap(), |document| changed.id(document).to_owned());
            assert_eq!(found.len(), expected.len(), "{kind}: {query}");
            for ((score, id), (other, _)) in found.iter().zip(&expected) {
                assert!((score - other).abs() < 1e-4, "{kind}: {query} {id} {score} {other}");
                let own = expected.iter().find(|(_, other)| other == id);
                assert!(own.is_some_and(|(own, _)| (own - score).abs() < 1e-4), "{kind}: {query} {id}");
            }
        }
    }
}

#[test]
fn random_changes_leave_what_an_obvious_map_has() {
    let (_folder, dataset) = dataset();
    let bm25: Model = Arc::new(TextBm25::of_dataset(&Bm25Params::default(), &dataset).unwrap());
    let texts: Vec<String> = dataset.texts().unwrap().map(|texts| texts.unwrap().remove(0)).collect();
    let mut map: std::collections::BTreeMap<String, String> =
        dataset.document_ids().unwrap().into_iter().zip(texts).collect();
    let mut collection = Arc::new(Collection::open(dataset, &Silent).unwrap());
    let mut served = served(&bm25, &collection);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    for step in 0..60 {
        let mut changes = Vec::new();
        for _ in 0..rng.random_range(1..8) {
            let id = format!("{}{}", if rng.random::<bool>() { "d" } else { "x" }, rng.random_range(0..60));
            if rng.random::<f64>() < 0.3 {
                map.remove(&id);
                changes.push(delete(&id));
            } else {
                let text = format!("w{} w{}", rng.random_range(0..6), rng.random_range(0..40));
                map.insert(id.clone(), text.clone());
                changes.push(put(&id, &text));
            }
        }
        collection = Arc::new(collection.with(&changes).unwrap());
        served = served.rebound(collection.clone()).unwrap();
        assert_eq!(collection.n_documents() as usize, map.len(), "step {step}");
        assert!(collection.chunks() <= 8, "few chunks, not {}", collection.chunks());
        for change in &changes {
            let found = collection.find(change.id());
            assert_eq!(
                found.map(|number| collection.text(number, "text")),
                map.get(change.id()).map(String::as_str)
            );
            assert!(found.is_none_or(|number| collection.id(number) == change.id()));
        }
        let model = crate::models::find_part::<TextBm25>(&*bm25).unwrap();
        let mut expected: Vec<(f32, String)> = map
            .iter()
            .map(|(id, text)| (model.score("w3 w1", &[text]) as f32, id.clone()))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        expected.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let found =
            by_id(served.top("w3 w1", 3000, None).unwrap(), |document| collection.id(document).to_owned());
        assert_eq!(found, expected, "step {step}");
    }
}

#[test]
fn filters_hold_before_the_best_are_taken() {
    let (_folder, dataset) = dataset();
    let all = models(&dataset);
    let collection = Collection::open(dataset, &Silent).unwrap();
    let new: Vec<DocumentChange> = (0..40).map(|i| put(&format!("x{i}"), &format!("w3 w{i}"))).collect();
    let collection = Arc::new(collection.with(&new).unwrap());
    let filter = |json: serde_json::Value| serde_json::from_value::<Filter>(json).unwrap();
    let ids = |filter: &Filter| collection.allowed(filter).unwrap();
    assert_eq!(ids(&filter(json!({ "brand": "x7" }))).len(), 1);
    assert_eq!(ids(&filter(json!({ "brand": ["x7", "x8", "none"] }))).len(), 2);
    assert_eq!(ids(&filter(json!({ "brand": "acme", "price": { "gte": 6 } }))).len(), 30);
    assert!(ids(&filter(json!({ "price": { "gt": 5, "lt": 6 } }))).is_empty());
    assert_eq!(ids(&filter(json!({ "price": 5 }))).len(), 10);
    for (wrong, part) in [
        (json!({ "colour": "red" }), "no document has"),
        (json!({ "brand": [] }), "lists no value"),
        (json!({ "price": {} }), "no bound"),
        (json!({ "brand": null }), "is no text"),
    ] {
        let message = collection.allowed(&filter(wrong)).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let allowed = ids(&filter(json!({ "brand": ["x3", "x21", "x39"] })));
    for model in all {
        let served = served(&model, &collection);
        let hits = served.top("w3 w21 w16", 100, Some(&allowed)).unwrap();
        let known = ["lsi-qd", "random-walk"].contains(&model.kind());
        assert!(known || !hits.is_empty(), "{}", model.kind());
        let names: Vec<&str> = hits.iter().map(|hit| collection.id(hit.document)).collect();
        assert!(names.iter().all(|id| ["x3", "x21", "x39"].contains(id)), "{}: {names:?}", model.kind());
    }
}

#[test]
fn texts_of_nobody_are_scored() {
    let (_folder, dataset) = dataset();
    let all = models(&dataset);
    let collection = Arc::new(Collection::open(dataset, &Silent).unwrap());
    for model in all {
        let served = served(&model, &collection);
        // Nobody clicked these, so their texts say all about them.
        let numbers = [1300u32, 2000, 2450];
        let known = numbers.map(Candidate::Known);
        let fields = numbers.map(|number| [("text", collection.text(number, "text"))]);
        let texts = [0, 1, 2].map(|i| Candidate::Text(&fields[i]));
        for query in QUERIES {
            let [known, texts] = [&known, &texts].map(|list| served.score(query, list).unwrap());
            let [known, texts] = [known, texts].map(|scores| {
                scores.into_iter().map(|score| score.unwrap_or(f32::NAN)).collect::<Vec<f32>>()
            });
            assert!(close(&known, &texts), "{}: {query} {known:?} {texts:?}", model.kind());
        }
        let mixed = [known[0], texts[1], texts[0]];
        let scores = served.score(QUERIES[0], &mixed).unwrap();
        let explained = served.explain_in_list(QUERIES[0], &mixed, &[2, 0, 1]).unwrap();
        let explained: Vec<f32> = explained.iter().map(|why| why.score.unwrap_or(f32::NAN)).collect();
        let scores = [2, 0, 1].map(|place: usize| scores[place].unwrap_or(f32::NAN));
        assert!(close(&explained, &scores), "{}: {explained:?} {scores:?}", model.kind());
        let explained = served.explain(QUERIES[0], &texts[0]).unwrap();
        if !["combination", "stack"].contains(&model.kind()) {
            let score = served.score(QUERIES[0], &texts[..1]).unwrap()[0];
            let both = [score, explained.score].map(|score| score.unwrap_or(f32::NAN));
            assert!(close(&both[..1], &both[1..]), "{}", model.kind());
        }
    }
}

/// Explanations of hits are those of their scores, with removed documents and with a filter.
#[test]
fn hits_are_explained_by_their_scores() {
    let (_folder, dataset) = dataset();
    let models = models(&dataset);
    let collection = Arc::new(Collection::open(dataset, &Silent).unwrap());
    let mut changes: Vec<DocumentChange> =
        (0..60).map(|n| put(&format!("new{n}"), &format!("w{} w3 w21", n % 40))).collect();
    changes.extend((0..40).map(|n| delete(&format!("d{}", 3 * n))));
    changes.extend((0..20).map(|n| put(&format!("d{}", 3 * n + 1), "w1 w2 w16")));
    let changed = Arc::new(collection.with(&changes).unwrap());
    let filter: Filter = serde_json::from_value(json!({"brand": "acme"})).unwrap();
    let allowed = changed.allowed(&filter).unwrap();
    for model in models {
        let served = served(&model, &collection).rebound(changed.clone()).unwrap();
        for (query, allowed) in QUERIES.iter().flat_map(|query| [(query, None), (query, Some(&allowed))]) {
            let hits = served.top(query, 20, allowed).unwrap();
            let documents: Vec<u32> = hits.iter().map(|hit| hit.document).collect();
            let explained = served.explain_among(query, &documents, allowed).unwrap();
            let scores: Vec<f32> = hits.iter().map(|hit| hit.score).collect();
            let explained: Vec<f32> = explained.iter().map(|why| why.score.unwrap_or(f32::NAN)).collect();
            assert!(close(&explained, &scores), "{}: {query} {explained:?} {scores:?}", model.kind());
        }
    }
}
