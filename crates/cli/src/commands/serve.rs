use std::net::SocketAddr;
use std::path::PathBuf;

use matchrank_server::{Keys, ModelSetting, ServiceSettings, log_to_standard_error, start};

use crate::terminal::{self, Terminal};
use crate::{Global, Outcome, interrupt};

/// Serve trained models over HTTP: search, reranking, explanations, live documents and events
///
/// Answers on 127.0.0.1 until Ctrl-C or SIGTERM, then finishes open requests. There is a search page at /, the interface is
/// described at /docs and /openapi.json, and figures for Prometheus are at /metrics. Clients of Cohere, Jina, Text
/// Embeddings Inference, Metarank, Elasticsearch and OpenSearch work with their own requests.
///
/// A read key opens searching and ranking, a write key everything. They come from files or from the environment variables
/// MATCHRANK_READ_KEY and MATCHRANK_WRITE_KEY, never from the command line, where other users would see them. Without keys
/// everything is open, and the service listens on this machine only.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Configuration file, TOML, with the names of these options; options given here win
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Dataset folder made by `ingest`
    #[arg(long, value_name = "DATASET")]
    data: Option<PathBuf>,
    /// Model file made by `train`, with a name for requests; may be given many times, and the first is the default
    ///
    /// Without a name, the name of the file without its extension is used.
    #[arg(long, value_name = "[NAME=]FILE")]
    model: Vec<ModelSetting>,
    /// Another name of a model, such as a name that clients send already
    #[arg(long, value_name = "ALIAS=NAME")]
    alias: Vec<String>,
    /// Folder of the log of events and document changes; without it the service only reads
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Model that learns from events while it serves: sparse preferences, from searches and clicks; perceptrons, from lists.
    /// May be given many times, and needs --state
    #[arg(long, value_name = "NAME")]
    learn: Vec<String>,
    /// Model that proposes the documents which all other models rank in searches, such as BM25 and click counts; may be given
    /// many times. Without it, every model ranks the whole collection
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    first_stage: Vec<String>,
    /// Documents that each of them proposes [default: 200]
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Delete events that were received more days ago; never one that a learning model has not saved [default: keep all]
    #[arg(long, value_name = "DAYS")]
    keep_days: Option<f64>,
    /// Delete the oldest events beyond this many bytes; never one that a learning model has not saved [default: keep all]
    #[arg(long, value_name = "BYTES")]
    keep_bytes: Option<u64>,
    /// Address and port; port 0 takes a free one [default: 127.0.0.1:7878]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Host name under which clients reach the service, besides localhost and addresses
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// File with the key that opens searching and ranking
    #[arg(long, value_name = "FILE")]
    read_key_file: Option<PathBuf>,
    /// File with the key that opens everything
    #[arg(long, value_name = "FILE")]
    write_key_file: Option<PathBuf>,
    /// Certificate chain for TLS, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Largest body of a request, in bytes [default: 8388608]
    #[arg(long, value_name = "BYTES")]
    max_body: Option<usize>,
    /// Memory for images of the documents of each model, in bytes [default: 2147483648]
    ///
    /// Latent models search through images, computed once. Documents beyond this memory are mapped for every search.
    #[arg(long, value_name = "BYTES")]
    image_memory: Option<u64>,
    /// Open connections, at most; idle ones make room for new ones [default: 4096]
    #[arg(long, value_name = "N")]
    max_connections: Option<usize>,
    /// Requests that may wait for a thread; more are refused with status 429 [default: 256]
    #[arg(long, value_name = "N")]
    max_queue: Option<usize>,
    /// Seconds until the header of a request must have come, and until an idle connection is closed [default: 15]
    #[arg(long, value_name = "SECONDS")]
    header_timeout: Option<u64>,
    /// Seconds until the body of a request must have come [default: 30]
    #[arg(long, value_name = "SECONDS")]
    body_timeout: Option<u64>,
    /// Seconds after SIGTERM for which requests are still taken while /readyz answers 503, so that a load balancer can send
    /// them elsewhere [default: 0]
    #[arg(long, value_name = "SECONDS")]
    drain_delay: Option<u64>,
    /// Seconds that open requests get to end after that [default: 30]
    #[arg(long, value_name = "SECONDS")]
    drain_timeout: Option<u64>,
    /// Log the bodies of requests, which hold what people searched for
    #[arg(long)]
    log_bodies: bool,
}

