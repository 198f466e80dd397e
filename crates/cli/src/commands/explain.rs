use std::path::PathBuf;

use anyhow::bail;
use clap::ArgGroup;
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::models::bind;
use matchrank_engine::scoring::{Explanation, Why};

use crate::commands::rankers;
use crate::terminal::{self, Format, Terminal, table, to_json};
use crate::{Global, Outcome};

/// Say why a document has its score for a query
///
/// The parts add up to the score: shared words for BM25; for RM3 the words of the query and of its best documents; for RMLS, PLS, LSI, SSI, SVDFeature and sparse preferences pairs of a query
/// feature and a document feature, each adding x * affinity * y; for BLTM the words of the query. A click feature is shown as document:ID (this query led
/// to a click there) or query:TEXT (that query led to a click on this document). A random walk shows the
/// likeliest ways over clicks, which do not add up to its score; a combination all of its models; a stack what each of
/// its models adds to the mean score of the candidates. Rankers of feature lists show weight * value of each feature;
/// query-dependent ones also which training queries the function of the query was learned from, and with what weight.
/// Boosted trees show what each feature adds to the mean score of the documents of the query, or to the score of the
/// document --against: its Shapley value, the mean effect of changing it from theirs to this document's, over all orders
/// of changing features.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("documents").required(true).args(["data", "letor"]))]
pub(crate) struct Args {
    /// Model file made by `train`
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Dataset folder made by `ingest`
    #[arg(long, value_name = "DATASET")]
    data: Option<PathBuf>,
    /// Feature lists with the document, LETOR / SVMlight files, for models trained on such
    #[arg(long, num_args = 1.., value_name = "FILE")]
    letor: Vec<PathBuf>,
    /// With --letor: say why the document stands above, or below, this one
    #[arg(long, value_name = "ID", requires = "letor", conflicts_with = "data")]
    against: Option<String>,
    /// With --letor: query features of the lists, for query-dependent models that were trained with such a file
    #[arg(long, value_name = "FILE", requires = "letor", conflicts_with = "data")]
    query_features: Option<PathBuf>,
    /// With --letor: names of the features, one a line, as `features --names` writes them
    #[arg(long, value_name = "FILE", requires = "letor", conflicts_with = "data")]
    names: Option<PathBuf>,
    /// Text of the query; training need not have seen it. With --letor, its id
    #[arg(long, value_name = "TEXT")]
    query: String,
    /// Id of the document
    #[arg(long, value_name = "ID")]
    document: String,
    /// Parts to show, the largest
    #[arg(long, default_value_t = 20, value_name = "N")]
    top: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  matchrank explain --model rmls.model --data shop --query 'gears of war' --document 2670133
  matchrank explain --model both.model --data shop --query 'gears of war' --document 2670133 --format json
  matchrank explain --model ranksvm.model --letor test.txt --query 18219 --document GX000-00 --against GX000-01
  matchrank explain --model lambdamart.model --letor test.txt --query 18219 --document GX000-00 --top 10";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let terminal = Terminal::new(global.quiet);
    let Some(data) = &args.data else {
        let question = rankers::explain::Question {
            names: args.names.as_deref(),
            model: &args.model,
            letor: &args.letor,
            query_features: args.query_features.as_deref(),
            query: &args.query,
            document: &args.document,
            against: args.against.as_deref(),
            top: args.top,
            format: args.format,
        };
        return rankers::explain::run(&question, &terminal);
    };
    if args.query.trim().is_empty() {
        bail!("--query is empty; give the text of a query");
    }
    let model = rankers::load_matching(&args.model)?;
    let dataset = Dataset::open(data)?;
    let row = [row_of(&dataset, &args.document)?];
    // Combinations and stacks compare with other documents; for the others one document will do.
    let (wanted, document) = if model.parts().is_empty() { (Some(&row[..]), 0) } else { (None, row[0]) };
    let matcher = bind(&*model, &dataset, wanted, &terminal)?;
    let mut explanation = matcher.explain(&args.query, document)?;
    terminal.finish();
    let is_new = dataset.new_documents()?[row[0] as usize];
    if is_new && args.format == Format::Table {
        terminal.note(&format!("document {} is new: it has no click in the training data", args.document));
    }
    if explanation.score.is_none()
        && let Some(query) =
            dataset.queries()?.into_iter().find(|q| q.id == args.query && q.text != args.query)
    {
        terminal
            .note(&format!("{} is the id of a query; --query takes its text: '{}'", query.id, query.text));
    }
    match args.format {
        Format::Table => terminal::print(&text(model.kind(), &explanation, args.top))?,
        format => {
            shorten(&mut explanation, args.top);
            let mut json = to_json(&explanation);
            json["model"] = model.kind().into();
            json["query"] = args.query.into();
            json["document"] = args.document.into();
            if is_new {
                json["is_new"] = true.into();
            }
            terminal::print_data(&json, format)?;
        }
    }
    Ok(Outcome::Clean)
}

