use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redb::{Database, ReadableDatabase, TableDefinition};

use super::faults::{FaultPlan, open_faulty};
use super::*;

pub(super) fn event(id: &str, content: &str) -> NewEvent {
    NewEvent { id: (!id.is_empty()).then(|| id.to_owned()), bytes: content.as_bytes().to_vec() }
}

fn events(events: &[(&str, &str)]) -> WriteBatch {
    WriteBatch::of_events(events.iter().map(|(id, content)| event(id, content)).collect())
}

pub(super) fn put(id: &str, json: &str) -> DocumentChange {
    DocumentChange::Put { id: id.to_owned(), json: json.to_owned() }
}

pub(super) fn remove(id: &str) -> DocumentChange {
    DocumentChange::Remove { id: id.to_owned() }
}

pub(super) fn open(folder: &Path) -> Store {
    Store::open(folder, StoreOptions::default()).unwrap()
}

/// Sequence, id and content of all events.
pub(super) fn stored(store: &Store) -> Vec<(u64, String, String)> {
    let mut all = Vec::new();
    store
        .for_each_event::<StoreError>(LogSpan::ALL, |event| {
            let content = String::from_utf8(event.bytes).unwrap();
            all.push((event.sequence, event.id.unwrap_or_default(), content));
            Ok(())
        })
        .unwrap();
    all
}

pub(super) fn documents(store: &Store) -> BTreeMap<String, (u64, Option<String>)> {
    let mut all = BTreeMap::new();
    store
        .for_each_document::<StoreError>(|document| {
            all.insert(document.id, (document.sequence, document.json));
            Ok(())
        })
        .unwrap();
    all
}

#[test]
fn a_retry_is_acknowledged_and_not_stored_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let receipt = store.append(events(&[("a", "1"), ("", "2"), ("", "2"), ("a", "3")])).unwrap();
    assert_eq!((receipt.events, receipt.n_duplicates), (vec![1, 2, 3, 1], 1));
    drop(store);
    let store = open(folder.path());
    let receipt = store.append(events(&[("b", "4"), ("a", "5")])).unwrap();
    assert_eq!((receipt.events, receipt.n_duplicates), (vec![4, 1], 1));
    let content: Vec<(u64, String, String)> = [(1, "a", "1"), (2, "", "2"), (3, "", "2"), (4, "b", "4")]
        .map(|(sequence, id, content)| (sequence, id.to_owned(), content.to_owned()))
        .into();
    assert_eq!(stored(&store), content);
    let counts = store.counts().unwrap();
    assert_eq!((counts.n_events, counts.last_sequence, counts.n_waiting), (4, 4, 0));
}

#[test]
fn documents_keep_their_last_state() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let batch = WriteBatch {
        events: vec![event("a", "1")],
        documents: vec![put("d1", "{}"), put("d2", "{\"x\":1}"), remove("d1"), remove("d9")],
    };
    assert_eq!(store.append(batch).unwrap().documents, [2, 3, 4, 5]);
    store.append(WriteBatch::of_documents(vec![put("d9", "{}")])).unwrap();
    let counts = store.counts().unwrap();
    assert_eq!((counts.n_documents, counts.n_removed), (2, 1));
    let expected = [("d1", (4, None)), ("d2", (3, Some("{\"x\":1}"))), ("d9", (6, Some("{}")))];
    let expected = expected.map(|(id, (at, json))| (id.to_owned(), (at, json.map(str::to_owned))));
    assert_eq!(documents(&store), BTreeMap::from(expected));
    assert_eq!(store.document("d2").unwrap().unwrap().sequence, 3);
    assert_eq!(store.document("d3").unwrap(), None);
}

#[test]
fn a_full_queue_refuses_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions { queue_records: 2, ..StoreOptions::default() };
    let store = Store::open(folder.path(), options).unwrap();
    let (release, released) = channel::<()>();
    let (sender, answers) = channel();
    let blocked = sender.clone();
    store.append_then(events(&[("first", "")]), move |result| {
        blocked.send(result.is_ok()).unwrap();
        released.recv().unwrap();
    });
    // The writer is busy with the first answer.
    assert!(answers.recv().unwrap());
    let mut refused = 0;
    for _ in 0..3 {
        let (sender, counter) = (sender.clone(), Arc::new(AtomicU64::new(0)));
        let of_call = Arc::clone(&counter);
        store.append_then(events(&[("", "x")]), move |result| {
            of_call.store(u64::from(matches!(result, Err(StoreError::Full))), Ordering::SeqCst);
            sender.send(result.is_ok()).unwrap();
        });
        refused += counter.load(Ordering::SeqCst);
    }
    assert_eq!(refused, 1, "two wait, and the third is refused before the call returns");
    release.send(()).unwrap();
    let answered: Vec<bool> =
        (0..3).map(|_| answers.recv_timeout(Duration::from_secs(60)).unwrap()).collect();
    assert_eq!(answered.iter().filter(|is_ok| **is_ok).count(), 2);
    assert!(store.append(events(&[("", "y")])).is_ok());
    assert_eq!(store.counts().unwrap().n_events, 4);
}

