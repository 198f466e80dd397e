//! Rankers of feature lists: the same search, on validation lists.
//!
//! A trial trains a ranker, which chooses epochs, lambda or the number of trees on the validation lists by itself, and is
//! worth what that choice is worth there.

use matchrank_core::Result;
use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::progress::{Progress, Silent};
use matchrank_core::ranking::ScalingKind;
use serde_json::json;

use super::{Axis, Search, Session, Space, Strategy, Tuned, check, lessen, over, search};
use crate::json::Json;
use crate::rankers::{RankerKind, RankerRecipe, RankerTraining, registry};
use crate::settings::Settings;

/// The kind of a name, which may name a variant after a slash.
fn kind_of(name: &str) -> Option<&'static RankerKind> {
    registry::find(name.split('/').next().unwrap_or(name))
}

/// A ranker with a share of the effort that its settings ask for.
fn with_effort(
    kind: &str,
    mut settings: Settings,
    scalings: &[ScalingKind],
    share: f64,
) -> Result<RankerRecipe> {
    if share < 1.0
        && let Some((name, least)) = kind_of(kind).and_then(|kind| kind.effort)
    {
        let params = RankerRecipe::new(kind, &settings, scalings)?.params();
        lessen(&mut settings, name, least, share, &params);
    }
    RankerRecipe::new(kind, &settings, scalings)
}

impl Space {
    /// Parameters that matter most for a ranker. Epochs, lambda and the number of trees are chosen in every trial.
    pub fn of_ranker(kind: &str) -> Self {
        let axes = kind_of(kind).map_or(&[][..], |kind| kind.space);
        let axis = |text: &str| Axis::parse(text).expect("defaults are valid");
        Self(axes.iter().map(|(name, values)| ((*name).to_owned(), axis(values))).collect())
    }
}

/// Tunes parameters of rankers.
pub struct RankerTuner<'a> {
    /// Lists to learn from.
    pub train: &'a FeatureLists,
    /// Lists that rankers are measured on.
    pub validation: &'a FeatureLists,
    /// Measure that is optimised.
    pub measure: Measure,
    /// Scalings, where no setting names one.
    pub scalings: &'a [ScalingKind],
    /// Query features and seed.
    pub training: RankerTraining<'a>,
    /// Names the content of the lists in a trace.
    pub content: &'a str,
    /// Trace of the search, and its stop condition.
    pub session: Session<'a>,
}

impl RankerTuner<'_> {
    /// Finds the parameters of a ranker that are best on the validation lists. `settings` hold where nothing varies.
    pub fn tune(
        &self,
        kind: &str,
        settings: &[(String, Json)],
        how: &Search,
        progress: &dyn Progress,
    ) -> Result<(RankerRecipe, Tuned)> {
        let Self { train, validation, measure, scalings, training, content, session } = *self;
        let make = |settings: &[(String, Json)]| RankerRecipe::new(kind, settings, scalings);
        let full = make(settings)?;
        full.validate()?;
        check(&how.space, &full.params(), &|varied| make(&over(settings, varied)).map(|_| ()))?;
        let depends_on = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "lists": content,
            "model": kind,
            "params": full.params(),
            "measure": measure.to_string(),
            "seed": training.seed,
        });
        if let Some(announce) = full.kind().announce {
            announce(progress);
        }
        let trace = session.open(&depends_on)?;
        // Less effort is the same effort for a ranker that has no parameter for it.
        let strategy = match (how.strategy, full.kind().effort) {
            (Strategy::Halving, None) => Strategy::Random,
            (strategy, _) => strategy,
        };
        let how = Search { strategy, ..how.clone() };
        let tuned = search(&how, training.seed, trace, session.stop, progress, &mut |varied, share| {
            let recipe = with_effort(kind, over(settings, varied), scalings, share)?;
            recipe.validate()?;
            let lists = Some((validation.clone(), measure));
            let model = recipe.train(training.on(train.clone(), lists), &Silent)?;
            training.value_on(model, validation, measure)
        })?;
        Ok((make(&tuned.settings(settings))?, tuned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_space_fits_its_ranker() {
        for kind in registry::RANKERS.map(|kind| kind.name).into_iter().chain(["query-dependent/knn"]) {
            let space = Space::of_ranker(kind);
            assert!(!space.0.is_empty(), "{kind}");
            let make =
                |settings: &[(String, Json)]| RankerRecipe::new(kind, settings, &[ScalingKind::MinMax]);
            let full = make(&[]).unwrap();
            check(&space, &full.params(), &|varied| make(&over(&[], varied)).map(|_| ())).unwrap();
            for settings in space.grid(3000) {
                for share in [1.0, 1.0 / 3.0, 1.0 / 9.0] {
                    let recipe = with_effort(kind, settings.clone(), &[ScalingKind::MinMax], share).unwrap();
                    recipe.validate().unwrap();
                }
            }
            if let Some((name, _)) = full.kind().effort {
                let less = with_effort(kind, Settings::new(), &[ScalingKind::MinMax], 1.0 / 3.0).unwrap();
                assert!(less.params().0[name].as_u64() < full.params().0[name].as_u64(), "{kind} {name}");
            }
        }
    }
}
