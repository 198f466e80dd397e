mod lists;
mod look;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use matchrank_core::matching::bm25::Bm25Params;
use matchrank_core::measure::{Conventions, Dialect, Measure, evaluate};
use matchrank_core::progress::Silent;
use matchrank_core::simulate::clicks::ClickParams;
use matchrank_engine::dataset::{BinBy, Dataset, HeldOut, Holdout};
use matchrank_engine::features::FeatureParams;
use matchrank_engine::ingest::{IngestParams, ingest};
use matchrank_engine::matching::{MatchingModel, TextBm25, WalkModel};
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::ranking::{Ranking, judged_candidates, rank_candidates, rank_collection, write_run};
use matchrank_engine::training::preference::{Choice, Chosen, Course, PreferenceSettings, train_preference};
use matchrank_engine::training::{
    SsiSettings, train_bltm, train_lsi_dt, train_lsi_qd, train_pls, train_rmls, train_ssi, train_svd_feature,
};
use matchrank_engine::validation::Ranked;
use serde::Serialize;

use self::look::Look;
use super::rank::held_out;
use super::simulate;
use super::train::combine;
use crate::terminal::{self, Format, Terminal, human, table};
use crate::{Global, Outcome};

/// Show the whole story on a simulated click log, in seconds
///
/// Simulates a small log, ingests it, trains what there is, ranks the judged test queries and prints what
/// the rankings are worth. Everything it makes stays in --out, to be looked at with the other commands.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  matchrank demo --out demo")]
pub(crate) struct Args {
    /// Folder for the log, the dataset, the models and the runs; those of a former demo are replaced, and
    /// what else lies there stays
    #[arg(long, default_value = "matchrank-demo", value_name = "DIR")]
    out: PathBuf,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Marks a folder as a demo's, which a later demo may replace.
const MARK: &str = "demo.json";
const MEASURES: &str = "ndcg@1,ndcg@3,ndcg@5,ndcg@10,map";

/// What the demo found.
#[derive(Serialize)]
struct Report {
    seed: u64,
    steps: Vec<Step>,
    /// The judged documents of each test query ranked: the papers' protocol.
    judged: Vec<Row>,
    /// The whole collection ranked.
    collection: Vec<Row>,
    /// Query-dependent rankers on simulated feature lists.
    lists: Vec<lists::Row>,
    /// What `explain`, `related` and `inspect` say of the RMLS model.
    look: Look,
}

#[derive(Serialize)]
struct Step {
    step: &'static str,
    result: String,
    seconds: f64,
}

#[derive(Serialize)]
struct Row {
    model: &'static str,
    queries: String,
    n_queries: usize,
    #[serde(serialize_with = "as_map")]
    measures: Vec<(String, f64)>,
}

fn as_map<S: serde::Serializer>(measures: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(measures.iter().map(|(name, value)| (name, value)))
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
        Format::Csv => terminal::print(&csv(&report))?,
        Format::Table => {
            terminal::print(&tables(&report))?;
            terminal::print(&format!("\n{}", report.look.text()))?;
            terminal::print(&next(out, &report.look, &lists::example(&out.join("lists"))?))?;
            terminal.done("demo", started);
        }
    }
    Ok(Outcome::Clean)
}

