//! Attributes of documents in input files: which columns are attributes, of which kind, and their values.
//!
//! By default numbers, dates, flags and short texts that repeat are attributes, unless they look like ids. The first rows
//! of the first file that has values decide on the kind, which is fixed from then on: rows that are added later follow.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray};
use matchrank_core::message::counted;
use matchrank_core::{Error, Result};

use super::fields::{FieldValues, MOST_FIELDS};
use super::times::any_date;
use crate::dataset::{Attribute, AttributeCell, AttributeKind};

/// Most attributes of a dataset.
pub(super) const MOST_ATTRIBUTES: usize = 64;

/// Attributes that the user or a former dataset wants.
#[derive(Clone, Debug, Default)]
pub(super) enum WantedAttributes {
    /// Those that the first rows suggest.
    #[default]
    Usual,
    /// Columns that the user named.
    Named(Vec<String>),
    /// Those of the dataset that documents are added to.
    Fixed(Vec<Attribute>),
}

impl WantedAttributes {
    /// Returns the attributes among the columns of a file, by the values of its first rows.
    pub(super) fn among(&self, columns: &[String], values: &[FieldValues]) -> Vec<(Attribute, usize)> {
        let is_wanted = |name: &String, values: &FieldValues| match self {
            Self::Usual => values.is_usual_attribute(name),
            Self::Named(named) => named.contains(name),
            Self::Fixed(_) => false,
        };
        let wanted = columns.iter().zip(values).filter(|(name, values)| is_wanted(name, values));
        wanted.map(|(name, values)| (values.attribute(name), values.n())).collect()
    }

    /// Returns the attributes of the dataset: of each name the first that has values, in the order of the user's names or
    /// of the files.
    pub(super) fn decide(&self, found: Vec<(Attribute, usize)>, fields: &[String]) -> Result<Vec<Attribute>> {
        let mut decided: Vec<(Attribute, usize)> = Vec::new();
        for (attribute, n) in found {
            match decided.iter_mut().find(|(known, _)| known.name == attribute.name) {
                None => decided.push((attribute, n)),
                Some(known) if known.1 == 0 => *known = (attribute, n),
                Some(_) => {}
            }
        }
        let mut attributes: Vec<Attribute> = decided.into_iter().map(|(attribute, _)| attribute).collect();
        match self {
            Self::Usual => {
                attributes.retain(|attribute| !fields.contains(&attribute.column()));
                attributes.truncate(MOST_ATTRIBUTES);
            }
            Self::Named(named) => {
                let place = |name: &str| named.iter().position(|other| other == name);
                attributes.sort_by_key(|attribute| place(&attribute.name));
                if let Some(absent) = named.iter().find(|name| attributes.iter().all(|a| a.name != **name)) {
                    let message = format!(
                        "option `attributes` names '{absent}', and no file of documents has such a column beside the id"
                    );
                    return Err(Error::Params(message));
                }
            }
            Self::Fixed(fixed) => attributes.clone_from(fixed),
        }
        if fields.len() > MOST_FIELDS || attributes.len() > MOST_ATTRIBUTES {
            let message = format!(
                "a dataset has at most {MOST_FIELDS} text fields and {MOST_ATTRIBUTES} attributes; name fewer"
            );
            return Err(Error::Params(message));
        }
        match attributes.iter().find(|attribute| fields.contains(&attribute.column())) {
            Some(taken) => Err(Error::Params(format!(
                "the text field '{}' has the name that the column of the attribute '{}' needs; rename the field",
                taken.column(),
                taken.name
            ))),
            None => Ok(attributes),
        }
    }
}

/// Values of an attribute in some rows, and the texts that are no such value.
#[derive(Clone)]
pub(super) struct AttributeValues {
    cells: AttributeCells,
    /// Number of texts that cannot be read, and the first one with its line.
    unreadable: u64,
    first: Option<(u64, String)>,
}

