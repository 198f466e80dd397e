//! Evaluates two runs against judgments: `cargo run -p matchrank-core --example evaluate`.
#![allow(clippy::print_stdout)]

use matchrank_core::data::{qrels, run};
use matchrank_core::measure::significance::{Test, compare};
use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate};

const JUDGMENTS: &str = "q1 0 d1 2\nq1 0 d2 1\nq2 0 d3 1\nq2 0 d4 0\nq3 0 d5 1\n";
const BASELINE: &str =
    "q1 Q0 d2 1 3 bm25\nq1 Q0 d1 2 2 bm25\nq2 Q0 d4 1 3 bm25\nq2 Q0 d3 2 2 bm25\nq3 Q0 d5 1 1 bm25\n";
const LEARNED: &str =
    "q1 Q0 d1 1 3 pls\nq1 Q0 d2 2 2 pls\nq2 Q0 d3 1 3 pls\nq2 Q0 d4 2 2 pls\nq3 Q0 d5 1 1 pls\n";

pub(crate) fn main() -> matchrank_core::Result<()> {
    let judgments = qrels::parse("judgments", JUDGMENTS.as_bytes())?;
    let measures = Measure::parse_list("ndcg@10,map,mrr")?;
    // A dialect settles ties, gains and missing queries as another tool does; this is our own.
    let conventions = Conventions::of(Dialect::Matchrank);

    let mut evaluations = Vec::new();
    for (name, text) in [("baseline", BASELINE), ("learned", LEARNED)] {
        let run = run::parse(name, text.as_bytes())?;
        let evaluation = evaluate(&judgments, &run, &measures, &conventions)?;
        for (m, measure) in measures.iter().enumerate() {
            println!("{name:9} {measure:8} {:.4}", evaluation.mean(m));
        }
        evaluations.push(evaluation);
    }
    assert!(evaluations[1].mean(0) > evaluations[0].mean(0));

    for pair in compare(&evaluations, 0, Test::T, 1)? {
        println!(
            "run {} is better than run {} by {:.4}, p = {:.2}",
            pair.better, pair.worse, pair.difference, pair.p
        );
    }
    Ok(())
}