fn prepare(out: &Path) -> anyhow::Result<()> {
    if out.exists() && out.read_dir().map_or(true, |mut entries| entries.next().is_some()) {
        if !out.join(MARK).is_file() {
            bail!("{} exists and is not a former demo; name another folder with --out", out.display());
        }
        // What the user put beside it stays.
        for made in ["log", "dataset", "lists"] {
            match std::fs::remove_dir_all(out.join(made)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e).context(made),
                _ => {}
            }
        }
    }
    std::fs::create_dir_all(out).with_context(|| out.display().to_string())?;
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

    let log = out.join("log");
    std::fs::create_dir_all(&log)?;
    let clicks = log.join("clicks.csv");
    let simulated = simulate::write_files(&ClickParams::small(), global.seed, &log, &clicks, terminal)?;
    step("simulate", format!("{} rows of a click log", human(simulated.rows)));

    let params = IngestParams {
        clicks: vec![clicks],
        documents: vec![log.join("documents.jsonl")],
        queries: vec![log.join("queries.tsv")],
        judgments: vec![
            (Holdout::Validation, log.join("validation.qrels")),
            (Holdout::Test, log.join("test.qrels")),
        ],
        text: vec!["title".into(), "url".into()],
        seed: global.seed,
        ..IngestParams::default()
    };
    let manifest = ingest(&params, &out.join("dataset"), false, &Silent)?;
    let s = &manifest.statistics;
    let (queries, documents) = (human(s.n_queries), human(s.n_documents));
    step("ingest", format!("{queries} queries, {documents} documents, {} pairs", human(s.n_pairs)));

    let dataset = Dataset::open(&out.join("dataset"))?;
    let mut models: Vec<(&'static str, MatchingModel)> = Vec::new();
    for (name, verb) in MODELS {
        let model = train(name, &models, &dataset, global)?;
        let seed = (!matches!(name, "bm25" | "random-walk")).then_some(global.seed);
        model_file::save(
            &out.join(format!("{name}.model")),
            &model,
            &Provenance::of_dataset(&dataset, seed),
        )?;
        step(verb, trained(&model));
        models.push((name, model));
    }

    let test = held_out(&dataset, Holdout::Test)?;
    let candidates = judged_candidates(&test);
    let mut judged = rows(&test, "random order", &random_order(&test))?;
    let mut collection = Vec::new();
    let mut look = None;
    for (name, model) in &models {
        let ranked = rank_candidates(model, &dataset, &test.queries, &candidates, &Silent)?;
        judged.extend(rows(&test, name, &ranked)?);
        let ranked = rank_collection(model, &dataset, &test.queries, 1000, &Silent)?;
        write_run(&out.join(format!("{name}.run")), &ranked, name)?;
        collection.extend(rows(&test, name, &ranked)?);
        if *name == "rmls" {
            let clicked = (0..).zip(&ranked).filter(|(_, (_, list))| !list.is_empty());
            let most = clicked.max_by(|a, b| test.clicks[a.0].total_cmp(&test.clicks[b.0]));
            let (i, (_, list)) = most.context("the RMLS model ranked nothing")?;
            look = Some(Look::new(model, &dataset, &test.queries[i].text, &list[0].0)?);
        }
    }
    let (n_queries, n_pairs) = (human(test.queries.len() as u64), human(s.n_judgments[1]));
    step(
        "rank, evaluate",
        format!("{n_queries} test queries, {n_pairs} judged pairs, {documents} documents, gain 2^grade - 1"),
    );
    let look = look.expect("RMLS is among the models");
    let lists = lists::story(&out.join("lists"), global.seed)?;
    step(
        "train query-dependent",
        "40 queries with 50 documents of 40 features, four kinds of weights".into(),
    );
    Ok(Report { seed: global.seed, steps, judged, collection, lists, look })
}

/// The models of the demo, in the order they are trained, and what the step is called.
const MODELS: [(&str, &str); 13] = [
    ("bm25", "train bm25"),
    ("lsi-dt", "train lsi-dt"),
    ("lsi-qd", "train lsi-qd"),
    ("random-walk", "train random-walk"),
    ("pls", "train pls"),
    ("rmls", "train rmls"),
    ("ssi", "train ssi"),
    ("svdfeature", "train svdfeature"),
    ("bltm", "train bltm"),
    ("sparse-preference", "train sparse-preference"),
    ("pls+bm25", "train combination"),
    ("sparse-preference+bm25", "train combination"),
    ("rmls+bm25", "train combination"),
];

