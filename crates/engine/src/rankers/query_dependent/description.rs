//! Query-dependent models as rankers among others: descriptions, explanations, files.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::data::{FeatureLists, List};
use matchrank_core::message::{counted, shortest};
use matchrank_core::ranking::query_dependent::{Fallback, Neighbourhood};
use matchrank_core::ranking::{FeatureContribution, LambdaPath, Shapley};
use serde_json::{Value, json};

use super::model::{QueryDependentModel, QuerySource};
use super::table::QueryTable;
use super::{KIND, codec};
use crate::container::Writer;
use crate::description::{Description, Remark};
use crate::prose::{human, to_json};
use crate::rankers::model::{Importance, TrainingCourse, figure};
use crate::rankers::{RankerKind, RankerRecipe, RankingModel};

impl RankingModel for QueryDependentModel {
    fn kind(&self) -> &'static RankerKind {
        &KIND
    }

    fn n_features(&self) -> usize {
        self.learner().lists().n_features()
    }

    fn validated(&self) -> Option<f64> {
        self.trials().iter().find(|trial| trial.lambda == self.lambda()).and_then(|trial| trial.validation)
    }

    fn settled(&self) -> RankerRecipe {
        let mut params = self.learner().params().clone();
        params.lambda = LambdaPath::One(self.lambda());
        RankerRecipe::of(&KIND, params, vec![self.scaling().kind()])
    }

    fn course(&self, measure: &str) -> TrainingCourse {
        let mut course = TrainingCourse::default();
        course.notes.push(format!("query features: {}", source(self)));
        course.columns(&["lambda", "gap", measure, ""]);
        for trial in self.trials() {
            let gap = trial.gap.map_or(String::new(), |gap| format!("{gap:.1e}"));
            let cells = vec![shortest(trial.lambda), gap, figure(trial.validation)];
            course.row(cells, trial.lambda == self.lambda());
        }
        course.details.set("scaling", &self.scaling().kind());
        course.details.set("params", self.learner().params());
        course.details.set("query_features", self.source());
        course.details.set("lambda", &self.lambda());
        course.details.set("trials", &self.trials());
        course
    }

    fn describe(&self) -> Description {
        let mut description = Description::default();
        let lists = self.learner().lists();
        description.exact_params(self.learner().params());
        description.fact("scaling", to_json(&self.scaling().kind()).as_str().unwrap_or_default());
        description.fact("kept lambda", shortest(self.lambda()));
        description.fact("query features", source(self));
        if let Some(width) = self.learner().width() {
            description.fact("sigma^2", format!("{width:.6}"));
        }
        let sizes = [lists.n_queries(), lists.n_rows(), lists.n_features()].map(|n| human(n as u64));
        description.fact("training queries, documents, features", sizes.join(", "));
        description.validated(self.validated());
        description.text("The function of a query is learned when it is ranked; `explain` shows it.");
        let details = &mut description.details;
        details.set("params", self.learner().params());
        details.set("scaling", &self.scaling().kind());
        details.set("factors", &self.scaling().factors());
        details.set("query_features", self.source());
        details.set("query_factors", &self.factors());
        details.set("lambda", &self.lambda());
        details.set("trials", &self.trials());
        details.set("queries", &lists.iter().map(|list| list.query()).collect::<Vec<_>>());
        details.set("documents", &lists.n_rows());
        description
    }

    fn importance(&self) -> Option<Importance> {
        None
    }

    /// With a Gaussian kernel scores are sums over training documents, which have no parts by feature: nothing adds.
    fn contributions(&self, list: &List<'_>, i: usize) -> Result<Option<Vec<FeatureContribution>>> {
        let served = self.served(list)?;
        Ok(Some(self.weights_of(&served.function).map_or(Vec::new(), |ranker| ranker.explain(list, i))))
    }

    fn shapley(&self, list: &List<'_>, i: usize, references: &[usize]) -> Result<Shapley> {
        let served = self.served(list)?;
        let none = Shapley { base: 0.0, adds: Vec::new() };
        Ok(self.weights_of(&served.function).map_or(none, |ranker| ranker.shapley(list, i, references)))
    }

    /// Whom the function was learned from.
    fn describe_function(&self, list: &List<'_>) -> Result<Option<Description>> {
        let served = self.served(list)?;
        let function = &served.function;
        let (mut description, query) = (Description::default(), list.query());
        let details = &mut description.details;
        details.set("lambda", &function.lambda);
        details.set("objective", &function.objective);
        details.set("gap", &function.lower_bound.map(|bound| function.objective - bound));
        details.set("milliseconds", &served.milliseconds);
        match &served.near {
            Neighbourhood::Uniform(why) => {
                let why = in_words(*why);
                details.set("uniform", &why);
                details.set("borrowed", &json!([]));
                description.text(format!("Query {query} has the function of all queries: {why}."));
            }
            Neighbourhood::Near(near) => {
                let total: f64 = near.iter().map(|near| near.weight).sum();
                let borrowed = near.iter().map(|near| {
                    json!({ "query": self.query(near.query), "distance": near.distance, "weight": near.weight,
                            "share": near.weight / total })
                });
                details.set("borrowed", &borrowed.collect::<Vec<Value>>());
                let rows = near.iter().map(|near| {
                    vec![
                        self.query(near.query).to_owned(),
                        format!("{:.4}", near.distance),
                        format!("{:.4}", near.weight),
                        format!("{:.1}%", 100.0 * near.weight / total),
                    ]
                });
                description.remarks.push(Remark::Table {
                    title: format!(
                        "Query {query} borrows from these training queries (lambda {}, learned in {:.1} ms):",
                        shortest(function.lambda),
                        served.milliseconds
                    ),
                    header: ["training query", "distance", "weight", "share"].map(str::to_owned).to_vec(),
                    rows: rows.collect(),
                });
            }
        }
        Ok(Some(description))
    }

    /// Counts the queries with the uniform function, by reason.
    fn notes_on(&self, lists: &FeatureLists) -> Result<Vec<String>> {
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for list in lists.iter() {
            let Neighbourhood::Uniform(why) = self.served(&list)?.near else { continue };
            let Some(reason) = in_short(why) else { continue };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, n)) => *n += 1,
                None => reasons.push((reason, 1)),
            }
        }
        let all = counted(lists.n_queries(), "query");
        let note = |(reason, n)| format!("{n} of {all} {reason}: ranked by the function of all queries");
        Ok(reasons.into_iter().map(note).collect())
    }

    fn with_queries(
        &self,
        table: &QueryTable,
        lists: &FeatureLists,
    ) -> Result<Option<Arc<dyn RankingModel>>> {
        if *self.source() == QuerySource::Nothing {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.knowing(table, lists)?)))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        codec::put(file, self)
    }
}

