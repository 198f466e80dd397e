//! Images of queries and documents as rows of numbers, for programs that search or learn by them.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::matching::Mapping;
use matchrank_core::progress::Progress;
use rayon::prelude::*;

use super::{BoundInputs, LatentModel};
use crate::dataset::{BoundDocuments, Clicks, Dataset};

impl LatentModel {
    /// Images of queries, d numbers each, one after the other. Clicks of queries count where a dataset has them. The dot
    /// product with the image of a document is the score without identity and biases.
    pub fn query_vectors(
        &self,
        queries: &[&str],
        dataset: Option<&Dataset>,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>> {
        let bound = dataset.map(|dataset| self.bound_inputs(dataset, progress)).transpose()?;
        let images = queries.par_iter().flat_map_iter(|query| {
            let x = match &bound {
                Some(bound) => bound.query(query),
                None => self.inputs.query(query, None),
            };
            self.model.map_query(x.row())
        });
        Ok(images.collect())
    }

    /// Images of the documents of a dataset, d numbers each: of all, or of those `wanted`, given by ascending row numbers.
    pub fn document_vectors(
        &self,
        dataset: &Dataset,
        wanted: Option<&[u32]>,
        progress: &dyn Progress,
    ) -> Result<Vec<f32>> {
        let bound = self.bound_inputs(dataset, progress)?;
        let y = bound.documents(BoundDocuments::rows(dataset, wanted), progress)?;
        let d = self.model.d();
        progress.begin("images of documents", Some(y.n_rows() as u64), "documents");
        let mut images = vec![0.0; y.n_rows() * d];
        images.par_chunks_mut(d).enumerate().for_each(|(row, image)| {
            self.model.map_document_into(y.row(row), image);
            progress.advance(1);
        });
        Ok(images)
    }

    fn bound_inputs<'a>(&'a self, dataset: &'a Dataset, progress: &dyn Progress) -> Result<BoundInputs<'a>> {
        let clicks = || Clicks::of(dataset).map(Arc::new);
        BoundInputs::new((self.kind.name, &self.inputs), dataset, clicks, progress)
    }
}
