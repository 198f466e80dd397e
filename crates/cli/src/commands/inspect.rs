use std::path::{Path, PathBuf};

use anyhow::Context;
use matchrank_core::matching::Mapping;
use matchrank_engine::inspect::{BoundReport, Inspection, Side, Spectrum, inspect};
use matchrank_engine::matching::{
    BltmModel, Inputs, LatentKind, LatentModel, MatchingModel, PreferenceModel,
};
use matchrank_engine::model_file::{self, Model, Provenance};
use serde_json::{Value, json};

use super::rankers;
use super::train::{COLLAPSED, EMPTY, rule_check, stack};
use crate::terminal::{self, Format, human, table, to_json};
use crate::{Global, Outcome};

/// Topics that `inspect` lists, and words of each.
const LISTED_TOPICS: usize = 20;
const LISTED_WORDS: usize = 6;

/// Look into a model: sizes, density, norms, spectrum, collapse, bounds, where it comes from
///
/// With --letor also what the features of a ranker are worth on lists with grades: by how much a measure falls when the
/// values of a feature change places among all documents, beside the gains of trees or the weights of linear rankers.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Model file made by `train`
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    importance: rankers::importance::Args,
    /// How to print it; with --letor CSV is the table of features alone
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank inspect rmls.model
  matchrank inspect rmls.model --format json
  matchrank inspect lambdamart.model --letor test.txt --measure ndcg@10 --repeats 10";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let (model, provenance) = model_file::open(&args.model)?;
    let worth = args.importance.measure(&model, global)?;
    match args.format {
        Format::Csv if let Some(worth) = &worth => terminal::print(&worth.csv())?,
        Format::Json | Format::Csv => {
            let mut json = match &model {
                Model::Matching(model) => json_of(model)?,
                Model::Ranking(model) => {
                    let mut json = json!({ "kind": model.kind().name });
                    let details = to_json(&model.describe().details);
                    let fields = details.as_object().cloned().unwrap_or_default();
                    json.as_object_mut().expect("an object").extend(fields);
                    json
                }
            };
            json["provenance"] = json!(provenance);
            json["bytes"] = bytes(&args.model)?.into();
            if let Some(worth) = &worth {
                json["permutation"] = worth.json();
            }
            terminal::print_data(&json, args.format)?;
        }
        Format::Table => {
            let mut rows = vec![row("file", format!("{} bytes", human(bytes(&args.model)?)))];
            let mut remarks = Vec::new();
            match &model {
                Model::Matching(model) => describe(model, "", &mut rows, &mut remarks)?,
                Model::Ranking(model) => {
                    let description = model.describe();
                    rows.push(row("kind", model.kind().name));
                    rows.extend(description.facts.into_iter().map(|(name, value)| vec![name, value]));
                    remarks.extend(description.remarks.iter().map(terminal::remark));
                }
            }
            rows.extend(origin(&provenance));
            terminal::print(&table(&["", "value"], rows, Format::Table))?;
            remarks.extend(worth.map(|worth| worth.text()));
            remarks.iter().try_for_each(|remark| terminal::print(&format!("\n{remark}")))?;
        }
    }
    Ok(Outcome::Clean)
}

fn bytes(path: &Path) -> anyhow::Result<u64> {
    Ok(std::fs::metadata(path).with_context(|| path.display().to_string())?.len())
}

