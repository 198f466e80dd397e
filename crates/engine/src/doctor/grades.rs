//! Checks of all labels together, in feature lists and judgments alike.

use matchrank_core::message::{IS, counted, counted_with, thousands};
use std::collections::BTreeMap;

use super::finding::{Finding, Severity, listed, whole};

/// Number of occurrences of every label.
#[derive(Default)]
pub(super) struct Grades {
    counts: BTreeMap<i64, u64>,
    fractional: u64,
}

impl Grades {
    pub(super) fn add(&mut self, grade: f64) {
        if grade.fract() == 0.0 && grade.abs() < 9e15 {
            *self.counts.entry(grade as i64).or_default() += 1;
        } else {
            self.fractional += 1;
        }
    }

    /// Returns the labels with their counts, for the summary.
    pub(super) fn summary(&self) -> String {
        let mut parts: Vec<String> =
            self.counts.iter().map(|(g, n)| format!("{g}: {}", thousands(*n))).collect();
        if parts.len() > 12 {
            parts = vec![format!("{} values", parts.len())];
        }
        if self.fractional > 0 {
            parts.push(format!("fractional: {}", thousands(self.fractional)));
        }
        format!("labels {}", parts.join(", "))
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let used: Vec<i64> = self.counts.keys().copied().collect();
        if self.fractional > 0 {
            found.push(whole(
                Severity::Info,
                "fractional-label",
                format!("{} not a whole number", counted_with(self.fractional, "label", IS)),
                "measures take it as it is: the gain of 0.5 is 2^0.5 - 1",
            ));
        } else if let [only] = used[..] {
            found.push(whole(
                Severity::Warning,
                "one-label",
                format!("every label is {only}: there is nothing to tell apart"),
                "check how the labels were written",
            ));
        } else if let Some(highest) = used.last().filter(|highest| **highest < 1000) {
            let lowest = used[0].max(0);
            let missing: Vec<i64> =
                (lowest..*highest).filter(|grade| !self.counts.contains_key(grade)).collect();
            if !missing.is_empty() {
                found.push(Finding {
                    severity: Severity::Warning,
                    code: "label-gap",
                    message: format!("labels {} are used, {} never", listed(&used), listed(&missing)),
                    count: missing.len() as u64,
                    lines: Vec::new(),
                    fix: "right if no document has this grade; if the grades are another scale (0, 2, 4), \
                          renumber them 0, 1, 2, because the gain 2^label - 1 grows fast"
                        .into(),
                });
            }
        }
        found
    }
}

/// Returns a finding if there are queries in which no document has a label above 0.
pub(super) fn without_relevant(queries: &[&str], n_queries: usize) -> Option<Finding> {
    (!queries.is_empty()).then(|| Finding {
        severity: Severity::Warning,
        code: "no-relevant-document",
        message: format!(
            "{} of {} {} no relevant document ({})",
            counted(queries.len(), "query"),
            thousands(n_queries as u64),
            if queries.len() == 1 { "has" } else { "have" },
            listed(queries)
        ),
        count: queries.len() as u64,
        lines: Vec::new(),
        fix: "they teach nothing, and tools disagree on what they score (left out, 0 or 1): remove them, or \
              name the dialect with every figure"
            .into(),
    })
}
