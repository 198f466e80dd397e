//! Linear rankers for the learning-to-rank plugin of Elasticsearch and OpenSearch.
//!
//! The plugin scores a document by the sum of weight * feature in single precision; `model/linear` is an object from the
//! name of a feature in the feature set to its weight. Factors of scaling over all training rows are multiplied into the
//! weights; scaling within each list has no place there.

use matchrank_core::data::{FeatureLists, List};
use matchrank_core::message::{counted, counted_with};
use matchrank_core::ranking::{LinearRanker, Ranker, ScalingKind};
use matchrank_core::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Map, json};

use crate::json::Json;

/// The body of a request that creates the model, `features` being the names of its features in the feature set, from
/// feature 1 on.
pub fn linear_model(ranker: &LinearRanker, name: &str, features: &[String]) -> Result<Json> {
    let scaling = &ranker.scaling;
    if scaling.kind().is_within_lists() {
        return Err(Error::Params(
            "the features of this model are scaled within each list, which the plugin cannot do; train with option `scaling` \
             z_score, min_max or none"
                .into(),
        ));
    }
    let weights = &ranker.weights;
    if features.len() != weights.len() {
        return Err(Error::Shape(format!(
            "{} given for {}",
            counted_with(features.len(), "name", ["was", "were"]),
            counted(weights.len(), "feature")
        )));
    }
    let factor = |i: usize| if scaling.kind() == ScalingKind::None { 1.0 } else { scaling.factors()[i] };
    let mut definition = Map::new();
    for (i, feature) in features.iter().enumerate() {
        let weight = (weights[i] * factor(i)) as f32;
        if !weight.is_finite() {
            return Err(Error::Params(format!("the weight of feature {} is beyond single precision", i + 1)));
        }
        // Through text, which keeps the shortest digits of f32.
        let number = serde_json::from_str(&weight.to_string()).expect("a finite number");
        if definition.insert(feature.clone(), number).is_some() {
            return Err(Error::Params(format!("two features are called {feature:?}; names must differ")));
        }
    }
    let model = json!({ "type": "model/linear", "definition": definition });
    Ok(Json(json!({ "model": { "name": name, "model": model } })))
}

/// Lists of random documents within the ranges of the features, where none are at hand to check with.
pub fn some_lists(ranker: &LinearRanker) -> FeatureLists {
    const LISTS: usize = 50;
    const DOCUMENTS: usize = 20;
    let n_features = ranker.weights.len();
    let ranges: Vec<f64> = (0..n_features)
        .map(|i| {
            ranker
                .scaling
                .factors()
                .get(i)
                .filter(|factor| **factor > 0.0)
                .map_or(1.0, |f| (1.0 / f).min(1e30))
        })
        .collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let values = (0..LISTS * DOCUMENTS * n_features)
        .map(|i| (ranges[i % n_features] * random.random_range(0.0..1.0)) as f32)
        .collect();
    FeatureLists::from_dense(&[DOCUMENTS; LISTS], vec![0.0; LISTS * DOCUMENTS], n_features as u32, values)
        .expect("finite numbers, as many as needed")
}

/// Checks an exported model by scoring lists as the plugin does. Two documents may change places only where their
/// scores differ by less than single precision can tell; returns how many pairs of neighbours do.
pub fn check(
    ranker: &LinearRanker,
    exported: &Json,
    features: &[String],
    lists: &FeatureLists,
) -> Result<u64> {
    let definition = &exported.0["model"]["model"]["definition"];
    let weight = |name: &String| definition[name].as_f64().map(|weight| weight as f32);
    let weights: Vec<f32> = features
        .iter()
        .map(weight)
        .collect::<Option<_>>()
        .ok_or_else(|| Error::Params("the exported model lacks a feature".into()))?;
    let (mut scores, mut near) = (Vec::new(), 0);
    for list in lists.iter() {
        ranker.score(&list, &mut scores);
        let plugin = |i: usize| plugin_score(&list, i, &weights);
        let mut order: Vec<usize> = (0..list.len()).collect();
        order.sort_by(|&a, &b| plugin(b).total_cmp(&plugin(a)).then(scores[b].total_cmp(&scores[a])));
        for pair in order.windows(2) {
            let (above, below) = (scores[pair[0]], scores[pair[1]]);
            if above >= below {
                continue;
            }
            let size: f64 = pair.iter().map(|&i| magnitude(&list, i, &weights)).fold(0.0, f64::max);
            let rounding = f64::from(f32::EPSILON) * size * (weights.len() + 2) as f64;
            if below - above > rounding {
                let (first, second) = (list.document(pair[0]), list.document(pair[1]));
                return Err(Error::Params(format!(
                    "the exported weights order documents {first} and {second} of query {} differently",
                    list.query()
                )));
            }
            near += 1;
        }
    }
    Ok(near)
}

fn plugin_score(list: &List<'_>, i: usize, weights: &[f32]) -> f32 {
    let product = |(column, x): (u32, f32)| x * weights.get(column as usize).copied().unwrap_or(0.0);
    list.row(i).entries().map(product).fold(0.0, |sum, add| sum + add)
}

/// Magnitude that rounding errors of a score are proportional to.
fn magnitude(list: &List<'_>, i: usize, weights: &[f32]) -> f64 {
    let product =
        |(column, x): (u32, f32)| f64::from(x * weights.get(column as usize).copied().unwrap_or(0.0)).abs();
    list.row(i).entries().map(product).sum()
}
