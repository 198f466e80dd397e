//! Arbitrary bytes as a click log. The first byte chooses the split, weights of events or a format of dates, the second
//! the format.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_engine::ingest::{IngestParams, SplitBy};
use matchrank_fuzz::{check_ingest, file, table};

const DOCUMENTS: &[u8] = b"id,title\nd1,red shoes\nd2,blue shoes\nd3,a table\n";

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let split = match first {
        b'q' => SplitBy::Query,
        b't' | b'd' => SplitBy::Time,
        _ => SplitBy::None,
    };
    let Some(clicks) = table("clicks", rest) else { return };
    let (clicks, documents) = (vec![clicks], vec![file("documents.csv", DOCUMENTS)]);
    let event_weights = (*first == b'e').then(|| ("click".to_owned(), 0.1)).into_iter().collect();
    let date_format = (*first == b'd').then(|| "%d/%m/%Y %H:%M".to_owned());
    // Little memory, so that partitions go to disk.
    let memory = 1 << 10;
    check_ingest(&IngestParams { clicks, documents, split, event_weights, date_format, memory, ..Default::default() });
});