/// The row of a document in a dataset.
pub(crate) fn row_of(dataset: &Dataset, document: &str) -> anyhow::Result<u32> {
    let Some(row) = dataset.document_ids()?.iter().position(|id| id == document) else {
        bail!("{}: there is no document '{document}'", dataset.folder().display());
    };
    Ok(row as u32)
}

/// Leaves the largest parts.
pub(crate) fn shorten(explanation: &mut Explanation, top: usize) {
    match &mut explanation.why {
        Why::Terms { terms } => terms.truncate(top),
        Why::Expanded { words, .. } => words.truncate(top),
        Why::Pairs { pairs, others } => {
            *others += pairs.drain(top.min(pairs.len())..).map(|pair| f64::from(pair.score)).sum::<f64>();
        }
        Why::Words { words, .. } => words.truncate(top),
        Why::Paths { paths, .. } => paths.truncate(top),
        Why::Parts { parts } => parts.iter_mut().for_each(|part| shorten(&mut part.explanation, top)),
        Why::Stacked { parts, .. } => {
            parts.iter_mut().for_each(|part| shorten(&mut part.explanation, top));
        }
    }
}

pub(crate) fn text(kind: &str, explanation: &Explanation, top: usize) -> String {
    let Some(score) = explanation.score else {
        return format!("{kind}: no score; {}", silence(&explanation.why));
    };
    let score = format!("{score:.6}");
    let number = |value: f64| format!("{value:.4}");
    match &explanation.why {
        Why::Terms { terms } => {
            let shown = terms.iter().take(top).map(|term| {
                let c = &term.contribution;
                let counts = [c.query_count, c.count].map(|count| count.to_string());
                let [in_query, in_document] = counts;
                vec![
                    term.text.clone(),
                    in_query,
                    in_document,
                    number(c.idf),
                    number(c.saturation),
                    number(c.score),
                ]
            });
            let mut rows: Vec<Vec<String>> = shown.collect();
            if terms.len() > top {
                let rest = terms[top..].iter().map(|term| term.contribution.score).sum();
                rows.push(line(6, &format!("{} more words", terms.len() - top), number(rest)));
            }
            rows.push(line(6, "score", score));
            let header = ["word", "in query", "in document", "idf", "saturation", "adds"];
            format!("{kind}: the score is the sum over shared words\n{}", table(&header, rows, Format::Table))
        }
        Why::Expanded { feedback, words } => {
            let mut rows: Vec<Vec<String>> = words
                .iter()
                .take(top)
                .map(|word| {
                    let c = &word.term.contribution;
                    vec![
                        word.term.text.clone(),
                        word.in_query.to_string(),
                        number(word.relevance),
                        number(f64::from(c.query_count)),
                        c.count.to_string(),
                        number(c.idf),
                        number(c.saturation),
                        number(c.score),
                    ]
                })
                .collect();
            if words.len() > top {
                let rest = words[top..].iter().map(|word| word.term.contribution.score).sum();
                rows.push(line(8, &format!("{} more words", words.len() - top), number(rest)));
            }
            rows.push(line(8, "score", score));
            let header =
                ["word", "in query", "in feedback", "weight", "in document", "idf", "saturation", "adds"];
            let taken: Vec<String> =
                feedback.iter().map(|taken| format!("{} ({:.3})", taken.document, taken.share)).collect();
            format!(
                "{kind}: the score is the sum over the words of the expanded query of weight * idf * saturation; words were \
                 taken from {}\n{}",
                taken.join(", "),
                table(&header, rows, Format::Table)
            )
        }
        Why::Pairs { pairs, others } => {
            let mut rows: Vec<Vec<String>> = pairs
                .iter()
                .take(top)
                .map(|pair| {
                    let [x, affinity, y, adds] =
                        [pair.x, pair.affinity, pair.y, pair.score].map(|value| number(f64::from(value)));
                    vec![pair.query_feature.clone(), pair.document_feature.clone(), x, affinity, y, adds]
                })
                .collect();
            let rest = others + pairs.iter().skip(top).map(|pair| f64::from(pair.score)).sum::<f64>();
            if pairs.len() > top || *others != 0.0 {
                rows.push(line(6, "all other pairs", number(rest)));
            }
            rows.push(line(6, "score", score));
            let header = ["query feature", "document feature", "x", "affinity", "y", "adds"];
            format!(
                "{kind}: the score is the sum over pairs of features of x * affinity * y\n{}",
                table(&header, rows, Format::Table)
            )
        }
        Why::Words { document, topic, words } => {
            let mut rows: Vec<Vec<String>> = words
                .iter()
                .take(top)
                .map(|part| {
                    let [own, topics, collection] =
                        [part.in_document, part.by_topics, part.in_collection].map(|p| format!("{p:.6}"));
                    let name =
                        part.topic.map_or(String::new(), |z| format!("{z}: {}", part.topic_words.join(" ")));
                    vec![part.word.clone(), own, topics, collection, name, number(f64::from(part.score))]
                })
                .collect();
            if words.len() > top {
                let rest = words[top..].iter().map(|part| f64::from(part.score)).sum();
                rows.push(line(6, &format!("{} more words", words.len() - top), number(rest)));
            }
            rows.push(line(6, "score", score));
            let header = ["word", "in document", "by topics", "in collection", "main topic", "adds"];
            format!(
                "{kind}: the score is the sum over the words of the query of ln(1 + ({document} * in document + {topic} * by \
                 topics) / ({} * in collection)), for every time the query has the word\n{}",
                ((1.0 - document - topic) * 1e6).round() / 1e6,
                table(&header, rows, Format::Table)
            )
        }
        Why::Paths { self_transition, steps, paths } => {
            let rows = paths.iter().take(top).map(|path| {
                let over = if path.over.is_empty() {
                    "a click on the document".into()
                } else {
                    path.over.join(" > ")
                };
                vec![over, format!("{:.6}", path.probability)]
            });
            let rows: Vec<Vec<String>> = rows.chain([vec!["score".to_owned(), score]]).collect();
            format!(
                "{kind}: {steps} steps, each staying with probability {self_transition}; the likeliest ways from the \
                 document to the query, from which the score is made together with all longer ones and the \
                 probability of so many moves\n{}",
                table(&["over", "probability"], rows, Format::Table)
            )
        }
        Why::Stacked { ranker, candidates, base, parts, counts, attributes } => {
            let mut rows = vec![line(5, "mean of the candidates", number(*base))];
            rows.extend(parts.iter().map(|part| {
                let own = part.explanation.score.map_or("no score".into(), |s| number(f64::from(s)));
                let [standardised, adds] = [part.standardised, part.adds].map(number);
                let rank = part.rank.map_or(String::new(), |rank| rank.to_string());
                vec![part.model.clone(), own, rank, standardised, adds]
            }));
            rows.extend(counts.iter().map(|count| {
                let name = format!("log(1 + {})", count.count);
                vec![name, number(count.scaled.into()), String::new(), String::new(), number(count.adds)]
            }));
            rows.extend(attributes.iter().map(|attribute| {
                let [name, value] = [attribute.attribute.clone(), attribute.description()];
                vec![name, value, String::new(), String::new(), number(attribute.adds)]
            }));
            rows.push(line(5, "score", score));
            let header = ["model", "its score", "its rank", "standardised", "adds"];
            let mut text = format!(
                "{kind}: {ranker} over the scores of the models, for {}; the score is their mean \
                 score and what each model adds to it (Shapley values)\n{}",
                counted(*candidates, "candidate"),
                table(&header, rows, Format::Table)
            );
            for part in parts {
                text.push_str("\n\n");
                text.push_str(&self::text(&part.model, &part.explanation, top));
            }
            text
        }
        Why::Parts { parts } => {
            let mut rows: Vec<Vec<String>> = parts
                .iter()
                .map(|part| {
                    let own = part.explanation.score.map_or("no score".into(), |s| number(f64::from(s)));
                    let [mean, deviation, standardised, adds] =
                        [part.mean, part.deviation, part.standardised, part.contribution].map(number);
                    vec![
                        part.model.clone(),
                        own,
                        mean,
                        deviation,
                        standardised,
                        part.weight.to_string(),
                        adds,
                    ]
                })
                .collect();
            rows.push(line(7, "score", score));
            let header = ["model", "its score", "mean", "deviation", "standardised", "weight", "adds"];
            let mut text = format!(
                "{kind}: the score is the weighted sum of standardised scores\n{}",
                table(&header, rows, Format::Table)
            );
            for part in parts {
                text.push_str("\n\n");
                text.push_str(&self::text(&part.model, &part.explanation, top));
            }
            text
        }
    }
}

/// Why a model says nothing.
fn silence(why: &Why) -> &'static str {
    match why {
        Why::Terms { .. } => "query and document share no word",
        Why::Expanded { .. } => "the document has no word of the query or of its best documents",
        Why::Pairs { .. } => {
            "the model has learned nothing about the words of the query, and training saw no clicks of it"
        }
        Why::Words { .. } => "the model knows no word of the query",
        Why::Paths { .. } => "no way over clicks leads from the document to the query within so few steps",
        Why::Stacked { .. } => "no model of the stack has a score for it",
        Why::Parts { .. } => "no model tells the documents apart for this query",
    }
}

/// A row with a name and a last cell.
fn line(columns: usize, name: &str, last: String) -> Vec<String> {
    let mut row = vec![String::new(); columns];
    row[0] = name.to_owned();
    row[columns - 1] = last;
    row
}
