//! A comparison as tables for people, pages, papers and spreadsheets.

use std::fmt::Write;

use comfy_table::{CellAlignment, LineStyle, Table, presets};
use matchrank_core::measure::Measure;
use matchrank_core::message::counted;
use matchrank_engine::comparison::{Compared, Comparison, MeanOver};
use matchrank_engine::evidence::too_few;
use matchrank_engine::validation::Ranked;

use super::Format;
use crate::commands::eval::table::{by_traffic, letters};
use crate::terminal::with_flags;

/// Extent of a table for people.
#[derive(Clone, Copy, Default)]
pub(crate) struct Detail {
    /// Every measure by fold, not the first alone.
    pub(crate) per_fold: bool,
    /// Every measure with its marks, memory, and figures by every kind of query.
    pub(crate) wide: bool,
}

/// The table, and figures of the first measure by kind of query; a table for people has the details that it is asked for.
pub(crate) fn render(comparison: &Comparison, format: Format, detail: Detail) -> anyhow::Result<String> {
    let split = &comparison.split;
    let measures = if detail.per_fold { &split.measures[..] } else { &split.measures[..1] };
    let is_short = format == Format::Table && !detail.wide;
    let binned: Vec<Cells> = bins(comparison)
        .into_iter()
        .filter(|by| !is_short || *by == "fold")
        .flat_map(|by| measures.iter().map(move |measure| binned(comparison, by, measure)))
        .collect();
    Ok(match format {
        Format::Json => serde_json::to_string_pretty(comparison)?,
        Format::Csv => csv(comparison)?,
        Format::Table | Format::Markdown => {
            let cells = if is_short { short(comparison) } else { main(comparison, Marks::Superscripts) };
            let mut text = text_table(&cells, format);
            for cells in &binned {
                let _ = write!(text, "\n{}", text_table(cells, format));
            }
            text + "\n" + &choice(comparison) + &headline(comparison) + &legend(comparison, is_short)
        }
        Format::Latex => {
            let mut text = latex(&main(comparison, Marks::Latex));
            for cells in &binned {
                let _ = write!(text, "\n{}", latex(cells));
            }
            for line in legend(comparison, false).lines() {
                let _ = write!(text, "\n% {line}");
            }
            text
        }
    })
}

/// The model that the validation queries choose, and its lead over the baseline on the test queries.
fn choice(comparison: &Comparison) -> String {
    let Some(choice) = &comparison.chosen else { return String::new() };
    let measure = &comparison.split.measures[0];
    let figure = comparison.models.iter().find(|model| model.name == choice.name);
    let figure = figure.and_then(|model| model.test.get(measure)).copied().unwrap_or(f64::NAN);
    let mut text = format!(
        "chosen by validation: {} ({} {:.4})",
        choice.name, comparison.split.tuned_by, choice.validation
    );
    if too_few(comparison.split.test_queries).is_some() {
        return text + "; too few test queries to say what it is worth\n";
    }
    let _ = write!(text, "; test {measure} {figure:.4}");
    if let Some(lead) = &choice.lead {
        let [low, high] = lead.interval;
        let _ = write!(
            text,
            ", {:+.4} over {} (95 % interval {low:+.4} to {high:+.4})",
            lead.difference, lead.over
        );
    }
    for note in choice.notes() {
        let _ = write!(text, "\n{note}");
    }
    text + "\n"
}

/// Which model is best, and whether that is real.
fn headline(comparison: &Comparison) -> String {
    // Chance orders the models of so few queries.
    if too_few(comparison.split.test_queries).is_some() {
        return String::new();
    }
    let measure = &comparison.split.measures[0];
    let figure = |model: &Compared| model.test.get(measure).copied().unwrap_or(f64::NAN);
    let better = |a: &&Compared, b: &&Compared| figure(a).total_cmp(&figure(b));
    let lower = measure.parse::<Measure>().is_ok_and(|measure| !measure.higher_is_better());
    let models = comparison.models.iter();
    let Some(best) = (if lower { models.rev().min_by(better) } else { models.rev().max_by(better) }) else {
        return String::new();
    };
    let mut text = format!("best by {measure}: {}, {:.4}", best.name, figure(best));
    if let Some([low, high]) = best.intervals.get(measure) {
        let _ = write!(text, " (95 % interval {low:.4} to {high:.4})");
    }
    let others = comparison.models.iter().filter(|model| model.name != best.name);
    let level: Vec<&str> = others
        .map(|model| model.name.as_str())
        .filter(|name| !best.beats.iter().any(|b| b == name))
        .collect();
    match (comparison.models.len(), level.len()) {
        (1, _) => {}
        (_, 0) => text += "; significantly better than every other",
        (n, m) if n == m + 1 => text += "; not significantly better than any other",
        _ => {
            let _ = write!(text, "; not significantly better than {}", level.join(", "));
        }
    }
    text + "\n"
}

