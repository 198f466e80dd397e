use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::measure::Measure;
use matchrank_core::progress::Silent;
use matchrank_core::ranking::perceptron::PerceptronParams;
use matchrank_core::ranking::{LinearRanker, Ranker, ScalingKind, evaluate_ranker};
use serde_json::Value;

use super::boosted::Boosting;
use super::linear::{elasticsearch, train_linear};
use super::perceptron::online::{Learner, PerceptronModel, StreamRun, Streamed, learn_stream};
use super::*;
use crate::json::Json;
use crate::model_file::{self, Model, Provenance};
use crate::settings::params_from;

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

/// The kinds of linear rankers.
fn linear_kinds() -> impl Iterator<Item = &'static RankerKind> {
    registry::RANKERS.into_iter().filter(|kind| kind.takes.scalings == Scalings::Several)
}

fn ndcg() -> Measure {
    "ndcg@10".parse().unwrap()
}

/// Lists to learn from and to choose by.
fn lessons(train: FeatureLists, validation: Option<FeatureLists>) -> Lessons<'static> {
    let validation = validation.map(|lists| (lists, ndcg()));
    Lessons { validation, seed: 1, ..Lessons::new(train) }
}

fn recipe(kind: &str, scalings: &[ScalingKind]) -> RankerRecipe {
    RankerRecipe::new(kind, &[], scalings).unwrap()
}

fn train(kind: &str, scaling: ScalingKind) -> Arc<dyn RankingModel> {
    recipe(kind, &[scaling]).train(lessons(lists(20), Some(lists(5))), &Silent).unwrap()
}

fn perceptron(scaling: ScalingKind) -> PerceptronModel {
    let lessons = lessons(lists(20), Some(lists(5)));
    train_linear(&PerceptronParams::default(), &[scaling], lessons, &Silent).unwrap()
}

fn weights(model: &dyn RankingModel) -> &LinearRanker {
    model.linear().unwrap()
}

/// A model as its file has it.
fn bytes(model: &dyn RankingModel) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.model");
    model_file::save(&path, model, &Provenance::default()).unwrap();
    std::fs::read(&path).unwrap()
}

/// Every parameter is in the help with its default, and nothing else is.
#[test]
fn the_help_of_a_ranker_names_its_parameters_and_their_defaults() {
    for kind in registry::RANKERS {
        let params = recipe(kind.name, &[]).params();
        let variants = kind.variants.map(|variants| variants.param);
        let known = params.0.as_object().unwrap().iter().filter(|(name, _)| Some(name.as_str()) != variants);
        let helped: Vec<(&str, &str)> =
            kind.parameters.iter().map(|parameter| (parameter.name, parameter.default)).collect();
        let mut n = 0;
        for (name, value) in known {
            let Some((_, default)) = helped.iter().find(|(helped, _)| helped == name) else {
                assert!(kind.name == "mart" && name == "truncation", "{}: {name} has no help", kind.name);
                continue;
            };
            n += 1;
            match value {
                // A path is named by its ends.
                Value::Array(path) => {
                    let ends: Vec<f64> = default
                        .trim_matches(['[', ']'])
                        .split(",...,")
                        .map(|end| end.parse().unwrap())
                        .collect();
                    let own = [&path[0], &path[path.len() - 1]].map(|end| end.as_f64().unwrap());
                    assert!(ends.iter().zip(own).all(|(a, b)| (a - b).abs() < 1e-12), "{name} {own:?}");
                }
                value => {
                    assert_eq!(*default, Json(value.clone()).plain(), "{}: {name}", kind.name)
                }
            }
        }
        assert_eq!(n, helped.len(), "{}: {helped:?}", kind.name);
    }
}

#[test]
fn descriptors_fit_their_rankers() {
    for kind in registry::RANKERS {
        assert_eq!(recipe(kind.name, &[]).kind().name, kind.name);
        assert!(registry::find(kind.name).is_some() && !kind.summary.is_empty() && !kind.examples.is_empty());
        let params = recipe(kind.name, &[]).params();
        let names = [kind.chosen.map(|chosen| chosen.param), kind.effort.map(|(name, _)| name)];
        for name in names.into_iter().flatten() {
            assert!(params.field(name).is_some(), "{}: {name}", kind.name);
        }
        if let Some(variants) = kind.variants {
            assert_eq!(params.0[variants.param], variants.values[0].0, "the default is the first");
            for (value, _) in variants.values {
                let recipe = recipe(&format!("{}/{value}", kind.name), &[]);
                assert_eq!(recipe.params().0[variants.param], *value);
            }
        }
    }
    let error = RankerRecipe::new("mart/knn", &[], &[]).unwrap_err().to_string();
    assert!(error.contains("there is no ranker called mart/knn; there are perceptron, slam"), "{error}");
}

