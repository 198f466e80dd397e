//! Arbitrary bytes as a file to examine; the first byte chooses the kind. Never a panic, every finding says
//! something, and a file without an error or a warning is one that the strict parser takes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_core::data::{letor, qrels, run};
use matchrank_core::progress::Silent;
use matchrank_engine::doctor::{FileKind, Severity, examine};
use matchrank_engine::files;

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let kind = match first {
        b'l' => Some(FileKind::Letor),
        b'q' => Some(FileKind::Qrels),
        b'r' => Some(FileKind::Run),
        _ => None,
    };
    let path = matchrank_fuzz::file("examined", rest);
    let Ok(reports) = examine(&[&path, &path], kind, &Silent) else { return };
    assert!(reports.iter().flat_map(|r| &r.findings).all(|f| f.count > 0 && !f.message.is_empty()));
    if reports[0].findings.iter().all(|f| f.severity == Severity::Info) {
        let bytes = files::read_all(&path).expect("it was read before");
        match reports[0].kind {
            Some(FileKind::Letor) => drop(letor::parse("fuzz", &bytes, &Silent).expect("accepted")),
            Some(FileKind::Qrels) => drop(qrels::parse("fuzz", &bytes).expect("accepted")),
            Some(FileKind::Run) => {
                let run = run::parse("fuzz", &bytes).expect("accepted");
                (0..run.n_queries()).for_each(|i| run.read(i, &mut Vec::new()).expect("accepted"));
            }
            _ => {}
        }
    }
});
