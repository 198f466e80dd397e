//! Shares of what a model learned, and the one that is kept.
//!
//! The score of such a model is that of its base and, times a share, what was learned. The share is 0, the base alone, unless
//! another one is better by more than one standard error ([`is_worth_it`]); of several such shares the best is taken,
//! the smallest of equals.

use super::is_worth_it;

/// Shares that were tried, with the values of the validation queries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShareTrials {
    /// The first is 0.
    trials: Vec<(f64, Vec<f64>)>,
}

impl ShareTrials {
    /// The values of the base alone.
    pub(crate) fn of_base(values: Vec<f64>) -> Self {
        Self { trials: vec![(0.0, values)] }
    }

    /// Adds a larger share.
    pub(crate) fn push(&mut self, share: f64, values: Vec<f64>) {
        self.trials.push((share, values));
    }

    /// Every share with the mean of its values.
    pub(crate) fn figures(&self) -> Vec<(f64, f64)> {
        self.trials.iter().map(|(share, values)| (*share, mean(values))).collect()
    }

    /// The share to keep, with the mean of its values; none where nothing was tried.
    pub(crate) fn kept(&self) -> Option<(f64, f64)> {
        let (_, base) = self.trials.first()?;
        let mut best = (0.0, mean(base));
        for (share, values) in &self.trials[1..] {
            if is_worth_it(values, base) && mean(values) > best.1 {
                best = (*share, mean(values));
            }
        }
        Some(best)
    }

    /// The share to keep for a model that will learn from more: all of what is learned, where that is better than the base by
    /// more than one standard error, and not worse by as much than the share that would be kept here. The share that
    /// is best grows with what there is to learn from.
    pub(crate) fn kept_with_more(&self) -> Option<f64> {
        let values =
            |share: f64| self.trials.iter().find(|(other, _)| *other == share).map(|(_, values)| values);
        let (kept, _) = self.kept()?;
        let is_good = |all: &Vec<f64>| {
            is_worth_it(all, &self.trials[0].1) && !values(kept).is_some_and(|kept| is_worth_it(kept, all))
        };
        Some(if kept < 1.0 && values(1.0).is_some_and(is_good) { 1.0 } else { kept })
    }

    /// The same shares over the queries of all; none where the shares differ, or nothing was tried.
    pub(crate) fn joined(all: &[&Self]) -> Option<Self> {
        let (first, others) = all.split_first()?;
        let mut joined = (*first).clone();
        for other in others {
            if other.trials.len() != joined.trials.len() {
                return None;
            }
            for ((share, values), (own, more)) in joined.trials.iter_mut().zip(&other.trials) {
                if share != own {
                    return None;
                }
                values.extend(more);
            }
        }
        Some(joined).filter(|joined| !joined.trials.is_empty())
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_kept_unless_a_share_is_clearly_better() {
        let mut trials = ShareTrials::of_base(vec![0.5, 0.4, 0.3]);
        trials.push(0.5, vec![0.5, 0.5, 0.3]);
        assert_eq!(trials.kept().unwrap().0, 0.0, "0.033 with an error of 0.033");
        trials.push(1.0, vec![0.6, 0.5, 0.7]);
        trials.push(2.0, vec![0.7, 0.6, 0.5]);
        assert_eq!(trials.kept().unwrap().0, 1.0, "the smaller of equals");
        assert_eq!(ShareTrials::default().kept(), None);
    }

    #[test]
    fn with_more_to_learn_from_all_is_kept_where_it_is_about_as_good() {
        let mut trials = ShareTrials::of_base(vec![0.5, 0.4, 0.3]);
        trials.push(0.5, vec![0.6, 0.5, 0.41]);
        trials.push(1.0, vec![0.6, 0.49, 0.41]);
        trials.push(2.0, vec![0.5, 0.4, 0.3]);
        assert_eq!((trials.kept().unwrap().0, trials.kept_with_more()), (0.5, Some(1.0)));
        trials.trials[2].1 = vec![0.55, 0.45, 0.35];
        assert_eq!(trials.kept_with_more(), Some(0.5), "half is better by more than one standard error");
        trials.trials[1].1 = vec![0.5, 0.4, 0.3];
        trials.trials[2].1 = vec![0.5, 0.5, 0.2];
        assert_eq!(trials.kept_with_more(), Some(0.0));
        assert_eq!(ShareTrials::default().kept_with_more(), None);
    }

    /// What no half of the queries shows, all of them may.
    #[test]
    fn joined_queries_have_a_smaller_error() {
        let trials = |gains: [f64; 3]| {
            let mut trials = ShareTrials::of_base(vec![0.5; 3]);
            trials.push(1.0, gains.iter().map(|gain| 0.5 + gain).collect());
            trials
        };
        let (a, b) = (trials([0.1, -0.06, 0.04]), trials([0.1, -0.05, 0.02]));
        assert_eq!((a.kept().unwrap().0, b.kept().unwrap().0), (0.0, 0.0));
        let joined = ShareTrials::joined(&[&a, &b, &a, &b]).unwrap();
        assert_eq!(joined.kept().unwrap().0, 1.0);
        assert_eq!(ShareTrials::joined(&[&a, &ShareTrials::of_base(vec![0.5])]), None);
        assert_eq!(ShareTrials::joined(&[]), None);
    }
}
