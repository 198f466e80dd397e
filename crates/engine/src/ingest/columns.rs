//! Assigns roles to the columns of a table: as the user names them, or by common names.

use std::collections::BTreeMap;

use matchrank_core::{Error, Result};

use crate::dataset::IgnoredColumn;

/// Reason for not using a column of a log, of queries or of judgments.
pub(super) const NO_ROLE: &str = "no role";

/// Role of a column in a click log, a judgment table or a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Text of the query.
    Query,
    /// Id of the query.
    QueryId,
    /// Id of the document.
    Document,
    /// Number of clicks of the row (absent: one row is one click).
    Clicks,
    /// Time of the event.
    Time,
    /// Position on the result page, from 1.
    Position,
    /// Number of times the document was shown, or a flag that the row is an impression.
    Shown,
    /// Graded judgment.
    Grade,
    /// Type of the event that the row is.
    Event,
}

impl Role {
    const ALL: [(Role, &'static str, &'static [&'static str]); 9] = [
        (
            Role::Query,
            "query",
            &[
                "query",
                "query_text",
                "querytext",
                "user_query",
                "search_query",
                "search_term",
                "searchterm",
                "search_terms",
                "search_phrase",
                "search_string",
                "search_text",
                "search_keyword",
                "search_keywords",
                "query_string",
                "raw_query",
                "internal_search_term",
                "search",
                "searchquery",
                "keywords",
                "keyword",
                "phrase",
                "term",
                "q",
            ],
        ),
        (Role::QueryId, "query_id", &["query_id", "queryid", "qid"]),
        (
            Role::Document,
            "document",
            &[
                "document",
                "document_id",
                "documentid",
                "doc",
                "doc_id",
                "docid",
                "docno",
                "corpus_id",
                "item",
                "item_id",
                "itemid",
                "product",
                "product_id",
                "productid",
                "product_sku",
                "product_code",
                "item_sku",
                "item_code",
                "article_id",
                "articleid",
                "article",
                "listing_id",
                "offer_id",
                "sku",
                "sku_id",
                "asin",
                "object_id",
                "event_attributes.object.object_id",
                "pid",
                "id",
                "_id",
                "url",
            ],
        ),
        (
            Role::Clicks,
            "clicks",
            &[
                "clicks",
                "click",
                "clicked",
                "click_count",
                "clicks_count",
                "clickcount",
                "n_clicks",
                "nb_clicks",
                "num_clicks",
                "number_of_clicks",
                "total_clicks",
                "sum_clicks",
                "is_click",
                "is_clicked",
                "count",
                "cnt",
                "n",
                "freq",
                "frequency",
                "num",
            ],
        ),
        (
            Role::Time,
            "time",
            &[
                "time",
                "timestamp",
                "click_time",
                "clicked_at",
                "event_time",
                "event_timestamp",
                "event_ts",
                "event_date",
                "timestamp_ms",
                "ts_ms",
                "unix_time",
                "epoch",
                "datetime",
                "date_time",
                "date",
                "day",
                "ts",
                "created_at",
                "occurred_at",
                "log_time",
                "query_time",
                "search_time",
            ],
        ),
        (
            Role::Position,
            "position",
            &[
                "position",
                "rank",
                "pos",
                "ordinal",
                "result_position",
                "result_rank",
                "click_position",
                "item_position",
                "product_position",
                "event_attributes.position.ordinal",
            ],
        ),
        (
            Role::Shown,
            "shown",
            &[
                "shown",
                "impressions",
                "impression",
                "is_impression",
                "impression_count",
                "n_impressions",
                "num_impressions",
                "total_impressions",
                "displayed",
            ],
        ),
        (
            Role::Grade,
            "grade",
            &["grade", "relevance", "label", "rel", "judgment", "judgement", "score", "rating"],
        ),
        (
            Role::Event,
            "event",
            &[
                "event",
                "event_type",
                "eventtype",
                "event_name",
                "action",
                "action_type",
                "action_name",
                "interaction",
                "interaction_type",
                "type",
            ],
        ),
    ];

    /// Returns the role's name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(role, ..)| *role == self).expect("every role is listed").1
    }

    /// Parses a role's name.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map(|(role, ..)| *role).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|(_, name, _)| *name).collect();
            Error::Params(format!("'{name}' is not a column role; the roles are {}", known.join(", ")))
        })
    }

    /// Returns the common names of columns of the role, the most common first.
    pub(super) fn usual_names(self) -> &'static [&'static str] {
        Self::ALL.iter().find(|(role, ..)| *role == self).expect("every role is listed").2
    }
}

/// Columns that the user named, by role.
pub type NamedColumns = BTreeMap<Role, String>;

/// Columns of one table by role, and the roles whose column was guessed.
#[derive(Default)]
pub(super) struct Mapping {
    pub(super) columns: BTreeMap<Role, String>,
    pub(super) guessed: Vec<Role>,
}

