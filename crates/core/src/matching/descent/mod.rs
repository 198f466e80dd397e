//! Latent rows learned by gradient steps: what SSI and SVDFeature share.
//!
//! A model has a row p_u of d numbers for every feature of queries and q_v for every feature of documents. A
//! batch is some queries, some documents and links between them, each with a score
//!
//! s = (sum_u x_u p_u)' (sum_v y_v q_v) + sum_u b_u x_u + sum_v b_v y_v + a constant of the link,
//!
//! biases b only where the model has them,
//! and a loss whose derivative g = dl/ds the model gives. Then with e_i = sum over the links of query i of
//! g (sum_v y_v q_v), and likewise for documents, the gradient of the row of feature u is
//! sum_i x_iu e_i + lambda n_u p_u, n_u the queries of the batch that have it.
//!
//! **Steps** are AdaGrad's, with one rate for every row and block of sixteen columns:
//! h += mean of squares of the gradient over the columns; p -= rate * gradient / sqrt(h). So a rare word takes
//! steps as long as a frequent one, and the rate need not follow the scale of the features.
//!
//! **Threads.** The latent columns are cut into blocks of sixteen, and each is learned by one thread: only the
//! scores of the links are sums over blocks, taken in their order. The same seed gives the same rows, bit for
//! bit, for any number of threads.
//!
//! **Cost** of a batch: 4 d operations for every entry of its queries and documents. Memory: 4 (d + d / 16)
//! bytes for every feature that occurs.
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
use self::table::Table;
use crate::matching::{Bilinear, Csr, Factor, Rows, SparseRow};
use crate::{Error, Result};

/// Columns that are learned together.
const WIDTH: usize = 16;

/// How steps are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    /// Length of the first step of a row.
    pub(crate) rate: f32,
    /// lambda: strength of the pull towards 0.
    pub(crate) l2: f32,
}

/// Queries and documents of a batch, and the links between them.
pub(crate) struct Batch {
    queries: Items,
    documents: Items,
    links: Vec<Link>,
}

/// A query and a document, by their numbers in the batch, and what is added to their score.
struct Link {
    query: u32,
    document: u32,
    constant: f32,
}

impl Batch {
    fn new(model: &Descent) -> Self {
        let [queries, documents] = [&model.features_x, &model.features_y].map(Items::new);
        Self { queries, documents, links: Vec::new() }
    }

