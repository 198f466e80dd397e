//! Formats of dates in the notation of strftime, as the user names them.

use matchrank_core::{Error, Result};

/// Part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DatePart {
    Year,
    YearOfCentury,
    Month,
    MonthName,
    Day,
    Hour,
    HourOfHalf,
    Minute,
    Second,
    Fraction,
    Half,
    Offset,
    EpochSeconds,
    EpochMilliseconds,
    /// Any number of blanks.
    Blanks,
    Literal(char),
}

const PARTS: [(char, DatePart); 15] = [
    ('Y', DatePart::Year),
    ('y', DatePart::YearOfCentury),
    ('m', DatePart::Month),
    ('b', DatePart::MonthName),
    ('B', DatePart::MonthName),
    ('d', DatePart::Day),
    ('H', DatePart::Hour),
    ('I', DatePart::HourOfHalf),
    ('M', DatePart::Minute),
    ('S', DatePart::Second),
    ('f', DatePart::Fraction),
    ('p', DatePart::Half),
    ('z', DatePart::Offset),
    ('s', DatePart::EpochSeconds),
    ('Q', DatePart::EpochMilliseconds),
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Bound of milliseconds since 1970: the end of the year 9999.
const MOST_MILLISECONDS: i64 = 253_402_300_800_000;

/// Format of dates that the user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DateFormat {
    pub(super) notation: String,
    parts: Vec<DatePart>,
}

impl DateFormat {
    /// Parses the notation of strftime: `%d.%m.%Y %H:%M`.
    pub(super) fn parse(notation: &str) -> Result<Self> {
        let fail = |why: String| Err(Error::Params(format!("option `date-format`: '{notation}' {why}")));
        let full = [("%F", "%Y-%m-%d"), ("%T", "%H:%M:%S"), ("%R", "%H:%M"), ("%e", "%d")];
        let text = full.iter().fold(notation.to_owned(), |text, (short, long)| text.replace(short, long));
        let (mut parts, mut letters) = (Vec::new(), text.chars());
        while let Some(c) = letters.next() {
            let part = match c {
                '%' => match letters.next() {
                    Some('%') => DatePart::Literal('%'),
                    letter => match PARTS.iter().find(|(known, _)| Some(*known) == letter) {
                        Some((_, part)) => *part,
                        None => {
                            let known: Vec<String> = PARTS.iter().map(|(c, _)| format!("%{c}")).collect();
                            let letter = letter.map_or(String::new(), String::from);
                            return fail(format!("has %{letter}; known are {}", known.join(", ")));
                        }
                    },
                },
                c if c.is_whitespace() => DatePart::Blanks,
                c => DatePart::Literal(c),
            };
            parts.push(part);
        }
        let has = |wanted: &[DatePart]| wanted.iter().any(|part| parts.contains(part));
        let has_date = has(&[DatePart::Year, DatePart::YearOfCentury])
            && has(&[DatePart::Month, DatePart::MonthName])
            && has(&[DatePart::Day]);
        if !has_date && !has(&[DatePart::EpochSeconds, DatePart::EpochMilliseconds]) {
            return fail("has no day; a year, a month and a day are expected, such as %d.%m.%Y %H:%M, or %s for seconds since 1970".into());
        }
        if has(&[DatePart::HourOfHalf]) != has(&[DatePart::Half]) {
            return fail("has one of %I and %p; give both, or %H".into());
        }
        Ok(Self { notation: notation.to_owned(), parts })
    }

