//! Rows of plain tables: counts, positions and times of a click log with named columns.

use std::sync::atomic::Ordering;

use matchrank_core::{Error, Result};

use super::clicks::{ClickLog, LogRow, QueryName, Skip};
use super::event_types::EventKind;
use super::table::TableRow;

/// Most clicks of a row.
pub(super) const MOST_CLICKS: f64 = 1e12;

impl ClickLog {
    pub(super) fn column_row<'a>(
        &self,
        columns: &[Option<usize>; 8],
        row: &TableRow<'a>,
    ) -> Result<Result<LogRow<'a>, Skip>> {
        let field = |i: usize| columns[i].and_then(|c| row.fields[c]);
        let kind = match &self.events {
            Some(events) => events.kind(field(7).unwrap_or_default()),
            None => EventKind::Counts(1.0),
        };
        if kind == EventKind::LeftOut {
            return Ok(Err(Skip::OtherAction));
        }
        let query = match (columns[0], field(0), field(1)) {
            (Some(_), Some(text), _) => QueryName::Text(text),
            (None, _, Some(id)) => QueryName::Id(id),
            _ => return Ok(Err(Skip::EmptyQuery)),
        };
        let Some(document) = field(2) else { return Ok(Err(Skip::EmptyDocument)) };
        let clicks = field(3).map(|text| self.count(row.line, "clicks", text)).transpose()?;
        let shown = field(4).map(|text| self.count(row.line, "shown", text)).transpose()?;
        let (clicks, shown) = match (columns[3], columns[4]) {
            (Some(_), Some(_)) => (clicks.unwrap_or(0.0), shown.unwrap_or(0.0)),
            // Click counts without impressions: a clicked document was shown.
            (Some(_), None) => (clicks.unwrap_or(0.0), clicks.unwrap_or(0.0)),
            // Only an impression flag: a row that is not an impression is a click.
            (None, Some(_)) if shown.is_some_and(|s| s > 0.0) => (0.0, 1.0),
            _ => (1.0, 1.0),
        };
        let (clicks, shown) = match (kind, &self.events) {
            (EventKind::Counts(weight), Some(events)) => {
                let is_shown = columns[4].is_some() || !events.has_impressions;
                (self.weighted(row.line, clicks, weight)?, if is_shown { shown } else { 0.0 })
            }
            // A row of an impression counts as often as it says.
            (EventKind::Shown, _) if columns[4].is_none() => (0.0, clicks),
            (EventKind::Shown, _) => (0.0, shown),
            _ => (clicks, shown),
        };
        let position = field(5).map(|text| self.position_or_average(row.line, text)).transpose()?.flatten();
        let time = field(6).map(|text| self.time(row.line, text)).transpose()?;
        Ok(Ok(LogRow {
            line: row.line,
            query,
            search: None,
            document,
            clicks,
            shown: shown as u64,
            position,
            time,
        }))
    }

    fn count(&self, line: u64, what: &str, text: &str) -> Result<f64> {
        let value = match text {
            "true" | "True" | "TRUE" => 1.0,
            "false" | "False" | "FALSE" => 0.0,
            _ => fast_float2::parse(text).map_err(|_| {
                Error::parse(self.name(), line, format!("{what} is '{text}'; a number is expected"))
            })?,
        };
        if !(0.0..=MOST_CLICKS).contains(&value) {
            let why = if value < 0.0 { "negative" } else { "not a usable number" };
            let message = format!("{what} is {text}, which is {why}; a count from 0 to 10^12 is expected");
            return Err(Error::parse(self.name(), line, message));
        }
        Ok(value)
    }

    /// Returns the clicks that a number of events of a weight count.
    fn weighted(&self, line: u64, events: f64, weight: f64) -> Result<f64> {
        let clicks = events * weight;
        if clicks <= MOST_CLICKS {
            return Ok(clicks);
        }
        let message = format!(
            "{events} events of weight {weight} count more than 10^12 clicks; choose smaller weights"
        );
        Err(Error::parse(self.name(), line, message))
    }

    /// Returns a position, or `None` if the positions of the file are averages.
    fn position_or_average(&self, line: u64, text: &str) -> Result<Option<u32>> {
        let value: f64 = fast_float2::parse(text).unwrap_or(f64::NAN);
        if value.fract() != 0.0 && (1.0..=1e9).contains(&value) {
            self.averages.store(true, Ordering::Relaxed);
        }
        if self.has_average_positions() && (0.0..=1e9).contains(&value) {
            return Ok(None);
        }
        self.position(line, text).map(Some)
    }

    pub(super) fn position(&self, line: u64, text: &str) -> Result<u32> {
        let value: f64 = fast_float2::parse(text).unwrap_or(f64::NAN);
        if value.fract() == 0.0 && (0.0..=1e9).contains(&value) {
            return Ok(value as u32);
        }
        Err(Error::parse(
            self.name(),
            line,
            format!("position is '{text}'; a whole number from 0, or an average from 1, is expected"),
        ))
    }

    pub(super) fn time(&self, line: u64, text: &str) -> Result<i64> {
        self.times.milliseconds(text).ok_or_else(|| {
            let expected = self.times.expected();
            Error::parse(self.name(), line, format!("time is '{text}'; expected {expected}"))
        })
    }
}
