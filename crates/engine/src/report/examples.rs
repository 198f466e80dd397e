//! Three queries before and after: the baseline's results next to those of the chosen model.
//!
//! A rule picks them, not a person. Queries are sorted by the difference of the first measure. The largest win, the median of
//! all wins and the largest loss are shown; of equal differences, the query that comes first in the data. Without wins the
//! median of all losses takes their place, without losses there is none to show.

use super::shown::Numbers;
use crate::comparison::{Entry, TestQuery};

/// Reason for which a query is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExampleKind {
    /// The median of the queries that the model wins.
    TypicalWin,
    /// The query that the model wins by most.
    LargestWin,
    /// The query that the model loses by most.
    LargestLoss,
    /// The median of the queries that the model loses; only if it wins none.
    TypicalLoss,
}

/// Results of a query with the baseline and with the chosen model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Example {
    /// Reason for which the query is shown.
    pub kind: ExampleKind,
    /// Number of the query among the test queries.
    pub query: usize,
    /// Its value with the baseline and with the model.
    pub values: [f64; 2],
    /// The best documents of the baseline and of the model, as numbers of [`Page::documents`](super::Page::documents), with
    /// their grades; None for documents that nobody judged.
    pub top: [Vec<(usize, Option<f32>)>; 2],
}

/// Picks the examples. `sign` is -1 for a measure that is better when smaller.
pub(super) fn pick(baseline: &[Option<f64>], model: &[Option<f64>], sign: f64) -> Vec<(ExampleKind, usize)> {
    let known = baseline.iter().zip(model).enumerate();
    let mut differences: Vec<(usize, f64)> = known
        .filter_map(|(query, (before, after))| Some((query, sign * ((*after)? - (*before)?))))
        .filter(|(_, difference)| *difference != 0.0)
        .collect();
    // The largest difference first, whether won or lost.
    differences.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    let (won, lost): (Vec<_>, Vec<_>) =
        differences.into_iter().partition(|(_, difference)| *difference > 0.0);
    let (largest, typical) = (
        |list: &[(usize, f64)]| list.first().copied(),
        |list: &[(usize, f64)]| {
            // Of a single query there is no other to show.
            (list.len() > 1).then(|| list[(list.len() / 2).max(1)])
        },
    );
    let picked = [
        (ExampleKind::TypicalWin, typical(&won)),
        (ExampleKind::LargestWin, largest(&won)),
        (ExampleKind::LargestLoss, largest(&lost)),
        (ExampleKind::TypicalLoss, typical(&lost).filter(|_| won.is_empty())),
    ];
    picked.into_iter().filter_map(|(kind, found)| Some((kind, found?.0))).collect()
}

/// Returns the examples with their results. `pair` is the baseline and the model.
pub(super) fn examples<'a>(
    pair: [&'a Entry; 2],
    queries: &[TestQuery],
    (measure, sign): (&str, f64),
    numbers: &mut Numbers<'a>,
) -> Vec<Example> {
    let [Some(before), Some(after)] = pair.map(|entry| entry.per_query.get(measure)) else {
        return Vec::new();
    };
    let mut examples = Vec::new();
    for (kind, query) in pick(before, after, sign) {
        let mut top = |entry: &'a Entry| {
            let list = entry.top[query].iter();
            list.map(|(id, _)| {
                let grade =
                    queries[query].judged.iter().find(|(judged, _)| judged == id).map(|(_, grade)| *grade);
                (numbers.number(id), grade)
            })
            .collect()
        };
        let values = [before[query], after[query]].map(|value| value.unwrap_or(f64::NAN));
        examples.push(Example { kind, query, values, top: [top(pair[0]), top(pair[1])] });
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(differences: &[f64]) -> Vec<(ExampleKind, usize)> {
        let after: Vec<Option<f64>> = differences.iter().map(|d| Some(0.5 + d)).collect();
        pick(&vec![Some(0.5); after.len()], &after, 1.0)
    }

    #[test]
    fn a_loss_is_shown_if_there_is_one() {
        use ExampleKind::{LargestLoss, LargestWin, TypicalLoss, TypicalWin};
        let all = picked(&[0.1, -0.2, 0.5, 0.0, 0.3, -0.4]);
        assert_eq!(all, [(TypicalWin, 4), (LargestWin, 2), (LargestLoss, 5)]);
        assert_eq!(picked(&[0.1, 0.5, 0.3]), [(TypicalWin, 2), (LargestWin, 1)]);
        assert_eq!(picked(&[0.2, -0.1]), [(LargestWin, 0), (LargestLoss, 1)]);
        assert_eq!(picked(&[-0.2, -0.1, 0.0]), [(LargestLoss, 0), (TypicalLoss, 1)]);
        assert!(picked(&[0.0, 0.0]).is_empty() && picked(&[]).is_empty());
        // Of equal ones the first; the typical win is another query than the largest.
        assert_eq!(picked(&[0.3, 0.3, 0.3, -0.3]), [(TypicalWin, 1), (LargestWin, 0), (LargestLoss, 3)]);
    }

    #[test]
    fn errors_are_won_when_they_shrink() {
        let (before, after) = ([Some(0.5), Some(0.5), None], [Some(0.1), Some(0.7), Some(0.0)]);
        let expected = [(ExampleKind::LargestWin, 0), (ExampleKind::LargestLoss, 1)];
        assert_eq!(pick(&before, &after, -1.0), expected);
    }
}
