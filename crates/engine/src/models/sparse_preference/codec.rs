//! Sparse preference models as arrays and metadata: W as the state of its learner, from which W follows and
//! learning goes on.

use matchrank_core::Result;
use matchrank_core::matching::sparse_preference::{Learner, Pending, State};
use serde_json::Value;

use super::{PreferenceModel, PreferenceSettings, blended};
use crate::container::{Reader, Writer, feature_codec};
use crate::models::base::Base;

pub(super) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a PreferenceModel) -> Result<()> {
    model.validate()?;
    let PreferenceModel { settings, features, state, blend, report, .. } = model;
    file.put_json("settings", settings)?;
    file.put_json("params", &state.params)?;
    file.put_json("report", report)?;
    feature_codec::put(file, features)?;
    if *blend != 1.0 {
        file.put_number("blend", *blend);
    }
    file.put_json("clock", &state.clock)?;
    file.put_array("w.kinds", state.kinds.as_slice());
    file.put_array("w.capacities", state.capacities.as_slice());
    file.put_array("w.written_at", state.written_at.as_slice());
    file.put_array("w.offsets", state.offsets.as_slice());
    file.put_array("w.columns", state.columns.as_slice());
    file.put_array("w.numbers", state.numbers.as_slice());
    file.put_array("w.sums", state.sums.as_slice());
    file.put_array("pending.etas", state.pending.etas.as_slice());
    file.put_array("pending.offsets", state.pending.offsets.as_slice());
    file.put_array("pending.columns", state.pending.columns.as_slice());
    file.put_array("pending.values", state.pending.values.as_slice());
    Ok(())
}

pub(super) fn get(file: &Reader<'_>) -> Result<PreferenceModel> {
    let features = feature_codec::get(file)?;
    let n_words = features.n_words();
    let state = State {
        params: file.json("params")?,
        clock: file.json("clock")?,
        n_document_features: n_words,
        // One dictionary: every word is itself.
        shared: (0..n_words as u32).collect(),
        kinds: file.array("w.kinds")?,
        capacities: file.array("w.capacities")?,
        // In earlier files numbers are all as at the start.
        written_at: if file.has_array("w.written_at") {
            file.array("w.written_at")?
        } else {
            vec![0.0; n_words]
        },
        offsets: file.array("w.offsets")?,
        columns: file.array("w.columns")?,
        numbers: file.array("w.numbers")?,
        sums: file.array("w.sums")?,
        pending: pending(file)?,
    };
    // Files without a blend have learned weights only.
    let blend = if file.has_array("blend") { file.number("blend")? } else { 1.0 };
    let w = blended(Learner::from_state(&state)?.matrix(), blend)?;
    let mut settings: PreferenceSettings = file.json("settings")?;
    if features.bm25().is_none() {
        // Files of former versions do not name their base. They had no hard tuples.
        settings.base = Base::Cosine;
    }
    if file.json::<Value>("settings")?.get("hard").is_none() {
        settings.hard = 0.0;
    }
    let model = PreferenceModel { settings, features, w, state, blend, report: file.json("report")? };
    model.validate()?;
    Ok(model)
}

/// Earlier files have none.
fn pending(file: &Reader<'_>) -> Result<Pending> {
    if !file.has_array("pending.etas") {
        return Ok(Pending::default());
    }
    Ok(Pending {
        etas: file.array("pending.etas")?,
        offsets: file.array("pending.offsets")?,
        columns: file.array("pending.columns")?,
        values: file.array("pending.values")?,
    })
}
