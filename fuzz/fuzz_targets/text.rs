//! Arbitrary text, with a stemmer and n-grams chosen by its first byte: tokens are not empty, hold no blank
//! of their own and come out the same twice; normalising a query again changes nothing.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use matchrank_engine::text::{Analyser, AnalyserParams, normalise_query};

const LANGUAGES: [&str; 7] = ["english", "german", "french", "russian", "turkish", "arabic", "porter"];

fn analysers() -> Vec<Analyser> {
    let stemmers = LANGUAGES.map(|language| Some(language.to_owned())).into_iter().chain([None]);
    let params = stemmers.enumerate().map(|(i, stemmer)| AnalyserParams {
        stemmer,
        ngrams: 1 + i % 3,
        nfkc: i % 2 == 0,
        ..Default::default()
    });
    params.map(|params| Analyser::new(&params).expect("known languages")).collect()
}

fuzz_target!(|text: &str| {
    static ANALYSERS: OnceLock<Vec<Analyser>> = OnceLock::new();
    let analysers = ANALYSERS.get_or_init(analysers);
    let analyser = &analysers[usize::from(text.bytes().next().unwrap_or(0)) % analysers.len()];
    let tokens = analyser.collect(text);
    assert!(tokens.iter().all(|token| token.split(' ').all(|part| !part.is_empty())), "{tokens:?}");
    assert_eq!(analyser.collect(text), tokens);
    let query = normalise_query(text);
    assert_eq!(normalise_query(&query), query);
});