/// The groups of queries that are printed: by length is in the files.
fn bins(comparison: &Comparison) -> Vec<&'static str> {
    let known = |by: &&str| comparison.models.first().is_some_and(|model| model.bins.get(by).is_some());
    // A single kind divides nothing; of queries that are all seen, or all unseen, the table says that they are.
    let divides = |by: &&str| match *by {
        "documents" | "duplicates" => {
            comparison.models.iter().any(|m| m.bins.get(by).is_some_and(|bins| bins.len() > 1))
        }
        _ => true,
    };
    ["seen", "documents", "duplicates", "clicks", "fold"].into_iter().filter(known).filter(divides).collect()
}

/// A header and rows; the first `left` columns are texts.
struct Cells {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    left: usize,
}

#[derive(Clone, Copy)]
enum Marks {
    Superscripts,
    Latex,
}

fn letter(i: usize) -> String {
    letters(i).map(|l| l.0).collect()
}

/// The marks of the models that one beats by a measure.
fn beaten(comparison: &Comparison, model: &Compared, measure: &str, marks: Marks) -> String {
    let Some(beats) = model.beats_by.get(measure) else { return String::new() };
    let places =
        beats.iter().filter_map(|name| comparison.models.iter().position(|other| other.name == *name));
    match marks {
        Marks::Superscripts => superscripts(places.collect()),
        Marks::Latex => {
            let marks: String = places.map(letter).collect();
            if marks.is_empty() { marks } else { format!("$^{{{marks}}}$") }
        }
    }
}

/// Superscripts of models, ascending; three and more in a row are written as a range.
fn superscripts(mut places: Vec<usize>) -> String {
    places.sort_unstable();
    let mark = |place: usize| letters(place).map(|l| l.1).collect::<String>();
    let run = |run: &[usize]| match run {
        [first, .., last] if run.len() > 2 => format!("{}⁻{}", mark(*first), mark(*last)),
        run => run.iter().map(|&place| mark(place)).collect(),
    };
    places.chunk_by(|a, b| a + 1 == *b).map(run).collect()
}

/// Most measures of a short table.
const FEW_MEASURES: usize = 3;

/// Returns true if the test queries have held-out clicks.
fn has_traffic(comparison: &Comparison) -> bool {
    comparison.models.iter().any(|model| !model.by_traffic.is_empty())
}

/// The mean of a measure weighted by traffic.
fn weighted(model: &Compared, measure: &str) -> String {
    model.by_traffic.get(measure).map_or(String::new(), |figure| format!("{figure:.4}"))
}

/// The columns that most readers want, in at most 120 characters: the first measure with its marks, the others where there
/// are few, seen and unseen queries, queries with new documents, and costs.
fn short(comparison: &Comparison) -> Cells {
    let measures = &comparison.split.measures;
    let few = if measures.len() > FEW_MEASURES { &measures[..1] } else { &measures[..] };
    let groups = [
        ("seen", "seen", "seen"),
        ("seen", "unseen", "unseen"),
        ("documents", "no relevant document seen", "new documents"),
    ];
    let figure = |model: &Compared, (by, bin): (&str, &str)| {
        let bins = model.bins.get(by).filter(|bins| bins.len() > 1)?;
        bins.iter().find(|other| other.bin == bin).map(|bin| (bin.figures[&measures[0]], bin.queries))
    };
    let groups: Vec<_> = groups
        .into_iter()
        .filter_map(|(by, bin, name)| {
            let (_, queries) = figure(comparison.models.first()?, (by, bin))?;
            Some(((by, bin), format!("{name} ({queries})")))
        })
        .collect();
    let mut header: Vec<String> = vec![String::new(), "model".into()];
    header.extend(few.iter().cloned());
    let has_traffic = has_traffic(comparison);
    if has_traffic {
        header.insert(3, "by traffic".into());
    }
    header.extend(groups.iter().map(|(_, name)| name.clone()));
    header.extend(["validation", "seconds", "ms/query"].map(String::from));
    let row = |(i, model): (usize, &Compared)| {
        let mut row = vec![letter(i), model.name.clone()];
        row.extend(few.iter().enumerate().map(|(at, measure)| {
            let marks =
                if at == 0 { beaten(comparison, model, measure, Marks::Superscripts) } else { String::new() };
            format!("{:.4}{marks}", model.test[measure.as_str()])
        }));
        if has_traffic {
            row.insert(3, weighted(model, &measures[0]));
        }
        row.extend(groups.iter().map(|(group, _)| {
            figure(model, *group).map_or(String::new(), |(figure, _)| format!("{figure:.4}"))
        }));
        row.extend([
            model.validation.values().next().map_or(String::new(), |value| format!("{value:.4}")),
            format!("{:.1}", model.seconds + model.tuning_seconds),
            format!("{:.2}", model.latency.p50_ms),
        ]);
        row
    };
    Cells { header, rows: comparison.models.iter().enumerate().map(row).collect(), left: 2 }
}

