mod query_vectors;

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use clap::{Subcommand, ValueEnum};
use matchrank_core::message::counted;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::models::find_part;
use matchrank_engine::models::sparse_preference::{
    PairChange, PreferenceModel, SynonymFormat, changes, read_pairs, strongest, whole_words, word_pairs,
    write_pairs,
};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::{Error, files, model_file};

use crate::commands::rankers;
use crate::terminal::{self, Format, Terminal, table};
use crate::{Global, Outcome};

/// Write what a model has learned for other programs
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The strongest pairs of words of a sparse-preference model, as a synonym file
    ///
    /// For Solr and Elasticsearch: lines `sneaker,sneakers => sneaker,sneakers,trainers`, pairs of positive weight only.
    /// Words are written as in the documents and queries of --data, never as stems, in all their frequent forms, so that
    /// the filter of synonyms may stand before or behind a stemmer. Pairs that few clicks support are left out, and a
    /// file without any pair is refused. CSV has query_word, document_word and weight, negative weights, too; without
    /// --data its words are as the model has them, analysed.
    #[command(after_help = EXAMPLES)]
    Synonyms(Synonyms),
    /// A linear ranker as `model/linear` for the learning-to-rank plugin of Elasticsearch and OpenSearch
    ///
    /// The file is the body of a request to _ltr/_featureset/SET/_createmodel. Factors of scaling are multiplied into
    /// the weights; a model whose features are scaled within each list cannot be exported.
    #[command(after_help = ELASTICSEARCH_EXAMPLES)]
    Elasticsearch(rankers::export::Elasticsearch),
    /// Latent vectors of queries, for `train query-dependent --query-features`
    ///
    /// One line for each query: its id, and its direction in the latent space of a matching model, separated by tabs.
    #[command(after_help = VECTOR_EXAMPLES)]
    QueryVectors(query_vectors::QueryVectors),
}

#[derive(clap::Args)]
struct Synonyms {
    /// Model file made by `train sparse-preference`, or a combination with one
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// File to write; `-` is standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Dataset folder that the model was trained on, for whole words and for clicks that support a pair
    #[arg(long, value_name = "DATASET")]
    data: Option<PathBuf>,
    /// Leave out pairs with fewer clicks between a query and a document that have the words; needs --data
    #[arg(long, value_name = "N", default_value_t = 3, requires = "data")]
    min_support: u32,
    /// Which file
    #[arg(long, value_enum, default_value_t = As::Solr)]
    format: As,
    /// Leave out pairs of smaller weight; a word with itself starts with 1
    #[arg(long, value_name = "WEIGHT", default_value_t = 0.2)]
    threshold: f32,
    /// Pairs of each query word at most, the strongest
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Print what changed since this former export, of either format
    #[arg(long, value_name = "FILE")]
    diff: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum As {
    /// For Solr and Elasticsearch
    Solr,
    /// For spreadsheets
    Csv,
}

const EXAMPLES: &str = "\
Examples:
  matchrank export synonyms words.model --data shop --out synonyms.txt
  matchrank export synonyms words.model --format csv --threshold 0.5 --out pairs.csv --diff yesterday.csv";

const ELASTICSEARCH_EXAMPLES: &str = "\
Examples:
  matchrank train ranksvm --letor train.txt --validation vali.txt --out ranker.model
  matchrank export elasticsearch ranker.model --features names.txt --letor vali.txt --out model.json";

const VECTOR_EXAMPLES: &str = "\
Examples:
  matchrank export query-vectors rmls.model --queries queries.tsv --out vectors.tsv
  matchrank train query-dependent --letor train.txt --query-features vectors.tsv --out q.model";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    match args.what {
        What::Synonyms(args) => synonyms(args, global),
        What::Elasticsearch(args) => rankers::export::run(&args, global),
        What::QueryVectors(args) => query_vectors::run(&args, global),
    }
}

fn synonyms(args: Synonyms, global: &Global) -> anyhow::Result<Outcome> {
    ensure!(args.threshold >= 0.0, "--threshold must be 0 or more");
    let terminal = Terminal::new(global.quiet);
    check_outputs([&args.model].into_iter().chain(&args.data), [&args.out])?;
    // Read before anything is written: it may be the same file.
    let before = args.diff.as_deref().map(|path| {
        let bytes = files::read_all(path)?;
        let name = files::name_of(path);
        let text = std::str::from_utf8(&bytes).with_context(|| format!("{name}: is not UTF-8"))?;
        anyhow::Ok(read_pairs(&name, text)?)
    });
    let before = before.transpose()?;
    let (model, _) = model_file::load(&args.model)?;
    let Some(preference) = find_part::<PreferenceModel>(&*model) else {
        bail!(
            "{}: a {} model has no weights of pairs of words; models of sparse-preference have",
            args.model.display(),
            model.kind()
        );
    };
    let format = match args.format {
        As::Solr => SynonymFormat::Solr,
        As::Csv => SynonymFormat::Csv,
    };
    let mut pairs = word_pairs(preference, args.threshold, format);
    let n_strong = pairs.len();
    let mut left_out = String::new();
    match &args.data {
        Some(folder) => {
            let dataset = Dataset::open(folder)?;
            let found = whole_words(preference, pairs, &dataset, args.min_support)?;
            left_out = format!(": {}", found.left_out(args.min_support));
            pairs = found.pairs;
        }
        None if format == SynonymFormat::Solr => bail!(
            "the words of a model are stems, which search engines do not know; give the dataset that the model was \
             trained on with --data to write whole words (--format csv lists the stems without it)"
        ),
        None => {}
    }
    let pairs = strongest(pairs, args.top);
    if pairs.is_empty() {
        let support = if left_out.is_empty() { "" } else { " or --min-support" };
        bail!(
            "{}: no pair of words is left of {} with a weight of {} or more{left_out}; train with more clicks or tuples, \
             or lower --threshold{support}; nothing was written",
            args.model.display(),
            counted(n_strong, "pair"),
            args.threshold
        );
    }
    let text = write_pairs(&pairs, format);
    files::write_atomically(&args.out, |out| {
        out.write_all(text.as_bytes()).map_err(|e| Error::io(files::name_of(&args.out), e))
    })?;
    if let Some(before) = before {
        let changes = changes(&before, &pairs);
        if changes.is_empty() {
            terminal.say("nothing changed");
        } else if args.out.as_os_str() == "-" {
            // The pairs themselves are on standard output.
            terminal.say(&change_table(&changes));
        } else {
            terminal::print(&change_table(&changes))?;
        }
    }
    terminal.say(&format!("wrote {}: {}", args.out.display(), counted(pairs.len(), "pair")));
    Ok(Outcome::Clean)
}

fn change_table(changes: &[PairChange]) -> String {
    let weight = |weight: Option<f32>| weight.map_or(String::new(), |weight| format!("{weight:.4}"));
    let rows = changes.iter().map(|change| {
        let PairChange { change, query_word, document_word, before, now } = change;
        vec![(*change).to_owned(), query_word.clone(), document_word.clone(), weight(*before), weight(*now)]
    });
    table(&["", "query word", "document word", "before", "now"], rows.collect(), Format::Table)
}
