//! Arbitrary bytes as a click log. The first byte chooses the split, the second the format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_engine::ingest::{IngestParams, SplitBy};
use matchrank_fuzz::{check_ingest, file, table};

const DOCUMENTS: &[u8] = b"id,title\nd1,red shoes\nd2,blue shoes\nd3,a table\n";

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let split = match first {
        b'q' => SplitBy::Query,
        b't' => SplitBy::Time,
        _ => SplitBy::None,
    };
    let Some(clicks) = table("clicks", rest) else { return };
    let (clicks, documents) = (vec![clicks], vec![file("documents.csv", DOCUMENTS)]);
    // Little memory, so that partitions go to disk.
    check_ingest(&IngestParams { clicks, documents, split, memory: 1 << 10, ..Default::default() });
});
