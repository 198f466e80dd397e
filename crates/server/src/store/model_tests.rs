//! Any sequence of appends, retries, reopenings and compactions leaves what a store in memory has.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::tests::{documents, event, open, put, remove, stored};
use super::{DocumentChange, WriteBatch};

#[derive(Debug, Clone)]
enum Act {
    Append(Vec<(u8, u8)>, Vec<(u8, Option<u8>)>),
    Reopen,
    Compact,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let batch = (
        prop::collection::vec((0u8..20, any::<u8>()), 0..6),
        prop::collection::vec((0u8..6, prop::option::of(any::<u8>())), 0..3),
    );
    let act = prop_oneof![
        8 => batch.prop_map(|(events, documents)| Act::Append(events, documents)),
        1 => Just(Act::Reopen),
        1 => Just(Act::Compact),
    ];
    prop::collection::vec(act, 0..25)
}

/// The store as it is obviously right: everything in memory, nothing shared.
#[derive(Default)]
struct PlainStore {
    last: u64,
    events: Vec<(u64, String, String)>,
    documents: BTreeMap<String, (u64, Option<String>)>,
}

impl PlainStore {
    fn append(&mut self, batch: &WriteBatch) -> (Vec<u64>, Vec<u64>, usize) {
        let (mut sequences, mut changes, mut n_duplicates) = (Vec::new(), Vec::new(), 0);
        for event in &batch.events {
            let id = event.id.clone().unwrap_or_default();
            let known = self.events.iter().find(|(_, other, _)| !id.is_empty() && *other == id);
            if let Some((sequence, ..)) = known {
                n_duplicates += 1;
                sequences.push(*sequence);
                continue;
            }
            self.last += 1;
            self.events.push((self.last, id, String::from_utf8(event.bytes.clone()).unwrap()));
            sequences.push(self.last);
        }
        for change in &batch.documents {
            self.last += 1;
            let json = match change {
                DocumentChange::Put { json, .. } => Some(json.clone()),
                DocumentChange::Remove { .. } => None,
            };
            self.documents.insert(change.id().to_owned(), (self.last, json));
            changes.push(self.last);
        }
        (sequences, changes, n_duplicates)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_store_equals_one_in_memory(acts in acts()) {
        let folder = tempfile::tempdir().unwrap();
        let (mut store, mut plain) = (open(folder.path()), PlainStore::default());
        for act in acts {
            match act {
                Act::Append(events, documents) => {
                    // Id 0 stands for none.
                    let id = |n: u8| if n == 0 { String::new() } else { format!("e{n}") };
                    let events = events.iter().map(|(n, content)| event(&id(*n), &content.to_string())).collect();
                    let documents = documents.iter().map(|(n, content)| match content {
                        Some(content) => put(&n.to_string(), &content.to_string()),
                        None => remove(&n.to_string()),
                    });
                    let batch = WriteBatch { events, documents: documents.collect() };
                    let expected = plain.append(&batch);
                    let receipt = store.append(batch).unwrap();
                    prop_assert_eq!((receipt.events, receipt.documents, receipt.n_duplicates), expected);
                }
                Act::Reopen => {
                    drop(store);
                    store = open(folder.path());
                }
                Act::Compact => { store.compact().unwrap(); }
            }
            prop_assert_eq!(store.last_sequence(), plain.last);
        }
        prop_assert_eq!(stored(&store), plain.events);
        let n_removed = plain.documents.values().filter(|(_, json)| json.is_none()).count() as u64;
        prop_assert_eq!(store.counts().unwrap().n_removed, n_removed);
        prop_assert_eq!(documents(&store), plain.documents);
    }
}
