//! The models that learn from a dataset, and their arguments.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use matchrank_engine::validation::Ranked;
use serde_json::Value;

use super::preference;
use super::settings::parse_setting;
use crate::terminal::Format;

#[derive(Subcommand)]
pub(crate) enum DatasetModel {
    /// BM25: matches words with words, weighing rare ones more and long documents less
    ///
    /// Parameters for --set:
    ///   k1=1.2   how soon repeating a word stops counting, from 0
    ///   b=0.75   how much long documents are held back, from 0 to 1
    #[command(verbatim_doc_comment)]
    Bm25(Common),
    /// RMLS: learns from clicks which words of queries go with which words of documents
    ///
    /// Regularized mapping to latent structures: every feature of queries and documents gets a sparse row
    /// of d numbers, so that queries and the documents that answer them come close. The iteration that is
    /// best on the validation judgments is kept.
    ///
    /// Parameters for --set:
    ///   d=1000               latent dimensions
    ///   iterations=5         iterations at most; two without a better figure end the training. Without
    ///                        validation judgments to stop by, 1
    ///   beta=0.5, gamma=0.3  thresholds of the rows of queries and of documents; 0 leaves rows dense
    ///   threshold=relative   what they are measured in: relative (shares of the largest entry of a row),
    ///                        absolute (as in the papers), density (shares of the entries to leave)
    ///   theta_x=1, theta_y=1 lengths of the rows
    ///   center=true          subtract the means; without it the model collapses on most data
    ///   route=factored       factored: by features and clicks; formed: form the matrix first (slower)
    ///
    /// Features, for --set too:
    ///   tf=log               what the count of a word becomes: count, log, binary
    ///   idf=smooth           how frequent words are held back: none, smooth, plain, bm25
    ///   click_tf=log         what a count of clicks becomes: count, log
    ///   click_weight=1       length of the click features beside the words; 0 for no click features
    #[command(verbatim_doc_comment)]
    Rmls {
        #[command(flatten)]
        common: Common,
        /// Start from a former model: its words are found by name, d is taken over
        #[arg(long, value_name = "MODEL")]
        start: Option<PathBuf>,
    },
    /// PLS: the directions in which queries and the documents that answer them vary together
    ///
    /// Partial least squares: the singular vectors of the covariance of queries and clicked documents.
    ///
    /// Parameters for --set:
    ///   d=300                latent dimensions
    ///   center=true          subtract the means
    ///   weight_power=0.5     a in (s / s_1)^a, the weight of a latent dimension by its singular value;
    ///                        0 as in the papers
    ///   tolerance=0.001      residual, relative to the largest singular value, at which to stop
    ///   max_steps=300        products with the matrix at most
    ///
    /// Features, for --set too:
    ///   tf=log               what the count of a word becomes: count, log, binary
    ///   idf=smooth           how frequent words are held back: none, smooth, plain, bm25
    ///   click_tf=log         what a count of clicks becomes: count, log
    ///   click_weight=1       length of the click features beside the words; 0 for no click features
    #[command(verbatim_doc_comment)]
    Pls(Common),
    /// LSI of the documents' words: finds words that occur together; needs no clicks
    ///
    /// Parameters for --set:
    ///   d=100                latent dimensions
    ///   tolerance=0.001      residual, relative to the largest singular value, at which to stop
    ///   max_steps=300        products with the matrix at most
    ///   tf=log               what the count of a word becomes: count, log, binary
    ///   idf=smooth           how frequent words are held back: none, smooth, plain, bm25
    #[command(verbatim_doc_comment)]
    LsiDt(Common),
    /// LSI of the clicks: for queries that training saw, and no others
    ///
    /// Parameters for --set:
    ///   d=100                latent dimensions
    ///   tolerance=0.001      residual, relative to the largest singular value, at which to stop
    ///   max_steps=300        products with the matrix at most
    ///   click_tf=log         what a count of clicks becomes: count, log
    #[command(verbatim_doc_comment)]
    LsiQd(Common),
    /// SSI: the cosine of words, and which other words go together, learned from preferences
    ///
    /// Supervised semantic indexing: the score is q' (U' V + I) d, and U, V learn by steps from tuples: for this
    /// query this document is better than that one, by a margin. Tuples are drawn from the responses: a higher
    /// grade is better than a lower one or none; a click is better than none, and, where the log has positions,
    /// better than what was shown above it, or next below it, and not clicked (Joachims' rules). The summary says
    /// how many of these preferences the validation judgments contradict. The iteration that is best on the
    /// validation judgments is kept.
    ///
    /// Parameters for --set:
    ///   d=100                latent dimensions
    ///   iterations=20        iterations at most; four without a better figure end the training
    ///   tuples=200000        tuples of an iteration
    ///   judged=0.2           share of them whose worse document was judged lower, or skipped, where there is one
    ///   margin=0.5           learn from tuples whose scores are less apart than this
    ///   rate=0.02            length of the first step of a row
    ///   l2=0                 how strongly rows are pulled towards 0
    ///   spread=0.05          rows start at random between this and its negative
    ///   batch=256            tuples of a step
    ///   identity=true        whether words that query and document share count by themselves
    ///
    /// Features, for --set too:
    ///   tf=log               what the count of a word becomes: count, log, binary
    ///   idf=smooth           how frequent words are held back: none, smooth, plain, bm25
    ///   click_tf=log         what a count of clicks becomes: count, log
    ///   click_weight=1       length of the click features beside the words; 0 for no click features
    #[command(
        verbatim_doc_comment,
        after_help = "Example:\n  matchrank train ssi --data shop --set judged=1 --out ssi.model"
    )]
    Ssi(Common),
    /// SVDFeature: predicts clicks from the features of query and document
    ///
    /// Feature-based matrix factorisation: biases of all features, and a row of d numbers for each, so that the
    /// squared error of the predicted (logarithm of the) clicks is small. Documents without a click are drawn
    /// beside those with one, and should get 0. The iteration that is best on the validation judgments is kept.
    ///
    /// Parameters for --set:
    ///   d=100                latent dimensions
    ///   iterations=20        iterations at most; four without a better figure end the training
    ///   pairs=2000000        pairs of an iteration at most; a pass over more is cut into equal iterations
    ///   rate=0.02            length of the first step of a row
    ///   l2=0.0001            how strongly rows and biases are pulled towards 0
    ///   spread=0.05          rows start at random between this and its negative
    ///   batch=256            pairs with a response of a step
    ///   negatives=3          documents without a response that are drawn for every pair with one
    ///   target=log           what is predicted: log (of 1 + response), count
    ///
    /// Features, for --set too:
    ///   tf=log               what the count of a word becomes: count, log, binary
    ///   idf=smooth           how frequent words are held back: none, smooth, plain, bm25
    ///   click_tf=log         what a count of clicks becomes: count, log
    ///   click_weight=1       length of the click features beside the words; 0 for no click features
    #[command(
        verbatim_doc_comment,
        after_help = "Example:\n  matchrank train svdfeature --data shop --set d=200 --out svd.model"
    )]
    Svdfeature(Common),
    /// BLTM: topics that queries and the documents they led to share, each in words of its own
    ///
    /// The bilingual topic model, learned by EM from pairs of a query and a clicked document. A score is how much
    /// likelier the query is by the words of the document and by its topics, which are found from its words, than
    /// by the words of the whole collection. The iteration that is best on the validation judgments, looked at
    /// after every fifth, is kept.
    ///
    /// Parameters for --set:
    ///   topics=100           topics
    ///   iterations=50        iterations at most; ten without a better figure end the training
    ///   alpha=0.01           how strongly the topics of a pair are pulled towards all being equal
    ///   beta=0.01            how strongly the words of a topic are pulled towards all being equal
    ///   steps=20             updates by which the topics of a document are found
    ///   document=0.2         share of the document's own words in the likelihood
    ///   topic=0.1            share of the topics; what is left is that of the collection
    ///   click_tf=log         what a count of clicks becomes, by which a pair counts: count, log
    #[command(
        verbatim_doc_comment,
        after_help = "Example:\n  matchrank train bltm --data shop --set topics=200 --out bltm.model"
    )]
    Bltm(Common),
    /// Random walk on the clicks: documents that queries with the same clicks lead to
    ///
    /// Ranks documents that can be reached from the query over clicks, for queries that training saw.
    ///
    /// Parameters for --set:
    ///   self_transition=0.9  probability to stay in a step, from 0 to below 1
    ///   steps=5              steps, from 1
    #[command(verbatim_doc_comment)]
    RandomWalk(Common),
    /// Sparse preferences: learns a weight for every pair of a query word and a document word
    ///
    /// The score is q' W d of tf-idf vectors. W starts as the identity and learns from tuples: for this query
    /// this document is better than that one. Most weights stay 0, so the model says which words go together
    /// (`related`, `explain`, `export synonyms`), and `update` goes on with it later.
    ///
    /// Tuples are drawn from the responses of the dataset: a higher grade is better than a lower one or none;
    /// a click is better than none, and, where the log has positions, better than what was shown above it and
    /// skipped. Or they come from --tuples, one per line: `query TAB better TAB worse`, documents by id (or, with
    /// --text, by text), or JSON with query, better or better_text, worse or worse_text; a text may be texts by
    /// field, or words with weights. Standard input is learned from as it comes, without a second pass.
    ///
    /// Parameters for --set:
    ///   variant=refit        what is learned: identity (nothing), diagonal (words with themselves), dense (all
    ///                        pairs), sparse (few pairs), refit (few pairs, then their weights once more)
    ///   tuples=1000000       tuples to draw
    ///   judged=0.2           share of them whose worse document was judged lower, or skipped above a click,
    ///                        where there is one
    ///   margin=auto          learn from tuples whose scores are less apart than this
    ///   c=auto               length of the first step
    ///   step=decaying        length of the others: decaying (c / sqrt(t)) or fixed (c)
    ///   lambda=auto          how strongly weights are shrunk towards 0
    ///   shrink_every=400     steps from one shrinkage to the next
    ///   average=false         whether refitting ends with the mean of W over its steps
    ///   max_mib=0            MiB that W may take while it is learned; beyond it is shrunk harder, and that is
    ///                        said; 0 for no ceiling
    ///   tf=log               what the count of a word becomes: count, log, binary
    ///   idf=smooth           how frequent words are held back: none, smooth, plain, bm25
    ///
    /// auto: chosen by NDCG@10 on the validation judgments, after trials of fixed size (2.4 times
    /// --trial-tuples in all); every trial is printed and kept in the model. Without judgments
    /// margin=0.3, c=2, lambda=0.000001.
    #[command(verbatim_doc_comment)]
    SparsePreference(preference::Args),
    /// Combination of two models: a * first + (1 - a) * second
    ///
    /// The scores of both are standardised for each query over the documents that are ranked. The weight a
    /// is the one of 0.1, 0.2, ... 0.9 that is best on the validation judgments, by NDCG@10 of a ranking of all
    /// documents (--candidates judged: of the judged ones), or as given. What is best for judged documents alone
    /// can be far from it for all of them. A combination may be combined again.
    Combination {
        #[command(flatten)]
        place: Place,
        /// The two model files
        #[arg(long, num_args = 2, value_names = ["FIRST", "SECOND"], required = true)]
        of: Vec<PathBuf>,
        /// a, the weight of the first model, from 0 to 1 [default: tuned on validation]
        #[arg(long, value_name = "A")]
        weight: Option<f32>,
        /// What the weight is tuned to rank: the judged documents of each query, or all documents
        #[arg(long, value_enum, default_value_t = Candidates::All, conflicts_with = "weight")]
        candidates: Candidates,
    },
    /// Stack: a ranker whose features are the scores of several models
    ///
    /// The best documents of every model are the candidates of a query; their scores, plain and standardised over the
    /// candidates, are the features. The ranker learns from the validation judgments. Which ranker, and how large, is
    /// chosen by folds of the validation queries, each ranked by what was learned from the others. Trees are grown by
    /// LightGBM (`pip install lightgbm`, or its library named by MATCHRANK_LIGHTGBM); ranking does not need it.
    ///
    /// Parameters for --set:
    ///   ranker=auto          auto (the best of listnet and lambdamart), listnet, mart, lambdamart
    ///   depth=100            best documents of every model that are candidates
    ///   candidates=auto      which documents of a query are learned from: judged, all (the candidates), auto (judged
    ///                        where most queries have irrelevant ones among them)
    ///   clicks=true          whether training clicks are features too: on the document, of the query, and of the query
    ///                        on the document, each as log(1 + n)
    ///   queries=2000         validation queries that are learned from, at most
    ///   folds=5              folds of the validation queries
    ///   trees=200            trees at most
    ///   learning_rate=0.05   what the values of each tree are multiplied by
    ///   min_rows=100         rows of a leaf at least
    #[command(verbatim_doc_comment)]
    Stack {
        #[command(flatten)]
        common: Common,
        /// The model files, called by their names without the ending
        #[arg(long, num_args = 1.., value_name = "MODEL", required = true)]
        of: Vec<PathBuf>,
        /// Learn nothing: take the ranker of this stack, for the same models trained again with more data
        #[arg(long, value_name = "STACK", conflicts_with = "settings")]
        ranker_of: Option<PathBuf>,
    },
}

