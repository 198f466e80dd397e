//! From feature lists to a linear ranker.

use matchrank_core::progress::Progress;
use matchrank_core::ranking::{Fitting, LinearRanker, Sample, Scaling, ScalingKind, Validation};
use matchrank_core::{Error, Result};

use super::{LinearModel, LinearParams, LinearReport, ScalingTrial};
use crate::rankers::recipe::{Lessons, require_higher_is_better};

/// Trains a ranker with features scaled in one way, or in each of several, of which the best on validation is kept
/// (of equals the first). Lists are scaled in place where possible: only with several scalings there is a second copy of
/// them.
pub fn train_linear<P: LinearParams>(
    params: &P,
    scalings: &[ScalingKind],
    lessons: Lessons<'_>,
    progress: &dyn Progress,
) -> Result<LinearModel<P>> {
    params.validate()?;
    let Lessons { train, validation, .. } = &lessons;
    validation.as_ref().map_or(Ok(()), |(_, measure)| require_higher_is_better(*measure))?;
    P::KIND.check_lists(train, validation.as_ref().map(|(lists, _)| lists))?;
    let Some((last, others)) = scalings.split_last() else {
        return Err(Error::Params("there is no scaling to train with; name at least one".into()));
    };
    if !others.is_empty() && validation.is_none() {
        return Err(Error::Params(
            "there are no validation lists to choose the scaling by; give some, or name one scaling".into(),
        ));
    }
    let mut best: Option<LinearModel<P>> = None;
    let mut trials = Vec::new();
    let mut consider = |model: LinearModel<P>| {
        let figure = model.report.validated();
        let scaling = model.ranker.scaling.kind();
        trials.extend(figure.map(|validation| ScalingTrial { scaling, validation }));
        if best.as_ref().is_none_or(|best| figure > best.report.validated()) {
            best = Some(model);
        }
    };
    for &scaling in others {
        consider(train_scaled(params, scaling, lessons.clone(), progress)?);
    }
    consider(train_scaled(params, *last, lessons, progress)?);
    let mut model = best.expect("there is a scaling");
    if !others.is_empty() {
        model.scalings = trials;
    }
    Ok(model)
}

/// Trains a ranker with lists that are scaled in place.
fn train_scaled<P: LinearParams>(
    params: &P,
    scaling: ScalingKind,
    lessons: Lessons<'_>,
    progress: &dyn Progress,
) -> Result<LinearModel<P>> {
    let Lessons { mut train, mut validation, query_weights, seed, .. } = lessons;
    let scaling = Scaling::fit(scaling, &train);
    scaling.apply(&mut train);
    if let Some((lists, _)) = &mut validation {
        scaling.apply(lists);
    }
    let sample = match query_weights {
        Some(weights) => Sample::weighted(&train, weights.to_vec())?,
        None => Sample::new(&train),
    };
    let validation =
        validation.as_ref().map(|(lists, measure)| Validation::new(lists, *measure)).transpose()?;
    let fitting = Fitting { validation: validation.as_ref(), seed, progress };
    let (weights, report, state) = params.fit(&sample, &fitting)?;
    let ranker = LinearRanker { weights, scaling };
    Ok(LinearModel { params: params.clone(), ranker, report, state, scalings: Vec::new() })
}
