use std::time::Duration;

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::progress::Silent;
use matchrank_core::ranking::{Ranker, ScalingKind, evaluate_ranker};

use super::online::{Learner, Streamed, learn_stream};
use super::*;
use crate::model_file::{self, Provenance};

/// Lists that feature 1 orders, feature 2 disturbs, and feature 3 says nothing about.
fn lists(n: u32) -> FeatureLists {
    let mut text = String::new();
    for query in 0..n {
        for document in 0..6 {
            let noise = (query * 7 + document * 13) % 5;
            let value = document * 10 + noise;
            text += &format!("{} qid:{query} 1:{value} 2:{noise} 3:7 # docid = d{document}\n", document / 2);
        }
    }
    letor::parse("lists", text.as_bytes(), &Silent).unwrap()
}

fn all_params() -> Vec<RankerParams> {
    RankerParams::KINDS.iter().map(|kind| RankerParams::new(kind, &[]).unwrap()).collect()
}

fn train(params: &RankerParams, scaling: ScalingKind) -> RankerModel {
    let validation = Some((lists(5), "ndcg@10".parse().unwrap()));
    train_ranker(params, &[scaling], lists(20), None, validation, 1, &Silent).unwrap()
}

#[test]
fn every_ranker_learns_an_order_whatever_the_scaling() {
    use ScalingKind::{MinMax, None, QueryMinMax, QueryZScore, ZScore};
    for params in all_params() {
        for scaling in [None, ZScore, MinMax, QueryZScore, QueryMinMax] {
            let model = train(&params, scaling);
            let figure = evaluate_ranker(&model, &lists(9), &["ndcg@10".parse().unwrap()]).unwrap().mean(0);
            assert!(figure > 0.999, "{} {scaling:?}: {figure}", params.kind());
        }
    }
}

#[test]
fn models_are_the_same_for_any_number_of_threads() {
    for params in all_params() {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| train(&params, ScalingKind::ZScore))
        };
        let one = with(1);
        assert!(one == with(2) && one == with(8), "{}", params.kind());
    }
}

#[test]
fn files_keep_models_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for (params, scaling) in all_params().into_iter().zip([
        ScalingKind::QueryMinMax,
        ScalingKind::ZScore,
        ScalingKind::None,
        ScalingKind::MinMax,
    ]) {
        let model = train(&params, scaling);
        let path = folder.path().join(params.kind());
        model_file::save_ranker(&path, &model, &Provenance::default()).unwrap();
        assert_eq!(model_file::load_ranker(&path).unwrap(), (model, Provenance::default()));
        assert_eq!(model_file::kind(&path).unwrap(), params.kind());
        let error = model_file::load(&path).unwrap_err().to_string();
        assert!(error.contains("ranks feature lists"), "{error}");
    }
}

#[test]
fn lists_without_an_order_are_refused() {
    let lists = letor::parse("x", b"1 qid:1 1:2\n1 qid:1 1:3\n0 qid:2 1:1\n", &Silent).unwrap();
    for params in all_params() {
        let error =
            train_ranker(&params, &[ScalingKind::None], lists.clone(), None, None, 1, &Silent).unwrap_err();
        assert!(error.to_string().contains("no order to learn"), "{error}");
    }
}

#[test]
fn a_list_of_weight_zero_is_as_if_it_were_not_there() {
    let both =
        letor::parse("x", b"1 qid:1 1:2 2:1\n0 qid:1 1:3 2:4\n1 qid:2 1:5 2:1\n0 qid:2 1:1 2:2\n", &Silent)
            .unwrap();
    let one = letor::parse("x", b"1 qid:2 1:5 2:1\n0 qid:2 1:1 2:2\n", &Silent).unwrap();
    // Pegasos and the perceptron aside, nothing depends on the order of lists.
    let of = |kind: &str, settings: &[(String, Value)]| RankerParams::new(kind, settings).unwrap();
    for params in [of("slam", &[("solver".into(), "bundle".into())]), of("ranksvm", &[]), of("listnet", &[])]
    {
        let weights = |lists, weights| {
            train_ranker(&params, &[ScalingKind::None], lists, weights, None, 1, &Silent)
                .unwrap()
                .ranker
                .weights
        };
        let (with, without) =
            (weights(both.clone(), Some([0.0, 2.0].as_slice())), weights(one.clone(), None));
        let near = with.iter().zip(&without).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near, "{}: {with:?} {without:?}", params.kind());
    }
}

