//! Human-readable results: a table with a legend, and the audit.

use std::fmt::Write;

use comfy_table::{CellAlignment, LineStyle, Table, presets};
use matchrank_core::measure::significance::Test;
use matchrank_core::measure::{Audit, Conventions, Gain, Missing, NoRelevant, Ties};
use matchrank_core::message::counted;

use super::Results;

#[rustfmt::skip]
/// Letters that exist as superscripts in common fonts; there is no q among them.
const LETTERS: [(char, char); 25] = [
    ('a', 'ᵃ'), ('b', 'ᵇ'), ('c', 'ᶜ'), ('d', 'ᵈ'), ('e', 'ᵉ'), ('f', 'ᶠ'), ('g', 'ᵍ'), ('h', 'ʰ'), ('i', 'ⁱ'),
    ('j', 'ʲ'), ('k', 'ᵏ'), ('l', 'ˡ'), ('m', 'ᵐ'), ('n', 'ⁿ'), ('o', 'ᵒ'), ('p', 'ᵖ'), ('r', 'ʳ'), ('s', 'ˢ'),
    ('t', 'ᵗ'), ('u', 'ᵘ'), ('v', 'ᵛ'), ('w', 'ʷ'), ('x', 'ˣ'), ('y', 'ʸ'), ('z', 'ᶻ'),
];

/// Returns the letters of the i-th run: a to z, then aa, bb and so on.
pub(crate) fn letters(i: usize) -> impl Iterator<Item = (char, char)> {
    std::iter::repeat_n(LETTERS[i % LETTERS.len()], 1 + i / LETTERS.len())
}

pub(super) fn render(results: &Results<'_>, markdown: bool) -> String {
    let many = results.test.is_some();
    let mut table = empty(markdown);
    let mut header: Vec<String> = if many { vec![String::new()] } else { Vec::new() };
    header.extend(["run", "queries"].map(String::from));
    let first_number = header.len() - 1;
    header.extend(results.measures.iter().map(ToString::to_string));
    // The first measure alone, so that the table stays narrow.
    let weighted = first_number + 2;
    if results.traffic.is_some() {
        header.insert(weighted, "by traffic".to_owned());
    }
    table.set_header(header);
    for (i, (name, e)) in results.names.iter().zip(&results.evaluations).enumerate() {
        let mut row = if many { vec![letters(i).map(|l| l.0).collect()] } else { Vec::new() };
        row.extend([name.clone(), e.audit.queries_in_mean.to_string()]);
        row.extend((0..e.measures.len()).map(|m| format!("{:.4}{}", e.mean(m), beaten(results, i, m))));
        if let Some(traffic) = &results.traffic {
            row.insert(weighted, format!("{:.4}", traffic.mean(e, 0)));
        }
        table.add_row(row);
    }
    align(&mut table, first_number);
    let mut text = format!("{table}\n");
    if let Some(bins) = &results.bins {
        let mut table = empty(markdown);
        table.set_header(["bin", "run", "queries"].map(String::from).into_iter().chain(measures(results)));
        let means: Vec<_> = results.evaluations.iter().map(|e| bins.means(e)).collect();
        let labels: Vec<Option<String>> = bins.labels().map(|l| Some(l.to_owned())).chain([None]).collect();
        for label in labels {
            for (name, bin) in results.names.iter().zip(&means) {
                for bin in bin.iter().filter(|b| b.label == label) {
                    let label = label.clone().unwrap_or("(none)".into());
                    let row = [label, name.clone(), bin.n_queries.to_string()];
                    table.add_row(row.into_iter().chain(bin.means.iter().map(|v| format!("{v:.4}"))));
                }
            }
        }
        align(&mut table, 2);
        let _ = write!(text, "\n{table}\n");
    }
    if results.per_query {
        let mut table = empty(markdown);
        table.set_header(["query", "run"].map(String::from).into_iter().chain(measures(results)));
        for (q, query) in results.evaluations[0].queries().enumerate() {
            for (name, e) in results.names.iter().zip(&results.evaluations) {
                let values = (0..e.measures.len()).map(|m| match e.value(q, m) {
                    Some(value) => format!("{value:.4}"),
                    None => "left out".to_owned(),
                });
                table.add_row([query.to_owned(), name.clone()].into_iter().chain(values));
            }
        }
        align(&mut table, 2);
        let _ = write!(text, "\n{table}\n");
    }
    text.push('\n');
    if let Some((test, level)) = results.test {
        let test = match test {
            Test::T => "paired t-test",
            Test::Sign => "sign test",
            Test::Fisher => "Fisher's randomisation test",
            Test::Wilcoxon => "Wilcoxon's signed-rank test",
        };
        let _ = writeln!(text, "ᵃ: better than run a ({test}, Holm-corrected p < {level})");
    }
    if let Some(traffic) = &results.traffic {
        let _ = writeln!(text, "{}", by_traffic(&results.measures[0].to_string(), results.test.is_some()));
        let _ = writeln!(text, "{}", traffic.total.sentence());
    }
    let _ = writeln!(text, "{}", dialect(&results.conventions));
    for (name, e) in results.names.iter().zip(&results.evaluations) {
        let _ = writeln!(text, "audit of {name}: {}", audit(&e.audit, &results.conventions));
    }
    text
}

