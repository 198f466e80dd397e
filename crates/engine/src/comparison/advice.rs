//! Advice at the end of a comparison: the model to deploy and why, and a faster one that is about as good.

use matchrank_core::message::counted;

use super::results::{Compared, Comparison};
use crate::evidence::too_few;

impl Comparison {
    /// Sentences on which model to deploy. Validation decides; the test queries say what the model is worth. Empty where
    /// nothing was chosen, as over folds of feature lists.
    pub fn advice(&self) -> Vec<String> {
        let Some(choice) = &self.chosen else { return Vec::new() };
        let Some(row) = self.row(&choice.name) else { return Vec::new() };
        let cost = |row: &Compared| format!("{} a query, {}", milliseconds(row), mib(row.model_mib));
        let others = counted(self.models.len().saturating_sub(1), "other model");
        let why = match &choice.lead {
            _ if self.models.len() == 1 => "the only model".to_owned(),
            None => format!("none of the {others} is better on the validation queries by more than chance"),
            Some(_) if too_few(self.split.test_queries).is_some() => {
                "chosen by the validation queries; the test queries are too few to confirm it".to_owned()
            }
            Some(lead) if lead.interval[0] > 0.0 => format!(
                "chosen by the validation queries among {}, and {:.3} better than {} on the test queries",
                counted(self.models.len(), "model"),
                lead.difference,
                lead.over
            ),
            Some(lead) => format!(
                "chosen by the validation queries, but the test queries do not confirm that it is better than {} ({:+.3}); \
                 {} is the safe choice",
                lead.over, lead.difference, lead.over
            ),
        };
        let mut advice = vec![format!("deploy {}: {why}; {}", choice.name, cost(row))];
        if let Some((faster, other)) = choice.faster.as_ref().and_then(|f| Some((f, self.row(&f.name)?))) {
            let times = row.latency.p50_ms / faster.p50_ms.max(1e-3);
            advice.push(format!(
                "where speed counts: {} is {times:.0} times as fast ({}), and {} {:.4} on the validation queries, where {} has {:.4}",
                faster.name,
                cost(other),
                self.split.tuned_by,
                faster.validation,
                choice.name,
                choice.validation
            ));
        }
        advice
    }

    fn row(&self, name: &str) -> Option<&Compared> {
        self.models.iter().find(|row| row.name == name)
    }
}

fn milliseconds(row: &Compared) -> String {
    match row.latency.p50_ms {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms => format!("{ms:.0} ms"),
    }
}

fn mib(size: f64) -> String {
    if size < 10.0 { format!("{size:.1} MiB") } else { format!("{size:.0} MiB") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn comparison(chosen: &serde_json::Value) -> Comparison {
        let row = |name: &str, p50_ms: f64| {
            json!({
                "name": name, "kind": name, "params": null, "validation": {}, "test": { "ndcg@10": 0.5 }, "intervals": {},
                "bins": {}, "seconds": 0.0, "tuning_seconds": 0.0, "trials": 0, "peak_mib": null, "model_mib": 12.3,
                "latency": { "p50_ms": p50_ms, "p95_ms": p50_ms, "queries": 1 }, "curves": [], "beats": [], "beats_by": {}
            })
        };
        serde_json::from_value(json!({
            "version": "0", "data": { "name": "shop", "content_hash": "", "statistics": null },
            "split": { "validation_queries": 100, "test_queries": 100, "ranked": "all", "measures": ["ndcg@10"],
                       "tuned_by": "ndcg@10", "test": "t", "level": 0.05, "seed": 1, "threads": 1 },
            "chosen": chosen, "models": [row("stack", 74.0), row("pls", 7.4), row("bm25", 0.5)],
            "left_out": {}, "unfinished": []
        }))
        .unwrap()
    }

    #[test]
    fn advice_names_the_model_its_lead_and_a_faster_one() {
        let lead = |low: f64| json!({ "over": "bm25", "difference": 0.12, "interval": [low, 0.2] });
        let faster = json!({ "name": "pls", "validation": 0.688, "p50_ms": 7.4 });
        let stack = json!({ "name": "stack", "validation": 0.695, "lead": lead(0.1), "faster": faster });
        let advice = comparison(&stack).advice();
        assert_eq!(
            advice[0],
            "deploy stack: chosen by the validation queries among 3 models, and 0.120 better than bm25 on the test queries; \
             74 ms a query, 12 MiB"
        );
        assert!(
            advice[1].starts_with("where speed counts: pls is 10 times as fast (7.40 ms a query"),
            "{advice:?}"
        );
        let unsure =
            comparison(&json!({ "name": "stack", "validation": 0.695, "lead": lead(-0.01) })).advice();
        assert!(unsure.len() == 1 && unsure[0].contains("bm25 is the safe choice"), "{unsure:?}");
        let none = comparison(&json!({ "name": "bm25", "validation": 0.5 })).advice();
        assert!(none[0].starts_with("deploy bm25: none of the 2 other models is better"), "{none:?}");
        assert!(comparison(&serde_json::Value::Null).advice().is_empty());
    }
}
