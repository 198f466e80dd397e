//! Query features among the columns of feature lists.

use matchrank_core::data::{FeatureLists, List};
use matchrank_core::ranking::query_dependent::QueryFeatures;
use matchrank_core::{Error, Result};
use rayon::prelude::*;

/// Columns that are query features.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum QueryColumns {
    /// Those that are the same for all documents of each query, and not the same for all queries.
    #[default]
    Automatic,
    /// These, counted from 0.
    Named(Vec<u32>),
}

impl QueryColumns {
    /// The columns, ascending. None at all is an error.
    pub fn find(&self, lists: &FeatureLists) -> Result<Vec<u32>> {
        match self {
            Self::Automatic => {
                let found = constant_columns(lists);
                if found.is_empty() {
                    return Err(Error::Params(
                        "no feature is the same for all documents of each query and differs between queries; name query \
                         features (option `query-columns`), give them in a file (option `query-features`), or use weights that need none: \
                         uniform, individual"
                            .into(),
                    ));
                }
                Ok(found)
            }
            Self::Named(columns) => {
                let n = lists.n_features();
                if let Some(column) = columns.iter().find(|column| **column as usize >= n) {
                    return Err(Error::Params(format!(
                        "query feature {} is not in the lists; they have features 1 to {n}",
                        column + 1
                    )));
                }
                let mut columns = columns.clone();
                columns.sort_unstable();
                columns.dedup();
                if columns.is_empty() {
                    return Err(Error::Params("no query feature is named; name at least one".into()));
                }
                Ok(columns)
            }
        }
    }
}

/// Those of the columns that are not the same for all documents of each query.
pub(super) fn varying(columns: &[u32], lists: &FeatureLists) -> Vec<u32> {
    let varies = varies(lists);
    columns.iter().copied().filter(|&column| varies[column as usize]).collect()
}

/// Columns that are constant within every list, but not over all lists.
fn constant_columns(lists: &FeatureLists) -> Vec<u32> {
    let varies = varies(lists);
    let firsts: Vec<Vec<f32>> = lists.iter().map(|list| cells(&list, 0)).collect();
    let differs = |column: usize| firsts.iter().any(|row| row[column] != firsts[0][column]);
    let columns = (0..lists.n_features()).filter(|&column| !varies[column] && differs(column));
    columns.map(|column| column as u32).collect()
}

/// Returns true for each column that differs within a list.
fn varies(lists: &FeatureLists) -> Vec<bool> {
    let n = lists.n_features();
    (0..lists.n_queries())
        .into_par_iter()
        .fold(
            || vec![false; n],
            |mut varies, query| {
                let list = lists.list(query);
                let first = cells(&list, 0);
                for i in 1..list.len() {
                    let row = cells(&list, i);
                    varies
                        .iter_mut()
                        .zip(first.iter().zip(&row))
                        .for_each(|(varies, (a, b))| *varies |= a != b);
                }
                varies
            },
        )
        .reduce(|| vec![false; n], |a, b| a.iter().zip(&b).map(|(a, b)| a | b).collect())
}

fn cells(list: &List<'_>, i: usize) -> Vec<f32> {
    let mut cells = vec![0.0; list.n_features()];
    list.row(i).entries().for_each(|(column, x)| cells[column as usize] = x);
    cells
}

/// The query features of a list: the means of the columns over its documents, which are the values where they are constant.
pub(super) fn of_list(columns: &[u32], list: &List<'_>) -> Vec<f64> {
    let mut sums = vec![0.0; columns.len()];
    for i in 0..list.len() {
        for (column, x) in list.row(i).entries() {
            if let Ok(place) = columns.binary_search(&column) {
                sums[place] += f64::from(x);
            }
        }
    }
    sums.iter().map(|sum| sum / list.len() as f64).collect()
}

/// Factors of the numbers of queries: 1 / their standard deviation over the queries, 0 where they are all the same.
pub(super) fn factors(numbers: &[Vec<f64>]) -> Vec<f64> {
    let n = numbers.len() as f64;
    let width = numbers.first().map_or(0, Vec::len);
    let factor = |column: usize| {
        let mean = numbers.iter().map(|row| row[column]).sum::<f64>() / n;
        let variance = numbers.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / n;
        let deviation = variance.sqrt();
        if deviation > 1e-12 * mean.abs() { 1.0 / deviation } else { 0.0 }
    };
    (0..width).map(factor).collect()
}

/// The columns of all lists as query features, each divided by its standard deviation over the queries.
pub fn standardised(columns: &[u32], lists: &FeatureLists) -> Vec<QueryFeatures> {
    let numbers: Vec<Vec<f64>> = lists.iter().map(|list| of_list(columns, &list)).collect();
    let factors = factors(&numbers);
    let scale = |row: Vec<f64>| row.iter().zip(&factors).map(|(x, factor)| x * factor).collect();
    numbers.into_iter().map(|row| QueryFeatures::of_numbers(scale(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use matchrank_core::data::letor;
    use matchrank_core::progress::Silent;

    #[test]
    fn columns_that_are_constant_within_queries_are_found() {
        // 1 differs within query a, 2 is a query feature, 3 the same everywhere, 4 a sparse query feature.
        let text =
            b"1 qid:a 1:1 2:5 3:7\n0 qid:a 1:2 2:5 3:7\n1 qid:b 1:3 2:6 3:7 4:1\n0 qid:b 1:3 2:6 3:7 4:1\n";
        let lists = letor::parse("x", text, &Silent).unwrap();
        assert_eq!(QueryColumns::Automatic.find(&lists).unwrap(), [1, 3]);
        assert_eq!(QueryColumns::Named(vec![2, 0, 2]).find(&lists).unwrap(), [0, 2]);
        let error = QueryColumns::Named(vec![4]).find(&lists).unwrap_err().to_string();
        assert!(error.contains("query feature 5 is not in the lists"), "{error}");
        assert_eq!(of_list(&[0, 1], &lists.list(0)), [1.5, 5.0]);
        let features = standardised(&[1, 2], &lists);
        assert_eq!(
            (features[0].numbers.as_slice(), features[1].numbers.as_slice()),
            (&[10.0, 0.0][..], &[12.0, 0.0][..])
        );
        let none = letor::parse("x", b"1 qid:a 1:1\n0 qid:a 1:2\n", &Silent).unwrap();
        assert!(
            QueryColumns::Automatic.find(&none).unwrap_err().to_string().contains("option `query-features`")
        );
    }
}
