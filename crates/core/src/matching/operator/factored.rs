use super::lanes::{Block, Lanes, Multiplier, WIDTH};
use super::{Operator, Scaled, Scratch, Side};
use crate::matching::{ClickGraph, Csr, CsrBuilder};
use crate::{Error, Result};

/// X' H R_n Y; see the [module](super).
pub(crate) struct Factored {
    n: usize,
    center: bool,
    /// Queries x features of queries, and transposed.
    x: Multiplier,
    xt: Multiplier,
    /// Documents x features of documents, and transposed.
    y: Multiplier,
    yt: Multiplier,
    /// R_n and transposed.
    r: Multiplier,
    rt: Multiplier,
    /// X'1 and R_n'1: how often a mean over the queries is subtracted.
    x_sums: Vec<f32>,
    r_sums: Vec<f32>,
    features_x: (Vec<u32>, usize),
    features_y: (Vec<u32>, usize),
}

impl Factored {
    pub(crate) fn new(graph: &ClickGraph, center: bool) -> Result<Self> {
        let (queries, documents, number_of) = walk(graph.r());
        if queries.is_empty() {
            return Err(Error::Params(
                "no query has a response above 0; there is nothing to learn from".into(),
            ));
        }
        let n = queries.len();
        let (x, features_x) = compact(graph.x(), &queries);
        let (y, features_y) = compact(graph.y(), &documents);
        let r = normalised(graph.r(), &queries, &number_of, documents.len());
        let (xt, yt, rt) = (x.transpose(), y.transpose(), r.transpose());
        let sums = |matrix: &Csr| -> Vec<f32> {
            matrix
                .rows()
                .map(|row| row.values().iter().map(|&value| f64::from(value)).sum::<f64>() as f32)
                .collect()
        };
        Ok(Self {
            n,
            center,
            x_sums: sums(&xt),
            r_sums: sums(&rt),
            x: Multiplier::new(x),
            xt: Multiplier::new(xt),
            y: Multiplier::new(y),
            yt: Multiplier::new(yt),
            r: Multiplier::new(r),
            rt: Multiplier::new(rt),
            features_x: (features_x, graph.x().n_columns()),
            features_y: (features_y, graph.y().n_columns()),
        })
    }

    fn mean(&self, sums: [f64; WIDTH]) -> Lanes {
        Lanes(sums.map(|sum| (sum / self.n as f64) as f32))
    }
}

impl Operator for Factored {
    fn n_rows(&self, side: Side) -> usize {
        self.features(side).0.len()
    }

    fn features(&self, side: Side) -> (&[u32], usize) {
        let (features, n) = match side {
            Side::X => &self.features_x,
            Side::Y => &self.features_y,
        };
        (features, *n)
    }

    fn scaled(&self, to: Side, scale: Option<&[f32]>) -> Scaled {
        let first = match to {
            Side::X => self.y.matrix(),
            Side::Y => self.x.matrix(),
        };
        let values = match scale {
            None => first.values().to_vec(),
            Some(scale) => first
                .values()
                .iter()
                .zip(first.indices())
                .map(|(value, &index)| value * scale[index as usize])
                .collect(),
        };
        Scaled { to, values }
    }

    fn multiply<S: Send, T: Send>(
        &self,
        scaled: &Scaled,
        block: Block<'_>,
        scratch: &mut Scratch,
        out: &mut [Lanes],
        state: &mut [S],
        look: impl Fn(&mut [S], &[Lanes]) -> T + Sync,
    ) -> Vec<T> {
        let Scratch { queries, documents } = scratch;
        queries.resize(self.n, Lanes::ZERO);
        documents.resize(self.y.matrix().n_rows(), Lanes::ZERO);
        match scaled.to {
            Side::X => {
                self.y.multiply_summing(&scaled.values, block, None, documents);
                let sums = self.r.multiply_summing(self.r.values(), Block::Dense(documents), None, queries);
                let shift = self.center.then(|| (&self.x_sums[..], self.mean(sums)));
                self.xt.multiply(self.xt.values(), Block::Dense(queries), shift, out, state, look)
            }
            Side::Y => {
                let sums = self.x.multiply_summing(&scaled.values, block, None, queries);
                let shift = self.center.then(|| (&self.r_sums[..], self.mean(sums)));
                self.rt.multiply_summing(self.rt.values(), Block::Dense(queries), shift, documents);
                self.yt.multiply(self.yt.values(), Block::Dense(documents), None, out, state, look)
            }
        }
    }
}

/// Queries and documents with a response above 0, in the order of a breadth-first walk, and the place of
/// every document in it.
fn walk(r: &Csr) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let rt = r.transpose();
    let (mut queries, mut documents) = (Vec::new(), Vec::new());
    let mut seen = vec![false; r.n_rows()];
    let mut number_of = vec![u32::MAX; r.n_columns()];
    for root in 0..r.n_rows() {
        if seen[root] || !r.row(root).values().iter().any(|&value| value > 0.0) {
            continue;
        }
        seen[root] = true;
        let mut next = queries.len();
        queries.push(root as u32);
        while next < queries.len() {
            let query = queries[next] as usize;
            next += 1;
            for (document, _) in r.row(query).iter().filter(|(_, response)| *response > 0.0) {
                if number_of[document as usize] != u32::MAX {
                    continue;
                }
                number_of[document as usize] = documents.len() as u32;
                documents.push(document);
                for (other, _) in rt.row(document as usize).iter().filter(|(_, response)| *response > 0.0) {
                    if !std::mem::replace(&mut seen[other as usize], true) {
                        queries.push(other);
                    }
                }
            }
        }
    }
    (queries, documents, number_of)
}

/// The given rows of a matrix, its columns numbered as the rows first need them, and the former numbers of
/// the columns.
fn compact(matrix: &Csr, rows: &[u32]) -> (Csr, Vec<u32>) {
    let mut number_of = vec![u32::MAX; matrix.n_columns()];
    let mut features = Vec::new();
    for &row in rows {
        for (column, _) in matrix.row(row as usize).iter() {
            if number_of[column as usize] == u32::MAX {
                number_of[column as usize] = features.len() as u32;
                features.push(column);
            }
        }
    }
    let mut entries = Vec::new();
    let mut builder = CsrBuilder::new(features.len());
    for &row in rows {
        entries.extend(
            matrix.row(row as usize).iter().map(|(column, value)| (number_of[column as usize], value)),
        );
        entries.sort_unstable_by_key(|&(column, _)| column);
        entries.drain(..).for_each(|(column, value)| builder.push(column, value));
        builder.end_row();
    }
    (builder.finish().expect("rows of a checked matrix"), features)
}

/// R_n: every response divided by n n_i.
fn normalised(r: &Csr, queries: &[u32], number_of: &[u32], n_documents: usize) -> Csr {
    let mut entries = Vec::new();
    let mut builder = CsrBuilder::new(n_documents);
    for &query in queries {
        let row = r.row(query as usize);
        let answers = row.iter().filter(|(_, response)| *response > 0.0);
        entries.extend(answers.map(|(document, response)| (number_of[document as usize], response)));
        entries.sort_unstable_by_key(|&(document, _)| document);
        let weight = 1.0 / (queries.len() as f64 * entries.len() as f64);
        for (document, response) in entries.drain(..) {
            builder.push(document, (f64::from(response) * weight) as f32);
        }
        builder.end_row();
    }
    builder.finish().expect("responses of a checked graph")
}
