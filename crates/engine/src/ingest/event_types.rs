//! Types of events in logs, and what a row of each type counts.
//!
//! A plain table with several types of events is an error unless the user gives their weights, because a view, a click
//! and a purchase are not the same. In "User Behavior Insights" (UBI) and Metarank events, a click, an addition to the
//! cart and a purchase count 1 each by default, and an impression says that a document was shown.
//!
//! A weight is rounded to a multiple of 1/65536, the unit of the aggregation. So ten rows count exactly as much as one
//! row with a count of ten, in any order.

use std::collections::BTreeMap;

use foldhash::HashMap;
use matchrank_core::message::{shortest, thousands};
use matchrank_core::{Error, Result};

use super::aggregate::UNIT;
use super::clicks::ClickLog;
use super::columns::{Mapping, Role, plain};
use super::table::{Table, TableRows};
use crate::dataset::EventType;

/// Largest number of different event types.
const MOST_TYPES: usize = 1000;
/// Largest number of different values of a column that is known by its name alone.
const FEW_TYPES: usize = 50;
/// Types that are named in a message.
const NAMED_TYPES: usize = 20;
/// Largest weight.
const MOST_WEIGHT: f64 = 1e6;

/// Effect of a row of an event type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EventKind {
    /// So many clicks.
    Counts(f64),
    /// The document was shown.
    Shown,
    /// Nothing.
    LeftOut,
}

/// Event types of a log with the number of their rows.
pub(super) struct LogEvents {
    counts: BTreeMap<String, u64>,
    kinds: HashMap<String, EventKind>,
    /// True if the format of the log gives types a meaning.
    has_defaults: bool,
    /// True if some type says that a document was shown.
    pub(super) has_impressions: bool,
}

impl LogEvents {
    pub(super) fn new(counts: BTreeMap<String, u64>, has_defaults: bool) -> Self {
        Self { counts, kinds: HashMap::default(), has_defaults, has_impressions: false }
    }

    /// Returns what a row of a type counts.
    pub(super) fn kind(&self, name: &str) -> EventKind {
        self.kinds.get(name).copied().unwrap_or(EventKind::LeftOut)
    }

    /// Returns the types, the most frequent first.
    pub(super) fn types(&self) -> Vec<EventType> {
        let weight = |name: &str| match self.kind(name) {
            EventKind::Counts(weight) => Some(weight),
            EventKind::Shown => Some(0.0),
            EventKind::LeftOut => None,
        };
        by_frequency(&self.counts)
            .into_iter()
            .map(|(name, rows)| EventType { name: name.to_owned(), rows, weight: weight(name) })
            .collect()
    }

    /// Describes the types and what their rows count.
    pub(super) fn remark(&self) -> Option<String> {
        let meaning = |kind: EventKind| match kind {
            EventKind::Counts(weight) => format!("counts {}", shortest(weight)),
            EventKind::Shown => "shown".to_owned(),
            EventKind::LeftOut => "left out".to_owned(),
        };
        let listed =
            listed(&self.counts, |name, rows| format!("{name} {rows} ({})", meaning(self.kind(name))));
        (!self.counts.is_empty()).then(|| format!("event types: {listed}"))
    }

    fn decide(&mut self, weights: &BTreeMap<String, f64>) {
        for name in self.counts.keys() {
            let kind = match weights.get(name) {
                Some(0.0) => EventKind::Shown,
                Some(weight) => EventKind::Counts((weight * UNIT).round() / UNIT),
                None if self.has_defaults && is_impression(name) => EventKind::Shown,
                None if weights.is_empty() && is_response(name) => EventKind::Counts(1.0),
                None => EventKind::LeftOut,
            };
            self.has_impressions |= kind == EventKind::Shown;
            self.kinds.insert(name.clone(), kind);
        }
    }

    /// Returns true if the user must say what the types of a plain table count. One type of clicks is clear.
    fn needs_weights(&self) -> bool {
        !self.has_defaults && self.counts.keys().any(|name| !is_click(name))
    }
}

impl EventKind {
    /// Returns the effect of a type of the event formats where nobody gives it a weight.
    pub fn usual(name: &str) -> Self {
        if is_impression(name) {
            Self::Shown
        } else if is_response(name) {
            Self::Counts(1.0)
        } else {
            Self::LeftOut
        }
    }

    /// Returns the effect of a weight: 0 says that the document was shown. Returns `None` if it is out of range.
    pub fn of_weight(weight: f64) -> Option<Self> {
        if weight == 0.0 {
            return Some(Self::Shown);
        }
        is_weight(weight).then(|| Self::Counts((weight * UNIT).round() / UNIT))
    }
}

fn is_weight(weight: f64) -> bool {
    weight == 0.0 || (1.0 / UNIT..=MOST_WEIGHT).contains(&weight)
}

