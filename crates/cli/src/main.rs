//! `matchrank`: learn to match queries with documents, and to rank, from click logs and judgments.

mod commands;
mod interrupt;
mod terminal;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Learn to match queries with documents, and to rank, from click logs and judgments.
#[derive(Parser)]
#[command(name = "matchrank", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Flags of every command.
#[derive(Args, Clone)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// Threads to use, at most 256; 0 means all cores
    #[arg(long, global = true, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u16).range(..=256))]
    threads: u16,
    /// Random seed; the same seed gives the same result for any number of threads
    #[arg(long, global = true, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Bytes that a compressed file may expand to, as in 20G; by default 200 times its size, and at least 256M
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,
    /// Print results and errors only: no progress, no notes
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Subcommand)]
enum Command {
    Demo(commands::demo::Args),
    Simulate(commands::simulate::Args),
    Ingest(Box<commands::ingest::Args>),
    Doctor(commands::doctor::Args),
    Train(Box<commands::train::Args>),
    Tune(Box<commands::tune::Args>),
    Compare(Box<commands::compare::Args>),
    Refresh(commands::refresh::Args),
    Rollback(commands::refresh::RollbackArgs),
    Update(commands::update::Args),
    Events(commands::events::Args),
    Features(commands::features::Args),
    Serve(Box<commands::serve::Args>),
    Search(commands::search::Args),
    Rank(commands::rank::Args),
    Explain(commands::explain::Args),
    Related(commands::related::Args),
    Inspect(commands::inspect::Args),
    Export(commands::export::Args),
    Eval(commands::eval::Args),
    Report(commands::report::Args),
    Reproduce(commands::reproduce::Args),
    Completions(commands::completions::Args),
    #[command(hide = true)]
    Reference(commands::reference::Args),
}

const EXAMPLES: &str = "\
Exit codes: 0 success; 1 problems found; 2 bad input or usage; 130 interrupted (Ctrl-C), 143 terminated \
(SIGTERM), 129 hung up (SIGHUP). An interrupted command leaves the files it was to replace unchanged; `compare`, \
`tune`, `update` and `train sparse-preference` keep their finished work, and say where it is.

Examples:
  matchrank demo                                   the complete workflow on simulated data
  matchrank doctor train.txt qrels.txt             check these files for problems
  matchrank eval --qrels qrels.txt --run a.run b.run";

/// Outcome of a command that did not fail.
pub(crate) enum Outcome {
    /// Exit code 0.
    Clean,
    /// Exit code 1: the command ran, and found problems in the data.
    Problems,
}

fn main() -> ExitCode {
    interrupt::watch();
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse(&error));
    let code = match run(cli) {
        Ok(Outcome::Clean) => 0,
        Ok(Outcome::Problems) => 1,
        Err(error) if terminal::is_broken_pipe(&error) => 0,
        Err(error) => {
            terminal::print_error(&error);
            2
        }
    };
    ExitCode::from(interrupt::exit_code().unwrap_or(code))
}

/// Parses a number of bytes, with K, M, G or T for powers of 1,024.
fn parse_size(text: &str) -> Result<u64, String> {
    let units = ["", "K", "M", "G", "T"];
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text[digits.len()..].trim().trim_end_matches(['B', 'b']).trim_end_matches('i').to_uppercase();
    let power = units.iter().position(|&known| known == unit);
    let size = digits.parse::<u64>().ok().zip(power).and_then(|(n, power)| n.checked_mul(1 << (10 * power)));
    size.filter(|&size| size > 0).ok_or_else(|| "expected a number of bytes, as in 500M or 20G".to_owned())
}

/// Prints the usage error or the requested help, and ends the process.
fn refuse(error: &clap::Error) -> ! {
    let _ = error.print();
    if error.kind() == clap::error::ErrorKind::InvalidSubcommand
        && std::env::args_os().any(|argument| argument == "cross-validate")
    {
        terminal::print_hint(
            "cross-validate was replaced by `matchrank compare --letor FOLD1 FOLD2 FOLD3 ...`",
        );
    }
    std::process::exit(error.exit_code())
}

fn run(cli: Cli) -> anyhow::Result<Outcome> {
    if let Some(bytes) = cli.global.max_size {
        matchrank_engine::files::allow_expansion_to(bytes);
    }
    rayon::ThreadPoolBuilder::new().num_threads(cli.global.threads.into()).build_global()?;
    match cli.command {
        Command::Demo(args) => commands::demo::run(args, &cli.global),
        Command::Simulate(args) => commands::simulate::run(args, &cli.global),
        Command::Ingest(args) => commands::ingest::run(*args, &cli.global),
        Command::Doctor(args) => commands::doctor::run(args, &cli.global),
        Command::Train(args) => commands::train::run(*args, &cli.global),
        Command::Tune(args) => commands::tune::run(*args, &cli.global),
        Command::Compare(args) => commands::compare::run(*args, &cli.global),
        Command::Refresh(args) => commands::refresh::run(args, &cli.global),
        Command::Rollback(args) => commands::refresh::run_rollback(args, &cli.global),
        Command::Update(args) => commands::update::run(args, &cli.global),
        Command::Events(args) => commands::events::run(args, &cli.global),
        Command::Features(args) => commands::features::run(args, &cli.global),
        Command::Serve(args) => commands::serve::run(*args, &cli.global),
        Command::Search(args) => commands::search::run(&args, &cli.global),
        Command::Rank(args) => commands::rank::run(args, &cli.global),
        Command::Explain(args) => commands::explain::run(args, &cli.global),
        Command::Related(args) => commands::related::run(args, &cli.global),
        Command::Inspect(args) => commands::inspect::run(args, &cli.global),
        Command::Export(args) => commands::export::run(args, &cli.global),
        Command::Eval(args) => commands::eval::run(args, &cli.global),
        Command::Report(args) => commands::report::run(args, &cli.global),
        Command::Reproduce(args) => commands::reproduce::run(args, &cli.global),
        Command::Completions(args) => commands::completions::run(args),
        Command::Reference(args) => commands::reference::run(args),
    }
}
