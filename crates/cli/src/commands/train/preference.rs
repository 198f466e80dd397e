//! `train sparse-preference`, and what `update` shares with it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::ensure;
use matchrank_core::progress::Progress;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::features::WordParams;
use matchrank_engine::model_file::{self, ModelRef, Provenance};
use matchrank_engine::models::sparse_preference::{
    self, Checkpoint, PreferenceModel, PreferenceSettings, TRIAL_TUPLES, TrainedPreference, TupleCourse,
};
use matchrank_engine::models::{MadeBy, Recipe};
use matchrank_engine::preferences::TupleFile;
use matchrank_engine::{Error, files};

use super::Common;
use super::settings::params_of_two;
use crate::terminal::{Format, Terminal, remark_text};
use crate::{Global, interrupt};

/// Flags of `train sparse-preference`.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    pub(super) common: Common,
    /// Learn from this file of tuples, in place of the responses of the dataset; `-` is standard input
    ///
    /// One tuple per line: `query TAB better TAB worse`, documents by id (or, with --text, by text), or JSON with query,
    /// better or better_text, worse or worse_text; a text may be texts by field, or words with weights. Standard input is
    /// learned from as it comes, without a second pass.
    #[arg(long, value_name = "FILE")]
    pub(super) tuples: Option<PathBuf>,
    /// Documents in tab-separated lines of --tuples are texts, not ids
    #[arg(long, requires = "tuples")]
    text: bool,
    /// Leave this share of the weights, the largest, in place of shrinking by lambda
    #[arg(long, value_name = "SHARE")]
    density: Option<f64>,
    /// Tuples at most whose shares the trials for margin, c and lambda learn from (2.6 times as many in all); 0: no trials
    #[arg(long, value_name = "N", default_value_t = TRIAL_TUPLES)]
    trial_tuples: u64,
    /// Seconds from one saving to the next while training goes on: to --out, or to a file beside it where --out is there
    /// already, which only a training that comes to its end replaces
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    checkpoint: u64,
    /// Write the learning curve to this CSV file
    #[arg(long, value_name = "FILE")]
    pub(super) curve: Option<PathBuf>,
}

/// A training that came to its end, or was interrupted.
pub(super) struct Finished {
    pub(super) trained: TrainedPreference,
    pub(super) dataset: Dataset,
    /// Output path; none if nothing was learned before an interruption.
    pub(super) place: Option<PathBuf>,
    /// A checkpoint beside the model, to be removed once the model is written.
    pub(super) checkpoint: Option<PathBuf>,
}

impl Args {
    /// Returns the recipe of the model; `None` if more than the dataset and the settings decide it.
    pub(super) fn recipe(&self) -> Option<MadeBy> {
        let of_dataset = self.tuples.is_none() && self.density.is_none() && self.trial_tuples == TRIAL_TUPLES;
        let recipe = Recipe::new(sparse_preference::KIND.name, &self.common.settings).ok();
        recipe.filter(|_| of_dataset).as_ref().map(MadeBy::recipe)
    }

    /// File of checkpoints, where a finished model is there already.
    pub(super) fn checkpoint_file(&self) -> Option<PathBuf> {
        let out = &self.common.place.out;
        out.is_file().then(|| checkpoint_beside(out))
    }
}

/// The file of a training that has not come to its end, beside one that is there already.
fn checkpoint_beside(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".checkpoint");
    name.into()
}

