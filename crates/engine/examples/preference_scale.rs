//! Sparse preference learning on simulated long-tail text: time, memory and entries of W.
//!
//! ```text
//! cargo run --release -p matchrank-engine --example preference_scale -- [words] [tuples] [lambda] [MiB] [T]
//! ```
//!
//! MiB is the ceiling of memory, 0 for none. The frequencies of words follow Zipf's law. Half of the words come from
//! the topic of a query or document: every topic has its own words along the whole range of frequencies. Queries have 8
//! words, documents 60; both are tf-idf vectors of length 1. The preferred document has the topic of the query, the
//! other document has another topic.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use matchrank_core::matching::sparse_preference::{Learner, PreferenceParams, Tuple};
use matchrank_core::matching::{Csr, CsrBuilder};
use matchrank_core::progress::Silent;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const TOPICS: u32 = 500;
const QUERIES: u32 = 200_000;
const DOCUMENTS: u32 = 200_000;

/// Draws a word by Zipf's law, from the topic or from all words.
fn word(rng: &mut Xoshiro256PlusPlus, n_words: u32, topic: u32) -> u32 {
    let rank = f64::from(n_words).powf(rng.random::<f64>()) as u32 - 1;
    if rng.random::<bool>() { rank } else { (rank / TOPICS * TOPICS + topic).min(n_words - 1) }
}

fn rows(rng: &mut Xoshiro256PlusPlus, n_rows: u32, n_words: u32, length: usize) -> Csr {
    let mut builder = CsrBuilder::new(n_words as usize);
    for row in 0..n_rows {
        let mut words: Vec<u32> = (0..length).map(|_| word(rng, n_words, row % TOPICS)).collect();
        words.sort_unstable();
        // A word of rank r is in about 1 / r of the texts.
        let counts = words.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64));
        let weights: Vec<(u32, f64)> =
            counts.map(|(word, n)| (word, n * (1.0 + f64::from(word)).ln().max(0.1))).collect();
        let norm = weights.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        weights.iter().for_each(|&(word, weight)| builder.push(word, (weight / norm) as f32));
        builder.end_row();
    }
    builder.finish().expect("words ascend")
}

fn main() -> matchrank_core::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<f64>().expect("a number"));
    let n_words = arguments.next().unwrap_or(1e6) as u32;
    let n_tuples = arguments.next().unwrap_or(1e7) as usize;
    let lambda = arguments.next().unwrap_or(1e-5);
    let max_mib = arguments.next().map(|mib| mib as usize).filter(|&mib| mib > 0);
    let shrink_every =
        arguments.next().map_or(PreferenceParams::default().shrink_every, |steps| steps as usize);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let (queries, documents) = (rows(&mut rng, QUERIES, n_words, 8), rows(&mut rng, DOCUMENTS, n_words, 60));
    let params = PreferenceParams { lambda, max_mib, shrink_every, ..Default::default() };
    let mut learner =
        Learner::new(&params, n_words as usize, n_words as usize, (0..n_words).map(|i| (i, i)))?;
    let started = Instant::now();
    let mut errors = Vec::new();
    for _ in 0..10 {
        let draw = |rng: &mut Xoshiro256PlusPlus| {
            let query = rng.random_range(0..QUERIES);
            let of_topic = |topic: u32, rng: &mut Xoshiro256PlusPlus| {
                rng.random_range(0..DOCUMENTS / TOPICS) * TOPICS + topic
            };
            let topic = query % TOPICS;
            let other = (topic + rng.random_range(1..TOPICS)) % TOPICS;
            Tuple { query, more: of_topic(topic, rng), less: of_topic(other, rng) }
        };
        let tuples: Vec<Tuple> = (0..n_tuples / 10).map(|_| draw(&mut rng)).collect();
        let before = learner.clock().violations;
        learner.learn(&queries, &documents, &tuples, &Silent)?;
        errors.push((learner.clock().violations - before) as f64 / tuples.len() as f64);
        println!(
            "{:>10} tuples {:>7.1} s  W {:>5} MiB  {:>11} entries  {:.3} below the margin  ceiling met {} times",
            learner.clock().steps,
            started.elapsed().as_secs_f64(),
            learner.bytes() >> 20,
            learner.nnz(),
            errors[errors.len() - 1],
            learner.clock().ceilings
        );
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(peak) = status.lines().find(|line| line.starts_with("VmHWM:")) {
        println!("peak memory {}", peak.trim_start_matches("VmHWM:").trim());
    }
    Ok(())
}
