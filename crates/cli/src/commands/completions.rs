use clap::CommandFactory;

use crate::{Cli, Outcome, terminal};

/// Print a shell completion script
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  matchrank completions bash > ~/.local/share/bash-completion/completions/matchrank"
)]
pub(crate) struct Args {
    /// Shell to print the script for
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: Args) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "matchrank", &mut script);
    terminal::print(&String::from_utf8(script)?)?;
    Ok(Outcome::Clean)
}
