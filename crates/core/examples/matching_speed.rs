//! Times RMLS or PLS on a click graph in a folder of raw arrays (`bench/matching/README.md` describes how to make one).
//!
//! `matching_speed FOLDER rmls [D] [ITERATIONS] [BETA] [GAMMA]`, `matching_speed FOLDER pls [D] [TOLERANCE]`
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::time::Instant;

use matchrank_core::matching::rmls::{self, RmlsParams, Verdict};
use matchrank_core::matching::{ClickGraph, Csr, PlsParams, pls};
use matchrank_core::progress::Silent;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number =
        |at: usize, default: f64| arguments.get(at).map_or(default, |text| text.parse().expect("a number"));
    let graph = read(Path::new(arguments.get(1).expect("a folder")));
    let started = Instant::now();
    let d = number(3, 1000.0) as usize;
    match arguments.get(2).map(String::as_str) {
        Some("rmls") => rmls(&graph, d, number(4, 10.0) as usize, (number(5, 0.5), number(6, 0.3))),
        Some("pls") => {
            let params = PlsParams { d, tolerance: number(4, 1e-3), ..Default::default() };
            let started = Instant::now();
            let fitted = pls::fit(&params, &graph, 1, &Silent).expect("a graph that can be learned from");
            let s = &fitted.singular_values;
            println!(
                "PLS: {:.2} s, {} steps, residual {:.2e}, singular values {:.3e} to {:.3e}",
                started.elapsed().as_secs_f64(),
                fitted.steps,
                fitted.residual,
                s[0],
                s[s.len() - 1]
            );
        }
        _ => panic!("the second argument must be rmls or pls"),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    println!("d = {d}: {:.2} s in total; {peak}", started.elapsed().as_secs_f64());
}

fn rmls(graph: &ClickGraph, d: usize, iterations: usize, (beta, gamma): (f64, f64)) {
    let params = RmlsParams { d, iterations, beta, gamma, ..Default::default() };
    let mut before = Instant::now();
    rmls::fit(&params, graph, rmls::RmlsRun { start: None, seed: 1, progress: &Silent }, &mut |iteration| {
        let report = &iteration.report;
        println!(
            "iteration {:2}: {:.3} s, objective {:.4e}, density {:.4} {:.4}, effective rank {:.1} {:.1}",
            report.number,
            before.elapsed().as_secs_f64(),
            report.objective,
            report.density_x,
            report.density_y,
            report.collapse_x.effective_rank,
            report.collapse_y.effective_rank
        );
        before = Instant::now();
        Ok(Verdict::Continue)
    })
    .expect("a graph that can be learned from");
}

fn read(folder: &Path) -> ClickGraph {
    let shape: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("shape.json")).expect("shape.json")).expect("JSON");
    let matrix = |name: &str| {
        let bytes = |what: &str| std::fs::read(folder.join(format!("{name}.{what}"))).expect("an array");
        let offsets = bytes("offsets.u64")
            .chunks_exact(8)
            .map(|c| u64::from_le_bytes(c.try_into().unwrap()) as usize)
            .collect();
        let indices =
            bytes("indices.u32").chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
        let values =
            bytes("values.f32").chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect();
        Csr::new(shape[name][1].as_u64().expect("columns") as usize, offsets, indices, values)
            .expect("a matrix")
    };
    ClickGraph::new(matrix("x"), matrix("y"), matrix("r")).expect("a graph")
}
