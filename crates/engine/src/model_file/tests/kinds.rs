//! A small file of every kind stays in the tree, keeps its bytes and keeps its scores.

use matchrank_core::matching::sparse_preference::{Learner, PreferenceParams, Tuple};
use matchrank_core::matching::{
    Biases, Bilinear, Bltm, BltmParams, Csr, CsrBuilder, Factor, RandomWalkParams, Rows, Similarity,
    SparseRow, SparseRows,
};
use matchrank_core::progress::Silent;
use serde_json::json;

use super::*;
use crate::features::{FeatureParams, FeatureRow, Features, Source};
use crate::models::base::Base;
use crate::models::bltm::{BltmIteration, BltmModel, BltmReport};
use crate::models::combination::{Combination, WeightRule, WeightTrial};
use crate::models::latent::{Epoch, Inputs, LatentKind, LatentModel, LatentReport};
use crate::models::random_walk::WalkModel;
use crate::models::sparse_preference::{
    PreferenceModel, PreferenceReport, PreferenceScorer, PreferenceSettings,
};
use crate::models::stack::{Stack, StackTrial};
use crate::models::{lsi_dt, lsi_qd, pls, rmls, ssi, svdfeature};
use crate::preferences::RuleCheck;
use crate::scoring::Scorer;

/// Every kind of latent model.
const LATENT: [LatentKind; 6] =
    [rmls::LATENT, pls::LATENT, lsi_dt::LATENT, lsi_qd::LATENT, ssi::LATENT, svdfeature::LATENT];

type Model = Arc<dyn MatchingModel>;

fn source() -> Source {
    Source { content_hash: "0123456789abcdef".into(), n_queries: 2, n_documents: 3 }
}

fn features(click_weight: f64) -> Features {
    let words = BagOfWords {
        analyser: Analyser::new(&AnalyserParams { fold_accents: false, ..Default::default() }).unwrap(),
        vocabulary: Vocabulary::with_query_terms(3, [("shoe", 2, 3), ("tabl", 1, 1), ("sneaker", 0, 0)])
            .unwrap(),
        fields: FieldWeights::equal(["title"]).unwrap(),
    };
    Features::new(&FeatureParams { click_weight, ..Default::default() }, words, source()).unwrap()
}

fn latent(kind: LatentKind) -> LatentModel {
    let dense = |n: usize, shift: f32| {
        Factor::dense(2, (0..2 * n).map(|i| (i as f32 - shift) / 4.0).collect()).unwrap()
    };
    let (inputs, model) = match kind.name {
        "rmls" => {
            let rows = |row: Vec<u32>| {
                let rows = SparseRows {
                    offsets: vec![0, 1, 3],
                    columns: vec![1, 0, 1],
                    values: vec![1.0, 0.6, -0.8],
                };
                Factor::new(2, row, Rows::Sparse(rows.into())).unwrap()
            };
            let none = Factor::NONE;
            let model =
                Bilinear::new(rows(vec![0, 1, 1, none, 0, 1]), rows(vec![1, 0, none, 1, 0]), None).unwrap();
            (Inputs::Features(Box::new(features(1.0))), model)
        }
        "pls" => {
            let model = Bilinear::new(dense(6, 3.0), dense(5, 1.0), Some(vec![1.0, 0.5])).unwrap();
            (Inputs::Features(Box::new(features(0.5))), model)
        }
        "lsi-dt" => {
            let model = Bilinear::new(dense(3, 2.0), dense(3, 2.0), None).unwrap();
            (Inputs::Features(Box::new(features(0.0))), model)
        }
        "lsi-qd" => {
            let model = Bilinear::new(dense(2, 1.0), dense(3, 4.0), Some(vec![2.0, 1.0])).unwrap();
            (Inputs::Rows { source: source(), keys: None }, model)
        }
        "ssi" => {
            let model = Bilinear::new(dense(3, 2.0), dense(3, 1.0), None).unwrap();
            (Inputs::Features(Box::new(features(0.0))), model.with_identity(3).unwrap())
        }
        "svdfeature" => {
            let biases = Biases {
                global: 0.5,
                x: (0..6).map(|u| u as f32 / 8.0).collect(),
                y: (0..5).map(|v| (v as f32 - 2.0) / 8.0).collect(),
            };
            let model = Bilinear::new(dense(6, 3.0), dense(5, 1.0), None).unwrap();
            (Inputs::Features(Box::new(features(1.0))), model.with_biases(biases).unwrap())
        }
        other => panic!("{other} has no example"),
    };
    let mut report = LatentReport { validation: Some(0.25), residual: Some(1e-5), ..LatentReport::default() };
    if kind == ssi::LATENT {
        let violations = Some(0.5);
        report.epochs =
            vec![Epoch { number: 1, loss: 0.75, violations, validation: Some(0.25), seconds: 0.0 }];
        report.best = Some(1);
        report.rules = Some(RuleCheck { n_pairs: 9, n_judged: 4, n_contradicted: 1, n_equal: 2 });
    }
    LatentModel { kind, params: Json(json!({ "d": 2 })), inputs, model, report }
}

