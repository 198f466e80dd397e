//! Simulated words pass through English stemming and stop words unchanged.

use std::collections::HashSet;

use frostem::{Algorithm, Stemmer};
use matchrank_core::simulate::clicks::{ClickParams, Speller};

#[test]
fn stemming_and_stop_words_leave_simulated_words_alone() {
    let stemmer = Stemmer::new(Algorithm::English);
    let stop: HashSet<&str> = stop_words::get("en").iter().copied().collect();
    for params in [ClickParams::small(), ClickParams::one_week(), ClickParams::half_year()] {
        let speller = Speller::new(params.topics);
        let mut seen = HashSet::new();
        for topic in 0..=params.topics {
            for index in 0..1_000 {
                let mut word = Vec::new();
                speller.spell(topic, index, &mut word);
                let word = String::from_utf8(word).unwrap();
                assert_eq!(stemmer.stem(&word), word.as_str());
                assert!(!stop.contains(word.as_str()), "{word} is a stop word");
                assert!(seen.insert(word));
            }
        }
    }
}
