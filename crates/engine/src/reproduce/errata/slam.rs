//! Chaudhuri, Tewari: *Perceptron-like algorithms and generalization bounds for learning to rank*, 2015.

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::progress::Silent;
use matchrank_core::ranking::perceptron::{Perceptron, UpdateRule};
use matchrank_core::ranking::slam::{BoundConstants, GeneralizationBound, Target, loss, worst_loss};

use super::{Correction, figures, near};
use crate::Result;

const PAPER: &str = "SLAM";

pub(super) fn corrections() -> Result<Vec<Correction>> {
    Ok(vec![
        independence_of_the_step()?,
        bound_of_the_perceptron()?,
        v_map(),
        gradient_of_ranksvm(),
        ndcg_over_documents(),
        ties_at_zero(),
        minimum_at_zero(),
        generalization_bound(),
    ])
}

/// Makes three documents, the first two relevant, with features eps (1, 0), eps (-0.5, 0.3) and (0, 0).
fn three_documents(eps: f64) -> Result<FeatureLists> {
    let file = format!("1 qid:1 1:{eps}\n1 qid:1 1:{} 2:{}\n0 qid:1 1:0\n", -0.5 * eps, 0.3 * eps);
    letor::parse("three documents", file.as_bytes(), &Silent)
}

/// Returns the cumulative loss of the perceptron over many rounds with the same list. Steps of eta with the margin 1
/// are steps of 1 with the margin 1 / eta.
fn cumulative_loss(lists: &FeatureLists, rule: UpdateRule, eta: f64, rounds: usize) -> Result<f64> {
    let mut perceptron = Perceptron::new(2, Target::Map, rule, 1.0 / eta)?;
    (0..rounds).for_each(|_| _ = perceptron.learn(&lists.list(0), 1.0));
    Ok(perceptron.state().cumulative_loss)
}

fn independence_of_the_step() -> Result<Correction> {
    let lists = three_documents(1.0)?;
    let of = |rule, eta| cumulative_loss(&lists, rule, eta, 1000);
    let printed = [of(UpdateRule::Printed, 0.01)?, of(UpdateRule::Printed, 100.0)?];
    let misordered = [of(UpdateRule::Misordered, 0.01)?, of(UpdateRule::Misordered, 100.0)?];
    Ok(Correction {
        paper: PAPER,
        place: "section 5, Algorithm 1",
        printed: "predictions and updates do not depend on the step eta",
        correct: "they do, because the margin test compares scores with 1; a rule that moves misordered documents alone does not depend on eta",
        figures: figures([
            ("loss of 1,000 rounds as printed, eta = 0.01", printed[0]),
            ("loss of 1,000 rounds as printed, eta = 100", printed[1]),
            ("loss with misordered documents alone, eta = 0.01", misordered[0]),
            ("loss with misordered documents alone, eta = 100", misordered[1]),
        ]),
        holds: printed[0] > 5.0 * printed[1] && misordered[0] == misordered[1] && misordered[0] > 0.0,
    })
}

fn bound_of_the_perceptron() -> Result<Correction> {
    // R_X = eps, gamma = eps / sqrt(26), m = 3, v = (1/4, 1/6, 0). v_max is read as the largest ratio of two positive
    // entries of v, which gives a larger bound than the largest entry would (78).
    let eps = 0.02;
    let lists = three_documents(eps)?;
    let v = Target::Map.weights(&[1.0, 1.0, 0.0]);
    let ratio = 26.0; // R_X^2 / gamma^2
    let (bound, corrected) = (4.0 * 3.0 * ratio * v[0] / v[1], 4.0 * ratio);
    let printed = cumulative_loss(&lists, UpdateRule::Printed, 1.0, 40_000)?;
    let misordered = cumulative_loss(&lists, UpdateRule::Misordered, 1.0, 40_000)?;
    Ok(Correction {
        paper: PAPER,
        place: "Corollary 6",
        printed: "the cumulative loss of Algorithm 1 is at most 4 m R_X^2 v_max / gamma^2",
        correct: "false for Algorithm 1 as printed; if only misordered documents move the weights, the loss is at most 4 R_X^2 / gamma^2",
        figures: figures([
            ("bound as printed", bound),
            ("loss of 40,000 rounds as printed", printed),
            ("corrected bound", corrected),
            ("loss with misordered documents alone", misordered),
        ]),
        holds: printed > bound && misordered <= corrected,
    })
}

