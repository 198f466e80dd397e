//! Bilinear matching: f(x, y) = x' L_x diag(w) L_y' y.
//!
//! Queries and documents are mapped into one latent space, and a score is the dot product of the images.
//! PLS, RMLS, LSI, SSI and SVDFeature differ in how they find L_x and L_y. Two of them add something:
//!
//! - SSI: f = x' (L_x L_y' + I) y, where I is over the features that both sides have in common, which come
//!   first ([`Bilinear::with_identity`]);
//! - SVDFeature: f = x' L_x L_y' y + b + b_x' x + b_y' y ([`Biases`]).
//!
//! LSI may score by the cosine of the images instead ([`Bilinear::with_cosine`]): both images are divided by their lengths,
//! so that a long document has no advantage. An image of length 0 stays 0.
//!
//! The score is a sum over pairs of features, x_u (l_xu . l_yv) y_v, so [`Bilinear::explain`] can name the pairs that
//! contribute to it; their contributions sum to the score. With the cosine, the affinity l_xu . l_yv of every pair is divided
//! by the lengths of both images.
//!
//! ```
//! use matchrank_core::matching::{Bilinear, Factor, SparseRow};
//!
//! // Two query features and two document features in a latent plane.
//! let lx = Factor::dense(2, vec![1.0, 0.0, 0.0, 1.0])?;
//! let ly = Factor::dense(2, vec![0.6, 0.8, 0.0, 1.0])?;
//! let model = Bilinear::new(lx, ly, None)?;
//! let x = SparseRow::new(&[0, 1], &[1.0, 2.0])?;
//! let y = SparseRow::new(&[0], &[0.5])?;
//! assert!((model.score(x, y) - 1.1).abs() < 1e-6);
//! let pairs = model.explain(x, y);
//! assert_eq!((pairs[0].u, pairs[0].v), (1, 0));
//! assert!((pairs[0].score - 0.8).abs() < 1e-6);
//! # Ok::<(), matchrank_core::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::matching::{Factor, SparseRow, dot};
use crate::{Error, Result};

/// Largest weight of a latent column, and largest bias. Singular values of click counts are far below it.
const LARGEST_WEIGHT: f32 = 1e15;

/// Queries and documents mapped into one latent space, where dot products are scores.
pub trait Mapping: Sync {
    /// Latent dimension.
    fn d(&self) -> usize;

    /// Writes the image of a query to `image`.
    fn map_query_into(&self, x: SparseRow<'_>, image: &mut [f32]);

    /// Writes the image of a document to `image`.
    fn map_document_into(&self, y: SparseRow<'_>, image: &mut [f32]);

    /// Number of shared features. They are the first features of both sides, and each adds x_u y_u to a score.
    fn identity(&self) -> usize {
        0
    }

    /// Contributions of single features to a score.
    fn biases(&self) -> Option<&Biases> {
        None
    }
}

/// Contributions of single features to a score, independent of the other side: b + b_x' x + b_y' y.
#[derive(Debug, Clone, PartialEq)]
pub struct Biases {
    /// b.
    pub global: f32,
    /// b_x, one value per query feature.
    pub x: Vec<f32>,
    /// b_y, one value per document feature.
    pub y: Vec<f32>,
}

impl Biases {
    /// b + b_x' x: the same for all documents.
    pub fn of_query(&self, x: SparseRow<'_>) -> f32 {
        self.global + sum(&self.x, x)
    }

    /// b_y' y.
    pub fn of_document(&self, y: SparseRow<'_>) -> f32 {
        sum(&self.y, y)
    }
}

/// Computes b' x; unknown features add nothing.
fn sum(biases: &[f32], x: SparseRow<'_>) -> f32 {
    x.iter().map(|(u, value)| biases.get(u as usize).copied().unwrap_or(0.0) * value).sum()
}

/// Returns the sum of x_u y_u over the features u below `n`.
pub(super) fn shared(n: usize, x: SparseRow<'_>, y: SparseRow<'_>) -> f32 {
    let mut sum = 0.0;
    x.for_each_shared(y, |u, x, y| sum += if (u as usize) < n { x * y } else { 0.0 });
    sum
}

/// How the images of a query and a document make a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Similarity {
    /// By their dot product.
    #[default]
    Dot,
    /// By the cosine of the angle between them.
    Cosine,
}

/// A bilinear model; see the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub struct Bilinear {
    lx: Factor,
    ly: Factor,
    weights: Option<Vec<f32>>,
    identity: usize,
    biases: Option<Biases>,
    similarity: Similarity,
}