#[test]
fn every_ranker_learns_an_order_whatever_the_scaling() {
    use ScalingKind::{MinMax, None, QueryMinMax, QueryZScore, ZScore};
    for kind in linear_kinds() {
        for scaling in [None, ZScore, MinMax, QueryZScore, QueryMinMax] {
            let model = train(kind.name, scaling);
            let figure = evaluate_ranker(&*model, &lists(9), &[ndcg()]).unwrap().mean(0);
            assert!(figure > 0.999, "{} {scaling:?}: {figure}", kind.name);
        }
    }
}

#[test]
fn models_are_the_same_for_any_number_of_threads() {
    for kind in linear_kinds() {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bytes(&*train(kind.name, ScalingKind::ZScore)))
        };
        let one = with(1);
        assert!(one == with(2) && one == with(8), "{}", kind.name);
    }
}

#[test]
fn files_keep_models_bit_for_bit() {
    use ScalingKind::{MinMax, None, QueryMinMax, ZScore};
    let folder = tempfile::tempdir().unwrap();
    for (kind, scaling) in linear_kinds().zip([QueryMinMax, ZScore, None, MinMax].into_iter().cycle()) {
        let model = train(kind.name, scaling);
        let path = folder.path().join(kind.name);
        model_file::save(&path, &*model, &Provenance::default()).unwrap();
        let (Model::Ranking(again), provenance) = model_file::open(&path).unwrap() else {
            panic!("{} is a ranker", kind.name)
        };
        assert_eq!((bytes(&*again), provenance), (bytes(&*model), Provenance::default()));
        assert_eq!(again.score_all(&lists(9)), model.score_all(&lists(9)));
        assert_eq!(again.kind().name, kind.name);
        let error = model_file::load(&path).unwrap_err().to_string();
        assert!(error.contains("ranks feature lists"), "{error}");
    }
}

#[test]
fn lists_without_an_order_are_refused() {
    let lists = letor::parse("x", b"1 qid:1 1:2\n1 qid:1 1:3\n0 qid:2 1:1\n", &Silent).unwrap();
    for kind in linear_kinds() {
        let recipe = recipe(kind.name, &[ScalingKind::None]);
        let error = recipe.train(lessons(lists.clone(), None), &Silent).unwrap_err();
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
    for kind in linear_kinds().filter(|kind| kind.name != "perceptron") {
        let settings: &[(String, Json)] =
            if kind.name == "slam" { &[("solver".to_owned(), "bundle".into())] } else { &[] };
        let recipe = RankerRecipe::new(kind.name, settings, &[ScalingKind::None]).unwrap();
        let learned = |lists: &FeatureLists, query_weights: Option<&[f64]>| {
            let lessons = Lessons { query_weights, ..lessons(lists.clone(), None) };
            weights(&*recipe.train(lessons, &Silent).unwrap()).weights.clone()
        };
        let (with, without) = (learned(&both, Some(&[0.0, 2.0])), learned(&one, None));
        let near = with.iter().zip(&without).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near, "{}: {with:?} {without:?}", kind.name);
    }
}

#[test]
fn learning_line_by_line_is_learning_list_by_list() {
    let model = perceptron(ScalingKind::MinMax);
    let mut learner = Learner::new(&model).unwrap();
    let lines = [
        r#"{"query":"a","documents":[{"id":"x","grade":0,"features":[50,0,7]},{"id":"y","grade":2,"features":{"1":1,"2":4,"3":7}}]}"#,
        r#"{"documents":[{"grade":1,"features":[3,null,7]},{"grade":0,"features":[1]}],"weight":2}"#,
    ];
    let losses: Vec<f64> = lines.iter().map(|line| learner.learn(line.as_bytes()).unwrap()).collect();
    assert!(losses[0] > 0.0, "{losses:?}");

    let text = b"0 qid:a 1:50 2:0 3:7\n2 qid:a 1:1 2:4 3:7\n1 qid:b 1:3 3:7\n0 qid:b 1:1\n";
    let mut lists = letor::parse("x", text, &Silent).unwrap();
    model.ranker.scaling.apply(&mut lists);
    let params = &model.params;
    let state = model.state.state.clone();
    let mut by_list = matchrank_core::ranking::perceptron::Perceptron::from_state(
        state,
        params.target,
        params.rule,
        params.delta,
    )
    .unwrap();
    by_list.learn(&lists.list(0), 1.0);
    by_list.learn(&lists.list(1), 2.0);
    assert_eq!(&learner.model().state.state, by_list.state());
    assert_eq!(learner.model().ranker.weights, by_list.averaged());
}