/// Three words; two tuples, and a refitting that has begun.
fn preference() -> PreferenceModel {
    let average = true;
    let params = PreferenceParams {
        margin: 1.0,
        c: 0.5,
        lambda: 0.25,
        shrink_every: 2,
        average,
        ..Default::default()
    };
    let mut learner = Learner::new(&params, 3, 3, (0..3).map(|i| (i, i))).unwrap();
    let rows = Csr::from_triples(3, 3, [(0, 0, 1.0), (1, 1, 1.0), (2, 0, 0.6), (2, 2, 0.8)]).unwrap();
    let tuples = [Tuple { query: 2, more: 1, less: 0 }, Tuple { query: 0, more: 1, less: 2 }];
    learner.learn(&rows, &rows, &tuples, &Silent).unwrap();
    learner.refit();
    learner.learn(&rows, &rows, &tuples, &Silent).unwrap();
    PreferenceModel {
        settings: PreferenceSettings { base: Base::Cosine, average, shrink_every: 200, ..Default::default() },
        features: features(0.0),
        w: learner.matrix(),
        state: learner.state(),
        blend: 1.0,
        report: PreferenceReport { validation: Some(0.25), ..Default::default() },
    }
}

/// Two topics over three words.
fn bltm() -> BltmModel {
    let factor = |row: Vec<u32>, values: &[f32]| Factor::new(2, row, Rows::Dense(values.to_vec())).unwrap();
    let none = Factor::NONE;
    let queries = factor(vec![0, none, 1], &[0.25, 0.5, 0.75, 0.5]);
    let documents = factor(vec![0, 1, none], &[0.75, 0.125, 0.25, 0.875]);
    let iteration = BltmIteration { number: 1, log_likelihood: -0.5, validation: Some(0.25), seconds: 0.0 };
    BltmModel {
        // All of them: other defaults must not change the file.
        params: BltmParams {
            topics: 2,
            iterations: 50,
            alpha: 0.01,
            beta: 0.01,
            steps: 3,
            document: 0.3,
            topic: 0.3,
        },
        words: features(0.0).words().clone(),
        topics: Bltm::new(queries, documents, vec![0.25, 0.75]).unwrap(),
        report: BltmReport {
            n_pairs: 3,
            validation: Some(0.25),
            best: Some(1),
            iterations: vec![iteration],
            ..Default::default()
        },
    }
}

fn models() -> Vec<Model> {
    let mut models: Vec<Model> = LATENT.iter().map(|&kind| Arc::new(latent(kind)) as Model).collect();
    models.push(Arc::new(bltm()));
    models.push(Arc::new(WalkModel {
        params: RandomWalkParams { steps: 3, self_transition: 0.8 },
        content_hash: source().content_hash,
    }));
    models.push(Arc::new(preference()));
    let two = Combination::of_two(0.3, [small().0, Arc::new(latent(rmls::LATENT))]).unwrap();
    let trial = |a: f32, validation| WeightTrial { weights: vec![a, 1.0 - a], validation };
    models.push(Arc::new(Combination { trials: vec![trial(0.3, 0.5), trial(0.4, 0.25)], ..two }));
    models.push(Arc::new(stack()));
    models
}