    fn clear(&mut self) {
        self.queries.clear();
        self.documents.clear();
        self.links.clear();
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

/// Sixteen latent columns of both sides, with the images of a batch.
struct Block {
    x: Table<WIDTH>,
    y: Table<WIDTH>,
    images: [Vec<[f32; WIDTH]>; 2],
    scores: Vec<f32>,
}

/// Biases of single features: one column, whose partner on the other side is 1.
struct Alone {
    x: Table<1>,
    y: Table<1>,
    images: [Vec<[f32; 1]>; 2],
}

/// Rows that are being learned; see the [module](self).
pub(crate) struct Descent {
    d: usize,
    rule: Rule,
    features_x: Features,
    features_y: Features,
    blocks: Vec<Block>,
    biases: Option<Alone>,
}

/// The features that occur, and the row of each of all features.
struct Features {
    used: Vec<u32>,
    row_of: Vec<u32>,
}

impl Features {
    /// The features that the rows of a matrix have.
    fn of(matrix: &Csr) -> Self {
        let mut occurs = vec![false; matrix.n_columns()];
        matrix.indices().iter().for_each(|&feature| occurs[feature as usize] = true);
        let used: Vec<u32> =
            (0..).zip(occurs).filter(|(_, occurs)| *occurs).map(|(feature, _)| feature).collect();
        let row_of = Factor::rows_of(&used, matrix.n_columns());
        Self { used, row_of }
    }
}

impl Descent {
    /// Rows at random, even between -`spread` and `spread`, for the features that the queries and documents to
    /// learn from have; biases, where there are any, at 0.
    pub(crate) fn new(
        d: usize,
        rule: Rule,
        spread: f32,
        with_biases: bool,
        (queries, documents): (&Csr, &Csr),
        seed: u64,
    ) -> Self {
        let (features_x, features_y) = (Features::of(queries), Features::of(documents));
        let (n_x, n_y) = (features_x.used.len(), features_y.used.len());
        let block = |block: usize| {
            let width = WIDTH.min(d - block * WIDTH);
            let table = |side: u64, n: usize| {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(mix(seed ^ mix(2 * block as u64 + side)));
                Table::random(n, width, spread, || rng.random::<f32>())
            };
            Block { x: table(0, n_x), y: table(1, n_y), images: Default::default(), scores: Vec::new() }
        };
        let blocks = (0..d.div_ceil(WIDTH)).into_par_iter().map(block).collect();
        let biases = with_biases.then(|| Alone {
            x: Table::random(n_x, 1, 0.0, || 0.5),
            y: Table::random(n_y, 1, 0.0, || 0.5),
            images: Default::default(),
        });
        Self { d, rule, features_x, features_y, blocks, biases }
    }

    /// Starts from given rows, one for every feature.
    #[cfg(test)]
    pub(crate) fn start_from(&mut self, x: &[Vec<f32>], y: &[Vec<f32>]) {
        for (number, block) in self.blocks.iter_mut().enumerate() {
            for (table, given) in [(&mut block.x, x), (&mut block.y, y)] {
                for (row, given) in given.iter().enumerate() {
                    let given = given.chunks(WIDTH).nth(number).unwrap();
                    table.row_mut(row)[..given.len()].copy_from_slice(given);
                }
            }
        }
    }

    /// Learns from batches, one step from each. `fill` makes the batch of a number, while the one before is
    /// learned from; `loss` gets the scores of its links and puts dl/ds in the place of each.
    pub(crate) fn learn(
        &mut self,
        n_batches: usize,
        fill: impl Fn(usize, &mut Batch) + Sync,
        mut loss: impl FnMut(usize, &mut [f32]) + Send,
    ) {
        if n_batches == 0 {
            return;
        }
        let [mut batch, mut next] = [Batch::new(self), Batch::new(self)];
        fill(0, &mut batch);
        for number in 0..n_batches {
            let prepare = |next: &mut Batch| {
                next.clear();
                if number + 1 < n_batches {
                    fill(number + 1, next);
                }
            };
            rayon::join(|| self.step(&batch, |scores| loss(number, scores)), || prepare(&mut next));
            std::mem::swap(&mut batch, &mut next);
        }
    }

    fn step(&mut self, batch: &Batch, loss: impl FnOnce(&mut [f32])) {
        let mut scores = self.scores(batch);
        loss(&mut scores);
        let Self { blocks, biases, rule, .. } = self;
        rayon::join(
            || blocks.par_iter_mut().for_each(|block| block.descend(batch, &scores, rule)),
            || biases.iter_mut().for_each(|alone| alone.descend(batch, &scores, rule)),
        );
    }

    /// The scores of the links of a batch.
    fn scores(&mut self, batch: &Batch) -> Vec<f32> {
        self.blocks.par_iter_mut().for_each(|block| block.score(batch));
        let mut scores: Vec<f32> = batch.links.iter().map(|link| link.constant).collect();
        for block in &self.blocks {
            scores.iter_mut().zip(&block.scores).for_each(|(sum, part)| *sum += part);
        }
        if let Some(alone) = &mut self.biases {
            alone.score(batch, &mut scores);
        }
        scores
    }

    /// The rows as they are now. Features that did not occur have none.
    pub(crate) fn bilinear(&self) -> Result<Bilinear> {
        let d = self.d;
        let factor = |features: &Features, table: fn(&Block) -> &Table<WIDTH>| {
            let mut values = vec![0f32; features.used.len() * d];
            values.par_chunks_exact_mut(d).enumerate().for_each(|(row, values)| {
                for (values, block) in values.chunks_mut(WIDTH).zip(&self.blocks) {
                    values.copy_from_slice(&table(block).row(row)[..values.len()]);
                }
            });
            if values.iter().any(|value| !value.is_finite()) {
                return Err(Error::Params(
                    "learning diverged: a number is no longer finite; lower rate".into(),
                ));
            }
            Factor::new(d, features.row_of.clone(), Rows::Dense(values))
        };
        Bilinear::new(
            factor(&self.features_x, |block| &block.x)?,
            factor(&self.features_y, |block| &block.y)?,
            None,
        )
    }

    /// b_x and b_y, a number for every feature.
    pub(crate) fn biases(&self) -> Option<[Vec<f32>; 2]> {
        let of = |features: &Features, table: &Table<1>| {
            let mut biases = vec![0.0; features.row_of.len()];
            features.used.iter().enumerate().for_each(|(row, &u)| biases[u as usize] = table.row(row)[0]);
            biases
        };
        self.biases.as_ref().map(|alone| [of(&self.features_x, &alone.x), of(&self.features_y, &alone.y)])
    }
}

impl Block {
    fn score(&mut self, batch: &Batch) {
        let [queries, documents] = &mut self.images;
        self.x.map(&batch.queries, queries);
        self.y.map(&batch.documents, documents);
        self.scores.clear();
        self.scores.extend(batch.links.iter().map(|link| {
            let (x, y) = (&queries[link.query as usize], &documents[link.document as usize]);
            x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>()
        }));
    }

    fn descend(&mut self, batch: &Batch, derivatives: &[f32], rule: &Rule) {
        let [queries, documents] = &self.images;
        let mut errors = [vec![[0f32; WIDTH]; queries.len()], vec![[0f32; WIDTH]; documents.len()]];
        for (link, &g) in batch.links.iter().zip(derivatives).filter(|(_, g)| **g != 0.0) {
            let (i, j) = (link.query as usize, link.document as usize);
            for column in 0..WIDTH {
                errors[0][i][column] += g * documents[j][column];
                errors[1][j][column] += g * queries[i][column];
            }
        }
        self.x.descend(&batch.queries, &errors[0], rule);
        self.y.descend(&batch.documents, &errors[1], rule);
    }
}

impl Alone {
    fn score(&mut self, batch: &Batch, scores: &mut [f32]) {
        let [queries, documents] = &mut self.images;
        self.x.map(&batch.queries, queries);
        self.y.map(&batch.documents, documents);
        for (link, score) in batch.links.iter().zip(scores) {
            *score += queries[link.query as usize][0] + documents[link.document as usize][0];
        }
    }

    fn descend(&mut self, batch: &Batch, derivatives: &[f32], rule: &Rule) {
        let mut errors = [vec![[0f32; 1]; batch.queries.len()], vec![[0f32; 1]; batch.documents.len()]];
        for (link, &g) in batch.links.iter().zip(derivatives) {
            errors[0][link.query as usize][0] += g;
            errors[1][link.document as usize][0] += g;
        }
        self.x.descend(&batch.queries, &errors[0], rule);
        self.y.descend(&batch.documents, &errors[1], rule);
    }
}

/// Numbers that do not look like their neighbours.
pub(crate) fn mix(key: u64) -> u64 {
    let mut key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}
