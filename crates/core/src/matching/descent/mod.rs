//! Latent rows learned by gradient steps; shared by SSI and SVDFeature.
//!
//! A model has a row p_u of d values for every feature of queries and q_v for every feature of documents. A batch
//! consists of queries, documents and links between them, each with a score
//!
//! s = (sum_u x_u p_u)' (sum_v y_v q_v) + sum_u b_u x_u + sum_v b_v y_v + a constant of the link,
//!
//! with biases b only if the model has them. The model provides the derivative g = dl/ds of its loss. With e_i = sum
//! over the links of query i of g (sum_v y_v q_v), and likewise for documents, the gradient of the row of feature u is
//! sum_i x_iu e_i + lambda n_u p_u, where n_u is the number of queries of the batch that have the feature.
//!
//! **Steps** are AdaGrad's, with one rate for sixteen columns of a row: h += mean of squares of the gradient over the
//! columns; p -= rate * gradient / sqrt(h). So a rare word takes steps as long as a frequent one, and the rate need not
//! follow the scale of the features.
//!
//! **Memory decides the speed**: a row of a large model is in no cache when a batch needs it. So a row is contiguous,
//! including its bias. The entries of a batch are sorted by row while the previous batch is learned from. Rows are
//! prefetched a few entries ahead.
//!
//! **Threads.** Images are computed item by item and steps row by row, each by one thread and in a fixed order. The
//! same seed gives the same rows, bit for bit, for any number of threads.
//!
//! **Cost** of a batch: 4 d operations for every entry of its queries and documents; a row is read twice and
//! written once. Memory: 68 bytes for every sixteen of the d + 1 columns, or part of them, for every feature that occurs.
//!
//! Reference for the steps: J. Duchi, E. Hazan, Y. Singer, *Adaptive Subgradient Methods*, JMLR 2011.

mod items;
mod table;
#[cfg(test)]
mod tests;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use self::items::Items;
use self::table::{Lane, Shape, Table};
use crate::matching::{Biases, Bilinear, Csr, Factor, Mapping, Rows, SparseRow};
use crate::{Error, Result};

/// Number of columns that share a step length.
const WIDTH: usize = 16;

/// Parameters of the steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepRule {
    /// Length of the first step of a row.
    pub(crate) rate: f32,
    /// lambda: strength of the pull towards 0.
    pub(crate) l2: f32,
}

/// Queries and documents of a batch, and the links between them.
pub(crate) struct Batch<'a> {
    queries: Items<'a>,
    documents: Items<'a>,
    links: Vec<Link>,
}

/// A query and a document, by their numbers in the batch, and a constant that is added to their score.
struct Link {
    query: u32,
    document: u32,
    constant: f32,
}

impl<'a> Batch<'a> {
    fn new(x: &'a Features, y: &'a Features) -> Self {
        Self { queries: Items::new(x), documents: Items::new(y), links: Vec::new() }
    }

    /// Clears and refills the batch, and prepares it for training.
    fn refill(&mut self, fill: impl FnOnce(&mut Self)) {
        self.queries.clear();
        self.documents.clear();
        self.links.clear();
        fill(self);
        self.queries.arrange();
        self.documents.arrange();
    }