fn main(comparison: &Comparison, marks: Marks) -> Cells {
    let measures = &comparison.split.measures;
    let mut header: Vec<String> = vec![String::new(), "model".into()];
    header.extend(measures.iter().cloned());
    let of_traffic = if has_traffic(comparison) { &measures[..] } else { &[] };
    header.extend(of_traffic.iter().map(|measure| format!("{measure} by traffic")));
    header.extend(["validation", "seconds", "tuning s", "MiB", "ms/query"].map(String::from));
    let row = |(i, model): (usize, &Compared)| {
        let mut row = vec![letter(i), model.name.clone()];
        row.extend(measures.iter().map(|measure| {
            format!("{:.4}{}", model.test[measure.as_str()], beaten(comparison, model, measure, marks))
        }));
        row.extend(of_traffic.iter().map(|measure| weighted(model, measure)));
        let validation =
            model.validation.values().next().map_or(String::new(), |value| format!("{value:.4}"));
        let peak = model.peak_mib.map_or(String::new(), |mib| format!("{mib:.0}"));
        row.extend([
            validation,
            format!("{:.1}", model.seconds),
            // A sum over no trials is -0.0.
            format!("{:.1}", model.tuning_seconds + 0.0),
            peak,
            format!("{:.2}", model.latency.p50_ms),
        ]);
        row
    };
    Cells { header, rows: comparison.models.iter().enumerate().map(row).collect(), left: 2 }
}

/// A measure by kind of query: Tables 6 and 7 of the papers.
fn binned(comparison: &Comparison, by: &str, measure: &str) -> Cells {
    let bins = comparison.models.first().and_then(|model| model.bins.get(by));
    let mut header = vec![format!("{measure} by {by}")];
    header.extend(bins.into_iter().flatten().map(|bin| format!("{} ({})", bin.bin, bin.queries)));
    let row = |model: &Compared| {
        let mut row = vec![model.name.clone()];
        let bins = model.bins.get(by).into_iter().flatten();
        row.extend(bins.map(|bin| format!("{:.4}", bin.figures[measure])));
        row
    };
    Cells { header, rows: comparison.models.iter().map(row).collect(), left: 1 }
}

