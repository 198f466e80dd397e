//! `reproduce one-week`, `half-year`, `click-bins`, `mart-features`: the tables of matching, on simulated logs.
//!
//! All studies share one folder: the log of a preset is simulated once, and models are trained once ([`comparison`]).

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use matchrank_core::progress::Progress;
use matchrank_core::simulate::clicks::ClickParams;
use matchrank_engine::comparison::{self, Compared, Comparison, Data, Plan};
use matchrank_engine::dataset::Dataset;
use matchrank_engine::files;
use serde_json::{Map, Value, json};

use super::papers::{BINS, Published, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6, TABLE_7};
use crate::commands::simulate::{self, Preset};
use crate::terminal::{self, Format, Terminal, table};
use crate::{Global, Outcome, interrupt};

pub(super) const EXAMPLES: &str = "\
Examples:
  matchrank reproduce one-week
  matchrank reproduce click-bins --format csv
  matchrank reproduce mart-features --preset small
  matchrank reproduce one-week --data my-dataset --trials 9";

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder for the log, the dataset, the models and the results; existing ones are reused
    #[arg(long, default_value = "reproduction", value_name = "DIR")]
    pub(super) out: PathBuf,
    /// Learn from this dataset instead of a simulated log
    #[arg(long, value_name = "DATASET")]
    data: Option<PathBuf>,
    /// Models to train instead of those of the table
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    models: Vec<String>,
    /// Settings per model to try on the validation queries, its defaults included
    #[arg(long, default_value_t = 1, value_name = "N")]
    trials: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(clap::Args)]
pub(super) struct PresetArgs {
    /// Size and statistics of the log
    #[arg(long, value_enum, default_value = "one-week")]
    pub(super) preset: Preset,
    #[command(flatten)]
    pub(super) args: Args,
}

/// A table of the papers, and the models in it.
struct Study {
    title: String,
    models: &'static [&'static str],
    /// Names of the models in the papers, with their figures.
    published: Published,
}

const ONE_WEEK: &[&str] = &[
    "rmls",
    "pls",
    "svdfeature",
    "bltm",
    "ssi",
    "random-walk",
    "random-walk+bm25",
    "lsi-qd",
    "lsi-qd+bm25",
    "lsi-dt",
    "bm25",
];
/// Models that the authors could run, with PLS on words alone. SVDFeature is missing: it takes hours here.
const HALF_YEAR: &[&str] = &["rmls", "pls-words", "bltm", "bm25"];
/// Stacks of all methods but PLS and RMLS; with one of them; with both.
const ONE_WEEK_STACKS: &[&str] = &[
    "mart:bm25+random-walk+lsi-qd+lsi-dt+ssi+svdfeature+bltm",
    "mart:bm25+random-walk+lsi-qd+lsi-dt+ssi+svdfeature+bltm+pls",
    "mart:bm25+random-walk+lsi-qd+lsi-dt+ssi+svdfeature+bltm+rmls",
    "mart:bm25+random-walk+lsi-qd+lsi-dt+ssi+svdfeature+bltm+pls+rmls",
];
const HALF_YEAR_STACKS: &[&str] = &[
    "mart:bm25+random-walk+bltm",
    "mart:bm25+random-walk+bltm+pls-words",
    "mart:bm25+random-walk+bltm+rmls",
    "mart:bm25+random-walk+bltm+pls-words+rmls",
];

/// `one-week` and `half-year`.
pub(super) fn relevance(preset: Preset, args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let study = match preset {
        Preset::HalfYear => {
            Study { title: "Table 3: half year".into(), models: HALF_YEAR, published: TABLE_3 }
        }
        _ => Study { title: "Table 2: one week".into(), models: ONE_WEEK, published: TABLE_2 },
    };
    let (comparison, started) = made(&study, preset, args, global)?;
    show(&study, &comparison, args, |model| {
        let mut ours = figures(&model.test);
        ours.insert("map".into(), json!(model.test.get("map")));
        ours.insert("seconds".into(), json!(model.seconds));
        ours
    })?;
    done(args, global, started);
    Ok(Outcome::Clean)
}