fn json_of(model: &MatchingModel) -> anyhow::Result<Value> {
    let mut json = match model {
        MatchingModel::Bm25(model) => json!({
            "params": model.bm25.params(),
            "n_documents": model.bm25.n_documents(),
            "n_words": model.words.vocabulary.len(),
            "average_length": model.bm25.average_length(),
        }),
        MatchingModel::Latent(model) => {
            let mut json = json!(inspect(model)?);
            json["params"] = model.params.clone();
            if let Inputs::Features(features) = &model.inputs {
                json["features"] = to_json(features.params());
                json["n_words"] = features.n_words().into();
            }
            json["report"] = json!(model.report);
            json
        }
        MatchingModel::Bltm(model) => json!({
            "params": model.params,
            "n_words": model.words.vocabulary.len(),
            "n_query_words": model.topics.queries().n_rows(),
            "n_document_words": model.topics.documents().n_rows(),
            "topics": to_json(&model.list_topics(LISTED_WORDS)),
            "report": model.report,
        }),
        MatchingModel::RandomWalk(model) => json!({ "params": model.params }),
        MatchingModel::Preference(model) => json!({
            "settings": to_json(&model.settings),
            "params": to_json(&model.state.params),
            "features": to_json(model.features.params()),
            "n_words": model.features.n_words(),
            "nonzero": model.w.nnz(),
            "density": model.density(),
            "clock": to_json(&model.state.clock),
            "report": to_json(&model.report),
        }),
        MatchingModel::Stack(model) => json!({
            "ranker": model.ranker.kind().name,
            "depth": model.depth,
            "trials": to_json(&model.trials),
            "importances": stack::importances(model).into_iter().map(|(name, value)| json!([name, value])).collect::<Vec<_>>(),
            "parts": model
                .parts
                .iter()
                .map(|(name, part)| Ok(json!({ "name": name, "model": json_of(part)? })))
                .collect::<anyhow::Result<Vec<_>>>()?,
        }),
        MatchingModel::Combination(model) => json!({
            "weight": to_json(&model.weight),
            "curve": to_json(&model.curve),
            "tuned_on": model.tuned_on,
            "first": json_of(&model.first)?,
            "second": json_of(&model.second)?,
        }),
    };
    json["kind"] = model.kind().into();
    Ok(json)
}

fn row(name: &str, value: impl Into<String>) -> Vec<String> {
    vec![name.to_owned(), value.into()]
}

/// Rows for the table, and remarks in words below it. The models of a combination have a prefix.
fn describe(
    model: &MatchingModel,
    prefix: &str,
    rows: &mut Vec<Vec<String>>,
    remarks: &mut Vec<String>,
) -> anyhow::Result<()> {
    let first = rows.len();
    rows.push(row("kind", model.kind()));
    match model {
        MatchingModel::Bm25(model) => {
            let params = model.bm25.params();
            rows.push(row("k1, b", format!("{}, {}", params.k1, params.b)));
            rows.push(row("documents", human(model.bm25.n_documents())));
            rows.push(row("words", human(model.words.vocabulary.len() as u64)));
        }
        MatchingModel::Latent(model) => describe_latent(model, rows, remarks)?,
        MatchingModel::Bltm(model) => describe_bltm(model, rows, remarks),
        MatchingModel::RandomWalk(model) => {
            rows.push(row("steps", model.params.steps.to_string()));
            rows.push(row("probability to stay", model.params.self_transition.to_string()));
        }
        MatchingModel::Preference(model) => describe_preference(model, rows),
        MatchingModel::Stack(model) => {
            rows.push(row("ranker", model.ranker.kind().name));
            rows.push(row("candidates of each model", human(model.depth as u64)));
            if let Some(kept) = model.kept() {
                rows.push(row(
                    &format!("validation {}, in folds", kept.measure),
                    format!("{:.4}", kept.validation),
                ));
            }
            remarks.push(stack::importance_table(model));
        }
        MatchingModel::Combination(_) => {}
    }
    rows[first..].iter_mut().for_each(|row| row[0] = format!("{prefix}{}", row[0]));
    if let MatchingModel::Stack(model) = model {
        for (name, part) in &model.parts {
            describe(part, &format!("{prefix}{name}: "), rows, remarks)?;
        }
    }
    if let MatchingModel::Combination(model) = model {
        rows.push(row(&format!("{prefix}weight of the first"), model.weight.to_string()));
        if let Some(ranked) = model.tuned_on {
            let value = format!("validation queries, {}", ranked.describe());
            rows.push(row(&format!("{prefix}tuned on"), value));
        }
        describe(&model.first, &format!("{prefix}first: "), rows, remarks)?;
        describe(&model.second, &format!("{prefix}second: "), rows, remarks)?;
    }
    Ok(())
}

