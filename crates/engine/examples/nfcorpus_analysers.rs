//! NDCG@10 of BM25 on the dev queries of NFCorpus under several analysers; how the defaults were chosen.
//!
//!     cargo run --release -p matchrank-engine --example nfcorpus_analysers

#![allow(clippy::print_stdout)]

use std::sync::Arc;

use matchrank_core::matching::Bm25Params;
use matchrank_core::progress::Silent;
use matchrank_engine::models::bm25::{Retriever, TextBm25};
use matchrank_engine::retrieval::Index;
use matchrank_engine::text::{Analyser, AnalyserParams, FieldWeights};

#[path = "../tests/nfcorpus_data/mod.rs"]
mod nfcorpus_data;

fn main() -> matchrank_engine::Result<()> {
    let Some(folder) = nfcorpus_data::folder() else {
        println!("no NFCorpus; set MATCHRANK_DATA to the folder that has nfcorpus/");
        return Ok(());
    };
    let corpus = nfcorpus_data::read(&folder, "dev");
    println!("{} documents, {} dev queries", corpus.documents.len(), corpus.queries.len());
    println!(
        "{:<12} {:<10} {:>6} {:>5} {:>5} {:>8}",
        "stop words", "stemmer", "ngrams", "k1", "b", "NDCG@10"
    );
    let fields = FieldWeights::equal(["text"])?;
    let run = |stop_words: Option<&str>, stemmer: Option<&str>, ngrams, params: Bm25Params| {
        let analyser = Analyser::new(&AnalyserParams {
            stop_words: stop_words.map(str::to_owned),
            stemmer: stemmer.map(str::to_owned),
            ngrams,
            ..Default::default()
        })?;
        let model = TextBm25::fit(&params, &analyser, &fields, &corpus.documents)?;
        let index = Index::in_memory(&analyser, &["text"], &corpus.documents, &Silent)?;
        let retriever = Retriever::new(Arc::new(index), &model)?;
        let mut total = 0.0;
        for (text, grades) in &corpus.queries {
            let hits = retriever.search(text, 10)?;
            total += nfcorpus_data::ndcg_at_10(hits.iter().map(|hit| hit.document), grades);
        }
        let ndcg = total / corpus.queries.len() as f64;
        let name = |language: Option<&str>| language.unwrap_or("-").to_owned();
        println!(
            "{:<12} {:<10} {ngrams:>6} {:>5} {:>5} {ndcg:>8.4}",
            name(stop_words),
            name(stemmer),
            params.k1,
            params.b
        );
        matchrank_engine::Result::Ok(())
    };
    for stop_words in [None, Some("english")] {
        for stemmer in [None, Some("english"), Some("porter"), Some("lovins")] {
            run(stop_words, stemmer, 1, Bm25Params::default())?;
        }
    }
    run(Some("english"), Some("english"), 2, Bm25Params::default())?;
    for (k1, b) in [(0.9, 0.4), (1.5, 0.75), (2.0, 0.75)] {
        run(Some("english"), Some("english"), 1, Bm25Params { k1, b })?;
    }
    Ok(())
}