#[test]
fn ids_out_of_range_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let refused = |batch: WriteBatch| store.append(batch).unwrap_err().to_string();
    let long = "x".repeat(2000);
    assert!(refused(events(&[("ok", ""), (&long, "")])).contains("has 2000 bytes; at most 1024"));
    assert!(refused(WriteBatch::of_documents(vec![remove("")])).contains("the id of the document is empty"));
    assert_eq!(store.counts().unwrap().n_events, 0);
}

/// A plan that makes appends fail closes the store for good; the next start finds everything that was acknowledged.
fn fails_for_good(fail: impl Fn(&FaultPlan, bool), message: &str) {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let plan = Arc::new(FaultPlan::default());
    let failures: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&failures);
    let options = StoreOptions {
        on_failure: Box::new(move |error| noted.lock().unwrap().push(error.to_string())),
        ..StoreOptions::default()
    };
    let store = open_faulty(folder.path(), options, &plan).unwrap();
    store.append(events(&[("a", "1")])).unwrap();
    assert!(plan.n_syncs.load(Ordering::SeqCst) > 0, "an acknowledged event is synced");
    fail(&plan, true);
    let big = "x".repeat(1 << 20);
    let error = store.append(events(&[("b", &big)])).unwrap_err();
    assert!(matches!(&error, StoreError::Failed(why) if why.contains(message)), "{error}");
    fail(&plan, false);
    assert!(matches!(store.append(events(&[("c", "3")])), Err(StoreError::Failed(_))), "never again");
    assert!(matches!(store.trim(), Err(StoreError::Failed(_))));
    assert!(store.failure().is_some());
    drop(store);
    assert_eq!(failures.lock().unwrap().len(), 1);
    let store = open(folder.path());
    let found = stored(&store);
    assert_eq!(found[0], (1, "a".into(), "1".into()));
    // A retry of the event in doubt is safe.
    store.append(events(&[("b", &big)])).unwrap();
    let ids: Vec<String> = stored(&store).into_iter().map(|(_, id, _)| id).collect();
    assert_eq!(ids, ["a", "b"]);
}

#[test]
fn a_failed_sync_closes_the_store() {
    fails_for_good(|plan, fails| plan.sync_fails.store(fails, Ordering::SeqCst), "input/output error");
}

#[test]
fn a_full_disk_closes_the_store() {
    fails_for_good(|plan, fails| plan.disk_is_full.store(fails, Ordering::SeqCst), "no storage space");
}

#[test]
fn a_failure_answers_everyone_who_waits() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    let plan = Arc::new(FaultPlan::default());
    let store = open_faulty(folder.path(), StoreOptions::default(), &plan).unwrap();
    plan.sync_fails.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..16)
            .map(|i| {
                scope.spawn({
                    let store = &store;
                    move || store.append(events(&[("", &i.to_string())]))
                })
            })
            .collect();
        for call in calls {
            assert!(matches!(call.join().unwrap(), Err(StoreError::Failed(_))));
        }
    });
}

#[test]
fn files_that_are_no_store_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let message = |content: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir_in(folder.path()).unwrap();
        content(&folder.path().join(FILE));
        Store::open(folder.path(), StoreOptions::default()).err().unwrap()
    };
    let foreign = message(&|file| fs::write(file, "not a store, and long enough to be read as one").unwrap());
    assert!(foreign.to_string().contains("is not a store of matchrank"), "{foreign}");
    let empty = message(&|file| fs::write(file, "").unwrap());
    assert!(matches!(empty, StoreError::Foreign { .. }), "{empty}");
    let other = message(&|file| {
        let database = Database::create(file).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(TableDefinition::<u64, u64>::new("numbers")).unwrap();
        transaction.commit().unwrap();
    });
    assert!(other.to_string().contains("without the table 'numbers' of a matchrank store"), "{other}");
    let newer = message(&|file| {
        let database = Database::create(file).unwrap();
        let transaction = database.begin_write().unwrap();
        transaction.open_table(tables::NUMBERS).unwrap().insert(tables::SCHEMA_VERSION, 7).unwrap();
        transaction.commit().unwrap();
    });
    assert!(matches!(newer, StoreError::Version { found: 7, expected: 1, .. }), "{newer}");
    let cut = message(&|file| {
        let state = file.parent().unwrap();
        let store = open(state);
        store.append(events(&[("a", &"x".repeat(100_000))])).unwrap();
        drop(store);
        let length = fs::metadata(file).unwrap().len();
        fs::OpenOptions::new().write(true).open(file).unwrap().set_len(length / 2).unwrap();
    });
    assert!(matches!(cut, StoreError::Foreign { .. } | StoreError::Failed(_)), "{cut}");
    let is_file = folder.path().join("file");
    fs::write(&is_file, "").unwrap();
    assert!(matches!(Store::open(&is_file, StoreOptions::default()), Err(StoreError::Io { .. })));
}

