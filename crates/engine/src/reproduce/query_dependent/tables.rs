//! Tables 1, 2, 3 and 5 and Figure 1, cell by cell.

use matchrank_core::progress::Progress;
use matchrank_core::ranking::query_dependent::{DocumentKernel, QueryForm};
use matchrank_core::simulate::query_dependent::{Example, ListsParams, Scenario, simulate};
use matchrank_core::{Error, Result};
use rayon::prelude::*;
use serde::Serialize;

use super::{METHODS, Outcome, Shares, SplitLists, params, run};

/// The paper's means and standard errors; its groups are scenarios, kinds of documents, or forms by example.
const PAPER: &str = include_str!("paper.csv");

/// One setting of the simulations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableCell {
    /// Number of the table; 0 for Figure 1.
    pub table: u8,
    /// Name in the table.
    pub group: String,
    /// Parameters of the simulation.
    #[serde(skip)]
    pub lists: ListsParams,
    /// Share of novel queries.
    pub gamma: f64,
    /// Scoring or ranking.
    pub form: QueryForm,
}

/// Figure of one method in one cell, by one measure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// The method.
    pub method: &'static str,
    /// `mre`, `err` or `ndcg`; the latter two as 1 - value.
    pub measure: &'static str,
    /// Mean over replicates.
    pub mean: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
    /// The paper's mean and standard error.
    pub paper: Option<(f64, f64)>,
    /// Least value, quartiles and largest value over replicates.
    pub box_plot: [f64; 5],
}

/// A cell with its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellFigures {
    /// The setting.
    pub cell: TableCell,
    /// epsilon.
    pub noise: f64,
    /// Every method by every measure, and MRE pooled over pairs.
    pub figures: Vec<Figure>,
    /// Largest relative duality gap of any tested function.
    pub gap: f64,
}

/// Returns the cells of Table 1, 2, 3 or 5, or those of Figure 1 for 0.
pub fn cells(table: u8) -> Vec<TableCell> {
    let cell = |group: String, lists: ListsParams, gamma: f64, form: QueryForm| TableCell {
        table,
        group,
        lists,
        gamma,
        form,
    };
    let gammas = [0.0, 0.1, 0.2];
    let linear = |scenario| ListsParams::of(Example::Linear, scenario);
    match table {
        1 | 2 => {
            let example = if table == 1 { Example::Linear } else { Example::Additive };
            let of = |scenario| gammas.map(|gamma| (scenario, gamma));
            Scenario::ALL
                .into_iter()
                .flat_map(of)
                .map(|(scenario, gamma)| {
                    cell(
                        format!("{scenario:?}"),
                        ListsParams::of(example, scenario),
                        gamma,
                        QueryForm::Scoring,
                    )
                })
                .collect()
        }
        3 => [("independent", false), ("dependent", true)]
            .into_iter()
            .flat_map(|(name, dependent)| gammas.map(|gamma| (name, dependent, gamma)))
            .map(|(name, dependent, gamma)| {
                cell(
                    name.into(),
                    ListsParams { dependent, ..linear(Scenario::III) },
                    gamma,
                    QueryForm::Scoring,
                )
            })
            .collect(),
        5 => [(1, Example::Linear), (2, Example::Additive)]
            .into_iter()
            .flat_map(|(number, example)| {
                [("scoring", QueryForm::Scoring), ("ranking", QueryForm::Ranking)].map(|(name, form)| {
                    cell(format!("{name}{number}"), ListsParams::of(example, Scenario::II), 0.0, form)
                })
            })
            .collect(),
        _ => [0.1, 0.3, 0.5, 0.7, 0.9]
            .map(|noise| {
                let lists = ListsParams { noise, ..linear(Scenario::III) };
                cell(format!("epsilon {noise}"), lists, 0.0, QueryForm::Scoring)
            })
            .to_vec(),
    }
}

