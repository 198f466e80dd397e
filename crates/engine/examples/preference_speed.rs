//! Sparse preference learning on the tuples of a folder of classes, and the same tuples as files for Vowpal
//! Wabbit; `bench/preference/compare.py` runs both.
//!
//! ```text
//! cargo run --release -p matchrank-engine --example preference_speed -- 20news-bydate.tar.gz 100000 [folder]
//! ```
//!
//! Learns from all tuples and refits with them once. Then starts again, learns from the first part of the tuples and
//! refits with the others, so that each tuple is read once. With a folder, writes `train.vw`, the tuples; `test.vw`,
//! 20,000 test tuples; `lists.vw`, some test rows as queries against all others; and `lists.txt`, whether a row of
//! `lists.vw` has the class of its query.
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
use matchrank_engine::reproduce::labelled::{self, Labelled, TextParams};
use matchrank_engine::reproduce::preference;

/// Step between the rows that are queries of `lists.vw`. A list is 7,531 examples of about 250 words, 15 MB of text.
const STEP: usize = 150;
/// Share of the tuples to learn from in the run that reads each tuple once.
const LEARNED: f64 = 0.4;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (data, n_tuples, folder) = match &arguments[..] {
        [data, n_tuples] => (data, n_tuples, None),
        [data, n_tuples, folder] => (data, n_tuples, Some(Path::new(folder))),
        _ => return Err("expected two or three arguments: data, number of tuples, folder to write to".into()),
    };
    let split = labelled::read(Path::new(data), None, &TextParams::default())?;
    let (rows, n) = (&split.train.rows, split.train.rows.n_columns());
    let tuples = preference::tuples(&split.train.labels, n_tuples.parse()?, 1);
    let test = preference::tuples(&split.test.labels, 20_000, 2);
    if let Some(folder) = folder {
        write(rows, &tuples, &folder.join("train.vw"))?;
        write(&split.test.rows, &test, &folder.join("test.vw"))?;
        write_lists(&split.test, folder)?;
    }
    let (first, others) = tuples.split_at((LEARNED * tuples.len() as f64) as usize);
    let mut phases = Vec::new();
    for (names, learned, refitted) in [
        (["learn", "refit"], &tuples[..], &tuples[..]),
        (["learn a part", "refit with the others"], first, others),
    ] {
        let mut learner = Learner::new(&PreferenceParams::default(), n, n, (0..n as u32).map(|i| (i, i)))?;
        for (phase, tuples) in names.into_iter().zip([learned, refitted]) {
            let (started, before) = (Instant::now(), processor_seconds());
            learner.learn(rows, rows, tuples, &Silent)?;
            let (seconds, cpu_seconds) = (started.elapsed().as_secs_f64(), processor_seconds() - before);
            let w = learner.matrix();
            phases.push(serde_json::json!({
                "phase": phase,
                "tuples": tuples.len(),
                "seconds": seconds,
                "cpu_seconds": cpu_seconds,
                "density": learner.density(),
                "violations": learner.clock().violations,
                "list_map": preference::mean_average_precision(&w, &split.test, STEP, &Silent),
                "error": preference::error(&w, &split.test, &test),
            }));
            learner.refit();
        }
    }
    println!("{}", serde_json::to_string(&phases)?);
    Ok(())
}

fn write(rows: &Csr, tuples: &[Tuple], path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let row = |i: u32| -> SparseRow<'_> { rows.row(i as usize) };
    for tuple in tuples {
        let mut difference: BTreeMap<u32, f32> = row(tuple.more).iter().collect();
        row(tuple.less).iter().for_each(|(word, x)| *difference.entry(word).or_default() -= x);
        example(&mut out, row(tuple.query), difference.into_iter())?;
    }
    out.flush()
}

/// Writes some rows as queries, each against all other rows in order.
fn write_lists(test: &Labelled, folder: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(folder.join("lists.vw"))?);
    let mut classes = BufWriter::new(File::create(folder.join("lists.txt"))?);
    for query in (0..test.labels.len()).step_by(STEP) {
        for other in (0..test.labels.len()).filter(|&other| other != query) {
            example(&mut out, test.rows.row(query), test.rows.row(other).iter())?;
            writeln!(classes, "{query} {}", u8::from(test.labels[query] == test.labels[other]))?;
        }
    }
    out.flush()?;
    classes.flush()
}

fn example(
    out: &mut impl Write,
    query: SparseRow<'_>,
    difference: impl Iterator<Item = (u32, f32)>,
) -> std::io::Result<()> {
    write!(out, "1 |q")?;
    query.iter().try_for_each(|(word, x)| write!(out, " {word}:{x}"))?;
    write!(out, " |d")?;
    difference.filter(|&(_, x)| x != 0.0).try_for_each(|(word, x)| write!(out, " {word}:{x}"))?;
    writeln!(out)
}

/// Returns the processor time of this process in seconds, to hundredths, or 0 if the system does not report it.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}
