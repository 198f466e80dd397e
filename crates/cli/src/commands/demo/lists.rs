//! The part of the demo about rankers: lists that groups of queries order in different ways.

use std::path::Path;
use std::sync::Arc;

use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::measure::Measure;
use matchrank_core::progress::Silent;
use matchrank_core::ranking::query_dependent::{QueryDependentParams, Weights};
use matchrank_core::ranking::{ScalingKind, evaluate_ranker};
use matchrank_core::simulate::query_dependent::{Example, ListsParams, Scenario, simulate};
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::rankers::RankerTraining;
use matchrank_engine::rankers::query_dependent::{QueryInput, QueryTable, train_query_dependent};
use matchrank_engine::reproduce::query_dependent::{Shares, SplitLists};
use matchrank_engine::{Error, files};
use serde::Serialize;

use crate::terminal::{Format, table};

/// Measures weights on the test lists.
#[derive(Serialize)]
pub(super) struct Row {
    weights: &'static str,
    queries: &'static str,
    n_queries: u64,
    mre: f64,
    ndcg: f64,
}

const WEIGHTS: [(&str, Weights); 4] = [
    ("uniform", Weights::Uniform),
    ("individual", Weights::Individual),
    ("knn", Weights::Knn),
    ("gaussian", Weights::Gaussian),
];

/// Simulates lists of four groups of queries, a fifth of the queries novel, and trains on them with four kinds of weights.
pub(super) fn story(out: &Path, seed: u64) -> anyhow::Result<Vec<Row>> {
    let made = simulate(&ListsParams::of(Example::Linear, Scenario::III), seed)?;
    let split = SplitLists::new(&made.lists, (&made.queries, Vec::new()), Shares::simulated(0.2), seed)?;
    files::make_folder(out)?;
    let mut vectors = "query".to_owned();
    (1..=40).for_each(|i| vectors.push_str(&format!("\tq{i}")));
    for (list, query) in split.test.iter().zip(&split.queries) {
        let numbers: Vec<String> = query.numbers.iter().map(f64::to_string).collect();
        vectors.push_str(&format!("\n{}\t{}", list.query(), numbers.join("\t")));
    }
    write(&out.join("queries.tsv"), |out| out.write_all(vectors.as_bytes()))?;
    for (name, lists) in
        [("train.txt", &split.train), ("validation.txt", &split.validation), ("test.txt", &split.test)]
    {
        let path = out.join(name);
        files::write_atomically(&path, |out| letor::write(&files::name_of(&path), lists, out))?;
    }
    let features = QueryTable::parse("queries.tsv", &vectors)?;
    let measures = [Measure::Mre, "ndcg@10".parse()?];
    let mut rows = Vec::new();
    for (name, weights) in WEIGHTS {
        let params = QueryDependentParams { weights, ..Default::default() };
        let training = RankerTraining { query: QueryInput::Table(&features), seed };
        let lessons = training.on(split.train.clone(), Some((split.validation.clone(), Measure::Mre)));
        let model = train_query_dependent(&params, ScalingKind::MinMax, lessons, &Silent)?;
        let model = training.inform(Arc::new(model), &split.test)?;
        if weights == Weights::Gaussian {
            model_file::save(&out.join("q.model"), &*model, &Provenance::default())?;
        }
        let n = split.n_observed();
        let all: Vec<usize> = (0..split.test.n_queries()).collect();
        for (queries, part) in [("observed", &all[..n]), ("novel", &all[n..])] {
            let lists: FeatureLists = split.test.subset(part);
            let figures = evaluate_ranker(&*model, &lists, &measures)?;
            let (mre, ndcg) = (figures.mean(0), figures.mean(1));
            rows.push(Row { weights: name, queries, n_queries: figures.audit.queries_in_mean, mre, ndcg });
        }
    }
    Ok(rows)
}

/// A novel query of the test lists and one of its documents, to be explained.
pub(super) fn example(out: &Path) -> anyhow::Result<(String, String)> {
    let path = out.join("test.txt");
    let lists = letor::parse(&files::name_of(&path), &files::read_all(&path)?, &Silent)?;
    let list = lists.list(lists.n_queries() - 1);
    Ok((list.query().to_owned(), list.document(0).to_owned()))
}

fn write(
    path: &Path,
    write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    files::write_atomically(path, |out| write(out).map_err(|e| Error::io(files::name_of(path), e)))?;
    Ok(())
}

pub(super) fn shown(rows: &[Row]) -> String {
    let cells = rows.iter().map(|row| {
        let figures = [row.mre, row.ndcg].map(|figure| format!("{figure:.4}"));
        let n = row.n_queries.to_string();
        [row.weights.to_owned(), row.queries.to_owned(), n].into_iter().chain(figures).collect()
    });
    format!(
        "Feature lists that four groups of queries order in different ways, ranked by query-dependent functions (`mre` is an \
         error; `novel` queries have no training documents):\n{}",
        table(&["weights", "queries", "n", "mre", "ndcg@10"], cells.collect(), Format::Table)
    )
}
