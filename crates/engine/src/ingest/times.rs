//! Times of the rows of a log: dates in the order of ISO 8601, numbers since 1970, or dates whose parts stand in another
//! order.
//!
//! The first time of a file tells the kind. Dates with dots have the day first. For `03/04/2011` the rest of the file
//! tells: a number above 12 in the first place is a day, in the second place it makes the first one a month. If no
//! row tells, the order is ambiguous.

use matchrank_core::{Error, Result};

use super::date_format::{CivilTime, Cursor, DateFormat, full_year};
use super::table::Table;

/// Order of the parts of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateOrder {
    DayMonthYear,
    MonthDayYear,
    YearMonthDay,
}

/// Format of the times of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum TimeFormat {
    /// ISO 8601, or a number since 1970.
    #[default]
    Standard,
    Ordered(DateOrder),
    /// Days and months that no row of the file tells apart, with the line and the text of the first time.
    Ambiguous(u64, String),
    Named(DateFormat),
}

impl TimeFormat {
    /// Recognises the format of a column by its values.
    pub(super) fn of_column(table: &Table, column: &str) -> Result<Self> {
        let mut found = TimeEvidence::default();
        table.read_until(
            &[column],
            |rows| {
                let mut part = TimeEvidence::default();
                rows.for_each(|row| {
                    if let Some(text) = row.fields[0] {
                        part.add(row.line, text);
                    }
                    Ok(())
                })?;
                Ok(part)
            },
            |part| {
                found.merge(part);
                Ok(found.decided.is_some())
            },
        )?;
        Ok(match (found.decided, found.ambiguous) {
            (Some(format), _) => format,
            (None, Some((line, text))) => Self::Ambiguous(line, text),
            (None, None) => Self::Standard,
        })
    }

    /// Returns the milliseconds since 1970.
    pub(super) fn milliseconds(&self, text: &str) -> Option<i64> {
        match self {
            Self::Standard => standard(text),
            Self::Ordered(order) => NumericDate::parse(text)?.milliseconds(*order),
            Self::Ambiguous(..) => NumericDate::parse(text)?.milliseconds(DateOrder::DayMonthYear),
            Self::Named(format) => format.milliseconds(text),
        }
    }

    /// Describes the times that the format expects.
    pub(super) fn expected(&self) -> String {
        let order =
            |parts: &str| format!("{parts}, as in the first rows; option `date-format` names another format");
        match self {
            Self::Standard => {
                "seconds, milliseconds or microseconds since 1970, or a date like 2011-09-14 12:46:28 or \
                               2011-09-14T12:46:28.660Z; option `date-format` names another format"
                    .to_owned()
            }
            Self::Ordered(DateOrder::DayMonthYear) => order("a day, a month and a year"),
            Self::Ordered(DateOrder::MonthDayYear) => order("a month, a day and a year"),
            Self::Ordered(DateOrder::YearMonthDay) => order("a year, a month and a day"),
            Self::Ambiguous(..) => order("a day and a month in any order, and a year"),
            Self::Named(format) => {
                format!("the format {}, which option `date-format` names", format.notation)
            }
        }
    }

    /// Returns a remark on a format that was recognised.
    pub(super) fn remark(&self) -> Option<String> {
        let order = match self {
            Self::Standard | Self::Named(_) => return None,
            Self::Ordered(DateOrder::DayMonthYear) => "a day, a month and a year",
            Self::Ordered(DateOrder::MonthDayYear) => "a month, a day and a year",
            Self::Ordered(DateOrder::YearMonthDay) => "a year, a month and a day",
            Self::Ambiguous(_, text) => {
                return Some(format!(
                    "no row tells the day of a date from its month (the first is {text}), so times are not used"
                ));
            }
        };
        Some(format!("dates are {order} (recognised by the rows)"))
    }

    /// Returns an error if the times cannot be compared, because days and months are ambiguous.
    pub(super) fn check_comparable(&self, file: &str) -> Result<()> {
        let Self::Ambiguous(line, text) = self else { return Ok(()) };
        let [day_first, month_first] =
            NumericDate::parse(text).map_or_else(Default::default, |d| d.notations());
        Err(Error::parse(
            file,
            *line,
            format!(
                "time is '{text}', and no row of the file has a number above 12 that tells the day from the month; \
                 say which is first with option `date-format '{day_first}'` or option `date-format '{month_first}'`"
            ),
        ))
    }
}