/// Returns the least phi_v - (1 - MAP) over all orders of three documents, the first two relevant. Documents in the
/// right order are a margin apart and others hardly, so that phi_v is as small as it can be.
fn least_slack(v: [f64; 3]) -> f64 {
    let (grades, places) = ([1.0, 1.0, 0.0], [0.0, 1e-9, 1.0, 1.0 + 1e-9, 2.0]);
    let mut least = f64::INFINITY;
    for a in places {
        for b in places {
            for c in places {
                let scores = [a, b, c];
                least =
                    least.min(loss(&scores, &grades, &v, 1.0) - worst_loss(Target::Map, &scores, &grades));
            }
        }
    }
    least
}

fn v_map() -> Correction {
    let found = Target::Map.weights(&[1.0, 1.0, 0.0]);
    let v_map = [found[0], found[1], found[2]];
    let other = [v_map[1], v_map[0], 0.0];
    let bounds = |v: [f64; 3]| least_slack(v) >= -1e-12;
    let smaller = v_map.map(|v| 0.999 * v);
    Correction {
        paper: PAPER,
        place: "Theorem 2, equation (8)",
        printed: "v_MAP is at most v, entry by entry, for every v whose phi_v bounds 1 - MAP",
        correct: "v_MAP has the least sum but does not dominate: with two relevant documents of three, (1/6, 1/4, 0) bounds the loss as well",
        figures: figures([
            ("first entry of v_MAP", v_map[0]),
            ("first entry of the other v", other[0]),
            ("least phi_v - (1 - MAP) over all orders, v_MAP", least_slack(v_map)),
            ("least phi_v - (1 - MAP) over all orders, the other v", least_slack(other)),
            ("least phi_v - (1 - MAP) over all orders, 0.999 v_MAP", least_slack(smaller)),
        ]),
        holds: other[0] < v_map[0] && bounds(v_map) && bounds(other) && !bounds(smaller),
    }
}

fn gradient_of_ranksvm() -> Correction {
    // At equal scores every pair is within the margin: +1 for its lower document, -1 for its higher one.
    let norm = |m: usize| {
        let mut gradient = vec![0.0f64; m];
        for higher in (0..m).step_by(2) {
            for lower in (1..m).step_by(2) {
                gradient[higher] -= 1.0;
                gradient[lower] += 1.0;
            }
        }
        gradient.iter().map(|slope| slope.abs()).sum::<f64>()
    };
    Correction {
        paper: PAPER,
        place: "section 6.1, appendix 7.9",
        printed: "the l1 norm of RankSVM's gradient by the scores is at most 2 m",
        correct: "it is 2 r (m - r) with r relevant documents of m, and m^2 / 2 at most: there are r (m - r) pairs, not m",
        figures: figures([
            ("2 m, m = 8", 16.0),
            ("norm at equal scores, m = 8, 4 relevant", norm(8)),
            ("2 m, m = 128", 256.0),
            ("norm at equal scores, m = 128, 64 relevant", norm(128)),
        ]),
        holds: norm(8) == 32.0 && norm(128) == 8192.0,
    }
}

