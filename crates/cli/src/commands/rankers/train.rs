//! `train` for rankers of feature lists: a subcommand for every kind in the table of rankers.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args as _, Command, FromArgMatches, Subcommand};
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_engine::by_name::ByName;
use matchrank_engine::json::Json;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::rankers::query_dependent::{QueryColumns, QueryInput};
use matchrank_engine::rankers::registry::{self, RANKERS};
use matchrank_engine::rankers::{
    Cell, Chosen, Lessons, RankerKind, RankerRecipe, RankingModel, Scalings, TrainingCourse,
};
use matchrank_engine::{Error, files};
use serde_json::json;

use super::{ScalingName, TrainingLists, Weights, parse_columns, read_table};
use crate::commands::train::settings::{of_set, parse_setting};
use crate::terminal::{self, Format, Terminal, long_help, table};
use crate::{Global, Outcome};

/// A ranker to train, and all that its command line says.
pub(crate) struct Model {
    kind: &'static RankerKind,
    lists: TrainingLists,
    /// The value of the parameter that names variants.
    variant: Option<String>,
    queries: Option<QueryArgs>,
    scaling: Option<ScalingName>,
    weights: Option<Weights>,
    output: Output,
    curve: Option<PathBuf>,
}

#[derive(clap::Args)]
struct QueryArgs {
    /// Features that belong to queries, as in 5-7,20 [default: those that never differ within a query]
    #[arg(long, value_name = "LIST", value_parser = parse_columns)]
    query_columns: Option<QueryColumns>,
    /// Query features in a file of their own: `query<TAB>name<TAB>...`, names with :category or :ranking where they
    /// are no numbers
    #[arg(long, value_name = "FILE", conflicts_with = "query_columns")]
    query_features: Option<PathBuf>,
}

#[derive(clap::Args)]
struct ScalingArgs {
    /// Scaling of features
    #[arg(long, value_enum, value_name = "HOW", default_value = "min_max")]
    scaling: ScalingName,
}