#[test]
fn learning_line_by_line_is_learning_list_by_list() {
    let model = train(&RankerParams::new("perceptron", &[]).unwrap(), ScalingKind::MinMax);
    let mut learner = Learner::new(model.clone()).unwrap();
    let lines = [
        r#"{"query":"a","documents":[{"id":"x","grade":0,"features":[50,0,7]},{"id":"y","grade":2,"features":{"1":1,"2":4,"3":7}}]}"#,
        r#"{"documents":[{"grade":1,"features":[3,null,7]},{"grade":0,"features":[1]}],"weight":2}"#,
    ];
    let losses: Vec<f64> = lines.iter().map(|line| learner.learn(line.as_bytes()).unwrap()).collect();
    assert!(losses[0] > 0.0, "{losses:?}");

    let text = b"0 qid:a 1:50 2:0 3:7\n2 qid:a 1:1 2:4 3:7\n1 qid:b 1:3 3:7\n0 qid:b 1:1\n";
    let mut lists = letor::parse("x", text, &Silent).unwrap();
    model.ranker.scaling.apply(&mut lists);
    let RankerParams::Perceptron(params) = &model.params else { unreachable!() };
    let state = model.state.clone().unwrap();
    let mut perceptron = matchrank_core::ranking::perceptron::Perceptron::from_state(
        state,
        params.target,
        params.rule,
        params.delta,
    )
    .unwrap();
    perceptron.learn(&lists.list(0), 1.0);
    perceptron.learn(&lists.list(1), 2.0);
    assert_eq!(learner.model().state.as_ref(), Some(perceptron.state()));
    assert_eq!(learner.model().ranker.weights, perceptron.averaged());
}