/// Returns an error if a weight is out of range.
pub(super) fn check_weights(weights: &BTreeMap<String, f64>) -> Result<()> {
    match weights.iter().find(|(_, weight)| !is_weight(**weight)) {
        Some((name, weight)) => Err(Error::Params(format!(
            "the weight of the event type '{name}' is {weight}; 0, or a number from 1/65536 to 1,000,000, is expected"
        ))),
        None => Ok(()),
    }
}

/// Decides what the rows of all logs count. Returns an error if a plain table has types without weights, and if a
/// weight is for a type that no log has; the logs that are added to others need not have every type.
pub(super) fn decide_kinds(
    logs: &mut [ClickLog],
    weights: &BTreeMap<String, f64>,
    is_appended: bool,
) -> Result<()> {
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    for (name, rows) in logs.iter().filter_map(|log| log.events.as_ref()).flat_map(|events| &events.counts) {
        *all.entry(name.clone()).or_default() += rows;
    }
    let with_rows = || listed(&all, |name, rows| format!("{name} ({rows})"));
    if let Some(unknown) = weights.keys().find(|name| !all.contains_key(*name))
        && !is_appended
    {
        let message = if all.is_empty() {
            "no click log has a column of event types; name it with option `column event=NAME`".to_owned()
        } else {
            format!("no click log has the event type '{unknown}'; there are {}", with_rows())
        };
        return Err(Error::Params(format!("option `event-weights`: {message}")));
    }
    for log in logs {
        let Some(events) = &mut log.events else { continue };
        events.decide(weights);
        if weights.is_empty() && events.needs_weights() {
            let example = example(&all);
            return Err(Error::format(
                log.name(),
                format!(
                    "the rows are events of these types: {}; say how many clicks each counts, for example with \
                     option `event-weights {example}`; types that are not named are left out, and a type of weight 0 \
                     says that a document was shown",
                    with_rows()
                ),
            ));
        }
    }
    Ok(())
}

/// Returns weights to begin with, for the types that are responses.
fn example(counts: &BTreeMap<String, u64>) -> String {
    let of = |is: fn(&str) -> bool, weight: u32| {
        let names = counts.keys().filter(move |name| is(name));
        names.map(|name| format!("{name}={weight}")).collect::<Vec<_>>()
    };
    let mut weights = of(is_click, 1);
    weights.extend(of(is_cart, 3));
    weights.extend(of(is_purchase, 5));
    if weights.is_empty() {
        weights =
            counts.keys().filter(|name| !name.is_empty()).take(1).map(|name| format!("{name}=1")).collect();
    }
    weights.join(",")
}

/// Counts the values of a column. Returns `None` if there are too many to be types.
pub(super) fn count_types(table: &Table, column: &str) -> Result<Option<BTreeMap<String, u64>>> {
    let work = |rows: &TableRows<'_>| {
        let mut part = TypeCounts::default();
        rows.for_each(|row| {
            part.add(row.fields[0].unwrap_or_default());
            Ok(())
        })?;
        Ok(part)
    };
    merge_types(table, &[column], work)
}

