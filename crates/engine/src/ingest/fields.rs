//! Chooses the fields of documents that are indexed, and those that are attributes, if the user names none.
//!
//! Fields with usual names are, such as title and description, and so are other short texts, such as brand and category.
//! Numbers, dates, addresses, ids and long texts of unknown names are not: they are reported. The values of the first
//! rows tell the kind of a field.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use matchrank_core::Result;

use super::attributes::parse_number;
use super::columns::plain;
use super::table::{MOST_COLUMNS, Table};
use super::times::{is_month_first, is_time};
use crate::dataset::{Attribute, AttributeKind, IgnoredColumn};

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

/// Reason for not indexing flags.
const FLAGS: &str = "true or false";

/// Words of a short text, on average.
const SHORT: f64 = 10.0;
/// Share of the values that tells the kind of a field.
const MOST: f64 = 0.9;
/// Values from which on it counts that all differ, or that none does.
const ENOUGH: usize = 20;
/// Words of a category, on average, at most.
const WORDS_OF_CATEGORY: f64 = 4.0;
/// Documents of a category, on average, at least.
const DOCUMENTS_OF_CATEGORY: usize = 4;
/// Digits of numbers that are ids, at least.
const DIGITS_OF_ID: usize = 6;
/// Most fields to index.
pub(super) const MOST_FIELDS: usize = 63;

/// Fields to index, and the others with their reasons.
pub(super) struct Fields {
    pub(super) columns: Vec<String>,
    pub(super) ignored: Vec<IgnoredColumn>,
}

/// Values of a field in the first rows.
#[derive(Default)]
pub(super) struct FieldValues {
    n: usize,
    words: usize,
    /// Numbers and lists of numbers.
    numbers: usize,
    /// Numbers alone.
    single_numbers: usize,
    flags: usize,
    times: usize,
    addresses: usize,
    /// Single words with a digit.
    codes: usize,
    /// Numbers of digits of whole numbers, and their number.
    digits: HashSet<usize, FixedState>,
    whole: usize,
    /// Dates that tell the month from the day: those with the month first, less those with the day first.
    month_first: i64,
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
    /// Chooses among the columns of a table, given with their values.
    pub(super) fn choose(table: &Table, columns: &[String], values: &[FieldValues]) -> Self {
        let kinds = columns.iter().zip(values).map(|(name, values)| {
            let is_nested = table.nested().contains(name) && !is_usual(name);
            (name, if is_nested { FieldKind::Other("nested") } else { values.kind(name) }, values.n)
        });
        let kinds: Vec<_> = kinds.collect();
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
        Self { columns: kept.into_iter().map(|(_, name)| name.clone()).collect(), ignored }
    }
}

