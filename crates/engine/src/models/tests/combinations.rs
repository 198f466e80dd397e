//! Sums of models against the formula, and models of weight 0.

use super::*;

/// Scores of one query for all documents.
fn scores(model: &dyn MatchingModel, dataset: &Dataset, query: &str) -> Vec<f32> {
    let matcher = bind(model, dataset, None, &Silent).unwrap();
    let n = matcher.n_documents();
    let mut scorer = matcher.begin(&[query]).unwrap();
    scorer.prepare();
    let mut block = vec![0.0; n as usize];
    scorer.block(0..n, &mut block);
    block
}

fn standardised(scores: &[f32]) -> Vec<f64> {
    let values: Vec<f64> = scores.iter().map(|s| if s.is_nan() { 0.0 } else { f64::from(*s) }).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    values.iter().map(|v| (v - mean) / variance.sqrt()).collect()
}

#[test]
fn a_sum_is_that_of_standardised_scores() {
    let (_folder, dataset) = dataset();
    let all = models(&dataset);
    let parts = [all[0].clone(), all[1].clone(), all[3].clone()];
    let columns: Vec<Vec<f64>> =
        parts.iter().map(|part| standardised(&scores(&**part, &dataset, QUERIES[0]))).collect();
    let close = |model: &dyn MatchingModel, weights: &[f64]| {
        for (place, score) in scores(model, &dataset, QUERIES[0]).into_iter().enumerate() {
            let expected: f64 = weights.iter().zip(&columns).map(|(w, column)| w * column[place]).sum();
            assert!((f64::from(score) - expected).abs() < 1e-4, "{place}: {score} {expected}");
        }
    };
    close(&Combination::new(parts.to_vec(), vec![0.5, 0.2, 0.3]).unwrap(), &[0.5, 0.2, 0.3]);
    let [first, second, _] = parts.clone();
    close(&Combination::of_two(0.3, [first, second]).unwrap(), &[0.3, 0.7]);
    let zero = Combination::new(parts.to_vec(), vec![0.5, 0.0, 0.5]).unwrap();
    close(&zero, &[0.5, 0.0, 0.5]);
    let zero = Combination { rule: Some(WeightRule::Best), ..zero };
    close(&zero, &[0.5, 0.0, 0.5]);
    // All parts are explained, the one of weight 0 too.
    let matcher = bind(&zero, &dataset, None, &Silent).unwrap();
    let document = matcher.top(&QUERIES[..1], 1, &Silent).unwrap()[0][0].document;
    let Why::Parts { parts } = matcher.explain(QUERIES[0], document).unwrap().why else { panic!() };
    assert_eq!(parts.iter().map(|part| part.weight).collect::<Vec<_>>(), [0.5, 0.0, 0.5]);
    assert!(parts[1].standardised != 0.0 && parts[1].contribution == 0.0, "{:?}", parts[1]);
}

#[test]
fn a_model_of_weight_0_is_not_scored() {
    let (_folder, dataset) = dataset();
    let all = models(&dataset);
    let (bm25, walk) = (all[0].clone(), all[3].clone());
    let tuned = |a: f32, models| Combination {
        rule: Some(WeightRule::OneSe),
        ..Combination::of_two(a, models).unwrap()
    };
    let alone = tuned(1.0, [bm25.clone(), walk.clone()]);
    let of_bm25 = standardised(&scores(&*bm25, &dataset, QUERIES[0]));
    for (score, expected) in scores(&alone, &dataset, QUERIES[0]).into_iter().zip(of_bm25) {
        assert!((f64::from(score) - expected).abs() < 1e-5);
    }
    // Nobody asked this: the walk says nothing, and BM25 does not count.
    let unknown = "w5";
    assert!(scores(&*walk, &dataset, unknown).iter().all(|score| score.is_nan()));
    let walk_alone = tuned(1.0, [walk.clone(), bm25.clone()]);
    assert!(scores(&walk_alone, &dataset, unknown).iter().all(|score| score.is_nan()));
    let matcher = bind(&walk_alone, &dataset, None, &Silent).unwrap();
    assert_eq!(matcher.explain(unknown, 5).unwrap().score, None);
    // With a given weight of 0 every document has the score 0, as in former versions.
    let given = Combination::of_two(1.0, [walk, bm25]).unwrap();
    assert!(scores(&given, &dataset, unknown).iter().all(|score| *score == 0.0));
}

#[test]
fn the_same_weights_for_any_number_of_threads() {
    let (_folder, dataset) = dataset();
    let all = models(&dataset);
    let validation = Validation::of(&dataset, 1, &Silent).unwrap().unwrap();
    let tuned = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let parts = vec![all[0].clone(), all[1].clone(), all[3].clone(), all[6].clone()];
        let params = CombinationParams::default();
        let sum =
            pool.install(|| Combination::tune(parts, &params, (&dataset, &validation), &Silent)).unwrap();
        (sum.weights, sum.trials)
    };
    assert_eq!(tuned(1), tuned(4));
}
