use crate::linalg::{Block, Chain, Cuts, Lanes, Operator, Scaled, Scratch, Side, Term, WIDTH};
use crate::matching::{ClickGraph, Csr, CsrBuilder, SparseRow};
use crate::{Error, Result};

/// X' H R_n Y; see the [module](super).
pub(crate) struct Factored {
    n: usize,
    center: bool,
    /// Queries x features of queries, and transposed.
    x: Csr,
    xt: Csr,
    /// Shared documents x features of documents, and transposed.
    y: Csr,
    yt: Csr,
    /// R_s and transposed.
    r: Csr,
    rt: Csr,
    /// M, queries x features of documents, and transposed.
    m: Csr,
    mt: Csr,
    /// Work splits of the rows: features of queries, queries from either side, documents from either side, features of
    /// documents.
    cuts: Box<[Cuts; 6]>,
    /// X'1, R_s'1 and M'1: the weights with which a mean over the queries is subtracted.
    x_sums: Vec<f32>,
    r_sums: Vec<f32>,
    m_sums: Vec<f32>,
    /// Y_s'R_s'1 + M'1: the weights at the end of the product towards Y.
    y_sums: Vec<f32>,
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
        let both_ways = |matrix: Csr| {
            let transposed = matrix.transpose();
            (matrix, transposed)
        };
        let (((x, xt), features_x), (((y, yt), (r, rt), (m, mt)), features_y)) = rayon::join(
            || {
                let (x, features) = compact(graph.x(), &queries);
                (both_ways(x), features)
            },
            || {
                let (y, features) = compact(graph.y(), &documents);
                let r = normalised(graph.r(), &queries, &number_of, documents.len());
                let (y, r, m) = without_exclusive(&y, &r);
                ((both_ways(y), both_ways(r), both_ways(m)), features)
            },
        );
        let sums = |matrix: &Csr| -> Vec<f32> {
            matrix
                .rows()
                .map(|row| row.values().iter().map(|&value| f64::from(value)).sum::<f64>() as f32)
                .collect()
        };
        let (r_sums, m_sums) = (sums(&rt), sums(&mt));
        let weighted = |row: SparseRow<'_>| -> f64 {
            row.iter().map(|(j, value)| f64::from(value) * f64::from(r_sums[j as usize])).sum()
        };
        let y_sums = yt.rows().zip(&m_sums).map(|(row, &m)| (weighted(row) + f64::from(m)) as f32).collect();
        let cuts = [&[&xt][..], &[&x], &[&m, &r], &[&y], &[&rt], &[&yt, &mt]].map(Cuts::new);
        Ok(Self {
            n,
            center,
            x_sums: sums(&xt),
            r_sums,
            m_sums,
            y_sums,
            x,
            xt,
            y,
            yt,
            r,
            rt,
            m,
            mt,
            cuts: Box::new(cuts),
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

    fn chain(&self, to: Side) -> Option<Chain<'_>> {
        let shift = |sums| self.center.then_some(sums);
        Some(match to {
            Side::X => Chain {
                first: &self.y,
                second: (&self.r, Some(&self.m)),
                third: (&self.xt, None),
                shift: shift(&self.x_sums[..]),
                queries_first: false,
            },
            Side::Y => Chain {
                first: &self.x,
                second: (&self.rt, None),
                third: (&self.yt, Some(&self.mt)),
                shift: shift(&self.y_sums[..]),
                queries_first: true,
            },
        })
    }

    fn scaled(&self, to: Side, scale: Option<&[f32]>) -> Scaled {
        let values = |matrix: &Csr| match scale {
            None => matrix.values().to_vec(),
            Some(scale) => {
                let entries = matrix.values().iter().zip(matrix.indices());
                entries.map(|(value, &index)| value * scale[index as usize]).collect()
            }
        };
        Scaled {
            to,
            values: match to {
                Side::X => [values(&self.y), values(&self.m)],
                Side::Y => [values(&self.x), Vec::new()],
            },
        }
    }

    fn multiply<S: Send, T: Send>(
        &self,
        scaled: &Scaled,
        block: Block<'_>,
        scratch: &mut Scratch,
        out: Option<&mut [Lanes]>,
        state: &mut [S],
        look: impl Fn(&mut [S], &[Lanes]) -> T + Sync,
    ) -> Vec<T> {
        let Scratch { queries, documents } = scratch;
        queries.resize(self.n, Lanes::ZERO);
        documents.resize(self.y.n_rows(), Lanes::ZERO);
        let [cuts_xt, cuts_x, cuts_mr, cuts_y, cuts_rt, cuts_yt] = &*self.cuts;
        let [first, other] = &scaled.values;
        match scaled.to {
            Side::X => {
                cuts_y.multiply_summing(&[Term { matrix: &self.y, values: first, block }], None, documents);
                let inlined = Term { matrix: &self.m, values: other, block };
                let sums = cuts_mr.multiply_summing(&[inlined, Term::new(&self.r, documents)], None, queries);
                let shift = self.center.then(|| (&self.x_sums[..], self.mean(sums)));
                cuts_xt.multiply(&[Term::new(&self.xt, queries)], shift, out, state, look)
            }
            Side::Y => {
                let term = Term { matrix: &self.x, values: first, block };
                let mean = self.mean(cuts_x.multiply_summing(&[term], None, queries));
                let shift = |sums| self.center.then_some((sums, mean));
                cuts_rt.multiply_summing(&[Term::new(&self.rt, queries)], shift(&self.r_sums[..]), documents);
                let terms = [Term::new(&self.yt, documents), Term::new(&self.mt, queries)];
                cuts_yt.multiply(&terms, shift(&self.m_sums[..]), out, state, look)
            }
        }
    }
}