impl Mapping {
    /// Gives each of `roles` the column that the user named, or else the column with the most common name.
    pub(super) fn of(file: &str, columns: &[String], roles: &[Role], named: &NamedColumns) -> Result<Self> {
        let mut mapping = Self { columns: BTreeMap::new(), guessed: Vec::new() };
        for &role in roles {
            if let Some(name) = named.get(&role) {
                let found = columns.iter().find(|c| *c == name);
                // The name may belong to another table of the same command, for example to the log and not to the
                // collection.
                if let Some(column) = found {
                    mapping.columns.insert(role, column.clone());
                    continue;
                }
            }
            let taken: Vec<_> = mapping.columns.values().cloned().collect();
            let usual = role.usual_names().iter().find_map(|usual| {
                columns
                    .iter()
                    .find(|c| plain(c) == *usual && !taken.contains(c) && !named.values().any(|n| n == *c))
            });
            // A column of event types is known by its values, see `event_types`.
            if let Some(column) = usual.filter(|_| role != Role::Event) {
                mapping.guess(role, column);
            }
        }
        for (role, name) in named.iter().filter(|(role, _)| roles.contains(role)) {
            if !columns.contains(name) && !mapping.columns.contains_key(role) {
                return Err(missing(file, *role, columns, &format!("there is no column '{name}'")));
            }
        }
        Ok(mapping)
    }

    pub(super) fn get(&self, role: Role) -> Option<&str> {
        self.columns.get(&role).map(String::as_str)
    }

    pub(super) fn require(&self, file: &str, role: Role, columns: &[String]) -> Result<&str> {
        self.get(role).ok_or_else(|| missing(file, role, columns, "no column has a common name for it"))
    }

    /// Gives a role a column that was found by its values.
    pub(super) fn guess(&mut self, role: Role, column: &str) {
        self.columns.insert(role, column.to_owned());
        if column != role.name() {
            self.guessed.push(role);
        }
    }

    /// Takes the column of a role back.
    pub(super) fn remove(&mut self, role: Role) -> Option<String> {
        self.guessed.retain(|guessed| *guessed != role);
        self.columns.remove(&role)
    }

    /// Returns the columns that have no role, in their order.
    pub(super) fn ignored(&self, columns: &[String]) -> Vec<IgnoredColumn> {
        let is_used = |column: &&String| self.columns.values().any(|used| used == *column);
        columns.iter().filter(|c| !is_used(c)).map(|c| IgnoredColumn::new(c, NO_ROLE)).collect()
    }

    /// Describes the guesses; `None` if there are none.
    pub(super) fn guesses(&self, file: &str) -> Option<String> {
        if self.guessed.is_empty() {
            return None;
        }
        let pairs: Vec<_> =
            self.guessed.iter().map(|r| format!("{} = '{}'", r.name(), self.columns[r])).collect();
        Some(format!(
            "{file}: columns recognised by their names: {} (option `column ROLE=NAME` overrides)",
            pairs.join(", ")
        ))
    }
}

fn missing(file: &str, role: Role, columns: &[String], why: &str) -> Error {
    Error::parse(
        file,
        1,
        format!(
            "no column for the {} ({why}); the columns are {}; name one with option `column {}=NAME`",
            role.name().replace('_', " "),
            if columns.is_empty() { "none".to_owned() } else { columns.join(", ") },
            role.name()
        ),
    )
}

/// Returns true if a column has a common name for the id of a query or a document.
pub(super) fn is_usual_id(name: &str) -> bool {
    let name = plain(name);
    [Role::Query, Role::QueryId, Role::Document]
        .iter()
        .any(|role| role.usual_names().contains(&name.as_str()))
}

/// Returns true if a column has a common name for a grade.
pub(super) fn is_usual_grade(name: &str) -> bool {
    Role::Grade.usual_names().contains(&plain(name).as_str())
}

/// Returns a column name in lower case, with `_` for blanks and dashes.
pub(super) fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(names: &str) -> Vec<String> {
        names.split(',').map(str::to_owned).collect()
    }

    const LOG: [Role; 4] = [Role::Query, Role::Document, Role::Clicks, Role::Time];

    #[test]
    fn obvious_names_are_taken_and_said() {
        let mapping = Mapping::of(
            "log.csv",
            &columns("user,sku,category,query,click_time,query_time"),
            &LOG,
            &NamedColumns::new(),
        )
        .unwrap();
        assert_eq!(mapping.get(Role::Query), Some("query"));
        assert_eq!(mapping.get(Role::Document), Some("sku"));
        assert_eq!(mapping.get(Role::Time), Some("click_time"));
        assert_eq!(mapping.get(Role::Clicks), None);
        assert_eq!(
            mapping.guesses("log.csv").unwrap(),
            "log.csv: columns recognised by their names: document = 'sku', time = 'click_time' (option `column ROLE=NAME` overrides)"
        );
    }

    #[test]
    fn a_named_column_wins_and_a_missing_one_is_an_error() {
        let named = NamedColumns::from([(Role::Query, "typed".to_owned())]);
        let mapping = Mapping::of("log.csv", &columns("typed,query,doc"), &LOG, &named).unwrap();
        assert_eq!(mapping.get(Role::Query), Some("typed"));
        let error = Mapping::of("log.csv", &columns("a,doc"), &LOG, &named).err().unwrap().to_string();
        assert!(error.contains("log.csv:1: no column for the query (there is no column 'typed')"), "{error}");
        let mapping = Mapping::of("log.csv", &columns("a,b"), &LOG, &NamedColumns::new()).unwrap();
        let error = mapping.require("log.csv", Role::Document, &columns("a,b")).unwrap_err().to_string();
        assert!(
            error.contains("the columns are a, b; name one with option `column document=NAME`"),
            "{error}"
        );
        assert!(Role::from_name("colour").unwrap_err().to_string().contains("the roles are query, query_id"));
    }
}
