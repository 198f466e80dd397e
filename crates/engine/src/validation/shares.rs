//! Shares of what a model learned, and the one that is kept.
//!
//! The score of such a model is that of its base and, times a share, what was learned. The share is 0, the base alone, unless
//! another one is better by more than one standard error ([`is_worth_it`]). Of several such shares the smallest is taken that
//! the best one does not exceed by as much. Queries that depend on new documents count [twice](grown_share), because what was learned
//! helps documents with training responses most.

use super::{grown_share, is_worth_it};

/// Shares that were tried, with the values of the validation queries.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShareTrials {
    /// True for queries whose relevant documents are all new: none has a training response.
    on_new: Vec<bool>,
    /// The first is 0.
    trials: Vec<(f64, Vec<f64>)>,
}

impl ShareTrials {
    /// The values of the base alone, and the queries that depend on new documents.
    pub(crate) fn of_base(values: Vec<f64>, on_new: Vec<bool>) -> Self {
        assert_eq!(values.len(), on_new.len(), "one of each for every query");
        Self { on_new, trials: vec![(0.0, values)] }
    }

    /// Adds a larger share.
    pub(crate) fn push(&mut self, share: f64, values: Vec<f64>) {
        assert_eq!(values.len(), self.on_new.len(), "every share is measured on the same queries");
        self.trials.push((share, values));
    }

    /// The trials with the values of every query times its weight. The weights have the mean 1, so that means of such values
    /// are those of a log in which the share of queries with new documents has grown.
    fn weighted(&self) -> Vec<(f64, Vec<f64>)> {
        let n = self.on_new.len() as f64;
        let share_of_new = self.on_new.iter().filter(|on_new| **on_new).count() as f64 / n;
        let grown = grown_share(share_of_new);
        let weight = |on_new: bool| match on_new {
            true => grown / share_of_new,
            false => (1.0 - grown) / (1.0 - share_of_new),
        };
        let times = |values: &Vec<f64>| -> Vec<f64> {
            values.iter().zip(&self.on_new).map(|(value, on_new)| value * weight(*on_new)).collect()
        };
        self.trials.iter().map(|(share, values)| (*share, times(values))).collect()
    }

    /// Every share with the mean of its values.
    pub(crate) fn figures(&self) -> Vec<(f64, f64)> {
        self.trials.iter().map(|(share, values)| (*share, mean(values))).collect()
    }

    /// The share to keep, with the mean of its values; none where nothing was tried.
    pub(crate) fn kept(&self) -> Option<(f64, f64)> {
        let trials = self.weighted();
        let best = best_of(&trials)?;
        let is_as_good = |at: &usize| {
            *at == best
                || is_worth_it(&trials[*at].1, &trials[0].1) && !is_worth_it(&trials[best].1, &trials[*at].1)
        };
        let kept = (0..=best).find(is_as_good)?;
        let (share, values) = &self.trials[kept];
        Some((*share, mean(values)))
    }

    /// The share to keep for a model that will learn from more: all of what is learned, where that is better than the base by
    /// more than one standard error, and not worse by as much than the best share. The share that is best grows with what
    /// there is to learn from. All queries count once: that model has seen documents that are new here.
    pub(crate) fn kept_with_more(&self) -> Option<f64> {
        let best = best_of(&self.trials)?;
        let all = self.trials.iter().find(|(share, _)| *share == 1.0).map(|(_, values)| values);
        let (share, values) = &self.trials[best];
        let is_good = |all: &Vec<f64>| is_worth_it(all, &self.trials[0].1) && !is_worth_it(values, all);
        Some(if *share < 1.0 && all.is_some_and(is_good) { 1.0 } else { *share })
    }

