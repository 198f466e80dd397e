//! Arbitrary bytes as a model file, as they are and with the checksum made right: never a panic, and a model
//! that is accepted is the same after it was saved, ranks and explains.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_engine::model_file::load;
use matchrank_fuzz::{file, models};

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    let _ = load(&file("model", bytes));
    if let Some(bytes) = models::repaired(bytes.to_vec()) {
        models::check(&file("model", &bytes));
    }
});
