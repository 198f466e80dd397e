//! `reproduce threads`: training time by the number of threads.
//!
//! Every training run is a separate `train` process with its own threads and memory. All runs of a model must write the
//! same model file.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use matchrank_core::progress::Progress;
use matchrank_engine::files;
use serde_json::{Value, json};

use super::matching::{name_of, simulated};
use crate::commands::simulate::Preset;
use crate::terminal::{self, Format, Terminal, table};
use crate::{Global, Outcome};

pub(super) const EXAMPLES: &str = "\
Examples:
  matchrank reproduce threads
  matchrank reproduce threads --preset small --models rmls --counts 1,2,4 --format csv";

#[derive(clap::Args)]
pub(super) struct Args {
    /// Size and statistics of the log
    #[arg(long, value_enum, default_value = "one-week")]
    preset: Preset,
    /// Folder for the log, the dataset and the models; an existing dataset is reused
    #[arg(long, default_value = "reproduction", value_name = "DIR")]
    out: std::path::PathBuf,
    /// Learn from this dataset instead of a simulated log
    #[arg(long, value_name = "DATASET")]
    data: Option<std::path::PathBuf>,
    /// Models to train, with their default parameters
    #[arg(long, value_delimiter = ',', default_value = "rmls,pls", value_name = "LIST")]
    models: Vec<String>,
    /// Numbers of threads [default: 1, 2, 4, ... up to the cores of this machine]
    #[arg(long, value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u16).range(1..=256))]
    counts: Vec<u16>,
    /// Training runs per model and number of threads; the fastest counts
    #[arg(long, default_value_t = 1, value_name = "N")]
    repeats: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Cost of training a model with a number of threads.
struct Timed {
    model: String,
    threads: u16,
    seconds: f64,
    peak_mib: Option<f64>,
    hash: String,
}

pub(super) fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    ensure!(args.repeats > 0, "--repeats must be at least 1");
    let (data, folder) = match &args.data {
        Some(data) => (data.clone(), args.out.join("own-data")),
        None => simulated(args.preset, &args.out, global, &terminal)?,
    };
    files::make_folder(&folder)?;
    let counts = if args.counts.is_empty() { powers_of_two() } else { args.counts.clone() };
    let mut rows: Vec<Timed> = Vec::new();
    for model in &args.models {
        for &threads in &counts {
            terminal.begin(&format!("{model} with {threads} threads"), None, "");
            let mut best: Option<Timed> = None;
            for _ in 0..args.repeats {
                let timed = train(model, threads, &data, &folder, global.seed)?;
                if best.as_ref().is_none_or(|best| timed.seconds < best.seconds) {
                    best = Some(timed);
                }
            }
            rows.extend(best);
        }
    }
    terminal.finish();
    let is_same = |row: &Timed| {
        let first = rows.iter().find(|other| other.model == row.model);
        first.is_some_and(|first| first.hash == row.hash)
    };
    let all_same = rows.iter().all(is_same);
    if args.format == Format::Json {
        let runs: Vec<Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "model": row.model, "threads": row.threads, "seconds": row.seconds, "peak_mib": row.peak_mib,
                    "same_model": is_same(row),
                })
            })
            .collect();
        let all = json!({ "data": name_of(args.preset), "cores": cores(), "runs": runs });
        terminal::print(&serde_json::to_string_pretty(&all)?)?;
    } else {
        let cells = rows.iter().map(|row| {
            let first = rows.iter().find(|other| other.model == row.model).expect("it is itself one");
            vec![
                row.model.clone(),
                row.threads.to_string(),
                format!("{:.2}", row.seconds),
                format!("{:.2}", first.seconds / row.seconds),
                row.peak_mib.map_or(String::new(), |mib| format!("{mib:.0}")),
                if is_same(row) { "yes" } else { "no" }.to_owned(),
            ]
        });
        let header = ["model", "threads", "seconds", "times as fast", "peak MiB", "same model"];
        terminal::print(&table(&header, cells.collect(), args.format))?;
        if args.format == Format::Table {
            terminal::print(&format!(
                "Seconds are for all of `train`, including reading and writing, on a machine of {} cores. The papers \
                 report 1,380 s for RMLS with one thread and 277 s with 20, and 945,382 s for PLS with one (another \
                 log of this size).",
                cores()
            ))?;
            terminal.done("timed", started);
        }
    }
    Ok(if all_same { Outcome::Clean } else { Outcome::Problems })
}

fn cores() -> u16 {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(256) as u16)
}

fn powers_of_two() -> Vec<u16> {
    let cores = cores();
    let mut counts: Vec<u16> = (0..8).map(|power| 1 << power).filter(|&count| count < cores).collect();
    counts.push(cores);
    counts
}

fn train(model: &str, threads: u16, data: &Path, folder: &Path, seed: u64) -> anyhow::Result<Timed> {
    let out = folder.join(format!("{model}-{threads}-threads.model"));
    let output = Command::new(std::env::current_exe()?)
        .args(["--quiet", "--threads", &threads.to_string(), "--seed", &seed.to_string(), "train", model])
        .args(["--format", "json", "--data"])
        .arg(data)
        .arg("--out")
        .arg(&out)
        .output()?;
    if !output.status.success() {
        bail!("train {model}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let summary: Value = serde_json::from_slice(&output.stdout)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(std::fs::File::open(&out)?)?;
    std::fs::remove_file(&out).with_context(|| out.display().to_string())?;
    Ok(Timed {
        model: model.to_owned(),
        threads,
        seconds: summary["seconds"].as_f64().unwrap_or(f64::NAN),
        peak_mib: summary["peak_memory"].as_f64().map(|bytes| bytes / f64::from(1 << 20)),
        hash: hasher.finalize().to_hex().to_string(),
    })
}
