use std::sync::Arc;

use matchrank_core::Result;

use super::MatchingModel;
use super::memory::Sizes;
use super::recipe::{Trainer, Training};
use super::unseen::UnseenDocuments;
use crate::container::Reader;
use crate::json::Json;
use crate::settings::{Parameter, Settings};

/// Makes a trainer from settings.
pub(crate) type MakeTrainer = fn(&Settings) -> Result<Arc<dyn Trainer>>;

/// Chooses settings before training.
pub(crate) type ChooseUntrained = fn(&Json, &Training<'_>) -> Result<Settings>;

/// Describes a kind of model: one constant in the folder of the model, one line in the [table](super::registry).
pub struct MatchingKind {
    /// Name in files, in plans and on the command line.
    pub name: &'static str,
    /// Name as a type in programs of other languages, such as `RandomWalk`.
    pub class: &'static str,
    /// Other names that plans take.
    pub aliases: &'static [&'static str],
    /// One line for people who look for a model.
    pub summary: &'static str,
    /// A paragraph on how it works and when to use it; may be empty.
    pub help: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Parameters of its features.
    pub feature_parameters: &'static [Parameter],
    /// True if the seed changes the model.
    pub is_seeded: bool,
    /// True for the model that richer ones have to beat.
    pub is_baseline: bool,
    /// Parameters that are tuned by default, each with its values.
    pub space: &'static [(&'static str, &'static str)],
    /// The parameter by which the effort of training grows, and its least sensible value.
    pub effort: Option<(&'static str, u64)>,
    /// Time of a training with default parameters, relative to the other kinds: rough, measured on Best Buy and SciFact.
    /// `compare` estimates its remaining time by it until it has measured a model of the kind.
    pub cost: f64,
    /// Values that a search starts from in place of `auto`.
    pub search_start: fn() -> Settings,
    /// Chooses settings on the validation judgments that need no training, given all parameters.
    pub(crate) choose_untrained: Option<ChooseUntrained>,
    /// What the model can say about documents without a training response; of models that are made of others, their
    /// parts decide.
    pub unseen_documents: UnseenDocuments,
    /// Makes a trainer from settings; `None` for models that are made of other models.
    pub(crate) trainer: Option<MakeTrainer>,
    /// Reads the model from a file.
    pub(crate) open: fn(&Reader<'_>) -> Result<Arc<dyn MatchingModel>>,
    /// Bytes that training with default parameters takes at its peak.
    pub(crate) memory: Option<fn(&Sizes) -> f64>,
}

impl MatchingKind {
    /// Defaults for the fields that most kinds leave alone.
    pub(crate) const fn new(
        name: &'static str,
        summary: &'static str,
        open: fn(&Reader<'_>) -> Result<Arc<dyn MatchingModel>>,
    ) -> Self {
        Self {
            name,
            class: "",
            aliases: &[],
            summary,
            help: "",
            parameters: &[],
            feature_parameters: &[],
            is_seeded: true,
            is_baseline: false,
            space: &[],
            effort: None,
            cost: 1.0,
            search_start: Settings::new,
            choose_untrained: None,
            unseen_documents: UnseenDocuments::Scored,
            trainer: None,
            open,
            memory: None,
        }
    }
}

impl std::fmt::Debug for MatchingKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