/// Writes R Y as R_s Y_s + M: Y_s and R_s cover the documents that several queries share, M = R Y covers the others.
fn without_exclusive(y: &Csr, r: &Csr) -> (Csr, Csr, Csr) {
    let mut n_queries = vec![0u32; y.n_rows()];
    r.indices().iter().for_each(|&document| n_queries[document as usize] += 1);
    let mut number_of = vec![u32::MAX; y.n_rows()];
    let mut shared = CsrBuilder::new(y.n_columns());
    let mut n_shared = 0;
    for (document, row) in y.rows().enumerate().filter(|(document, _)| n_queries[*document] > 1) {
        number_of[document] = n_shared;
        n_shared += 1;
        shared.push_row(row);
    }
    let (mut r_shared, mut m) = (CsrBuilder::new(n_shared as usize), CsrBuilder::new(y.n_columns()));
    let mut entries: Vec<(u32, f32)> = Vec::new();
    for row in r.rows() {
        for (document, response) in row.iter() {
            match number_of[document as usize] {
                u32::MAX => {
                    let features = y.row(document as usize);
                    entries.extend(features.iter().map(|(feature, value)| (feature, response * value)));
                }
                number => r_shared.push(number, response),
            }
        }
        r_shared.end_row();
        entries.sort_by_key(|&(feature, _)| feature);
        for same in entries.chunk_by(|a, b| a.0 == b.0) {
            m.push(same[0].0, same.iter().map(|&(_, value)| f64::from(value)).sum::<f64>() as f32);
        }
        entries.clear();
        m.end_row();
    }
    let checked = "rows of checked matrices";
    (shared.finish().expect(checked), r_shared.finish().expect(checked), m.finish().expect(checked))
}

/// Returns the queries and documents with a response above 0 in the order of a breadth-first walk, and the position of
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

/// Copies the given rows of a matrix. Renumbers the columns in order of first use and returns their former numbers.
pub(crate) fn compact(matrix: &Csr, rows: &[u32]) -> (Csr, Vec<u32>) {
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

/// Computes R_n: every response divided by n n_i.
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
