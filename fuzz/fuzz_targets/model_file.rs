//! Arbitrary bytes as a model file, as they are and with the checksum made right: never a panic, and a model
//! that is accepted is the same after it was saved, and scores.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_engine::matching::{Inputs, MatchingModel};
use matchrank_engine::model_file::{load, load_ranker, save, save_ranker};

const KEY: &[u8] = br#""checksum":""#;

fuzz_target!(init: matchrank_fuzz::one_thread(), |bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    let _ = load(&matchrank_fuzz::file("model", &bytes));
    let Some(at) = memchr::memmem::find(&bytes, KEY).map(|at| at + KEY.len()) else { return };
    let Some(place) = bytes.get_mut(at..at + 64) else { return };
    place.fill(b'0');
    let checksum = blake3::hash(&bytes).to_hex();
    bytes[at..at + 64].copy_from_slice(checksum.as_bytes());
    let path = matchrank_fuzz::file("model", &bytes);
    if let Ok((model, provenance)) = load_ranker(&path) {
        save_ranker(&path, &model, &provenance).expect("a loaded ranker can be saved");
        assert!(load_ranker(&path).expect("a saved ranker can be loaded") == (model, provenance));
        return;
    }
    let Ok((model, provenance)) = load(&path) else { return };
    save(&path, &model, &provenance).expect("a loaded model can be saved");
    let (again, provenance_again) = load(&path).expect("a saved model can be loaded");
    assert!(provenance == provenance_again);
    same_scores(&model, &again);
});

fn same_scores(model: &MatchingModel, again: &MatchingModel) {
    let (query, text) = ("shoes table café", "running shoes on the table");
    match (model, again) {
        (MatchingModel::Bm25(model), MatchingModel::Bm25(again)) => {
            let document = vec![text; model.words.fields.len()];
            let score = model.score(query, &document);
            assert!(score.is_finite() && score == again.score(query, &document), "{score}");
        }
        (MatchingModel::Latent(model), MatchingModel::Latent(again)) => {
            let score = |model: &matchrank_engine::matching::LatentModel| {
                let Inputs::Features(features) = &model.inputs else { return 0.0 };
                let document = vec![text; features.words().fields.len()];
                let (x, y) = (features.query(query, None), features.document(&document, None));
                model.model.score(x.row(), y.row())
            };
            assert_eq!(score(model).to_bits(), score(again).to_bits());
        }
        (MatchingModel::Bltm(model), MatchingModel::Bltm(again)) => {
            assert!(model.topics == again.topics && model.params == again.params);
        }
        (MatchingModel::RandomWalk(model), MatchingModel::RandomWalk(again)) => assert!(model == again),
        (MatchingModel::Preference(model), MatchingModel::Preference(again)) => {
            assert!(model.w == again.w && model.state == again.state);
        }
        (MatchingModel::Combination(model), MatchingModel::Combination(again)) => {
            assert!(model.weight == again.weight);
            same_scores(&model.first, &again.first);
            same_scores(&model.second, &again.second);
        }
        (model, again) => panic!("a {} model became a {} model", model.kind(), again.kind()),
    }
}
