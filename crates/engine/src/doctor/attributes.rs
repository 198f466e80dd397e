//! Attributes of the documents of a dataset: share of missing values, and range.

use matchrank_core::Result;
use matchrank_core::message::{counted, date, shortest};

use super::finding::{Finding, Severity};
use crate::dataset::{Attribute, AttributeColumn, Dataset};

const MILLISECONDS_OF_DAY: f64 = 86_400_000.0;

/// Describes the attributes; `None` if there are none.
pub(super) fn finding(dataset: &Dataset) -> Result<Option<Finding>> {
    let attributes = dataset.attributes();
    let names: Vec<&str> = attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    let columns = dataset.attribute_columns(&names, None)?;
    let described: Vec<String> = attributes.iter().zip(&columns).map(described).collect();
    Ok((!described.is_empty()).then(|| Finding {
        severity: Severity::Info,
        code: "attributes",
        message: format!("{}: {}", counted(described.len(), "attribute"), described.join("; ")),
        count: described.len() as u64,
        lines: Vec::new(),
        fix: "stacks learn from them; the setting attributes=false leaves them out".into(),
    }))
}

fn described((attribute, column): (&Attribute, &AttributeColumn)) -> String {
    let content = match (column, column.range()) {
        (AttributeColumn::Category { names, .. }, _) => counted(names.len(), "distinct value"),
        (_, None) => format!("no {}", attribute.kind.name()),
        (AttributeColumn::Date(_), Some((first, last))) => format!("{} to {}", day(first), day(last)),
        (_, Some((low, high))) => format!("{} to {}", shortest(low), shortest(high)),
    };
    let missing = 100.0 * column.n_missing() as f64 / column.len().max(1) as f64;
    format!("{} {content}, {missing:.1} % missing", attribute.name)
}

/// Formats the day of a time in milliseconds since 1970.
fn day(time: f64) -> String {
    let days = (time / MILLISECONDS_OF_DAY).floor();
    // The calendar at hand begins in 1970; four digits of a year are enough.
    if !(0.0..2_932_897.0).contains(&days) {
        return format!("{} days after 1970", shortest(days));
    }
    let (year, month, day) = date(days as u32);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{AttributeKind, NO_CATEGORY};

    #[test]
    fn attributes_are_described_by_their_ranges_and_missing_values() {
        let text = |kind, column| described((&Attribute::new("a", kind), &column));
        let number = AttributeColumn::Number(vec![2.5, f64::NAN, -1.0, 7.0]);
        assert_eq!(text(AttributeKind::Number, number), "a -1 to 7, 25.0 % missing");
        let date = AttributeColumn::Date(vec![0.0, 1_316_004_388_660.0]);
        assert_eq!(text(AttributeKind::Date, date), "a 1970-01-01 to 2011-09-14, 0.0 % missing");
        let early = AttributeColumn::Date(vec![-1.0, f64::NAN]);
        assert_eq!(
            text(AttributeKind::Date, early),
            "a -1 days after 1970 to -1 days after 1970, 50.0 % missing"
        );
        let none = AttributeColumn::Number(vec![f64::NAN]);
        assert_eq!(text(AttributeKind::Number, none), "a no number, 100.0 % missing");
        let brand = AttributeColumn::Category {
            codes: vec![0, NO_CATEGORY, 1, 0],
            names: vec!["x".into(), "y".into()],
        };
        assert_eq!(text(AttributeKind::Category, brand), "a 2 distinct values, 25.0 % missing");
    }
}
