//! Reads a plain LETOR file several times and prints its size and the reading speed.
//!
//! `cargo run --release -p matchrank-core --example letor_speed -- FILE [TIMES]`
#![allow(clippy::print_stdout)]

use std::time::Instant;

use matchrank_core::data::letor;
use matchrank_core::progress::Silent;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: letor_speed FILE [TIMES]")?;
    let times: usize = std::env::args().nth(2).map_or(Ok(3), |n| n.parse())?;
    for _ in 0..times {
        let start = Instant::now();
        let bytes = std::fs::read(&file)?;
        let lists = letor::parse(&file, &bytes, &Silent)?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{} queries, {} rows, {} features, {:.0} MB in memory: {seconds:.3} s, {:.0} MB/s with {} threads",
            lists.n_queries(),
            lists.n_rows(),
            lists.n_features(),
            lists.bytes() as f64 / 1e6,
            bytes.len() as f64 / 1e6 / seconds,
            rayon::current_num_threads(),
        );
    }
    Ok(())
}