const EXAMPLES: &str = "\
Examples:
  matchrank serve --data shop --model stack.model
  matchrank serve --data shop --model stack.model --model words=bm25.model --state state --listen 127.0.0.1:8000
  matchrank serve --data shop --model stack.model --model bm25.model --model clicks.model --first-stage bm25,clicks
  matchrank serve --config /etc/matchrank/serve.toml
  curl -d '{\"query\": \"gears of war\", \"top\": 3}' http://127.0.0.1:7878/v1/search";

pub(crate) fn run(args: Args, global: &Global) -> anyhow::Result<Outcome> {
    let settings = settings(args)?;
    let keys = Keys::read(settings.read_key_file.as_deref(), settings.write_key_file.as_deref())?;
    serve(settings, keys, global)
}

/// Serves until a signal comes.
pub(crate) fn serve(settings: ServiceSettings, keys: Keys, global: &Global) -> anyhow::Result<Outcome> {
    let terminal = Terminal::new(global.quiet);
    log_to_standard_error(global.quiet);
    let scheme = if settings.tls_certificate.is_some() { "https" } else { "http" };
    let running = start(settings, keys, &terminal)?;
    terminal.finish();
    // Programs that start the service on port 0 read the port here.
    terminal::print(&format!("serving at {scheme}://{}", running.address()))?;
    interrupt::listen();
    running.serve(interrupt::asked)?;
    interrupt::answered();
    Ok(Outcome::Clean)
}

/// The settings of the configuration file, with the options of the command line in their place.
fn settings(args: Args) -> anyhow::Result<ServiceSettings> {
    let mut settings = match &args.config {
        Some(path) => ServiceSettings::read(path)?,
        None => ServiceSettings::default(),
    };
    fn set<T>(setting: &mut T, option: Option<T>) {
        if let Some(value) = option {
            *setting = value;
        }
    }
    fn set_list<T>(setting: &mut Vec<T>, option: Vec<T>) {
        if !option.is_empty() {
            *setting = option;
        }
    }
    set(&mut settings.data, args.data);
    set_list(&mut settings.model, args.model);
    set_list(&mut settings.alias, args.alias);
    set(&mut settings.state, args.state.map(Some));
    set_list(&mut settings.learn, args.learn);
    set_list(&mut settings.first_stage, args.first_stage);
    set(&mut settings.depth, args.depth);
    set(&mut settings.keep_days, args.keep_days.map(Some));
    set(&mut settings.keep_bytes, args.keep_bytes.map(Some));
    set(&mut settings.listen, args.listen);
    set_list(&mut settings.host, args.host);
    set(&mut settings.read_key_file, args.read_key_file.map(Some));
    set(&mut settings.write_key_file, args.write_key_file.map(Some));
    set(&mut settings.tls_certificate, args.tls_certificate.map(Some));
    set(&mut settings.tls_key, args.tls_key.map(Some));
    set(&mut settings.max_body, args.max_body);
    set(&mut settings.image_memory, args.image_memory);
    set(&mut settings.max_connections, args.max_connections);
    set(&mut settings.max_queue, args.max_queue);
    set(&mut settings.header_timeout, args.header_timeout);
    set(&mut settings.body_timeout, args.body_timeout);
    set(&mut settings.drain_delay, args.drain_delay);
    set(&mut settings.drain_timeout, args.drain_timeout);
    settings.log_bodies |= args.log_bodies;
    Ok(settings)
}