/// Source of the query features, in words.
fn source(model: &QueryDependentModel) -> String {
    match model.source() {
        QuerySource::Nothing => "none, the weights need none".into(),
        QuerySource::Columns(columns) => {
            let numbers: Vec<String> = columns.iter().map(|column| (column + 1).to_string()).collect();
            format!("features {} of the lists", numbers.join(", "))
        }
        QuerySource::Table => "a file of their own".into(),
    }
}

/// Why a query has the uniform function, in words.
pub(super) fn in_words(why: Fallback) -> String {
    match why {
        Fallback::Asked => "one function for all queries, as asked for".into(),
        Fallback::Novel => "the query is not among the training queries, each of which is for itself".into(),
        Fallback::NoFeatures => "nothing is known of the query".into(),
        Fallback::Far { distance, reach } => format!(
            "no training query is near: the nearest is {distance:.3} away, and near would be up to {reach:.3}"
        ),
        Fallback::NoWeight => "no training query has a weight above 0".into(),
        Fallback::NothingToOrder => "the queries near have no two documents of different grades".into(),
    }
}

/// Why queries have the uniform function; none where that was asked for.
fn in_short(why: Fallback) -> Option<&'static str> {
    match why {
        Fallback::Asked => None,
        Fallback::Far { .. } => Some("without a training query near"),
        Fallback::Novel => Some("not among the training queries"),
        Fallback::NoFeatures => Some("without query features"),
        Fallback::NoWeight => Some("without a training query of a weight above 0"),
        Fallback::NothingToOrder => Some("with neighbours that have nothing to order"),
    }
}
