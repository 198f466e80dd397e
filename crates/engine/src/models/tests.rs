//! Every matcher keeps the same promises: blocks, lists and rankings agree, explanations add up, and what
//! is not known has no score.

mod base;
mod combinations;
mod day_two;
mod serving;
mod stacks;
mod unseen;

use matchrank_core::matching::{
    Biases, Bilinear, BltmParams, Bm25Params, Factor, PlsParams, RandomWalkParams, Rm3Params, RmlsParams,
    Rows,
};
use matchrank_core::progress::Silent;

use super::bm25::TextBm25;
use super::combination::{Combination, CombinationParams, WeightRule, WeightTrial};
use super::latent::{Inputs, LatentKind, LatentModel, LatentReport};
use super::random_walk::WalkModel;
use super::sparse_preference::{PreferenceSettings, TupleCourse};
use super::stack::{Stack, StackKind, StackParams};
use super::*;
use crate::dataset::{Dataset, Query};
use crate::features::{FeatureParams, Features};
use crate::ingest::{IngestParams, SplitBy, ingest};
use crate::json::Json;
use crate::ranking::{Candidates, RankRequest, rank_candidates, rank_collection};
use crate::scoring::{Hit, Why};
use crate::settings::AutoNumber;
use crate::validation::{Ranked, Validation};

type Model = Arc<dyn MatchingModel>;

/// 2,500 documents (three blocks) and 60 queries over 40 words, with a time split.
fn dataset() -> (tempfile::TempDir, Dataset) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let text = |i: u32| format!("w{} w{} w{}", i % 40, i * 7 % 31, i * 13 % 23);
    let documents = (0..2500).map(|i| format!("d{i}\t{}\n", text(i))).collect();
    let queries = (0..60).map(|i| format!("q{i}\t{}\n", text(i * 3))).collect();
    let clicks = (0..400u32).map(|i| {
        format!("q{},d{},{},2026-01-{:02}\n", i * 7 % 60, i * 11 % 1200, 1 + i % 3, 1 + i * 28 / 400)
    });
    let log = std::iter::once("query_id,document,clicks,time\n".to_owned()).chain(clicks).collect();
    let params = IngestParams {
        clicks: vec![file("log.csv", log)],
        documents: vec![file("docs.tsv", documents)],
        queries: vec![file("queries.tsv", queries)],
        split: SplitBy::Time,
        ..IngestParams::default()
    };
    ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
    let dataset = Dataset::open(&folder.path().join("data")).unwrap();
    (folder, dataset)
}

fn factor(n: usize, d: usize, seed: u32) -> Factor {
    let value = |i: usize| {
        let mixed = (i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503));
        f32::from((mixed >> 16) as u16) / 32768.0 - 1.0
    };
    Factor::dense(d, (0..n * d).map(value).collect()).unwrap()
}

fn latent(kind: LatentKind, dataset: &Dataset) -> LatentModel {
    let features = Features::of_dataset(&FeatureParams::default(), dataset).unwrap();
    let features = features.with_keys_of(dataset, &crate::dataset::Clicks::of(dataset).unwrap()).unwrap();
    let keys = Some(Arc::new(features.keys().expect("clicks are features").clone()));
    let inputs = if kind == lsi_qd::LATENT {
        Inputs::Rows { source: features.source().clone(), keys }
    } else {
        Inputs::Features(Box::new(features))
    };
    let (d_x, d_y) = inputs.dimensions();
    let weights = (0..20).map(|i| i as f32 / 10.0).collect();
    let model = Bilinear::new(factor(d_x, 20, 1), factor(d_y, 20, 2), Some(weights)).unwrap();
    LatentModel { kind, params: Json::default(), inputs, model, report: LatentReport::default() }
}

/// The parts that only some bilinear models have.
fn extended(kind: LatentKind, dataset: &Dataset) -> Model {
    let mut model = latent(kind, dataset);
    let Inputs::Features(features) = &model.inputs else { unreachable!("it has words") };
    let biases = |n: usize, seed| match factor(n, 1, seed).into_rows() {
        Rows::Dense(values) => values,
        Rows::Sparse(_) => unreachable!("rows are dense"),
    };
    let bilinear = model.model.clone();
    model.model = if kind == ssi::LATENT {
        bilinear.with_identity(features.n_words()).unwrap()
    } else {
        let (x, y) = (biases(features.d_x(), 3), biases(features.d_y(), 4));
        bilinear.with_biases(Biases { global: 0.25, x, y }).unwrap()
    };
    Arc::new(model)
}