fn describe_preference(model: &PreferenceModel, rows: &mut Vec<Vec<String>>) {
    let PreferenceModel { settings, features, w, state, report } = model;
    let variant = to_json(&settings.variant);
    rows.push(row("variant", variant.as_str().unwrap_or_default()));
    let params = &state.params;
    rows.push(row("margin, c, lambda", format!("{}, {}, {}", params.margin, params.c, params.lambda)));
    rows.push(row("learned from", report.source.clone()));
    rows.push(row("tuples of this phase, within the margin", {
        format!("{}, {}", human(state.clock.steps), human(state.clock.violations))
    }));
    rows.push(row("words", human(features.n_words() as u64)));
    rows.push(row("weights", human(w.nnz() as u64)));
    rows.push(row("density", format!("{:.4} %", 100.0 * model.density())));
    let own =
        (0..w.n_rows() as u32).filter(|&i| w.row(i as usize).indices().binary_search(&i).is_ok()).count();
    rows.push(row("of which words with themselves", human(own as u64)));
    let negative = w.values().iter().filter(|&&weight| weight < 0.0).count();
    rows.push(row("of which below 0", human(negative as u64)));
    rows.push(row("times the ceiling of memory was reached", human(state.clock.ceilings)));
    if let Some(ndcg) = report.validation {
        rows.push(row("validation NDCG@10", format!("{ndcg:.4}")));
    }
}

fn describe_bltm(model: &BltmModel, rows: &mut Vec<Vec<String>>, remarks: &mut Vec<String>) {
    let BltmModel { params, topics, report, .. } = model;
    rows.push(row("topics", human(topics.n_topics() as u64)));
    rows.push(row("words of queries", human(topics.queries().n_rows() as u64)));
    rows.push(row("words of documents", human(topics.documents().n_rows() as u64)));
    rows.push(row("share of document, topics", format!("{}, {}", params.document, params.topic)));
    rows.push(row("pairs", human(report.n_pairs as u64)));
    // exp of the entropy: as many topics of equal share would be as mixed.
    let entropy: f64 =
        topics.prior().iter().map(|&p| f64::from(p)).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum();
    rows.push(row("topics in use (by their shares)", format!("{:.1}", entropy.exp())));
    if let Some(best) = report.best {
        rows.push(row("kept iteration", format!("{best} of {}", report.iterations.len())));
    }
    if let Some(ndcg) = report.validation {
        rows.push(row("validation NDCG@10", format!("{ndcg:.4}")));
    }
    let listed = model.list_topics(LISTED_WORDS).into_iter().take(LISTED_TOPICS).map(|topic| {
        let share = format!("{:.1} %", 100.0 * topic.share);
        vec![topic.number.to_string(), share, topic.query_words.join(" "), topic.document_words.join(" ")]
    });
    let header = ["topic", "share", "words of queries", "words of documents"];
    remarks.push(format!(
        "The largest topics by their likeliest words (all of them: --format json):\n{}",
        table(&header, listed.collect(), Format::Table)
    ));
}

fn describe_latent(
    model: &LatentModel,
    rows: &mut Vec<Vec<String>>,
    remarks: &mut Vec<String>,
) -> anyhow::Result<()> {
    let Inspection { d, x, y, spectrum, bound } = inspect(model)?;
    rows.push(row("latent dimensions", human(d as u64)));
    if let Inputs::Features(features) = &model.inputs {
        rows.push(row("words", human(features.n_words() as u64)));
    }
    if model.model.identity() > 0 {
        rows.push(row("words that count by themselves", human(model.model.identity() as u64)));
    }
    if let Some(biases) = model.model.biases() {
        let largest = |biases: &[f32]| biases.iter().fold(0f32, |most, bias| most.max(bias.abs()));
        rows.push(row("bias of all pairs", format!("{:.4}", biases.global)));
        let (x, y) = (largest(&biases.x), largest(&biases.y));
        rows.push(row("largest bias of a query, document feature", format!("{x:.4}, {y:.4}")));
    }
    for (side, name) in [(&x, "query"), (&y, "document")] {
        describe_side(side, name, rows);
    }
    if let Some(Spectrum { singular_values, half, nine_tenths }) = spectrum {
        let ends = (singular_values.first(), singular_values.last());
        if let (Some(first), Some(last)) = ends {
            rows.push(row("singular values", format!("{first:.3e} to {last:.3e}")));
        }
        rows.push(row(
            "half, nine tenths of their squares",
            format!("in the first {half}, in the first {nine_tenths}"),
        ));
    }
    if let Some(residual) = model.report.residual {
        rows.push(row("residual of the singular vectors", format!("{residual:.1e}")));
    }
    if let Some(best) = model.report.best {
        rows.push(row("kept iteration", {
            format!("{best} of {}", model.report.iterations.len() + model.report.epochs.len())
        }));
    }
    if let Some(ndcg) = model.report.validation {
        rows.push(row("validation NDCG@10", format!("{ndcg:.4}")));
    }
    if let Some(rules) = &model.report.rules {
        rows.extend(rule_check(rules).into_iter().map(|(name, value)| row(&name, value)));
    }
    remarks.push(describe_collapse(model.kind, d, &x, &y));
    remarks.extend(bound.map(|bound| describe_bound(&bound)));
    Ok(())
}

