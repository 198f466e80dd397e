//! Means by kind of query: seen or unseen, short or long, with many clicks or few.
//!
//! A bin file has one query per line: its id, a tab, the label of its bin. Labels may contain spaces.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::Evaluation;
use super::evaluate::mean;
use crate::data::columns;
use crate::{Error, Result};

/// The bin of each query.
#[derive(Debug, Default, Clone)]
pub struct Bins<'a> {
    labels: Vec<&'a str>,
    bin_of: HashMap<&'a str, usize, FixedState>,
}

/// Means over the queries of one bin.
#[derive(Debug, Clone, PartialEq)]
pub struct BinMeans {
    /// Label of the bin; `None` for the queries without a bin.
    pub label: Option<String>,
    /// Number of queries of the bin that have a value.
    pub n_queries: usize,
    /// Mean of each measure over these queries.
    pub means: Vec<f64>,
}

impl<'a> Bins<'a> {
    /// Builds bins from (query id, label). Bins are reported in the order of their first query.
    pub fn new(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut bins = Self::default();
        let mut known: HashMap<&str, usize, FixedState> = HashMap::default();
        for (query, label) in pairs {
            let bin = *known.entry(label).or_insert(bins.labels.len());
            if bin == bins.labels.len() {
                bins.labels.push(label);
            }
            if bins.bin_of.insert(query, bin).is_some_and(|before| before != bin) {
                return Err(Error::Params(format!("query {query} is in two bins; assign it to one")));
            }
        }
        Ok(bins)
    }

    /// Labels, in the order of their first query.
    pub fn labels(&self) -> impl Iterator<Item = &'a str> {
        self.labels.iter().copied()
    }

    /// Returns the label of a query's bin, if it has one.
    pub fn label(&self, query: &str) -> Option<&'a str> {
        self.bin_of.get(query).map(|&bin| self.labels[bin])
    }

    /// Returns the means of an evaluation, bin by bin; queries without a bin come last.
    pub fn means(&self, evaluation: &Evaluation) -> Vec<BinMeans> {
        let mut members = vec![Vec::new(); self.labels.len() + 1];
        for i in (0..evaluation.n_queries()).filter(|&i| evaluation.value(i, 0).is_some()) {
            let bin = self.bin_of.get(evaluation.query(i)).copied().unwrap_or(self.labels.len());
            members[bin].push(i);
        }
        let labels = self.labels.iter().map(|label| Some((*label).to_owned())).chain([None]);
        labels
            .zip(members)
            .filter(|(label, queries)| label.is_some() || !queries.is_empty())
            .map(|(label, queries)| BinMeans {
                label,
                n_queries: queries.len(),
                means: (0..evaluation.measures.len())
                    .map(|m| mean(queries.iter().filter_map(|&q| evaluation.value(q, m))))
                    .collect(),
            })
            .collect()
    }
}

/// Parses a bin file. `file` is its name in errors.
pub fn parse<'a>(file: &str, bytes: &'a [u8]) -> Result<Bins<'a>> {
    let whole = columns::Chunk { line: 1, bytes: columns::without_mark(bytes) };
    columns::check_text(file, whole)?;
    let mut pairs = Vec::new();
    let mut first_line: HashMap<&str, (u64, &str), FixedState> = HashMap::default();
    for (line, text) in columns::lines(whole) {
        let text = columns::text(text).trim();
        if text.is_empty() {
            continue;
        }
        let Some((query, label)) = text.split_once('\t') else {
            let message = "expected a query id, a tab and the label of its bin";
            return Err(Error::parse(file, line, message));
        };
        let (query, label) = (query.trim(), label.trim());
        let (before, other) = *first_line.entry(query).or_insert((line, label));
        if other != label {
            let message =
                format!("query {query} is already in bin {other} on line {before}; assign it to one");
            return Err(Error::parse(file, line, message));
        }
        pairs.push((query, label));
    }
    if pairs.is_empty() {
        return Err(Error::parse(file, 0, "the file holds no bin; expected lines of `query<TAB>label`"));
    }
    Bins::new(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::qrels;
    use crate::measure::{Conventions, Measure, evaluate};

    #[test]
    fn means_by_bin_and_the_rest() {
        let qrels = qrels::parse("x", b"a 0 d 1\nb 0 d 1\nc 0 d 1\nn 0 d 0\n").unwrap();
        let good = vec![("d", 1.0)];
        let bad = vec![("e", 2.0), ("d", 1.0)];
        let run = [("a", good.clone()), ("b", bad), ("c", good.clone()), ("n", good)];
        let measures = Measure::parse_list("mrr").unwrap();
        let evaluation = evaluate(&qrels, &run[..], &measures, &Conventions::default()).unwrap();
        let bins = parse("x", b"b\tnot seen\r\n\na\tnot seen\nn\tseen\n").unwrap();
        let means = bins.means(&evaluation);
        let all: Vec<_> = means.iter().map(|b| (b.label.as_deref(), b.n_queries, b.means[0])).collect();
        assert_eq!(all, [(Some("not seen"), 2, 0.75), (Some("seen"), 0, 0.0), (None, 1, 1.0)]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_query() {
        assert_eq!(parse("x", "\u{feff}q1\tseen\n".as_bytes()).unwrap().label("q1"), Some("seen"));
    }

    #[test]
    fn errors_name_the_line() {
        let error = |bytes: &'static [u8]| parse("x.tsv", bytes).unwrap_err().to_string();
        assert_eq!(error(b"a\tb\nq1 seen\n"), "x.tsv:2: expected a query id, a tab and the label of its bin");
        assert_eq!(
            error(b"a\tb\nb\tb\na\tc\n"),
            "x.tsv:3: query a is already in bin b on line 1; assign it to one"
        );
        assert_eq!(error(b"\n"), "x.tsv: the file holds no bin; expected lines of `query<TAB>label`");
    }
}
