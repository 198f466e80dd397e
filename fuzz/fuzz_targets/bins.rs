//! Arbitrary bytes as bins of queries: never a panic, and what is read can be written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_core::measure::bins;

fuzz_target!(|bytes: &[u8]| {
    let Ok(read) = bins::parse("fuzz", bytes) else { return };
    let text = std::str::from_utf8(bytes).expect("bins are UTF-8");
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let ids = text.split(['\n', '\t']).map(str::trim);
    let pairs: Vec<_> = ids.filter_map(|id| Some((id, read.label(id)?))).collect();
    let lines: String = pairs.iter().map(|(id, label)| format!("\n{id}\t{label}")).collect();
    let again = bins::parse("fuzz", lines.as_bytes()).expect("what was written can be read");
    assert!(pairs.iter().all(|(id, label)| again.label(id) == Some(label)));
    assert_eq!(again.labels().count(), read.labels().count());
});
