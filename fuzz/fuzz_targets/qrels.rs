//! Arbitrary bytes as judgments: never a panic, and what is read can be written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_core::data::qrels;

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    let Ok(judgments) = qrels::parse("fuzz", bytes) else { return };
    // After an empty line a mark that an id starts with is not taken for the byte order mark of the file.
    let mut written = b"\n".to_vec();
    judgments.write(&mut written).expect("what was read can be written");
    let again = qrels::parse("fuzz", &written).expect("what was written can be read");
    assert!(again.iter().eq(judgments.iter()), "the round trip changed the judgments");
});