fn preference(dataset: &Dataset) -> Model {
    let settings = PreferenceSettings {
        tuples: AutoNumber::Given(3000.0),
        margin: AutoNumber::Given(0.5),
        c: AutoNumber::Given(1.0),
        lambda: AutoNumber::Given(1e-5),
        ..Default::default()
    };
    let course = TupleCourse { trial_tuples: 0, ..TupleCourse::new(1, &Silent) };
    let trained = sparse_preference::train(&settings, &Default::default(), (dataset, None), &course).unwrap();
    Arc::new(trained.model)
}

fn models(dataset: &Dataset) -> Vec<Model> {
    let bm25: Model = Arc::new(TextBm25::of_dataset(&Bm25Params::default(), dataset).unwrap());
    let walk: Model = Arc::new(WalkModel {
        params: RandomWalkParams { steps: 3, ..Default::default() },
        content_hash: dataset.manifest.content_hash.clone(),
    });
    let pls: Model = Arc::new(latent(pls::LATENT, dataset));
    let combine = |first: &Model, second: &Model| -> Model {
        Arc::new(Combination::of_two(0.3, [first.clone(), second.clone()]).unwrap())
    };
    let preference = preference(dataset);
    let words = combine(&preference, &bm25);
    let both = combine(&bm25, &pls);
    let three = combine(&both, &walk);
    let sum: Model = Arc::new(
        Combination::new(vec![bm25.clone(), pls.clone(), walk.clone()], vec![0.5, 0.2, 0.3]).unwrap(),
    );
    let tuned = Combination::new(vec![walk.clone(), bm25.clone(), pls.clone()], vec![0.0, 0.6, 0.4]).unwrap();
    let with_zero: Model = Arc::new(Combination { rule: Some(WeightRule::OneSe), ..tuned });
    let mut cosine = latent(lsi_dt::LATENT, dataset);
    cosine.model = cosine.model.with_cosine().unwrap();
    let (ssi, svd) = (extended(ssi::LATENT, dataset), extended(svdfeature::LATENT, dataset));
    let by_steps = combine(&ssi, &svd);
    let params = BltmParams { topics: 5, iterations: 4, ..Default::default() };
    let bltm: Model =
        Arc::new(bltm::train(&params, &Default::default(), &Training::new(dataset, 1, &Silent)).unwrap());
    let with_topics = combine(&bltm, &three);
    let parts = [("words", &bm25), ("clicks", &walk), ("both", &pls)];
    let parts = parts.map(|(name, model)| (name.to_owned(), model.clone())).to_vec();
    let stack = |clicks: bool| -> Model {
        let params = StackParams { ranker: StackKind::ListNet, depth: 50, clicks, ..Default::default() };
        let stack = Stack::train(
            parts.clone(),
            &params,
            crate::validation::NDCG_10,
            &Training::new(dataset, 1, &Silent),
        )
        .unwrap();
        Arc::new(stack)
    };
    let params = Rm3Params { max_df: 1.0, ..Default::default() };
    let rm3: Model = Arc::new(rm3::Rm3Model::of_dataset(&params, dataset).unwrap());
    vec![
        bm25,
        pls,
        Arc::new(latent(lsi_qd::LATENT, dataset)),
        walk,
        both,
        three,
        preference,
        words,
        ssi,
        svd,
        by_steps,
        bltm,
        with_topics,
        rm3,
        sum,
        with_zero,
        Arc::new(cosine),
        stack(false),
        stack(true),
    ]
}

const QUERIES: [&str; 4] = ["w3 w21 w16", "W1 w1 w39", "zebra", "w0"];

/// Equal but for rounding, and without a score in the same places.
fn close(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-4)
}

