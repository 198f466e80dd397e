//! What a query costs a bilinear model: its text to its latent vector, and the scores of 1,000 documents.
//!
//!     cargo run --release -p matchrank-engine --example serving_speed -- DATASET MODEL [MODEL ...]
//!
//! One thread; the median over queries that training saw (words and clicks) and over the same texts as if
//! training had not seen them (words alone). Documents are scored twice: from their features, as `rank` does,
//! and from latent vectors that a server would keep.
//!
//! Before that, all threads match the ids and texts of click features to the dataset: median of five runs.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use matchrank_core::matching::dot;
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::BoundDocuments;
use matchrank_engine::dataset::{Clicks, Dataset};
use matchrank_engine::features::document_rows;
use matchrank_engine::model_file;
use matchrank_engine::models::find_part;
use matchrank_engine::models::latent::{Inputs, LatentModel, LatentScorer};
use matchrank_engine::scoring::Scorer;

const QUERIES: usize = 2_000;
const DOCUMENTS: usize = 1_000;

/// Median microseconds of doing something for each of these.
fn median<T>(items: &[T], mut work: impl FnMut(&T)) -> f64 {
    let mut times: Vec<f64> = items
        .iter()
        .map(|item| {
            let started = Instant::now();
            work(item);
            started.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn measure(model: &LatentModel, dataset: &Dataset, clicks: &Clicks) {
    let Inputs::Features(features) = &model.inputs else {
        return println!("{}: has no features to map", model.kind.name);
    };
    let all = clicks.queries().len();
    let texts: Vec<&str> =
        clicks.queries().map(|(_, text)| text).step_by((all / QUERIES).max(1)).take(QUERIES).collect();
    println!("{} with d = {}, {} queries:", model.kind.name, model.model.d(), texts.len());
    if let Some(keys) = features.keys() {
        let n = keys.queries().hashes.len() + keys.documents().hashes.len();
        let found = median(&[(); 5], |()| {
            black_box(keys.numbers(dataset, Some(clicks)).expect("the names of the dataset"));
        });
        println!("  {n} names of click features in {} bytes: found in {:.0} ms", 12 * n, found / 1e3);
    }
    for (clicks, name) in [(Some(clicks), "seen, with clicks"), (None, "unseen, words only")] {
        let made = median(&texts, |text| {
            black_box(model.inputs.query(text, clicks.map(Into::into)));
        });
        let rows: Vec<_> =
            texts.iter().map(|text| model.inputs.query(text, clicks.map(Into::into))).collect();
        let mapped = median(&rows, |row| {
            black_box(model.model.map_query(row.row()));
        });
        println!("  {name}: text to features {made:.1} us, features to vector {mapped:.1} us");
    }
    let n = dataset.manifest.statistics.n_documents as usize;
    let wanted: Vec<u32> =
        (0..n).step_by((n / DOCUMENTS).max(1)).take(DOCUMENTS).map(|row| row as u32).collect();
    let y =
        document_rows(features, BoundDocuments::rows(dataset, Some(&wanted)), Some(clicks.into()), &Silent)
            .expect("documents");
    let rows: Vec<_> = texts.iter().map(|text| model.inputs.query(text, Some(clicks.into()))).collect();
    let scorer = LatentScorer::new(&model.model, &rows, &y);
    let numbers: Vec<u32> = (0..wanted.len() as u32).collect();
    let mut scores = vec![0f32; wanted.len()];
    let queries: Vec<usize> = (0..rows.len()).collect();
    let listed = median(&queries, |&query| {
        scorer.list(query, &numbers, &mut scores);
        black_box(&scores);
    });
    let images: Vec<Vec<f32>> = y.rows().map(|row| model.model.map_document(row)).collect();
    let mapped: Vec<Vec<f32>> = rows.iter().map(|row| model.model.map_query(row.row())).collect();
    let kept = median(&mapped, |query| {
        scores.iter_mut().zip(&images).for_each(|(score, image)| *score = dot(query, image));
        black_box(&scores);
    });
    println!("  {} documents: from features {listed:.0} us, from kept vectors {kept:.0} us", wanted.len());
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (dataset, models) = arguments.split_first().expect("DATASET MODEL [MODEL ...]");
    let dataset = Dataset::open(Path::new(dataset)).expect("a dataset");
    let clicks = Clicks::of(&dataset).expect("its clicks");
    for path in models {
        let model = model_file::load(Path::new(path)).expect("a model").0;
        match find_part::<LatentModel>(&*model) {
            Some(latent) => measure(latent, &dataset, &clicks),
            None => println!("{path}: a {} model maps nothing", model.kind()),
        }
    }
}
