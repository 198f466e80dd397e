//! What the calls below a request cost: the part of a service that is not HTTP. `bench/service/load.py` runs it.
//!
//! ```text
//! library_calls rerank DATASET BODIES SECONDS MODEL...   CPU time of scoring the documents of each body
//! library_calls search DATASET BODIES SECONDS MODEL...   CPU time of the ten best documents for the query of each body
//! library_calls exact DATASET BODIES SECONDS MODEL...    8-bit search beside exact ones: time and recall@10
//! ```
//!
//! BODIES has a body of `/v2/rerank` in each line: a query, and documents by id. Prints a JSON object for each model. One
//! call follows the other; `RAYON_NUM_THREADS=1` keeps all of it on one core. CPU time comes from `/proc`, so this needs
//! Linux.
#![allow(clippy::print_stdout, reason = "a program whose output is read by a script")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use matchrank_core::progress::Silent;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::model_file;
use matchrank_engine::serving::{Candidate, Collection, Served};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const TOP: usize = 10;
/// Memory for images of documents: all of them in any case.
const IMAGES: u64 = 64 << 30;

/// A query with the ids of documents.
struct Body {
    query: String,
    ids: Vec<String>,
}

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [task, dataset, bodies, seconds, models @ ..] = &args[..] else {
        return Err("library_calls rerank|search|exact DATASET BODIES SECONDS MODEL...".into());
    };
    let seconds: f64 = seconds.parse()?;
    let bodies = read_bodies(Path::new(bodies))?;
    let collection = Arc::new(Collection::open(Dataset::open(Path::new(dataset))?, &Silent)?);
    for path in models {
        let bind = |bytes| {
            let model = model_file::load(Path::new(path))?.0;
            Served::bind(model, collection.clone(), bytes, &Silent)
        };
        let mut figures = match task.as_str() {
            "rerank" => rerank(&bind(IMAGES)?, &bodies, seconds)?,
            "search" => search(&bind(IMAGES)?, &bodies, seconds)?,
            "exact" => exact(&bind(IMAGES)?, &bind(0)?, &bodies, seconds)?,
            _ => return Err(format!("{task}: rerank, search or exact").into()),
        };
        figures["task"] = task.as_str().into();
        figures["model"] =
            Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned().into();
        println!("{figures}");
    }
    Ok(())
}

fn read_bodies(path: &Path) -> Outcome<Vec<Body>> {
    let parse = |line: &str| -> Outcome<Body> {
        let body: Value = serde_json::from_str(line)?;
        let ids = body["documents"].as_array().into_iter().flatten();
        let ids = ids.filter_map(|document| document["id"].as_str().map(str::to_owned)).collect();
        Ok(Body { query: body["query"].as_str().ok_or("a body has no query")?.to_owned(), ids })
    };
    std::fs::read_to_string(path)?.lines().map(parse).collect()
}

/// CPU nanoseconds of all threads of the process. None has ended: they are those of rayon's pool.
fn cpu_time() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_thread = |thread: std::fs::DirEntry| -> Option<u64> {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    };
    threads.filter_map(of_thread).sum()
}

/// Times of calls.
struct Calls {
    milliseconds: Vec<f64>,
    cpu_us: f64,
}

impl Calls {
    /// Calls with one body after the other until the time is over, after a tenth of it to warm up.
    fn of(bodies: &[Body], seconds: f64, mut call: impl FnMut(&Body) -> Outcome<()>) -> Outcome<Self> {
        let mut bodies = bodies.iter().cycle();
        let mut run = |seconds: f64| -> Outcome<Vec<f64>> {
            let (start, mut milliseconds) = (Instant::now(), Vec::new());
            while start.elapsed().as_secs_f64() < seconds {
                let of_call = Instant::now();
                call(bodies.next().ok_or("there is no body")?)?;
                milliseconds.push(of_call.elapsed().as_secs_f64() * 1e3);
            }
            Ok(milliseconds)
        };
        run(seconds / 10.0)?;
        let before = cpu_time();
        let mut milliseconds = run(seconds)?;
        let cpu_us = (cpu_time() - before) as f64 / 1e3 / milliseconds.len() as f64;
        milliseconds.sort_by(f64::total_cmp);
        Ok(Self { milliseconds, cpu_us })
    }

