use matchrank_core::Result;
use matchrank_core::matching::{Csr, CsrBuilder, Mapping};
use matchrank_core::progress::Progress;

use super::{Inputs, LatentScorer};
use crate::dataset::Dataset;
use crate::features::{FeatureRow, KnownClicks};
use crate::models::dependent_on_unseen;
use crate::validation::Validation;

/// Measures bilinear models while they are trained; features of queries are made once.
pub(in crate::models) struct Judge {
    validation: Option<(Validation, Vec<FeatureRow>)>,
}

impl Judge {
    pub(in crate::models) fn new(
        inputs: &Inputs,
        dataset: &Dataset,
        clicks: Option<KnownClicks<'_>>,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let validation = Validation::of(dataset, seed, progress)?.map(|validation| {
            let rows = validation.queries().iter().map(|query| inputs.query(query, clicks)).collect();
            (validation, rows)
        });
        Ok(Self { validation })
    }

    /// Returns true if there are queries to measure on.
    pub(in crate::models) fn can_measure(&self) -> bool {
        self.validation.is_some()
    }

    /// NDCG@10 of a model on the validation judgments; `y` has the features of all documents.
    pub(in crate::models) fn ndcg(&self, model: &dyn Mapping, y: &Csr) -> Result<Option<f64>> {
        self.measure(model, y, |validation, scorer| validation.value(scorer))
    }

    /// NDCG@10 of every validation query with a relevant document; none where there are no judgments.
    pub(super) fn per_query(&self, model: &dyn Mapping, y: &Csr) -> Result<Vec<f64>> {
        let values = self.measure(model, y, |validation, scorer| validation.by_query(scorer))?;
        Ok(values.into_iter().flatten().flatten().collect())
    }

    /// True for every one of these queries whose relevant documents are all without a training response.
    pub(super) fn on_new_documents(&self, dataset: &Dataset) -> Result<Vec<bool>> {
        let validation = self.validation.as_ref().map(|(validation, _)| validation);
        let (_, depends) = dependent_on_unseen(dataset, validation)?;
        Ok(depends.into_iter().flatten().collect())
    }

    fn measure<T>(
        &self,
        model: &dyn Mapping,
        y: &Csr,
        measure: impl Fn(&Validation, &mut LatentScorer<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some((validation, rows)) = &self.validation else { return Ok(None) };
        let Some(wanted) = validation.wanted() else {
            return measure(validation, &mut LatentScorer::new(model, rows, y)).map(Some);
        };
        let mut some = CsrBuilder::new(y.n_columns());
        wanted.iter().for_each(|&document| some.push_row(y.row(document as usize)));
        measure(validation, &mut LatentScorer::new(model, rows, &some.finish()?)).map(Some)
    }
}