#[test]
fn lines_that_cannot_be_used_say_why_and_change_nothing() {
    let mut learner =
        Learner::new(train(&RankerParams::new("perceptron", &[]).unwrap(), ScalingKind::None)).unwrap();
    let before = learner.model().clone();
    for (line, expected) in [
        ("{", "is no list in JSON"),
        ("[]", "is no list in JSON"),
        (r#"{"documents":[]}"#, "the list has no document"),
        (r#"{"documents":[{"grade":-1,"features":[1]}]}"#, "document 1: the label is -1"),
        (r#"{"documents":[{"id":"z","grade":1,"features":{"0":1}}]}"#, "the feature \"0\" is no number"),
        (r#"{"documents":[{"grade":1,"features":[1,2,3,4]}]}"#, "feature 4 is unknown; the model has 3"),
        (r#"{"documents":[{"grade":1,"features":[1]}],"weight":-1}"#, "the weight is -1"),
        (r#"{"documents":[{"grade":1,"features":[1e30]}]}"#, "feature 1 is 1e30 after scaling"),
        (r#"{"documents":[{"grade":1e9,"features":[1]},{"grade":0,"features":[2]}]}"#, "grade"),
    ] {
        let error = learner.learn(line.as_bytes()).unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
    }
    assert_eq!(*learner.model(), before);
}

#[test]
fn a_stream_is_learned_from_as_its_lines_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lists.jsonl");
    let line = |i: u32| {
        let documents: Vec<String> = (0..4)
            .map(|j| {
                format!(r#"{{"grade":{},"features":[{},{},7]}}"#, j % 3, (i * 31 + j * 17) % 40, (i + j) % 5)
            })
            .collect();
        format!(r#"{{"weight":{},"documents":[{}]}}"#, i % 3, documents.join(","))
    };
    let mut text: String = (0..300).map(|i| line(i) + "\n").collect();
    text.push_str("no list\n\n{\"documents\":[]}\n");
    std::fs::write(&path, &text).unwrap();
    let model = train(&RankerParams::new("perceptron", &[]).unwrap(), ScalingKind::QueryZScore);
    let (mut one, mut stream) = (Learner::new(model.clone()).unwrap(), Learner::new(model).unwrap());
    let losses: f64 = (0..300).map(|i| one.learn(line(i).as_bytes()).unwrap()).sum();
    let mut n_saved = 0;
    let mut save = |_: &RankerModel| {
        n_saved += 1;
        Ok(())
    };
    let never = || false;
    let streamed =
        learn_stream(&mut stream, &path, false, &never, Duration::ZERO, &mut save, &Silent).unwrap();
    assert_eq!(
        streamed,
        Streamed { learned: 300, loss: losses, left_out: 3, skipped: 0, interrupted: false }
    );
    assert!(n_saved > 0);
    let position = stream.model().stream.clone();
    assert_eq!(position.as_ref().map(|position| position.lines), Some(303));
    assert_eq!(stream.model(), &RankerModel { stream: position, ..one.model().clone() });
    let stopped = learn_stream(&mut stream, &path, false, &|| true, Duration::ZERO, &mut |_| Ok(()), &Silent);
    assert!(stopped.unwrap().interrupted);
    assert!(
        learn_stream(&mut stream, folder.path(), false, &never, Duration::ZERO, &mut |_| Ok(()), &Silent)
            .is_err()
    );
}

#[test]
fn a_stream_that_was_stopped_goes_on_exactly_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let line = |i: usize| {
        let grade = |j: usize| (i + j) % 3;
        let document =
            |j: usize| format!(r#"{{"grade":{},"features":[{},{},7]}}"#, grade(j), (i * 31 + j * 17) % 40, j);
        format!("{{\"documents\":[{}]}}", (0..4).map(document).collect::<Vec<_>>().join(","))
    };
    let write = |name: &str, lines: &[String], end: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, lines.join("\n") + end).unwrap();
        path
    };
    let mut lines: Vec<String> = (0..40).map(line).collect();
    lines[7] = "no list".into();
    let whole = write("whole", &lines, "\n");
    // The 26th line was being written when the stream stopped.
    let cut = [&lines[..25], &[lines[25][..9].to_owned()]].concat();
    let half = write("half", &cut, "");
    let start = train(&RankerParams::new("perceptron", &[]).unwrap(), ScalingKind::MinMax);
    let learn = |model: &RankerModel,
                 path: &std::path::Path,
                 resume: bool,
                 stop: &dyn Fn() -> bool|
     -> matchrank_core::Result<(RankerModel, Streamed)> {
        let mut learner = Learner::new(model.clone()).unwrap();
        let streamed = learn_stream(
            &mut learner,
            path,
            resume,
            stop,
            Duration::from_secs(60),
            &mut |_| Ok(()),
            &Silent,
        )?;
        Ok((learner.model().clone(), streamed))
    };
    let never = || false;
    let (at_once, _) = learn(&start, &whole, false, &never).unwrap();
    let (stopped, _) = learn(&start, &half, true, &never).unwrap();
    assert_eq!(stopped.stream.as_ref().unwrap().lines, 25);
    let (resumed, streamed) = learn(&stopped, &whole, true, &never).unwrap();
    assert_eq!((streamed.skipped, streamed.learned), (25, 15));
    assert_eq!(resumed, at_once);
    // Nothing new, or a stop before anything new, changes nothing.
    assert_eq!(learn(&resumed, &whole, true, &never).unwrap().0, resumed);
    assert_eq!(learn(&resumed, &whole, true, &|| true).unwrap().0, resumed);
    // Without it all lines are learned from once more.
    assert_eq!(learn(&resumed, &whole, false, &never).unwrap().1.learned, 39);
    let error = learn(&resumed, &half, true, &never).unwrap_err().to_string();
    assert!(error.contains("has 26 lines, and the model has learned from 40"), "{error}");
    lines[3] = line(4);
    let other = write("other", &lines, "\n");
    let error = learn(&stopped, &other, true, &never).unwrap_err().to_string();
    assert!(error.contains("first 25 lines are not those"), "{error}");
}

#[test]
fn a_list_cannot_weigh_more_than_a_thousand() {
    let model = train(&RankerParams::new("perceptron", &[]).unwrap(), ScalingKind::MinMax);
    let mut learner = Learner::new(model).unwrap();
    let line = |weight: &str| {
        format!(
            r#"{{"weight":{weight},"documents":[{{"grade":1,"features":[1]}},{{"grade":0,"features":[9]}}]}}"#
        )
    };
    for weight in ["1e30", "1000.5", "-1"] {
        let error = learner.learn(line(weight).as_bytes()).unwrap_err();
        assert!(error.contains("a number from 0 to 1000 is expected"), "{error}");
    }
    learner.learn(line("1000").as_bytes()).unwrap();
}

#[test]
fn the_scaling_that_is_best_on_validation_is_kept() {
    use ScalingKind::{MinMax, None as Unscaled, QueryMinMax, QueryZScore, ZScore};
    let all = [Unscaled, ZScore, MinMax, QueryZScore, QueryMinMax];
    let noisy = |seed: u32| {
        let row = |i: u32| {
            let x = |k: u32| (i * k + seed).wrapping_mul(2_654_435_761) >> 20;
            let grade = (x(3) + x(7) / 2 + x(11)) / 3000;
            format!("{grade} qid:{} 1:{} 2:{} 3:0.00{}\n", i / 10, x(3), x(7), x(5))
        };
        letor::parse("x", (0..300).map(row).collect::<String>().as_bytes(), &Silent).unwrap()
    };
    let measure = "ndcg@10".parse().unwrap();
    for params in all_params() {
        let train = |scalings: &[ScalingKind]| {
            train_ranker(&params, scalings, noisy(1), None, Some((noisy(2), measure)), 1, &Silent).unwrap()
        };
        let chosen = train(&all);
        assert_eq!(chosen.scalings.iter().map(|trial| trial.scaling).collect::<Vec<_>>(), all);
        let best = chosen.scalings.iter().map(|trial| trial.validation).fold(0.0, f64::max);
        assert_eq!(chosen.report.validated(), Some(best));
        let alone = train(&[chosen.ranker.scaling.kind()]);
        assert_eq!(RankerModel { scalings: Vec::new(), ..chosen }, alone);
        let unknown = train_ranker(&params, &all, noisy(1), None, None, 1, &Silent).unwrap_err().to_string();
        assert!(unknown.contains("no validation lists"), "{unknown}");
    }
}

#[test]
fn exported_weights_give_the_same_order() {
    let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    for scaling in [ScalingKind::None, ScalingKind::ZScore, ScalingKind::MinMax] {
        let model = train(&RankerParams::new("ranksvm", &[]).unwrap(), scaling);
        let exported = elasticsearch::linear_model(&model, "m", &names).unwrap();
        assert_eq!(exported["model"]["model"]["type"], "model/linear");
        elasticsearch::check(&model, &exported, &names, &lists(30)).unwrap();
        elasticsearch::check(&model, &exported, &names, &elasticsearch::some_lists(&model)).unwrap();
        let mut wrong = exported.clone();
        wrong["model"]["model"]["definition"]["a"] = (-1.0).into();
        assert!(elasticsearch::check(&model, &wrong, &names, &lists(30)).is_err());
        assert!(elasticsearch::check(&model, &wrong, &names, &elasticsearch::some_lists(&model)).is_err());
    }
    let within = train(&RankerParams::new("ranksvm", &[]).unwrap(), ScalingKind::QueryMinMax);
    let error = elasticsearch::linear_model(&within, "m", &names).unwrap_err().to_string();
    assert!(error.contains("--scaling"), "{error}");
}

#[test]
fn parts_of_an_explanation_add_up_to_the_score() {
    let lists = lists(3);
    for scaling in [ScalingKind::None, ScalingKind::ZScore, ScalingKind::QueryMinMax] {
        let model = train(&RankerParams::new("listnet", &[]).unwrap(), scaling);
        let mut scores = Vec::new();
        model.score(&lists.list(1), &mut scores);
        for (i, score) in scores.iter().enumerate() {
            let sum: f64 = model.ranker.explain(&lists.list(1), i).iter().map(|part| part.adds).sum();
            assert!((sum - score).abs() < 1e-9);
        }
    }
}

/// Folds of the same lists under other names.
fn folds(sizes: [u32; 3]) -> Vec<FeatureLists> {
    let renamed = |(fold, n): (usize, u32)| {
        let text = (0..n).flat_map(|query| (0..6).map(move |document| (query, document)));
        let text: String = text
            .map(|(query, document)| {
                let noise = (query * 7 + document * 13) % 5;
                let (grade, value, kind) = (document / 2, document * 10 + noise, query % 2);
                format!("{grade} qid:{fold}-{query} 1:{value} 2:{noise} 3:{kind}\n")
            })
            .collect();
        letor::parse("lists", text.as_bytes(), &Silent).unwrap()
    };
    sizes.into_iter().enumerate().map(renamed).collect()
}

/// Grades that rise with feature 1 in half of the queries and fall in the others, as feature 2 says.
#[test]
fn the_lambda_of_a_query_dependent_ranker_is_found_beyond_the_path() {
    let text = |queries: std::ops::Range<u32>| -> String {
        let rows = queries.flat_map(|query| (0..6u32).map(move |i| (query, i)));
        rows.map(|(query, i)| {
            let grade = if query % 2 == 0 { i / 2 } else { 2 - i / 2 };
            format!("{grade} qid:{query} 1:{} 2:{}\n", i + (query * 5 + i * 3) % 4, query % 2)
        })
        .collect()
    };
    let read = |queries| letor::parse("x", text(queries).as_bytes(), &Silent).unwrap();
    let columns = query_dependent::QueryColumns::default();
    let input = query_dependent::QueryInput::Columns(&columns);
    let train = |lambdas: &[f64]| {
        let settings = [("lambda".to_owned(), serde_json::json!(lambdas))];
        let params = params_from(&settings).unwrap();
        let validation = Some((read(20..40), "ndcg@3".parse().unwrap()));
        let (scaling, lists) = (ScalingKind::MinMax, read(0..20));
        query_dependent::train_query_dependent(&params, scaling, lists, input, validation, &Silent).unwrap()
    };
    let figures = |model: &query_dependent::QueryDependentModel| -> Vec<(f64, f64)> {
        model.trials().iter().map(|trial| (trial.lambda, trial.validation.unwrap())).collect()
    };
    for lambdas in [[1e4, 1e3], [1e-3, 1e-4], [1.0, 0.1]] {
        let model = train(&lambdas);
        let tried = figures(&model);
        let best = tried.iter().map(|(_, figure)| *figure).fold(0.0, f64::max);
        assert_eq!(model.validated(), Some(best), "{tried:?}");
        assert!(tried.windows(2).all(|pair| pair[0].0 > pair[1].0), "{tried:?}");
        let ends = [tried[0].1, tried[tried.len() - 1].1];
        let alone = tried.iter().filter(|(_, figure)| *figure == best).count() == 1 && ends.contains(&best);
        assert!(!alone || tried.len() == 2 + 4, "inside, or all that may be tried: {tried:?}");
    }
}

#[test]
fn a_measure_that_is_better_when_smaller_chooses_nothing_of_linear_rankers_and_trees() {
    let folds = folds([8, 5, 6]);
    for measure in ["mre", "pairwise"].map(|name| name.parse().unwrap()) {
        for kind in ["perceptron", "slam", "ranksvm", "listnet"] {
            let (params, validation) =
                (RankerParams::new(kind, &[]).unwrap(), Some((folds[1].clone(), measure)));
            let (scalings, train) = (&[ScalingKind::ZScore], folds[0].clone());
            let refused = train_ranker(&params, scalings, train, None, validation, 1, &Silent).unwrap_err();
            assert!(refused.to_string().contains("better when smaller"), "{kind}: {refused}");
        }
        for objective in boosted::Objective::ALL {
            let (params, validation) = (boosted::BoostedParams::default(), Some((&folds[1], measure)));
            let refused =
                boosted::train_boosted(objective, &params, &folds[0], validation, 1, &Silent).unwrap_err();
            assert!(refused.to_string().contains("better when smaller"), "{refused}");
        }
    }
}

#[test]
fn what_was_chosen_is_trained_again_with_the_validation_lists() {
    let columns = query_dependent::QueryColumns::default();
    let how = RankerTraining { query: query_dependent::QueryInput::Columns(&columns), seed: 1 };
    let measure = "ndcg@10".parse().unwrap();
    let folds = folds([8, 5, 6]);
    for kind in RankerRecipe::KINDS {
        if matches!(kind, "mart" | "lambdamart") && !boosted::is_installed() {
            continue;
        }
        let settings =
            if kind.ends_with("mart") { vec![("min_rows".to_owned(), 2.into())] } else { Vec::new() };
        let recipe = RankerRecipe::new(kind, &settings, &[ScalingKind::ZScore]).unwrap();
        let chosen = recipe.train(how, folds[0].clone(), Some((folds[1].clone(), measure)), &Silent).unwrap();
        let settled = chosen.settled();
        settled.validate().unwrap();
        let params = settled.params();
        match &chosen {
            TrainedRanker::Boosted(model) => assert_eq!(params["trees"], model.trees.len().max(1)),
            TrainedRanker::Linear(model) => match &model.report {
                RankerReport::Perceptron(report) => assert_eq!(params["epochs"], report.kept),
                RankerReport::Slam(report) => assert_eq!(params["lambda"], report.lambda),
                RankerReport::Path(report) => assert_eq!(params["lambda"], report.lambda),
            },
            TrainedRanker::QueryDependent(model) => assert_eq!(params["lambda"], model.lambda()),
        }
        // The same lists once more: the choice alone gives the model that was chosen. A perceptron's state counts epochs.
        let again = settled.train(how, folds[0].clone(), None, &Silent).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() <= 2e-3 * (1.0 + a.abs());
        let scores = |model: &TrainedRanker| model.score_all(&folds[2]);
        let same = scores(&again).iter().zip(scores(&chosen)).all(|(a, b)| near(*a, b));
        assert!(same, "{kind}: {:?} {:?}", scores(&again), scores(&chosen));
        let all = FeatureLists::concatenate(&[&folds[0], &folds[1]]);
        let more = settled.train(how, all, None, &Silent).unwrap();
        assert!(more.validated().is_none(), "{kind}");
    }
}
