//! Machine-readable results: JSON and CSV.

use matchrank_core::measure::significance::{Comparison, Test};
use matchrank_core::measure::{Audit, Conventions, Dialect, Evaluation};
use matchrank_engine::dataset::HeldOutClicks;
use serde::{Serialize, Serializer};

use super::Results;

/// A JSON object whose keys keep their order.
struct Object<T>(Vec<(String, T)>);

impl<T: Serialize> Serialize for Object<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[derive(Serialize)]
struct Report {
    dialect: Dialect,
    queries: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out_clicks: Option<HeldOutClicks>,
    runs: Vec<Run>,
    audit: Audit,
    conventions: Conventions,
    #[serde(skip_serializing_if = "Option::is_none")]
    significance: Option<Significance>,
}

#[derive(Serialize)]
struct Run {
    name: String,
    queries: u64,
    measures: Object<f64>,
    /// Means weighted by the held-out clicks of the queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_traffic: Option<Object<f64>>,
    audit: Audit,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<Vec<Bin>>,
    /// null for a query that is left out of the means
    #[serde(skip_serializing_if = "Option::is_none")]
    per_query: Option<Object<Option<Object<f64>>>>,
}

#[derive(Serialize)]
struct Bin {
    bin: Option<String>,
    queries: usize,
    measures: Object<f64>,
}

#[derive(Serialize)]
struct Significance {
    test: Test,
    correction: &'static str,
    level: f64,
    comparisons: Vec<Pair>,
}

#[derive(Serialize)]
struct Pair {
    measure: String,
    better: String,
    worse: String,
    queries: usize,
    difference: f64,
    p: f64,
    p_holm: f64,
    significant: bool,
}

/// Sums the audits of all runs; judgments are counted once.
fn total(evaluations: &[Evaluation]) -> Audit {
    let mut total = Audit::default();
    for audit in evaluations.iter().map(|e| e.audit) {
        total.judged_queries = audit.judged_queries;
        total.queries_without_relevant = audit.queries_without_relevant;
        total.queries_in_mean = total.queries_in_mean.max(audit.queries_in_mean);
        total.queries_missing += audit.queries_missing;
        total.queries_unjudged += audit.queries_unjudged;
        total.deciding_ties += audit.deciding_ties;
        total.queries_with_deciding_ties += audit.queries_with_deciding_ties;
        total.relevant_not_returned += audit.relevant_not_returned;
        total.queries_with_relevant_not_returned += audit.queries_with_relevant_not_returned;
        total.queries_all_relevant += audit.queries_all_relevant;
    }
    total
}

pub(super) fn json(results: &Results<'_>) -> anyhow::Result<String> {
    let named = |values: &dyn Fn(usize) -> f64| {
        Object(results.measures.iter().enumerate().map(|(m, name)| (name.to_string(), values(m))).collect())
    };
    let runs = results.names.iter().zip(&results.evaluations).map(|(name, e)| Run {
        name: name.clone(),
        queries: e.audit.queries_in_mean,
        measures: named(&|m| e.mean(m)),
        by_traffic: results.traffic.as_ref().map(|traffic| named(&|m| traffic.mean(e, m))),
        audit: e.audit,
        bins: results.bins.as_ref().map(|bins| {
            let means = bins.means(e).into_iter();
            means
                .map(|b| Bin { measures: named(&|m| b.means[m]), bin: b.label, queries: b.n_queries })
                .collect()
        }),
        per_query: results.per_query.then(|| {
            let values = |q: usize| e.value(q, 0).map(|_| named(&|m| e.value(q, m).unwrap_or(f64::NAN)));
            Object(e.queries().enumerate().map(|(q, query)| (query.to_owned(), values(q))).collect())
        }),
    });
    let audit = total(&results.evaluations);
    let report = Report {
        dialect: results.conventions.dialect,
        queries: audit.queries_in_mean,
        held_out_clicks: results.traffic.as_ref().map(|traffic| traffic.total),
        runs: runs.collect(),
        audit,
        conventions: results.conventions,
        significance: results.test.map(|(test, level)| Significance {
            test,
            correction: "holm",
            level,
            comparisons: pairs(results, level),
        }),
    };
    Ok(serde_json::to_string_pretty(&report)?)
}

fn pairs(results: &Results<'_>, level: f64) -> Vec<Pair> {
    let pair = |measure: &str, c: &Comparison| Pair {
        measure: measure.to_owned(),
        better: results.names[c.better].clone(),
        worse: results.names[c.worse].clone(),
        queries: c.n_queries,
        difference: c.difference,
        p: c.p,
        p_holm: c.p_holm,
        significant: c.p_holm < level,
    };
    let by_measure = results.measures.iter().zip(&results.comparisons);
    by_measure.flat_map(|(m, all)| all.iter().map(move |c| pair(&m.to_string(), c))).collect()
}

/// Renders CSV: one row per run, per run and bin with bins, or per run and query with `--per-query`. Means weighted by
/// traffic are over all queries of a run; rows of bins leave them empty.
pub(super) fn csv(results: &Results<'_>) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let measures = results.measures.iter().map(ToString::to_string);
    let keys: &[&str] = match (results.per_query, results.bins.is_some()) {
        (true, true) => &["run", "bin", "query"],
        (true, false) => &["run", "query"],
        (false, true) => &["run", "bin", "queries"],
        (false, false) => &["run", "queries"],
    };
    // Values of a query have no weights.
    let traffic = results.traffic.as_ref().filter(|_| !results.per_query);
    let weighted = traffic.iter().flat_map(|_| results.measures.iter().map(|m| format!("{m} by traffic")));
    writer.write_record(keys.iter().map(ToString::to_string).chain(measures).chain(weighted))?;
    for (name, e) in results.names.iter().zip(&results.evaluations) {
        let n_measures = e.measures.len();
        if results.per_query {
            for (q, query) in e.queries().enumerate().filter(|(q, _)| e.value(*q, 0).is_some()) {
                let mut row = vec![name.clone()];
                row.extend(results.bins.as_ref().map(|b| b.label(query).unwrap_or_default().to_owned()));
                row.push(query.to_owned());
                row.extend((0..n_measures).map(|m| e.value(q, m).unwrap_or(f64::NAN).to_string()));
                writer.write_record(row)?;
            }
            continue;
        }
        let all = (0..n_measures).map(|m| e.mean(m).to_string());
        let mut row = vec![name.clone()];
        row.extend(results.bins.as_ref().map(|_| "(all)".to_owned()));
        row.push(e.audit.queries_in_mean.to_string());
        let weighted = traffic.iter().flat_map(|t| (0..n_measures).map(|m| t.mean(e, m).to_string()));
        writer.write_record(row.into_iter().chain(all).chain(weighted))?;
        for bin in results.bins.iter().flat_map(|b| b.means(e)) {
            let row = [name.clone(), bin.label.unwrap_or("(none)".into()), bin.n_queries.to_string()];
            let blank = traffic.iter().flat_map(|_| (0..n_measures).map(|_| String::new()));
            writer.write_record(row.into_iter().chain(bin.means.iter().map(f64::to_string)).chain(blank))?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}
