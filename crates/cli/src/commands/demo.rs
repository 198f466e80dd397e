mod lists;
mod look;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use matchrank_core::message::counted;
use matchrank_core::progress::{Progress, WithoutNotes};
use matchrank_engine::comparison::{self, Comparison, Data, Plan};
use matchrank_engine::dataset::Dataset;
use matchrank_engine::files;
use matchrank_engine::model_file;
use matchrank_engine::rankers::boosted;
use matchrank_engine::report::{self, ReportParams, ReportSource};
use matchrank_server::{Keys, ModelSetting, ServiceSettings};
use serde::Serialize;

use self::look::Look;
use super::compare::{self, tables};
use super::simulate;
use crate::terminal::{self, Format, Terminal, table};
use crate::{Global, Outcome};

/// Show the whole story on a simulated shop, in less than a minute
///
/// Simulates a shop whose customers and merchants use different words, ingests its log, tunes and trains every model,
/// measures them once on the judged test queries, says which is better than which, and writes a page to look at.
/// Everything it makes stays in --out, to be looked at with the other commands.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  matchrank demo --out demo\n  matchrank demo --out demo --serve")]
pub(crate) struct Args {
    /// Folder for the log, the dataset, the models, the runs and the report; those of a former demo are replaced, and
    /// what else lies there stays
    #[arg(long, default_value = "matchrank-demo", value_name = "DIR")]
    out: PathBuf,
    /// Serve the models afterwards, with a search page, until Ctrl-C
    #[arg(long)]
    serve: bool,
    /// With --serve: address and port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7878", requires = "serve")]
    listen: SocketAddr,
    /// Output format of the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Marks a folder as a demo's, which a later demo may replace.
const MARK: &str = "demo.json";
/// Settings that are tried of every model.
const TRIALS: usize = 3;
const MODELS: [&str; 15] = [
    "bm25",
    "rm3",
    "clicks",
    "random-walk",
    "random-walk+bm25",
    "lsi-dt",
    "lsi-qd",
    "pls",
    "rmls",
    "ssi",
    "svdfeature",
    "bltm",
    "sparse-preference",
    "rmls+bm25",
    "stack",
];

/// Results of the demo.
#[derive(Serialize)]
struct Report {
    seed: u64,
    steps: Vec<Step>,
    /// The judged documents of each test query ranked: the papers' protocol.
    comparison: Comparison,
    /// Query-dependent rankers on simulated feature lists.
    lists: Vec<lists::Row>,
    /// Output of `explain`, `related` and `inspect` for the RMLS model.
    look: Look,
    /// The page.
    report: PathBuf,
}

#[derive(Serialize)]
struct Step {
    step: &'static str,
    result: String,
    seconds: f64,
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let out = &args.out;
    prepare(out)?;
    let report = story(out, global, &terminal)?;
    terminal.finish();
    let json = serde_json::to_string_pretty(&report)?;
    std::fs::write(out.join(MARK), &json).with_context(|| out.join(MARK).display().to_string())?;
    match args.format {
        Format::Json => terminal::print(&json)?,
        Format::Csv => terminal::print(&tables::render(
            &report.comparison,
            compare::Format::Csv,
            tables::Detail::default(),
        )?)?,
        Format::Table => {
            terminal::print(&text(&report)?)?;
            terminal::print(&next(out, &report.look, &lists::example(&out.join("lists"))?))?;
            terminal.done("demo", started);
            terminal::print(&format!("\nOpen this page in a browser: {}", report.report.display()))?;
        }
    }
    if args.serve {
        return serve(out, args.listen, global);
    }
    Ok(Outcome::Clean)
}

/// Serves the models of the demo, the richest first.
fn serve(out: &Path, listen: SocketAddr, global: &Global) -> anyhow::Result<Outcome> {
    let mut settings = ServiceSettings::default();
    settings.data = out.join("dataset");
    settings.listen = listen;
    for name in ["stack", "rmls+bm25", "rmls", "sparse-preference", "bm25"] {
        let file = Comparison::model(&out.join("comparison"), name);
        if file.is_file() {
            settings.model.push(ModelSetting::new(name, file));
        }
    }
    super::serve::serve(settings, Keys::default(), global)
}

fn prepare(out: &Path) -> anyhow::Result<()> {
    if out.exists() && out.read_dir().map_or(true, |mut entries| entries.next().is_some()) {
        if !out.join(MARK).is_file() {
            bail!("{} exists and is not a former demo; name another folder with --out", out.display());
        }
        // What the user put beside it stays.
        for made in ["log", "dataset", "comparison", "lists"] {
            match std::fs::remove_dir_all(out.join(made)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e).context(made),
                _ => {}
            }
        }
    }
    files::make_folder(out)?;
    // From here on the folder is a demo's, even if the demo is interrupted.
    std::fs::write(out.join(MARK), "{}").with_context(|| out.display().to_string())
}

