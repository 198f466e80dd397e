//! Sparse preference learning on the tuples of a folder of classes, and the same tuples as a file for Vowpal
//! Wabbit; `bench/preference/compare.py` runs both.
//!
//! ```text
//! cargo run --release -p matchrank-engine --example preference_speed -- 20news-bydate.tar.gz 20000 tuples.vw
//! ```
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use matchrank_core::matching::sparse_preference::{Learner, PreferenceParams, Tuple};
use matchrank_core::matching::{Csr, SparseRow};
use matchrank_core::progress::Silent;
use matchrank_engine::reproduce::{labelled, preference};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, n_tuples, examples] = &arguments[..] else {
        return Err("three arguments: data, number of tuples, file to write".into());
    };
    let split = labelled::read(Path::new(data), None, 10_000)?;
    let (rows, n) = (&split.train.rows, split.train.rows.n_columns());
    let tuples = preference::tuples(&split.train.labels, n_tuples.parse()?, 1);
    write(rows, &tuples, Path::new(examples))?;
    let mut learner = Learner::new(&PreferenceParams::default(), n, n, (0..n as u32).map(|i| (i, i)))?;
    let (started, before) = (Instant::now(), processor_seconds());
    learner.learn(rows, rows, &tuples, &Silent)?;
    println!(
        "{{\"seconds\": {}, \"cpu_seconds\": {}, \"density\": {}, \"violations\": {}}}",
        started.elapsed().as_secs_f64(),
        processor_seconds() - before,
        learner.density(),
        learner.clock().violations
    );
    Ok(())
}

fn write(rows: &Csr, tuples: &[Tuple], path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let row = |i: u32| -> SparseRow<'_> { rows.row(i as usize) };
    for tuple in tuples {
        let mut difference: BTreeMap<u32, f32> = row(tuple.more).iter().collect();
        row(tuple.less).iter().for_each(|(word, x)| *difference.entry(word).or_default() -= x);
        write!(out, "1 |q")?;
        row(tuple.query).iter().try_for_each(|(word, x)| write!(out, " {word}:{x}"))?;
        write!(out, " |d")?;
        difference.iter().filter(|(_, x)| **x != 0.0).try_for_each(|(word, x)| write!(out, " {word}:{x}"))?;
        writeln!(out)?;
    }
    out.flush()
}

/// Processor time of this process, to hundredths, where the system tells it; else 0.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
