//! `rank --letor`: feature lists in the order of a ranker.

use std::path::{Path, PathBuf};

use anyhow::Context;
use matchrank_core::progress::Progress;
use matchrank_engine::model_file;
use matchrank_engine::ranking::{Ranking, check_finite};

use super::{informed, note_unknown_features, read_lists};
use crate::terminal::Terminal;

/// The rankings of all lists, whole or cut to the `top` documents, and the kind of the model. Documents of equal score stand by id.
pub(crate) fn rank_lists(
    path: &Path,
    letor: &[PathBuf],
    query_features: Option<&Path>,
    top: Option<usize>,
    terminal: &Terminal,
) -> anyhow::Result<(Vec<Ranking>, &'static str)> {
    let (model, _) = model_file::open_ranking(path)?;
    let lists = read_lists(letor, terminal)?;
    model.kind().require_complete(&lists)?;
    let model = informed(model, query_features, &lists)?;
    note_unknown_features(&lists, model.n_features(), letor, terminal);
    let scores = model.score_all(&lists);
    model.notes_on(&lists)?.iter().for_each(|note| terminal.note(note));
    lists.require_distinct_documents()?;
    for list in lists.iter() {
        let scores = scores[list.rows()].iter().map(|&score| score as f32);
        check_finite(list.query(), scores).with_context(|| path.display().to_string())?;
    }
    let rankings = lists.iter().map(|list| {
        let mut documents: Vec<(String, f32)> =
            list.rows().map(|row| (lists.document(row).to_owned(), scores[row] as f32)).collect();
        documents.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        documents.truncate(top.unwrap_or(usize::MAX));
        (list.query().to_owned(), documents)
    });
    Ok((rankings.collect(), model.kind().name))
}
