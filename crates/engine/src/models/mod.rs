//! Matching models: they score the text of a query against the text of a document.
//!
//! One folder per model holds its parameters, training, matcher, file codec, search space and description:
//!
//! | folder | model |
//! |---|---|
//! | [`bm25`] | BM25 over text |
//! | [`rm3`] | BM25 with words of its best documents added to the query |
//! | [`clicks`] | click counts of queries, smoothed by those of their words |
//! | [`random_walk`] | backward random walk on the training clicks |
//! | [`lsi_dt`], [`lsi_qd`] | latent semantic indexing of words, of clicks |
//! | [`pls`], [`rmls`] | the papers' f(x, y) = x' L_x L_y' y |
//! | [`ssi`], [`svdfeature`] | latent models that learn by gradient steps |
//! | [`latent`] | code that the six latent models share |
//! | [`bltm`] | topics that queries and documents share |
//! | [`sparse_preference`] | q' W d, a weight for every pair of words |
//! | [`combination`] | a weighted sum of models |
//! | [`stack`] | a ranker over the scores of several models |
//!
//! The table in [`registry`] lists all of them. Training, tuning, comparison, model files, the command line and its help
//! find models there and name none of them. To add a model, write its folder and add a line to the table.
//!
//! ```text
//! Recipe (kind + settings) + Dataset -> train -> MatchingModel -> model_file
//! MatchingModel + Dataset -> bind -> Matcher (top, begin, explain)
//! ```

pub mod base;
mod binding;
pub mod bltm;
pub mod bm25;
pub mod clicks;
pub mod combination;
pub(crate) mod folded;
mod kind;
pub mod latent;
pub mod lsi_dt;
pub mod lsi_qd;
mod made_by;
mod memory;
pub mod pls;
pub mod random_walk;
mod recipe;
pub mod registry;
mod related;
pub mod rm3;
pub mod rmls;
pub mod sparse_preference;
pub mod ssi;
pub mod stack;
pub mod svdfeature;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod training_tests;
mod unseen;

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use matchrank_core::progress::Silent;
use matchrank_core::{Error, Result};

pub use binding::{Binding, bind};
pub(crate) use binding::{bind_all, bind_documents};
pub use kind::MatchingKind;
pub use made_by::MadeBy;
pub(crate) use memory::Sizes;
pub use recipe::{Recipe, Training};
pub use related::{Related, RelatedQuery, RelatedWord};
pub(crate) use unseen::dependent_on_unseen;
pub use unseen::{UnseenDocuments, note_on_unseen, note_on_zero, training_notes, unseen_documents};

use crate::container::Writer;
use crate::dataset::Dataset;
use crate::description::{Curve, Description};
use crate::scoring::Matcher;
use crate::settings::Settings;
use crate::validation::{ShareTrials, Validation};

/// A trained matching model.
pub trait MatchingModel: Any + Debug + Send + Sync {
    /// Name of its kind, as files and commands call it.
    fn kind(&self) -> &'static str;

    /// Binds the model to documents.
    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>>;

    /// Binds a model that is made of others to documents through its [`parts`](Self::parts), which are bound to them in this
    /// order.
    fn bind_parts<'a>(
        &'a self,
        _parts: Vec<Box<dyn Matcher + 'a>>,
        _binding: &mut Binding<'a, '_>,
    ) -> Result<Box<dyn Matcher + 'a>> {
        Err(Error::Params(format!("{} models have no parts", self.kind())))
    }

    /// Writes its metadata and arrays to a model file.
    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()>;

    /// Describes the model: sizes, norms, spectrum, collapse, bounds.
    fn describe(&self) -> Result<Description>;

    /// Describes its training on a dataset.
    fn summary(&self, dataset: &Dataset) -> Description;

    /// Figures that its training reported on the way.
    fn curves(&self) -> Vec<Curve> {
        Vec::new()
    }

    /// Figure on the validation judgments that its training ended with, where training measured one.
    fn validation(&self) -> Option<f64> {
        None
    }

    /// Settings that training chose on the validation judgments, such as the number of iterations.
    fn chosen(&self) -> Settings {
        Settings::new()
    }

    /// The setting that is a share of what was learned, and the shares that training tried on the validation judgments; `None`
    /// for models without one. Models from files know of no trials.
    fn shares(&self) -> Option<(&'static str, &ShareTrials)> {
        None
    }

    /// Models that it is made of, by name.
    fn parts(&self) -> Vec<(&str, &Arc<dyn MatchingModel>)> {
        Vec::new()
    }

    /// Returns true if the model has learned from the validation judgments, as stacks do.
    fn has_learned_from_validation(&self) -> bool {
        self.parts().iter().any(|(_, part)| part.has_learned_from_validation())
    }

    /// Words that the model relates to others; `None` where it knows no words.
    fn related(&self, _query: &RelatedQuery<'_>) -> Option<Result<Related>> {
        None
    }
}

/// Figure of a model on the validation judgments: the one that its training ended with, else measured now. `None` without
/// such judgments, and for a model that has learned from them and kept no figure of queries it had not seen.
pub fn validation_figure(model: &dyn MatchingModel, dataset: &Dataset, seed: u64) -> Result<Option<f64>> {
    if model.validation().is_some() || model.has_learned_from_validation() {
        return Ok(model.validation());
    }
    let Some(validation) = Validation::of(dataset, seed, &Silent)? else { return Ok(None) };
    let matcher = bind(model, dataset, validation.wanted(), &Silent)?;
    validation.value(&mut *matcher.begin(&validation.queries())?).map(Some)
}

/// Finds the model itself, or the first of its parts, that is of a type.
pub fn find_part<M: MatchingModel>(model: &dyn MatchingModel) -> Option<&M> {
    let own = (model as &dyn Any).downcast_ref();
    own.or_else(|| model.parts().into_iter().find_map(|(_, part)| find_part(&**part)))
}
