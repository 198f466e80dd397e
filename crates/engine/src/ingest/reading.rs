//! Rows of logs and responses, resolved to query and document, on their way to the aggregation.

use std::path::Path;

use matchrank_core::Result;
use matchrank_core::progress::Progress;

use super::aggregate::{Aggregator, Batch, QueryKey, Share, Sums};
use super::clicks::{ClickLog, LogRow, QueryName, Searches, Skip};
use super::columns::NamedColumns;
use super::documents::Collection;
use super::listed::ListedQueries;
use super::{judgments, split};
use crate::dataset::Split;
use crate::files;
use crate::tally::Tally;
use crate::text::normalise_query;

/// Tables against which rows of logs are resolved.
pub(super) struct Reading<'a> {
    pub(super) collection: &'a Collection,
    pub(super) listed: &'a ListedQueries,
    pub(super) split: &'a Split,
    pub(super) aggregator: &'a Aggregator,
}

#[derive(Default)]
struct CountedPart {
    batch: Batch,
    tally: Tally,
    rows: u64,
}

impl Reading<'_> {
    pub(super) fn add_clicks(
        &mut self,
        log: &ClickLog,
        searches: &Searches,
        tally: &mut Tally,
        progress: &dyn Progress,
    ) -> Result<u64> {
        let mut rows = 0;
        log.read(
            searches,
            CountedPart::default,
            |part, line, row| {
                part.rows += 1;
                if let Err(skip) = row.and_then(|row| self.add_row(&mut part.batch, &row)) {
                    part.tally.add(skip.reason(), 1, || format!("{}:{line}", log.name()));
                }
                Ok(())
            },
            |part| self.aggregator.add(&std::mem::take(&mut part.batch)),
            |part| {
                rows += part.rows;
                progress.advance(part.rows);
                tally.merge(part.tally);
                Ok(())
            },
        )?;
        Ok(rows)
    }

    fn add_row(&self, batch: &mut Batch, row: &LogRow<'_>) -> Result<(), Skip> {
        let document = self.collection.ids.find(row.document).ok_or(Skip::UnknownDocument)?;
        let share = split::share_of(self.split, row.time);
        let sums = Sums::new(row.clicks, row.shown, row.position);
        match row.query {
            QueryName::Id(id) => {
                let number = self.listed.ids.find(id).ok_or(Skip::UnknownQuery)?;
                batch.push(QueryKey::Listed(number), share, document, sums);
            }
            QueryName::Text(text) => {
                let text = normalise_query(text);
                if text.is_empty() {
                    return Err(Skip::EmptyQuery);
                }
                let key = self.listed.with_text(&text).map_or(QueryKey::Text(&text), QueryKey::Listed);
                batch.push(key, share, document, sums);
            }
        }
        Ok(())
    }

    pub(super) fn add_responses(
        &mut self,
        path: &Path,
        columns: &NamedColumns,
        tally: &mut Tally,
    ) -> Result<u64> {
        let rows = judgments::read_judgments(path, columns, self.listed)?;
        let mut batch = Batch::default();
        for row in &rows {
            let example = || format!("{} {} in {}", row.query, row.document, files::name_of(path));
            match (self.listed.ids.find(&row.query), self.collection.ids.find(&row.document)) {
                (None, _) => tally.add(Skip::UnknownQuery.reason(), 1, example),
                (_, None) => tally.add(Skip::UnknownDocument.reason(), 1, example),
                (Some(query), Some(document)) => {
                    let sums = Sums::new(f64::from(row.grade.max(0.0)), 0, None);
                    batch.push(QueryKey::Listed(query), Share::Train, document, sums);
                }
            }
        }
        self.aggregator.add(&batch)?;
        Ok(rows.len() as u64)
    }
}
