//! Arbitrary text as names of measures: never a panic, and a measure is known by the name it prints.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_core::measure::Measure;

fuzz_target!(|text: &str| {
    let Ok(measures) = Measure::parse_list(text) else { return };
    let printed: Vec<String> = measures.iter().map(Measure::to_string).collect();
    assert_eq!(Measure::parse_list(&printed.join(",")).expect("printed names are known"), measures);
});
