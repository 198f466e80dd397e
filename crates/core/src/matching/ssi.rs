//! Supervised semantic indexing: f(q, d) = q' (U' V + I) d.
//!
//! Words that queries and documents share count as in the cosine (the identity), and U, V learn which other words
//! match.
//!
//! **Objective**: the sum over tuples (q, d+, d-), d+ preferred to d- for q, of
//! max(0, m - f(q, d+) + f(q, d-)), plus lambda / 2 times the squares of the rows of the features that occur
//! in a batch. **Update**: gradient steps over batches of tuples (AdaGrad, see `descent`, where the paper
//! has a fixed rate).
//!
//! | symbol | here | shape |
//! |---|---|---|
//! | q, d | rows of `queries`, `documents` | features; the first `n_shared` are the same on both sides |
//! | U, V | L_x', L_y' of the [`Bilinear`] | d x features |
//! | m, lambda | [`SsiParams::margin`], [`SsiParams::l2`] | |
//!
//! **Cost** of a tuple: 6 d operations for every entry of q, d+ and d-. Memory: see [`SsiParams::d`]. All threads are
//! used, and the result is the same for any number of threads.
//!
//! Reference: B. Bai, J. Weston, D. Grangier, R. Collobert, K. Sadamasa, Y. Qi, O. Chapelle, K. Weinberger,
//! *Supervised Semantic Indexing*, CIKM 2009, equations (2) and (5).
//!
//! ```
//! use matchrank_core::matching::Csr;
//! use matchrank_core::matching::sparse_preference::Tuple;
//! use matchrank_core::matching::ssi::{Ssi, SsiParams};
//! use matchrank_core::progress::Silent;
//!
//! // Words: 0 "car", 1 "automobile", 2 "boat". The query "car" prefers a document about automobiles.
//! let queries = Csr::from_triples(1, 3, [(0, 0, 1.0)])?;
//! let documents = Csr::from_triples(2, 3, [(0, 1, 1.0), (1, 2, 1.0)])?;
//! let params = SsiParams { d: 4, ..Default::default() };
//! let mut ssi = Ssi::new(&params, [&queries, &documents], 3, 1)?;
//! let tuples = [Tuple { query: 0, more: 0, less: 1 }; 20];
//! for _ in 0..50 {
//!     ssi.learn(&queries, &documents, &tuples, &Silent)?;
//! }
//! let model = ssi.model()?;
//! let [car, boat] = [0, 1].map(|document| model.score(queries.row(0), documents.row(document)));
//! assert!(car > boat + 0.49);
//! # Ok::<(), matchrank_core::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use super::bilinear::shared;
use super::descent::{Batch, Descent, StepRule};
use super::sparse_preference::Tuple;
use crate::matching::{Bilinear, Csr, Mapping};
use crate::progress::Progress;
use crate::{Error, Result};

/// Parameters of supervised semantic indexing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SsiParams {
    /// d: latent dimensions. A feature that occurs takes 4 d bytes, and up to a quarter more: d = 100 takes 480 bytes.
    /// Default: 100.
    pub d: usize,
    /// A tuple is learned from if its documents are less than this apart. Default: 0.5 (the paper: 1).
    pub margin: f64,
    /// Length of the first step of a row. Default: 0.02.
    pub rate: f64,
    /// lambda: strength of the pull of rows towards 0. Default: 0.
    pub l2: f64,
    /// Rows are initialised uniformly between minus this and this value. Default: 0.05.
    pub spread: f64,
    /// Number of tuples per step. Default: 256.
    pub batch: usize,
    /// If true, words that query and document share count by themselves (I). Default: true.
    pub identity: bool,
}

impl Default for SsiParams {
    fn default() -> Self {
        Self { d: 100, margin: 0.5, rate: 0.02, l2: 0.0, spread: 0.05, batch: 256, identity: true }
    }
}

impl SsiParams {
    /// Returns an error if a parameter is out of range.
    pub fn validate(&self) -> Result<()> {
        let Self { d, margin, rate, l2, spread, batch, .. } = *self;
        check_rows(d, rate, l2, spread, batch)?;
        if !(margin > 0.0 && margin <= 1e6) {
            return Err(Error::Params(format!("margin must be above 0 and at most 1000000, not {margin}")));
        }
        Ok(())
    }
}

/// Checks the parameters of rows that are learned by gradient steps.
pub(super) fn check_rows(d: usize, rate: f64, l2: f64, spread: f64, batch: usize) -> Result<()> {
    let wrong = |message: String| Err(Error::Params(message));
    if !(1..=1 << 16).contains(&d) {
        return wrong(format!("d must be from 1 to 65536, not {d}"));
    }
    for (name, value) in [("rate", rate), ("spread", spread)] {
        if !(value > 0.0 && value <= 1e3) {
            return wrong(format!("{name} must be above 0 and at most 1000, not {value}"));
        }
    }
    if !(0.0..=1e3).contains(&l2) {
        return wrong(format!("l2 must be from 0 to 1000, not {l2}"));
    }
    if !(1..=1 << 20).contains(&batch) {
        return wrong(format!("batch must be from 1 to 1048576, not {batch}"));
    }
    Ok(())
}

/// Statistics of a call of [`Ssi::learn`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// Number of tuples.
    pub n: u64,
    /// Number of tuples whose documents were less than the margin apart.
    pub violations: u64,
    /// Sum of the hinge loss.
    pub loss: f64,
}

/// A model during training; see the [module](self).
pub struct Ssi {
    params: SsiParams,
    n_shared: usize,
    descent: Descent,
}