/// Two sentences: how large the model is, and whether it has collapsed.
pub(crate) fn in_short(model: &LatentModel) -> anyhow::Result<String> {
    let Inspection { d, x, y, .. } = inspect(model)?;
    Ok(format!(
        "{} query and {} document features have rows of {} numbers, of which {:.1} and {:.1} % are not zero.\n{}",
        human(x.n_rows as u64),
        human(y.n_rows as u64),
        human(d as u64),
        100.0 * x.density,
        100.0 * y.density,
        describe_collapse(model.kind, d, &x, &y)
    ))
}

fn describe_collapse(kind: LatentKind, d: usize, x: &Side, y: &Side) -> String {
    let collapsed = x.collapse.is_collapsed() || y.collapse.is_collapsed();
    if x.collapse.effective_rank == 0.0 || y.collapse.effective_rank == 0.0 {
        return EMPTY.to_owned();
    }
    if collapsed && d > 2 && kind == LatentKind::Rmls {
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

fn describe_side(side: &Side, name: &str, rows: &mut Vec<Vec<String>>) {
    let Side { n_features, n_rows, density, lengths, largest_l1, collapse, .. } = side;
    rows.push(row(
        &format!("{name} features, with a row"),
        format!("{}, {}", human(*n_features as u64), human(*n_rows as u64)),
    ));
    rows.push(row(&format!("{name} rows: density"), format!("{:.2} %", 100.0 * density)));
    let [least, mean, most] = lengths.map(|length| format!("{length:.3e}"));
    rows.push(row(&format!("{name} rows: length"), format!("{least} to {most}, mean {mean}")));
    rows.push(row(&format!("{name} rows: largest l1 norm"), format!("{largest_l1:.3e}")));
    rows.push(row(
        &format!("{name} rows: length of mean, effective rank"),
        format!("{:.3}, {:.1}", collapse.mean_row, collapse.effective_rank),
    ));
    rows.push(row(&format!("{name} rows: in one direction"), format!("{:.0} %", 100.0 * collapse.aligned)));
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

fn origin(provenance: &Provenance) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let count = |name: &str| provenance.data.get(name).and_then(Value::as_u64).map(human);
    if let (Some(lists), Some(documents)) = (count("lists"), count("documents")) {
        rows.push(row("trained on lists, documents", format!("{lists}, {documents}")));
    }
    rows.push(row("made by", format!("matchrank {}", provenance.version)));
    rows.extend(provenance.seed.map(|seed| row("seed", seed.to_string())));
    if let Some(Value::String(hash)) = provenance.data.get("content_hash") {
        rows.push(row("dataset (hash)", hash.get(..16).unwrap_or(hash)));
    }
    let count = |name: &str| provenance.data.get("statistics").and_then(|s| s.get(name)?.as_u64());
    if let (Some(queries), Some(documents), Some(pairs)) =
        (count("n_queries"), count("n_documents"), count("n_pairs"))
    {
        rows.push(row(
            "its queries, documents, pairs",
            format!("{}, {}, {}", human(queries), human(documents), human(pairs)),
        ));
    }
    rows
}