pub(super) fn run(args: &Args, global: &Global, terminal: &Terminal) -> anyhow::Result<Finished> {
    let Args { common: Common { place, settings }, tuples, text, density, trial_tuples, checkpoint, curve } =
        args;
    let given = settings;
    let (settings, words): (PreferenceSettings, WordParams) = params_of_two(given)?;
    settings.validate()?;
    settings.check_given(|name| given.iter().any(|(other, _)| other == name))?;
    ensure!(
        density.is_none_or(|density| density > 0.0 && density <= 1.0),
        "--density must be above 0 and at most 1"
    );
    let file = tuples.as_deref();
    let tuples = file.map(|path| tuple_file(path, *text)).transpose()?;
    let dataset = Dataset::open(&place.data)?;
    let origin = Provenance::of_dataset(&dataset, Some(global.seed));
    // A model that is there is replaced by a finished one only.
    let under_way = args.checkpoint_file().unwrap_or_else(|| place.out.clone());
    let is_saved = AtomicBool::new(false);
    let save = |model: &PreferenceModel| {
        is_saved.store(true, Ordering::Relaxed);
        save(&under_way, model, &origin)
    };
    let course = TupleCourse {
        density: *density,
        trial_tuples: *trial_tuples,
        ..course(global.seed, (Duration::from_secs(*checkpoint), &save), terminal)
    };
    let trained = sparse_preference::train(&settings, &words, (&dataset, tuples.as_ref()), &course).map_err(
        |error| match (file, error) {
            (Some(file), Error::Params(message)) => Error::format(files::name_of(file), message),
            (_, error) => error,
        },
    )?;
    if let Some(path) = curve {
        write_curve(path, &trained.model)?;
        terminal.say(&format!("wrote {}", path.display()));
    }
    let out = place.out.display();
    let kept = if under_way == place.out { String::new() } else { format!("; {out} is left as it was") };
    // Whoever wrote the tuples may have been interrupted too, and the stream then ends before it is stopped.
    let is_finished = !(trained.model.report.interrupted || interrupt::asked());
    let is_beside = under_way != place.out;
    // Of this training, or of one that was interrupted before it; any other file stays.
    let is_ours = || is_saved.load(Ordering::Relaxed) || model_file::open(&under_way).is_ok();
    let checkpoint = (is_finished && is_beside && is_ours()).then(|| under_way.clone());
    let place = if is_finished {
        Some(place.out.clone())
    } else if trained.model.state.clock.all_steps == 0 {
        terminal.note(&format!("interrupted before anything was learned, so no model is written{kept}"));
        None
    } else {
        terminal.note(&format!(
            "interrupted{kept}; what was learned is saved, and `matchrank update {} --tuples FILE` goes on from it",
            under_way.display()
        ));
        Some(under_way)
    };
    Ok(Finished { trained, dataset, place, checkpoint })
}

/// A training that Ctrl-C ends.
pub(crate) fn course<'a>(
    seed: u64,
    checkpoint: Checkpoint<'a>,
    progress: &'a dyn Progress,
) -> TupleCourse<'a> {
    interrupt::listen();
    TupleCourse { stop: &interrupt::asked, checkpoint: Some(checkpoint), ..TupleCourse::new(seed, progress) }
}

/// A file of tuples that exists.
pub(crate) fn tuple_file(path: &Path, texts: bool) -> anyhow::Result<TupleFile> {
    if path != Path::new("-") {
        let metadata = std::fs::metadata(path).map_err(|e| Error::io(files::name_of(path), e))?;
        ensure!(!metadata.is_dir(), "--tuples {}: is a folder; a file is expected here", path.display());
    }
    Ok(TupleFile { path: path.to_owned(), texts })
}

/// Saves a model that is being trained.
pub(crate) fn save(
    path: &Path,
    model: &PreferenceModel,
    provenance: &Provenance,
) -> matchrank_engine::Result<()> {
    model_file::save(path, ModelRef::Matching(model), provenance)
}

/// The learning curve as CSV.
fn write_curve(path: &Path, model: &PreferenceModel) -> anyhow::Result<()> {
    let text = remark_text(&model.curve_table(), Format::Csv) + "\n";
    files::write_atomically(path, |out| {
        out.write_all(text.as_bytes()).map_err(|e| matchrank_engine::Error::io(files::name_of(path), e))
    })?;
    Ok(())
}
