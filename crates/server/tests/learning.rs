//! Models that learn from the log end with the bytes of an offline update, however often the process stops.

mod shop;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use matchrank_core::progress::Silent;
use matchrank_engine::model_file::{self, ModelRef, Provenance};
use matchrank_engine::models::sparse_preference::{PreferenceLearner, PreferenceModel, Variant};
use matchrank_engine::preferences::NamedDocuments;
use matchrank_server::learning::{
    FollowCourse, FollowingLearner, LearnerSpec, LogLearner, SearchWindow, export_lessons, parse_events,
};
use matchrank_server::store::{DocumentChange, LogSpan, Retention, Store, StoreOptions, WriteBatch};
use proptest::prelude::*;
use shop::Shop;

const WINDOW: SearchWindow = SearchWindow { milliseconds: i64::MAX, most_open: 5 };

fn open(shop: &Shop) -> Arc<Store> {
    Arc::new(Store::open(&shop.state(), StoreOptions::default()).unwrap())
}

fn append(store: &Store, lines: &str) {
    store.append(parse_events(lines.as_bytes()).unwrap().into()).unwrap();
}

fn learner(shop: &Shop, store: &Arc<Store>, name: &str) -> LogLearner {
    let base = if name == "words" { &shop.words } else { &shop.perceptron };
    let mut spec = LearnerSpec::new(name, base);
    spec.window = WINDOW;
    LogLearner::open(store, &spec, (name == "words").then_some(&shop.dataset)).unwrap()
}