/// Runs all methods on replicates of some cells, on all threads.
pub fn reproduce(
    cells: &[TableCell],
    replicates: usize,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Vec<CellFigures>> {
    if replicates < 2 {
        return Err(Error::Params("at least two replicates are needed for a standard error".into()));
    }
    let jobs: Vec<(usize, usize)> =
        (0..cells.len()).flat_map(|cell| (0..replicates).map(move |r| (cell, r))).collect();
    progress.begin("simulating and learning", Some(jobs.len() as u64), "data sets");
    let outcomes: Vec<Vec<Outcome>> = jobs
        .par_iter()
        .map(|&(cell, replicate)| {
            let outcome = one(&cells[cell], seed.wrapping_mul(1_000_003).wrapping_add(replicate as u64));
            progress.advance(1);
            outcome
        })
        .collect::<Result<_>>()?;
    let figures =
        cells.iter().zip(outcomes.chunks(replicates)).map(|(cell, outcomes)| summary(cell, outcomes));
    Ok(figures.collect())
}

/// Runs all methods on one data set. Cells with the same lists get the same data in each replicate.
fn one(cell: &TableCell, seed: u64) -> Result<Vec<Outcome>> {
    let made = simulate(&cell.lists, seed)?;
    let split =
        SplitLists::new(&made.lists, (&made.queries, Vec::new()), Shares::simulated(cell.gamma), seed)?;
    let kernel = match cell.lists.example {
        Example::Linear => DocumentKernel::Linear,
        Example::Additive => DocumentKernel::Gaussian,
    };
    METHODS.iter().map(|(_, weights)| run(&params(*weights, kernel, cell.form), &split, seed)).collect()
}

/// Names of the measures in the data; 1 - value for the second and third.
pub const MEASURES: [&str; 4] = ["mre", "err", "ndcg", "pooled mre"];

fn summary(cell: &TableCell, outcomes: &[Vec<Outcome>]) -> CellFigures {
    let mut figures = Vec::new();
    for (number, (method, _)) in METHODS.iter().enumerate() {
        for (m, measure) in MEASURES.into_iter().enumerate() {
            let value = |outcome: &Outcome| outcome.overall.get(m).copied().unwrap_or(outcome.pooled_mre);
            let values: Vec<f64> = outcomes.iter().map(|methods| value(&methods[number])).collect();
            let (mean, standard_error) = mean_and_error(&values);
            let paper = paper(cell, measure, number);
            let box_plot = quartiles(values);
            figures.push(Figure { method, measure, mean, standard_error, paper, box_plot });
        }
    }
    let gap = outcomes.iter().flatten().map(|outcome| outcome.gap).fold(0.0, f64::max);
    CellFigures { cell: cell.clone(), noise: cell.lists.noise, figures, gap }
}

/// Returns the mean and its standard error.
pub fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}

/// Returns the least value, the quartiles (interpolated between the nearest two values) and the largest value.
fn quartiles(mut values: Vec<f64>) -> [f64; 5] {
    values.sort_unstable_by(f64::total_cmp);
    [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| {
        let at = share * (values.len() - 1) as f64;
        let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
        low + (high - low) * at.fract()
    })
}

/// Returns the paper's figure.
fn paper(cell: &TableCell, measure: &str, method: usize) -> Option<(f64, f64)> {
    PAPER.lines().skip(1).find_map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().expect("the paper has numbers");
        let same = cells[0] == cell.table.to_string()
            && cells[1] == cell.group
            && number(2) == cell.gamma
            && cells[3] == measure;
        same.then(|| (number(4 + 2 * method), number(5 + 2 * method)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_the_tables_has_a_figure_of_the_paper() {
        for (table, n) in [(1, 12), (2, 12), (3, 6), (5, 4)] {
            let cells = cells(table);
            assert_eq!(cells.len(), n);
            for cell in &cells {
                for measure in ["mre", "err", "ndcg"] {
                    assert!(
                        (0..4).all(|method| paper(cell, measure, method).is_some()),
                        "{cell:?} {measure}"
                    );
                }
            }
        }
        assert_eq!(paper(&cells(1)[6], "mre", 3), Some((0.16, 0.003)));
        assert_eq!(cells(0).len(), 5);
    }

    #[test]
    fn means_errors_and_quartiles_by_hand() {
        let (mean, error) = mean_and_error(&[1.0, 2.0, 3.0]);
        assert!((mean - 2.0).abs() < 1e-12 && (error - (1.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(quartiles(vec![4.0, 1.0, 2.0, 3.0]), [1.0, 1.75, 2.5, 3.25, 4.0]);
    }
}
