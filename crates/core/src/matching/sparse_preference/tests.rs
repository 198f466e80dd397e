use std::collections::BTreeSet;

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

use super::slow::Slow;
use super::*;
use crate::matching::Csr;
use crate::progress::Silent;

#[derive(Deserialize)]
#[allow(non_snake_case)]
struct Golden {
    docs: Vec<Vec<f32>>,
    tuples: Vec<[u32; 3]>,
    C: f64,
    T: usize,
    lambda_: f64,
    dense_decay: Vec<Vec<f64>>,
    dense_fixed_001: Vec<Vec<f64>>,
    sparse: Vec<Vec<f64>>,
    sparse_after_8: Vec<Vec<f64>>,
    refit_warm: Vec<Vec<f64>>,
}

fn golden() -> Golden {
    #[derive(Deserialize)]
    struct File {
        sparse_preference: Golden,
    }
    let file: File = serde_json::from_str(include_str!("../../../../../tests/golden/matching.json")).unwrap();
    file.sparse_preference
}

fn sparse(dense: &[Vec<f32>]) -> Csr {
    let triples = (0..).zip(dense).flat_map(|(i, row)| (0..).zip(row).map(move |(j, &value)| (i, j, value)));
    Csr::from_triples(dense.len(), dense[0].len(), triples.filter(|triple| triple.2 != 0.0)).unwrap()
}

fn identity(n: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..n).map(|i| (i, i))
}

#[track_caller]
fn assert_close(found: &Csr, expected: &[Vec<f64>]) {
    for (i, row) in expected.iter().enumerate() {
        let mut dense = vec![0.0; row.len()];
        found.row(i).iter().for_each(|(j, value)| dense[j as usize] = f64::from(value));
        for (found, expected) in dense.iter().zip(row) {
            assert!((found - expected).abs() <= 1e-6, "row {i}: {found} {expected}");
        }
    }
}

#[test]
fn golden_vectors() {
    let golden = golden();
    let docs = sparse(&golden.docs);
    let tuples: Vec<Tuple> =
        golden.tuples.iter().map(|&[query, more, less]| Tuple { query, more, less }).collect();
    let params = PreferenceParams {
        c: golden.C,
        lambda: golden.lambda_,
        shrink_every: golden.T,
        average: false,
        ..Default::default()
    };
    let learner = |params: &PreferenceParams| Learner::new(params, 5, 5, identity(5)).unwrap();

    let mut dense = learner(&PreferenceParams { form: WeightForm::Dense, ..params });
    dense.learn(&docs, &docs, &tuples, &Silent).unwrap();
    assert_close(&dense.matrix(), &golden.dense_decay);

    let mut fixed =
        learner(&PreferenceParams { form: WeightForm::Dense, step: Step::Fixed, c: 0.01, ..params });
    fixed.learn(&docs, &docs, &tuples, &Silent).unwrap();
    assert_close(&fixed.matrix(), &golden.dense_fixed_001);

    let mut sparse = learner(&params);
    sparse.learn(&docs, &docs, &tuples[..8], &Silent).unwrap();
    assert_close(&sparse.matrix(), &golden.sparse_after_8);
    let zeros = golden.sparse_after_8.iter().flatten().filter(|&&value| value == 0.0).count();
    assert_eq!(sparse.nnz(), 25 - zeros);
    sparse.learn(&docs, &docs, &tuples[8..], &Silent).unwrap();
    assert_close(&sparse.matrix(), &golden.sparse);
    sparse.refit();
    sparse.learn(&docs, &docs, &tuples, &Silent).unwrap();
    assert_close(&sparse.matrix(), &golden.refit_warm);
}

/// Queries, documents and tuples of a small problem.
#[derive(Debug, Clone)]
struct Problem {
    queries: Csr,
    documents: Csr,
    shared: Vec<(u32, u32)>,
    tuples: Vec<Tuple>,
}

