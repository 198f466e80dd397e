//! `reproduce errata`: corrections to the papers and the figures that show them.

use matchrank_engine::reproduce::errata::{self, Correction};

use crate::Outcome;
use crate::terminal::{self, Format, table, to_json};

pub(super) const EXAMPLES: &str = "\
Exit code 1 if a counterexample does not contradict its paper.

Examples:
  matchrank reproduce errata
  matchrank reproduce errata --format json";

#[derive(clap::Args)]
pub(super) struct Args {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let corrections = errata::corrections()?;
    let text = match args.format {
        Format::Table => corrections.iter().map(for_people).collect::<Vec<_>>().join("\n"),
        Format::Json => serde_json::to_string_pretty(&to_json(&corrections))?,
        Format::Csv => for_spreadsheets(&corrections),
    };
    terminal::print(&text)?;
    let all_hold = corrections.iter().all(|correction| correction.holds);
    Ok(if all_hold { Outcome::Clean } else { Outcome::Problems })
}

fn for_people(correction: &Correction) -> String {
    let mut text = format!(
        "{}, {}\n  printed: {}\n  correct: {}\n",
        correction.paper, correction.place, correction.printed, correction.correct
    );
    for figure in &correction.figures {
        text += &format!("  {:>10}  {}\n", shown(figure.value, Format::Table), figure.name);
    }
    if !correction.holds {
        text += "  These figures do not contradict the paper.\n";
    }
    text
}

fn for_spreadsheets(corrections: &[Correction]) -> String {
    let rows = corrections.iter().flat_map(|correction| {
        correction.figures.iter().map(|figure| {
            let cells = [correction.paper, correction.place, figure.name];
            let mut row: Vec<String> = cells.map(str::to_owned).to_vec();
            row.extend([shown(figure.value, Format::Csv), correction.holds.to_string()]);
            row
        })
    });
    table(&["paper", "place", "figure", "value", "holds"], rows.collect(), Format::Csv)
}

/// Formats a value with four decimals, and a negative zero as 0.
fn shown(value: f64, format: Format) -> String {
    let rounded = (value * 1e4).round() / 1e4;
    format.figure(if rounded == 0.0 { 0.0 } else { rounded }, 4)
}
