//! Arbitrary bytes as queries up to the first byte 0, and as judgments after it. The first byte of each
//! chooses the format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_engine::dataset::Holdout;
use matchrank_engine::ingest::IngestParams;
use matchrank_fuzz::{check_ingest, file, table};

const DOCUMENTS: &[u8] = b"id,title\nd1,red shoes\nd2,blue shoes\nd3,a table\n";

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let Some(queries) = table("queries", parts.next().unwrap_or_default()) else { return };
    let Some(graded) = table("judgments", parts.next().unwrap_or_default()) else { return };
    check_ingest(&IngestParams {
        documents: vec![file("documents.csv", DOCUMENTS)],
        queries: vec![queries],
        responses: vec![graded.clone()],
        judgments: vec![(Holdout::Validation, graded.clone()), (Holdout::Test, graded)],
        ..Default::default()
    });
});