impl Problem {
    fn learner(&self, params: &PreferenceParams) -> Learner {
        let (n_rows, n_columns) = (self.queries.n_columns(), self.documents.n_columns());
        Learner::new(params, n_rows, n_columns, self.shared.iter().copied()).unwrap()
    }

    fn learn(&self, learner: &mut Learner, tuples: &[Tuple]) {
        learner.learn(&self.queries, &self.documents, tuples, &Silent).unwrap();
    }

    fn slow(&self) -> Slow {
        Slow::new(self.queries.n_columns(), self.documents.n_columns(), &self.shared)
    }
}

/// Generates rows of `length` words on average; the first words are more frequent.
fn rows(rng: &mut Xoshiro256PlusPlus, n_rows: u32, n_words: u32, length: usize) -> Csr {
    let mut triples = Vec::new();
    for row in 0..n_rows {
        let words: BTreeSet<u32> = (0..rng.random_range(0..=2 * length))
            .map(|_| (rng.random::<f64>().powi(2) * f64::from(n_words)) as u32)
            .collect();
        triples.extend(words.into_iter().map(|word| (row, word, rng.random_range(0.05f32..0.6))));
    }
    Csr::from_triples(n_rows as usize, n_words as usize, triples).unwrap()
}

fn problem(seed: u64, n_words: (u32, u32), length: usize, n_rows: (u32, u32), n_tuples: usize) -> Problem {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let ((n_query_words, n_document_words), (n_queries, n_documents)) = (n_words, n_rows);
    let queries = rows(&mut rng, n_queries, n_query_words, length);
    let documents = rows(&mut rng, n_documents, n_document_words, length);
    let both = n_query_words.min(n_document_words);
    let shared = (0..both).filter(|_| rng.random::<f64>() < 0.8).map(|i| (i, both - 1 - i)).collect();
    let mut tuple = || Tuple {
        query: rng.random_range(0..n_queries),
        more: rng.random_range(0..n_documents),
        less: rng.random_range(0..n_documents),
    };
    let tuples = (0..n_tuples).map(|_| tuple()).collect();
    Problem { queries, documents, shared, tuples }
}

prop_compose! {
    fn params()(
        form in prop_oneof![Just(WeightForm::Sparse), Just(WeightForm::Sparse), Just(WeightForm::Dense), Just(WeightForm::Diagonal)],
        step in prop_oneof![Just(Step::Decaying), Just(Step::Fixed)],
        margin in 0.2..2.0,
        c in 0.1..3.0,
        lambda in 0.0..0.03,
        shrink_every in 1usize..12,
        average in any::<bool>(),
    ) -> PreferenceParams {
        PreferenceParams { form, margin, c, step, lambda, shrink_every, average, max_mib: None }
    }
}

prop_compose! {
    fn problems()(
        seed in any::<u64>(),
        n_query_words in 3u32..60,
        n_document_words in 3u32..400,
        length in 1usize..30,
        n_tuples in 0usize..90,
    ) -> Problem {
        problem(seed, (n_query_words, n_document_words), length, (12, 20), n_tuples)
    }
}

/// Returns everything that must be equal bit for bit.
fn bits(learner: &Learner) -> (Csr, Clock, u64) {
    (learner.matrix(), *learner.clock(), learner.bytes())
}