/// Adds up the types that `work` counts in the parts of a table. Returns `None` if there are too many.
pub(super) fn merge_types(
    table: &Table,
    wanted: &[&str],
    work: impl Fn(&TableRows<'_>) -> Result<TypeCounts> + Sync,
) -> Result<Option<BTreeMap<String, u64>>> {
    let mut counts = BTreeMap::new();
    table.read_until(wanted, work, |part| {
        part.0.into_iter().for_each(|(name, n)| *counts.entry(name).or_default() += n);
        Ok(counts.len() > MOST_TYPES)
    })?;
    Ok((counts.len() <= MOST_TYPES).then_some(counts))
}

/// Rows by type, for a part of a file.
#[derive(Default)]
pub(super) struct TypeCounts(HashMap<String, u64>);

impl TypeCounts {
    pub(super) fn add(&mut self, name: &str) {
        if let Some(n) = self.0.get_mut(name) {
            *n += 1;
        } else if self.0.len() <= MOST_TYPES {
            self.0.insert(name.to_owned(), 1);
        }
    }
}

/// Finds the column of event types in a plain table, among columns with a usual name for one. Its values are few, and
/// some values of a column that is just called `type` have a usual name, too.
pub(super) fn find_types(table: &Table, taken: &Mapping) -> Result<Option<(String, BTreeMap<String, u64>)>> {
    for usual in Role::Event.usual_names() {
        let is_free = |column: &&String| !taken.columns.values().any(|used| used == *column);
        let mut columns = table.columns().iter().filter(is_free);
        let Some(column) = columns.find(|column| plain(column) == *usual) else { continue };
        let Some(counts) = count_types(table, column)? else { continue };
        let has_names = counts.keys().any(|name| is_response(name) || is_impression(name));
        let is_empty = counts.keys().all(String::is_empty);
        if has_names || (*usual != "type" && counts.len() <= FEW_TYPES && !is_empty) {
            return Ok(Some((column.clone(), counts)));
        }
    }
    Ok(None)
}

fn by_frequency(counts: &BTreeMap<String, u64>) -> Vec<(&str, u64)> {
    let mut types: Vec<(&str, u64)> = counts.iter().map(|(name, rows)| (name.as_str(), *rows)).collect();
    types.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    types
}

/// Lists types, the most frequent first.
fn listed(counts: &BTreeMap<String, u64>, each: impl Fn(&str, &str) -> String) -> String {
    let types = by_frequency(counts);
    let more = types.len().saturating_sub(NAMED_TYPES);
    let shown = types.iter().take(NAMED_TYPES).map(|(name, rows)| match *name {
        "" => each("(none)", &thousands(*rows)),
        name => each(name, &thousands(*rows)),
    });
    let list = shown.collect::<Vec<_>>().join(", ");
    if more == 0 { list } else { format!("{list} and {more} more") }
}

fn is_click(name: &str) -> bool {
    name.to_lowercase().contains("click")
}

/// Returns true for an addition to the cart, and not for a removal or a visit.
fn is_cart(name: &str) -> bool {
    let name = name.to_lowercase();
    let others = ["remove", "delete", "view", "empty", "abandon", "clear", "update", "click"];
    ["cart", "basket"].iter().any(|word| name.contains(word))
        && !others.iter().any(|word| name.contains(word))
}

fn is_purchase(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_order =
        ["order", "ordered", "buy", "bought", "transaction", "conversion"].contains(&name.as_str());
    !is_click(&name) && (name.contains("purchase") || is_order)
}

fn is_response(name: &str) -> bool {
    is_click(name) || is_cart(name) || is_purchase(name)
}

/// Returns true if a document was shown.
fn is_impression(name: &str) -> bool {
    let name = name.to_lowercase();
    !is_click(&name) && (name.contains("impression") || name == "view" || name == "shown")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(types: &[(&str, u64)]) -> BTreeMap<String, u64> {
        types.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
    }

    #[test]
    fn names_tell_clicks_carts_purchases_and_impressions() {
        let kinds = |name: &str| [is_click, is_cart, is_purchase, is_impression].map(|is| is(name));
        assert_eq!(kinds("product_click"), [true, false, false, false]);
        assert_eq!(kinds("Add_To_Cart"), [false, true, false, false]);
        assert_eq!(kinds("purchase"), [false, false, true, false]);
        assert_eq!(kinds("view"), [false, false, false, true]);
        assert_eq!(kinds("impression_click"), [true, false, false, false]);
        for other in ["remove_from_cart", "cart_view", "search", "sort_order", "", "page_view"] {
            assert_eq!(kinds(other), [false; 4], "{other}");
        }
    }

    #[test]
    fn defaults_hold_for_event_formats_and_weights_precede_them() {
        let types = [("click", 5), ("add_to_cart", 2), ("impression", 9), ("search", 1)];
        let remark = |weights: &[(&str, f64)], has_defaults| {
            let mut events = LogEvents::new(counts(&types), has_defaults);
            events.decide(&weights.iter().map(|(name, w)| ((*name).to_owned(), *w)).collect());
            (events.remark().unwrap(), events.needs_weights(), events.has_impressions)
        };
        assert_eq!(
            remark(&[], true),
            ("event types: impression 9 (shown), click 5 (counts 1), add_to_cart 2 (counts 1), search 1 (left out)".into(), false, true)
        );
        assert_eq!(
            remark(&[("add_to_cart", 3.5), ("search", 0.0)], true).0,
            "event types: impression 9 (shown), click 5 (left out), add_to_cart 2 (counts 3.5), search 1 (shown)"
        );
        let (said, needs_weights, has_impressions) = remark(&[("click", 1.0)], false);
        assert_eq!(
            said,
            "event types: impression 9 (left out), click 5 (counts 1), add_to_cart 2 (left out), search 1 (left out)"
        );
        assert!(needs_weights && !has_impressions);
        assert!(!LogEvents::new(counts(&[("click", 3), ("banner_click", 1)]), false).needs_weights());
        assert_eq!(example(&counts(&types)), "click=1,add_to_cart=3");
        assert_eq!(example(&counts(&[("view", 3), ("search", 1)])), "search=1");
    }

    #[test]
    fn weights_out_of_range_are_refused() {
        let check = |weight: f64| check_weights(&BTreeMap::from([("click".to_owned(), weight)]));
        for fine in [0.0, 1.0, 0.1, 1e6, 1.0 / UNIT] {
            assert!(check(fine).is_ok(), "{fine}");
        }
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e-6, 2e6] {
            assert!(check(wrong).unwrap_err().to_string().contains("the event type 'click' is"), "{wrong}");
        }
    }
}
