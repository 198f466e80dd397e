//! Ids that would be known with more or fewer leading zeros.
//!
//! A spreadsheet that reads ids as numbers turns `00123` into `123`. Such rows are left out like all rows with unknown
//! ids, since `00123` and `123` may well be two documents; but the user is told what would match.

use std::path::Path;
use std::sync::OnceLock;

use foldhash::HashMap;

use crate::dataset::{LostZeros, Names, without_zeros};

/// Ids that are shown.
const SHOWN: usize = 2;

/// Finds known ids that differ from a given one by leading zeros alone.
pub(super) struct ZeroFinder<'a> {
    known: &'a Names,
    /// Ids that are numbers, by what is left without leading zeros; made when the first unknown number is met.
    stripped: OnceLock<HashMap<&'a str, u32>>,
}

impl<'a> ZeroFinder<'a> {
    pub(super) fn new(known: &'a Names) -> Self {
        Self { known, stripped: OnceLock::new() }
    }

    /// Returns the first known id that has the digits of an unknown one and another number of leading zeros.
    fn find(&self, id: &str) -> Option<&'a str> {
        let number = without_zeros(id)?;
        let stripped = self.stripped.get_or_init(|| {
            let mut stripped = HashMap::default();
            for (at, known) in (0..).zip(self.known.iter()) {
                if let Some(number) = without_zeros(known) {
                    stripped.entry(number).or_insert(at);
                }
            }
            stripped
        });
        stripped.get(number).map(|at| self.known.get(*at))
    }
}

/// Rows with such ids.
#[derive(Default)]
pub(super) struct ZeroTally {
    rows: u64,
    examples: Vec<[String; 2]>,
}

impl ZeroTally {
    /// Counts a row with an unknown id.
    pub(super) fn add(&mut self, id: &str, known: &ZeroFinder<'_>) {
        if let Some(known) = known.find(id) {
            self.rows += 1;
            self.show([id, known].map(str::to_owned));
        }
    }

    fn show(&mut self, example: [String; 2]) {
        if self.examples.len() < SHOWN && !self.examples.contains(&example) {
            self.examples.push(example);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        other.examples.into_iter().for_each(|example| self.show(example));
    }

    /// Returns the rows of a file whose ids of documents (or of queries) lost their zeros, if there are any.
    pub(super) fn of_file(self, of: &str, path: &Path) -> Option<LostZeros> {
        let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        (self.rows > 0).then(|| LostZeros {
            of: of.to_owned(),
            file,
            rows: self.rows,
            examples: self.examples,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_lack_or_gained_zeros_are_found() {
        let mut known = Names::default();
        for id in ["00123", "45", "a7", "000", "0099", "099"] {
            known.insert(id).unwrap();
        }
        let finder = ZeroFinder::new(&known);
        for (id, expected) in [
            ("123", Some("00123")),
            ("0123", Some("00123")),
            ("0045", Some("45")),
            ("0", Some("000")),
            ("99", Some("0099")),
            ("0a7", None),
            ("46", None),
            ("12", None),
            ("1230", None),
        ] {
            assert_eq!(finder.find(id), expected, "{id}");
        }
    }

    #[test]
    fn two_different_examples_are_kept() {
        let mut known = Names::default();
        for id in ["01", "02", "03"] {
            known.insert(id).unwrap();
        }
        let finder = ZeroFinder::new(&known);
        let tally = |ids: &[&str]| {
            let mut tally = ZeroTally::default();
            ids.iter().for_each(|id| tally.add(id, &finder));
            tally
        };
        assert!(tally(&["x", "7"]).of_file("document", Path::new("log.csv")).is_none());
        let mut first = tally(&["1", "1", "9"]);
        first.merge(tally(&["1", "3", "2"]));
        let lost = first.of_file("document", Path::new("logs/log.csv")).unwrap();
        assert_eq!(
            lost.sentence(),
            "log.csv: 5 rows have a document id that differs from a known one by leading zeros alone \
             (1 here, 01 there; 3 here, 03 there)"
        );
    }
}