    fn quantile(&self, share: f64) -> f64 {
        self.milliseconds[((self.milliseconds.len() - 1) as f64 * share) as usize]
    }

    fn figures(&self) -> Value {
        json!({"calls": self.milliseconds.len(), "cpu_us": self.cpu_us, "p50_ms": self.quantile(0.5),
               "p99_ms": self.quantile(0.99)})
    }
}

/// Scores the documents of each body, whose numbers are known; finding the numbers is measured apart.
fn rerank(served: &Served, bodies: &[Body], seconds: f64) -> Outcome<Value> {
    let find = |body: &Body| -> Vec<Candidate<'_>> {
        body.ids.iter().filter_map(|id| served.collection().find(id).map(Candidate::Known)).collect()
    };
    let found = Calls::of(bodies, seconds / 5.0, |body| {
        std::hint::black_box(find(body));
        Ok(())
    })?;
    let known: Vec<_> = bodies.iter().map(find).collect();
    let mut next = known.iter().cycle();
    let scored = Calls::of(bodies, seconds, |body| {
        let candidates = next.next().ok_or("there is no body")?;
        std::hint::black_box(served.score(&body.query, candidates)?);
        Ok(())
    })?;
    let mut figures = scored.figures();
    figures["find_cpu_us"] = found.cpu_us.into();
    figures["documents"] = known.first().map_or(0, Vec::len).into();
    Ok(figures)
}

fn search(served: &Served, bodies: &[Body], seconds: f64) -> Outcome<Value> {
    let calls = Calls::of(bodies, seconds, |body| {
        std::hint::black_box(served.top(&body.query, TOP, None)?);
        Ok(())
    })?;
    Ok(calls.figures())
}

/// The search of a service, a sweep over exact images, and a sweep that maps the documents for each query.
fn exact(served: &Served, without_images: &Served, bodies: &[Body], seconds: f64) -> Outcome<Value> {
    let all: Vec<Candidate<'_>> = (0..served.collection().n_documents()).map(Candidate::Known).collect();
    let best_of_all = |query: &str| -> Outcome<Vec<u32>> {
        let scores = served.score(query, &all)?;
        let mut scored: Vec<(f32, u32)> =
            scores.iter().zip(0..).filter_map(|(score, document)| Some(((*score)?, document))).collect();
        let k = TOP.min(scored.len());
        let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if k < scored.len() {
            scored.select_nth_unstable_by(k, order);
            scored.truncate(k);
        }
        scored.sort_by(order);
        Ok(scored.into_iter().map(|(_, document)| document).collect())
    };
    let (mut found, mut expected, mut same_lists, mut queries) = (0, 0, 0, 0);
    let start = Instant::now();
    for body in bodies {
        if start.elapsed().as_secs_f64() > 3.0 * seconds {
            break;
        }
        let top: Vec<u32> = served.top(&body.query, TOP, None)?.into_iter().map(|hit| hit.document).collect();
        let best = best_of_all(&body.query)?;
        found += best.iter().filter(|document| top.contains(document)).count();
        expected += best.len();
        same_lists += usize::from(top == best);
        queries += 1;
    }
    let eight_bit = search(served, bodies, seconds)?;
    let over_images = Calls::of(bodies, seconds, |body| {
        std::hint::black_box(best_of_all(&body.query)?);
        Ok(())
    })?;
    let mapped = search(without_images, bodies, seconds)?;
    Ok(json!({
        "queries": queries, "recall_at_10": found as f64 / (expected as f64).max(1.0), "same_lists": same_lists,
        "eight_bit": eight_bit, "exact_images": over_images.figures(), "exact_sweep": mapped,
    }))
}
