use super::PreferenceParams;
use super::learner::Learner;
use super::row::{Entries, WeightRow};
use super::state::LARGEST;
use super::workers::SHARDS;
use crate::matching::Csr;
use crate::{Error, Result};

impl Learner {
    /// Initialises W with given entries instead of the identity, for example with those of
    /// [`ridge_start`](crate::matching::ridge_start). [`refit`](Self::refit) before the first step restricts learning
    /// to them.
    pub fn from_matrix(params: &PreferenceParams, w: &Csr) -> Result<Self> {
        if let Some(wrong) = w.values().iter().find(|value| value.abs() > LARGEST) {
            return Err(Error::Shape(format!(
                "an entry of the initial W is {wrong}; entries must be at most {LARGEST:e}"
            )));
        }
        let mut learner = Self::new(params, w.n_rows(), w.n_columns(), [])?;
        for (i, row) in w.rows().enumerate() {
            let entries = row.iter().filter(|&(_, value)| value != 0.0).collect();
            let entries = Entries::new(w.n_columns(), entries);
            learner.shards[i % SHARDS][i / SHARDS] = WeightRow { written_at: 0.0, entries };
        }
        learner.clock.swept_bytes = learner.bytes();
        Ok(learner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::sparse_preference::{Step, Tuple};
    use crate::progress::Silent;

    /// Steps of Algorithm 1 on a dense W.
    fn slow(w: &mut [Vec<f64>], rows: &Csr, tuples: &[Tuple], c: f64) {
        let entry = |row: u32, j: usize| {
            rows.row(row as usize).iter().find(|&(at, _)| at as usize == j).map_or(0.0, |(_, x)| f64::from(x))
        };
        for tuple in tuples {
            let difference: Vec<f64> =
                (0..w[0].len()).map(|j| entry(tuple.more, j) - entry(tuple.less, j)).collect();
            let query: Vec<f64> = (0..w.len()).map(|i| entry(tuple.query, i)).collect();
            let gap: f64 = (0..w.len())
                .map(|i| query[i] * w[i].iter().zip(&difference).map(|(w, d)| w * d).sum::<f64>())
                .sum();
            if gap < 1.0 {
                for (i, row) in w.iter_mut().enumerate() {
                    let present = row.iter_mut().zip(&difference).filter(|(w, _)| **w != 0.0);
                    present.for_each(|(w, d)| *w += c * query[i] * d);
                }
            }
        }
    }

    /// Refitting from given entries: they change as in a dense loop, and no other appears.
    #[test]
    fn given_entries_are_the_start_and_the_support_of_refitting() {
        let value = |i: u32| (i * 37 % 23) as f32 / 23.0 + 0.1;
        let rows = Csr::from_triples(6, 40, (0..240).map(|i| (i / 40, i % 40, value(i) / 4.0))).unwrap();
        let tuples: Vec<Tuple> =
            (0..30).map(|i| Tuple { query: i % 6, more: i * 5 % 6, less: (i * 5 + 1) % 6 }).collect();
        // Row 0 is empty, row 1 short, the others are long enough to be packed.
        let given = (0..1600u32).filter(|i| i / 40 > 1 && !i.is_multiple_of(3) || *i == 45);
        let w = Csr::from_triples(40, 40, given.map(|i| (i / 40, i % 40, value(i + 3) - 0.5))).unwrap();
        let params = PreferenceParams { c: 0.05, step: Step::Fixed, ..Default::default() };
        let mut learner = Learner::from_matrix(&params, &w).unwrap();
        assert_eq!(learner.matrix(), w);
        assert_eq!(learner.nnz(), w.nnz());
        let resumed = Learner::from_state(&learner.state()).unwrap();
        assert_eq!(resumed.matrix(), w);
        learner.refit();
        learner.learn(&rows, &rows, &tuples, &Silent).unwrap();
        let mut expected = vec![vec![0.0; 40]; 40];
        (0..).zip(w.rows()).for_each(|(i, row): (usize, _)| {
            row.iter().for_each(|(j, value)| expected[i][j as usize] = f64::from(value));
        });
        slow(&mut expected, &rows, &tuples, 0.05);
        let found = learner.matrix();
        assert!(learner.clock().violations > 5);
        for (i, row) in found.rows().enumerate() {
            assert_eq!(row.indices(), w.row(i).indices());
            for (j, value) in row.iter() {
                assert!((f64::from(value) - expected[i][j as usize]).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn entries_that_overflow_are_an_error() {
        let w = Csr::from_triples(2, 2, [(0, 1, 1e11)]).unwrap();
        let error = Learner::from_matrix(&PreferenceParams::default(), &w).unwrap_err().to_string();
        assert!(error.contains("at most 1e10"), "{error}");
    }
}
