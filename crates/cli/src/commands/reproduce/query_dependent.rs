//! `reproduce query-dependent-tables`: Tables 1 to 6 and Figure 1 of Dai and Wang, 2019.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::ensure;
use clap::ValueHint;
use matchrank_core::progress::Progress;
use matchrank_engine::rankers::query_dependent::QueryColumns;
use matchrank_engine::reproduce::query_dependent::tables::{self, CellFigures};
use matchrank_engine::reproduce::query_dependent::{letor, timing};
use serde_json::{Value, json};

use crate::commands::rankers::{parse_columns, read_lists};
use crate::terminal::{self, Format, Terminal, table, to_json};
use crate::{Global, Outcome};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Tables to reproduce, separated by commas: 1, 2, 3, 4 (seconds), 5, figure (1)
    #[arg(long, value_delimiter = ',', default_value = "1,2,3,5", value_name = "LIST")]
    tables: Vec<String>,
    /// Data sets per cell; the paper uses 50
    #[arg(long, default_value_t = 10, value_name = "N")]
    replicates: usize,
    /// Reproduce Table 6 instead, on judged lists: LETOR / SVMlight files
    #[arg(long, num_args = 1.., value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "tables")]
    letor: Vec<PathBuf>,
    /// Features of --letor that belong to queries, as in 5-7,20 [default: those that never differ within a query]
    #[arg(long, value_name = "LIST", value_parser = parse_columns, requires = "letor")]
    query_columns: Option<QueryColumns>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) const EXAMPLES: &str = "\
Examples:
  matchrank reproduce query-dependent-tables
  matchrank reproduce query-dependent-tables --tables 1,figure --replicates 50 --format csv
  matchrank reproduce query-dependent-tables --tables 4
  matchrank reproduce query-dependent-tables --letor train.txt --query-columns 5-7,20-22,35-37";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let (terminal, started) = (Terminal::new(global.quiet), Instant::now());
    ensure!(args.replicates >= 2, "--replicates must be at least 2, for a standard error");
    let mut parts = Vec::new();
    let mut all = serde_json::Map::new();
    if !args.letor.is_empty() {
        let lists = read_lists(&args.letor, &terminal)?;
        let columns = args.query_columns.clone().unwrap_or_default();
        let found = letor::reproduce(&lists, &columns, (args.replicates, global.seed), &terminal)?;
        terminal.note(&format!("query features: {}", numbers(&found.query_features)));
        parts.push(of_letor(&found, args.format));
        all.insert("table_6".into(), to_json(&found));
    } else {
        let mut cells = Vec::new();
        let mut timed = false;
        for name in &args.tables {
            match name.as_str() {
                "1" | "2" | "3" | "5" => cells.extend(tables::cells(name.parse()?)),
                "4" => timed = true,
                "figure" => cells.extend(tables::cells(0)),
                other => anyhow::bail!("--tables {other}: no such table; expected 1, 2, 3, 4, 5 or figure"),
            }
        }
        if !cells.is_empty() {
            let found = tables::reproduce(&cells, args.replicates, global.seed, &terminal)?;
            let (figure, of_tables): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|cell| cell.cell.table == 0);
            if !of_tables.is_empty() {
                parts.push(of_cells(&of_tables, args.format));
                all.insert("tables".into(), to_json(&of_tables));
            }
            if !figure.is_empty() {
                parts.push(box_plots(&figure, args.format));
                all.insert("figure".into(), to_json(&figure));
            }
        }
        if timed {
            let found = timing::reproduce(usize::MAX, global.seed, &terminal)?;
            parts.push(of_timing(&found, args.format));
            all.insert("table_4".into(), to_json(&found));
        }
    }
    terminal.done("reproduced", started);
    match args.format {
        Format::Json => terminal::print(&serde_json::to_string_pretty(&Value::Object(all))?)?,
        _ => terminal::print(&parts.join("\n\n"))?,
    }
    Ok(Outcome::Clean)
}

/// Writes feature numbers as ranges: 5-7,20 for 5, 6, 7, 20.
fn numbers(features: &[u32]) -> String {
    let runs = features.chunk_by(|a, b| a + 1 == *b);
    let run = |run: &[u32]| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}

