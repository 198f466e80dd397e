//! Measures the training speed of rankers on simulated lists.
//!
//! `ranking_speed online [LISTS]`: lists per second of the perceptron, 20 documents x 136 features each.
//! `ranking_speed ranksvm QUERIES DOCUMENTS FEATURES [LAMBDA] [hinge]`: time and peak memory of one RankSVM.
//! `ranking_speed growth`: time of one RankSVM over two lists of 1,000 to 1,000,000 documents, as CSV.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use matchrank_core::data::FeatureLists;
use matchrank_core::progress::Silent;
use matchrank_core::ranking::perceptron::{Perceptron, UpdateRule};
use matchrank_core::ranking::ranksvm::{self, PairLoss, RankSvmParams};
use matchrank_core::ranking::slam::Target;
use matchrank_core::ranking::{LambdaPath, PathPoint, Sample};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Simulates lists whose grades, 0 to 4, follow a hidden linear score with noise.
fn simulated(n_queries: usize, n_documents: usize, n_features: usize) -> FeatureLists {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let hidden: Vec<f32> = (0..n_features).map(|_| random.random_range(-1.0..1.0)).collect();
    let spread = (n_features as f32 / 9.0).sqrt();
    let mut values = vec![0.0f32; n_queries * n_documents * n_features];
    let mut labels = vec![0.0f32; n_queries * n_documents];
    values
        .par_chunks_mut(n_documents * n_features)
        .zip(labels.par_chunks_mut(n_documents))
        .enumerate()
        .for_each(|(query, (values, labels))| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(query as u64 + 2);
            for (row, label) in values.chunks_mut(n_features).zip(labels) {
                row.iter_mut().for_each(|value| *value = random.random_range(-1.0..1.0));
                let score: f32 = row.iter().zip(&hidden).map(|(x, w)| x * w).sum();
                let noisy = score / spread + random.random_range(-1.0..1.0);
                *label = [0.3, 0.8, 1.3, 1.8].iter().filter(|&&least| noisy > least).count() as f32;
            }
        });
    FeatureLists::from_dense(&vec![n_documents; n_queries], labels, n_features as u32, values)
        .expect("lengths, labels and values agree")
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("VmHWM: unknown").to_owned()
}

fn ranksvm(lists: &FeatureLists, loss: PairLoss, lambda: f64) -> (f64, PathPoint) {
    let params = RankSvmParams { loss, lambda: LambdaPath::One(lambda), ..RankSvmParams::default() };
    let started = Instant::now();
    let (_, report) = ranksvm::fit(&params, &Sample::new(lists), None, &Silent).expect("numbers are finite");
    (started.elapsed().as_secs_f64(), report.path[0])
}

/// Number of pairs of different grades over all lists.
fn n_pairs(lists: &FeatureLists) -> f64 {
    let of_list = |labels: &[f32]| {
        let count = |grade: u8| labels.iter().filter(|label| **label == f32::from(grade)).count() as f64;
        let same: f64 = (0..5).map(|grade| count(grade).powi(2)).sum();
        ((labels.len() as f64).powi(2) - same) / 2.0
    };
    lists.iter().map(|list| of_list(list.labels())).sum()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| arguments.get(i).and_then(|text| text.parse::<usize>().ok());
    match arguments.first().map(String::as_str) {
        Some("online") => {
            let rounds = number(1).unwrap_or(1_000_000);
            let lists = simulated(20_000.min(rounds), 20, 136);
            let mut perceptron =
                Perceptron::new(136, Target::NdcgAt(10), UpdateRule::Misordered, 1.0).expect("valid");
            let started = Instant::now();
            (0..rounds).for_each(|round| _ = perceptron.learn(&lists.list(round % lists.n_queries()), 1.0));
            let seconds = started.elapsed().as_secs_f64();
            let state = perceptron.state();
            println!(
                "{rounds} lists in {seconds:.2} s: {:.0} lists/s; {} updates; state {} bytes",
                rounds as f64 / seconds,
                state.updates,
                8 * (state.w.len() + state.sums.len() + 3)
            );
        }
        Some("ranksvm") => {
            let [Some(q), Some(m), Some(d)] = [number(1), number(2), number(3)] else {
                return println!("ranksvm QUERIES DOCUMENTS FEATURES [LAMBDA] [hinge]");
            };
            let lambda = arguments.get(4).and_then(|text| text.parse().ok()).unwrap_or(1e-3);
            let lists = simulated(q, m, d);
            let hinge = arguments.get(5).is_some_and(|loss| loss == "hinge");
            let loss = if hinge { PairLoss::Hinge } else { PairLoss::SquaredHinge };
            let (seconds, point) = ranksvm(&lists, loss, lambda);
            println!(
                "{q} x {m} x {d}, {:.2e} pairs: {seconds:.1} s, {} Newton steps, objective {:.4}, {}",
                n_pairs(&lists),
                point.iterations,
                point.objective,
                peak_memory()
            );
        }
        Some("growth") => {
            println!("documents,seconds,newton_steps,pairs");
            for m in [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000] {
                let lists = simulated(2, m, 10);
                // Take the best of three: other programs may be running on the machine.
                let runs = (0..3).map(|_| ranksvm(&lists, PairLoss::SquaredHinge, 1e-3));
                let (seconds, point) = runs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("three runs");
                println!("{m},{seconds:.4},{},{:.3e}", point.iterations, n_pairs(&lists));
            }
        }
        _ => println!("ranking_speed online | ranksvm QUERIES DOCUMENTS FEATURES | growth"),
    }
}
