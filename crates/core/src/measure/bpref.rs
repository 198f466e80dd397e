//! Binary preference (Buckley and Voorhees, SIGIR 2004), for incomplete judgments: only judged documents count, and
//! unjudged ones are skipped.
//!
//! ```text
//! Bpref = 1/R sum over relevant ranked documents d of 1 - min(n_d, R) / min(N, R)
//! ```
//! There are R relevant and N judged non-relevant documents, of which n_d are ranked above d. The fraction is 0 if n_d
//! is 0. Documents of negative grade count as unjudged, as in trec_eval. Without a relevant document the value is 0.

use super::ranking::{Ranking, is_relevant};

pub(super) fn bpref(ranking: &Ranking, rel: Option<f32>) -> f64 {
    let relevant = ranking.n_relevant(rel);
    let judged = ranking.grades.partition_point(|&g| g >= 0.0);
    let bound = relevant.min(judged - relevant) as f64;
    let mut above = 0;
    let mut sum = 0.0;
    for hit in &ranking.hits {
        if is_relevant(hit.grade, rel) {
            sum += if above > 0 { 1.0 - above.min(relevant) as f64 / bound } else { 1.0 };
        } else if hit.grade >= 0.0 {
            above += 1;
        }
    }
    if relevant > 0 { sum / relevant as f64 } else { 0.0 }
}