#[test]
fn blocks_lists_and_rankings_agree() {
    let (_folder, dataset) = dataset();
    for model in models(&dataset) {
        let kind = model.kind();
        let matcher = bind(&*model, &dataset, None, &Silent).unwrap();
        let n = matcher.n_documents() as usize;
        let mut scorer = matcher.begin(&QUERIES).unwrap();
        scorer.prepare();
        let mut block = vec![0.0; QUERIES.len() * n];
        scorer.block(0..n as u32, &mut block);
        let mut part = vec![0.0; QUERIES.len() * 700];
        scorer.block(900..1600, &mut part);
        let top = matcher.top(&QUERIES, 50, &Silent).unwrap();
        for query in 0..QUERIES.len() {
            let row = &block[query * n..][..n];
            assert!(close(&part[query * 700..][..700], &row[900..1600]), "{kind}");
            // All documents, so that a combination standardises over the same; those that a stack has candidates of.
            let is_stack = model.kind() == stack::KIND.name;
            let ranked = |document: &u32| !is_stack || !row[*document as usize].is_nan();
            let documents: Vec<u32> = (0..n as u32).filter(ranked).collect();
            let row_of_list: Vec<f32> = documents.iter().map(|&document| row[document as usize]).collect();
            let mut list = vec![0.0; documents.len()];
            scorer.list(query, &documents, &mut list);
            assert!(close(&list, &row_of_list), "{kind}");
            let mut expected: Vec<Hit> = (0..)
                .zip(row)
                .filter(|(_, score)| !score.is_nan())
                .map(|(document, &score)| Hit { document, score })
                .collect();
            expected.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
            expected.truncate(50);
            assert_eq!(top[query].len(), expected.len(), "{kind} {query}");
            for (hit, expected) in top[query].iter().zip(&expected) {
                // Neighbours may change places where rounding makes the difference.
                assert!((hit.score - expected.score).abs() < 1e-4, "{kind}: {hit:?} {expected:?}");
                assert!((hit.score - row[hit.document as usize]).abs() < 1e-4, "{kind}: {hit:?}");
            }
        }
        assert!(top[2].is_empty(), "{kind}: nothing is known of an unknown word");
        assert!(!top[0].is_empty(), "{kind}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_ranking() {
    let (_folder, dataset) = dataset();
    for model in models(&dataset) {
        let of = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                bind(&*model, &dataset, None, &Silent).unwrap().top(&QUERIES, 20, &Silent).unwrap()
            })
        };
        assert_eq!(of(1), of(5), "{}", model.kind());
    }
}

#[test]
fn explanations_add_up() {
    let (_folder, dataset) = dataset();
    for model in models(&dataset) {
        let kind = model.kind();
        let matcher = bind(&*model, &dataset, None, &Silent).unwrap();
        for hit in &matcher.top(&QUERIES[..1], 5, &Silent).unwrap()[0] {
            let explanation = matcher.explain(QUERIES[0], hit.document).unwrap();
            let score = f64::from(explanation.score.unwrap());
            assert!((score - f64::from(hit.score)).abs() < 1e-5, "{kind}: {score} {hit:?}");
            let sum: f64 = match &explanation.why {
                Why::Terms { terms } => terms.iter().map(|term| term.contribution.score).sum(),
                Why::Expanded { words, .. } => words.iter().map(|word| word.term.contribution.score).sum(),
                Why::Pairs { pairs, others } => {
                    others + pairs.iter().map(|pair| f64::from(pair.score)).sum::<f64>()
                }
                Why::Parts { parts } => parts.iter().map(|part| part.contribution).sum(),
                Why::Stacked { base, parts, counts, .. } => {
                    let counts = counts.iter().map(|count| count.adds);
                    base + parts.iter().map(|part| part.adds).chain(counts).sum::<f64>()
                }
                Why::Words { words, .. } => words.iter().map(|word| f64::from(word.score)).sum(),
                Why::Paths { paths, .. } => {
                    assert!(!paths.is_empty() && paths.iter().all(|path| path.probability <= 1.0));
                    score
                }
            };
            assert!((sum - score).abs() < 1e-4 * score.abs().max(1.0), "{kind}: {sum} {score}");
        }
        assert_eq!(matcher.explain("zebra", 0).unwrap().score, None, "{kind}");
    }
}

#[test]
fn candidates_get_the_scores_of_the_collection() {
    let (_folder, dataset) = dataset();
    let query = Query { id: "q".into(), text: QUERIES[0].into() };
    let unknown = Query { id: "u".into(), text: "zebra".into() };
    for model in models(&dataset) {
        let kind = model.kind();
        let collection = rank_collection(
            &RankRequest { model: &*model, dataset: &dataset, queries: std::slice::from_ref(&query) },
            5000,
            &Silent,
        )
        .unwrap();
        let wanted = ["d7", "d2400", "d801", "d3", "nowhere"].map(str::to_owned).to_vec();
        let candidates = Candidates::from_iter([("q".to_owned(), wanted.clone()), ("u".to_owned(), wanted)]);
        let queries = [query.clone(), unknown.clone()];
        let ranked = rank_candidates(
            &RankRequest { model: &*model, dataset: &dataset, queries: &queries },
            &candidates,
            &Silent,
        )
        .unwrap();
        assert_eq!(ranked.len(), 2);
        assert_eq!(ranked[0].1.len(), 4, "{kind}");
        assert!(ranked[1].1.iter().all(|(_, score)| *score == 0.0), "{kind}");
        if model.parts().is_empty() {
            for (id, score) in &ranked[0].1 {
                let found = collection[0].1.iter().find(|(other, _)| other == id);
                let found = found.map_or(0.0, |(_, score)| *score);
                assert!((score - found).abs() < 1e-5, "{kind} {id}: {score} {found}");
            }
        }
    }
}

