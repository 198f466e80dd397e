//! Bilinear models over text as arrays and metadata.

use matchrank_core::Result;
use matchrank_core::matching::{Biases, Bilinear, Factor, Mapping, Rows, Similarity, SparseRows};

use super::{Inputs, LatentKind, LatentModel};
use crate::container::{Reader, Writer, feature_codec};

pub(super) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a LatentModel) -> Result<()> {
    model.validate()?;
    file.put_json("params", &model.params)?;
    file.put_json("report", &model.report)?;
    match &model.inputs {
        Inputs::Features(features) => feature_codec::put(file, features)?,
        Inputs::Rows { source, keys } => feature_codec::put_source(file, source, keys.as_deref())?,
    }
    file.put_number("d", model.model.d() as u64);
    put_factor(&mut file.inside("lx"), model.model.lx());
    put_factor(&mut file.inside("ly"), model.model.ly());
    if let Some(weights) = model.model.weights() {
        file.put_array("weights", weights);
    }
    // Absent in files of former versions, which score by the dot product.
    if model.model.similarity() != Similarity::Dot {
        file.put_json("similarity", &model.model.similarity())?;
    }
    if model.model.identity() > 0 {
        file.put_number("identity", model.model.identity() as u64);
    }
    if let Some(Biases { global, x, y }) = model.model.biases() {
        file.put_number("biases.global", *global);
        file.put_array("biases.x", x.as_slice());
        file.put_array("biases.y", y.as_slice());
    }
    Ok(())
}

pub(super) fn get(file: &Reader<'_>, kind: LatentKind) -> Result<LatentModel> {
    let inputs = if kind.knows_words {
        Inputs::Features(Box::new(feature_codec::get(file)?))
    } else {
        let (source, keys) = feature_codec::get_source(file)?;
        Inputs::Rows { source, keys }
    };
    let d = file.number::<u64>("d")? as usize;
    let (lx, ly) = (factor(&file.inside("lx"), d)?, factor(&file.inside("ly"), d)?);
    let weights = if file.has_array("weights") { Some(file.array("weights")?) } else { None };
    let mut bilinear = Bilinear::new(lx, ly, weights)?;
    if file.has_array("identity") {
        bilinear = bilinear.with_identity(file.number::<u64>("identity")? as usize)?;
    }
    if file.has_array("biases.global") {
        let (global, x, y) =
            (file.number("biases.global")?, file.array("biases.x")?, file.array("biases.y")?);
        bilinear = bilinear.with_biases(Biases { global, x, y })?;
    }
    if file.has_metadata("similarity") && file.json::<Similarity>("similarity")? == Similarity::Cosine {
        bilinear = bilinear.with_cosine()?;
    }
    let model = LatentModel {
        kind,
        params: file.json("params")?,
        inputs,
        model: bilinear,
        report: file.json("report")?,
    };
    model.validate()?;
    Ok(model)
}

pub(crate) fn put_factor<'a>(file: &mut Writer<'_, 'a>, factor: &'a Factor) {
    file.put_array("row", factor.row_of());
    match factor.rows() {
        Rows::Dense(values) => file.put_array("values", values.as_slice()),
        Rows::Sparse(rows) => {
            file.put_array("offsets", rows.offsets.as_slice());
            file.put_array("columns", rows.columns.as_slice());
            file.put_array("values", rows.values.as_slice());
        }
    }
}

pub(crate) fn factor(file: &Reader<'_>, d: usize) -> Result<Factor> {
    let values = file.array("values")?;
    let rows = if file.has_array("offsets") {
        let (offsets, columns) = (file.array("offsets")?, file.array("columns")?);
        Rows::Sparse(SparseRows { offsets, columns, values }.into())
    } else {
        Rows::Dense(values)
    };
    Factor::new(d, file.array("row")?, rows)
}