    /// Returns the milliseconds since 1970 of a text that has the format.
    pub(super) fn milliseconds(&self, text: &str) -> Option<i64> {
        let mut rest = Cursor(text.trim());
        let mut time = CivilTime::default();
        let (mut half, mut epoch) = (None, None);
        for part in &self.parts {
            match part {
                DatePart::Year => time.year = rest.number(4, 4)?,
                DatePart::YearOfCentury => time.year = full_year(rest.number(2, 2)?),
                DatePart::Month => time.month = rest.number(1, 2)?,
                DatePart::MonthName => time.month = rest.month_name()?,
                DatePart::Day => time.day = rest.number(1, 2)?,
                DatePart::Hour | DatePart::HourOfHalf => time.hour = rest.number(1, 2)?,
                DatePart::Minute => time.minute = rest.number(1, 2)?,
                DatePart::Second => time.second = rest.number(1, 2)?,
                DatePart::Fraction => time.millisecond = rest.fraction()?,
                DatePart::Half => half = Some(rest.half()?),
                DatePart::Offset => time.offset = rest.offset()?,
                DatePart::EpochSeconds => epoch = Some(rest.whole()?.checked_mul(1000)?),
                DatePart::EpochMilliseconds => epoch = Some(rest.whole()?),
                DatePart::Blanks => rest.0 = rest.0.trim_start(),
                DatePart::Literal(c) => rest.eat(*c)?,
            }
        }
        if !rest.0.is_empty() {
            return None;
        }
        if let Some(is_afternoon) = half {
            time.set_half(is_afternoon)?;
        }
        match epoch {
            Some(milliseconds) => {
                let sum = milliseconds.checked_add(i64::from(time.millisecond))?;
                (-MOST_MILLISECONDS..MOST_MILLISECONDS).contains(&sum).then_some(sum)
            }
            None => time.milliseconds(),
        }
    }
}

/// A day and a time of it, with the offset from UTC in minutes.
#[derive(Default)]
pub(super) struct CivilTime {
    pub(super) year: u32,
    pub(super) month: u32,
    pub(super) day: u32,
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) second: u32,
    pub(super) millisecond: u32,
    pub(super) offset: i64,
}

impl CivilTime {
    /// Turns an hour from 1 to 12 into one of the day.
    pub(super) fn set_half(&mut self, is_afternoon: bool) -> Option<()> {
        let valid = (1..=12).contains(&self.hour);
        self.hour = self.hour % 12 + if is_afternoon { 12 } else { 0 };
        valid.then_some(())
    }

    /// Returns the milliseconds since 1970, or `None` if there is no such day or time.
    pub(super) fn milliseconds(&self) -> Option<i64> {
        let leap =
            self.year.is_multiple_of(4) && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days = match self.month {
            2 => 28 + u32::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        // A leap second is the last one of its minute.
        if !(1..=days).contains(&self.day) || self.hour > 23 || self.minute > 59 || self.second > 60 {
            return None;
        }
        // Days since 1970 in the Gregorian calendar, in years that begin in March.
        let (year, month) =
            (i64::from(self.year) - i64::from(self.month <= 2), i64::from(self.month + 9) % 12);
        let era = year.div_euclid(400);
        let of_era = year.rem_euclid(400);
        let day_of_year = (153 * month + 2) / 5 + i64::from(self.day) - 1;
        let day = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468;
        let second = i64::from(self.hour * 3600 + self.minute * 60 + self.second.min(59));
        Some((day * 86_400 + second - self.offset * 60) * 1000 + i64::from(self.millisecond))
    }
}

/// Returns the year of two digits, as POSIX has it: 69 to 99 are of the last century.
pub(super) fn full_year(year: u32) -> u32 {
    if year < 69 { 2000 + year } else { 1900 + year }
}

/// Rest of a text that is read from left to right.
pub(super) struct Cursor<'a>(pub(super) &'a str);