/// Contribution of a pair of features to a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairContribution {
    /// Feature of the query, or [`PairContribution::ANY`].
    pub u: u32,
    /// Feature of the document, or [`PairContribution::ANY`].
    pub v: u32,
    /// x_u.
    pub x: f32,
    /// y_v.
    pub y: f32,
    /// l_xu . l_yv, weighted: the affinity of the two features.
    pub affinity: f32,
    /// x_u (l_xu . l_yv) y_v.
    pub score: f32,
}

impl PairContribution {
    /// Placeholder for a feature: the contribution of the other feature does not depend on this side, which has the
    /// value 1.
    pub const ANY: u32 = u32::MAX;
}

impl Bilinear {
    /// Builds a model from two factors of the same dimension. `weights` has a weight per latent column; `None` means
    /// that all are 1.
    pub fn new(lx: Factor, ly: Factor, weights: Option<Vec<f32>>) -> Result<Self> {
        if lx.d() != ly.d() || weights.as_ref().is_some_and(|w| w.len() != lx.d()) {
            return Err(Error::Shape(format!(
                "queries are mapped to {} dimensions and documents to {}{}; these numbers must be equal",
                lx.d(),
                ly.d(),
                weights.map_or(String::new(), |w| format!(", and there are {} weights", w.len()))
            )));
        }
        if !weights.iter().flatten().all(|weight| weight.abs() <= LARGEST_WEIGHT) {
            return Err(Error::Shape("a weight of a latent column is not finite, or exceeds 1e15".into()));
        }
        Ok(Self { lx, ly, weights, identity: 0, biases: None, similarity: Similarity::Dot })
    }

    /// Returns the model with x_u y_u added for each of the first `n` features, which both sides share.
    pub fn with_identity(self, n: usize) -> Result<Self> {
        if n > self.lx.n_features().min(self.ly.n_features()) {
            return Err(Error::Shape(format!(
                "{n} features cannot be shared: there are {} features of queries and {} of documents",
                self.lx.n_features(),
                self.ly.n_features()
            )));
        }
        Ok(Self { identity: n, ..self })
    }

    /// Returns the model with the products of images multiplied by a factor; an identity and biases stay as they are.
    pub fn scaled(self, factor: f32) -> Result<Self> {
        let weights = self.weights.unwrap_or_else(|| vec![1.0; self.lx.d()]);
        let weights: Vec<f32> = weights.into_iter().map(|weight| factor * weight).collect();
        if !weights.iter().all(|weight| weight.abs() <= LARGEST_WEIGHT) {
            return Err(Error::Shape("a weight of a latent column is not finite, or exceeds 1e15".into()));
        }
        Ok(Self { weights: Some(weights), ..self })
    }

    /// Returns the model with biases.
    pub fn with_biases(self, biases: Biases) -> Result<Self> {
        let Biases { global, x, y } = &biases;
        if (x.len(), y.len()) != (self.lx.n_features(), self.ly.n_features()) {
            return Err(Error::Shape(format!(
                "there are biases for {} query and {} document features, but {} features of queries and {} of documents",
                x.len(),
                y.len(),
                self.lx.n_features(),
                self.ly.n_features()
            )));
        }
        if !x.iter().chain(y).chain([global]).all(|bias| bias.abs() <= LARGEST_WEIGHT) {
            return Err(Error::Shape("a bias is not finite, or exceeds 1e15".into()));
        }
        Ok(Self { biases: Some(biases), ..self })
    }

    /// Returns the model with the cosine of the images as its score. A model with an identity or with biases cannot have
    /// it: they are no part of the images.
    pub fn with_cosine(self) -> Result<Self> {
        if self.identity > 0 || self.biases.is_some() {
            return Err(Error::Params(
                "the cosine is for models without an identity and without biases".into(),
            ));
        }
        Ok(Self { similarity: Similarity::Cosine, ..self })
    }

    /// How images make a score.
    pub fn similarity(&self) -> Similarity {
        self.similarity
    }

    /// Latent dimension.
    pub fn d(&self) -> usize {
        self.lx.d()
    }

    /// L_x: rows of the query features.
    pub fn lx(&self) -> &Factor {
        &self.lx
    }

    /// L_y: rows of the document features.
    pub fn ly(&self) -> &Factor {
        &self.ly
    }

    /// Weights of the latent columns; `None` if all are 1.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// Computes diag(w) L_x' x, the image of a query, of length 1 for the cosine. Its dot product with [`map_document`](Self::map_document) is the
    /// score without identity and biases.
    pub fn map_query(&self, x: SparseRow<'_>) -> Vec<f32> {
        let mut image = vec![0.0; self.d()];
        self.map_query_into(x, &mut image);
        image
    }

