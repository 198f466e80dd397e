use matchrank_core::data::{FeatureLists, letor};
use matchrank_core::progress::Silent;
use matchrank_core::ranking::query_dependent::{
    DocumentKernel, Fallback, Neighbourhood, QueryDependentParams, QueryForm, Weights,
};
use matchrank_core::ranking::{LambdaPath, Ranker, ScalingKind, evaluate_ranker};

use super::description::in_words;
use super::*;
use crate::model_file::{ModelRef, Provenance, open_ranking, save};

/// Feature 1 orders the lists of queries whose feature 3 is small, and misorders the others; 2 is noise.
fn lists(from: usize, to: usize) -> FeatureLists {
    let mut text = String::new();
    for query in from..to {
        let kind = query % 2;
        for document in 0..6 {
            let value = if kind == 0 { document } else { 6 - document };
            let noise = (query * 7 + document * 5) % 4;
            let place = 10 * kind + query % 3;
            text += &format!("{} qid:q{query} 1:{value} 2:{noise} 3:{place}\n", document / 2);
        }
    }
    letor::parse("lists", text.as_bytes(), &Silent).unwrap()
}

fn params(weights: Weights) -> QueryDependentParams {
    QueryDependentParams { weights, neighbours: 4, novel_neighbours: 4, ..Default::default() }
}

fn trained(params: &QueryDependentParams) -> QueryDependentModel {
    let validation = Some((lists(20, 30), "ndcg@10".parse().unwrap()));
    let lessons = Lessons { validation, ..Lessons::new(lists(0, 20)) };
    train_query_dependent(params, ScalingKind::MinMax, lessons, &Silent).unwrap()
}

fn ndcg(model: &QueryDependentModel) -> f64 {
    evaluate_ranker(model, &lists(30, 40), &["ndcg@10".parse().unwrap()]).unwrap().mean(0)
}

#[test]
fn novel_queries_are_ranked_through_their_neighbours() {
    for weights in [Weights::Gaussian, Weights::Knn, Weights::Epanechnikov, Weights::Tricube] {
        for (kernel, form) in [
            (DocumentKernel::Linear, QueryForm::Scoring),
            (DocumentKernel::Gaussian, QueryForm::Scoring),
            (DocumentKernel::Gaussian, QueryForm::Ranking),
        ] {
            let model = trained(&QueryDependentParams { kernel, form, ..params(weights) });
            assert_eq!(model.source(), &QuerySource::Columns(vec![2]));
            assert!(ndcg(&model) > 0.99, "{weights:?} {kernel:?} {form:?}: {}", ndcg(&model));
        }
    }
    for weights in [Weights::Uniform, Weights::Individual] {
        let figure = ndcg(&trained(&params(weights)));
        assert!(figure < 0.9, "{weights:?}: {figure}");
    }
}

#[test]
fn functions_are_learned_once_and_say_whom_they_borrow_from() {
    let model = trained(&params(Weights::Gaussian));
    let new = lists(30, 32);
    let first = model.served(&new.list(0)).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &model.served(&new.list(0)).unwrap()));
    assert!(!std::sync::Arc::ptr_eq(&first, &model.served(&new.list(1)).unwrap()));
    let Neighbourhood::Near(near) = &first.near else { panic!("{:?}", first.near) };
    assert_eq!(near.len(), 4);
    let even = |query: usize| model.query(query)[1..].parse::<usize>().unwrap() % 2 == 0;
    assert!(near.iter().all(|near| even(near.query)), "{near:?}");
    assert!(near.windows(2).all(|pair| pair[0].weight >= pair[1].weight));
    // Far from everything.
    let far = letor::parse("far", b"1 qid:far 1:1 3:900\n0 qid:far 1:2 3:900\n", &Silent).unwrap();
    let served = model.served(&far.list(0)).unwrap();
    assert!(matches!(served.near, Neighbourhood::Uniform(Fallback::Far { .. })), "{:?}", served.near);
    assert!(in_words(Fallback::Far { distance: 5.0, reach: 2.0 }).contains("5.000 away"));
    // What features add is the score.
    let (list, mut scores) = (new.list(0), Vec::new());
    model.score(&list, &mut scores);
    let parts = model.contributions(&list, 1).unwrap().unwrap();
    assert!((parts.iter().map(|part| part.adds).sum::<f64>() - scores[1]).abs() < 1e-12);
}

#[test]
fn files_keep_scores_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for (i, params) in [
        params(Weights::Gaussian),
        params(Weights::Uniform),
        QueryDependentParams { kernel: DocumentKernel::Gaussian, ..params(Weights::Knn) },
    ]
    .iter()
    .enumerate()
    {
        let model = trained(params);
        let path = folder.path().join(format!("{i}.model"));
        save(&path, ModelRef::Ranking(&model), &Provenance::default()).unwrap();
        let (again, _) = open_ranking(&path).unwrap();
        assert_eq!(again.score_all(&lists(30, 40)), model.score_all(&lists(30, 40)));
        let details = |model: &dyn RankingModel| serde_json::to_value(model.describe().details).unwrap();
        assert_eq!(details(&*again), details(&model));
        let copy = folder.path().join("copy.model");
        save(&copy, &*again, &Provenance::default()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&copy).unwrap());
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let model = trained(&params(Weights::Gaussian));
            (model.score_all(&lists(30, 40)), model.trials().to_vec())
        })
    };
    let one = with(1);
    assert_eq!(one, with(2));
    assert_eq!(one, with(8));
}

#[test]
fn tables_name_queries_and_new_ones_are_made_known() {
    let rows = (0..40).map(|i| format!("q{i}\t{}\t{}\n", 10 * (i % 2), if i % 2 == 0 { "a" } else { "b" }));
    let text = format!("query\tplace\ttopic:category\n{}", rows.collect::<String>());
    let table = QueryTable::parse("q.tsv", &text).unwrap();
    let params = QueryDependentParams { lambda: LambdaPath::One(0.01), ..params(Weights::Gaussian) };
    let train = |table| {
        let lessons = Lessons { query: QueryInput::Table(table), ..Lessons::new(lists(0, 20)) };
        train_query_dependent(&params, ScalingKind::MinMax, lessons, &Silent)
    };
    let model = train(&table).unwrap();
    let served = model.served(&lists(30, 31).list(0)).unwrap();
    assert_eq!(served.near, Neighbourhood::Uniform(Fallback::NoFeatures));
    let informed = model.knowing(&table, &lists(30, 40)).unwrap();
    assert!(ndcg(&informed) > 0.99);
    let other = QueryTable::parse("q.tsv", "query\ta\nq30\t1\n").unwrap();
    let error = model.knowing(&other, &lists(30, 40)).unwrap_err().to_string();
    assert!(error.contains("other query features"), "{error}");
    let strangers = QueryTable::parse("q.tsv", "query\ta\nx\t1\n").unwrap();
    assert!(
        train(&strangers).unwrap_err().to_string().contains("q.tsv: has query features of no training query")
    );
    let some = QueryTable::parse("q.tsv", &text.lines().take(11).collect::<Vec<_>>().join("\n")).unwrap();
    assert_eq!(train(&some).unwrap().learner().lists().n_queries(), 10);
}

#[test]
fn nothing_to_learn_is_said() {
    let level = letor::parse("x", b"1 qid:a 1:1 2:1\n1 qid:a 1:2 2:1\n0 qid:b 1:2 2:3\n", &Silent).unwrap();
    let lessons = Lessons::new(level);
    let error = train_query_dependent(&params(Weights::Knn), ScalingKind::None, lessons, &Silent);
    assert!(error.unwrap_err().to_string().contains("no order to learn"));
}
