//! `export query-vectors`: latent vectors of queries, as query features for `train query-dependent`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{bail, ensure};
use matchrank_core::message::counted;
use matchrank_engine::dataset::{Clicks, Dataset};
use matchrank_engine::ingest::{NamedColumns, read_queries};
use matchrank_engine::models::find_part;
use matchrank_engine::models::latent::{BoundInputs, LatentModel};
use matchrank_engine::outputs::check_outputs;
use matchrank_engine::{Error, files, model_file};

use crate::terminal::Terminal;
use crate::{Global, Outcome};

#[derive(clap::Args)]
pub(crate) struct QueryVectors {
    /// Model file made by `train rmls`, `pls`, `lsi-dt` or `lsi-qd`, or a combination with one
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Queries: id and text
    #[arg(long, num_args = 1.., required = true, value_name = "FILE")]
    queries: Vec<PathBuf>,
    /// Dataset for clicks of the queries; words alone count without
    #[arg(long, value_name = "DATASET")]
    data: Option<PathBuf>,
    /// File to write; `-` is standard output
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(crate) fn run(args: &QueryVectors, global: &Global) -> anyhow::Result<Outcome> {
    let terminal = Terminal::new(global.quiet);
    let inputs = [&args.model].into_iter().chain(&args.queries).chain(&args.data);
    check_outputs(inputs, [&args.out])?;
    let (model, _) = model_file::load(&args.model)?;
    let Some(latent) = find_part::<LatentModel>(&*model) else {
        bail!(
            "{}: a {} model has no latent vectors; models of rmls, pls, lsi-dt and lsi-qd have",
            args.model.display(),
            model.kind()
        );
    };
    let dataset = args.data.as_deref().map(Dataset::open).transpose()?;
    let inputs = dataset.as_ref().map(|dataset| {
        let clicks = || Clicks::of(dataset).map(Arc::new);
        BoundInputs::new((model.kind(), &latent.inputs), dataset, clicks, &terminal)
    });
    let inputs = inputs.transpose()?;
    let queries = read_queries(&args.queries, &NamedColumns::new())?;
    ensure!(!queries.is_empty(), "there are no queries to export");
    let d = latent.model.d();
    let mut text = "query".to_owned();
    (1..=d).for_each(|i| text.push_str(&format!("\tv{i}")));
    text.push('\n');
    let mut unknown = 0u64;
    for query in &queries {
        let x = match &inputs {
            Some(inputs) => inputs.query(&query.text),
            None => latent.inputs.query(&query.text, None),
        };
        let mut vector = latent.model.map_query(x.row());
        let norm = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
        if norm > 0.0 {
            // Directions say what queries mean, lengths how many words they have.
            vector.iter_mut().for_each(|v| *v /= norm);
        } else {
            unknown += 1;
        }
        text.push_str(&query.id);
        vector.iter().for_each(|v| text.push_str(&format!("\t{v}")));
        text.push('\n');
    }
    files::write_atomically(&args.out, |out| {
        out.write_all(text.as_bytes()).map_err(|e| Error::io(files::name_of(&args.out), e))
    })?;
    terminal.finish();
    if unknown > 0 {
        terminal.say(&format!(
            "the model knows no word of {}; vectors without one are 0",
            counted(unknown, "query")
        ));
    }
    terminal.say(&format!(
        "wrote {}: {} of {}",
        args.out.display(),
        counted(queries.len(), "vector"),
        counted(d, "number")
    ));
    Ok(Outcome::Clean)
}