#[test]
fn clicks_are_used_with_their_own_dataset_only() {
    let (_folder, dataset) = dataset();
    let other = {
        let folder = tempfile::tempdir().unwrap();
        let documents = folder.path().join("docs.tsv");
        std::fs::write(&documents, "d0\tw0 w0 w0\nd1\tw1\n").unwrap();
        let log = folder.path().join("log.csv");
        std::fs::write(&log, "query,document\nw3 w21 w16,d1\n").unwrap();
        let params =
            IngestParams { clicks: vec![log], documents: vec![documents], ..IngestParams::default() };
        ingest(&params, &folder.path().join("data"), false, &Silent).unwrap();
        let dataset = Dataset::open(&folder.path().join("data")).unwrap();
        (folder, dataset)
    };
    // As files of former versions have it, which name nothing that click features stand for.
    let former = |kind| {
        let mut model = latent(kind, &dataset);
        model.inputs = match model.inputs {
            Inputs::Rows { source, .. } => Inputs::Rows { source, keys: None },
            Inputs::Features(_) => {
                let features = Features::of_dataset(&FeatureParams::default(), &dataset).unwrap();
                Inputs::Features(Box::new(features))
            }
        };
        model
    };
    let pls = former(pls::LATENT);
    let matcher = bind(&pls, &other.1, None, &Silent).unwrap();
    let Why::Pairs { pairs, .. } = matcher.explain(QUERIES[0], 1).unwrap().why else { panic!() };
    assert!(pairs.iter().all(|pair| !pair.query_feature.contains(':') && pair.document_feature == "w1"));
    let error = bind(&former(lsi_qd::LATENT), &other.1, None, &Silent).err().unwrap();
    assert!(error.to_string().contains("train it on this one"), "{error}");
}

/// Figures of the tried weights are those of ranking with them, and the kept weights follow the rule.
#[test]
fn tuning_finds_what_ranking_with_every_weight_finds() {
    let (_folder, dataset) = dataset();
    let models = models(&dataset);
    for ranked in [Ranked::All, Ranked::Judged] {
        let validation = Validation::ranking(Some(ranked), &dataset, 1, &Silent).unwrap().unwrap();
        let values = |model: &Combination| {
            let matcher = bind(model, &dataset, validation.wanted(), &Silent).unwrap();
            let mut scorer = matcher.begin(&validation.queries()).unwrap();
            validation.per_query(&mut *scorer).unwrap().remove(0)
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        for of in [&[0, 3][..], &[0, 1, 3]] {
            let parts: Vec<Model> = of.iter().map(|&i| models[i].clone()).collect();
            let tune = |rule| {
                let params = CombinationParams { rule };
                Combination::tune(parts.clone(), &params, (&dataset, &validation), &Silent).unwrap()
            };
            let best = tune(WeightRule::Best);
            assert!(best.trials.len() >= 11, "{:?}", best.trials.len());
            for trial in &best.trials {
                let model = Combination { weights: trial.weights.clone(), ..best.clone() };
                assert_eq!(mean(&values(&model)), trial.validation, "{trial:?}");
            }
            let highest = best.trials.iter().map(|trial| trial.validation).fold(0.0, f64::max);
            assert!(highest > 0.0 && mean(&values(&best)) == highest, "{:?}", best.trials);
            // The simplest of two models within one standard error of the best: BM25, the other, or a sum.
            let kept = tune(WeightRule::OneSe);
            assert_eq!(kept.trials.len(), best.trials.len());
            let of_best = values(&best);
            let is_within = |weights: &[f32]| {
                let own = values(&Combination { weights: weights.to_vec(), ..best.clone() });
                let differences: Vec<f64> = of_best.iter().zip(&own).map(|(a, b)| a - b).collect();
                let (n, behind) = (differences.len() as f64, mean(&differences));
                let variance = differences.iter().map(|d| (d - behind).powi(2)).sum::<f64>() / (n - 1.0);
                behind <= (variance / n).sqrt()
            };
            assert!(is_within(&kept.weights));
            let simpler = best.trials.iter().filter(|trial| {
                let n_parts = |weights: &[f32]| weights.iter().filter(|weight| **weight > 0.0).count();
                n_parts(&trial.weights) < n_parts(&kept.weights)
            });
            assert!(simpler.clone().all(|trial| !is_within(&trial.weights)), "{:?}", kept.weights);
        }
    }
}

/// Values of single queries average to the figure of all, with judged documents and with the collection ranked.
#[test]
fn values_of_queries_average_to_the_figure() {
    let (_folder, dataset) = dataset();
    for ranked in [Ranked::All, Ranked::Judged] {
        let validation = Validation::ranking(Some(ranked), &dataset, 1, &Silent).unwrap().unwrap();
        for model in models(&dataset) {
            let matcher = bind(&*model, &dataset, validation.wanted(), &Silent).unwrap();
            let mut scorer = matcher.begin(&validation.queries()).unwrap();
            let values = validation.per_query(&mut *scorer).unwrap();
            assert_eq!((values.len(), values[0].len()), (1, validation.n_queries()));
            let mean = values[0].iter().sum::<f64>() / values[0].len() as f64;
            assert_eq!(mean, validation.value(&mut *scorer).unwrap(), "{}", model.kind());
        }
    }
}

/// The help of every model names its parameters, all of them, with their defaults.
#[test]
fn parameters_are_documented_with_their_defaults() {
    for kind in registry::trainable() {
        let params = Recipe::new(kind.name, &[]).unwrap().params();
        let documented = kind.parameters.iter().chain(kind.feature_parameters);
        let mut names: Vec<&str> = documented.clone().map(|parameter| parameter.name).collect();
        for parameter in documented {
            let default = params.field(parameter.name).unwrap_or_default().plain();
            assert_eq!(parameter.default, default, "{} {}", kind.name, parameter.name);
        }
        let mut known: Vec<&str> = params.0.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known, "{}", kind.name);
    }
}