#[derive(Clone)]
enum AttributeCells {
    Numbers(Vec<Option<f64>>),
    Dates {
        cells: Vec<Option<i64>>,
        month_first: bool,
    },
    /// Dates of a dataset, in milliseconds since 1970.
    StoredDates(Vec<Option<i64>>),
    Categories(Vec<Option<String>>),
}

impl AttributeValues {
    /// Begins a column of an attribute of a file of documents, or of a dataset.
    pub(super) fn of(attribute: &Attribute, is_stored: bool) -> Self {
        let cells = match attribute.kind {
            AttributeKind::Number => AttributeCells::Numbers(Vec::new()),
            AttributeKind::Date if is_stored => AttributeCells::StoredDates(Vec::new()),
            AttributeKind::Date => {
                AttributeCells::Dates { cells: Vec::new(), month_first: attribute.month_first }
            }
            AttributeKind::Category => AttributeCells::Categories(Vec::new()),
        };
        Self { cells, unreadable: 0, first: None }
    }

    pub(super) fn push(&mut self, line: u64, text: Option<&str>) {
        let is_read = match &mut self.cells {
            AttributeCells::Numbers(cells) => push_read(cells, text, parse_number),
            AttributeCells::Dates { cells, month_first } => {
                push_read(cells, text, |text| any_date(text, *month_first))
            }
            AttributeCells::StoredDates(cells) => push_read(cells, text, |text| text.parse().ok()),
            AttributeCells::Categories(cells) => push_read(cells, text, |text| Some(text.to_owned())),
        };
        if let (false, Some(text)) = (is_read, text) {
            self.unreadable += 1;
            self.first.get_or_insert_with(|| (line, text.to_owned()));
        }
    }

    /// Keeps some rows.
    pub(super) fn retain(&mut self, keep: &[bool]) {
        match &mut self.cells {
            AttributeCells::Numbers(cells) => retain(cells, keep),
            AttributeCells::Dates { cells, .. } | AttributeCells::StoredDates(cells) => retain(cells, keep),
            AttributeCells::Categories(cells) => retain(cells, keep),
        }
    }

    /// Moves the number of unreadable texts to `sum`.
    pub(super) fn count_unreadable(&mut self, sum: &mut Unreadable) {
        sum.n += std::mem::take(&mut self.unreadable);
        sum.first = sum.first.take().or(self.first.take());
    }

    pub(super) fn into_array(self) -> ArrayRef {
        match self.cells {
            AttributeCells::Numbers(cells) => Arc::new(Float64Array::from(cells)),
            AttributeCells::Dates { cells, .. } | AttributeCells::StoredDates(cells) => {
                Arc::new(Int64Array::from(cells))
            }
            AttributeCells::Categories(cells) => Arc::new(StringArray::from(cells)),
        }
    }
}

/// Value of an attribute of one document, by its text.
pub(crate) fn attribute_cell(attribute: &Attribute, text: Option<&str>) -> AttributeCell {
    let Some(text) = text else { return AttributeCell::Missing };
    match attribute.kind {
        AttributeKind::Number => parse_number(text).map(AttributeCell::Number),
        AttributeKind::Date => {
            any_date(text, attribute.month_first).map(|time| AttributeCell::Number(time as f64))
        }
        AttributeKind::Category => Some(AttributeCell::Category(text.to_owned())),
    }
    .unwrap_or_default()
}

/// Reads a text; false if there is one that cannot be read.
fn push_read<T>(cells: &mut Vec<Option<T>>, text: Option<&str>, read: impl Fn(&str) -> Option<T>) -> bool {
    let value = text.and_then(read);
    let is_read = value.is_some();
    cells.push(value);
    is_read
}

fn retain<T>(cells: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    cells.retain(|_| *keep.next().expect("a flag for each row"));
}

/// Texts of an attribute in a file that are no value of its kind.
#[derive(Clone, Default)]
pub(super) struct Unreadable {
    n: u64,
    first: Option<(u64, String)>,
}

