//! Chooses the fields of documents that are indexed if the user names none.
//!
//! Fields with usual names are, such as title and description, and so are other short texts, such as brand and category.
//! Numbers, dates, addresses, ids and long texts of unknown names are not: they are reported. The values of the first
//! rows tell the kind of a field.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use matchrank_core::Result;

use super::columns::plain;
use super::table::{MOST_COLUMNS, Table};
use super::times::is_time;
use crate::dataset::IgnoredColumn;

/// Column names that are taken for text when the user names none.
const TEXT_FIELDS: [&str; 18] = [
    "title",
    "name",
    "headline",
    "text",
    "body",
    "content",
    "contents",
    "abstract",
    "summary",
    "description",
    "short_description",
    "long_description",
    "shortdescription",
    "longdescription",
    "snippet",
    "keywords",
    "tags",
    "url",
];

/// Names of ids that neither end in `id` nor are usual for the id of a document.
const ID_NAMES: [&str; 12] =
    ["id", "sku", "ean", "ean13", "gtin", "upc", "isbn", "asin", "uuid", "guid", "barcode", "hash"];

/// Words of a short text, on average.
const SHORT: f64 = 10.0;
/// Share of the values that tells the kind of a field.
const MOST: f64 = 0.9;
/// Values from which on it counts that all differ, or that none does.
const ENOUGH: usize = 20;
/// Most fields to index; one more column holds the id.
const MOST_FIELDS: usize = MOST_COLUMNS - 1;

/// Fields to index, and the others with their reasons.
pub(super) struct Fields {
    pub(super) columns: Vec<String>,
    pub(super) ignored: Vec<IgnoredColumn>,
}

/// Values of a field in the first rows.
#[derive(Default)]
struct FieldValues {
    n: usize,
    words: usize,
    numbers: usize,
    flags: usize,
    times: usize,
    addresses: usize,
    /// Single words with a digit.
    codes: usize,
    distinct: HashSet<String, FixedState>,
}

/// Kind of a field by its name and its values.
enum FieldKind {
    Usual,
    ShortText,
    LongText(f64),
    Other(&'static str),
}

impl Fields {
    /// Chooses among the columns of a table.
    pub(super) fn choose(table: &Table, columns: &[String]) -> Result<Self> {
        let mut kinds = Vec::new();
        for columns in columns.chunks(MOST_COLUMNS) {
            let values = values_of(table, columns)?;
            kinds.extend(columns.iter().zip(&values).map(|(name, values)| {
                let is_nested = table.nested().contains(name) && !is_usual(name);
                (name, if is_nested { FieldKind::Other("nested") } else { values.kind(name) }, values.n)
            }));
        }
        let has_usual = kinds.iter().any(|(_, kind, _)| matches!(kind, FieldKind::Usual));
        let is_text = |kind: &FieldKind| match kind {
            FieldKind::Usual | FieldKind::ShortText => true,
            FieldKind::LongText(_) => !has_usual,
            FieldKind::Other(_) => false,
        };
        let has_text = kinds.iter().any(|(_, kind, _)| is_text(kind));
        let (mut chosen, mut ignored) = (Vec::new(), Vec::new());
        for (name, kind, n) in &kinds {
            match kind {
                FieldKind::Other("nested") => ignored.push(IgnoredColumn::new(*name, "nested")),
                // If nothing looks like a text, everything may be one.
                kind if is_text(kind) || !has_text => {
                    let rank = (!matches!(kind, FieldKind::Usual), std::cmp::Reverse(*n), chosen.len());
                    chosen.push((rank, *name));
                }
                FieldKind::LongText(words) => {
                    let reason = format!("long text of an unknown name, {words:.0} words on average");
                    ignored.push(IgnoredColumn::new(*name, reason));
                }
                FieldKind::Other(reason) => ignored.push(IgnoredColumn::new(*name, *reason)),
                FieldKind::Usual | FieldKind::ShortText => unreachable!("texts are chosen"),
            }
        }
        // Beyond the limit, usual names and fields that most documents have come first.
        let mut ranks: Vec<_> = chosen.iter().map(|(rank, _)| *rank).collect();
        ranks.sort_unstable();
        let limit = ranks.get(MOST_FIELDS).copied();
        let (kept, dropped): (Vec<_>, Vec<_>) =
            chosen.into_iter().partition(|(rank, _)| limit.is_none_or(|limit| *rank < limit));
        let beyond = format!("beyond {MOST_FIELDS} fields");
        ignored.extend(dropped.into_iter().map(|(_, name)| IgnoredColumn::new(name, &beyond)));
        Ok(Self { columns: kept.into_iter().map(|(_, name)| name.clone()).collect(), ignored })
    }
}

/// Returns the values of columns in the first rows.
fn values_of(table: &Table, columns: &[String]) -> Result<Vec<FieldValues>> {
    let wanted: Vec<&str> =
        columns.iter().map(String::as_str).filter(|c| !table.nested().iter().any(|n| n == c)).collect();
    let mut found: Vec<FieldValues> = Vec::new();
    table.read_first(&wanted, |row| {
        found.resize_with(wanted.len(), FieldValues::default);
        found.iter_mut().zip(row.fields).for_each(|(values, text)| values.add(*text));
        Ok(())
    })?;
    found.resize_with(wanted.len(), FieldValues::default);
    let mut found = found.into_iter();
    let is_wanted = |column: &String| wanted.contains(&column.as_str());
    let values = columns.iter().map(|c| if is_wanted(c) { found.next() } else { None });
    Ok(values.map(Option::unwrap_or_default).collect())
}

impl FieldValues {
    fn add(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        let words = text.split_whitespace().count();
        self.n += 1;
        self.words += words;
        let is_date = fast_float2::parse::<f64, _>(text).is_err() && is_time(text);
        self.numbers += usize::from(!is_date && is_number(text));
        self.flags += usize::from(matches!(text.to_lowercase().as_str(), "true" | "false" | "yes" | "no"));
        self.times += usize::from(is_date);
        self.addresses += usize::from(text.split_whitespace().all(is_address));
        self.codes += usize::from(words == 1 && text.bytes().any(|b| b.is_ascii_digit()));
        self.distinct.insert(text.to_owned());
    }