/// Legend of the column of weighted means.
pub(crate) fn by_traffic(measure: &str, is_tested: bool) -> String {
    let tests = if is_tested { "; tests are of the plain mean" } else { "" };
    format!("by traffic: {measure}, every query weighted by its held-out clicks{tests}")
}

fn measures(results: &Results<'_>) -> impl Iterator<Item = String> {
    results.measures.iter().map(ToString::to_string)
}

fn empty(markdown: bool) -> Table {
    let mut table = Table::new();
    let lines = presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());
    table.load_style(if markdown { presets::ASCII_MARKDOWN } else { lines });
    table
}

/// Aligns columns of numbers to the right.
fn align(table: &mut Table, first_number: usize) {
    for column in table.column_iter_mut().skip(first_number) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// Returns superscripts of the runs that run `i` beats by measure `m`.
fn beaten(results: &Results<'_>, i: usize, m: usize) -> String {
    let Some((_, level)) = results.test else { return String::new() };
    let mut beaten: Vec<usize> = results.comparisons[m]
        .iter()
        .filter(|c| c.better == i && c.p_holm < level)
        .map(|c| c.worse)
        .collect();
    beaten.sort_unstable();
    beaten.into_iter().flat_map(letters).map(|l| l.1).collect()
}

fn dialect(c: &Conventions) -> String {
    let ties = match c.ties {
        Ties::Hash => "by a hash of the ids",
        Ties::Document => "by document id, descending",
        Ties::File => "in file order",
        Ties::Averaged => "averaged",
        Ties::Worst => "in the worst order",
        Ties::Best => "in the best order",
    };
    let gain = match c.gain {
        Gain::Exponential => "2^r - 1",
        Gain::Linear => "r",
    };
    format!("dialect {}: gain {gain}, tied scores {ties}", c.dialect)
}

/// Writes one line that says how often a convention rather than the ranking decided.
fn audit(audit: &Audit, c: &Conventions) -> String {
    let mut parts = vec![counted(audit.judged_queries, "judged query")];
    let no_relevant = match c.no_relevant {
        NoRelevant::LeftOut => "left out",
        NoRelevant::Zero => "count 0",
        NoRelevant::One => "count 1",
    };
    parts.push(format!("{} without a relevant document ({no_relevant})", audit.queries_without_relevant));
    if audit.queries_missing > 0 {
        let missing = if c.missing == Missing::Worst { "count as worst" } else { "left out" };
        parts.push(format!("{} missing from the run ({missing})", audit.queries_missing));
    }
    if audit.queries_unjudged > 0 {
        parts.push(format!("{} in the run without judgments (ignored)", audit.queries_unjudged));
    }
    if audit.relevant_not_returned > 0 {
        let (documents, queries) = (audit.relevant_not_returned, audit.queries_with_relevant_not_returned);
        parts.push(format!(
            "{} of {} missing from the run (never retrieved, or cut off)",
            counted(documents, "relevant document"),
            counted(queries, "query")
        ));
    }
    let (ties, queries) = (audit.deciding_ties, audit.queries_with_deciding_ties);
    parts.push(match ties {
        0 => "no tie decides a position".to_owned(),
        1 => "1 tie decides a position".to_owned(),
        _ => format!("{} decide a position, in {}", counted(ties, "tie"), counted(queries, "query")),
    });
    if 2 * audit.queries_all_relevant > audit.judged_queries {
        parts.push(format!(
            "for {} all ranked documents are relevant, so no order of them can be wrong: rank others, too",
            counted(audit.queries_all_relevant, "query")
        ));
    }
    parts.join("; ")
}
