//! `rank --letor`: feature lists in the order of a ranker.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use matchrank_core::ranking::Ranker;
use matchrank_engine::model_file;
use matchrank_engine::ranking::{Ranking, check_finite};

use super::{note_unknown_features, query_dependent, read_lists};
use crate::terminal::Terminal;

/// The rankings of all lists, whole or cut to the `top` documents, and the kind of the model. Documents of equal score stand by id.
pub(crate) fn rank_lists(
    model: &Path,
    letor: &[PathBuf],
    query_features: Option<&Path>,
    top: Option<usize>,
    terminal: &Terminal,
) -> anyhow::Result<(Vec<Ranking>, &'static str)> {
    let path = model;
    let (lists, scores, kind) = if model_file::kind(model)? == model_file::QUERY_DEPENDENT {
        let lists = read_lists(letor, terminal)?;
        lists.require_complete(model_file::QUERY_DEPENDENT)?;
        let model = query_dependent::load(model, query_features, &lists)?;
        note_unknown_features(&lists, model.learner().lists().n_features(), letor, terminal);
        let scores = model.score_all(&lists);
        query_dependent::note_fallbacks(&model, &lists, terminal)?;
        (lists, scores, model_file::QUERY_DEPENDENT)
    } else if model_file::is_boosted(&model_file::kind(model)?) {
        ensure!(query_features.is_none(), "--query-features is for query-dependent models");
        let (model, _) = model_file::load_boosted(model)?;
        let lists = read_lists(letor, terminal)?;
        note_unknown_features(&lists, model.trees.n_features(), letor, terminal);
        let scores = model.score_all(&lists);
        (lists, scores, model.objective.name())
    } else {
        ensure!(query_features.is_none(), "--query-features is for query-dependent models");
        let (model, _) = model_file::load_ranker(model)?;
        let lists = read_lists(letor, terminal)?;
        lists.require_complete(model.kind())?;
        note_unknown_features(&lists, model.ranker.weights.len(), letor, terminal);
        let scores = model.score_all(&lists);
        (lists, scores, model.kind())
    };
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
    Ok((rankings.collect(), kind))
}
