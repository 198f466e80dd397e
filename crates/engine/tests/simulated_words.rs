//! Artificial words pass through English stemming and stop words unchanged; English words of the simulated shop keep a
//! word that is no stop word.

use std::collections::HashSet;

use frostem::{Algorithm, Stemmer};
use matchrank_core::simulate::clicks::{ClickParams, Speller};
use matchrank_core::simulate::shop::{AUDIENCES, BRANDS, COLOURS, TYPES};

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

#[test]
fn words_of_the_shop_are_no_stop_words() {
    let stop: HashSet<&str> = stop_words::get("en").iter().copied().collect();
    let attributes = COLOURS.iter().chain(&AUDIENCES);
    let names = TYPES.iter().flat_map(|kind| kind.titles.iter().chain(kind.asked).chain(kind.materials));
    let names = names.chain(attributes.flat_map(|value| value.asked.iter().chain([&value.title])));
    let mut n = 0;
    for name in names.chain(&BRANDS) {
        let name = name.to_lowercase();
        assert!(!name.split(' ').all(|word| stop.contains(word)), "{name} would vanish");
        n += 1;
    }
    assert!(n > 200, "{n}");
}
