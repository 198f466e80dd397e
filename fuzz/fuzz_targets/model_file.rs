//! Arbitrary bytes as a model file, as they are and with the checksum made right: never a panic, and a model
//! that is accepted gives finite scores and is the same after it was saved.
#![no_main]

use libfuzzer_sys::fuzz_target;
use matchrank_engine::model_file::{MatchingModel, load, save};

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
    let Ok((model, provenance)) = load(&path) else { return };
    save(&path, &model, &provenance).expect("a loaded model can be saved");
    let (again, provenance_again) = load(&path).expect("a saved model can be loaded");
    assert!(provenance == provenance_again);
    let (MatchingModel::Bm25(model), MatchingModel::Bm25(again)) = (model, again);
    let document = vec!["running shoes on the table"; model.words.fields.len()];
    let score = model.score("shoes table café", &document);
    assert!(score.is_finite() && score == again.score("shoes table café", &document), "{score}");
});