/// Returns the values of columns in the first rows.
pub(super) fn values_of(table: &Table, columns: &[String]) -> Result<Vec<FieldValues>> {
    let chunks = columns.chunks(MOST_COLUMNS).map(|columns| values_of_some(table, columns));
    Ok(chunks.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn values_of_some(table: &Table, columns: &[String]) -> Result<Vec<FieldValues>> {
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
    /// Number of values.
    pub(super) fn n(&self) -> usize {
        self.n
    }

    pub(super) fn add(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        let words = text.split_whitespace().count();
        self.n += 1;
        self.words += words;
        let is_date = fast_float2::parse::<f64, _>(text).is_err() && is_time(text);
        self.numbers += usize::from(!is_date && is_number(text));
        self.single_numbers += usize::from(!is_date && parse_number(text).is_some());
        self.flags += usize::from(matches!(text.to_lowercase().as_str(), "true" | "false" | "yes" | "no"));
        self.times += usize::from(is_date);
        self.addresses += usize::from(text.split_whitespace().all(is_address));
        self.codes += usize::from(words == 1 && text.bytes().any(|b| b.is_ascii_digit()));
        if text.bytes().all(|b| b.is_ascii_digit()) {
            self.whole += 1;
            self.digits.insert(text.len());
        }
        self.month_first += is_month_first(text).map_or(0, |is_first| if is_first { 1 } else { -1 });
        self.distinct.insert(text.to_owned());
    }

    fn are_most(&self, n: usize) -> bool {
        n as f64 >= MOST * self.n as f64
    }

    fn mean_words(&self) -> f64 {
        self.words as f64 / self.n.max(1) as f64
    }

    /// Returns the attribute that a field of this name is.
    pub(super) fn attribute(&self, name: &str) -> Attribute {
        let kind = match () {
            () if self.n > 0 && self.are_most(self.single_numbers) => AttributeKind::Number,
            () if self.n > 0 && self.are_most(self.times) => AttributeKind::Date,
            () => AttributeKind::Category,
        };
        let month_first = kind == AttributeKind::Date && self.month_first > 0;
        Attribute { month_first, ..Attribute::new(name, kind) }
    }

    /// Returns true if a field of this name is an attribute unless the user says otherwise.
    pub(super) fn is_usual_attribute(&self, name: &str) -> bool {
        let varies = self.n < ENOUGH || self.distinct.len() > 1;
        let is_id = is_id_name(name)
            || self.n >= ENOUGH
                && self.are_most(self.distinct.len())
                && self.whole == self.n
                && self.digits.len() == 1
                && self.digits.iter().all(|digits| *digits >= DIGITS_OF_ID);
        if self.n == 0 || !varies || is_id || is_usual(name) {
            return false;
        }
        match (self.attribute(name).kind, self.kind(name)) {
            (AttributeKind::Number | AttributeKind::Date, _) => true,
            (_, FieldKind::Other(reason)) => reason == FLAGS,
            (_, FieldKind::ShortText) => {
                self.n >= ENOUGH
                    && self.distinct.len() * DOCUMENTS_OF_CATEGORY <= self.n
                    && self.mean_words() <= WORDS_OF_CATEGORY
            }
            _ => false,
        }
    }

    fn kind(&self, name: &str) -> FieldKind {
        let most = |n: usize| self.are_most(n);
        let mean_words = self.mean_words();
        if is_usual(name) {
            return FieldKind::Usual;
        }
        let reason = match () {
            () if self.n == 0 => Some("empty in the first rows"),
            () if is_id_name(name) => Some("ids"),
            () if most(self.flags) => Some(FLAGS),
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
    fn attributes_are_told_by_their_values() {
        let rows = |value: &dyn Fn(usize) -> String| (0..2 * ENOUGH).map(value).collect::<Vec<_>>();
        let number = Some(AttributeKind::Number);
        for (name, texts, expected) in [
            ("price", rows(&|i| format!("{i},99")), number),
            ("price", rows(&|i| if i > 1 { i.to_string() } else { "n/a".into() }), number),
            ("stock", vec!["3".into()], number),
            ("year", rows(&|i| format!("{}", 2000 + i)), number),
            ("views", rows(&|i| format!("{}", 10_usize.pow(i as u32 % 9))), number),
            ("article", rows(&|i| format!("{}", 100_000 + i)), None),
            ("ean", rows(&|i| format!("{}", i)), None),
            ("added", rows(&|i| format!("{}/14/2011", i % 12 + 1)), Some(AttributeKind::Date)),
            ("brand", rows(&|i| format!("brand {}", i % 5)), Some(AttributeKind::Category)),
            ("title", rows(&|i| format!("brand {}", i % 5)), None),
            ("model", rows(&|i| format!("model name {i}")), None),
            ("brand", vec!["Nike".into(), "Nike".into()], None),
            ("available", vec!["true".into(), "no".into()], Some(AttributeKind::Category)),
            ("shop", rows(&|_| "us".into()), None),
            ("tax", rows(&|_| "19".into()), None),
            ("sizes", rows(&|_| "38 39 40".into()), None),
            ("image", rows(&|i| format!("{}.jpg", i % 5)), None),
            ("nothing", Vec::new(), None),
        ] {
            let mut values = FieldValues::default();
            texts.iter().for_each(|text: &String| values.add(Some(text)));
            let found = values.is_usual_attribute(name).then(|| values.attribute(name));
            assert_eq!(found.as_ref().map(|found| found.kind), expected, "{name}: {texts:?}");
            assert_eq!(found.is_some_and(|found| found.month_first), name == "added");
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
