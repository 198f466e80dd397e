//! Features that are constant, or constant within every query.

use std::collections::HashMap;

use matchrank_core::data::{FeatureLists, FeatureMatrix};
use matchrank_core::message::{IS, counted, counted_with, thousands};

use super::finding::{Finding, Severity, listed};

/// Statistics of a column that has a nonzero value.
#[derive(Clone, Copy, Default)]
struct Column {
    value: f32,
    rows: usize,
    differs: bool,
    in_query: usize,
    value_in_query: f32,
    differs_in_query: bool,
    varies_within_a_query: bool,
}

pub(super) fn findings(lists: &FeatureLists) -> Vec<Finding> {
    if lists.n_rows() < 2 {
        return Vec::new();
    }
    let (ids, columns) = tally(lists);
    let constant = |c: &Column| !c.differs && c.rows == lists.n_rows();
    let zero = lists.n_features() - columns.iter().filter(|c| c.rows > 0).count();
    let seen = || ids.iter().zip(&columns).filter(|(_, c)| c.rows > 0);
    let same: Vec<u64> = seen().filter(|(_, c)| constant(c)).map(|(id, _)| *id).collect();
    let within: Vec<u64> =
        seen().filter(|(_, c)| !constant(c) && !c.varies_within_a_query).map(|(id, _)| *id).collect();

    let mut found = Vec::new();
    let dense = matches!(lists.features(), FeatureMatrix::Dense { .. });
    if zero > 0 {
        let which: Vec<u64> =
            ids.iter().zip(&columns).filter(|(_, c)| c.rows == 0).map(|(id, _)| *id).collect();
        let which = if dense { format!(" ({})", listed(&which)) } else { String::new() };
        found.push(Finding {
            severity: if dense { Severity::Warning } else { Severity::Info },
            code: "zero-feature",
            message: format!(
                "{} of {} {} 0 in every row{which}",
                counted(zero, "feature"),
                thousands(lists.n_features() as u64),
                if zero == 1 { "is" } else { "are" }
            ),
            count: zero as u64,
            lines: Vec::new(),
            fix: "nothing can be learned from it: remove it, or check how it was computed".into(),
        });
    }
    if !same.is_empty() {
        found.push(Finding {
            severity: Severity::Warning,
            code: "constant-feature",
            message: format!(
                "{} the same in every row ({})",
                counted_with(same.len(), "feature", IS),
                listed(&same)
            ),
            count: same.len() as u64,
            lines: Vec::new(),
            fix: "nothing can be learned from it: remove it, or check how it was computed".into(),
        });
    }
    let queries_with_a_choice = lists.iter().filter(|list| list.len() > 1).count();
    if !within.is_empty() && queries_with_a_choice > 1 {
        found.push(Finding {
            severity: Severity::Info,
            code: "query-level-feature",
            message: format!(
                "{} the same for all documents of a query ({})",
                counted_with(within.len(), "feature", IS),
                listed(&within)
            ),
            count: within.len() as u64,
            lines: Vec::new(),
            fix:
                "information on the query: a linear ranker cannot use it, a query-dependent one or trees can"
                    .into(),
        });
    }
    found
}

/// Collects statistics of the columns that occur, sorted by feature id.
fn tally(lists: &FeatureLists) -> (Vec<u64>, Vec<Column>) {
    let mut ids: Vec<u64> = Vec::new();
    let mut number: HashMap<u32, usize, foldhash::fast::FixedState> = HashMap::default();
    let dense = matches!(lists.features(), FeatureMatrix::Dense { .. });
    if dense {
        ids = (1..=lists.n_features() as u64).collect();
    }
    let mut columns = vec![Column::default(); ids.len()];
    let mut touched: Vec<usize> = Vec::new();
    for list in lists.iter() {
        for i in 0..list.len() {
            for (c, value) in list.row(i).entries() {
                let at = if dense {
                    c as usize
                } else {
                    *number.entry(c).or_insert_with(|| {
                        ids.push(u64::from(c) + 1);
                        columns.push(Column::default());
                        columns.len() - 1
                    })
                };
                let column = &mut columns[at];
                column.differs |= column.rows > 0 && column.value.to_bits() != value.to_bits();
                (column.value, column.rows) = (value, column.rows + 1);
                if column.in_query == 0 {
                    touched.push(at);
                    column.value_in_query = value;
                }
                column.differs_in_query |= column.value_in_query.to_bits() != value.to_bits();
                column.in_query += 1;
            }
        }
        for at in touched.drain(..) {
            let column = &mut columns[at];
            column.varies_within_a_query |= column.differs_in_query || column.in_query < list.len();
            (column.in_query, column.differs_in_query) = (0, false);
        }
    }
    let mut order: Vec<usize> = (0..ids.len()).collect();
    order.sort_by_key(|i| ids[*i]);
    (order.iter().map(|i| ids[*i]).collect(), order.iter().map(|i| columns[*i]).collect())
}