/// Evidence on the format of times from a part of a file.
#[derive(Default)]
struct TimeEvidence {
    decided: Option<TimeFormat>,
    /// First date whose day and month may be either.
    ambiguous: Option<(u64, String)>,
}

impl TimeEvidence {
    fn add(&mut self, line: u64, text: &str) {
        if self.decided.is_some() {
            return;
        }
        match NumericDate::parse(text) {
            Some(date) => match date.order() {
                Some(order) => self.decided = Some(TimeFormat::Ordered(order)),
                None if self.ambiguous.is_none() => self.ambiguous = Some((line, text.to_owned())),
                None => {}
            },
            // A time of another kind among ambiguous dates is an error when it is read.
            None if self.ambiguous.is_none() => self.decided = Some(TimeFormat::Standard),
            None => {}
        }
    }

    fn merge(&mut self, later: Self) {
        let is_first = self.ambiguous.is_none();
        let standard_later = later.decided == Some(TimeFormat::Standard);
        if self.decided.is_none() && (is_first || !standard_later) {
            self.decided = later.decided;
        }
        self.ambiguous = self.ambiguous.take().or(later.ambiguous);
    }
}

/// A date of three numbers that are separated by dots, slashes or dashes, with a time of the day behind them.
struct NumericDate<'a> {
    numbers: [u32; 3],
    separator: char,
    is_long_year: bool,
    rest: &'a str,
}

impl<'a> NumericDate<'a> {
    /// Parses `14.09.2011 12:46`, `9/14/11` or `2011/09/14`, and no date of ISO 8601.
    fn parse(text: &'a str) -> Option<Self> {
        Self::parse_any(text).filter(|date| date.separator != '-' || date.numbers[0] < 100)
    }

    /// Parses dates of ISO 8601, too.
    fn parse_any(text: &'a str) -> Option<Self> {
        let mut cursor = Cursor(text);
        let first = cursor.number(1, 4)?;
        let digits = text.len() - cursor.0.len();
        let separator = cursor.0.chars().next().filter(|c| "./-".contains(*c))?;
        let is_year = digits == 4;
        if digits == 3 {
            return None;
        }
        cursor.eat(separator)?;
        let second = cursor.number(1, 2)?;
        cursor.eat(separator)?;
        let before = cursor.0.len();
        let third = if is_year { cursor.number(1, 2)? } else { cursor.number(2, 4)? };
        let digits = before - cursor.0.len();
        let follows = cursor.0.chars().next().is_none_or(|c| " ,T".contains(c));
        if digits == 3 || !follows {
            return None;
        }
        Some(Self {
            numbers: [first, second, third],
            separator,
            is_long_year: is_year || digits == 4,
            rest: cursor.0,
        })
    }

    /// Returns the order that the numbers of this date tell.
    fn order(&self) -> Option<DateOrder> {
        let [first, second, _] = self.numbers;
        match self.separator {
            _ if first > 31 => Some(DateOrder::YearMonthDay),
            '.' => Some(DateOrder::DayMonthYear),
            _ if first > 12 => Some(DateOrder::DayMonthYear),
            _ if second > 12 => Some(DateOrder::MonthDayYear),
            _ => None,
        }
    }

    fn milliseconds(&self, order: DateOrder) -> Option<i64> {
        let [first, second, third] = self.numbers;
        let (year, month, day) = match order {
            DateOrder::DayMonthYear => (third, second, first),
            DateOrder::MonthDayYear => (third, first, second),
            DateOrder::YearMonthDay => (first, second, third),
        };
        let year = if self.is_long_year { year } else { full_year(year) };
        let mut time = CivilTime { year, month, day, ..CivilTime::default() };
        let mut rest = Cursor(self.rest.trim_start_matches([',', 'T']).trim_start());
        if !rest.0.is_empty() {
            time.hour = rest.number(1, 2)?;
            rest.eat(':')?;
            time.minute = rest.number(2, 2)?;
            if rest.eat(':').is_some() {
                time.second = rest.number(2, 2)?;
                if rest.eat('.').or_else(|| rest.eat(',')).is_some() {
                    time.millisecond = rest.fraction()?;
                }
            }
            rest.0 = rest.0.trim_start();
            if rest.0.starts_with(['a', 'A', 'p', 'P']) {
                let half = rest.half()?;
                time.set_half(half)?;
                rest.0 = rest.0.trim_start();
            }
            if !rest.0.is_empty() {
                time.offset = rest.offset()?;
            }
        }
        if rest.0.is_empty() { time.milliseconds() } else { None }
    }