/// `mart-features`.
pub(super) fn features(args: &PresetArgs, global: &Global) -> anyhow::Result<Outcome> {
    let study = match args.preset {
        Preset::HalfYear => {
            Study { title: "Table 5: MART, half year".into(), models: HALF_YEAR_STACKS, published: TABLE_5 }
        }
        _ => Study { title: "Table 4: MART, one week".into(), models: ONE_WEEK_STACKS, published: TABLE_4 },
    };
    let (mut comparison, started) = made(&study, args.preset, &args.args, global)?;
    // The table shows only the stacked models, under the names that the papers give them.
    comparison.models.retain(|model| model.name.starts_with("mart"));
    for (model, (name, _)) in comparison.models.iter_mut().zip(study.published) {
        (*name).clone_into(&mut model.name);
    }
    show(&study, &comparison, &args.args, |model| figures(&model.test))?;
    done(&args.args, global, started);
    Ok(Outcome::Clean)
}

/// `click-bins`.
pub(super) fn bins(args: &PresetArgs, global: &Global) -> anyhow::Result<Outcome> {
    let (study, published) = match args.preset {
        Preset::HalfYear => (
            Study {
                title: "Table 7: half year, by clicks of the query".into(),
                models: HALF_YEAR,
                published: TABLE_3,
            },
            TABLE_7,
        ),
        _ => (
            Study {
                title: "Table 6: one week, by clicks of the query".into(),
                models: ONE_WEEK,
                published: TABLE_2,
            },
            TABLE_6,
        ),
    };
    let (comparison, started) = made(&study, args.preset, &args.args, global)?;
    let rows: Vec<Value> = comparison
        .models
        .iter()
        .flat_map(|model| model.bins.get("clicks").into_iter().flatten().map(move |bin| (model, bin)))
        .map(|(model, bin)| {
            let place = BINS.iter().position(|label| *label == bin.bin);
            let paper = published.iter().find(|(name, _)| *name == model.name);
            let paper = place.zip(paper).map(|(place, (_, values))| &values[3 * place..3 * place + 3]);
            let mut row = Map::new();
            row.insert("model".into(), json!(model.name));
            row.insert("clicks".into(), json!(bin.bin));
            row.insert("queries".into(), json!(bin.queries));
            beside(&mut row, &figures(&bin.figures), paper);
            Value::Object(row)
        })
        .collect();
    print(&study.title, &rows, &comparison, args.args.format)?;
    done(&args.args, global, started);
    Ok(Outcome::Clean)
}

/// NDCG at the papers' positions.
fn figures(all: &comparison::Figures) -> Map<String, Value> {
    ["ndcg@1", "ndcg@3", "ndcg@5"].iter().map(|name| ((*name).to_owned(), json!(all.get(name)))).collect()
}

/// Adds our figures to a row, each followed by the papers'.
fn beside(row: &mut Map<String, Value>, ours: &Map<String, Value>, paper: Option<&[f64]>) {
    for (i, (name, value)) in ours.iter().enumerate() {
        row.insert(name.clone(), value.clone());
        if i < 3 {
            let theirs = paper.and_then(|values| values.get(i)).filter(|value| value.is_finite());
            row.insert(format!("paper {}", name.trim_start_matches("ndcg")), json!(theirs));
        }
    }
}

fn show(
    study: &Study,
    comparison: &Comparison,
    args: &Args,
    ours: impl Fn(&Compared) -> Map<String, Value>,
) -> anyhow::Result<()> {
    let rows: Vec<Value> = comparison
        .models
        .iter()
        .map(|model| {
            let mut row = Map::new();
            row.insert("model".into(), json!(model.name));
            let paper = study.published.iter().find(|(name, _)| *name == model.name);
            beside(&mut row, &ours(model), paper.map(|(_, values)| *values));
            row.insert("beats".into(), json!(model.beats.len()));
            Value::Object(row)
        })
        .collect();
    print(&study.title, &rows, comparison, args.format)
}

