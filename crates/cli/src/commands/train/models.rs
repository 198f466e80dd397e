//! The models that learn from a dataset, and their arguments.
//!
//! Every model of the table gets a subcommand with the same arguments; the enum [`Special`] holds those that take more.

use std::path::PathBuf;

use clap::{ArgMatches, Args as _, Command, FromArgMatches, Subcommand, ValueEnum};
use matchrank_engine::json::Json;
use matchrank_engine::models::MatchingKind;
use matchrank_engine::models::registry::{self, MATCHING};
use matchrank_engine::validation::Ranked;

use super::preference;
use super::settings::parse_setting;
use crate::terminal::{Format, long_help};

/// A model to train.
pub(crate) enum DatasetModel {
    /// A model with the usual arguments.
    Usual {
        /// Its kind.
        kind: &'static MatchingKind,
        /// Its arguments.
        common: Common,
    },
    /// A model with arguments of its own.
    Special(Special),
}

/// Models with arguments of their own; their help comes from the table.
#[derive(Subcommand)]
pub(crate) enum Special {
    SparsePreference(preference::Args),
    Combination {
        #[command(flatten)]
        common: Common,
        /// The model files, two or more
        #[arg(long, num_args = 2.., value_name = "MODEL", required = true)]
        of: Vec<PathBuf>,
        /// Weights of the models, from 0 to 1, which sum to 1; for two models the first will do [default: tuned on
        /// validation]
        #[arg(long, num_args = 1.., value_name = "WEIGHT", conflicts_with = "settings")]
        weight: Vec<f32>,
        /// Documents that the weights are tuned to rank: the judged ones of each query, or all. The best weights for judged
        /// documents can be far from the best for all of them
        #[arg(long, value_enum, default_value_t = Candidates::All, conflicts_with = "weight")]
        candidates: Candidates,
    },
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

impl Subcommand for DatasetModel {
    fn augment_subcommands(command: Command) -> Command {
        let special = Special::augment_subcommands(command);
        MATCHING.iter().enumerate().fold(special, |command, (place, kind)| {
            let described = |subcommand: Command| {
                subcommand
                    .about(kind.summary)
                    .long_about(long_help(kind.summary, kind.help, kind.parameters, kind.feature_parameters))
                    .display_order(place)
            };
            if Special::has_subcommand(kind.name) {
                return command.mut_subcommand(kind.name, described);
            }
            command.subcommand(Common::augment_args(described(Command::new(kind.name))))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        registry::find(name).is_some()
    }
}

impl FromArgMatches for DatasetModel {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand() {
            Some((name, own)) if !Special::has_subcommand(name) => {
                let kind = registry::find(name).ok_or(clap::error::ErrorKind::InvalidSubcommand);
                let kind = kind.map_err(|error| clap::Error::raw(error, "there is no such model"))?;
                Ok(Self::Usual { kind, common: Common::from_arg_matches(own)? })
            }
            _ => Special::from_arg_matches(matches).map(Self::Special),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl DatasetModel {
    pub(crate) fn place(&self) -> &Place {
        match self {
            Self::Usual { common, .. } | Self::Special(Special::Stack { common, .. }) => &common.place,
            Self::Special(Special::SparsePreference(args)) => &args.common.place,
            Self::Special(Special::Combination { common, .. }) => &common.place,
        }
    }

    /// Files to read.
    pub(crate) fn inputs(&self) -> Vec<&PathBuf> {
        let mut inputs = vec![&self.place().data];
        match self {
            Self::Usual { .. } => {}
            Self::Special(Special::SparsePreference(args)) => inputs.extend(&args.tuples),
            Self::Special(Special::Combination { of, .. }) => inputs.extend(of),
            Self::Special(Special::Stack { of, ranker_of, .. }) => inputs.extend(of.iter().chain(ranker_of)),
        }
        inputs
    }

    /// Files to write.
    pub(crate) fn outputs(&self) -> Vec<PathBuf> {
        let mut outputs = vec![self.place().out.clone()];
        if let Self::Special(Special::SparsePreference(args)) = self {
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
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

#[derive(clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) place: Place,
    /// Set a parameter of the model
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub(crate) settings: Vec<(String, Json)>,
}