proptest! {
    #[test]
    fn lazy_shrinkage_is_the_eager_rule(params in params(), problem in problems()) {
        let (mut learner, mut slow) = (problem.learner(&params), problem.slow());
        problem.learn(&mut learner, &problem.tuples);
        slow.learn(&params, &problem.queries, &problem.documents, &problem.tuples, false);
        prop_assume!(slow.closest > 1e-4);
        let scale = slow.w.iter().flatten().fold(1f64, |max, w| max.max(w.abs()));
        let close = |found: &Csr, expected: &[Vec<f64>]| {
            let mut farthest = 0f64;
            for (i, row) in expected.iter().enumerate() {
                let mut dense = vec![0.0; row.len()];
                found.row(i).iter().for_each(|(j, value)| dense[j as usize] = f64::from(value));
                dense.iter().zip(row).for_each(|(a, b)| farthest = farthest.max((a - b).abs()));
            }
            farthest / scale
        };
        let apart = close(&learner.matrix(), &slow.w);
        prop_assert!(apart < 3e-5, "{} apart", apart);

        // Rounding may leave a small remainder of an entry that should be 0, and refitting would change it.
        let found = learner.matrix();
        for (i, row) in slow.w.iter().enumerate() {
            for (j, w) in (0..).zip(row) {
                if (*w != 0.0) != found.row(i).indices().contains(&j) {
                    prop_assert!(w.abs() < 1e-5 * scale);
                    prop_assume!(false);
                }
            }
        }
        learner.refit();
        problem.learn(&mut learner, &problem.tuples);
        let mean = slow.learn(&params, &problem.queries, &problem.documents, &problem.tuples, true);
        prop_assume!(slow.closest > 1e-4 && !problem.tuples.is_empty());
        let apart = close(&learner.matrix(), if params.average { &mean } else { &slow.w });
        prop_assert!(apart < 3e-5, "{} apart after refitting", apart);
    }

    #[test]
    fn threads_and_stops_make_no_difference(
        params in params(), problem in problems(), n_threads in 2usize..9, stop in 0.0..1.0,
    ) {
        let pool = |n_threads| rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        let mut plain = problem.learner(&params);
        let mut stopped = plain.clone();
        let at = (stop * problem.tuples.len() as f64) as usize;
        let one = pool(1);
        one.install(|| problem.learn(&mut plain, &problem.tuples));
        pool(n_threads).install(|| problem.learn(&mut stopped, &problem.tuples[..at]));
        stopped = Learner::from_state(&stopped.state()).unwrap();
        one.install(|| problem.learn(&mut stopped, &problem.tuples[at..]));
        prop_assert_eq!(bits(&plain), bits(&stopped));
        plain.refit();
        stopped.refit();
        pool(n_threads).install(|| problem.learn(&mut plain, &problem.tuples));
        one.install(|| problem.learn(&mut stopped, &problem.tuples[..at]));
        stopped = Learner::from_state(&stopped.state()).unwrap();
        pool(3).install(|| problem.learn(&mut stopped, &problem.tuples[at..]));
        prop_assert_eq!(bits(&plain), bits(&stopped));
        prop_assert_eq!(plain.state(), stopped.state());
    }
}

/// W stays below the memory limit, identically for any number of threads and after a stop.
#[test]
fn a_ceiling_holds() {
    let problem = problem(7, (2000, 2000), 60, (200, 300), 900);
    let params =
        PreferenceParams { c: 1.0, lambda: 1e-6, shrink_every: 10, max_mib: Some(4), ..Default::default() };
    let learned = |n_threads: usize, stop: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        let mut learner = problem.learner(&params);
        pool.install(|| problem.learn(&mut learner, &problem.tuples[..stop]));
        let mut learner = Learner::from_state(&learner.state()).unwrap();
        pool.install(|| problem.learn(&mut learner, &problem.tuples[stop..]));
        learner
    };
    let learner = learned(1, 0);
    assert!(learner.clock().ceilings > 0 && learner.clock().extra_shrinkage > 0.0);
    assert!(learner.bytes() <= 4 << 20, "{} bytes", learner.bytes());
    assert!(learner.nnz() > 10_000, "{} entries", learner.nnz());
    for (n_threads, stop) in [(2, 0), (3, 455), (8, 10)] {
        assert_eq!(bits(&learned(n_threads, stop)), bits(&learner), "{n_threads} threads");
    }
    let free = {
        let mut learner = problem.learner(&PreferenceParams { max_mib: None, ..params });
        problem.learn(&mut learner, &problem.tuples);
        learner
    };
    assert!(free.nnz() > learner.nnz() && free.clock().ceilings == 0);
    let too_low = PreferenceParams { max_mib: Some(1), ..params };
    assert!(Learner::new(&too_low, 100_000, 10, []).unwrap_err().to_string().contains("max_mib"));
}