#[test]
fn a_folder_is_open_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let again = Store::open(folder.path(), StoreOptions::default());
    assert!(matches!(again, Err(StoreError::Locked(_))));
    store.close();
    assert!(matches!(store.append(events(&[("", "")])), Err(StoreError::Closed)));
    assert!(matches!(store.compact(), Err(StoreError::Closed)));
    drop(store);
    open(folder.path());
}

/// A store with a clock that the test moves.
fn with_clock(folder: &Path, retention: Retention) -> (Store, Arc<AtomicI64>) {
    let now = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&now);
    let clock = Box::new(move || clock.load(Ordering::SeqCst));
    let options =
        StoreOptions { retention, clock, retention_pause: Duration::from_secs(9999), ..Default::default() };
    (Store::open(folder, options).unwrap(), now)
}

#[test]
fn events_expire_by_age_after_the_checkpoints_of_learners() {
    const DAY: i64 = 86_400_000;
    let folder = tempfile::tempdir().unwrap();
    let (store, now) = with_clock(folder.path(), Retention::new(Some(2.0), None));
    for day in 1..=5 {
        now.store(day * DAY, Ordering::SeqCst);
        store.append(events(&[(&format!("e{day}"), "x")])).unwrap();
        store.append(WriteBatch::of_documents(vec![put("d", "{}")])).unwrap();
    }
    assert_eq!(store.sequence_before(3 * DAY).unwrap(), 3, "two events, and a change between them");
    assert_eq!(store.sequence_before(DAY).unwrap(), 0);
    assert_eq!(store.sequence_before(99 * DAY).unwrap(), 9, "the last event");
    store.set_learner("words", LearnerCheckpoint::default()).unwrap();
    assert_eq!(store.trim().unwrap(), 0);
    store.set_learner("words", LearnerCheckpoint { sequence: 1, ..Default::default() }).unwrap();
    assert_eq!(store.trim().unwrap(), 1);
    store.forget_learner("words").unwrap();
    assert_eq!(store.trim().unwrap(), 1);
    let left: Vec<u64> = stored(&store).iter().map(|(sequence, ..)| *sequence).collect();
    assert_eq!(left, [5, 7, 9]);
    let counts = store.counts().unwrap();
    assert_eq!((counts.n_events, counts.deleted_to, counts.n_documents), (3, 3, 1));
    assert_eq!(store.append(events(&[("e1", "late"), ("e5", "x")])).unwrap().n_duplicates, 1);
    // A clock that goes back does not disorder the log.
    now.store(0, Ordering::SeqCst);
    assert_eq!(store.append(events(&[("", "x")])).unwrap().received, 5 * DAY);
}

#[test]
fn events_expire_by_size_and_the_file_shrinks() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = with_clock(folder.path(), Retention::new(None, Some(100_000)));
    let content = "x".repeat(990);
    for _ in 0..30 {
        store.append(events(&vec![("", content.as_str()); 200])).unwrap();
    }
    assert_eq!(store.trim().unwrap(), 5900);
    let counts = store.counts().unwrap();
    assert_eq!((counts.n_events, counts.event_bytes), (100, 100_000));
    let before = store.file_bytes().unwrap();
    let given_back = store.compact().unwrap();
    assert!(given_back > before / 2, "{given_back} of {before}");
    assert_eq!(store.file_bytes().unwrap(), before - given_back);
    assert_eq!(stored(&store).first().unwrap().0, 5901);
}

#[test]
fn expired_events_are_deleted_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention::new(None, Some(1000));
    let options =
        StoreOptions { retention, retention_pause: Duration::from_millis(1), ..StoreOptions::default() };
    let store = Store::open(folder.path(), options).unwrap();
    store.append(events(&vec![("", "0123456789"); 5000])).unwrap();
    let is_trimmed = |_| {
        std::thread::sleep(Duration::from_millis(100));
        store.counts().unwrap().n_events == 50
    };
    assert!((0..600).any(is_trimmed));
}

#[test]
fn followers_wake_for_new_events() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| store.wait_after(0, Duration::from_secs(60)));
        store.append(events(&[("", "x")])).unwrap();
        assert_eq!(follower.join().unwrap(), 1);
    });
    assert_eq!(store.wait_after(1, Duration::from_millis(1)), 1);
}

#[test]
fn rows_keep_what_they_are_given() {
    let row = tables::EventRow { received: -5, id: Some("é"), bytes: b"x" };
    assert_eq!(tables::EventRow::decode(&row.encode()).unwrap(), row);
    let row = tables::DocumentRow { sequence: 7, received: 9, json: None };
    assert_eq!(tables::DocumentRow::decode(&row.encode()).unwrap(), row);
    for length in 0..9 {
        assert!(tables::EventRow::decode(&vec![255; length]).is_err());
        assert!(tables::DocumentRow::decode(&vec![255; length]).is_err());
    }
    let store = tempfile::tempdir().unwrap();
    let store = open(store.path());
    let version = store.shared.database().begin_read().unwrap();
    assert_eq!(version.open_table(tables::NUMBERS).unwrap().get("schema").unwrap().unwrap().value(), 1);
}