    /// The same shares over the queries of all; none where the shares differ, or nothing was tried.
    pub(crate) fn joined(all: &[&Self]) -> Option<Self> {
        let (first, others) = all.split_first()?;
        let mut joined = (*first).clone();
        for other in others {
            if other.trials.len() != joined.trials.len() {
                return None;
            }
            joined.on_new.extend(&other.on_new);
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

/// The trial with the best mean of those that are better than the first by more than one standard error; else the first.
fn best_of(trials: &[(f64, Vec<f64>)]) -> Option<usize> {
    let (_, base) = trials.first()?;
    let mut best = (0, mean(base));
    for (at, (_, values)) in trials.iter().enumerate().skip(1) {
        if is_worth_it(values, base) && mean(values) > best.1 {
            best = (at, mean(values));
        }
    }
    Some(best.0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_base(values: &[f64]) -> ShareTrials {
        ShareTrials::of_base(values.to_vec(), vec![false; values.len()])
    }

    #[test]
    fn the_base_is_kept_unless_a_share_is_clearly_better() {
        let mut trials = of_base(&[0.5, 0.4, 0.3]);
        trials.push(0.5, vec![0.5, 0.5, 0.3]);
        assert_eq!(trials.kept().unwrap().0, 0.0, "0.033 with an error of 0.033");
        trials.push(1.0, vec![0.6, 0.5, 0.7]);
        trials.push(2.0, vec![0.7, 0.6, 0.5]);
        assert_eq!(trials.kept().unwrap().0, 1.0, "the smaller of equals");
        assert_eq!(ShareTrials::default().kept(), None);
    }

    #[test]
    fn with_more_to_learn_from_all_is_kept_where_it_is_about_as_good() {
        let mut trials = of_base(&[0.5, 0.4, 0.3]);
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
            let mut trials = of_base(&[0.5; 3]);
            trials.push(1.0, gains.iter().map(|gain| 0.5 + gain).collect());
            trials
        };
        let (a, b) = (trials([0.1, -0.06, 0.04]), trials([0.1, -0.05, 0.02]));
        assert_eq!((a.kept().unwrap().0, b.kept().unwrap().0), (0.0, 0.0));
        let joined = ShareTrials::joined(&[&a, &b, &a, &b]).unwrap();
        assert_eq!(joined.kept().unwrap().0, 1.0);
        assert_eq!(ShareTrials::joined(&[&a, &of_base(&[0.5])]), None);
        assert_eq!(ShareTrials::joined(&[]), None);
    }

    /// Two queries of eight depend on new documents, and count as half of the queries do.
    #[test]
    fn queries_with_new_documents_count_twice() {
        let values = |on_others: f64, on_new: f64| [vec![on_others; 6], vec![on_new; 2]].concat();
        let base = values(0.2, 0.4);
        let mut trials = ShareTrials::of_base(base.clone(), [vec![false; 6], vec![true; 2]].concat());
        trials.push(0.5, values(0.6, 0.4));
        trials.push(1.0, values(0.7, 0.2));
        // Means 0.55 and 0.575 as they are; 0.5 and 0.45 with new documents for half of the queries.
        let (share, figure) = trials.kept().unwrap();
        assert_eq!(share, 0.5);
        assert!((figure - 0.55).abs() < 1e-12, "figures are plain means, not {figure}");
        let means: Vec<f64> = trials.weighted().iter().map(|(_, values)| mean(values)).collect();
        for (mean, expected) in means.iter().zip([0.3, 0.5, 0.45]) {
            assert!((mean - expected).abs() < 1e-12, "{means:?}");
        }
        assert_eq!(best_of(&trials.trials), Some(2), "without weights");
        for on_new in [false, true] {
            trials.on_new = vec![on_new; 8];
            assert_eq!(trials.weighted()[0].1, base, "all queries are of one kind");
        }
    }

    #[test]
    fn the_smallest_share_is_kept_that_is_as_good_as_the_best() {
        let mut trials = of_base(&[0.1; 4]);
        trials.push(0.25, vec![0.3; 4]);
        trials.push(0.5, vec![0.4, 0.6, 0.4, 0.6]);
        trials.push(1.0, vec![0.5, 0.5, 0.6, 0.5]);
        // 1 is better than 0.5 by 0.025 with an error of 0.075, than 0.25 by 0.225 with an error of 0.025.
        assert_eq!(trials.kept().unwrap(), (0.5, 0.5));
    }
}