fn story(out: &Path, global: &Global, terminal: &Terminal) -> anyhow::Result<Report> {
    let mut steps = Vec::new();
    let mut clock = Instant::now();
    let mut step = |step, result| {
        steps.push(Step { step, result, seconds: clock.elapsed().as_secs_f64() });
        clock = Instant::now();
    };

    let (simulated, manifest) = simulate::shop::log_and_dataset(global.seed, out, &WithoutNotes(terminal))?;
    let s = &manifest.statistics;
    step(
        "simulate, ingest",
        format!(
            "{}, {} of a log: {}, {}",
            counted(s.n_documents, "product"),
            counted(simulated.rows, "row"),
            counted(s.n_queries, "query"),
            counted(s.n_pairs, "pair")
        ),
    );

    let dataset = Dataset::open(&out.join("dataset"))?;
    let folder = out.join("comparison");
    let plan = plan()?;
    if !boosted::is_installed() {
        terminal
            .note("LightGBM is not installed (`pip install lightgbm`): the stack has ListNet, and no trees");
    }
    let data = Data { dataset: &dataset, refit: None };
    let comparison = comparison::compare(
        data,
        comparison::Course {
            plan: &plan,
            folder: &folder,
            seed: global.seed,
            stop: &|| false,
            progress: &WithoutNotes(terminal),
        },
    )?;
    step(
        "compare",
        format!(
            "{} tuned and trained, {}, {}",
            counted(comparison.models.len(), "model"),
            counted(comparison.split.test_queries, "test query"),
            counted(s.n_judgments[1], "judged pair")
        ),
    );

    let look = look(&folder, &dataset)?;
    let report = out.join("report.html");
    let bytes = report::write(
        ReportSource { folder: &folder, dataset: Some(&dataset) },
        &report,
        &ReportParams::default(),
        &WithoutNotes(terminal),
    )?;
    step("report", format!("{} ({:.1} MB)", report.display(), bytes as f64 / 1e6));

    let lists = lists::story(&out.join("lists"), global.seed)?;
    step("query-dependent", "40 queries with 50 documents of 40 features, four kinds of weights".into());
    Ok(Report { seed: global.seed, steps, comparison, lists, look, report })
}

/// All models, those that take longest with fewer tuples than by default.
fn plan() -> anyhow::Result<Plan> {
    let mut plan = Plan { trials: TRIALS, ..Plan::default() };
    plan.add_single("ssi", "ssi", vec![("tuples".into(), 20_000.into())])?;
    plan.add_single("sparse-preference", "sparse-preference", vec![("tuples".into(), 100_000.into())])?;
    for name in MODELS {
        plan.add(name)?;
    }
    let place = |name: &str| MODELS.iter().position(|other| *other == name);
    plan.models.sort_by_key(|model| place(&model.name));
    Ok(plan.finish()?)
}

/// A look at the RMLS model, by a test query that it answers without a shared word.
fn look(folder: &Path, dataset: &Dataset) -> anyhow::Result<Look> {
    let (model, _) = model_file::load(&Comparison::model(folder, "rmls"))?;
    let queries = Comparison::queries(folder)?;
    let entry = Comparison::entry(folder, "rmls")?;
    let ranked = queries.iter().zip(&entry.top).filter_map(|(query, top)| Some((query, top.first()?)));
    Look::new(&*model, dataset, ranked.map(|(query, (best, score))| (query, best.as_str(), *score)).collect())
}

fn text(report: &Report) -> anyhow::Result<String> {
    let steps = report
        .steps
        .iter()
        .map(|step| vec![step.step.to_owned(), step.result.clone(), format!("{:.2}", step.seconds)])
        .collect();
    Ok(format!(
        "{}\n\nThe judged documents of each test query, ranked (the papers' protocol):\n{}\n\n{}\n\n{}",
        table(&["step", "result", "seconds"], steps, Format::Table),
        tables::render(&report.comparison, compare::Format::Table, tables::Detail::default())?,
        lists::shown(&report.lists),
        report.look.text()
    ))
}

fn next(out: &Path, look: &Look, (listed, of_list): &(String, String)) -> String {
    let out = out.display();
    let Look { query, document, word, .. } = look;
    let models = format!("{out}/comparison/models");
    format!(
        "\nNext, on what was made here:\n  \
         matchrank compare --data {out}/dataset --models bm25,rmls,rmls+bm25+clicks --out {out}/comparison\n  \
         matchrank tune rmls --data {out}/dataset --strategy halving --trials 27\n  \
         matchrank eval --data {out}/dataset --run {out}/comparison/runs/bm25.run {out}/comparison/runs/stack.run\n  \
         matchrank inspect {models}/rmls.model\n  \
         matchrank related {word} --model {models}/rmls.model\n  \
         matchrank search --model {models}/stack.model --data {out}/dataset {word}\n  \
         matchrank explain --model {models}/rmls+bm25.model --data {out}/dataset --query '{query}' --document {document}\n  \
         matchrank doctor {out}/dataset\n  \
         matchrank explain --model {out}/lists/q.model --letor {out}/lists/test.txt --query-features {out}/lists/queries.tsv --query {listed} --document {of_list}\n  \
         matchrank train rmls --data {out}/dataset --set d=50 --out {out}/rmls-d50.model"
    )
}