/// A model with its defaults, which are those of `train`; preferences with fewer tuples, and nothing to choose.
fn train(
    name: &str,
    former: &[(&'static str, MatchingModel)],
    dataset: &Dataset,
    global: &Global,
) -> anyhow::Result<MatchingModel> {
    if let Some((first, second)) = name.split_once('+') {
        let [first, second] = [first, second]
            .map(|part| &former.iter().find(|(name, _)| *name == part).expect("it was trained before").1);
        let silent = Terminal::new(true);
        let both = combine(first.clone(), second.clone(), Ranked::All, dataset, global, &silent)?;
        return Ok(MatchingModel::Combination(Box::new(both)));
    }
    let (seed, features) = (global.seed, FeatureParams::default());
    let latent = match name {
        "bm25" => {
            let model = TextBm25::of_dataset(&Bm25Params::default(), dataset)?;
            return Ok(MatchingModel::Bm25(model.into()));
        }
        "random-walk" => {
            let content_hash = dataset.manifest.content_hash.clone();
            return Ok(MatchingModel::RandomWalk(WalkModel { params: Default::default(), content_hash }));
        }
        "sparse-preference" => {
            let chosen = Chosen::default();
            let settings = PreferenceSettings {
                tuples: 100_000,
                margin: Choice::Given(chosen.margin),
                c: Choice::Given(chosen.c),
                lambda: Choice::Given(chosen.lambda),
                ..Default::default()
            };
            let course =
                Course { density: None, budget: Duration::ZERO, seed, stop: &|| false, checkpoint: None };
            let trained = train_preference(&settings, &Default::default(), dataset, None, &course, &Silent)?;
            return Ok(MatchingModel::Preference(Box::new(trained.model)));
        }
        "bltm" => {
            let model = train_bltm(&Default::default(), &Default::default(), dataset, seed, &Silent)?;
            return Ok(MatchingModel::Bltm(Box::new(model)));
        }
        "ssi" => {
            let settings = SsiSettings { tuples: 20_000, ..Default::default() };
            train_ssi(&settings, &features, dataset, seed, &Silent)?
        }
        "svdfeature" => train_svd_feature(&Default::default(), &features, dataset, seed, &Silent)?,
        "lsi-dt" => train_lsi_dt(&Default::default(), &Default::default(), dataset, seed, &Silent)?,
        "lsi-qd" => train_lsi_qd(&Default::default(), &Default::default(), dataset, seed, &Silent)?,
        "pls" => train_pls(&Default::default(), &features, dataset, seed, &Silent)?,
        _ => train_rmls(&Default::default(), &features, dataset, None, seed, &Silent)?,
    };
    Ok(MatchingModel::Latent(Box::new(latent)))
}

/// What training came to, in a few words.
fn trained(model: &MatchingModel) -> String {
    match model {
        MatchingModel::Bm25(model) => format!("{} words", human(model.words.vocabulary.len() as u64)),
        MatchingModel::Latent(model) => {
            let kept = model.report.best.map_or(String::new(), |best| format!(", iteration {best} kept"));
            let ndcg = model.report.validation.unwrap_or_default();
            format!("{} dimensions{kept}, validation NDCG@10 {ndcg:.4}", model.model.d())
        }
        MatchingModel::Preference(model) => {
            let ndcg = model.report.validation.unwrap_or_default();
            format!("{} weights, validation NDCG@10 {ndcg:.4}", human(model.w.nnz() as u64))
        }
        MatchingModel::Bltm(model) => {
            let ndcg = model.report.validation.unwrap_or_default();
            format!("{} topics, validation NDCG@10 {ndcg:.4}", model.topics.n_topics())
        }
        MatchingModel::RandomWalk(model) => format!("{} steps over clicks", model.params.steps),
        MatchingModel::Stack(model) => {
            let ndcg = model.kept().map_or(0.0, |kept| kept.validation);
            let (ranker, n) = (model.ranker.kind(), model.parts.len());
            format!("{ranker} over {n} models, validation NDCG@10 {ndcg:.4}")
        }
        MatchingModel::Combination(model) => {
            let ([a, b], first, second) = (model.weights(), model.first.kind(), model.second.kind());
            format!("{a} {first} + {b} {second}, tuned on validation")
        }
    }
}

/// Equal scores for all candidates, which the tie rule orders by a hash.
fn random_order(test: &HeldOut) -> Vec<Ranking> {
    let lists = test.queries.iter().zip(&test.judged);
    lists
        .map(|(query, list)| (query.id.clone(), list.iter().map(|(id, _)| (id.clone(), 0.0)).collect()))
        .collect()
}

/// One row over all queries, one over those seen in training, one over the others.
fn rows(test: &HeldOut, model: &'static str, rankings: &[Ranking]) -> anyhow::Result<Vec<Row>> {
    let measures = Measure::parse_list(MEASURES)?;
    let evaluation = evaluate(&test.qrels()?, rankings, &measures, &Conventions::of(Dialect::Matchrank))?;
    let row = |queries: &str, n_queries, means: Vec<f64>| Row {
        model,
        queries: queries.to_owned(),
        n_queries,
        measures: measures.iter().map(ToString::to_string).zip(means).collect(),
    };
    let all = (0..measures.len()).map(|i| evaluation.mean(i)).collect();
    let mut rows = vec![row("all", evaluation.n_queries(), all)];
    for bin in test.bins(BinBy::Seen)?.means(&evaluation) {
        rows.push(row(&bin.label.unwrap_or_default(), bin.n_queries, bin.means));
    }
    Ok(rows)
}

/// All figures as one CSV table.
fn csv(report: &Report) -> String {
    let protocols = [("judged", &report.judged), ("collection", &report.collection)];
    let mut header = vec!["ranked", "model", "queries", "n"];
    header.extend(report.judged[0].measures.iter().map(|(name, _)| name.as_str()));
    let rows = protocols.iter().flat_map(|(ranked, rows)| {
        rows.iter().map(move |row| {
            let mut cells = vec![
                (*ranked).to_owned(),
                row.model.to_owned(),
                row.queries.clone(),
                row.n_queries.to_string(),
            ];
            cells.extend(row.measures.iter().map(|(_, value)| value.to_string()));
            cells
        })
    });
    table(&header, rows.collect(), Format::Csv)
}

fn tables(report: &Report) -> String {
    let steps = report
        .steps
        .iter()
        .map(|step| vec![step.step.to_owned(), step.result.clone(), format!("{:.2}", step.seconds)])
        .collect();
    let figures = |rows: &[Row]| {
        let mut header = vec!["model", "queries", "n"];
        header.extend(rows[0].measures.iter().map(|(name, _)| name.as_str()));
        let cells = rows.iter().map(|row| {
            let mut cells = vec![row.model.to_owned(), row.queries.clone(), row.n_queries.to_string()];
            cells.extend(row.measures.iter().map(|(_, value)| format!("{value:.4}")));
            cells
        });
        table(&header, cells.collect(), Format::Table)
    };
    format!(
        "{}\n\nThe judged documents of each test query, ranked (the papers' protocol):\n{}\n\n\
         The whole collection, ranked (documents nobody judged count as irrelevant):\n{}\n\
         `seen` queries have clicks in the training log, `unseen` ones do not.\n\n{}",
        table(&["step", "result", "seconds"], steps, Format::Table),
        figures(&report.judged),
        figures(&report.collection),
        lists::shown(&report.lists)
    )
}

fn next(out: &Path, look: &Look, (listed, of_list): &(String, String)) -> String {
    let out = out.display();
    let Look { query, document, word, .. } = look;
    format!(
        "\nNext, on what was made here:\n  \
         matchrank eval --qrels {out}/log/test.qrels --run {out}/bm25.run {out}/rmls+bm25.run\n  \
         matchrank inspect {out}/rmls.model\n  \
         matchrank related {word} --model {out}/rmls.model\n  \
         matchrank explain --model {out}/rmls+bm25.model --data {out}/dataset --query '{query}' --document {document}\n  \
         matchrank doctor {out}/dataset\n  \
         matchrank explain --model {out}/lists/q.model --letor {out}/lists/test.txt --query-features {out}/lists/queries.tsv --query {listed} --document {of_list}\n  \
         matchrank train rmls --data {out}/dataset --set d=50 --out {out}/rmls-d50.model"
    )
}
