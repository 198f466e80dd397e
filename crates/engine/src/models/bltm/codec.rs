//! Bilingual topic models as arrays and metadata.

use matchrank_core::Result;
use matchrank_core::matching::bltm::Bltm;

use super::BltmModel;
use crate::container::{Reader, Writer, words};
use crate::models::latent::{factor, put_factor};

pub(super) fn put<'a>(file: &mut Writer<'_, 'a>, model: &'a BltmModel) -> Result<()> {
    model.validate()?;
    file.put_json("params", &model.params)?;
    file.put_json("report", &model.report)?;
    words::put(file, &model.words)?;
    put_factor(&mut file.inside("queries"), model.topics.queries());
    put_factor(&mut file.inside("documents"), model.topics.documents());
    file.put_array("prior", model.topics.prior());
    Ok(())
}

pub(super) fn get(file: &Reader<'_>) -> Result<BltmModel> {
    let prior: Vec<f32> = file.array("prior")?;
    let (queries, documents) =
        (factor(&file.inside("queries"), prior.len())?, factor(&file.inside("documents"), prior.len())?);
    let model = BltmModel {
        params: file.json("params")?,
        words: words::get(file)?,
        topics: Bltm::new(queries, documents, prior)?,
        report: file.json("report")?,
    };
    model.validate()?;
    Ok(model)
}
