use proptest::prelude::*;

use super::*;

#[derive(Deserialize)]
struct Golden {
    #[serde(rename = "R")]
    responses: Vec<Vec<f32>>,
    random_walk: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    self_transition: f64,
    steps: usize,
    scores: Vec<Vec<f64>>,
}

fn triples(responses: &[Vec<f32>]) -> Vec<(u32, u32, f32)> {
    let row = |(q, row): (u32, &Vec<f32>)| -> Vec<_> {
        (0u32..).zip(row).map(|(d, &response)| (q, d, response)).collect()
    };
    (0u32..).zip(responses).flat_map(row).collect()
}

fn dense(n_documents: usize, scores: &[(u32, f64)]) -> Vec<f64> {
    assert!(scores.is_sorted_by(|a, b| a.0 < b.0));
    let mut row = vec![0.0; n_documents];
    scores.iter().for_each(|&(document, score)| row[document as usize] = score);
    row
}

/// Relative tolerance 1e-12: both sides compute in f64.
#[test]
fn golden() {
    let golden = include_str!("../../../../../tests/golden/matching.json");
    let Golden { responses, random_walk } = serde_json::from_str(golden).unwrap();
    assert_eq!(random_walk.len(), 2);
    for Case { self_transition, steps, scores } in random_walk {
        let params = RandomWalkParams { self_transition, steps };
        let walk = RandomWalk::from_triples(&params, 7, 8, triples(&responses)).unwrap();
        let mut walker = walk.walker();
        for (query, expected) in (0u32..).zip(&scores) {
            for (found, expected) in dense(8, &walker.probabilities(query)).iter().zip(expected) {
                assert!((found - expected).abs() <= 1e-12 * expected, "{query}: {found} {expected}");
            }
        }
    }
}

#[test]
fn wrong_values_are_errors() {
    for (self_transition, steps) in [(1.0, 1), (-0.1, 1), (f64::NAN, 1), (0.9, 0), (0.9, 1001), (0.0, 2)] {
        let params = RandomWalkParams { self_transition, steps };
        assert!(params.validate().is_err(), "{params:?}");
    }
    for response in [(2, 0, 1.0), (0, 3, 1.0), (0, 0, -1.0), (0, 0, f32::NAN), (0, 0, f32::INFINITY)] {
        assert!(RandomWalk::from_triples(&Default::default(), 2, 3, [response]).is_err(), "{response:?}");
    }
}

#[test]
fn nothing_is_reached_from_nowhere() {
    let walk = RandomWalk::from_triples(&Default::default(), 2, 3, [(0, 0, 1.0), (1, 2, 0.0)]).unwrap();
    assert_eq!((walk.n_queries(), walk.n_documents()), (2, 3));
    assert_eq!(walk.scores_of_all(&[0, 1, 2]).iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 0]);
    let empty = RandomWalk::from_triples(&Default::default(), 0, 0, []).unwrap();
    assert!(empty.scores(0).is_empty());
}

/// Products of such responses leave the range of f64; no node may be listed twice.
#[test]
fn extreme_responses_leave_no_traces() {
    let (tiny, huge) = (f32::from_bits(1), f32::MAX);
    let responses = [(0, 0, tiny), (1, 0, huge), (1, 1, tiny), (2, 1, huge), (2, 2, tiny), (0, 3, huge)];
    let params = RandomWalkParams { steps: 21, ..Default::default() };
    let walk = RandomWalk::from_triples(&params, 3, 4, responses).unwrap();
    let mut walker = walk.walker();
    for query in [0, 1, 2, 1, 0, 2] {
        let scores = walker.scores(query);
        assert_eq!(scores, walk.scores(query));
        assert!(scores.is_sorted_by(|a, b| a.0 < b.0) && scores.iter().all(|s| s.1.is_finite()));
    }
}

/// Computes the definition with A^t as a dense matrix.
fn by_matrix_power(params: &RandomWalkParams, responses: &[Vec<f32>], query: usize) -> Vec<f64> {
    let (n_queries, n_documents) = (responses.len(), responses[0].len());
    let n = n_queries + n_documents;
    let mut c = vec![vec![0.0; n]; n];
    for (q, row) in responses.iter().enumerate() {
        for (d, &response) in row.iter().enumerate() {
            c[q][n_queries + d] = f64::from(response);
            c[n_queries + d][q] = f64::from(response);
        }
    }
    let mut a = c.clone();
    for j in 0..n {
        let total: f64 = c[j].iter().sum();
        for k in 0..n {
            let moved = if total > 0.0 { c[j][k] / total } else { 0.0 };
            let stay = if j == k { params.self_transition } else { 0.0 };
            a[j][k] = stay + (1.0 - params.self_transition) * moved;
        }
    }
    let mut power = a.clone();
    for _ in 1..params.steps {
        power = power
            .iter()
            .map(|row| (0..n).map(|k| (0..n).map(|j| row[j] * a[j][k]).sum()).collect())
            .collect();
    }
    let total: f64 = power.iter().map(|row| row[query]).sum();
    let start = |d: usize| if total > 0.0 { power[n_queries + d][query] / total } else { 0.0 };
    (0..n_documents).map(start).collect()
}

proptest! {
    #[test]
    fn sparse_is_dense(
        responses in (1usize..9, 1usize..12).prop_flat_map(|(n, m)| {
            let response = prop_oneof![3 => Just(0f32), 1 => 0.5f32..9.0];
            prop::collection::vec(prop::collection::vec(response, m), n)
        }),
        self_transition in prop_oneof![Just(0.0), 0f64..0.99],
        steps in 1usize..9,
    ) {
        let params = RandomWalkParams { self_transition, steps };
        prop_assume!(params.validate().is_ok());
        let (n_queries, n_documents) = (responses.len(), responses[0].len());
        let walk =
            RandomWalk::from_triples(&params, n_queries, n_documents, triples(&responses)).unwrap();
        let mut walker = walk.walker();
        for query in 0..n_queries {
            let scores = walker.probabilities(query as u32);
            let expected = by_matrix_power(&params, &responses, query);
            // Exactly the documents that are reached, and no others.
            prop_assert_eq!(scores.len(), expected.iter().filter(|score| **score > 0.0).count());
            for (found, expected) in dense(n_documents, &scores).iter().zip(expected) {
                prop_assert!((found - expected).abs() <= 1e-12 * expected, "{} {}", found, expected);
            }
        }
        // The same graph, spread out among other nodes of which few are ever reached.
        let apart = triples(&responses).into_iter().map(|(q, d, response)| (q * 99, d * 99, response));
        let apart = RandomWalk::from_triples(&params, n_queries * 99, n_documents * 99, apart).unwrap();
        for query in 0..n_queries as u32 {
            let scores: Vec<_> = walk.scores(query).iter().map(|(d, score)| (d * 99, *score)).collect();
            prop_assert_eq!(apart.scores(query * 99), scores);
        }
        let all: Vec<u32> = (0..n_queries as u32).collect();
        let one_by_one: Vec<_> = all.iter().map(|&query| walk.scores(query)).collect();
        prop_assert_eq!(walk.scores_of_all(&all), one_by_one);
    }
}