    /// Links a query and a document, given by their numbers and rows.
    pub(crate) fn link(
        &mut self,
        query: (u32, SparseRow<'_>),
        document: (u32, SparseRow<'_>),
        constant: f32,
    ) {
        let query = self.queries.add(query.0, query.1);
        let document = self.documents.add(document.0, document.1);
        self.links.push(Link { query, document, constant });
    }
}

/// Rows during training; see the [module](self).
pub(crate) struct Descent {
    features_x: Features,
    features_y: Features,
    tables: Tables,
}

/// Rows of both sides, with the images of a batch and the derivatives of its loss with respect to them.
struct Tables {
    shape: Shape,
    rule: StepRule,
    x: Table,
    y: Table,
    images: [Vec<Lane>; 2],
    errors: [Vec<Lane>; 2],
}

/// The features that occur, and the row of every feature.
struct Features {
    used: Vec<u32>,
    row_of: Vec<u32>,
}

impl Features {
    /// Collects the features that occur in the rows of a matrix.
    fn of(matrix: &Csr) -> Self {
        let mut occurs = vec![false; matrix.n_columns()];
        matrix.indices().iter().for_each(|&feature| occurs[feature as usize] = true);
        let used: Vec<u32> =
            (0..).zip(occurs).filter(|(_, occurs)| *occurs).map(|(feature, _)| feature).collect();
        let row_of = Factor::rows_of(&used, matrix.n_columns());
        Self { used, row_of }
    }

    /// Returns the row of a feature, if it has one.
    fn row(&self, feature: u32) -> Option<usize> {
        self.row_of.get(feature as usize).filter(|&&row| row != Factor::NONE).map(|&row| row as usize)
    }
}

impl Descent {
    /// Initialises rows for the features of the training queries and documents. Values are uniform between -`spread`
    /// and `spread`; biases, if any, are 0.
    pub(crate) fn new(
        d: usize,
        rule: StepRule,
        spread: f32,
        with_bias: bool,
        (queries, documents): (&Csr, &Csr),
        seed: u64,
    ) -> Self {
        let shape = Shape { d, with_bias };
        let (features_x, features_y) = (Features::of(queries), Features::of(documents));
        let table = |side: u64, features: &Features| {
            Table::random(features.used.len(), shape, spread, |lane| {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(mix(seed ^ mix(2 * lane as u64 + side)));
                move || rng.random::<f32>()
            })
        };
        let (x, y) = rayon::join(|| table(0, &features_x), || table(1, &features_y));
        let tables = Tables { shape, rule, x, y, images: Default::default(), errors: Default::default() };
        Self { features_x, features_y, tables }
    }

    /// Starts from given rows, one for every feature.
    #[cfg(test)]
    pub(crate) fn start_from(&mut self, x: &[Vec<f32>], y: &[Vec<f32>]) {
        for (table, given) in [(&mut self.tables.x, x), (&mut self.tables.y, y)] {
            for (row, given) in given.iter().enumerate() {
                for (lane, given) in table.row_mut(row).iter_mut().zip(given.chunks(WIDTH)) {
                    lane.0[..given.len()].copy_from_slice(given);
                }
            }
        }
    }

    /// Learns from batches, with one step per batch. `fill` prepares the batch of a given number while the previous one
    /// is learned from. `loss` receives the scores of the links and replaces each by dl/ds.
    pub(crate) fn learn(
        &mut self,
        n_batches: usize,
        fill: impl Fn(usize, &mut Batch<'_>) + Sync,
        mut loss: impl FnMut(usize, &mut [f32]) + Send,
    ) {
        if n_batches == 0 {
            return;
        }
        let Self { features_x, features_y, tables } = self;
        let [mut batch, mut next] = [(), ()].map(|()| Batch::new(features_x, features_y));
        batch.refill(|batch| fill(0, batch));
        for number in 0..n_batches {
            let prepare = |next: &mut Batch<'_>| {
                if number + 1 < n_batches {
                    next.refill(|next| fill(number + 1, next));
                }
            };
            rayon::join(|| tables.step(&batch, |scores| loss(number, scores)), || prepare(&mut next));
            std::mem::swap(&mut batch, &mut next);
        }
    }

    /// Returns the current model without copying its rows.
    pub(crate) fn mapping(&self, identity: usize, global: f32) -> Result<Live<'_>> {
        self.check()?;
        let biases = self.biases().map(|[x, y]| Biases { global, x, y });
        Ok(Live { descent: self, identity, biases })
    }

    /// Copies the current rows. Features that did not occur have no row.
    pub(crate) fn bilinear(&self) -> Result<Bilinear> {
        self.check()?;
        let d = self.tables.shape.d;
        let factor = |features: &Features, table: &Table| {
            let mut values = vec![0f32; features.used.len() * d];
            values.par_chunks_exact_mut(d).enumerate().for_each(|(row, values)| {
                for (values, lane) in values.chunks_mut(WIDTH).zip(table.row(row)) {
                    values.copy_from_slice(&lane.0[..values.len()]);
                }
            });
            Factor::new(d, features.row_of.clone(), Rows::Dense(values))
        };
        let Tables { x, y, .. } = &self.tables;
        Bilinear::new(factor(&self.features_x, x)?, factor(&self.features_y, y)?, None)
    }

    /// Returns b_x and b_y, one value per feature.
    pub(crate) fn biases(&self) -> Option<[Vec<f32>; 2]> {
        let of = |features: &Features, table: &Table| {
            let mut biases = vec![0.0; features.row_of.len()];
            features.used.iter().enumerate().for_each(|(row, &u)| biases[u as usize] = table.bias(row));
            biases
        };
        let Tables { shape, x, y, .. } = &self.tables;
        shape.with_bias.then(|| [of(&self.features_x, x), of(&self.features_y, y)])
    }

    /// Returns an error if a value is not finite.
    fn check(&self) -> Result<()> {
        if self.tables.x.is_finite() && self.tables.y.is_finite() {
            return Ok(());
        }
        Err(Error::Params("training diverged: a value is no longer finite; lower the rate".into()))
    }
}

impl Tables {
    fn step(&mut self, batch: &Batch<'_>, loss: impl FnOnce(&mut [f32])) {
        let mut scores = self.scores(batch);
        loss(&mut scores);
        self.differentiate(batch, &scores);
        let Self { x, y, errors, rule, .. } = self;
        rayon::join(
            || x.descend(&batch.queries, &errors[0], rule),
            || y.descend(&batch.documents, &errors[1], rule),
        );
    }

