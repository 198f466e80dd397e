//! The base of models that learn: nothing learned scores exactly as BM25.

use super::super::base::Base;
use super::super::latent::{AnchoredFeatures, OptionalBase};
use super::super::sparse_preference::{self, PreferenceModel, Variant};
use super::super::ssi::{self, SsiSettings};
use super::super::{pls, rmls};
use super::*;
use crate::features::WordParams;

/// Scores of all documents that BM25 scores, for some queries, by two models.
fn compared(model: &dyn MatchingModel, bm25: &TextBm25, dataset: &Dataset) -> Vec<(f32, f32)> {
    let queries = ["w1 w2 w1", "w3 w30", "w22 w5 w17 w0"];
    let [own, other] = [model, bm25].map(|model| bind(model, dataset, None, &Silent).unwrap());
    let (own, other) = (own.begin(&queries).unwrap(), other.begin(&queries).unwrap());
    let documents: Vec<u32> = (0..2500).collect();
    let mut pairs = Vec::new();
    for query in 0..queries.len() {
        let (mut a, mut b) = (vec![0.0; 2500], vec![0.0; 2500]);
        own.list(query, &documents, &mut a);
        other.list(query, &documents, &mut b);
        pairs.extend(a.into_iter().zip(b).filter(|(_, b)| !b.is_nan()));
    }
    assert!(pairs.len() > 300, "{}", pairs.len());
    pairs
}

fn preference(settings: &PreferenceSettings, dataset: &Dataset) -> PreferenceModel {
    let course = TupleCourse::new(1, &Silent);
    sparse_preference::train(settings, &WordParams::default(), (dataset, None), &course).unwrap().model
}

#[test]
fn the_identity_scores_exactly_as_bm25() {
    let (_folder, dataset) = dataset();
    for (k1, b) in [(1.2, 0.75), (0.4, 0.0), (2.5, 1.0)] {
        let bm25 = TextBm25::of_dataset(&Bm25Params { k1, b }, &dataset).unwrap();
        let given = (AutoNumber::Given(k1), AutoNumber::Given(b));
        let settings = PreferenceSettings {
            variant: Variant::Identity,
            k1: given.0,
            b: given.1,
            ..PreferenceSettings::default()
        };
        let ssi = SsiSettings {
            k1: given.0,
            b: given.1,
            share: AutoNumber::Given(0.0),
            iterations: 1,
            tuples: AutoNumber::Given(100.0),
            d: 4,
            ..SsiSettings::default()
        };
        let training = Training::new(&dataset, 1, &Silent);
        let anchored = AnchoredFeatures {
            base: OptionalBase::Bm25,
            k1: given.0,
            b: given.1,
            share: AutoNumber::Given(0.0),
            ..AnchoredFeatures::default()
        };
        let (of_pls, of_rmls) =
            (PlsParams { d: 4, ..Default::default() }, RmlsParams { d: 4, ..Default::default() });
        let models: [Model; 4] = [
            Arc::new(pls::train(&of_pls, &anchored, &training).unwrap()),
            Arc::new(rmls::train(&of_rmls, &anchored, &training).unwrap()),
            Arc::new(preference(&settings, &dataset)),
            Arc::new(ssi::train(&ssi, &FeatureParams::default(), &training).unwrap()),
        ];
        for model in models {
            for (own, expected) in compared(&*model, &bm25, &dataset) {
                assert!((own - expected).abs() <= 1e-5 * expected, "{}: {own} {expected}", model.kind());
            }
        }
    }
}

#[test]
fn nothing_that_was_learned_is_kept_where_the_base_is_as_good() {
    let (_folder, dataset) = dataset();
    // Steps so short that no ranking changes.
    let settings = PreferenceSettings {
        tuples: AutoNumber::Given(1000.0),
        margin: AutoNumber::Given(0.1),
        c: AutoNumber::Given(1e-9),
        lambda: AutoNumber::Given(0.0),
        ..PreferenceSettings::default()
    };
    let model = preference(&settings, &dataset);
    let kept = model.report.blends.iter().map(|(_, figure)| *figure).fold(0.0, f64::max);
    assert!(model.report.blends.len() > 3 && kept > 0.0, "{:?}", model.report.blends);
    assert_eq!(model.blend, 1.0);
    assert_eq!(model.w.nnz(), model.features.n_words(), "{:?}", model.report.blends);
    assert_eq!(model.state.clock.all_steps, 0, "later learning starts from the base");
}

#[test]
fn settings_of_the_other_base_are_refused() {
    let (_folder, dataset) = dataset();
    for (kind, base, name, other) in [
        ("sparse-preference", "bm25", "idf", "cosine"),
        ("sparse-preference", "cosine", "k1", "bm25"),
        ("ssi", "bm25", "tf", "cosine"),
        ("pls", "bm25", "tf", "cosine"),
        ("rmls", "cosine", "k1", "bm25"),
    ] {
        let value: Json = if name == "k1" { 1u32.into() } else { "none".into() };
        let value = if name == "tf" { "binary".into() } else { value };
        let settings = [("base".to_owned(), base.into()), (name.to_owned(), value)];
        let recipe = Recipe::new(kind, &settings).unwrap();
        let error = recipe.train(&Training::new(&dataset, 1, &Silent)).unwrap_err().to_string();
        assert_eq!(error, format!("{name} is a setting of base={other}; set that too"));
    }
    assert_eq!(PreferenceSettings::default().base, Base::Bm25);
}

#[test]
fn settings_of_a_base_need_one() {
    let (_folder, dataset) = dataset();
    for kind in ["pls", "rmls"] {
        for name in ["k1", "b", "share"] {
            let recipe = Recipe::new(kind, &[(name.to_owned(), 1u32.into())]).unwrap();
            let error = recipe.train(&Training::new(&dataset, 1, &Silent)).unwrap_err().to_string();
            assert_eq!(error, format!("{name} is a setting of a base; set base too"));
        }
    }
    for hide in [-0.1, 1.0, f64::NAN] {
        assert!(AnchoredFeatures { hide, ..AnchoredFeatures::default() }.validate().is_err(), "{hide}");
    }
}

/// The validation figure of a model that learned from hidden clicks is that of its rankings, which hide nothing.
#[test]
fn clicks_are_hidden_from_learning_alone() {
    let (_folder, dataset) = dataset();
    let features = AnchoredFeatures { hide: 0.5, ..AnchoredFeatures::default() };
    let training = Training::new(&dataset, 1, &Silent);
    let params = PlsParams { d: 20, ..Default::default() };
    let hiding = pls::train(&params, &features, &training).unwrap();
    let plain = pls::train(&params, &AnchoredFeatures::default(), &training).unwrap();
    assert_ne!(hiding.report.singular_values, plain.report.singular_values);
    assert!(hiding.report.features.unwrap().c_x < plain.report.features.unwrap().c_x);
    let validation = Validation::of(&dataset, 1, &Silent).unwrap().unwrap();
    let matcher = bind(&hiding, &dataset, validation.wanted(), &Silent).unwrap();
    let figure = validation.value(&mut *matcher.begin(&validation.queries()).unwrap()).unwrap();
    assert_eq!(hiding.report.validation, Some(figure));
}
