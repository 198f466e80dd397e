//! Steps in which only existing entries may change: refitting and the diagonal form. A block is one step.

use super::learner::shared_column;
use super::row::Whole;
use super::workers::{Bench, Task, TupleRow, Worker};

/// A packed row that the tuple reads, and the handle of the entries that its difference touches.
pub(super) type Met = (TupleRow, (u32, u32));

impl Worker<'_> {
    /// Computes the score of a tuple over the packed rows of this worker, and lists the rows that are not packed.
    pub(super) fn read_where_present(&self, whole: Whole, bench: &mut Bench) {
        let Bench { differences, scores, visits, short, present, met, .. } = bench;
        present.clear();
        met.clear();
        for (at, &visit) in visits.iter().enumerate() {
            if let Some(next) = visits.get(at + 1) {
                self.row(next.row).fetch();
            }
            match self.row(visit.row).packed() {
                Some(packed) => met.push((visit, packed.meet(&differences[0], present))),
                None => short.push(visit),
            }
        }
        for &(TupleRow { row, weight, .. }, place) in &*met {
            let row = self.row(row);
            let Some(packed) = row.packed() else { unreachable!("a packed row") };
            let score = present.meeting(place).dot(packed.numbers(), row.due(whole));
            scores[0].add(f64::from(weight) * score);
        }
    }

    /// Adds a violation by the tuple that was read last to existing entries.
    pub(super) fn write_where_present(&mut self, task: &Task<'_>, eta: f64, whole: Whole, bench: &mut Bench) {
        let Bench { differences, short, spread, present, met, .. } = bench;
        let scale = |weight: f32| (eta * f64::from(weight)) as f32;
        for &(TupleRow { row, weight, .. }, place) in &*met {
            let Some(packed) = self.row_mut(row).packed_mut() else { unreachable!("a packed row") };
            packed.add(present.meeting(place), scale(weight), whole.averaged);
        }
        spread.set(&differences[0].columns, differences[0].values());
        for &TupleRow { row, weight, .. } in &*short {
            let shared = shared_column(task.shared[row as usize]);
            self.row_mut(row).add_where_present(scale(weight), spread, shared, whole);
        }
        spread.clear(&differences[0].columns);
    }
}
