//! Goals of the lists (v and grades), and objective (4) over them.

use std::borrow::Cow;

use rayon::prelude::*;

use super::loss::{Active, Terms};
use super::weights::{Target, Weigher};
use crate::Result;
use crate::data::FeatureLists;
use crate::ranking::products;
use crate::ranking::sample::Sample;
use crate::solve::bundle::Convex;

/// Grades and weights v of the rows of many lists.
pub(crate) struct Goals<'a> {
    grades: Cow<'a, [f32]>,
    v: Vec<f64>,
}

impl<'a> Goals<'a> {
    pub(crate) fn new(target: Target, lists: &'a FeatureLists) -> Result<Self> {
        target.check(lists.labels())?;
        let grades = target.grades(lists.labels());
        let v = (0..lists.n_queries())
            .into_par_iter()
            .map_init(Weigher::default, |weigher, query| {
                weigher.weigh(target, &grades[lists.list(query).rows()]);
                weigher.v.clone()
            })
            .flatten_iter()
            .collect();
        Ok(Self { grades, v })
    }

    pub(crate) fn grades(&self, rows: std::ops::Range<usize>) -> &[f32] {
        &self.grades[rows]
    }

    pub(crate) fn v(&self, rows: std::ops::Range<usize>) -> &[f64] {
        &self.v[rows]
    }
}

impl Target {
    /// Returns the grades as the measure sees them: MAP is binary.
    pub(crate) fn grades(self, grades: &[f32]) -> Cow<'_, [f32]> {
        match self {
            Self::Map => {
                Cow::Owned(grades.iter().map(|&grade| if grade > 0.0 { 1.0 } else { 0.0 }).collect())
            }
            _ => Cow::Borrowed(grades),
        }
    }
}

/// Mean of phi_v over lists: (4) without its first term.
pub(crate) struct SlamObjective<'s, 'a> {
    pub(crate) sample: &'s Sample<'a>,
    pub(crate) goals: &'s Goals<'a>,
    pub(crate) delta: f64,
}

#[derive(Default)]
struct SlamScratch {
    scores: Vec<f64>,
    gradient: Vec<f64>,
    terms: Terms,
}

impl Convex for SlamObjective<'_, '_> {
    fn n_weights(&self) -> usize {
        self.sample.lists().n_features()
    }

    fn at(&self, w: &[f64]) -> (f64, Vec<f64>) {
        let ([value], subgradient) = self.sample.means(|scratch: &mut SlamScratch, _, list, share, sum| {
            let SlamScratch { scores, gradient, terms } = scratch;
            products::scores(list, w, scores);
            let (grades, v) = (self.goals.grades(list.rows()), self.goals.v(list.rows()));
            terms.find(scores, grades, v, Active::Within(self.delta));
            gradient.clear();
            gradient.resize(scores.len(), 0.0);
            terms.add_subgradient(share, gradient);
            products::add_rows(list, gradient, sum);
            [terms.loss(self.delta)]
        });
        (value, subgradient)
    }
}