impl Ssi {
    /// Creates a model of the features of the queries and documents; the first `n_shared` features are the same on both
    /// sides.
    pub fn new(
        params: &SsiParams,
        [queries, documents]: [&Csr; 2],
        n_shared: usize,
        seed: u64,
    ) -> Result<Self> {
        params.validate()?;
        if n_shared > queries.n_columns().min(documents.n_columns()) {
            return Err(Error::Shape(format!(
                "{n_shared} features cannot be shared: one side has fewer features"
            )));
        }
        let rule = StepRule { rate: params.rate as f32, l2: params.l2 as f32 };
        let descent = Descent::new(params.d, rule, params.spread as f32, false, (queries, documents), seed);
        Ok(Self { params: *params, n_shared: if params.identity { n_shared } else { 0 }, descent })
    }

    /// Learns from tuples in order; `queries` and `documents` are those of [`Ssi::new`].
    pub fn learn(
        &mut self,
        queries: &Csr,
        documents: &Csr,
        tuples: &[Tuple],
        progress: &dyn Progress,
    ) -> Result<Lesson> {
        let (n_queries, n_documents) = (queries.n_rows() as u32, documents.n_rows() as u32);
        if tuples.iter().any(|t| t.query >= n_queries || t.more.max(t.less) >= n_documents) {
            return Err(Error::Shape("a tuple refers to a query or a document that does not exist".into()));
        }
        let Self { params, n_shared, descent } = self;
        let (n_shared, size, margin) = (*n_shared, params.batch, params.margin as f32);
        let mut lesson = Lesson { n: tuples.len() as u64, ..Lesson::default() };
        let fill = |number: usize, batch: &mut Batch<'_>| {
            for tuple in tuples.chunks(size).nth(number).expect("as many batches as chunks") {
                let q = queries.row(tuple.query as usize);
                for document in [tuple.more, tuple.less] {
                    let d = documents.row(document as usize);
                    batch.link((tuple.query, q), (document, d), shared(n_shared, q, d));
                }
            }
        };
        descent.learn(tuples.len().div_ceil(size), fill, |_, scores| {
            for pair in scores.as_chunks_mut::<2>().0 {
                let loss = margin - pair[0] + pair[1];
                let violated = loss > 0.0;
                lesson.violations += u64::from(violated);
                lesson.loss += f64::from(loss.max(0.0));
                *pair = if violated { [-1.0, 1.0] } else { [0.0, 0.0] };
            }
            progress.advance(scores.len() as u64 / 2);
        });
        Ok(lesson)
    }

    /// Returns the current model for evaluation, without copying its rows.
    pub fn mapping(&self) -> Result<impl Mapping + '_> {
        self.descent.mapping(self.n_shared, 0.0)
    }

    /// Returns a copy of the current model.
    pub fn model(&self) -> Result<Bilinear> {
        self.descent.bilinear()?.with_identity(self.n_shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::golden::{agree, baselines, entries, sparse};
    use crate::matching::{Factor, Rows};
    use crate::progress::Silent;

    #[derive(Deserialize)]
    struct Golden {
        ssi: Case,
    }

    #[derive(Deserialize)]
    struct Case {
        queries: Vec<Vec<f32>>,
        documents: Vec<Vec<f32>>,
        n_shared: usize,
        params: SsiParams,
        tuples: Vec<(u32, u32, u32)>,
        start_x: Vec<Vec<f32>>,
        start_y: Vec<Vec<f32>>,
        loss: f64,
        violations: u64,
        lx: Vec<Vec<f64>>,
        ly: Vec<Vec<f64>>,
        scores: Vec<Vec<f64>>,
    }

    fn values(factor: &Factor) -> Vec<f32> {
        match factor.rows() {
            Rows::Dense(values) => values.clone(),
            Rows::Sparse(_) => unreachable!("rows are dense"),
        }
    }

    #[test]
    fn golden() {
        let Golden { ssi: case } = baselines();
        let (queries, documents) = (sparse(&case.queries), sparse(&case.documents));
        let mut ssi = Ssi::new(&case.params, [&queries, &documents], case.n_shared, 1).unwrap();
        ssi.descent.start_from(&case.start_x, &case.start_y);
        let tuples: Vec<Tuple> =
            case.tuples.iter().map(|&(query, more, less)| Tuple { query, more, less }).collect();
        let lesson = ssi.learn(&queries, &documents, &tuples, &Silent).unwrap();
        assert_eq!((lesson.n, lesson.violations), (12, case.violations));
        agree("loss", [lesson.loss], [case.loss]);
        let model = ssi.model().unwrap();
        agree("L_x", values(model.lx()), entries(&case.lx));
        agree("L_y", values(model.ly()), entries(&case.ly));
        let scores = queries.rows().flat_map(|q| documents.rows().map(move |d| (q, d)));
        agree("scores", scores.map(|(q, d)| model.score(q, d)), entries(&case.scores));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let rows = Csr::from_triples(2, 3, [(0, 0, 1.0), (1, 2, 1.0)]).unwrap();
        let params = SsiParams { d: 3, ..Default::default() };
        assert!(Ssi::new(&params, [&rows, &rows], 4, 1).is_err());
        let mut ssi = Ssi::new(&params, [&rows, &rows], 3, 1).unwrap();
        let wrong = [Tuple { query: 0, more: 0, less: 2 }];
        assert!(ssi.learn(&rows, &rows, &wrong, &Silent).is_err());
        assert_eq!(ssi.learn(&rows, &rows, &[], &Silent).unwrap(), Lesson::default());
        for wrong in [
            SsiParams { d: 0, ..params },
            SsiParams { margin: 0.0, ..params },
            SsiParams { rate: f64::NAN, ..params },
            SsiParams { l2: -1.0, ..params },
            SsiParams { spread: 0.0, ..params },
            SsiParams { batch: 0, ..params },
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
    }
}
