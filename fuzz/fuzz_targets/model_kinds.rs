//! A golden model file, chosen by the first byte, with its arrays and metadata edited and the checksum made right:
//! an error, or a model that survives `save`, ranks and explains.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_fuzz::{file, models};

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    models::check(&file("model", &models::edited(bytes)));
});