    /// Returns the notations of dates like this one, with the day first and with the month first.
    fn notations(&self) -> [String; 2] {
        let year = if self.is_long_year { "%Y" } else { "%y" };
        let time = match self.rest.matches(':').count() {
            0 => "",
            1 => " %H:%M",
            _ => " %H:%M:%S",
        };
        let separator = self.separator;
        [["%d", "%m"], ["%m", "%d"]].map(|[a, b]| format!("{a}{separator}{b}{separator}{year}{time}"))
    }
}

/// Returns true if a text is a date in any format that is recognised.
pub(super) fn is_time(text: &str) -> bool {
    let orders = [DateOrder::DayMonthYear, DateOrder::MonthDayYear, DateOrder::YearMonthDay];
    let is_numeric = |date: NumericDate<'_>| orders.iter().any(|order| date.milliseconds(*order).is_some());
    standard(text).is_some() || NumericDate::parse(text).is_some_and(is_numeric)
}

/// Returns true if a date has the month before the day, and false if after; `None` if its numbers do not tell.
pub(super) fn is_month_first(text: &str) -> Option<bool> {
    match NumericDate::parse(text)?.order()? {
        DateOrder::MonthDayYear => Some(true),
        DateOrder::DayMonthYear => Some(false),
        DateOrder::YearMonthDay => None,
    }
}

/// Returns the milliseconds since 1970 of a date in any format that is recognised; `month_first` orders the month and the
/// day where their numbers do not tell.
pub(super) fn any_date(text: &str, month_first: bool) -> Option<i64> {
    let Some(date) = NumericDate::parse(text) else { return standard(text) };
    let usual = if month_first { DateOrder::MonthDayYear } else { DateOrder::DayMonthYear };
    date.milliseconds(date.order().unwrap_or(usual))
}

/// Parses a date or a time as those of logs without a format of their own, for example `2011-09-14`: milliseconds since
/// 1970.
pub fn parse_date(text: &str) -> Option<i64> {
    standard(text)
}

