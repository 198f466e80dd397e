//! `inspect --letor`: what the features of a ranker are worth on lists.

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use matchrank_core::measure::Measure;
use matchrank_engine::model_file::Model;
use matchrank_engine::rankers::{
    FeatureImportance, Importance, PermutationImportance, Permutations, permutation_importance,
};
use serde_json::{Value, json};

use super::{FeatureNames, names_of, note_unknown_features, read_lists};
use crate::Global;
use crate::terminal::{Format, Terminal, human, table};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Lists to tell what features are worth on, LETOR / SVMlight files that training did not see, for models trained
    /// on such lists
    #[arg(long, num_args = 1.., value_name = "FILE")]
    letor: Vec<PathBuf>,
    /// With --letor: what is measured
    #[arg(long, value_name = "MEASURE", default_value = "ndcg@10", requires = "letor")]
    measure: Measure,
    /// With --letor: how often the values of each feature change places; what is random follows from --seed
    #[arg(long, value_name = "N", default_value_t = 5, requires = "letor")]
    repeats: usize,
    /// With --letor: names of the features, one a line, as `features --names` writes them
    #[arg(long, value_name = "FILE", requires = "letor")]
    names: Option<PathBuf>,
    /// With --letor: features to show, those worth most; JSON and CSV have all
    #[arg(long, value_name = "N", default_value_t = 20, requires = "letor")]
    top: usize,
}

/// Importance of the features that a ranker knows.
pub(crate) struct Worth<'a> {
    args: &'a Args,
    lists: String,
    seed: u64,
    /// Importance inside the ranker.
    own: Importance,
    names: FeatureNames,
    /// The features worth most first.
    found: PermutationImportance,
}

/// Name of the numbers of a ranker.
fn name_of(own: &Importance) -> &'static str {
    match own {
        Importance::Gains(_) => "gain",
        Importance::Weights(_) => "weight",
    }
}

impl Args {
    /// Measures the importance of the features on the lists, where there are any.
    pub(crate) fn measure(&self, model: &Model, global: &Global) -> anyhow::Result<Option<Worth<'_>>> {
        if self.letor.is_empty() {
            return Ok(None);
        }
        let letor = &self.letor;
        let terminal = Terminal::new(global.quiet);
        let ranker = match model {
            Model::Ranking(ranker) => ranker,
            Model::Matching(model) => {
                bail!("--letor is for rankers of feature lists, and this is a model of kind {}", model.kind())
            }
        };
        let own = ranker.importance().with_context(|| {
            format!(
                "a {} model has a function for each query, to which features are worth different things; `explain --letor` \
                 shows them for one query",
                ranker.kind().name
            )
        })?;
        let lists = read_lists(letor, &terminal)?;
        lists.require_distinct_documents()?;
        ranker.kind().require_complete(&lists)?;
        ensure!(
            lists.labels().iter().any(|&grade| grade > 0.0),
            "{}: no document has a grade above 0, so there is nothing to measure by",
            names_of(letor)
        );
        let names = FeatureNames::of_lists(self.names.as_deref(), [lists.n_features(), own.values().len()])?;
        note_unknown_features(&lists, own.values().len(), letor, &terminal);
        let used = (0..).zip(own.values()).filter(|(_, own)| **own != 0.0).map(|(feature, _)| feature);
        let used: Vec<u32> = used.collect();
        let (measure, seed) = (self.measure, global.seed);
        let mut found = permutation_importance(
            &**ranker,
            &lists,
            Permutations { features: &used, measure, repeats: self.repeats, seed },
            &terminal,
        )?;
        found.features.sort_by(|a, b| b.mean().total_cmp(&a.mean()).then(a.feature.cmp(&b.feature)));
        Ok(Some(Worth { args: self, lists: names_of(letor).to_string(), seed, own, names, found }))
    }
}

impl Worth<'_> {
    pub(crate) fn json(&self) -> Value {
        let Self { args, lists, seed, own, names, found } = self;
        let features = found.features.iter().map(|part| {
            json!({ "feature": part.feature + 1, "name": names.get(part.feature), name_of(own): own.values()[part.feature as usize],
                    "fall": part.mean(), "deviation": part.deviation() })
        });
        json!({
            "lists": lists, "measure": args.measure.to_string(), "figure": found.figure,
            "repeats": args.repeats, "seed": seed, "features": features.collect::<Vec<_>>(),
        })
    }

    /// All features as CSV.
    pub(crate) fn csv(&self) -> String {
        self.table(self.found.features.len(), Format::Csv)
    }

    fn table(&self, top: usize, format: Format) -> String {
        let own = |feature: u32| match &self.own {
            Importance::Gains(shares) if format == Format::Table => {
                format!("{:.1} %", 100.0 * shares[feature as usize])
            }
            own => format!("{:.6}", own.values()[feature as usize]),
        };
        let row = |part: &FeatureImportance| {
            let number = |value: f64| format!("{value:.6}");
            let deviation = part.deviation().map_or(String::new(), number);
            vec![self.names.label(part.feature), own(part.feature), number(part.mean()), deviation]
        };
        let rows = self.found.features.iter().take(top).map(row);
        table(&["feature", name_of(&self.own), "fall", "deviation"], rows.collect(), format)
    }

    /// The features worth most, with words around them.
    pub(crate) fn text(&self) -> String {
        let Self { args, lists, found, .. } = self;
        let n = found.features.len();
        let more = match n.saturating_sub(args.top) {
            0 => String::new(),
            more => format!("\n{} more features: --top {n}, or --format csv.", human(more as u64)),
        };
        format!(
            "What features are worth on {lists}: {} is {:.4}, and falls by this much when the values of a feature change \
             places among all documents (mean and standard deviation of {}):\n{}{more}\nA fall that is small beside \
             its deviation may be chance. Features that say the same stand in for each other, so each may fall little \
             alone.",
            args.measure,
            found.figure,
            args.repeats,
            self.table(args.top, Format::Table)
        )
    }
}