/// Some events of every kind.
fn event(number: u64) -> String {
    let document = |k: u64| format!("d{}", (number * 7 + k * 5) % 13);
    let query = ["sneaker", "cheap lid", "unknown"][number as usize % 3];
    match number % 5 {
        0 => format!(
            r#"{{"event":"preference","query":"{query}","better":"{}","worse":"{}"}}"#,
            document(0),
            document(1)
        ),
        1 => format!(
            r#"{{"event":"list","documents":[{{"grade":{},"features":[{}.5]}},{{"grade":1,"features":{{"1":0.25}}}},{{"grade":0,"features":[1,2,3]}}]}}"#,
            number % 3,
            number % 7
        ),
        2 => format!(
            r#"{{"event":"search","search":"{}","query":"{query}","shown":["{}","{}","{}"]}}"#,
            number / 5,
            document(0),
            document(1),
            document(2)
        ),
        3 => {
            format!(r#"{{"event":"click","search":"{}","document":"{}"}}"#, number / 5, document(number % 3))
        }
        _ => r#"{"event":"logout","document":"d1"}"#.to_owned(),
    }
}

/// Saves the model with everything learned and returns its bytes.
fn bytes(shop: &Shop, learner: &mut LogLearner) -> Vec<u8> {
    let path = shop.folder.path().join("online.model");
    learner.save_model(&path).unwrap();
    fs::read(path).unwrap()
}

/// Bytes of the models that learn offline from the lessons of the whole log.
fn offline(shop: &Shop, store: &Store) -> (Vec<u8>, Vec<u8>) {
    let (mut tuples, mut lists) = (Vec::new(), Vec::new());
    let exported =
        export_lessons(store, (LogSpan::ALL, WINDOW), Some(&mut tuples), Some(&mut lists)).unwrap();
    assert_eq!(exported.last, store.last_sequence());
    let [tuples, lists] = [tuples, lists].map(|lines| String::from_utf8(lines).unwrap());
    (shop.update_words(&tuples), shop.update_perceptron(&lists))
}

fn catch_up(learners: &mut [LogLearner]) {
    for learner in learners {
        learner.catch_up().unwrap();
    }
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Append(u8),
    CatchUp,
    Checkpoint,
    /// The process ends without a checkpoint.
    Stop,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (1u8..40).prop_map(Act::Append),
        2 => Just(Act::CatchUp),
        1 => Just(Act::Checkpoint),
        1 => Just(Act::Stop),
    ];
    prop::collection::vec(act, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn stops_and_batches_change_no_byte(acts in acts(), is_refitted in any::<bool>()) {
        let shop = Shop::new(if is_refitted { Variant::Refit } else { Variant::Sparse });
        let mut store = open(&shop);
        let mut learners = ["words", "lists"].map(|name| learner(&shop, &store, name));
        let mut number = 0;
        for act in acts {
            match act {
                Act::Append(n) => {
                    let lines: Vec<String> = (0..u64::from(n)).map(|k| event(number + k)).collect();
                    append(&store, &lines.join("\n"));
                    number += u64::from(n);
                }
                Act::CatchUp => catch_up(&mut learners),
                Act::Checkpoint => learners.iter_mut().for_each(|learner| drop(learner.checkpoint().unwrap())),
                Act::Stop => {
                    drop(learners);
                    drop(store);
                    store = open(&shop);
                    learners = ["words", "lists"].map(|name| learner(&shop, &store, name));
                }
            }
        }
        catch_up(&mut learners);
        let (words, lists) = offline(&shop, &store);
        prop_assert!(bytes(&shop, &mut learners[0]) == words, "sparse preferences");
        prop_assert!(bytes(&shop, &mut learners[1]) == lists, "perceptron");
    }
}

/// A point of the learning curve falls on the same tuple for any division into calls.
#[test]
fn a_long_stream_has_the_curve_of_an_update() {
    let shop = Shop::new(Variant::Sparse);
    let line = |i: usize| {
        let (query, more) = if i.is_multiple_of(3) { ("sneaker", 0) } else { ("cheap lid", 1) };
        let worse = (2 * i + 5 + more) % 13;
        format!(r#"{{"query":"{query}","better":"d{}","worse":"d{worse}"}}"#, (2 * i + more) % 12)
    };
    let lines: Vec<String> = (0..230_000).map(line).collect();
    let expected = shop.update_words(&(lines.join("\n") + "\n"));
    let (mut model, provenance) = model_file::load(&shop.words).unwrap();
    let path = shop.folder.path().join("online.model");
    let mut position = None;
    let mut rest = &lines[..];
    for n in [1, 70_001, 60_000, 3, 99_990, 5] {
        let preference = (&*model as &dyn std::any::Any).downcast_ref::<PreferenceModel>().unwrap();
        let documents = Some(NamedDocuments::of(&preference.features, &shop.dataset, &Silent).unwrap());
        let mut learner = match &position {
            None => PreferenceLearner::new(preference, documents),
            Some(position) => PreferenceLearner::resume(preference, documents, position),
        }
        .unwrap();
        let (now, later) = rest.split_at(n);
        rest = later;
        for part in now.chunks(7919) {
            learner.learn(part.iter().map(|line| line.clone().into_bytes()).collect()).unwrap();
        }
        position = Some(learner.position());
        let provenance: Provenance = provenance.clone().made_by(None);
        model_file::save(&path, ModelRef::Matching(&learner.model().unwrap()), &provenance).unwrap();
        model = model_file::load(&path).unwrap().0;
    }
    assert!(rest.is_empty());
    let preference = (&*model as &dyn std::any::Any).downcast_ref::<PreferenceModel>().unwrap();
    assert!(preference.report.curve.len() >= 5, "those of the training, and three of the stream");
    assert!(fs::read(path).unwrap() == expected);
}

#[test]
fn a_learner_follows_the_log_and_hands_over_checkpoints() {
    let shop = Shop::new(Variant::Sparse);
    let store = open(&shop);
    let (sender, checkpoints) = std::sync::mpsc::channel();
    let mut course = FollowCourse::default();
    course.pause = Duration::from_millis(1);
    course.on_checkpoint = Box::new(move |path| sender.send(path.to_owned()).unwrap());
    let following = FollowingLearner::start(&store, learner(&shop, &store, "words"), course).unwrap();
    append(&store, &(0..200).map(event).collect::<Vec<_>>().join("\n"));
    let path = checkpoints.recv_timeout(Duration::from_secs(120)).unwrap();
    assert!(path.is_file());
    // Document changes have sequences, and teach nothing.
    let put = DocumentChange::Put { id: "d1".into(), json: "{}".into() };
    store.append(WriteBatch::of_documents(vec![put])).unwrap();
    append(&store, &(200..300).map(event).collect::<Vec<_>>().join("\n"));
    let mut learner = following.stop().unwrap();
    assert_eq!(learner.sequence(), 301);
    assert!(learner.is_saved());
    let online = bytes(&shop, &mut learner);
    assert!(online == offline(&shop, &store).0);
    assert!(online != shop.update_words(""), "something was learned");
    let files: Vec<_> = fs::read_dir(shop.state().join("learners")).unwrap().collect();
    assert_eq!(files.len(), 1, "former model files are removed");
}

#[test]
fn another_base_begins_anew_after_what_it_knows() {
    let shop = Shop::new(Variant::Sparse);
    let store = open(&shop);
    append(&store, &(0..50).map(event).collect::<Vec<_>>().join("\n"));
    let mut first = learner(&shop, &store, "words");
    first.catch_up().unwrap();
    let path = first.checkpoint().unwrap();
    let other = shop.folder.path().join("other.model");
    fs::copy(path, &other).unwrap();
    let mut spec = LearnerSpec::new("words", &other);
    let learner = LogLearner::open(&store, &spec, Some(&shop.dataset)).unwrap();
    assert_eq!((learner.after(), learner.sequence()), (50, 50));
    spec.base = shop.words.clone();
    spec.after = Some(20);
    let learner = LogLearner::open(&store, &spec, Some(&shop.dataset)).unwrap();
    assert_eq!(learner.after(), 20);
    assert_eq!(store.learner("words").unwrap().unwrap().sequence, 20);
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let shop = Shop::new(Variant::Sparse);
    let store = open(&shop);
    let message = |spec: &LearnerSpec| LogLearner::open(&store, spec, None).err().unwrap().to_string();
    let golden = shop.perceptron.parent().unwrap();
    let bm25 = message(&LearnerSpec::new("a", golden.join("bm25_v1.safetensors")));
    assert!(bm25.contains("a bm25 model does not learn while serving"), "{bm25}");
    let svm = message(&LearnerSpec::new("a", golden.join("ranksvm_v1.safetensors")));
    assert!(svm.contains("a ranksvm model does not learn while serving"), "{svm}");
    assert!(message(&LearnerSpec::new("../a", &shop.words)).contains("is no name of a learner"));
    assert!(store.learners().unwrap().is_empty());
    drop(store);
    let mut options = StoreOptions::default();
    options.retention = Retention::new(None, Some(0));
    let store = Arc::new(Store::open(&shop.state(), options).unwrap());
    append(&store, &event(0));
    assert_eq!(store.trim().unwrap(), 1);
    let mut from_the_first = LearnerSpec::new("a", &shop.words);
    from_the_first.after = Some(0);
    let error = LogLearner::open(&store, &from_the_first, None).err().unwrap();
    assert!(error.to_string().contains("the events up to 1 are deleted"), "{error}");
}