    fn kind(&self, name: &str) -> FieldKind {
        let most = |n: usize| n as f64 >= MOST * self.n as f64;
        let mean_words = self.words as f64 / self.n.max(1) as f64;
        if is_usual(name) {
            return FieldKind::Usual;
        }
        let reason = match () {
            () if self.n == 0 => Some("empty in the first rows"),
            () if is_id_name(name) => Some("ids"),
            () if most(self.flags) => Some("true or false"),
            () if most(self.numbers) => Some("numeric"),
            () if most(self.times) => Some("dates"),
            () if most(self.addresses) => Some("URLs or files"),
            () if self.n >= ENOUGH && self.distinct.len() == 1 => Some("the same in all first rows"),
            () if self.n >= ENOUGH && most(self.codes) && most(self.distinct.len()) => Some("ids"),
            () => None,
        };
        match reason {
            Some(reason) => FieldKind::Other(reason),
            None if mean_words <= SHORT || has_usual_part(name) => FieldKind::ShortText,
            None => FieldKind::LongText(mean_words),
        }
    }
}

fn is_usual(name: &str) -> bool {
    TEXT_FIELDS.contains(&plain(name).as_str())
}

/// Returns true if a part of a dotted name is usual, as in `name.en` and `categories.name`.
fn has_usual_part(name: &str) -> bool {
    name.contains('.') && name.split('.').any(is_usual)
}

/// Returns true for `id`, `brand_id`, `brandId`, `image.ID` and codes such as `ean`.
fn is_id_name(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let plain = plain(last);
    ID_NAMES.contains(&plain.as_str())
        || ["_id", "_ids"].iter().any(|end| plain.ends_with(end))
        || ends_in_capital_id(last)
}

fn ends_in_capital_id(name: &str) -> bool {
    let stem = name.strip_suffix("Id").or(name.strip_suffix("ID"));
    stem.is_some_and(|stem| stem.ends_with(|c: char| c.is_lowercase() || c.is_ascii_digit()))
}

/// Returns true for numbers, also with units of money, percent and decimal commas. A list of numbers is one, too.
fn is_number(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || ".,+-%eE$\u{20ac}\u{a3} ".contains(c);
    text.bytes().any(|b| b.is_ascii_digit()) && text.chars().all(is_part)
}

/// Returns true for URLs and names of pictures.
fn is_address(text: &str) -> bool {
    let lower = text.to_lowercase();
    let is_picture =
        [".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".html"].iter().any(|end| lower.ends_with(end));
    lower.contains("://") || lower.starts_with("www.") || lower.starts_with("//") || is_picture
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, texts: &[&str]) -> String {
        let mut values = FieldValues::default();
        texts.iter().for_each(|text| values.add(Some(text)));
        match values.kind(name) {
            FieldKind::Usual => "usual".into(),
            FieldKind::ShortText => "short".into(),
            FieldKind::LongText(words) => format!("long {words}"),
            FieldKind::Other(reason) => reason.into(),
        }
    }

    #[test]
    fn the_kind_of_a_field_is_told_by_its_name_and_its_values() {
        let long = "one two three four five six seven eight nine ten eleven";
        let codes: Vec<String> = (0..ENOUGH).map(|i| format!("x{i}")).collect();
        let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
        for (name, texts, expected) in [
            ("Title", &["5"][..], "usual"),
            ("brand", &["Nike", "3M", "Dr. Martens"], "short"),
            ("categories.name", &[long], "short"),
            ("features", &[long], "long 11"),
            ("price", &["12,99 \u{20ac}", "5.00"], "numeric"),
            ("sizes", &["38 39 40"], "numeric"),
            ("available", &["true", "no"], "true or false"),
            ("added", &["2026-01-01", "14.09.2011 12:46"], "dates"),
            ("image", &["https://x.org/a", "b.JPG"], "URLs or files"),
            ("brandId", &["red"], "ids"),
            ("category_id", &["abcat"], "ids"),
            ("article", &codes, "ids"),
            ("size", &["x1", "x2"], "short"),
            ("grid", &[], "empty in the first rows"),
            ("paid", &["card"], "short"),
            ("shop", &["us"; ENOUGH], "the same in all first rows"),
            ("links", &["https://x.org/a https://x.org/b"], "URLs or files"),
        ] {
            assert_eq!(kind(name, texts), expected, "{name}");
        }
    }
}