fn print(title: &str, rows: &[Value], comparison: &Comparison, format: Format) -> anyhow::Result<()> {
    if format == Format::Json {
        let all = json!({
            "table": title, "data": comparison.data.name, "queries": comparison.split.test_queries, "rows": rows,
            "left_out": comparison.left_out,
        });
        return terminal::print(&serde_json::to_string_pretty(&all)?);
    }
    let header: Vec<&str> = rows
        .first()
        .and_then(Value::as_object)
        .map_or(Vec::new(), |row| row.keys().map(String::as_str).collect());
    let cell = |name: &str, value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            let decimals = if name == "seconds" { 1 } else { 3 };
            format!("{:.decimals$}", number.as_f64().unwrap_or_default())
        }
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let cells = rows
        .iter()
        .filter_map(Value::as_object)
        .map(|row| row.iter().map(|(name, value)| cell(name, value)).collect())
        .collect();
    let mut text = String::new();
    if format == Format::Table {
        let _ = writeln!(text, "{title}; our figures on {}, next to the papers'", comparison.data.name);
    }
    text += &table(&header, cells, format);
    if format == Format::Table {
        let _ = write!(
            text,
            "\n{} test queries, their judged documents ranked. The papers' logs are not public: compare the order of the \
             models, not the values.",
            comparison.split.test_queries
        );
        for (name, why) in comparison.left_out.iter() {
            let _ = write!(text, "\nleft out: {name}: {why}");
        }
    }
    terminal::print(&text)
}

fn done(args: &Args, global: &Global, started: Instant) {
    if args.format == Format::Table {
        let terminal = Terminal::new(global.quiet);
        terminal.done(&format!("models and results are in {}", args.out.display()), started);
    }
}

/// Makes the comparison behind a table, or reuses an existing one.
fn made(
    study: &Study,
    preset: Preset,
    args: &Args,
    global: &Global,
) -> anyhow::Result<(Comparison, Instant)> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let mut plan = Plan { trials: args.trials, ..Plan::default() };
    let asked = args.models.iter().map(String::as_str);
    let models: Vec<&str> = if args.models.is_empty() { study.models.to_vec() } else { asked.collect() };
    if models.iter().any(|name| name.contains("pls-words")) {
        plan.add_single("pls-words", "pls", vec![("click_weight".to_owned(), 0.into())])?;
    }
    for name in models {
        plan.add(name)?;
    }
    let plan = plan.finish()?;
    let (data, out) = match &args.data {
        Some(data) => (data.clone(), args.out.join("own-data")),
        None => simulated(preset, &args.out, global, &terminal)?,
    };
    let dataset = Dataset::open(&data)?;
    interrupt::listen();
    let out = out.join("comparison");
    let data = Data { dataset: &dataset, refit: None };
    let mut comparison = comparison::compare(
        data,
        comparison::Course {
            plan: &plan,
            folder: &out,
            seed: global.seed,
            stop: &interrupt::asked,
            progress: &terminal,
        },
    )?;
    terminal.finish();
    comparison.data.name = match &args.data {
        Some(data) => data.display().to_string(),
        None => format!("a simulated log ({})", name_of(preset)),
    };
    // In the papers' order.
    let place =
        |model: &Compared| study.models.iter().position(|name| *name == model.name).unwrap_or(usize::MAX);
    comparison.models.sort_by_key(place);
    Ok((comparison, started))
}

pub(super) fn name_of(preset: Preset) -> &'static str {
    match preset {
        Preset::Small => "small",
        Preset::OneWeek => "one-week",
        Preset::HalfYear => "half-year",
    }
}

/// Returns the dataset of a preset and its folder. Simulates the log unless the dataset exists.
pub(super) fn simulated(
    preset: Preset,
    out: &Path,
    global: &Global,
    terminal: &Terminal,
) -> anyhow::Result<(PathBuf, PathBuf)> {
    let folder = out.join(name_of(preset));
    let (dataset, mark) = (folder.join("dataset"), folder.join("made.json"));
    let made =
        json!({ "version": env!("CARGO_PKG_VERSION"), "preset": name_of(preset), "seed": global.seed });
    let is_made = |text: String| serde_json::from_str::<Value>(&text).is_ok_and(|found| found == made);
    if std::fs::read_to_string(&mark).is_ok_and(is_made) && Dataset::open(&dataset).is_ok() {
        return Ok((dataset, folder));
    }
    terminal.note(&format!("simulating a click log ({})", name_of(preset)));
    let params = match preset {
        Preset::Small => ClickParams::small(),
        Preset::OneWeek => ClickParams::one_week(),
        Preset::HalfYear => ClickParams::half_year(),
    };
    files::make_folder(&folder)?;
    simulate::log_and_dataset(&params, global.seed, &folder, terminal)?;
    std::fs::write(&mark, made.to_string()).with_context(|| mark.display().to_string())?;
    Ok((dataset, folder))
}