impl Unreadable {
    /// Describes the texts; `None` if there is none.
    pub(super) fn remark(&self, attribute: &Attribute) -> Option<String> {
        let (line, text) = self.first.as_ref()?;
        let shown: String = text.chars().take(40).collect();
        Some(format!(
            "{}: {} no {}, taken as missing (first in line {line}: '{shown}')",
            attribute.name,
            if self.n == 1 { "1 value is".to_owned() } else { format!("{} are", counted(self.n, "value")) },
            attribute.kind.name()
        ))
    }
}

/// Parses a finite number with an optional unit of money or percent. The decimal separator is a dot or a comma. A single
/// comma before three digits separates thousands, as in `1,299`, unless a zero precedes the comma.
pub(super) fn parse_number(text: &str) -> Option<f64> {
    let is_unit = |c: char| "$\u{20ac}\u{a3}%".contains(c) || c.is_whitespace();
    let bare = text.trim_matches(is_unit);
    if let Ok(number) = fast_float2::parse::<f64, _>(bare) {
        return Some(number).filter(|number| number.is_finite());
    }
    let (sign, digits) = match bare.strip_prefix('-') {
        Some(rest) => (-1.0, rest.trim_matches(is_unit)),
        None => (1.0, bare.strip_prefix('+').unwrap_or(bare).trim_matches(is_unit)),
    };
    let last = digits.rfind(['.', ','])?;
    let (separator, other) = if digits[last..].starts_with(',') { (',', '.') } else { ('.', ',') };
    let is_decimal = digits.matches(separator).count() == 1
        && (digits.contains(other) || digits.len() - last != 4 || digits.starts_with("0,"));
    let (whole, fraction) = if is_decimal { (&digits[..last], &digits[last + 1..]) } else { (digits, "") };
    let thousands = if is_decimal { other } else { separator };
    let mut groups = whole.split(thousands);
    let is_first = |group: &str| !whole.contains(thousands) || (1..=3).contains(&group.len());
    let is_grouped = groups.next().is_some_and(is_first) && groups.all(|group| group.len() == 3);
    let plain = format!("{}.{fraction}", whole.replace(thousands, ""));
    let is_plain = plain.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if !is_grouped || !is_plain {
        return None;
    }
    fast_float2::parse::<f64, _>(&plain).ok().map(|number| sign * number).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_have_units_and_separators_of_several_countries() {
        for (text, expected) in [
            ("5", Some(5.0)),
            ("-0.5", Some(-0.5)),
            ("1e3", Some(1000.0)),
            ("12,99 \u{20ac}", Some(12.99)),
            ("$1,299.00", Some(1299.0)),
            ("1.299,50", Some(1299.5)),
            ("1,299", Some(1299.0)),
            ("0,299", Some(0.299)),
            ("12,5", Some(12.5)),
            ("1,234,567", Some(1_234_567.0)),
            ("1.234.567", Some(1_234_567.0)),
            ("- \u{20ac} 3,50", Some(-3.5)),
            ("$-3", Some(-3.0)),
            ("15 %", Some(15.0)),
            ("1234,5", Some(1234.5)),
            ("n/a", None),
            ("NaN", None),
            ("inf", None),
            ("1e999", None),
            ("38 39 40", None),
            ("12,34,567", None),
            ("1.2.3", None),
            (",", None),
            ("3 cm", None),
            ("--5,0", None),
            ("", None),
        ] {
            assert_eq!(parse_number(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_finite_number_or_none(text in "[-+0-9.,$%e ]{0,12}") {
            prop_assert!(parse_number(&text).is_none_or(f64::is_finite));
        }

        /// Money in the notation of two countries.
        #[test]
        fn grouped_money_is_read(cents in 0_u64..100_000_000) {
            let (whole, cents) = (cents / 100, cents % 100);
            let grouped = matchrank_core::message::thousands(whole).replace(['\u{a0}', ' ', '\''], ",");
            let expected: f64 = format!("{whole}.{cents:02}").parse().unwrap();
            prop_assert_eq!(parse_number(&format!("${grouped}.{cents:02}")), Some(expected));
            let continental = format!("{},{cents:02} \u{20ac}", grouped.replace(',', "."));
            prop_assert_eq!(parse_number(&continental), Some(expected));
        }
    }
}
