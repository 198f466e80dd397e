//! Arbitrary bytes as a run, and as its judgments those after the first byte 0, if there is one: never a
//! panic, and every measure of every dialect has a value in its range.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_core::data::{qrels, run};
use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate};

const FIXED: &[u8] = b"q1 0 d1 2\nq1 0 d2 0\nq1 0 d3 -1\nq2 0 d1 0.5\nq3 0 d9 0\n";
const ALL: &str =
    "ndcg,map,ndcg@2,map@2,mrr,mrr@1,p@1,p(rel=2)@3,r@2,err,err(max=1)@3,bpref,mre,pairwise,rbp";

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (ranked, judged) = (parts.next().unwrap_or_default(), parts.next().unwrap_or(FIXED));
    let Ok(run) = run::parse("fuzz", ranked) else { return };
    let mut ranking = Vec::new();
    let read = (0..run.n_queries()).try_for_each(|i| run.read(i, &mut ranking));
    run.tag();
    let Ok(judgments) = qrels::parse("fuzz", judged) else { return };
    for dialect in Dialect::ALL {
        let list = if dialect == Dialect::Sklearn { "ndcg,map,ndcg@2" } else { ALL };
        let measures = Measure::parse_list(list).expect("known names");
        let Ok(result) = evaluate(&judgments, &run, &measures, &Conventions::of(dialect)) else { continue };
        assert!(read.is_ok(), "a run that cannot be read has no value");
        for query in 0..result.n_queries() {
            let values: Vec<_> = (0..measures.len()).map(|m| result.value(query, m)).collect();
            let graded = dialect == Dialect::Ranx; // its last measure, RBP, adds up grades
            let bounded = &values[..values.len() - usize::from(graded)];
            assert!(bounded.iter().flatten().all(|v| (0.0..=1.0 + 1e-9).contains(v)), "{dialect} {values:?}");
            assert!(values.iter().all(|v| v.is_some() == values[0].is_some()), "{dialect} {values:?}");
        }
    }
});