impl Cursor<'_> {
    pub(super) fn eat(&mut self, c: char) -> Option<()> {
        self.0 = self.0.strip_prefix(c)?;
        Some(())
    }

    /// Reads a number of `least` to `most` digits.
    pub(super) fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let digits = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if digits < least {
            return None;
        }
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        number.parse().ok()
    }

    fn whole(&mut self) -> Option<i64> {
        let end = self.0.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(self.0.len());
        let (number, rest) = self.0.split_at(end);
        self.0 = rest;
        number.parse().ok()
    }

    /// Reads the digits behind a decimal point, as milliseconds.
    pub(super) fn fraction(&mut self) -> Option<u32> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (fraction, rest) = self.0.split_at(digits);
        self.0 = rest;
        let padded: String = fraction.chars().chain("000".chars()).take(3).collect();
        (1..=9).contains(&digits).then(|| padded.parse().ok())?
    }

    /// Reads AM or PM; true is PM.
    pub(super) fn half(&mut self) -> Option<bool> {
        let half = self.0.get(..2)?.to_ascii_lowercase();
        self.0 = &self.0[2..];
        match half.as_str() {
            "am" => Some(false),
            "pm" => Some(true),
            _ => None,
        }
    }

    fn month_name(&mut self) -> Option<u32> {
        let end = self.0.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at(end);
        self.0 = rest;
        let name = name.to_ascii_lowercase();
        let is_name = |month: &str| month == name || (name.len() == 3 && month.starts_with(&name));
        MONTHS.iter().position(|month| is_name(month)).map(|at| at as u32 + 1)
    }

    /// Reads an offset from UTC in minutes: `Z`, `+02`, `+0200` or `+02:00`.
    pub(super) fn offset(&mut self) -> Option<i64> {
        if self.eat('Z').is_some() {
            return Some(0);
        }
        let sign = match self.0.bytes().next()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.number(2, 2)?;
        let colon = self.eat(':').is_some();
        let minutes = match self.number(2, 2) {
            Some(minutes) => minutes,
            None if colon => return None,
            None => 0,
        };
        (hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 60 + minutes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_read_the_same_instant() {
        let expected = Some(1_316_004_388_660);
        for (format, text) in [
            ("%Y-%m-%dT%H:%M:%S.%f%z", "2011-09-14T12:46:28.66Z"),
            ("%F %T.%f", "2011-09-14 12:46:28.660"),
            ("%d.%m.%Y %H:%M:%S,%f", "14.09.2011   12:46:28,660999"),
            ("%d %B %y %I:%M:%S.%f %p", "14 September 11 12:46:28.66 PM"),
            ("%b %e, %Y %H.%M.%S.%f %z", "Sep 14, 2011 14.46.28.66 +02:00"),
            ("%Q", "1316004388660"),
            ("%s.%f", "1316004388.66"),
        ] {
            assert_eq!(DateFormat::parse(format).unwrap().milliseconds(text), expected, "{format}: {text}");
        }
        let german = DateFormat::parse("%d.%m.%Y").unwrap();
        assert_eq!(german.milliseconds("29.2.2012"), Some(1_330_473_600_000));
        assert_eq!(german.milliseconds("1.1.1970"), Some(0));
        assert_eq!(german.milliseconds("31.12.1969"), Some(-86_400_000));
        for wrong in ["29.02.2011", "14.13.2011", "14.09.2011 12:00", "14.09.11", "14-09-2011", ""] {
            assert_eq!(german.milliseconds(wrong), None, "{wrong}");
        }
        let epoch = DateFormat::parse("%Q").unwrap();
        for wrong in ["9223372036854775807", "-9223372036854775808", "99999999999999999999", "1-2", ""] {
            assert_eq!(epoch.milliseconds(wrong), None, "{wrong}");
        }
        let half = DateFormat::parse("%F %I%p").unwrap();
        assert_eq!(half.milliseconds("1970-01-01 12AM"), Some(0));
        assert_eq!(half.milliseconds("1970-01-01 13PM"), None);
    }

    #[test]
    fn formats_without_a_day_or_with_unknown_parts_are_refused() {
        for (format, expected) in [
            ("%H:%M", "has no day"),
            ("%d.%m.%Y %q", "has %q; known are %Y"),
            ("%d.%m.%Y %", "has %; known are"),
            ("%F %I:%M", "has one of %I and %p"),
            ("dd.mm.yyyy", "has no day; a year, a month and a day are expected, such as %d.%m.%Y %H:%M"),
        ] {
            let error = DateFormat::parse(format).unwrap_err().to_string();
            assert!(error.contains(expected), "{format}: {error}");
        }
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        let midnight =
            |year, month, day| CivilTime { year, month, day, ..CivilTime::default() }.milliseconds();
        for (text, day) in
            [("1900-03-01", (1900, 3, 1)), ("2000-02-29", (2000, 2, 29)), ("2100-12-31", (2100, 12, 31))]
        {
            let nanoseconds = arrow_cast::parse::string_to_timestamp_nanos(text).unwrap();
            assert_eq!(midnight(day.0, day.1, day.2), Some(nanoseconds / 1_000_000), "{text}");
        }
        assert_eq!(midnight(1900, 2, 29), None);
    }
}