    /// Computes L_y' y, the image of a document, of length 1 for the cosine.
    pub fn map_document(&self, y: SparseRow<'_>) -> Vec<f32> {
        let mut image = vec![0.0; self.d()];
        self.map_document_into(y, &mut image);
        image
    }

    /// f(x, y).
    pub fn score(&self, x: SparseRow<'_>, y: SparseRow<'_>) -> f32 {
        let bias = self.biases.as_ref().map_or(0.0, |biases| biases.of_query(x) + biases.of_document(y));
        dot(&self.map_query(x), &self.map_document(y)) + shared(self.identity, x, y) + bias
    }

    /// Returns the pairs of features behind a score, in descending order of absolute contribution.
    pub fn explain(&self, x: SparseRow<'_>, y: SparseRow<'_>) -> Vec<PairContribution> {
        self.explain_among([x, y], [x, y])
    }

    /// Returns the pairs among some features of a query and of a document that are behind their score, in descending order
    /// of absolute contribution. `all` has the rows of the query and of the document with all of their features, which
    /// decide the lengths of the images.
    pub fn explain_among(
        &self,
        [x, y]: [SparseRow<'_>; 2],
        all: [SparseRow<'_>; 2],
    ) -> Vec<PairContribution> {
        let scale = self.scale(all);
        let rows = |factor: &Factor, row: SparseRow<'_>| -> Vec<Vec<f32>> {
            row.iter()
                .map(|(feature, _)| {
                    let mut image = vec![0.0; factor.d()];
                    factor.add(feature, 1.0, &mut image);
                    image
                })
                .collect()
        };
        let (mut lx, ly) = (rows(&self.lx, x), rows(&self.ly, y));
        lx.iter_mut().for_each(|row| self.weigh(row));
        let mut pairs = Vec::with_capacity(lx.len() * ly.len());
        for ((u, x), lxu) in x.iter().zip(&lx) {
            for ((v, y), lyv) in y.iter().zip(&ly) {
                let own = if u == v && (u as usize) < self.identity { 1.0 } else { 0.0 };
                let affinity = dot(lxu, lyv) * scale + own;
                pairs.push(PairContribution { u, v, x, y, affinity, score: x * affinity * y });
            }
        }
        if let Some(Biases { global, x: of_x, y: of_y }) = &self.biases {
            const ANY: u32 = PairContribution::ANY;
            let alone =
                |u, v, x, affinity, y| PairContribution { u, v, x, y, affinity, score: x * affinity * y };
            pairs.push(alone(ANY, ANY, 1.0, *global, 1.0));
            pairs.extend(
                x.iter().map(|(u, x)| alone(u, ANY, x, of_x.get(u as usize).copied().unwrap_or(0.0), 1.0)),
            );
            pairs.extend(
                y.iter().map(|(v, y)| alone(ANY, v, 1.0, of_y.get(v as usize).copied().unwrap_or(0.0), y)),
            );
        }
        pairs.sort_by(|a, b| b.score.abs().total_cmp(&a.score.abs()).then((a.u, a.v).cmp(&(b.u, b.v))));
        pairs
    }

    /// Returns what turns x' L_x diag(w) L_y' y into the score: 1, or 1 / (length of one image * length of the other).
    fn scale(&self, [x, y]: [SparseRow<'_>; 2]) -> f32 {
        if self.similarity == Similarity::Dot {
            return 1.0;
        }
        let (mut of_query, of_document) = (self.lx.map(x), self.ly.map(y));
        self.weigh(&mut of_query);
        inverse_length(&of_query) * inverse_length(&of_document)
    }

    /// Computes v / |v| for the cosine.
    fn normalise(&self, image: &mut [f32]) {
        if self.similarity == Similarity::Cosine {
            let scale = inverse_length(image);
            image.iter_mut().for_each(|value| *value *= scale);
        }
    }

    /// Computes diag(w) v.
    fn weigh(&self, image: &mut [f32]) {
        if let Some(weights) = &self.weights {
            image.iter_mut().zip(weights).for_each(|(value, weight)| *value *= weight);
        }
    }
}

/// 1 / |v|; 0 where the length is 0 or not finite.
fn inverse_length(image: &[f32]) -> f32 {
    let length = dot(image, image).sqrt();
    if length > 0.0 && length.is_finite() { 1.0 / length } else { 0.0 }
}

impl Mapping for Bilinear {
    fn d(&self) -> usize {
        self.lx.d()
    }

    fn map_query_into(&self, x: SparseRow<'_>, image: &mut [f32]) {
        self.lx.map_into(x, image);
        self.weigh(image);
        self.normalise(image);
    }

    fn map_document_into(&self, y: SparseRow<'_>, image: &mut [f32]) {
        self.ly.map_into(y, image);
        self.normalise(image);
    }

    fn identity(&self) -> usize {
        self.identity
    }

    fn biases(&self) -> Option<&Biases> {
        self.biases.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spaces_must_agree() {
        let factor = |d| Factor::dense(d, vec![1.0; 2 * d]).unwrap();
        assert!(Bilinear::new(factor(2), factor(3), None).is_err());
        assert!(Bilinear::new(factor(2), factor(2), Some(vec![1.0])).is_err());
        assert!(Bilinear::new(factor(2), factor(2), Some(vec![1.0, f32::INFINITY])).is_err());
        let model = Bilinear::new(factor(2), factor(2), None).unwrap();
        assert!(model.clone().with_identity(3).is_err());
        let biases = |n, global| Biases { global, x: vec![0.0; 2], y: vec![0.0; n] };
        assert!(model.clone().with_biases(biases(3, 0.0)).is_err());
        assert!(model.clone().with_biases(biases(2, f32::NAN)).is_err());
        assert!(model.clone().with_biases(biases(2, 1.0)).unwrap().with_cosine().is_err());
        assert!(model.clone().with_identity(1).unwrap().with_cosine().is_err());
        assert_eq!(model.with_cosine().unwrap().similarity(), Similarity::Cosine);
    }

    proptest! {
        #[test]
        fn explanations_add_up_to_the_score(
            values in prop::collection::vec(-2f32..2.0, 2 * 5 * 20),
            weights in prop::option::of(prop::collection::vec(-2f32..2.0, 20)),
            x in prop::collection::btree_map(0u32..6, -2f32..2.0, 0..5),
            y in prop::collection::btree_map(0u32..6, -2f32..2.0, 0..5),
            identity in 0usize..=5,
            biases in prop::option::of(prop::collection::vec(-2f32..2.0, 11)),
        ) {
            let lx = Factor::dense(20, values[..100].to_vec()).unwrap();
            let ly = Factor::dense(20, values[100..].to_vec()).unwrap();
            let mut model = Bilinear::new(lx, ly, weights).unwrap().with_identity(identity).unwrap();
            let plain = Bilinear::new(model.lx.clone(), model.ly.clone(), model.weights.clone()).unwrap();
            if let Some(biases) = &biases {
                let biases = Biases { global: biases[0], x: biases[1..6].to_vec(), y: biases[6..].to_vec() };
                model = model.with_biases(biases).unwrap();
            }
            let mut more: f32 = x.iter().filter(|(u, _)| (**u as usize) < identity)
                .map(|(u, x)| x * y.get(u).copied().unwrap_or(0.0)).sum();
            if let Some(biases) = &biases {
                more += biases[0];
                more += x.iter().filter(|(u, _)| **u < 5).map(|(u, x)| x * biases[1 + *u as usize]).sum::<f32>();
                more += y.iter().filter(|(v, _)| **v < 5).map(|(v, y)| y * biases[6 + *v as usize]).sum::<f32>();
            }
            let ((xi, xv), (yi, yv)): ((Vec<_>, Vec<_>), (Vec<_>, Vec<_>)) =
                (x.into_iter().unzip(), y.into_iter().unzip());
            let (x, y) = (SparseRow::new(&xi, &xv).unwrap(), SparseRow::new(&yi, &yv).unwrap());
            let sum: f64 = model.explain(x, y).iter().map(|pair| f64::from(pair.score)).sum();
            prop_assert!((sum - f64::from(model.score(x, y))).abs() < 1e-3);
            prop_assert!((plain.score(x, y) + more - model.score(x, y)).abs() < 1e-3);
            // The cosine of the images, and 0 where one of them is 0.
            let (of_query, of_document) = (plain.map_query(x), plain.map_document(y));
            let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            let lengths = (product(&of_query, &of_query) * product(&of_document, &of_document)).sqrt();
            let expected = if lengths > 0.0 { product(&of_query, &of_document) / lengths } else { 0.0 };
            let cosine = plain.with_cosine().unwrap();
            let found = f64::from(cosine.score(x, y));
            prop_assert!((found - expected).abs() < 1e-5, "{found} {expected}");
            let sum: f64 = cosine.explain(x, y).iter().map(|pair| f64::from(pair.score)).sum();
            prop_assert!((sum - found).abs() < 1e-4 * (1.0 + xi.len() as f64 * yi.len() as f64), "{sum} {found}");
        }
    }
}