/// Renders our figures with standard errors, next to the paper's.
fn of_cells(cells: &[CellFigures], format: Format) -> String {
    let mut rows = Vec::new();
    for CellFigures { cell, figures, gap, .. } in cells {
        for measure in tables::MEASURES {
            let mut row = vec![
                cell.table.to_string(),
                cell.group.clone(),
                format!("{:.1}", cell.gamma),
                shown(measure).to_owned(),
            ];
            for figure in figures.iter().filter(|figure| figure.measure == measure) {
                let (mean, error) = (figure.mean, figure.standard_error);
                match (format, figure.paper) {
                    (Format::Csv, paper) => {
                        row.extend([mean, error].map(|value| format!("{value:.4}")));
                        row.push(paper.map_or(String::new(), |(mean, _)| mean.to_string()));
                        row.push(paper.map_or(String::new(), |(_, error)| error.to_string()));
                    }
                    (_, Some((paper, paper_error))) => {
                        row.push(format!("{mean:.3} ({error:.3})  {paper:.2} ({paper_error:.3})"));
                    }
                    (_, None) => row.push(format!("{mean:.3} ({error:.3})")),
                }
            }
            row.push(format!("{gap:.1e}"));
            rows.push(row);
        }
    }
    let methods = ["rank-SVM", "indv-SVM", "kNN-SVM", "q-SVM"];
    let mut header: Vec<String> = ["table", "group", "gamma", "measure"].map(str::to_owned).to_vec();
    for method in methods {
        if format == Format::Csv {
            header.extend(["", " error", " paper", " paper error"].map(|part| format!("{method}{part}")));
        } else {
            header.push(format!("{method}  paper"));
        }
    }
    header.push("gap".into());
    table(&header.iter().map(String::as_str).collect::<Vec<_>>(), rows, format)
}

fn shown(measure: &str) -> &str {
    match measure {
        "mre" => "MRE",
        "err" => "1 - ERR",
        "ndcg" => "1 - NDCG",
        other => other,
    }
}

/// Renders Figure 1: the box plots as numbers; a text table also draws them from 0 to 0.6.
fn box_plots(cells: &[CellFigures], format: Format) -> String {
    let mut rows = Vec::new();
    for measure in ["mre", "err", "ndcg"] {
        for cell in cells {
            for figure in cell
                .figures
                .iter()
                .filter(|figure| figure.measure == measure && matches!(figure.method, "kNN-SVM" | "q-SVM"))
            {
                let mut row =
                    vec![shown(measure).to_owned(), cell.noise.to_string(), figure.method.to_owned()];
                row.extend(figure.box_plot.iter().map(|value| format!("{value:.3}")));
                if format == Format::Table {
                    row.push(drawn(&figure.box_plot));
                }
                rows.push(row);
            }
        }
    }
    let mut header =
        vec!["measure", "epsilon", "method", "least", "quartile", "median", "quartile", "largest"];
    if format == Format::Table {
        header.push("0 to 0.6");
    }
    table(&header, rows, format)
}

/// Draws a box plot, `  |--[=|=]--|`, sixty columns wide.
fn drawn(five: &[f64; 5]) -> String {
    let place = |value: f64| ((100.0 * value).round() as usize).min(60);
    let [least, first, median, third, most] = five.map(place);
    let mut line = vec![' '; 61];
    (least..=most).for_each(|i| line[i] = '-');
    (first..=third).for_each(|i| line[i] = '=');
    (line[least], line[most]) = ('|', '|');
    (line[first], line[third]) = ('[', ']');
    line[median] = '|';
    line.into_iter().collect::<String>().trim_end().to_owned()
}

fn of_timing(timings: &[timing::Timing], format: Format) -> String {
    let rows = timings.iter().map(|timing| {
        vec![
            timing.n_queries.to_string(),
            timing.n_documents.to_string(),
            timing.method.to_owned(),
            format!("{:.3}", timing.seconds),
            format!("{:.3}", timing.paper),
            format!("{:.1e}", timing.gap),
        ]
    });
    table(&["n", "N", "method", "seconds", "paper", "gap"], rows.collect(), format)
}

fn of_letor(found: &letor::QueryDependentReproduction, format: Format) -> String {
    let mut header = vec!["queries", "measure"];
    header.extend(found.methods.iter().map(String::as_str));
    let rows = found.rows.iter().map(|row| {
        let cells = row.figures.iter().map(|(mean, error)| format!("{mean:.3} ({error:.3})"));
        [row.group.to_owned(), row.measure.to_owned()].into_iter().chain(cells).collect::<Vec<_>>()
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    let seconds = found.seconds.iter().map(|seconds| format!("{seconds:.2}"));
    rows.push([String::new(), "seconds".into()].into_iter().chain(seconds).collect());
    if format == Format::Table {
        let paper = json!(letor::PAPER);
        for (group, name) in letor::GROUPS.iter().enumerate() {
            let cell = |method: usize| paper[group][0][method].to_string();
            let mut row = vec![format!("{name}, paper (Yahoo!)"), "MRE".to_owned()];
            row.extend((0..4).map(cell));
            row.resize(header.len(), String::new());
            rows.push(row);
        }
    }
    table(&header, rows, format)
}
