//! Appends from many threads while models learn, and prints every acknowledgement, until the process is killed.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use matchrank_engine::dataset::Dataset;
use matchrank_server::learning::{
    FollowCourse, FollowingLearner, LearnerSpec, LogLearner, SearchWindow, parse_events,
};
use matchrank_server::store::{DocumentChange, Store, StoreError, StoreOptions, WriteBatch};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// Searches of a short run are over once others follow.
pub(crate) const WINDOW: SearchWindow = SearchWindow { milliseconds: 1000, most_open: 20 };

/// Opens a store whose failure ends the process, as in the service.
pub(crate) fn open(state: &Path) -> Outcome<Arc<Store>> {
    let mut options = StoreOptions::default();
    options.on_failure = Box::new(|error| {
        eprintln!("{error}");
        std::process::exit(3);
    });
    Ok(Arc::new(Store::open(state, options)?))
}

pub(crate) fn learner(store: &Arc<Store>, (base, data): (&str, &str)) -> Outcome<LogLearner> {
    let mut spec = LearnerSpec::new("online", base);
    spec.window = WINDOW;
    let dataset = (data != "-").then(|| Dataset::open(Path::new(data))).transpose()?;
    Ok(LogLearner::open(store, &spec, dataset.as_ref())?)
}

/// Events of a request: a search with its results and a click, a preference, or a list.
fn request(thread: usize, number: u64, run: u128) -> String {
    let id = format!("{run}-{thread}-{number}");
    let d = |k: u64| format!("d{}", (number * 7 + k * 5 + thread as u64) % 12);
    let query = ["sneaker", "cheap lid", "trainer", "hat"][(number % 4) as usize];
    match number % 4 {
        0 => format!(
            "{{\"event\":\"preference\",\"id\":\"p{id}\",\"query\":\"{query}\",\"better\":\"{}\",\"worse\":\"{}\"}}",
            d(0),
            d(1)
        ),
        1 => format!(
            "{{\"event\":\"list\",\"id\":\"l{id}\",\"documents\":[{{\"grade\":{},\"features\":[{}.5,1]}},{{\"grade\":1,\
             \"features\":[0.25,{}]}}]}}",
            number % 3,
            number % 7,
            number % 5
        ),
        _ => {
            let shown: Vec<String> = (0..4).map(|k| format!("\"{}\"", d(k))).collect();
            format!(
                "{{\"event\":\"search\",\"id\":\"s{id}\",\"search\":\"{id}\",\"query\":\"{query}\",\"shown\":[{}]}}\n\
                 {{\"event\":\"click\",\"id\":\"c{id}\",\"search\":\"{id}\",\"document\":\"{}\"}}",
                shown.join(","),
                d(1 + number % 3)
            )
        }
    }
}

/// Appends until the process ends. `model`: base and dataset of a model that learns meanwhile.
pub(crate) fn append(state: &Path, threads: usize, model: Option<(&str, &str)>) -> Outcome<()> {
    let store = open(state)?;
    let following = match model {
        Some(model) => {
            let mut course = FollowCourse::default();
            course.pause = Duration::from_millis(20);
            Some(FollowingLearner::start(&store, learner(&store, model)?, course)?)
        }
        None => None,
    };
    println!("\nready");
    let run = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let calls: Vec<_> = (0..threads)
        .map(|thread| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                for number in 0u64.. {
                    if let Err(error) = append_one(&store, thread, number, run)
                        && !matches!(error, StoreError::Full)
                    {
                        return;
                    }
                }
            })
        })
        .collect();
    calls.into_iter().for_each(|call| drop(call.join()));
    // Only a failed store gets here; its hook ends the process.
    drop(following);
    std::thread::sleep(Duration::from_secs(5));
    Err("the store ended".into())
}

fn append_one(store: &Store, thread: usize, number: u64, run: u128) -> Result<(), StoreError> {
    let events = parse_events(request(thread, number, run).as_bytes()).expect("the requests are right");
    let ids: Vec<String> = events.iter().filter_map(|event| event.id.clone()).collect();
    let mut batch = WriteBatch::from(events);
    let document = format!("t{thread}");
    if number.is_multiple_of(5) {
        let json = format!("{{\"version\":\"{run}-{number}\"}}");
        batch.documents.push(DocumentChange::Put { id: document.clone(), json });
    }
    // Some clients retry although they were answered.
    if number % 6 == 5 {
        store.append(batch.clone())?;
    }
    let receipt = store.append(batch)?;
    let mut lines = String::new();
    ids.iter().zip(&receipt.events).for_each(|(id, sequence)| lines += &format!("event {id} {sequence}\n"));
    for sequence in &receipt.documents {
        lines += &format!("document {document} {run}-{number} {sequence}\n");
    }
    let mut out = std::io::stdout().lock();
    drop(out.write_all(lines.as_bytes()).and_then(|()| out.flush()));
    Ok(())
}
