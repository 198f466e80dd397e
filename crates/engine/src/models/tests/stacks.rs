//! Counts of stacks, and contributions of their models to a score.

use std::sync::Arc;

use matchrank_core::ranking::trees::Trees;

use super::*;
use crate::rankers::RankingModel;
use crate::rankers::boosted::{BoostedModel, BoostedParams, BoostedReport, Objective};

fn last_stack(dataset: &Dataset) -> Stack {
    let last = models(dataset).pop().expect("there are models");
    find_part::<Stack>(&*last).expect("the last is a stack").clone()
}

/// Counts of clicks, and what a stack makes of them, with all documents and with some.
#[test]
fn a_stack_counts_training_clicks() {
    let (_folder, dataset) = dataset();
    let (queries, responses) = (dataset.queries().unwrap(), dataset.responses().unwrap());
    let stack = last_stack(&dataset);
    assert!(
        stack.clicks
            && stack.columns().iter().any(|name| name.starts_with("log(1 + clicks on the document)"))
    );
    let model = stack.clone();
    let text = queries[responses[0].query as usize].text.clone();
    let wanted: Vec<u32> = (0..2500).filter(|row| row % 3 != 1).collect();
    let mut seen = 0;
    for text in [text.as_str(), "w1 w1 w39"] {
        for wanted in [None, Some(&wanted[..])] {
            let matcher = bind(&model, &dataset, wanted, &Silent).unwrap();
            for document in [0u32, 11, 77, 400, 1000] {
                let row = wanted.map_or(document, |wanted| wanted[document as usize]);
                let sum = |is_counted: &dyn Fn(bool, bool) -> bool| {
                    let counted = responses.iter().filter(|response| {
                        let own = queries[response.query as usize].text == text;
                        is_counted(own, response.document == row)
                    });
                    counted.map(|response| f64::from(response.response)).sum::<f64>().ln_1p() as f32
                };
                let expected = [sum(&|_, on| on), sum(&|own, _| own), sum(&|own, on| own && on)];
                let Why::Stacked { counts, .. } = matcher.explain(text, document).unwrap().why else {
                    panic!()
                };
                let found: Vec<f32> = counts.iter().map(|count| count.scaled).collect();
                assert_eq!(found, expected, "{text} {row}");
                seen += usize::from(expected[0] > 0.0) + usize::from(expected[1] > 0.0);
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

/// A model whose weights are finite and whose scores are not, in a combination and under every ranker of a stack.
#[test]
fn parts_whose_scores_overflow_are_errors() {
    let (_folder, dataset) = dataset();
    let mut all = models(&dataset);
    let stack = find_part::<Stack>(&*all.pop().unwrap()).expect("the last is a stack").clone();
    let bm25 = all.swap_remove(0);
    let mut large = latent(pls::LATENT, &dataset);
    let (d_x, d_y) = large.inputs.dimensions();
    // The largest numbers that are allowed, in many dimensions.
    const D: usize = 3000;
    let huge = |n: usize| Factor::dense(D, vec![1e10; n * D]).unwrap();
    large.model = Bilinear::new(huge(d_x), huge(d_y), Some(vec![1e15; D])).unwrap();
    let large: Model = Arc::new(large);
    let mut parts = stack.parts.clone();
    parts[2].1 = large.clone();
    let text = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=11\n\n\
        Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=4\nsplit_gain=1\nthreshold=0.1\ndecision_type=2\n\
        left_child=-1\nright_child=-2\nleaf_value=-1 1\nshrinkage=1\n\nend of trees\n";
    let trees: Arc<dyn RankingModel> = Arc::new(BoostedModel {
        objective: Objective::LambdaMart,
        params: BoostedParams::default(),
        trees: Trees::parse_lightgbm("trees", text).unwrap(),
        report: BoostedReport::default(),
    });
    let stacked = |ranker: Arc<dyn RankingModel>| -> Model {
        Arc::new(Stack { ranker, parts: parts.clone(), ..stack.clone() })
    };
    let combined: Model = Arc::new(Combination::of_two(0.3, [bm25, large]).unwrap());
    let queries = [Query { id: "q".into(), text: QUERIES[0].into() }];
    let candidates = Candidates::from_iter([("q".to_owned(), vec!["d3".to_owned(), "d40".to_owned()])]);
    for model in [stacked(stack.ranker.clone()), stacked(trees), combined] {
        let kind = model.kind();
        let rankings = [
            rank_collection(
                &RankRequest { model: &*model, dataset: &dataset, queries: &queries },
                5,
                &Silent,
            ),
            rank_candidates(
                &RankRequest { model: &*model, dataset: &dataset, queries: &queries },
                &candidates,
                &Silent,
            ),
        ];
        for ranking in rankings {
            let error = ranking.unwrap_err().to_string();
            assert!(error.contains("a score of query q is inf"), "{kind}: {error}");
        }
        let matcher = bind(&*model, &dataset, None, &Silent).unwrap();
        let error = matcher.explain(QUERIES[0], 3).unwrap_err().to_string();
        assert!(error.contains("is inf: its numbers are too large"), "{kind}: {error}");
    }
}

/// Trees that split on scores and on counts of clicks: what they add is what sets a document apart from the mean candidate.
#[test]
fn what_the_models_of_a_stack_add_is_above_the_mean_candidate() {
    let (_folder, dataset) = dataset();
    let stack = last_stack(&dataset);
    // Columns: words, clicks, both, then clicks on the document, of the query, of both; each with its standardised.
    let text = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=11\n\n\
        Tree=0\nnum_leaves=4\nnum_cat=0\nsplit_feature=1 5 8\nsplit_gain=3 2 1\nthreshold=0.1 0.2 0.5\n\
        decision_type=2 2 2\nleft_child=1 -1 -2\nright_child=2 -3 -4\nleaf_value=-0.25 0.5 0.125 2\nshrinkage=1\n\n\
        Tree=1\nnum_leaves=3\nnum_cat=0\nsplit_feature=5 6\nsplit_gain=2 1\nthreshold=-0.3 0.5\ndecision_type=2 2\n\
        left_child=-1 -2\nright_child=1 -3\nleaf_value=0.3 0.7 1.5\nshrinkage=1\n\nend of trees\n";
    let trees: Arc<dyn RankingModel> = Arc::new(BoostedModel {
        objective: Objective::LambdaMart,
        params: BoostedParams::default(),
        trees: Trees::parse_lightgbm("trees", text).unwrap(),
        report: BoostedReport::default(),
    });
    for ranker in [stack.ranker.clone(), trees] {
        let kind = ranker.kind().name;
        let model = Stack { ranker, ..stack.clone() };
        let matcher = bind(&model, &dataset, None, &Silent).unwrap();
        let hits = matcher.top(&QUERIES[..1], 5000, &Silent).unwrap().remove(0);
        let mean = hits.iter().map(|hit| f64::from(hit.score)).sum::<f64>() / hits.len() as f64;
        let mut moved = 0;
        for hit in [0, 1, hits.len() / 2, hits.len() - 1].map(|i| hits[i]) {
            let explanation = matcher.explain(QUERIES[0], hit.document).unwrap();
            let Why::Stacked { base, candidates, parts, counts, .. } = explanation.why else { panic!() };
            assert_eq!(candidates, hits.len(), "{kind}");
            assert!((base - mean).abs() < 1e-5, "{kind}: {base} {mean}");
            let adds: Vec<f64> = parts.iter().map(|part| part.adds).collect();
            let sum = base + adds.iter().sum::<f64>() + counts.iter().map(|count| count.adds).sum::<f64>();
            assert!((sum - f64::from(hit.score)).abs() < 1e-6, "{kind}: {sum} {hit:?}");
            assert_eq!(counts[1].adds, 0.0, "{kind}: all candidates have the clicks of the query");
            moved += adds.iter().filter(|adds| **adds != 0.0).count();
        }
        assert!(moved >= 4, "{kind}: {moved}");
    }
}

#[test]
fn the_ranker_of_a_stack_takes_the_same_models_trained_again() {
    let (_folder, dataset) = dataset();
    let stack = last_stack(&dataset);
    let mut parts = stack.parts.clone();
    parts[2].1 = extended(pls::LATENT, &dataset);
    let again = stack.clone().with_parts(parts.clone()).unwrap();
    assert!(Arc::ptr_eq(&again.ranker, &stack.ranker) && again.clicks);
    let top =
        |stack: Stack| bind(&stack, &dataset, None, &Silent).unwrap().top(&QUERIES[..1], 5, &Silent).unwrap();
    assert_ne!(top(again), top(stack.clone()));
    parts.swap(0, 1);
    let error = stack.clone().with_parts(parts).unwrap_err().to_string();
    assert!(error.contains("words (bm25), clicks (random-walk), both (pls)"), "{error}");
    assert!(stack.with_parts(Vec::new()).is_err());
}
