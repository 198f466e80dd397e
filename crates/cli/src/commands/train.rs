mod models;
pub(crate) mod preference;
pub(crate) mod settings;
mod summary;

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use clap::Subcommand;
use matchrank_core::progress::Progress;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::json::Json;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::models::combination::{Combination, CombinationParams, check_weights};
use matchrank_engine::models::stack::{Stack, StackParams, check_stack};
use matchrank_engine::models::{MadeBy, MatchingModel, Recipe, Training, training_notes, validation_figure};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::validation::{NDCG_10, Ranked, Validation};

use self::models::{Common, DatasetModel, Place, Special};
use self::settings::{of_set, params_from};
use crate::commands::rankers;
use crate::terminal::Terminal;
use crate::{Global, Outcome};

/// Train a model on a dataset, or a ranker on feature lists
///
/// Models are measured on the validation judgments of the dataset, if it has any (held-out clicks are
/// such); test judgments are not looked at. Rankers of feature lists learn from LETOR files and are measured on those of
/// --validation.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    model: Model,
}

const EXAMPLES: &str = "\
Examples:
  matchrank train bm25 --data shop --set b=0.4 --out bm25.model
  matchrank train rmls --data shop --set d=200 --out rmls.model
  matchrank train sparse-preference --data shop --out words.model
  matchrank train combination --data shop --of bm25.model rmls.model --out both.model
  matchrank train combination --data shop --of a.model b.model --weight 0.3 --out both.model
  matchrank train combination --data shop --of bm25.model pls.model rmls.model --out sum.model
  matchrank train stack --data shop --of bm25.model rmls.model words.model --out stack.model
  matchrank train ranksvm --letor train.txt --validation vali.txt --out ranker.model";

#[derive(Subcommand)]
enum Model {
    #[command(flatten)]
    OfDataset(DatasetModel),
    #[command(flatten)]
    OfLists(rankers::train::Model),
}

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let terminal = Terminal::new(global.quiet);
    let seed = global.seed;
    let model = match args.model {
        Model::OfLists(model) => return rankers::train::run(model, global),
        Model::OfDataset(model) => model,
    };
    check_outputs(model.inputs(), model.outputs())?;
    let mut outcome = Outcome::Clean;
    let mut checkpoint = None;
    let made_by;
    // Parameters first: a wrong one should not wait for the data.
    let (place, model, dataset, seeded): (_, Arc<dyn MatchingModel>, _, _) = match model {
        DatasetModel::Usual { kind, common: Common { place, settings } } => {
            let recipe = Recipe::new(kind.name, &settings).map_err(of_set)?;
            recipe.validate()?;
            let dataset = Dataset::open(&place.data)?;
            let model = recipe.train(&Training::new(&dataset, seed, &terminal))?;
            made_by = Some(MadeBy::recipe(&recipe));
            (place, model, dataset, kind.is_seeded)
        }
        DatasetModel::Special(Special::SparsePreference(args)) => {
            let finished = preference::run(&args, global, &terminal)?;
            let preference::Finished { trained, dataset, place, checkpoint: written } = finished;
            checkpoint = written;
            made_by = args.recipe();
            outcome = if trained.n_malformed > 0 { Outcome::Problems } else { Outcome::Clean };
            let Some(out) = place else { return Ok(outcome) };
            let place = Place { out, ..args.common.place };
            (place, Arc::new(trained.model), dataset, true)
        }
        DatasetModel::Special(Special::Combination { common, of, weight, candidates }) => {
            let Common { place, settings } = common;
            let params: CombinationParams = params_from(&settings)?;
            let weights = of_parts(&weight, of.len())?;
            let load = |path: &PathBuf| Ok(model_file::load(path)?);
            let loaded = of.iter().map(load).collect::<anyhow::Result<Vec<_>>>()?;
            let parts = made_parts(&of, loaded.iter().map(|(_, provenance)| provenance));
            let models = loaded.into_iter().map(|(model, _)| model).collect();
            let dataset = Dataset::open(&place.data)?;
            let is_tuned = weights.is_none();
            let model = match weights {
                Some(weights) => Combination::new(models, weights)?,
                None => {
                    let validation = validation_of(candidates.into(), &dataset, global, &terminal)?;
                    Combination::tune(models, &params, (&dataset, &validation), &terminal)?
                }
            };
            made_by = parts.map(|parts| MadeBy::combination(&params, &model, parts));
            (place, Arc::new(model), dataset, is_tuned)
        }
        DatasetModel::Special(Special::Stack { common: Common { place, settings }, of, ranker_of }) => {
            let params: StackParams = params_from(&settings)?;
            params.validate()?;
            let dataset = Dataset::open(&place.data)?;
            if ranker_of.is_none() {
                check_stack(&params, NDCG_10, &dataset)?;
            }
            let parts = named_models(&of, &dataset, &terminal)?;
            let model = match &ranker_of {
                Some(path) => {
                    let former = model_file::load(path)?.0;
                    let Some(stack) = (&*former as &dyn Any).downcast_ref::<Stack>() else {
                        bail!("{}: a {} model, not a stack", path.display(), former.kind());
                    };
                    stack.clone().with_parts(parts)?
                }
                None => Stack::train(parts, &params, NDCG_10, &Training::new(&dataset, seed, &terminal))?,
            };
            let provenances = of.iter().map(|path| Ok(model_file::load(path)?.1));
            let provenances = provenances.collect::<anyhow::Result<Vec<Provenance>>>()?;
            made_by = made_parts(&of, provenances.iter()).map(|parts| MadeBy::stack(&params, parts));
            (place, Arc::new(model), dataset, ranker_of.is_none())
        }
    };
    let provenance = Provenance::of_dataset(&dataset, seeded.then_some(seed)).made_by(made_by);
    model_file::save(&place.out, &*model, &provenance)?;
    if let Some(path) = checkpoint {
        // One that cannot be removed does no harm.
        let _ = std::fs::remove_file(path);
    }
    let notes = training_notes(&*model, &dataset, seed)?;
    let figure = validation_figure(&*model, &dataset, seed)?;
    terminal.finish();
    notes.iter().for_each(|note| terminal.note(note));
    summary::print((&*model, figure), &dataset, &place, &terminal, started)?;
    Ok(outcome)
}