#[test]
fn names_of_kinds_are_unique() {
    let names = registry::MATCHING.iter().flat_map(|kind| kind.aliases.iter().chain([&kind.name]));
    let mut names: Vec<&str> = names.copied().collect();
    let n = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), n);
    assert_eq!(registry::proper_name("rw"), "random-walk");
}

/// Without judgments to stop by, RMLS makes one iteration, unless more are asked for.
#[test]
fn rmls_without_judgments_makes_one_iteration() {
    let (_folder, dataset) = training_tests::checkerboard(false);
    let iterations = |settings: &[(String, Json)]| {
        let recipe = Recipe::new("rmls", settings).unwrap();
        let model = recipe.train(&Training::new(&dataset, 1, &Silent)).unwrap();
        find_part::<LatentModel>(&*model).unwrap().report.iterations.len()
    };
    assert_eq!(iterations(&[("d".into(), 4u32.into())]), 1);
    assert_eq!(iterations(&[("d".into(), 4u32.into()), ("iterations".into(), 3u32.into())]), 3);
}

/// A figure on the validation judgments is the one that measuring a ranking of the same queries gives, ties included.
#[test]
fn validation_figures_are_those_of_rankings() {
    use crate::dataset::{HeldOut, Holdout};
    use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate};

    let (_folder, dataset) = dataset();
    let held_out = HeldOut::of(&dataset, Holdout::Validation).unwrap();
    let conventions = Conventions::of(Dialect::Matchrank);
    let mut n_ties = 0;
    for measure in Measure::parse_list("ndcg@1,ndcg@3,ndcg@10,map").unwrap() {
        let validation = Validation::of(&dataset, 1, &Silent).unwrap().unwrap().by(measure);
        assert_eq!(validation.n_queries(), held_out.queries.len(), "no query is left out");
        for model in models(&dataset) {
            let rankings = rank_collection(
                &RankRequest { model: &*model, dataset: &dataset, queries: &held_out.queries },
                1000,
                &Silent,
            )
            .unwrap();
            let evaluation =
                evaluate(&held_out.qrels().unwrap(), &rankings[..], &[measure], &conventions).unwrap();
            n_ties += evaluation.audit.deciding_ties;
            let found = crate::tuning::measure(&*model, &dataset, &validation).unwrap();
            assert_eq!(found, evaluation.mean(0), "{} by {measure}", model.kind());
        }
    }
    assert!(n_ties > 0, "ties decide somewhere");
}