#[derive(clap::Args)]
struct Output {
    /// Model file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Set a parameter of the model
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    settings: Vec<(String, Json)>,
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const CURVE: &str = "curve";

impl Subcommand for Model {
    fn augment_subcommands(command: Command) -> Command {
        RANKERS.iter().fold(command, |command, kind| command.subcommand(of_kind(kind)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        registry::find(name).is_some()
    }
}

impl FromArgMatches for Model {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = matches.subcommand().and_then(|(name, args)| Some((registry::find(name)?, args)));
        let Some((kind, args)) = chosen else {
            return Err(clap::Error::new(clap::error::ErrorKind::MissingSubcommand));
        };
        let takes = &kind.takes;
        let scales = takes.scalings != Scalings::None;
        Ok(Self {
            kind,
            lists: TrainingLists::from_arg_matches(args)?,
            variant: kind.variants.and_then(|variants| args.get_one::<String>(variants.param).cloned()),
            queries: takes.query_features.then(|| QueryArgs::from_arg_matches(args)).transpose()?,
            scaling: if scales { Some(ScalingArgs::from_arg_matches(args)?.scaling) } else { None },
            weights: takes.query_weights.then(|| Weights::from_arg_matches(args)).transpose()?,
            output: Output::from_arg_matches(args)?,
            curve: kind.curve.and_then(|_| args.get_one::<PathBuf>(CURVE).cloned()),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The subcommand of a kind, with the options that the kind takes.
fn of_kind(kind: &RankerKind) -> Command {
    let mut command = TrainingLists::augment_args(Command::new(kind.name));
    if let Some(variants) = kind.variants {
        let values =
            variants.values.iter().map(|(name, help)| clap::builder::PossibleValue::new(*name).help(*help));
        command = command.arg(
            Arg::new(variants.param)
                .long(variants.param)
                .value_name("HOW")
                .help(variants.help)
                .value_parser(PossibleValuesParser::new(values))
                .default_value(variants.values[0].0),
        );
    }
    if kind.takes.query_features {
        command = QueryArgs::augment_args(command);
    }
    match kind.takes.scalings {
        Scalings::None => {}
        Scalings::One => {
            command = ScalingArgs::augment_args(command)
                .mut_arg("scaling", |arg| arg.help("How features are scaled; auto is for the other rankers"));
        }
        Scalings::Several => command = ScalingArgs::augment_args(command),
    }
    if kind.takes.query_weights {
        command = Weights::augment_args(command);
    }
    command = Output::augment_args(command);
    if let Some(shows) = kind.curve {
        let arg = Arg::new(CURVE).long(CURVE).value_name("FILE").value_parser(clap::value_parser!(PathBuf));
        command = command.arg(arg.help(format!("Write {shows}, to this CSV file")));
    }
    // Last, because each group of options sets a text of its own.
    command
        .about(kind.summary)
        .long_about(long_help(kind.summary, kind.help, kind.parameters, &[]))
        .after_help(examples(kind))
}

fn examples(kind: &RankerKind) -> String {
    let lines = kind.examples.iter().map(|example| format!("\n  matchrank train {} {example}", kind.name));
    format!("Examples:{}", lines.collect::<String>())
}

pub(crate) fn run(model: Model, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let Model { kind, lists, queries, weights, output, curve, .. } = &model;
    let query_features = queries.as_ref().and_then(|queries| queries.query_features.as_ref());
    let inputs = lists.files().chain(weights.iter().flat_map(Weights::files)).chain(query_features);
    check_outputs(inputs, [&output.out].into_iter().chain(curve))?;
    let recipe = model.recipe(&terminal)?;
    let (mut train, validation) = lists.read(&terminal)?;
    let query_weights = match weights {
        Some(weights) => weights.weigh(&mut train, &terminal)?,
        None => None,
    };
    let counts =
        [("lists", train.n_queries()), ("documents", train.n_rows()), ("features", train.n_features())];
    let table = query_features.map(|path| read_table(path)).transpose()?;
    let columns = queries.as_ref().and_then(|queries| queries.query_columns.clone()).unwrap_or_default();
    let mut lessons = Lessons::new(train);
    lessons.validation = validation.map(|validation| (validation, lists.measure));
    lessons.query_weights = query_weights.as_deref();
    lessons.query = table.as_ref().map_or(QueryInput::Columns(&columns), QueryInput::Table);
    lessons.seed = global.seed;
    let trained = recipe.train(lessons, &terminal).map_err(|error| lists.blamed(error))?;
    let data: ByName<Json> = counts.iter().map(|(name, n)| ((*name).to_owned(), Json::of(n))).collect();
    let provenance = Provenance {
        seed: kind.is_seeded.then_some(global.seed),
        data: data.iter().map(|(name, n)| (name.clone(), n.clone())).collect(),
        ..Provenance::default()
    };
    model_file::save(&output.out, &*trained, &provenance)?;
    terminal.finish();
    if let Some(path) = curve {
        write_curve(path, &*trained)?;
        terminal.say(&format!("wrote {}", path.display()));
    }
    let measure = lists.measure.to_string();
    let course = trained.course(&measure);
    course.notes.iter().for_each(|note| terminal.note(note));
    match output.format {
        Format::Json => {
            let mut summary = json!({
                "model": kind.name, "file": files::name_of(&output.out), "data": data, "validation_measure": measure,
            });
            let details = serde_json::to_value(&course.details)?;
            let summary_fields = summary.as_object_mut().expect("an object");
            summary_fields.extend(details.as_object().cloned().unwrap_or_default());
            summary_fields.insert("seconds".to_owned(), started.elapsed().as_secs_f64().into());
            terminal::print(&serde_json::to_string_pretty(&summary)?)?;
        }
        format => {
            if format == Format::Table {
                let counts = counts.map(|(name, n)| counted(n, name.trim_end_matches('s'))).join(", ");
                let size = if course.size.is_empty() { String::new() } else { format!("; {}", course.size) };
                terminal::print(&format!("{}: {counts}{size}", kind.name))?;
            }
            if !course.rows.is_empty() {
                terminal::print(&text_of(&course, kind, format))?;
            }
            terminal.done(&format!("wrote {}", output.out.display()), started);
        }
    }
    Ok(Outcome::Clean)
}

impl Model {
    /// The ranker with its settings. What validation would choose has a value of its own where there is none.
    fn recipe(&self, terminal: &Terminal) -> anyhow::Result<RankerRecipe> {
        let Self { kind, lists, scaling, output, variant, .. } = self;
        let scalings = scaling.map_or(&[][..], ScalingName::kinds);
        if kind.takes.scalings == Scalings::One && scalings.len() > 1 {
            bail!("--scaling auto is for rankers with one function; name one scaling");
        }
        let mut settings = output.settings.clone();
        let is_set = |name: &str| output.settings.iter().any(|(set, _)| set == name);
        if let (Some(variants), Some(variant)) = (kind.variants, variant) {
            if is_set(variants.param) {
                bail!("--set {0}: use --{0} {variant}", variants.param);
            }
            settings.push((variants.param.to_owned(), variant.as_str().into()));
        }
        let unchosen = kind.chosen.filter(|chosen| !lists.has_validation() && !is_set(chosen.param));
        if let Some(Chosen { param, otherwise: Some(value), .. }) = unchosen {
            settings.push((param.to_owned(), Json::of(&value)));
        }
        let recipe = RankerRecipe::new(kind.name, &settings, scalings).map_err(of_set)?;
        recipe.validate()?;
        if let Some(Chosen { param, what, .. }) = unchosen {
            terminal.note(&format!(
                "there are no validation lists to choose {what} by, so it is {} (--set {param}=... for another)",
                recipe.params().field(param).unwrap_or_default().plain()
            ));
        }
        Ok(recipe)
    }
}

/// The table of what was tried, with a sentence below it for people.
fn text_of(course: &TrainingCourse, kind: &RankerKind, format: Format) -> String {
    let is_for_people = format == Format::Table;
    let rows = course.rows.iter().filter(|row| row.is_brief || !is_for_people).map(|row| {
        let cell = |cell: &Cell| match cell {
            Cell::Text(text) => text.clone(),
            Cell::Count(n) => format.count(*n),
        };
        row.cells.iter().map(cell).collect()
    });
    let header: Vec<&str> = course.header.iter().map(String::as_str).collect();
    let mut text = table(&header, rows.collect(), format);
    if is_for_people && !course.closing.is_empty() {
        let more = if kind.curve.is_some() { " (--curve FILE has its course)" } else { "" };
        text += &format!("\n{}{more}", course.closing);
    }
    text
}

fn write_curve(path: &std::path::Path, model: &dyn RankingModel) -> anyhow::Result<()> {
    let (header, rows) = model.curve().unwrap_or_default();
    let text = table(&header, rows, Format::Csv);
    Ok(files::write_atomically(path, |out| {
        writeln!(out, "{text}").map_err(|e| Error::io(files::name_of(path), e))
    })?)
}