/// Returns the recipes of the parts of a model, named after their files; `None` if one file has no recipe.
fn made_parts<'a>(
    paths: &[PathBuf],
    provenances: impl Iterator<Item = &'a Provenance>,
) -> Option<Vec<(String, MadeBy)>> {
    let name = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths
        .iter()
        .zip(provenances)
        .map(|(path, provenance)| Some((name(path), provenance.made_by.clone()?)))
        .collect()
}

/// Models by the names of their files, for learning from the judgments of a dataset.
pub(crate) fn named_models(
    paths: &[PathBuf],
    dataset: &Dataset,
    progress: &dyn Progress,
) -> anyhow::Result<Vec<(String, Arc<dyn MatchingModel>)>> {
    let mut named: Vec<(String, Arc<dyn MatchingModel>)> = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if named.iter().any(|(other, _)| *other == name) {
            bail!("--of: two models are called {name}; models are told apart by the names of their files");
        }
        let (model, provenance) = model_file::load(path)?;
        if let Some(hash) = provenance.data.get("content_hash").and_then(Json::as_str)
            && hash != dataset.manifest.content_hash
        {
            progress.note(&format!(
                "{name} was trained on another dataset; if that had clicks or judgments that are held out here, what is \
                 learned from its scores will be too good here, and worse elsewhere"
            ));
        }
        named.push((name, model));
    }
    Ok(named)
}

/// The weights of some models as they were given; none where they are to be tuned.
fn of_parts(given: &[f32], n: usize) -> anyhow::Result<Option<Vec<f32>>> {
    let weights = match *given {
        [] => return Ok(None),
        [a] if n == 2 => vec![a, ((1.0 - f64::from(a)) * 1e6).round() as f32 / 1e6],
        _ if given.len() == n => given.to_vec(),
        _ => bail!("--weight: there are {n} models and {} weights; give one for each", given.len()),
    };
    check_weights(&weights).map_err(|error| anyhow::anyhow!("--weight: {error}"))?;
    Ok(Some(weights))
}

/// The validation judgments of a dataset, of which there must be some.
fn validation_of(
    ranked: Ranked,
    dataset: &Dataset,
    global: &Global,
    terminal: &Terminal,
) -> anyhow::Result<Validation> {
    let Some(validation) = Validation::ranking(Some(ranked), dataset, global.seed, terminal)? else {
        bail!(
            "{}: there are no validation judgments to find the weights with; give --weight, or ingest with --judgments validation=QRELS or --split",
            dataset.folder().display()
        );
    };
    Ok(validation)
}