#[test]
fn lines_that_cannot_be_used_say_why_and_change_nothing() {
    let mut learner = Learner::new(&perceptron(ScalingKind::None)).unwrap();
    let before = learner.model().clone();
    for (line, expected) in [
        ("{", "is not a list in JSON"),
        ("[]", "is not a list in JSON"),
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
    let model = perceptron(ScalingKind::QueryZScore);
    let (mut one, mut stream) = (Learner::new(&model).unwrap(), Learner::new(&model).unwrap());
    let losses: f64 = (0..300).map(|i| one.learn(line(i).as_bytes()).unwrap()).sum();
    let mut n_saved = 0;
    let mut save = |_: &PerceptronModel| {
        n_saved += 1;
        Ok(())
    };
    let never = || false;
    let streamed = learn_stream(
        &mut stream,
        &path,
        StreamRun { resume: false, stop: &never, interval: Duration::ZERO, progress: &Silent },
        &mut save,
    )
    .unwrap();
    assert_eq!(
        streamed,
        Streamed { learned: 300, loss: losses, left_out: 3, skipped: 0, interrupted: false }
    );
    assert!(n_saved > 0);
    let position = stream.model().state.stream.clone();
    assert_eq!(position.as_ref().map(|position| position.lines), Some(303));
    let mut expected = one.model().clone();
    expected.state.stream = position;
    assert_eq!(stream.model(), &expected);
    let stopped = learn_stream(
        &mut stream,
        &path,
        StreamRun { resume: false, stop: &|| true, interval: Duration::ZERO, progress: &Silent },
        &mut |_| Ok(()),
    );
    assert!(stopped.unwrap().interrupted);
    assert!(
        learn_stream(
            &mut stream,
            folder.path(),
            StreamRun { resume: false, stop: &never, interval: Duration::ZERO, progress: &Silent },
            &mut |_| Ok(())
        )
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
    let start = perceptron(ScalingKind::MinMax);
    let learn = |model: &PerceptronModel,
                 path: &Path,
                 resume: bool,
                 stop: &dyn Fn() -> bool|
     -> matchrank_core::Result<(PerceptronModel, Streamed)> {
        let mut learner = Learner::new(model).unwrap();
        let streamed = learn_stream(
            &mut learner,
            path,
            StreamRun { resume, stop, interval: Duration::from_secs(60), progress: &Silent },
            &mut |_| Ok(()),
        )?;
        Ok((learner.model().clone(), streamed))
    };
    let never = || false;
    let (at_once, _) = learn(&start, &whole, false, &never).unwrap();
    let (stopped, _) = learn(&start, &half, true, &never).unwrap();
    assert_eq!(stopped.state.stream.as_ref().unwrap().lines, 25);
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
    let model = perceptron(ScalingKind::MinMax);
    let mut learner = Learner::new(&model).unwrap();
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
    for kind in linear_kinds() {
        let train = |scalings: &[ScalingKind]| {
            recipe(kind.name, scalings).train(lessons(noisy(1), Some(noisy(2))), &Silent).unwrap()
        };
        let chosen = train(&all);
        let trials = serde_json::to_value(chosen.describe().details).unwrap()["scalings"].clone();
        let tried: Vec<ScalingKind> = trials
            .as_array()
            .unwrap()
            .iter()
            .map(|trial| serde_json::from_value(trial["scaling"].clone()).unwrap())
            .collect();
        assert_eq!(tried, all);
        let figures = trials.as_array().unwrap().iter().map(|trial| trial["validation"].as_f64().unwrap());
        assert_eq!(chosen.validated(), Some(figures.fold(0.0, f64::max)));
        let alone = train(&[weights(&*chosen).scaling.kind()]);
        assert_eq!(weights(&*alone), weights(&*chosen));
        assert_eq!(alone.validated(), chosen.validated());
        let unknown = recipe(kind.name, &all).train(lessons(noisy(1), None), &Silent);
        let unknown = unknown.unwrap_err().to_string();
        assert!(unknown.contains("no validation lists"), "{unknown}");
    }
}

#[test]
fn exported_weights_give_the_same_order() {
    let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    for scaling in [ScalingKind::None, ScalingKind::ZScore, ScalingKind::MinMax] {
        let model = train("ranksvm", scaling);
        let model = weights(&*model);
        let exported = elasticsearch::linear_model(model, "m", &names).unwrap();
        assert_eq!(exported.0["model"]["model"]["type"], "model/linear");
        elasticsearch::check(model, &exported, &names, &lists(30)).unwrap();
        elasticsearch::check(model, &exported, &names, &elasticsearch::some_lists(model)).unwrap();
        let mut wrong = exported.clone();
        wrong.0["model"]["model"]["definition"]["a"] = (-1.0).into();
        assert!(elasticsearch::check(model, &wrong, &names, &lists(30)).is_err());
        assert!(elasticsearch::check(model, &wrong, &names, &elasticsearch::some_lists(model)).is_err());
    }
    let within = train("ranksvm", ScalingKind::QueryMinMax);
    let error = elasticsearch::linear_model(weights(&*within), "m", &names).unwrap_err().to_string();
    assert!(error.contains("option `scaling`"), "{error}");
}

#[test]
fn parts_of_an_explanation_add_up_to_the_score() {
    let lists = lists(3);
    for scaling in [ScalingKind::None, ScalingKind::ZScore, ScalingKind::QueryMinMax] {
        let model = train("listnet", scaling);
        let mut scores = Vec::new();
        model.score(&lists.list(1), &mut scores);
        for (i, score) in scores.iter().enumerate() {
            let parts = model.contributions(&lists.list(1), i).unwrap().unwrap();
            let sum: f64 = parts.iter().map(|part| part.adds).sum();
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
    let train = |lambdas: &[f64]| {
        let params = params_from(&[("lambda".to_owned(), Json::of(&lambdas))]).unwrap();
        let validation = Some((read(20..40), "ndcg@3".parse().unwrap()));
        let lessons = Lessons { validation, ..Lessons::new(read(0..20)) };
        query_dependent::train_query_dependent(&params, ScalingKind::MinMax, lessons, &Silent).unwrap()
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
        let lessons =
            || Lessons { validation: Some((folds[1].clone(), measure)), ..Lessons::new(folds[0].clone()) };
        for kind in registry::RANKERS.into_iter().filter(|kind| !kind.takes.query_features) {
            let refused = recipe(kind.name, &[ScalingKind::ZScore]).train(lessons(), &Silent).unwrap_err();
            assert!(refused.to_string().contains("better when smaller"), "{}: {refused}", kind.name);
        }
        for objective in boosted::Objective::ALL {
            let refused = Boosting { objective, params: Default::default() }.train(lessons(), &Silent);
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("better when smaller"), "{refused}");
        }
    }
}

#[test]
fn what_was_chosen_is_trained_again_with_the_validation_lists() {
    let folds = folds([8, 5, 6]);
    for kind in registry::RANKERS {
        let grows_trees = kind.takes.missing;
        if grows_trees && !boosted::is_installed() {
            continue;
        }
        let settings = if grows_trees { vec![("min_rows".to_owned(), 2u32.into())] } else { Vec::new() };
        let recipe = RankerRecipe::new(kind.name, &settings, &[ScalingKind::ZScore]).unwrap();
        let chosen = recipe.train(lessons(folds[0].clone(), Some(folds[1].clone())), &Silent).unwrap();
        let settled = chosen.settled();
        settled.validate().unwrap();
        let params = settled.params();
        let details = serde_json::to_value(chosen.describe().details).unwrap();
        match kind.chosen {
            Some(Chosen { param: "trees", .. }) => {
                assert_eq!(params.0["trees"], details["trees"].as_u64().unwrap().max(1));
            }
            Some(Chosen { param, .. }) => {
                let report = details["report"].as_object().and_then(|report| report.values().next().cloned());
                assert!(params.0[param].is_f64());
                assert_eq!(params.0[param], report.unwrap_or(details)[param], "{}", kind.name);
            }
            None => assert_eq!(params.0["epochs"], details["report"]["perceptron"]["kept"]),
        }
        // The same lists once more: the choice alone gives the model that was chosen. A perceptron's state counts epochs.
        let again = settled.train(lessons(folds[0].clone(), None), &Silent).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() <= 2e-3 * (1.0 + a.abs());
        let scores = |model: &dyn RankingModel| model.score_all(&folds[2]);
        let same = scores(&*again).iter().zip(scores(&*chosen)).all(|(a, b)| near(*a, b));
        assert!(same, "{}: {:?} {:?}", kind.name, scores(&*again), scores(&*chosen));
        let all = FeatureLists::concatenate(&[&folds[0], &folds[1]]);
        let more = settled.train(lessons(all, None), &Silent).unwrap();
        assert!(more.validated().is_none(), "{}", kind.name);
    }
}
