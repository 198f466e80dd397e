//! A process that is killed at any moment loses nothing that it acknowledged, applies nothing twice, and its model goes on
//! as if nothing had happened.
//!
//! `bench/service/kills.py` does the same many more times, with the real `matchrank update` and with full disks.

#[path = "../examples/store_load/load.rs"]
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "its output is read")]
mod load;
mod shop;

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use matchrank_engine::models::sparse_preference::Variant;
use matchrank_server::learning::export_lessons;
use matchrank_server::store::{LogSpan, Store, StoreError, StoreOptions};
use shop::Shop;

const KILLS: u64 = 6;

/// Run in a process of its own, which is killed.
#[test]
#[ignore = "started by the other test"]
fn appends_until_it_is_killed() {
    let at = |name: &str| env::var(name).unwrap();
    let (state, base, data) = (at("LOAD_STATE"), at("LOAD_BASE"), at("LOAD_DATA"));
    load::append(Path::new(&state), 8, Some((&base, &data))).unwrap();
}

/// Acknowledgements of a process: sequences of events by id, versions and sequences of documents.
#[derive(Default)]
struct Acknowledged {
    events: HashMap<String, u64>,
    documents: BTreeMap<String, (u64, String)>,
}

impl Acknowledged {
    fn note(&mut self, line: &str) {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["event", id, sequence] => {
                let sequence = sequence.parse().unwrap();
                let known = self.events.insert(id.to_owned(), sequence);
                assert!(known.is_none_or(|known| known == sequence), "{id} was stored twice");
            }
            ["document", id, version, sequence] => {
                self.documents.insert(id.to_owned(), (sequence.parse().unwrap(), version.to_owned()));
            }
            _ => {}
        }
    }

    fn check(&self, store: &Store) {
        let mut stored: HashMap<String, u64> = HashMap::new();
        store
            .for_each_event(LogSpan::ALL, |event| -> Result<(), StoreError> {
                let id = event.id.expect("all events have ids");
                assert!(stored.insert(id.clone(), event.sequence).is_none(), "{id} is there twice");
                Ok(())
            })
            .unwrap();
        for (id, sequence) in &self.events {
            assert_eq!(stored.get(id), Some(sequence), "{id} was acknowledged");
        }
        for (id, (sequence, version)) in &self.documents {
            let found = store.document(id).unwrap().expect("it was acknowledged");
            let is_later = found.sequence > *sequence;
            assert!(is_later || found.json.unwrap().contains(version.as_str()), "{id} {version}");
        }
    }
}

#[test]
fn kills_lose_nothing() {
    let shop = Shop::new(Variant::Sparse);
    let data = shop.folder.path().join("data");
    let mut acknowledged = Acknowledged::default();
    let mut random = 0x9e37_79b9_u64 ^ std::process::id() as u64;
    let mut n_tuples = 0;
    for _ in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "appends_until_it_is_killed", "--ignored", "--nocapture"])
            .env("LOAD_STATE", shop.state())
            .env("LOAD_BASE", &shop.words)
            .env("LOAD_DATA", &data)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut is_ready = false;
        let mut killer = Some(child);
        std::thread::scope(|scope| {
            let mut line = String::new();
            while lines.read_line(&mut line).unwrap() > 0 {
                // A line that the kill has cut was not received.
                let Some(whole) = line.strip_suffix('\n') else { break };
                if whole == "ready" && !is_ready {
                    is_ready = true;
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let pause = Duration::from_micros((random >> 33) % 500_000);
                    let mut child = killer.take().unwrap();
                    scope.spawn(move || {
                        std::thread::sleep(pause);
                        child.kill().unwrap();
                        child.wait().unwrap();
                    });
                }
                acknowledged.note(whole);
                line.clear();
            }
        });
        assert!(is_ready, "the process ended before it was killed");
        let store = load::open(&shop.state()).unwrap();
        acknowledged.check(&store);
        let model = (shop.words.to_str().unwrap(), data.to_str().unwrap());
        let mut learner = load::learner(&store, model).unwrap();
        learner.catch_up().unwrap();
        let online = shop.folder.path().join("online.model");
        learner.save_model(&online).unwrap();
        let mut tuples = Vec::new();
        let exported = export_lessons(&store, (LogSpan::ALL, load::WINDOW), Some(&mut tuples), None).unwrap();
        n_tuples = exported.n_tuples;
        let offline = shop.update_words(&String::from_utf8(tuples).unwrap());
        assert!(std::fs::read(&online).unwrap() == offline, "checkpoint and replay");
    }
    assert!(acknowledged.events.len() > 100, "{} events", acknowledged.events.len());
    assert!(n_tuples > 100, "{n_tuples} tuples");
    let store = Store::open(&shop.state(), StoreOptions::default()).unwrap();
    assert!(store.learner("online").unwrap().is_some());
}