/// Returns the milliseconds since 1970 of a date or of a number of seconds, milliseconds, microseconds or nanoseconds.
/// The size of the number decides its unit; eight and fourteen digits that are a day are one.
fn standard(text: &str) -> Option<i64> {
    if text.bytes().all(|b| b.is_ascii_digit()) && matches!(text.len(), 8 | 14) {
        let day = format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..8]);
        if text.len() == 8 {
            return standard(&day);
        }
        return standard(&format!("{day} {}:{}:{}", &text[8..10], &text[10..12], &text[12..]));
    }
    if let Ok(number) = fast_float2::parse::<f64, _>(text) {
        return match number.abs() {
            n if n < 1e11 => Some((number * 1e3) as i64),
            n if n < 1e14 => Some(number as i64),
            n if n < 1e17 => Some((number / 1e3) as i64),
            n if n < 1e20 => Some((number / 1e6) as i64),
            _ => None,
        };
    }
    if let Ok(nanoseconds) = arrow_cast::parse::string_to_timestamp_nanos(text) {
        return Some(nanoseconds.div_euclid(1_000_000));
    }
    // Without seconds: 2011-09-14T12:46.
    let date = NumericDate::parse_any(text).filter(|date| date.separator == '-' && date.numbers[0] >= 100);
    date?.milliseconds(DateOrder::YearMonthDay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_many_kinds_are_understood() {
        let expected = Some(1_316_004_388_660);
        assert_eq!(standard("2011-09-14 12:46:28.66"), expected);
        assert_eq!(standard("2011-09-14T12:46:28.660Z"), expected);
        assert_eq!(standard("2011-09-14T14:46:28.660+02:00"), expected);
        assert_eq!(standard("2011-09-14T12:46"), Some(1_316_004_360_000));
        assert_eq!(standard("1316004388660"), expected);
        assert_eq!(standard("1316004388.66"), expected);
        assert_eq!(standard("1316004388660000"), expected);
        assert_eq!(standard("20110914124628"), Some(1_316_004_388_000));
        assert_eq!(standard("2011-09-14"), Some(1_315_958_400_000));
        assert_eq!(standard("20110914"), Some(1_315_958_400_000));
        assert_eq!(standard("99999999"), None);
        assert_eq!(standard("yesterday"), None);
        assert_eq!(standard("NaN"), None);
    }

    #[test]
    fn dates_in_other_orders_are_understood() {
        use DateOrder::{DayMonthYear, MonthDayYear, YearMonthDay};
        let parsed = |order, text: &str| NumericDate::parse(text).and_then(|date| date.milliseconds(order));
        for (order, text) in [
            (DayMonthYear, "14.09.2011 12:46"),
            (DayMonthYear, "14.9.11, 12:46:00"),
            (DayMonthYear, "14/09/2011 12:46:00.000"),
            (DayMonthYear, "14-09-2011T12:46Z"),
            (MonthDayYear, "9/14/2011 12:46 PM"),
            (MonthDayYear, "09/14/11 14:46 +02:00"),
            (YearMonthDay, "2011/09/14 12:46"),
        ] {
            assert_eq!(parsed(order, text), Some(1_316_004_360_000), "{text}");
        }
        for wrong in
            ["14.09.2011 12", "32.09.2011", "14.13.2011", "14.09.2011 12:46 xx", "14.09.2011x", "1.2.345"]
        {
            assert_eq!(parsed(DayMonthYear, wrong), None, "{wrong}");
        }
        for iso in ["2011-09-14", "2011-09-14 12:46", "1316004388.66", "1.5"] {
            assert!(NumericDate::parse(iso).is_none(), "{iso}");
        }
    }

    #[test]
    fn numbers_of_a_date_tell_the_month_or_the_attribute_does() {
        let day = |text: &str| standard(text);
        for (text, month_first, expected) in [
            ("9/4/2011", false, day("2011-04-09")),
            ("9/4/2011", true, day("2011-09-04")),
            ("9/14/2011", false, day("2011-09-14")),
            ("14/9/2011", true, day("2011-09-14")),
            ("4.9.2011", true, day("2011-09-04")),
            ("2011/09/14", true, day("2011-09-14")),
            ("2011-09-14", true, day("2011-09-14")),
            ("soon", true, None),
        ] {
            assert_eq!(any_date(text, month_first), expected, "{text}");
        }
        let told = ["9/14/2011", "14/9/2011", "9/4/2011", "2011/09/14", "x"].map(is_month_first);
        assert_eq!(told, [Some(true), Some(false), None, None, None]);
    }

    #[test]
    fn the_first_row_that_tells_decides_on_the_order() {
        let format = |texts: &[&str]| {
            let mut whole = TimeEvidence::default();
            for (line, text) in (1..).zip(texts) {
                let mut part = TimeEvidence::default();
                part.add(line, text);
                whole.merge(part);
            }
            (whole.decided, whole.ambiguous.map(|(line, _)| line))
        };
        let ordered = |order| Some(TimeFormat::Ordered(order));
        assert_eq!(format(&["2011-09-14", "14.09.2011"]), (Some(TimeFormat::Standard), None));
        assert_eq!(format(&["3.4.2011"]), (ordered(DateOrder::DayMonthYear), None));
        assert_eq!(format(&["3/4/2011", "3/14/2011"]), (ordered(DateOrder::MonthDayYear), Some(1)));
        assert_eq!(
            format(&["3/4/2011", "2011-01-01", "14/3/2011"]),
            (ordered(DateOrder::DayMonthYear), Some(1))
        );
        assert_eq!(format(&["3/4/2011", "12/12/2011"]), (None, Some(1)));
        assert_eq!(format(&[]), (None, None));
    }
}