#[test]
fn broken_input_is_an_error() {
    let params = PreferenceParams::default();
    for wrong in [
        PreferenceParams { c: 0.0, ..params },
        PreferenceParams { margin: f64::NAN, ..params },
        PreferenceParams { lambda: -1.0, ..params },
        PreferenceParams { shrink_every: 0, ..params },
        PreferenceParams { max_mib: Some(0), ..params },
    ] {
        assert!(Learner::new(&wrong, 2, 2, []).is_err(), "{wrong:?}");
    }
    assert!(Learner::new(&params, 2, 2, [(2, 0)]).is_err());
    assert!(Learner::new(&params, 2, 2, [(0, 0), (0, 1)]).is_err());
    let mut learner = Learner::new(&params, 2, 2, identity(2)).unwrap();
    let rows = Csr::from_triples(2, 2, [(0, 0, 1.0), (1, 1, 1.0)]).unwrap();
    let mut learn = |rows: &Csr, query, more, less| {
        learner.learn(rows, rows, &[Tuple { query, more, less }], &Silent).map_err(|error| error.to_string())
    };
    assert!(learn(&rows, 2, 0, 1).unwrap_err().contains("query 2, but there are only 2"));
    assert!(learn(&rows, 0, 0, 7).unwrap_err().contains("document 7, but there are only 2"));
    let wide = Csr::from_triples(2, 3, [(0, 2, 1.0)]).unwrap();
    assert!(learn(&wide, 0, 0, 1).unwrap_err().contains("3 features"));
    let huge = Csr::from_triples(2, 2, [(0, 0, 1e7), (1, 1, 1.0)]).unwrap();
    assert!(learn(&huge, 0, 0, 1).unwrap_err().contains("length 1"));
    let large = Csr::from_triples(2, 2, [(0, 0, 9e5), (1, 1, 9e5)]).unwrap();
    let mut diverging =
        Learner::new(&PreferenceParams { c: 1e9, lambda: 0.0, ..params }, 2, 2, identity(2)).unwrap();
    let tuples = [Tuple { query: 0, more: 1, less: 0 }, Tuple { query: 0, more: 0, less: 1 }];
    let error = diverging.learn(&large, &large, &tuples, &Silent).unwrap_err();
    assert!(matches!(error, crate::Error::Diverged(_)), "{error}");
}

#[test]
fn broken_states_are_errors() {
    let problem = problem(3, (30, 300), 12, (12, 20), 80);
    let params = PreferenceParams { c: 0.5, average: true, ..Default::default() };
    let mut learner = problem.learner(&params);
    problem.learn(&mut learner, &problem.tuples);
    learner.refit();
    problem.learn(&mut learner, &problem.tuples);
    let state = learner.state();
    assert_eq!(Learner::from_state(&state).unwrap().state(), state);
    assert!([1, 4].iter().all(|kind| state.kinds.contains(kind)), "all kinds of rows");
    let breaks: [fn(&mut State); 9] = [
        |state| state.kinds[0] = 9,
        |state| state.capacities.iter_mut().for_each(|capacity| *capacity = 1),
        |state| state.capacities.iter_mut().for_each(|capacity| *capacity = u32::MAX),
        |state| state.columns[0] = 300,
        |state| state.numbers[0] = f32::NAN,
        |state| state.sums.truncate(1),
        |state| state.offsets[1] = u64::MAX,
        |state| state.clock.shrinkage = f64::NAN,
        |state| state.shared[0] = 300,
    ];
    for (at, broken) in breaks.iter().enumerate() {
        let mut state = state.clone();
        broken(&mut state);
        assert!(Learner::from_state(&state).is_err(), "break {at}");
    }
}
