//! Query features as commands take them: columns of lists, or a file.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use matchrank_core::data::FeatureLists;
use matchrank_engine::files;
use matchrank_engine::rankers::query_dependent::{QueryColumns, QueryTable};
use matchrank_engine::rankers::{RankingModel, registry};

/// Reads a file of query features.
pub(super) fn read_table(path: &Path) -> anyhow::Result<QueryTable> {
    parse_table(path, &files::read_all(path)?)
}

/// Query features from the content of a file.
pub(super) fn parse_table(path: &Path, bytes: &[u8]) -> anyhow::Result<QueryTable> {
    let name = files::name_of(path);
    let text = std::str::from_utf8(bytes).with_context(|| format!("{name}: is not UTF-8"))?;
    Ok(QueryTable::parse(&name, text)?)
}

/// Returns a model with the query features of the lists that it is to rank, where a file has some.
pub(crate) fn informed(
    model: Arc<dyn RankingModel>,
    query_features: Option<&Path>,
    lists: &FeatureLists,
) -> anyhow::Result<Arc<dyn RankingModel>> {
    let Some(file) = query_features else { return Ok(model) };
    let kind = model.kind();
    anyhow::ensure!(
        kind.takes.query_features,
        "--query-features is for {} models, and this is a {} model",
        registry::names_of(|kind| kind.takes.query_features),
        kind.name
    );
    let informed = model.with_queries(&read_table(file)?, lists);
    let informed = informed.with_context(|| file.display().to_string())?;
    informed.with_context(|| format!("{}: the weights of this model need no query features", file.display()))
}

/// Features numbered as in files, `5-7,20`, as columns.
pub(crate) fn parse_columns(text: &str) -> Result<QueryColumns, String> {
    let number = |text: &str| match text.trim().parse::<u32>() {
        Ok(number) if number > 0 => Ok(number - 1),
        _ => Err(format!("`{text}` is no feature; expected numbers from 1 and ranges, as in 5-7,20")),
    };
    let mut columns = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first || last - first > 100_000 {
                    return Err(format!("`{part}` is no range of features"));
                }
                columns.extend(first..=last);
            }
            None => columns.push(number(part)?),
        }
    }
    Ok(QueryColumns::Named(columns))
}
