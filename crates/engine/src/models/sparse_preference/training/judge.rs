use matchrank_core::Result;
use matchrank_core::matching::Csr;
use matchrank_core::progress::Progress;

use crate::dataset::Dataset;
use crate::features::{FeatureRow, Features, document_rows};
use crate::models::sparse_preference::PreferenceScorer;
use crate::validation::Validation;

/// Measures W on the validation judgments; rows of queries and documents are made once.
pub(super) struct PreferenceJudge {
    validation: Validation,
    queries: Vec<FeatureRow>,
    documents: Csr,
}

impl PreferenceJudge {
    /// `None` where there are no validation judgments.
    pub(super) fn of(
        features: &Features,
        dataset: &Dataset,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Option<Self>> {
        let Some(validation) = Validation::of(dataset, seed, progress)? else { return Ok(None) };
        let queries = validation.queries().iter().map(|query| features.query(query, None)).collect();
        let documents = document_rows(features, (dataset, validation.wanted()), None, progress)?;
        Ok(Some(Self { validation, queries, documents }))
    }

    /// NDCG@10 of q' W d.
    pub(super) fn ndcg(&self, w: &Csr) -> Result<f64> {
        self.validation.value(&mut PreferenceScorer::new(w, &self.queries, &self.documents))
    }

    /// NDCG@10 of every query, with W blended.
    pub(super) fn per_query(&self, w: &Csr, blend: f32) -> Result<Vec<f64>> {
        let mut scorer = PreferenceScorer::blended(w, blend, &self.queries, &self.documents);
        Ok(self.validation.per_query(&mut scorer)?.remove(0))
    }
}