fn text_table(cells: &Cells, format: Format) -> String {
    let mut table = Table::new();
    let lines = presets::UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none());
    table.load_style(if format == Format::Markdown { presets::ASCII_MARKDOWN } else { lines });
    table.set_header(&cells.header);
    table.add_rows(&cells.rows);
    for column in table.column_iter_mut().skip(cells.left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

fn latex(cells: &Cells) -> String {
    let escape = |cell: &String| if cell.contains('$') { cell.clone() } else { escaped(cell) };
    let line = |cells: &[String]| cells.iter().map(escape).collect::<Vec<_>>().join(" & ");
    let columns = "l".repeat(cells.left) + &"r".repeat(cells.header.len() - cells.left);
    let mut text =
        format!("\\begin{{tabular}}{{{columns}}}\n\\toprule\n{} \\\\\n\\midrule\n", line(&cells.header));
    for row in &cells.rows {
        let _ = writeln!(text, "{} \\\\", line(row));
    }
    text + "\\bottomrule\n\\end{tabular}\n"
}

/// Text as LaTeX prints it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// One line a model and a group of queries, with every figure.
fn csv(comparison: &Comparison) -> anyhow::Result<String> {
    let measures = &comparison.split.measures;
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut header: Vec<String> = ["model", "kind", "group", "bin", "queries"].map(String::from).into();
    header.extend(measures.iter().cloned());
    header.extend(measures.iter().flat_map(|name| [format!("{name} low"), format!("{name} high")]));
    let of_traffic = if has_traffic(comparison) { &measures[..] } else { &[] };
    header.extend(of_traffic.iter().map(|measure| format!("{measure} by traffic")));
    header.extend(
        ["validation", "seconds", "tuning_seconds", "peak_mib", "model_mib", "p50_ms", "p95_ms", "beats"]
            .map(String::from),
    );
    out.write_record(&header)?;
    for model in &comparison.models {
        let start = |group: &str, bin: &str, queries: usize| -> Vec<String> {
            vec![model.name.clone(), model.kind.clone(), group.into(), bin.into(), queries.to_string()]
        };
        let mut row = start("all", "", comparison.split.test_queries);
        row.extend(measures.iter().map(|name| model.test[name.as_str()].to_string()));
        row.extend(measures.iter().flat_map(|name| {
            let interval = model.intervals.get(name).map(|ends| ends.map(|end| end.to_string()));
            interval.unwrap_or_default()
        }));
        let figure = |name: &String| model.by_traffic.get(name).map_or(String::new(), f64::to_string);
        row.extend(of_traffic.iter().map(figure));
        row.extend([
            model.validation.values().next().map_or(String::new(), |value| value.to_string()),
            model.seconds.to_string(),
            model.tuning_seconds.to_string(),
            model.peak_mib.map_or(String::new(), |mib| mib.to_string()),
            model.model_mib.to_string(),
            model.latency.p50_ms.to_string(),
            model.latency.p95_ms.to_string(),
            model.beats.join(" "),
        ]);
        out.write_record(&row)?;
        for (group, bins) in model.bins.iter() {
            for bin in bins {
                let mut row = start(group, &bin.bin, bin.queries);
                row.extend(measures.iter().map(|name| bin.figures[name.as_str()].to_string()));
                row.resize(header.len(), String::new());
                out.write_record(&row)?;
            }
        }
    }
    Ok(String::from_utf8(out.into_inner()?)?.trim_end().to_owned())
}

fn legend(comparison: &Comparison, is_short: bool) -> String {
    let split = &comparison.split;
    let test = match split.test.as_str() {
        "t" => "paired t-test",
        "sign" => "sign test",
        "fisher" => "Fisher's randomisation test",
        _ => "Wilcoxon's signed-rank test",
    };
    let ranked = match split.ranked {
        _ if comparison.data.statistics.is_none() => {
            "each by a ranker that was trained and chosen on other folds"
        }
        Ranked::Judged => "the judged documents of each query are ranked",
        Ranked::All => "the whole collection is ranked, documents that nobody judged count as irrelevant",
    };
    let (trained, timed) = match &comparison.data.statistics {
        Some(_) => ("one training", "the ten best of the collection"),
        None => ("training on all folds", "the scores of a list"),
    };
    let means = match split.mean_over {
        MeanOver::Queries => String::new(),
        MeanOver::Folds => {
            let n = comparison.models.first().and_then(|model| model.bins.get("fold")).map_or(0, Vec::len);
            format!(
                "figures are means over {}, as LETOR's are, not over all queries; intervals and tests are over \
                 queries\n",
                counted(n, "fold")
            )
        }
    };
    let again = match &split.chosen_on {
        Some(name) => format!(
            "\neverything was chosen on {name}, then trained again on {}: validation is of the models before that",
            comparison.data.name
        ),
        None if split.folds.is_some() => format!(
            "\nthese are the training and validation queries, in {}: each is ranked by models that have not seen it; with what \
             was chosen, models are trained on all of them",
            counted(split.folds.unwrap_or(0), "fold")
        ),
        None if split.refit => {
            "\nrankers were trained again on the training and validation folds with what was chosen: \
             validation is of those before that"
                .to_owned()
        }
        None => String::new(),
    };
    let noted = comparison
        .models
        .iter()
        .flat_map(|model| model.notes.iter().map(move |note| format!("\n{}: {note}", model.name)));
    let noted: String = noted.collect();
    let left_out =
        comparison.left_out.iter().map(|(name, why)| format!("\nleft out: {name}: {}", with_flags(why)));
    let mut left_out: String = left_out.collect();
    if !comparison.unfinished.is_empty() {
        let _ = write!(
            left_out,
            "\ninterrupted, not made yet: {}; the same command goes on",
            comparison.unfinished.join(", ")
        );
    }
    let evidence = comparison.evidence().map_or(String::new(), |evidence| evidence + "\n");
    let traffic = match split.held_out_clicks {
        Some(clicks) => {
            format!("{}\n{}\n", by_traffic(&split.measures[0], true), clicks.sentence())
        }
        None => String::new(),
    };
    let costs = if is_short {
        format!("seconds: of tuning and {trained}; ms/query: {timed}, median; more figures: --wide")
    } else {
        format!("seconds: {trained}; MiB: most memory of the process meanwhile; ms/query: {timed}, median")
    };
    format!(
        "{evidence}ᵃ: better than model a ({test}, Holm-corrected p < {})\n\
         {}, measured once; {ranked}\n\
         {traffic}{means}validation: {} over {}, on which parameters were chosen; {costs}{again}{noted}{left_out}",
        split.level,
        counted(split.test_queries, "test query"),
        split.tuned_by,
        counted(split.validation_queries, "query")
    )
}
