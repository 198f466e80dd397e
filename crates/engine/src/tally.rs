//! Counts of rows that were left out.

use std::collections::BTreeMap;

use matchrank_core::progress::Progress;

/// Rows that were left out, by reason, with an example.
#[derive(Default)]
pub(crate) struct Tally {
    counts: BTreeMap<&'static str, (u64, String)>,
}

impl Tally {
    pub(crate) fn add(&mut self, reason: &'static str, n: u64, example: impl FnOnce() -> String) {
        if n > 0 {
            self.counts.entry(reason).or_insert_with(|| (0, example())).0 += n;
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (reason, (n, example)) in other.counts {
            self.add(reason, n, || example);
        }
    }

    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.iter().map(|(reason, (n, _))| ((*reason).to_owned(), *n)).collect()
    }

    /// Describes the rows that were left out, in one sentence.
    pub(crate) fn summary(&self) -> String {
        if self.counts.is_empty() {
            return "the files have no rows".into();
        }
        let parts =
            self.counts.iter().map(|(reason, (n, example))| format!("{reason}: {n} (first: {example})"));
        format!("these were left out: {}", parts.collect::<Vec<_>>().join(", "))
    }

    /// Prints a note for each reason, with an example.
    pub(crate) fn report(&self, progress: &dyn Progress) {
        for (reason, (n, example)) in &self.counts {
            progress.note(&format!("left out {reason}: {n} (first: {example})"));
        }
    }
}
