//! Arbitrary bytes as a LETOR file: never a panic, and what is read can be written and read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_core::data::letor;
use matchrank_core::progress::Silent;

fuzz_target!(|bytes: &[u8]| {
    let Ok(lists) = letor::parse("fuzz", bytes, &Silent) else { return };
    let mut written = Vec::new();
    letor::write("fuzz", &lists, &mut written).expect("what was read can be written");
    let again = letor::parse("fuzz", &written, &Silent).expect("what was written can be read");
    assert!(again == lists, "the round trip changed the lists");
});
