//! `inspect --letor`: what the features of a ranker are worth on lists.

use std::path::Path;

use anyhow::{bail, ensure};
use matchrank_core::measure::Measure;
use matchrank_core::ranking::Ranker;
use matchrank_engine::model_file;
use matchrank_engine::rankers::{FeatureImportance, PermutationImportance, permutation_importance};
use serde_json::{Value, json};

use super::{note_unknown_features, read_lists};
use crate::Global;
use crate::terminal::{Format, Terminal, table};

/// What the features are worth that a ranker knows.
pub(crate) struct Worth {
    lists: String,
    measure: Measure,
    repeats: usize,
    seed: u64,
    /// What the ranker itself says: `gain` or `weight`.
    own_name: &'static str,
    /// That, by column.
    own: Vec<f64>,
    /// The features worth most first.
    found: PermutationImportance,
}

pub(crate) fn measure(
    model: &Path,
    letor: &Path,
    measure: Measure,
    repeats: usize,
    global: &Global,
) -> anyhow::Result<Worth> {
    let terminal = Terminal::new(global.quiet);
    let kind = model_file::kind(model)?;
    let (ranker, own_name, own): (Box<dyn Ranker>, _, Vec<f64>) = if model_file::is_boosted(&kind) {
        let (model, _) = model_file::load_boosted(model)?;
        let gains = model.trees.gains();
        let sum: f64 = gains.iter().sum();
        let shares = gains.iter().map(|gain| if sum > 0.0 { gain / sum } else { 0.0 }).collect();
        (Box::new(model), "gain", shares)
    } else if kind == model_file::QUERY_DEPENDENT {
        bail!(
            "a query-dependent model has a function for each query, whose features are worth different things; \
             `explain --letor` shows them for one query"
        );
    } else {
        let (model, _) = model_file::load_ranker(model)?;
        let weights = model.ranker.weights.clone();
        (Box::new(model), "weight", weights)
    };
    let lists = read_lists(letor, &terminal)?;
    ensure!(
        lists.labels().iter().any(|&grade| grade > 0.0),
        "{}: no document has a grade above 0, so there is nothing to measure by",
        letor.display()
    );
    note_unknown_features(&lists, own.len(), letor, &terminal);
    let used: Vec<u32> =
        (0..).zip(&own).filter(|(_, own)| **own != 0.0).map(|(feature, _)| feature).collect();
    let mut found =
        permutation_importance(&*ranker, &lists, &used, measure, repeats, global.seed, &terminal)?;
    found.features.sort_by(|a, b| b.mean().total_cmp(&a.mean()).then(a.feature.cmp(&b.feature)));
    Ok(Worth {
        lists: letor.display().to_string(),
        measure,
        repeats,
        seed: global.seed,
        own_name,
        own,
        found,
    })
}

impl Worth {
    pub(crate) fn json(&self) -> Value {
        let features = self.found.features.iter().map(|part| {
            let mut json =
                json!({ "feature": part.feature + 1, "fall": part.mean(), "deviation": part.deviation() });
            json[self.own_name] = self.own[part.feature as usize].into();
            json
        });
        json!({
            "lists": self.lists, "measure": self.measure.to_string(), "figure": self.found.figure,
            "repeats": self.repeats, "seed": self.seed, "features": features.collect::<Vec<_>>(),
        })
    }

    /// The features worth most.
    pub(crate) fn table(&self, top: usize, format: Format) -> String {
        let own = |feature: u32| {
            let own = self.own[feature as usize];
            match (self.own_name, format) {
                ("gain", Format::Table) => format!("{:.1} %", 100.0 * own),
                _ => format!("{own:.6}"),
            }
        };
        let row = |part: &FeatureImportance| {
            let number = |value: f64| format!("{value:.6}");
            let deviation = part.deviation().map_or(String::new(), number);
            vec![(part.feature + 1).to_string(), own(part.feature), number(part.mean()), deviation]
        };
        let rows = self.found.features.iter().take(top).map(row);
        table(&["feature", self.own_name, "fall", "deviation"], rows.collect(), format)
    }

    pub(crate) fn text(&self, top: usize) -> String {
        let Self { lists, measure, repeats, found, .. } = self;
        let n = found.features.len();
        let more = if n > top {
            format!("\n{} more features: --top {n}, or --format csv.", n - top)
        } else {
            String::new()
        };
        format!(
            "What features are worth on {lists}: {measure} is {:.4}, and falls by this much when the values of a \
             feature change places among all documents (mean and standard deviation of {repeats}):\n{}{more}\nA fall \
             that is small beside its deviation may be chance. Features that say the same stand in for each other, so each \
             may fall little alone.",
            found.figure,
            self.table(top, Format::Table)
        )
    }
}