fn stack() -> Stack {
    let trial = |lambda, leaves, validation| StackTrial {
        ranker: "lambdamart".into(),
        lambda,
        share: None,
        leaves,
        trees: leaves,
        validation,
        measure: "ndcg@10".into(),
        kept: false,
        values: Vec::new(),
    };
    Stack {
        parts: vec![("words".into(), small().0), ("clicks".into(), Arc::new(latent(rmls::LATENT)))],
        ranker: Arc::new(boosted::trees(4)),
        depth: 10,
        clicks: false,
        attributes: Vec::new(),
        trials: vec![trial(Some(0.5), None, 0.25), trial(None, Some(4), 0.5)],
    }
}

fn fixture_of(kind: &str, version: u32) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/model_files");
    folder.join(format!("{}_v{version}.safetensors", kind.replace('-', "_")))
}

/// As files are written now.
fn fixture(kind: &str) -> std::path::PathBuf {
    fixture_of(kind, if kind == "sparse-preference" { 3 } else { 1 })
}

#[test]
#[ignore = "writes the fixtures; only for a new version of the format, under new names"]
fn write_fixtures() {
    for model in models() {
        save(&fixture(model.kind()), &*model, &small().1).unwrap();
    }
}

#[test]
fn the_bytes_are_those_of_the_fixtures_before_and_after_loading() {
    for model in models() {
        let kind = model.kind();
        let expected = std::fs::read(fixture(kind)).unwrap();
        assert_eq!(saved(&*model, &small().1), expected, "{kind}");
        let (again, provenance) = loaded(&expected).unwrap();
        assert_eq!(again.kind(), kind);
        assert_eq!(saved(&*again, &provenance), expected, "{kind}");
    }
}

fn of_file(kind: LatentKind) -> LatentModel {
    let model = load(&fixture(kind.name)).unwrap().0;
    let model: &LatentModel = find_part(&*model).expect("a latent model");
    assert_eq!((model.kind, model.report.validation), (kind, Some(0.25)));
    model.clone()
}

/// W before learning is written in blocks, and after.
#[test]
fn earlier_files_of_sparse_preferences_have_the_same_w() {
    let [earlier, now] = [1, 2].map(|version| {
        let model = load(&fixture_of("sparse-preference", version)).unwrap().0;
        find_part::<PreferenceModel>(&*model).expect("sparse preferences").w.clone()
    });
    assert_eq!(earlier.indices(), now.indices());
    assert!(earlier.nnz() > 2);
    for (a, b) in earlier.values().iter().zip(now.values()) {
        assert!((a - b).abs() <= 1e-6, "{a} {b}");
    }
}

