//! Row of a ranker in the table, computed from its folds.

use indexmap::IndexMap;
use matchrank_core::Result;

use super::testing::Tested;
use super::{FoldRun, PlannedRanker};
use crate::by_name::ByName;
use crate::comparison::course::Course;
use crate::comparison::measuring::intervals;
use crate::comparison::results::{BinFigures, Compared, Entry, Figures};
use crate::json::Json;
use crate::prose::to_json;
use crate::rankers::RankerRecipe;

impl FoldRun<'_> {
    /// Computes the row of a ranker from its folds, whose models take `bytes` in total.
    pub(super) fn of_folds(
        &self,
        planned: &PlannedRanker,
        tested: &[Tested],
        bytes: u64,
        key: String,
    ) -> Result<Entry> {
        let Course { plan, seed, .. } = self.course;
        let n = tested.len() as f64;
        let named = |value: &dyn Fn(usize) -> f64| -> Figures {
            plan.measures.iter().enumerate().map(|(m, measure)| (measure.to_string(), value(m))).collect()
        };
        let mean = |of: &dyn Fn(&Tested) -> f64| tested.iter().map(of).sum::<f64>() / n;
        let per_query: ByName<Vec<Option<f64>>> = plan
            .measures
            .iter()
            .enumerate()
            .map(|(m, measure)| {
                let values = tested.iter().flat_map(|fold| {
                    (0..fold.evaluation.n_queries()).map(move |query| fold.evaluation.value(query, m))
                });
                (measure.to_string(), values.collect())
            })
            .collect();
        let by_fold: Vec<BinFigures> = (1..)
            .zip(tested)
            .map(|(i, fold): (usize, _)| BinFigures {
                bin: format!("fold {i}"),
                queries: fold.evaluation.audit.queries_in_mean as usize,
                figures: named(&|m| fold.evaluation.mean(m)),
            })
            .collect();
        let recipe = RankerRecipe::new(&planned.kind, &planned.settings, &self.rankers.scalings)?;
        let Json(mut params) = recipe.params();
        if tested.iter().any(|fold| !fold.chosen.is_empty()) {
            params["tuned_by_fold"] = to_json(&tested.iter().map(|fold| &fold.chosen).collect::<Vec<_>>());
        }
        let peaks = tested.iter().filter_map(|fold| fold.cost.peak_mib);
        let row = Compared {
            name: planned.name.clone(),
            kind: recipe.kind().name.to_owned(),
            params: Json(params),
            validation: Figures::from([(plan.tuned_by.to_string(), mean(&|fold| fold.validation))]),
            test: named(&|m| mean(&|fold| fold.evaluation.mean(m))),
            by_traffic: Figures::default(),
            intervals: intervals(&per_query, seed),
            bins: ByName::from([("fold".to_owned(), by_fold)]),
            seconds: tested.iter().map(|fold| fold.cost.seconds).sum(),
            tuning_seconds: tested.iter().flat_map(|fold| &fold.trials).map(|trial| trial.seconds).sum(),
            trials: tested.iter().map(|fold| fold.trials.len()).sum(),
            peak_mib: peaks.reduce(f64::max),
            model_mib: bytes as f64 / tested.len() as f64 / f64::from(1 << 20),
            latency: tested[0].latency.expect("the first fold is timed"),
            curves: Vec::new(),
            beats: Vec::new(),
            beats_by: ByName::default(),
            notes: notes(tested),
        };
        Ok(Entry {
            key: key.clone(),
            trained_key: key,
            row,
            per_query,
            validation: Vec::new(),
            top: Vec::new(),
        })
    }
}

/// Merges the notes of all folds: each note once, with the numbers of its folds.
fn notes(tested: &[Tested]) -> Vec<String> {
    let mut folds: IndexMap<&str, Vec<usize>> = IndexMap::new();
    for (fold, result) in (1..).zip(tested) {
        for note in &result.notes {
            let of_note = folds.entry(note.as_str()).or_default();
            if of_note.last() != Some(&fold) {
                of_note.push(fold);
            }
        }
    }
    let of = |(note, of): (&str, Vec<usize>)| {
        let numbers: Vec<String> = of.iter().map(ToString::to_string).collect();
        match of.len() {
            n if n == tested.len() => format!("in all folds: {note}"),
            1 => format!("in fold {}: {note}", numbers[0]),
            _ => format!("in folds {}: {note}", numbers.join(", ")),
        }
    };
    folds.into_iter().map(of).collect()
}