impl DatasetModel {
    pub(crate) fn place(&self) -> &Place {
        match self {
            Self::Stack { common, .. } => &common.place,
            Self::Bm25(common)
            | Self::Rmls { common, .. }
            | Self::Pls(common)
            | Self::LsiDt(common)
            | Self::LsiQd(common)
            | Self::Ssi(common)
            | Self::Bltm(common)
            | Self::Svdfeature(common)
            | Self::RandomWalk(common) => &common.place,
            Self::SparsePreference(args) => &args.common.place,
            Self::Combination { place, .. } => place,
        }
    }
}

impl DatasetModel {
    /// What is read, beside the parameters.
    pub(crate) fn inputs(&self) -> Vec<&PathBuf> {
        let mut inputs = vec![&self.place().data];
        match self {
            Self::Rmls { start, .. } => inputs.extend(start),
            Self::SparsePreference(args) => inputs.extend(&args.tuples),
            Self::Combination { of, .. } => inputs.extend(of),
            Self::Stack { of, ranker_of, .. } => inputs.extend(of.iter().chain(ranker_of)),
            _ => {}
        }
        inputs
    }

    /// What is written.
    pub(crate) fn outputs(&self) -> Vec<PathBuf> {
        let mut outputs = vec![self.place().out.clone()];
        if let Self::SparsePreference(args) = self {
            outputs.extend(args.curve.iter().cloned().chain(args.checkpoint_file()));
        }
        outputs
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Candidates {
    Judged,
    All,
}

impl From<Candidates> for Ranked {
    fn from(candidates: Candidates) -> Self {
        match candidates {
            Candidates::Judged => Self::Judged,
            Candidates::All => Self::All,
        }
    }
}

#[derive(clap::Args)]
pub(crate) struct Place {
    /// Dataset folder made by `ingest`
    #[arg(long, value_name = "DATASET")]
    pub(crate) data: PathBuf,
    /// Model file to write
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Set a parameter of the model
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub(crate) settings: Vec<(String, Value)>,
}