/// Scores computed from the arrays of the files with numpy; tolerance 1e-6, computed as f32.
#[test]
fn files_of_format_version_1_keep_their_scores() {
    let expected = [
        (rmls::LATENT, 0.339_600_416_77),
        (pls::LATENT, 1.231_436_885_39),
        (lsi_dt::LATENT, -0.103_878_341_93),
    ];
    for (kind, expected) in expected {
        let LatentModel { inputs: Inputs::Features(features), model, .. } = of_file(kind) else { panic!() };
        let clicks = SparseRow::new(&[1, 2], &[3.0, 1.0]).unwrap();
        let x: FeatureRow = features.query("sneakers for shoes", Some(clicks));
        let y = features.document(&["Shoes, shoes, tables"], Some(SparseRow::new(&[1], &[2.0]).unwrap()));
        let score = f64::from(model.score(x.row(), y.row()));
        assert!((score - expected).abs() <= 1e-6, "{kind:?}: {score} {expected}");
    }
    let preference = load(&fixture_of("sparse-preference", 1)).unwrap().0;
    let preference: &PreferenceModel = find_part(&*preference).unwrap();
    let x = preference.features.query("sneakers for shoes", None);
    let documents = {
        let mut rows = CsrBuilder::new(3);
        rows.push_row(preference.features.document(&["Shoes, shoes, tables"], None).row());
        rows.finish().unwrap()
    };
    let mut score = [0.0];
    PreferenceScorer::new(&preference.w, &[x], &documents).list(0, &[0], &mut score);
    assert!((f64::from(score[0]) - 0.126_635_588_746).abs() <= 1e-6, "{score:?}");
    assert_eq!((preference.state.clock.steps, preference.report.validation), (2, Some(0.25)));
    let LatentModel { model, .. } = of_file(lsi_qd::LATENT);
    let one = |i| SparseRow::new(i, &[1.0]).unwrap();
    // 2 * 0.25 * 0 + 0.5 * 0.25
    assert_eq!(model.score(one(&[1]), one(&[2])), 0.125);

    let walk = load(&fixture("random-walk")).unwrap().0;
    let walk: &WalkModel = find_part(&*walk).unwrap();
    assert_eq!((walk.params.steps, walk.params.self_transition), (3, 0.8));
    let both = load(&fixture("combination")).unwrap().0;
    let both: &Combination = find_part(&*both).unwrap();
    assert_eq!((&both.weights[..], both.trials.len(), both.rule), (&[0.3, 0.7][..], 2, None));
    assert_eq!((both.trials[1].weights[0], both.models[1].kind()), (0.4, "rmls"));
    assert_eq!(bm25(&*both.models[0]).bm25, bm25(&*small().0).bm25);
}

/// A combination of three models, whose weights a rule chose.
fn sum_of_three() -> Combination {
    let parts: Vec<Model> = vec![small().0, Arc::new(latent(rmls::LATENT)), Arc::new(latent(pls::LATENT))];
    let trial = |weights: [f32; 3], validation| WeightTrial { weights: weights.to_vec(), validation };
    Combination {
        trials: vec![trial([0.5, 0.0, 0.5], 0.5), trial([1.0, 0.0, 0.0], 0.25)],
        rule: Some(WeightRule::OneSe),
        tuned_on: Some(crate::validation::Ranked::All),
        ..Combination::new(parts, vec![0.5, 0.0, 0.5]).unwrap()
    }
}

#[test]
#[ignore = "writes the fixture; only for a new version of the format, under a new name"]
fn write_fixture_of_a_sum() {
    let path = fixture_of("combination", 2);
    save(&path, ModelRef::Matching(&sum_of_three()), &small().1).unwrap();
}

