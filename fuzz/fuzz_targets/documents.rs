//! Arbitrary bytes as a collection. The first byte chooses the format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_engine::ingest::IngestParams;
use matchrank_fuzz::{check_ingest, file, table};

const CLICKS: &[u8] = b"query,document\nshoes,d1\nshoes,d2\nred,d1\n";

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    let Some(documents) = table("documents", bytes) else { return };
    let (clicks, documents) = (vec![file("clicks.csv", CLICKS)], vec![documents]);
    check_ingest(&IngestParams { clicks, documents, ..Default::default() });
});
