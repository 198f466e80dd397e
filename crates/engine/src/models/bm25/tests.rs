//! Retrieval against brute force with core's BM25.

use std::sync::Arc;

use matchrank_core::matching::Bm25Params;
use matchrank_core::progress::Silent;
use proptest::prelude::*;

use super::{Retriever, TextBm25};
use crate::retrieval::Index;
use crate::scoring::Hit;
use crate::text::{Analyser, AnalyserParams, FieldWeights};

type Document = [String; 2];

/// Words `w0`, `w1`, ... where small numbers are frequent, as in language.
fn text(longest: usize) -> impl Strategy<Value = String> {
    let word = (0.0f64..1.0).prop_map(|u| format!("w{}", (60.0 * u * u * u * u) as u32));
    prop::collection::vec(word, 0..longest).prop_map(|words| words.join(" "))
}

fn check(
    documents: &[Document],
    queries: &[String],
    k: usize,
    weights: &[(&str, f32)],
    params: Bm25Params,
) -> std::result::Result<(), TestCaseError> {
    check_with(&AnalyserParams::plain(), documents, queries, k, (weights, params))
}

fn check_with(
    analyser: &AnalyserParams,
    documents: &[Document],
    queries: &[String],
    k: usize,
    (weights, params): (&[(&str, f32)], Bm25Params),
) -> std::result::Result<(), TestCaseError> {
    let analyser = Analyser::new(analyser).unwrap();
    let fields = FieldWeights::new(weights.iter().map(|&(name, weight)| (name, weight))).unwrap();
    // The model sees its weighted fields in its own order; the index has both, in another order.
    let order: Vec<usize> = weights.iter().map(|(name, _)| usize::from(*name == "body")).collect();
    let seen =
        |document: &Document| -> Vec<String> { order.iter().map(|&at| document[at].clone()).collect() };
    let model = TextBm25::fit(&params, &analyser, &fields, documents.iter().map(seen)).unwrap();
    let index = Index::in_memory(&analyser, &["title", "body"], documents, &Silent).unwrap();
    let retriever = Retriever::new(Arc::new(index), &model).unwrap();
    let found = retriever.search_all(queries, k).unwrap();
    for (query, found) in queries.iter().zip(found) {
        let mut expected: Vec<Hit> = (0..)
            .zip(documents)
            .map(|(number, document)| Hit {
                document: number,
                score: model.score(query, &seen(document)) as f32,
            })
            .filter(|hit| hit.score > 0.0)
            .collect();
        expected.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
        expected.truncate(k);
        prop_assert_eq!(&found, &expected, "{}", query);
        prop_assert_eq!(&retriever.search(query, k).unwrap(), &expected);
    }
    Ok(())
}

fn weights() -> impl Strategy<Value = Vec<(&'static str, f32)>> {
    prop_oneof![
        Just(vec![("body", 1.0)]),
        Just(vec![("title", 2.5)]),
        Just(vec![("title", 3.0), ("body", 0.7)]),
        Just(vec![("body", 0.1), ("title", 1.3)]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn retrieval_is_brute_force(
        documents in prop::collection::vec([text(4), text(12)], 0..60),
        queries in prop::collection::vec(text(7), 1..5),
        k in 0usize..20, weights in weights(), k1 in 0f64..3.0, b in 0f64..=1.0,
    ) {
        check(&documents, &queries, k, &weights, Bm25Params { k1, b })?;
    }
}

/// Words of four languages, with function words.
fn mixed_text(longest: usize) -> impl Strategy<Value = String> {
    let words = [
        "the", "jackets", "with", "mit", "Jacken", "der", "zapatos", "niña", "de", "la", "茶杯", "hat",
        "batería",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..longest).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever the languages of documents and fields are, the score is BM25 of their tokens.
    #[test]
    fn retrieval_in_several_languages_is_brute_force(
        documents in prop::collection::vec([mixed_text(4), mixed_text(9)], 0..40),
        queries in prop::collection::vec(mixed_text(5), 1..5), of_field in any::<bool>(),
    ) {
        let mut analyser = AnalyserParams::for_languages(&["english", "german", "spanish", "chinese"]).unwrap();
        if of_field {
            analyser.field_languages.insert("title".into(), "german".into());
        }
        let weights = [("title", 3.0), ("body", 0.7)];
        check_with(&analyser, &documents, &queries, 10, (&weights, Bm25Params::default()))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 20, ..ProptestConfig::default() })]

    /// Several windows, frequent terms with measured bounds, thresholds that leave terms out.
    #[test]
    fn retrieval_is_brute_force_over_many_documents(
        some in prop::collection::vec([text(4), text(10)], 500..700),
        queries in prop::collection::vec(text(9), 6..12),
        k in prop::sample::select(vec![1usize, 3, 10, 200]), weights in weights(), step in 1usize..9,
    ) {
        // Repeated with words left out here and there, so that there are ties and near ties.
        let documents: Vec<Document> = (0..9000)
            .map(|at| {
                let [title, body] = &some[at * step % some.len()];
                [title.clone(), body.split(' ').skip(at / some.len() % 3).collect::<Vec<_>>().join(" ")]
            })
            .collect();
        check(&documents, &queries, k, &weights, Bm25Params::default())?;
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let plain = Analyser::new(&AnalyserParams::plain()).unwrap();
    let english = Analyser::new(&AnalyserParams::default()).unwrap();
    let index = Arc::new(Index::in_memory(&plain, &["text"], [["a b"]], &Silent).unwrap());
    let model = |analyser, field| {
        let fields = FieldWeights::equal([field]).unwrap();
        TextBm25::fit(&Bm25Params::default(), analyser, &fields, [["a b"]]).unwrap()
    };
    let refused = |model: &TextBm25| Retriever::new(index.clone(), model).err().unwrap().to_string();
    assert!(refused(&model(&english, "text")).contains("a different analyser"));
    assert!(refused(&model(&plain, "title")).contains("no field \"title\""));
    let fitting = model(&plain, "text");
    let retriever = Retriever::new(index.clone(), &fitting).unwrap();
    assert_eq!(retriever.search("unknown words", 5).unwrap(), []);
    assert_eq!(retriever.search("", 5).unwrap(), []);
    assert_eq!(retriever.search("a", 5).unwrap().len(), 1);
}