#[test]
fn sums_of_three_models_keep_their_bytes() {
    let expected = std::fs::read(fixture_of("combination", 2)).unwrap();
    assert_eq!(saved(&sum_of_three(), &small().1), expected);
    let (again, provenance) = loaded(&expected).unwrap();
    assert_eq!(saved(&*again, &provenance), expected);
    let sum: &Combination = find_part(&*again).unwrap();
    assert_eq!((&sum.weights[..], sum.rule), (&[0.5, 0.0, 0.5][..], Some(WeightRule::OneSe)));
    assert_eq!(sum.trials, sum_of_three().trials);
    assert_eq!(sum.models.iter().map(|model| model.kind()).collect::<Vec<_>>(), ["bm25", "rmls", "pls"]);
    let refusal = |from: &str, to: &str| refusal(&with_header(&expected, from, to));
    assert!(refusal("[0.5,0.0,0.5]", "[0.5,0.00.5] ").contains("trials"));
    assert!(refusal(r#""third.kind":"pls""#, r#""third.kind":"plz""#).contains("unknown kind"));
}

#[test]
fn combinations_of_other_weights_are_refused() {
    let parts = || -> Vec<Model> { vec![small().0, Arc::new(latent(rmls::LATENT))] };
    for weights in [vec![0.5], vec![0.5, 0.6], vec![1.5, -0.5], vec![f32::NAN, 0.5], vec![0.4, 0.3, 0.3]] {
        assert!(Combination::new(parts(), weights.clone()).is_err(), "{weights:?}");
    }
    assert!(Combination::new(parts(), vec![1.0, 0.0]).is_ok());
    let thirteen: Vec<Model> = (0..13).map(|_| small().0).collect();
    assert!(Combination::new(thirteen, vec![1.0 / 13.0; 13]).is_err());
}

#[test]
fn latent_models_say_that_they_score_by_the_cosine() {
    let mut model = latent(lsi_dt::LATENT);
    model.model = model.model.with_cosine().unwrap();
    let bytes = saved(&model, &small().1);
    let again = loaded(&bytes).unwrap().0;
    let again: &LatentModel = find_part(&*again).unwrap();
    assert_eq!(again.model, model.model);
    assert_eq!(of_file(lsi_dt::LATENT).model.similarity(), Similarity::Dot);
    let error = refusal(&with_header(&bytes, r#"\"cosine\""#, r#"\"cosinE\""#));
    assert!(error.contains("similarity"), "{error}");
}

#[test]
fn every_flip_is_an_error() {
    for model in models() {
        let bytes = saved(&*model, &small().1);
        let mut changed = bytes.clone();
        for at in 0..bytes.len() {
            changed[at] = bytes[at] ^ 0x20;
            assert!(loaded(&changed).is_err(), "{}: byte {at}", model.kind());
            changed[at] = bytes[at];
        }
    }
}

#[test]
fn files_that_contradict_themselves_are_refused() {
    let bytes = saved(&latent(rmls::LATENT), &small().1);
    let refusal = |from: &str, to: &str| refusal(&with_header(&bytes, from, to));
    assert!(loaded(&with_header(&bytes, "rmls", "rmls")).is_ok());
    assert!(refusal(r#"\"n_queries\":2"#, r#"\"n_queries\":3"#).contains("5 document features"));
    assert!(refusal(r#""lx.values""#, r#""lx.Values""#).contains("lx.values"));
    assert!(refusal(r#"\"click_weight\":1.0"#, r#"\"click_weight\":-.5"#).contains("features"));
    assert!(refusal(r#""kind":"rmls""#, r#""kind":"rmlz""#).contains("knows: bm25, "));
    let mut broken = latent(pls::LATENT);
    broken.inputs = Inputs::Rows { source: source(), keys: None };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    assert!(save(&path, ModelRef::Matching(&broken), &Provenance::default()).is_err());
}

#[test]
fn a_stack_keeps_its_attributes() {
    let mut stack = stack();
    let attributes = serde_json::json!([
        {"name": "price", "kind": "number"},
        {"name": "brand", "kind": "category", "values": ["Sony", "Bose"]},
    ]);
    stack.attributes = serde_json::from_value(attributes).unwrap();
    stack.ranker = Arc::new(boosted::trees(12));
    let bytes = saved(&stack, &small().1);
    let again = loaded(&bytes).unwrap().0;
    let again: &Stack = find_part(&*again).unwrap();
    assert_eq!(again.attributes, stack.attributes);
    assert_eq!(
        again.columns()[4..],
        [
            "price",
            "price, standardised",
            "brand = Sony",
            "brand = Sony, standardised",
            "brand = Bose",
            "brand = Bose, standardised",
            "query contains brand",
            "query contains brand, standardised",
        ]
    );
    stack.attributes.pop();
    let error = refusal(&saved(&stack, &small().1));
    assert!(error.contains("12 features, where 6"), "{error}");
}

#[test]
fn a_stack_that_counts_clicks_says_so() {
    let mut stack = stack();
    stack.clicks = true;
    stack.ranker = Arc::new(boosted::trees(10));
    let bytes = saved(&stack, &small().1);
    let again = loaded(&bytes).unwrap().0;
    let again: &Stack = find_part(&*again).unwrap();
    assert!(again.clicks);
    assert_eq!(format!("{:?}", again.ranker), format!("{:?}", stack.ranker));
    // Without the counts the ranker has too many features.
    let error = refusal(&with_header(&bytes, r#""clicks":"true""#, r#""clicks":"null""#));
    assert!(!error.is_empty());
    stack.clicks = false;
    let error = refusal(&saved(&stack, &small().1));
    assert!(error.contains("10 features, where 4"), "{error}");
}
