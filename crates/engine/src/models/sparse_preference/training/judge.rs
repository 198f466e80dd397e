use matchrank_core::Result;
use matchrank_core::matching::Csr;
use matchrank_core::progress::Progress;

use crate::dataset::BoundDocuments;
use crate::dataset::Dataset;
use crate::features::{FeatureRow, Features, document_rows};
use crate::models::dependent_on_unseen;
use crate::models::sparse_preference::PreferenceScorer;
use crate::validation::Validation;

/// Measures W on the validation judgments; rows of queries and documents are made once.
pub(super) struct PreferenceJudge {
    validation: Validation,
    queries: Vec<FeatureRow>,
    documents: Csr,
    /// True for every query with a relevant document if all its relevant documents are without a training response.
    pub(super) on_new_documents: Vec<bool>,
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
        let documents =
            document_rows(features, BoundDocuments::rows(dataset, validation.wanted()), None, progress)?;
        let (_, depends) = dependent_on_unseen(dataset, Some(&validation))?;
        let on_new_documents = depends.into_iter().flatten().collect();
        Ok(Some(Self { validation, queries, documents, on_new_documents }))
    }

    /// NDCG@10 of q' W d.
    pub(super) fn ndcg(&self, w: &Csr) -> Result<f64> {
        self.validation.value(&mut PreferenceScorer::new(w, &self.queries, &self.documents))
    }

    /// NDCG@10 of every query with a relevant document, with W blended.
    pub(super) fn per_query(&self, w: &Csr, blend: f32) -> Result<Vec<f64>> {
        let mut scorer = PreferenceScorer::blended(w, blend, &self.queries, &self.documents);
        Ok(self.validation.by_query(&mut scorer)?.into_iter().flatten().collect())
    }
}
