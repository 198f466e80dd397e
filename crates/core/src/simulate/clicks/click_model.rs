//! The position-based click model, and the result pages users see.
//!
//! A user examines position `k` with probability `gamma_k = k^-eta` and clicks an examined document with the
//! probability of its attractiveness `alpha(q, d)`, which depends only on the grade. Positions are independent of each
//! other:
//!
//! ```text
//! P(click on d at position k | q) = gamma_k * alpha(q, d),   gamma_k = k^-eta,   alpha = attractiveness[grade(q, d)]
//! ```
//!
//! A query's page is the same in all sessions, except that with a small probability a session sees two neighbours
//! swapped: enough to tell position bias from relevance.

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::params::ClickParams;
use crate::simulate::random::Stream;

/// The click model of a simulation.
#[derive(Clone, Debug)]
pub struct ClickModel {
    /// Probability of examining each position, from the first: `gamma`.
    pub examination: Vec<f64>,
    /// Probability of clicking an examined document, by grade: `alpha`.
    pub attractiveness: [f64; 5],
    swap: f64,
}

/// Impressions and clicks at a position, and the clicks that the click model expects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PositionCount {
    /// Position, counted from 1.
    pub position: usize,
    /// Number of documents shown there, including sessions without any click.
    pub shown: u64,
    /// Number of clicks there.
    pub clicks: u64,
    /// Sum of `gamma_k alpha(q, d)` over the impressions: the expectation of `clicks`.
    pub expected_clicks: f64,
}

/// One user's visit: the order shown and the clicks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Position, counted from 0, that was swapped with the one below; [`Session::UNCHANGED`] if none was.
    pub swapped: u8,
    /// Bit `k` is set when the document at position `k`, counted from 0, was clicked.
    pub clicked: u16,
}

impl Session {
    /// Marks a session without a swap.
    pub const UNCHANGED: u8 = u8::MAX;

    /// Returns the document of the query's page that was shown at a position, both counted from 0.
    pub fn shown_at(self, position: usize) -> usize {
        let swapped = self.swapped as usize;
        if position == swapped {
            position + 1
        } else if self.swapped != Self::UNCHANGED && position == swapped + 1 {
            swapped
        } else {
            position
        }
    }
}

impl ClickModel {
    /// Creates the click model that the parameters describe.
    pub fn new(params: &ClickParams) -> Self {
        let gamma = |k: usize| (k as f64).powf(-params.position_bias);
        Self {
            examination: (1..=params.list_size).map(gamma).collect(),
            attractiveness: params.attractiveness,
            swap: params.swap,
        }
    }

    /// Simulates one user's visit to a page whose documents have these grades, and adds it to `counts`.
    pub(in crate::simulate) fn visit(
        &self,
        grades: &[u8],
        counts: &mut [PositionCount],
        rng: &mut Stream,
    ) -> Session {
        let mut session = Session { swapped: Session::UNCHANGED, clicked: 0 };
        if grades.len() > 1 && rng.random_bool(self.swap) {
            session.swapped = rng.random_range(0..grades.len() as u8 - 1);
        }
        for (k, count) in counts[..grades.len()].iter_mut().enumerate() {
            let grade = grades[session.shown_at(k)];
            let p = self.examination[k] * self.attractiveness[grade as usize];
            count.shown += 1;
            count.expected_clicks += p;
            if rng.random::<f64>() < p {
                count.clicks += 1;
                session.clicked |= 1 << k;
            }
        }
        session
    }
}

/// Approximate standard deviation of the engine's error, in grades.
const ENGINE_ERROR: f64 = 1.2;

/// Orders documents by grade plus noise, as an imperfect engine would; returns their places in `grades`.
pub(in crate::simulate) fn imperfect_order(grades: impl Iterator<Item = u8>, rng: &mut Stream) -> Vec<usize> {
    let mut scored: Vec<(f64, usize)> = grades
        .enumerate()
        .map(|(i, grade)| {
            // The sum of three uniform numbers is close enough to normal here.
            let noise = (0..3).map(|_| rng.random::<f64>() * 2.0 - 1.0).sum::<f64>();
            (f64::from(grade) + ENGINE_ERROR * noise, i)
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().map(|(_, i)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::random::stream;

    #[test]
    fn clicks_follow_the_equation() {
        let params = ClickParams { swap: 0.3, ..ClickParams::small() };
        let model = ClickModel::new(&params);
        let grades = [4, 0, 3, 3, 2, 1, 0, 2, 4, 1];
        let mut counts = vec![PositionCount::default(); 10];
        let mut rng = stream(5, 0, 0);
        // Impressions and clicks by (position, document), counted here and compared with the equation.
        let mut table = [[(0u32, 0u32); 10]; 10];
        for _ in 0..200_000 {
            let session = model.visit(&grades, &mut counts, &mut rng);
            let mut documents: Vec<usize> = (0..10).map(|k| session.shown_at(k)).collect();
            for (k, &d) in documents.iter().enumerate() {
                table[k][d].0 += 1;
                table[k][d].1 += u32::from(session.clicked >> k & 1 == 1);
            }
            documents.sort_unstable();
            assert!(documents.iter().copied().eq(0..10), "a page shows every document once");
        }
        for (k, row) in table.iter().enumerate() {
            for (d, &(shown, clicks)) in row.iter().enumerate() {
                let p = ((k + 1) as f64).powf(-0.7) * params.attractiveness[grades[d] as usize];
                let n = f64::from(shown);
                let deviation = (f64::from(clicks) - n * p).abs();
                assert!(deviation <= 4.5 * (n * p * (1.0 - p)).sqrt(), "position {k}, document {d}");
            }
        }
    }
}
