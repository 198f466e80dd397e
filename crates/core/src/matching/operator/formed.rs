use crate::linalg::{Block, Chain, Cuts, Lanes, Operator, Scaled, Scratch, Side, Term};
use crate::matching::{ClickGraph, Csr};
use crate::{Error, Result};

/// W as a matrix; see the [module](super).
pub(crate) struct Formed {
    w: Csr,
    wt: Csr,
    cuts: [Cuts; 2],
    /// mean(x) and mean(y'), if W is centered.
    means: Option<(Vec<f32>, Vec<f32>)>,
    features_x: Vec<u32>,
    features_y: Vec<u32>,
}

impl Formed {
    /// Wraps a given W, centered if the means of x and y' are given.
    pub(crate) fn new(w: Csr, means: Option<(Vec<f32>, Vec<f32>)>) -> Result<Self> {
        let wrong = |(x, y): &(Vec<f32>, Vec<f32>)| (x.len(), y.len()) != (w.n_rows(), w.n_columns());
        if means.as_ref().is_some_and(wrong) {
            return Err(Error::Shape("the means must have a value for every feature of W".into()));
        }
        let wt = w.transpose();
        Ok(Self {
            features_x: (0..w.n_rows() as u32).collect(),
            features_y: (0..w.n_columns() as u32).collect(),
            cuts: [Cuts::new(&[&w]), Cuts::new(&[&wt])],
            wt,
            w,
            means,
        })
    }

    /// Forms W from a click graph: sum_i x_i y'_i' / n, row by row.
    pub(crate) fn of(graph: &ClickGraph, center: bool) -> Result<Self> {
        let n = graph.n_answered();
        if n == 0 {
            return Err(Error::Params(
                "no query has a response above 0; there is nothing to learn from".into(),
            ));
        }
        // y'_i / n of every query.
        let mut answers = Vec::new();
        for responses in graph.r().rows() {
            let n_i = responses.values().iter().filter(|&&response| response > 0.0).count();
            let mut answer = std::collections::BTreeMap::<u32, f64>::new();
            for (document, response) in responses.iter().filter(|(_, response)| *response > 0.0) {
                let weight = f64::from(response) / (n as f64 * n_i as f64);
                for (v, y) in graph.y().row(document as usize).iter() {
                    *answer.entry(v).or_default() += weight * f64::from(y);
                }
            }
            answers.push(answer);
        }
        let (mut x_mean, mut y_mean) = (vec![0f64; graph.x().n_columns()], vec![0f64; graph.y().n_columns()]);
        for (x, answer) in graph.x().rows().zip(&answers).filter(|(_, answer)| !answer.is_empty()) {
            x.iter().for_each(|(u, value)| x_mean[u as usize] += f64::from(value) / n as f64);
            answer.iter().for_each(|(&v, value)| y_mean[v as usize] += value);
        }
        let mut triples = Vec::new();
        for (u, queries) in (0..).zip(graph.x().transpose().rows()) {
            let mut row = std::collections::BTreeMap::<u32, f64>::new();
            for (query, x) in queries.iter() {
                for (&v, value) in &answers[query as usize] {
                    *row.entry(v).or_default() += f64::from(x) * value;
                }
            }
            triples.extend(row.into_iter().map(|(v, value)| (u, v, value as f32)));
        }
        let w = Csr::from_triples(graph.x().n_columns(), graph.y().n_columns(), triples)?;
        let single = |mean: Vec<f64>| mean.into_iter().map(|value| value as f32).collect();
        Self::new(w, center.then(|| (single(x_mean), single(y_mean))))
    }
}

impl Operator for Formed {
    fn n_rows(&self, side: Side) -> usize {
        self.features(side).1
    }

    fn features(&self, side: Side) -> (&[u32], usize) {
        let features = match side {
            Side::X => &self.features_x,
            Side::Y => &self.features_y,
        };
        (features, features.len())
    }

    fn scaled(&self, to: Side, scale: Option<&[f32]>) -> Scaled {
        // The scale is kept separately, since the correction needs it too.
        Scaled { to, values: [scale.unwrap_or_default().to_vec(), Vec::new()] }
    }

    fn chain(&self, _to: Side) -> Option<Chain<'_>> {
        None
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
        let made = &mut scratch.queries;
        let input: &[Lanes] = match block {
            Block::Dense(rows) if scaled.values[0].is_empty() => rows,
            _ => {
                expand(block, &scaled.values[0], made);
                made
            }
        };
        let [cuts_x, cuts_y] = &self.cuts;
        let (cuts, matrix, means) = match scaled.to {
            Side::X => (cuts_x, &self.w, self.means.as_ref().map(|(x, y)| (x, y))),
            Side::Y => (cuts_y, &self.wt, self.means.as_ref().map(|(x, y)| (y, x))),
        };
        let mut image = [0f64; super::WIDTH];
        if let Some((_, mean)) = means {
            for (lanes, &weight) in input.iter().zip(mean) {
                for (sum, value) in image.iter_mut().zip(lanes.0) {
                    *sum += f64::from(weight) * f64::from(value);
                }
            }
        }
        let image = Lanes(image.map(|sum| sum as f32));
        let shift = means.map(|(mean, _)| (&mean[..], image));
        cuts.multiply(&[Term::new(matrix, input)], shift, out, state, look)
    }
}

/// Expands a block to dense rows, scaled by `scale` if given.
fn expand(block: Block<'_>, scale: &[f32], out: &mut Vec<Lanes>) {
    out.clear();
    match block {
        Block::Dense(rows) => out.extend_from_slice(rows),
        Block::Sparse(rows) => {
            for (&from, &to) in rows.from.iter().zip(rows.to) {
                let mut lanes = Lanes::ZERO;
                for at in from as usize..to as usize {
                    lanes.0[usize::from(rows.columns[at] - rows.first)] = rows.values[at];
                }
                out.push(lanes);
            }
        }
    }
    for (lanes, scale) in out.iter_mut().zip(scale) {
        lanes.0.iter_mut().for_each(|value| *value *= scale);
    }
}
