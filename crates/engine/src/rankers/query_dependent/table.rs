//! Query features from a file of their own.
//!
//! ```text
//! query   length:number   topic:category   sites:ranking
//! 17      3               music            shop>blog>forum
//! ```
//! Columns are separated by tabs; the first names the query. A name may say what its column holds: `number` (also where
//! nothing is said), `category`, or `ranking`, items with `>` between, best first. So latent vectors of queries, which are
//! numbers, need a header of names and nothing else.

use std::collections::HashMap;

use matchrank_core::ranking::query_dependent::QueryFeatures;
use matchrank_core::{Error, Result};

/// Query features by the ids of the queries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueryTable {
    /// Name of the file.
    name: String,
    queries: HashMap<String, QueryFeatures>,
}

#[derive(Clone, Copy)]
enum ColumnKind {
    Number,
    Category,
    Ranking,
}

impl QueryTable {
    /// Name of the file, for messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the features of a query.
    pub fn get(&self, query: &str) -> Option<&QueryFeatures> {
        self.queries.get(query)
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Returns true if there is no query.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Any one of them, which has as many features of each kind as all others.
    pub(super) fn any(&self) -> Option<&QueryFeatures> {
        self.queries.values().next()
    }

    /// Reads a table; `name` is for messages.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let Some((_, header)) = lines.next() else {
            return Err(Error::parse(name, 0, "is empty; a header `query<TAB>feature<TAB>...` is expected"));
        };
        let kinds =
            header.split('\t').skip(1).map(|column| match column.rsplit_once(':').map(|(_, kind)| kind) {
                Some("category") => Ok(ColumnKind::Category),
                Some("ranking") => Ok(ColumnKind::Ranking),
                Some("number") | None => Ok(ColumnKind::Number),
                Some(other) => Err(Error::parse(
                    name,
                    1,
                    format!("column `{column}` holds `{other}`; known are number, category and ranking"),
                )),
            });
        let kinds: Vec<ColumnKind> = kinds.collect::<Result<_>>()?;
        if kinds.is_empty() {
            return Err(Error::parse(name, 1, "the header names no feature; columns are separated by tabs"));
        }
        let mut queries = HashMap::new();
        for (line, text) in lines {
            let mut cells = text.split('\t');
            let query = cells.next().unwrap_or_default().trim();
            let cells: Vec<&str> = cells.map(str::trim).collect();
            if query.is_empty() || cells.len() != kinds.len() {
                let message = format!("a query and {} features are expected, separated by tabs", kinds.len());
                return Err(Error::parse(name, line, message));
            }
            let mut features = QueryFeatures::default();
            for (kind, cell) in kinds.iter().zip(cells) {
                match kind {
                    ColumnKind::Number => match cell.parse::<f64>() {
                        Ok(number) if number.is_finite() => features.numbers.push(number),
                        _ => {
                            let message = format!("`{cell}` is not a finite number (query {query})");
                            return Err(Error::parse(name, line, message));
                        }
                    },
                    ColumnKind::Category => features.categories.push(cell.to_owned()),
                    ColumnKind::Ranking => {
                        features.rankings.push(cell.split('>').map(|item| item.trim().to_owned()).collect());
                    }
                }
            }
            if queries.insert(query.to_owned(), features).is_some() {
                return Err(Error::parse(name, line, format!("query {query} is here for the second time")));
            }
        }
        if queries.is_empty() {
            let message = "has a header, and no line with the features of a query; lines end in LF or CRLF";
            return Err(Error::parse(name, 0, message));
        }
        Ok(Self { name: name.to_owned(), queries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_and_refused() {
        let text =
            "query\tlength\ttopic:category\tsites:ranking\n17\t3\tmusic\ta>b > c\n\n18\t-1e2\tnews\tb>a\n";
        let table = QueryTable::parse("q.tsv", text).unwrap();
        let known = table.get("17").unwrap();
        assert_eq!(
            (known.numbers[0], known.categories[0].as_str(), known.rankings[0].len()),
            (3.0, "music", 3)
        );
        assert_eq!((table.len(), table.get("19")), (2, None));
        for (text, expected) in [
            ("", "is empty"),
            ("query\n1\n", "names no feature"),
            ("query\ta\n\n", "q.tsv: has a header, and no line"),
            ("query\ta\r1\t2\r3\t4\r", "q.tsv: has a header, and no line"),
            ("query\ta:colour\n", "known are number, category and ranking"),
            ("query\ta\n1\tNaN\n", "q.tsv:2: `NaN` is not a finite number"),
            ("query\ta\n1\tinf\n", "not a finite number"),
            ("query\ta\n1\n", "a query and 1 features are expected"),
            ("query\ta\n1\t2\n1\t3\n", "q.tsv:3: query 1 is here for the second time"),
        ] {
            let error = QueryTable::parse("q.tsv", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
