//! `inspect` of latent models.

use matchrank_core::Result;
use matchrank_core::matching::{Mapping, Similarity};

use super::{BoundReport, Inputs, Inspection, LatentModel, Side, Spectrum, inspect, rule_check};
use crate::description::{Description, Details};
use crate::prose::human;

/// Says what a collapse means, for someone who has never heard of it.
pub(super) const COLLAPSED: &str = "\
WARNING: the model has collapsed: its rows point in one direction, so documents come in nearly the same order, \
whatever the query. Centering prevents it (center=true); if it is on, fewer iterations (iterations=1) help.";

/// Says what a model without rows means.
pub(super) const EMPTY: &str = "\
WARNING: the model is empty: every row is zero, so it scores nothing. The thresholds leave nothing (lower beta and \
gamma, or set threshold=relative), or there are too few queries to learn from.";

pub(super) fn describe(model: &LatentModel) -> Result<Description> {
    let inspection = inspect(model)?;
    let mut description = Description { details: details(model, &inspection), ..Description::default() };
    let Inspection { d, x, y, spectrum, bound } = inspection;
    description.fact("latent dimensions", human(d as u64));
    if let Inputs::Features(features) = &model.inputs {
        description.fact("words", human(features.n_words() as u64));
    }
    if model.model.similarity() == Similarity::Cosine {
        description.fact("score", "cosine in the latent space");
    }
    if model.model.identity() > 0 {
        description.fact("words that count by themselves", human(model.model.identity() as u64));
    }
    description.facts.extend(base_facts(model));
    if let Some(biases) = model.model.biases() {
        let largest = |biases: &[f32]| biases.iter().fold(0f32, |most, bias| most.max(bias.abs()));
        description.fact("bias of all pairs", format!("{:.4}", biases.global));
        let (x, y) = (largest(&biases.x), largest(&biases.y));
        description.fact("largest bias of a query, document feature", format!("{x:.4}, {y:.4}"));
    }
    for (side, name) in [(&x, "query"), (&y, "document")] {
        describe_side(side, name, &mut description);
    }
    if let Some(Spectrum { singular_values, half, nine_tenths }) = spectrum {
        let ends = (singular_values.first(), singular_values.last());
        if let (Some(first), Some(last)) = ends {
            description.fact("singular values", format!("{first:.3e} to {last:.3e}"));
        }
        description.fact(
            "half, nine tenths of their squares",
            format!("in the first {half}, in the first {nine_tenths}"),
        );
    }
    let report = &model.report;
    if let Some(residual) = report.residual {
        description.fact("residual of the singular vectors", format!("{residual:.1e}"));
    }
    if let Some(best) = report.best {
        let iterations = report.iterations.len() + report.epochs.len();
        description.fact("kept iteration", format!("{best} of {iterations}"));
    }
    if let Some(ndcg) = report.validation {
        description.fact("validation NDCG@10", format!("{ndcg:.4}"));
    }
    if let Some(rules) = &report.rules {
        description.facts.extend(rule_check(rules));
    }
    description.text(describe_collapse(model, d, &x, &y));
    if let Some(bound) = bound {
        description.text(describe_bound(&bound));
    }
    Ok(description)
}

/// The base and the share of what was learned beside it, and the share of hidden click features, where there are any.
pub(super) fn base_facts(model: &LatentModel) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if let Some(share) = model.share() {
        let bm25 = match &model.inputs {
            Inputs::Features(features) => features.bm25(),
            Inputs::Rows { .. } => None,
        };
        let base = bm25.map_or("cosine".to_owned(), |bm25| format!("bm25, k1 {}, b {}", bm25.k1, bm25.b));
        facts.push(("base".to_owned(), base));
        facts.push(("share of what was learned".to_owned(), share.to_string()));
    }
    facts.extend(model.report.hidden.map(|hidden| ("hidden click features".to_owned(), hidden.to_string())));
    facts
}

fn details(model: &LatentModel, inspection: &Inspection) -> Details {
    let mut details = Details::default();
    let Inspection { d, x, y, spectrum, bound } = inspection;
    details.set("d", d);
    details.set("x", x);
    details.set("y", y);
    details.set("spectrum", spectrum);
    details.set("bound", bound);
    details.set("params", &model.params);
    if let Inputs::Features(features) = &model.inputs {
        details.set("features", features.params());
        details.set("n_words", &features.n_words());
    }
    details.set("report", &model.report);
    details
}

impl LatentModel {
    /// Says in two sentences how large the model is, and whether it has collapsed.
    pub fn in_short(&self) -> Result<String> {
        let Inspection { d, x, y, .. } = inspect(self)?;
        Ok(format!(
            "{} query and {} document features have rows of {} numbers, of which {:.1} and {:.1} % are not zero.\n{}",
            human(x.n_rows as u64),
            human(y.n_rows as u64),
            human(d as u64),
            100.0 * x.density,
            100.0 * y.density,
            describe_collapse(self, d, &x, &y)
        ))
    }
}

fn describe_collapse(model: &LatentModel, d: usize, x: &Side, y: &Side) -> String {
    let collapsed = x.collapse.is_collapsed() || y.collapse.is_collapsed();
    if x.collapse.effective_rank == 0.0 || y.collapse.effective_rank == 0.0 {
        return EMPTY.to_owned();
    }
    if collapsed && d > 2 && model.kind.may_collapse {
        return COLLAPSED.to_owned();
    }
    format!(
        "{}The rows of document features use about {:.0} of {d} directions (1 would be a collapse), and {:.0} % of \
         them point in the main one.",
        if collapsed { "" } else { "No collapse. " },
        y.collapse.effective_rank,
        100.0 * y.collapse.aligned
    )
}

fn describe_side(side: &Side, name: &str, description: &mut Description) {
    let Side { n_features, n_rows, density, lengths, largest_l1, collapse, .. } = side;
    description.fact(
        format!("{name} features, with a row"),
        format!("{}, {}", human(*n_features as u64), human(*n_rows as u64)),
    );
    description.fact(format!("{name} rows: density"), format!("{:.2} %", 100.0 * density));
    let [least, mean, most] = lengths.map(|length| format!("{length:.3e}"));
    description.fact(format!("{name} rows: length"), format!("{least} to {most}, mean {mean}"));
    description.fact(format!("{name} rows: largest l1 norm"), format!("{largest_l1:.3e}"));
    description.fact(
        format!("{name} rows: length of mean, effective rank"),
        format!("{:.3}, {:.1}", collapse.mean_row, collapse.effective_rank),
    );
    description.fact(format!("{name} rows: in one direction"), format!("{:.0} %", 100.0 * collapse.aligned));
}

fn describe_bound(report: &BoundReport) -> String {
    let BoundReport { theorem, bound, vacuous } = report;
    let verdict =
        if *vacuous { "so the bound is vacuous and says nothing" } else { "so the bound says something" };
    let scale = if bound.largest_gap <= bound.score_range {
        "The largest gap possible"
    } else {
        "The largest difference of two scores"
    };
    format!(
        "Theorem {theorem} with this model's constants: its mean score on training pairs, weighed by their responses, \
         differs from the expectation by at most {:.3e}, with probability {}. {scale} is {:.3e}, {verdict}.",
        bound.value,
        bound.confidence,
        bound.scale()
    )
}
