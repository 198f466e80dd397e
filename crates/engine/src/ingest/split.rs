//! Decides which clicks are held out for validation and test.

use std::collections::BTreeMap;

use matchrank_core::{Error, Result};

use super::aggregate::Share;
use super::clicks::{ClickLog, QueryName, Searches};
use crate::dataset::Split;

/// Way of holding out clicks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitBy {
    /// Hold out nothing.
    None,
    /// Hold out whole queries, by a hash of their text.
    Query,
    /// Hold out the last clicks.
    Time,
}

/// Decides the split. A split by time reads the times of all clicks once.
pub(super) fn decide(
    by: SplitBy,
    [validation, test]: [f64; 2],
    seed: u64,
    logs: &[ClickLog],
    searches: &Searches,
) -> Result<Split> {
    let held_out = validation + test;
    if by != SplitBy::None && !(validation >= 0.0 && test >= 0.0 && held_out > 0.0 && held_out < 1.0) {
        return Err(Error::Params(format!(
            "the held-out shares are {validation} and {test}; they must not be negative, and must add up to more than 0 \
             and less than 1"
        )));
    }
    match by {
        SplitBy::None => Ok(Split::None),
        SplitBy::Query => Ok(Split::Query { validation, test, seed }),
        SplitBy::Time => {
            if let Some(log) = logs.iter().find(|log| !log.has_time()) {
                let message = "a split by time needs a time column; name it with option `column time=NAME`, or split by query";
                return Err(Error::parse(log.name(), 1, message));
            }
            logs.iter().try_for_each(|log| log.times.check_comparable(log.name()))?;
            let seconds = clicks_per_second(logs, searches)?;
            if seconds.is_empty() {
                let message = "no click is left to split: every row was left out, because its search is not in the log, it is \
                               before the drop date, or it says nothing";
                let names: Vec<&str> = logs.iter().map(ClickLog::name).collect();
                return Err(Error::format(names.join(", "), message));
            }
            let cut = |share: f64| cut_after(&seconds, share);
            let (validation_from, test_from) = (cut(1.0 - held_out), cut(1.0 - test));
            let first = seconds.keys().next().map_or(i64::MAX, |second| second * 1000);
            let empty = (test > 0.0 && test_from == i64::MAX)
                || (validation > 0.0 && validation_from == test_from)
                || validation_from <= first;
            if empty {
                let message = "the clicks have too few different times to be split by time in these shares; change the \
                               shares, or split by query";
                let names: Vec<&str> = logs.iter().map(ClickLog::name).collect();
                return Err(Error::format(names.join(", "), message));
            }
            Ok(Split::Time { validation, test, validation_from, test_from })
        }
    }
}

/// Returns the part that a click belongs to.
pub(super) fn share_of(split: &Split, time: Option<i64>) -> Share {
    match (split, time) {
        (Split::Time { test_from, .. }, Some(time)) if time >= *test_from => Share::Test,
        (Split::Time { validation_from, .. }, Some(time)) if time >= *validation_from => Share::Validation,
        _ => Share::Train,
    }
}

/// Returns the part that a whole query belongs to, if the split is by query.
pub(super) fn share_of_query(split: &Split, text: &str) -> Option<Share> {
    let Split::Query { validation, test, seed } = split else { return None };
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(text.as_bytes());
    let bits = u64::from_le_bytes(hasher.finalize().as_bytes()[..8].try_into().expect("eight bytes"));
    let uniform = (bits >> 11) as f64 / (1_u64 << 53) as f64;
    Some(if uniform < *test {
        Share::Test
    } else if uniform < test + validation {
        Share::Validation
    } else {
        Share::Train
    })
}

/// Counts the clicks in every second of the logs that has any: at most one entry per second of their span.
fn clicks_per_second(logs: &[ClickLog], searches: &Searches) -> Result<BTreeMap<i64, f64>> {
    let mut seconds: BTreeMap<i64, f64> = BTreeMap::new();
    for log in logs {
        log.read(
            searches,
            foldhash::HashMap::<i64, f64>::default,
            |part, line, row| {
                if let Ok(row) = row
                    && row.query != QueryName::Unknown
                {
                    let time = row.time.ok_or_else(|| {
                        Error::parse(log.name(), line, "the row has no time, which a split by time needs")
                    })?;
                    *part.entry(time.div_euclid(1000)).or_default() += row.clicks;
                }
                Ok(())
            },
            |_| Ok(()),
            |part| {
                part.into_iter().for_each(|(second, clicks)| *seconds.entry(second).or_default() += clicks);
                Ok(())
            },
        )?;
    }
    Ok(seconds)
}

/// Returns the time (ms) for which the share of all clicks before it is nearest to `share`; clicks of one second stay
/// together.
fn cut_after(seconds: &BTreeMap<i64, f64>, share: f64) -> i64 {
    let wanted = share * seconds.values().sum::<f64>();
    let mut before = 0.0;
    let mut nearest = (f64::INFINITY, i64::MAX);
    for (second, clicks) in seconds {
        let distance: f64 = before - wanted;
        if distance.abs() < nearest.0 {
            nearest = (distance.abs(), second * 1000);
        }
        before += clicks;
    }
    if (before - wanted).abs() < nearest.0 { i64::MAX } else { nearest.1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_split_takes_the_last_clicks() {
        let seconds: BTreeMap<i64, f64> = (0..10).map(|s| (s, 10.0)).collect();
        assert_eq!(cut_after(&seconds, 0.8), 8_000);
        assert_eq!(cut_after(&seconds, 0.84), 8_000);
        assert_eq!(cut_after(&seconds, 0.86), 9_000);
        assert_eq!(cut_after(&seconds, 1.0), i64::MAX);
        assert_eq!(cut_after(&BTreeMap::from([(1, 1.0), (2, 7.0), (3, 5.0)]), 0.9), i64::MAX);
        assert_eq!(cut_after(&BTreeMap::from([(1, 1.0), (2, 7.0), (3, 5.0)]), 0.7), 3_000);
        let split = Split::Time { validation: 0.1, test: 0.1, validation_from: 8_000, test_from: 9_000 };
        assert_eq!(share_of(&split, Some(7_999)), Share::Train);
        assert_eq!(share_of(&split, Some(8_500)), Share::Validation);
        assert_eq!(share_of(&split, Some(9_000)), Share::Test);
    }

    #[test]
    fn a_query_split_has_the_shares_it_says_and_moves_with_the_seed() {
        let split = |seed| Split::Query { validation: 0.1, test: 0.2, seed };
        let shares = |seed| -> Vec<Share> {
            (0..20_000).map(|i| share_of_query(&split(seed), &format!("query {i}")).unwrap()).collect()
        };
        let (one, two) = (shares(1), shares(2));
        let part = |share| one.iter().filter(|s| **s == share).count() as f64 / 20_000.0;
        assert!((part(Share::Validation) - 0.1).abs() < 0.01);
        assert!((part(Share::Test) - 0.2).abs() < 0.01);
        assert_eq!(one, shares(1));
        assert_ne!(one, two);
    }
}
