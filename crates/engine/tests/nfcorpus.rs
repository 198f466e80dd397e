//! BM25 on NFCorpus: what the analyser and the retrieval are worth on real queries.

use std::sync::Arc;

use matchrank_core::matching::Bm25Params;
use matchrank_core::progress::Silent;
use matchrank_engine::models::bm25::{Retriever, TextBm25};
use matchrank_engine::retrieval::Index;
use matchrank_engine::text::{Analyser, AnalyserParams, FieldWeights};

mod nfcorpus_data;

/// bm25s reaches 0.331 with a stemmer and 0.312 without on the same queries and grades.
#[test]
#[allow(clippy::print_stderr)]
fn bm25_finds_what_it_should() {
    let Some(folder) = nfcorpus_data::folder() else {
        eprintln!("skipped: no NFCorpus; set MATCHRANK_DATA to the folder that has nfcorpus/");
        return;
    };
    let corpus = nfcorpus_data::read(&folder, "test");
    assert_eq!((corpus.documents.len(), corpus.queries.len()), (3395, 325));
    let analyser = Analyser::new(&AnalyserParams::default()).unwrap();
    let fields = FieldWeights::equal(["text"]).unwrap();
    let model = TextBm25::fit(&Bm25Params::default(), &analyser, &fields, &corpus.documents).unwrap();
    let index = Index::in_memory(&analyser, &["text"], &corpus.documents, &Silent).unwrap();
    let retriever = Retriever::new(Arc::new(index), &model).unwrap();

    let mut total = 0.0;
    for (text, grades) in &corpus.queries {
        let hits = retriever.search(text, 10).unwrap();
        for hit in &hits {
            let score = retriever.model().score(text, &corpus.documents[hit.document as usize]) as f32;
            assert_eq!(hit.score, score, "{text}");
        }
        total += nfcorpus_data::ndcg_at_10(hits.iter().map(|hit| hit.document), grades);
    }
    let ndcg = total / corpus.queries.len() as f64;
    assert!(ndcg >= 0.325, "NDCG@10 {ndcg:.4}");
}
