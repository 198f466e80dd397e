use proptest::prelude::*;

use super::*;
use crate::matching::golden::{agree, baselines, entries, sparse};
use crate::matching::{Csr, Rows};
use crate::progress::Silent;

fn counts(n: usize, n_words: u32) -> impl Strategy<Value = Vec<std::collections::BTreeMap<u32, u32>>> {
    prop::collection::vec(prop::collection::btree_map(0..n_words, 1u32..4, 0..4), n..=n)
}

fn csr(rows: &[std::collections::BTreeMap<u32, u32>], n_columns: usize) -> Csr {
    let triples = (0..).zip(rows).flat_map(|(i, row)| row.iter().map(move |(&j, &n)| (i, j, n as f32)));
    Csr::from_triples(rows.len(), n_columns, triples).unwrap()
}

/// Computes the objective of the module independently, in f64.
fn objective(params: &BltmParams, em: &Em, data: [&Csr; 3], thetas: &[f32]) -> f64 {
    let model = em.model().unwrap();
    let k = params.topics;
    let row = |factor: &Factor, word: u32| {
        let mut row = vec![0.0; k];
        factor.add(word, 1.0, &mut row);
        row
    };
    let [queries, documents, weights] = data;
    let mut sum = 0.0;
    let mut pair = 0;
    let by_document = weights.transpose();
    for j in 0..weights.n_columns() {
        for (i, c) in by_document.row(j).iter() {
            let theta = &thetas[pair * k..][..k];
            pair += 1;
            let mut own = 0.0;
            for (factor, counts) in
                [(model.queries(), queries.row(i as usize)), (model.documents(), documents.row(j))]
            {
                for (word, n) in counts.iter() {
                    let p = row(factor, word);
                    let s: f64 = p.iter().zip(theta).map(|(p, t)| f64::from(*p) * f64::from(*t)).sum();
                    own += f64::from(n) * s.ln();
                }
            }
            own += params.alpha * theta.iter().map(|&t| f64::from(t).ln()).sum::<f64>();
            sum += f64::from(c) * own;
        }
    }
    for factor in [model.queries(), model.documents()] {
        let Rows::Dense(values) = factor.rows() else { panic!("dense") };
        sum += params.beta * values.iter().map(|&p| f64::from(p).ln()).sum::<f64>();
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// EM never decreases the objective, probabilities stay valid, and the number of threads changes nothing.
    #[test]
    fn the_objective_never_falls(
        queries in counts(4, 6), documents in counts(5, 6), weights in prop::collection::vec(0u32..3, 20),
        topics in 1usize..20, alpha in 0.001f64..0.5, beta in 0.001f64..0.5, seed in 0u64..99,
    ) {
        let params = BltmParams { topics, alpha, beta, ..Default::default() };
        let weights: Vec<std::collections::BTreeMap<u32, u32>> = weights.chunks(5)
            .map(|row| (0..).zip(row.iter().copied()).filter(|(_, c)| *c > 0).collect()).collect();
        let (x, y, r) = (csr(&queries, 6), csr(&documents, 6), csr(&weights, 5));
        let Ok(mut em) = Em::new(&params, [&x, &y], &r, seed) else { return Ok(()) };
        let mut last = objective(&params, &em, [&x, &y, &r], em.theta());
        for _ in 0..8 {
            em.iterate(&Silent);
            let now = objective(&params, &em, [&x, &y, &r], em.theta());
            prop_assert!(now >= last - 1e-4 * last.abs().max(1.0), "{} after {}", now, last);
            last = now;
        }
        let model = em.model().unwrap();
        for factor in [model.queries(), model.documents()] {
            let Rows::Dense(values) = factor.rows() else { panic!("dense") };
            for z in 0..topics {
                let sum: f32 = values.iter().skip(z).step_by(topics).sum();
                prop_assert!((sum - 1.0).abs() < 1e-4, "{}", sum);
            }
        }
        for theta in em.theta().chunks(topics) {
            prop_assert!((theta.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let again = pool.install(|| {
            let mut em = Em::new(&params, [&x, &y], &r, seed).unwrap();
            (0..8).for_each(|_| { em.iterate(&Silent); });
            em.model().unwrap()
        });
        prop_assert!(again == model);
    }
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let empty = Csr::from_triples(1, 2, []).unwrap();
    let word = Csr::from_triples(1, 2, [(0, 1, 1.0)]).unwrap();
    let click = Csr::from_triples(1, 1, [(0, 0, 1.0)]).unwrap();
    let none = Csr::from_triples(1, 1, []).unwrap();
    let params = BltmParams { topics: 2, ..Default::default() };
    assert!(Em::new(&params, [&word, &word], &click, 1).is_ok());
    for (x, y, r) in
        [(&word, &word, &none), (&empty, &word, &click), (&word, &empty, &click), (&word, &word, &word)]
    {
        assert!(Em::new(&params, [x, y], r, 1).is_err());
    }
    for wrong in [
        BltmParams { topics: 0, ..params },
        BltmParams { alpha: -1.0, ..params },
        BltmParams { beta: f64::NAN, ..params },
        BltmParams { document: 0.6, topic: 0.4, ..params },
        BltmParams { document: 0.0, topic: 0.0, ..params },
        BltmParams { steps: 0, ..params },
    ] {
        assert!(Em::new(&wrong, [&word, &word], &click, 1).is_err(), "{wrong:?}");
    }
}

#[derive(serde::Deserialize)]
struct Golden {
    bltm: Case,
}

#[derive(serde::Deserialize)]
struct Case {
    queries: Vec<Vec<f32>>,
    documents: Vec<Vec<f32>>,
    weights: Vec<Vec<f32>>,
    params: BltmParams,
    start_x: Vec<Vec<f32>>,
    start_y: Vec<Vec<f32>>,
    log_likelihoods: Vec<f64>,
    thetas: Vec<Vec<f64>>,
    prior: Vec<f64>,
    px: Vec<Vec<f64>>,
    py: Vec<Vec<f64>>,
    background: Vec<f32>,
    topics_of: Vec<Vec<f64>>,
    scores: Vec<Vec<f64>>,
}

#[test]
fn golden() {
    let Golden { bltm: case } = baselines();
    let params = &case.params;
    let [x, y, r] = [&case.queries, &case.documents, &case.weights].map(|matrix| sparse(matrix));
    let mut em = Em::new(params, [&x, &y], &r, 1).unwrap();
    em.start_from(&case.start_x, &case.start_y);
    let found: Vec<f64> = (0..params.iterations).map(|_| em.iterate(&Silent)).collect();
    agree("log-likelihoods", found, case.log_likelihoods);
    agree("theta", em.theta().to_vec(), entries(&case.thetas));
    let model = em.model().unwrap();
    agree("prior", model.prior().to_vec(), case.prior);
    let p = |factor: &Factor| -> Vec<f32> {
        let mut rows = vec![vec![0.0; params.topics]; factor.n_features()];
        (0..).zip(&mut rows).for_each(|(word, row)| factor.add(word, 1.0, row));
        rows.concat()
    };
    agree("p_x", p(model.queries()), entries(&case.px));
    agree("p_y", p(model.documents()), entries(&case.py));
    let topics: Vec<Vec<f32>> = y.rows().map(|row| model.topics_of(row, params)).collect();
    agree("topics of documents", topics.concat(), entries(&case.topics_of));
    let mut scores = Vec::new();
    for query in x.rows() {
        for (document, theta) in case.documents.iter().zip(&topics) {
            let length: f32 = document.iter().sum();
            let part = |(word, n): (u32, f32)| {
                let (own, by_topics) = (document[word as usize] / length, model.likelihood(word, theta));
                n * params.evidence(own, by_topics, case.background[word as usize])
            };
            scores.push(query.iter().map(part).sum::<f32>());
        }
    }
    agree("scores", scores, entries(&case.scores));
}