fn ndcg_over_documents() -> Correction {
    // Two documents of grade 1 and one of grade 0; the second document is ranked first. (30) sums over documents 1..k.
    let discount = |place: f64| 1.0 / (1.0 + place).log2();
    let printed = discount(2.0) / discount(1.0);
    let over_places = 1.0 - worst_loss(Target::NdcgAt(1), &[1.0, 2.0, 0.0], &[1.0, 1.0, 0.0]);
    Correction {
        paper: PAPER,
        place: "equation (30)",
        printed: "NDCG@k sums over documents 1..k",
        correct: "over places 1..k; else a perfect order of documents with equal grades is worth less than 1",
        figures: figures([
            ("NDCG@1 of a perfect order as printed", printed),
            ("NDCG@1 summed over places", over_places),
        ]),
        holds: printed < 0.64 && over_places == 1.0,
    }
}

fn ties_at_zero() -> Correction {
    // At w = 0 both documents have the score 0. In the order of the file the relevant one comes first.
    let worst = worst_loss(Target::Ndcg, &[0.0, 0.0], &[1.0, 0.0]);
    let in_file_order = worst_loss(Target::Ndcg, &[1.0, 0.0], &[1.0, 0.0]);
    Correction {
        paper: PAPER,
        place: "Algorithm 1",
        printed: "update if the loss is not 0; the order of equal scores is left open",
        correct: "equal scores need the worst order: in file order a list that names its best documents first is never learned from",
        figures: figures([
            ("1 - NDCG at w = 0, ties in file order", in_file_order),
            ("1 - NDCG at w = 0, ties in the worst order", worst),
        ]),
        holds: in_file_order == 0.0 && worst > 0.0,
    }
}

fn minimum_at_zero() -> Correction {
    // One feature: 0.8 for the relevant document, 0 for nine others, 1 for the tenth. w > 0 orders nine pairs of ten.
    let mut features = vec![0.8];
    features.extend([0.0; 9]);
    features.push(1.0);
    let mut grades = vec![0.0f32; 11];
    grades[0] = 1.0;
    let v = Target::Ndcg.weights(&grades);
    let scores = |w: f64| -> Vec<f64> { features.iter().map(|x| w * x).collect() };
    let objective = |w: f64| loss(&scores(w), &grades, &v, 1.0);
    let ndcg = |w: f64| 1.0 - worst_loss(Target::Ndcg, &scores(w), &grades);
    Correction {
        paper: PAPER,
        place: "section 3, problem (4)",
        printed: "minimising (4) learns a ranking function",
        correct: "w = 0 can be the minimum for every lambda, though a feature orders nine pairs of ten: the one wrong pair decides the loss",
        figures: figures([
            ("loss at w = -0.1", objective(-0.1)),
            ("loss at w = 0", objective(0.0)),
            ("loss at w = 0.1", objective(0.1)),
            ("NDCG at w = 0", ndcg(0.0)),
            ("NDCG at w = 0.1", ndcg(0.1)),
        ]),
        holds: objective(-0.1) > objective(0.0) && objective(0.1) > objective(0.0) && ndcg(0.1) > ndcg(0.0),
    }
}

fn generalization_bound() -> Correction {
    let bound = |n: u64| {
        GeneralizationBound::new(0.1, &BoundConstants { n, radius: 1.0, lipschitz: 2.0, delta: 1.0 })
    };
    let (excess, norm) = (|n: u64| bound(n).excess, bound(1).norm);
    Correction {
        paper: PAPER,
        place: "Theorem 8, bound (23)",
        printed: "a bound on the expected loss for a ball ||w|| <= B that is fixed beforehand",
        correct: "the only B known beforehand is sqrt(2 Delta / lambda); with it the bound stays above Delta, and with Delta = 1 it says nothing for any number of lists",
        figures: figures([
            ("B for lambda = 0.1, Delta = 1", norm),
            ("bound from 1,000 lists", excess(1000)),
            ("bound from 100,000 lists", excess(100_000)),
            ("largest possible loss", 1.0),
        ]),
        holds: near(norm, 20f64.sqrt()) && excess(1000) > excess(100_000) && excess(u64::MAX) >= 1.0,
    }
}