    /// Computes the scores of the links of a batch. Leaves the images without their biases.
    fn scores(&mut self, batch: &Batch<'_>) -> Vec<f32> {
        let Self { shape, x, y, images, .. } = self;
        let [queries, documents] = images;
        rayon::join(|| x.map(&batch.queries, queries), || y.map(&batch.documents, documents));
        let lanes = shape.lanes();
        let [of_queries, of_documents] = [&mut *queries, &mut *documents].map(|images| -> Vec<f32> {
            let images = images.chunks_exact_mut(lanes);
            images.map(|image| shape.bias(image).map_or(0.0, std::mem::take)).collect()
        });
        let score = |link: &Link| {
            let (i, j) = (link.query as usize, link.document as usize);
            let pairs = queries[i * lanes..][..lanes].iter().zip(&documents[j * lanes..][..lanes]);
            pairs.fold(link.constant, |sum, (x, y)| sum + x.dot(y)) + (of_queries[i] + of_documents[j])
        };
        batch.links.iter().map(score).collect()
    }

    /// Computes the derivatives of the loss with respect to the images from those with respect to the scores.
    fn differentiate(&mut self, batch: &Batch<'_>, derivatives: &[f32]) {
        let Self { shape, images, errors, .. } = self;
        let lanes = shape.lanes();
        for (images, errors) in images.iter_mut().zip(&mut *errors) {
            errors.clear();
            errors.resize(images.len(), Lane::ZERO);
            // The factor of a bias is always 1.
            images.chunks_exact_mut(lanes).for_each(|image| {
                shape.bias(image).into_iter().for_each(|bias| *bias = 1.0);
            });
        }
        let ([queries, documents], [of_queries, of_documents]) = (images, errors);
        let add = |sums: &mut [Lane], g: f32, image: &[Lane]| {
            sums.iter_mut().zip(image).for_each(|(sum, lane)| sum.add(g, lane));
        };
        for (link, &g) in batch.links.iter().zip(derivatives).filter(|(_, g)| **g != 0.0) {
            let [i, j] = [link.query, link.document].map(|item| item as usize * lanes);
            add(&mut of_queries[i..][..lanes], g, &documents[j..][..lanes]);
            add(&mut of_documents[j..][..lanes], g, &queries[i..][..lanes]);
        }
    }
}

/// Current state of a model during training.
pub(crate) struct Live<'a> {
    descent: &'a Descent,
    identity: usize,
    biases: Option<Biases>,
}

impl Live<'_> {
    fn map(features: &Features, table: &Table, row: SparseRow<'_>, image: &mut [f32]) {
        image.fill(0.0);
        for (feature, value) in row.iter() {
            let Some(row) = features.row(feature) else { continue };
            for (image, lane) in image.chunks_mut(WIDTH).zip(table.row(row)) {
                image.iter_mut().zip(&lane.0).for_each(|(sum, number)| *sum += value * number);
            }
        }
    }
}

impl Mapping for Live<'_> {
    fn d(&self) -> usize {
        self.descent.tables.shape.d
    }

    fn map_query_into(&self, x: SparseRow<'_>, image: &mut [f32]) {
        Self::map(&self.descent.features_x, &self.descent.tables.x, x, image);
    }

    fn map_document_into(&self, y: SparseRow<'_>, image: &mut [f32]) {
        Self::map(&self.descent.features_y, &self.descent.tables.y, y, image);
    }

    fn identity(&self) -> usize {
        self.identity
    }

    fn biases(&self) -> Option<&Biases> {
        self.biases.as_ref()
    }
}

/// Mixes a key so that neighbouring keys give unrelated values.
pub(crate) fn mix(key: u64) -> u64 {
    let mut key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}
