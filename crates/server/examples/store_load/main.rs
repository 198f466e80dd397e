//! Loads a store from many threads: for the kill tests and for the benchmark of `bench/service`.
//!
//! ```text
//! store_load append STATE THREADS [BASE DATA]   append until killed; print every acknowledgement
//! store_load check STATE                        print what is stored
//! store_load learn STATE BASE DATA OUT          go on from the checkpoint to the end of the log; save the model
//! store_load lessons STATE TUPLES LISTS         write what a model learns from the log
//! store_load bench STATE THREADS SECONDS        acknowledged events a second, beside append + fdatasync
//! ```
//!
//! BASE is a model that learns while events arrive, DATA the dataset of its documents (`-` for none). An acknowledgement is
//! a line `event ID SEQUENCE` or `document ID VERSION SEQUENCE`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose output is read by a script")]

mod load;
mod raw_log;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use matchrank_server::learning::{export_lessons, parse_events};
use matchrank_server::store::{LogSpan, StoreError};

use self::load::{Outcome, WINDOW, append, learner, open};
use self::raw_log::RawLog;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["append", state, threads] => append(Path::new(state), threads.parse()?, None),
        ["append", state, threads, base, data] => {
            append(Path::new(state), threads.parse()?, Some((base, data)))
        }
        ["check", state] => check(Path::new(state)),
        ["learn", state, base, data, out] => learn(Path::new(state), (base, data), Path::new(out)),
        ["lessons", state, tuples, lists] => {
            let (mut tuples, mut lists) = (File::create(tuples)?, File::create(lists)?);
            export_lessons(
                &*open(Path::new(state))?,
                (LogSpan::ALL, WINDOW),
                Some(&mut tuples),
                Some(&mut lists),
            )?;
            Ok(())
        }
        ["bench", state, threads, seconds] => bench(Path::new(state), threads.parse()?, seconds.parse()?),
        _ => Err("usage: store_load append|check|learn|lessons|bench ...; see the top of the source".into()),
    }
}

fn check(state: &Path) -> Outcome<()> {
    let store = open(state)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    store.for_each_event(LogSpan::ALL, |event| {
        let id = event.id.unwrap_or_default();
        writeln!(out, "event {id} {}", event.sequence).map_err(|e| StoreError::Failed(e.to_string()))
    })?;
    store.for_each_document(|document| {
        let json: serde_json::Value =
            serde_json::from_str(&document.json.unwrap_or_default()).unwrap_or_default();
        let version = json["version"].as_str().unwrap_or("-").to_owned();
        writeln!(out, "document {} {version} {}", document.id, document.sequence)
            .map_err(|e| StoreError::Failed(e.to_string()))
    })?;
    for (name, checkpoint) in store.learners()? {
        writeln!(out, "learner {name} {}", checkpoint.sequence)?;
    }
    out.flush()?;
    Ok(())
}

fn learn(state: &Path, model: (&str, &str), out: &Path) -> Outcome<()> {
    let store = open(state)?;
    let mut learner = learner(&store, model)?;
    let from = learner.sequence();
    learner.catch_up()?;
    learner.save_model(out)?;
    println!("learned from {from} to {}", learner.sequence());
    Ok(())
}

fn bench(state: &Path, threads: usize, seconds: f64) -> Outcome<()> {
    std::fs::create_dir_all(state)?;
    let path = state.join("raw.log");
    let raw = RawLog::create(&path)?;
    let of_raw = load(threads, seconds, &|thread, number| {
        raw.append(&payload(thread, number));
        true
    });
    drop(raw);
    std::fs::remove_file(&path)?;
    let store = open(&state.join("bench"))?;
    let of_store = load(threads, seconds, &|thread, number| {
        let events = parse_events(&payload(thread, number)).expect("the event is right");
        store.append(events.into()).is_ok()
    });
    let counts = store.counts()?;
    println!("{threads} clients, {seconds} s each");
    println!("append + fdatasync, group commit   {}", of_raw.line());
    println!("store, acknowledged events         {}", of_store.line());
    println!(
        "store: {} events, {} bytes, file of {} bytes",
        counts.n_events, counts.event_bytes, counts.file_bytes
    );
    drop(store);
    let started = Instant::now();
    drop(open(&state.join("bench"))?);
    println!("opened again after a clean end in {:.2} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn payload(thread: usize, number: u64) -> Vec<u8> {
    format!(
        "{{\"event\":\"click\",\"id\":\"{thread}-{number}\",\"search\":\"search-{thread}-{}\",\"query\":\"running shoes for \
         men\",\"document\":\"B00{:06}\",\"position\":{},\"user\":\"user-{thread}\",\"time\":\"2026-05-01T10:00:00Z\"}}",
        number / 5,
        number % 111_631,
        number % 10 + 1
    )
    .into_bytes()
}

/// Latencies of a load.
struct LoadTimes {
    seconds: f64,
    latencies: Vec<f64>,
}

impl LoadTimes {
    fn line(&self) -> String {
        let at = |share: f64| 1e3 * self.latencies[((self.latencies.len() - 1) as f64 * share) as usize];
        format!(
            "{:8.0} a second   p50 {:6.2} ms   p99 {:6.2} ms   p99.9 {:6.2} ms",
            self.latencies.len() as f64 / self.seconds,
            at(0.5),
            at(0.99),
            at(0.999)
        )
    }
}

fn load(threads: usize, seconds: f64, call: &(dyn Fn(usize, u64) -> bool + Sync)) -> LoadTimes {
    let (stop, failed) = (AtomicBool::new(false), AtomicU64::new(0));
    let started = Instant::now();
    let mut latencies = std::thread::scope(|scope| {
        let run = |thread| {
            let (stop, failed) = (&stop, &failed);
            move || {
                let mut latencies = Vec::new();
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let started = Instant::now();
                    if call(thread, number) {
                        latencies.push(started.elapsed().as_secs_f64());
                    } else {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
                latencies
            }
        };
        let calls: Vec<_> = (0..threads).map(|thread| scope.spawn(run(thread))).collect();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Ordering::Relaxed);
        calls.into_iter().flat_map(|call| call.join().expect("no panic")).collect::<Vec<f64>>()
    });
    assert_eq!(failed.load(Ordering::Relaxed), 0, "every append is acknowledged");
    latencies.sort_by(f64::total_cmp);
    LoadTimes { seconds: started.elapsed().as_secs_f64(), latencies }
}
