//! Rows of logs and responses, resolved to query and document, on their way to the aggregation.

use std::collections::BTreeMap;
use std::path::Path;

use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::aggregate::{Aggregator, Batch, QueryKey, Share, Sums};
use super::clicks::{ClickLog, LogRow, QueryName, Searches, Skip};
use super::documents::CollectedDocuments;
use super::history::{FormerLog, HistoryWriter, KeptRows};
use super::judgments::JudgmentFile;
use super::listed::ListedQueries;
use super::split;
use super::zeros::{ZeroFinder, ZeroTally};
use crate::dataset::{LostZeros, SourceFile, Split};
use crate::files;
use crate::tally::Tally;
use crate::text::normalise_query;

/// Tables against which rows of logs are resolved.
pub(super) struct Reading<'a> {
    pub(super) collection: &'a CollectedDocuments,
    pub(super) listed: &'a ListedQueries,
    pub(super) split: &'a Split,
    pub(super) aggregator: &'a Aggregator,
    pub(super) known_documents: ZeroFinder<'a>,
    pub(super) known_queries: ZeroFinder<'a>,
    pub(super) tally: Tally,
    pub(super) lost_zeros: Vec<LostZeros>,
    /// The logs and responses that were added.
    pub(super) sources: Vec<SourceFile>,
}

#[derive(Default)]
struct CountedPart {
    batch: Batch,
    kept: KeptRows,
    skips: BTreeMap<Skip, u64>,
    tally: Tally,
    unknown: UnknownIds,
    rows: u64,
}

/// Rows with unknown ids of documents and of queries.
#[derive(Default)]
struct UnknownIds {
    documents: ZeroTally,
    queries: ZeroTally,
}

impl UnknownIds {
    fn merge(&mut self, other: Self) {
        self.documents.merge(other.documents);
        self.queries.merge(other.queries);
    }

    fn of_file(self, path: &Path) -> impl Iterator<Item = LostZeros> {
        let documents = self.documents.of_file("document", path);
        documents.into_iter().chain(self.queries.of_file("query", path))
    }
}

impl Reading<'_> {
    /// Adds the rows of a log, and keeps them in a history. Returns `false` if the positions turned out to be averages:
    /// then all logs are to be read again.
    pub(super) fn add_clicks(
        &mut self,
        log: &ClickLog,
        searches: &Searches,
        history: Option<&mut HistoryWriter>,
        progress: &dyn Progress,
    ) -> Result<bool> {
        // A part of a former history is taken over unless rows of it are to be dropped.
        let keeps = history.is_some() && log.keeps_rows();
        let mut part_file = match &history {
            Some(history) if keeps => Some(history.begin_log()?),
            _ => None,
        };
        let mut skips = log.as_former().map(FormerLog::skips).unwrap_or_default();
        let (mut rows, mut unknown, mut tally) = (0, UnknownIds::default(), Tally::default());
        let had_averages = log.has_average_positions();
        let read = log.read(
            searches,
            CountedPart::default,
            |part, line, row| {
                part.rows += 1;
                match &row {
                    Ok(row) if keeps => part.kept.push(row),
                    Ok(_) => {}
                    Err(skip) => *part.skips.entry(*skip).or_default() += 1,
                }
                if let Err(skip) = row.and_then(|row| self.add_row(part, &row)) {
                    let is_former = log.as_former().is_some();
                    part.tally.add(skip.reason(), 1, || match is_former {
                        // The row of a history is no line of the file.
                        true => format!("in {}", log.name()),
                        false => format!("{}:{line}", log.name()),
                    });
                }
                Ok(())
            },
            |part| self.aggregator.add(&std::mem::take(&mut part.batch)),
            |part| {
                if log.has_average_positions() != had_averages {
                    return Err(Error::Params("the positions are averages".into()));
                }
                rows += part.rows;
                progress.advance(part.rows);
                unknown.merge(part.unknown);
                tally.merge(part.tally);
                part.skips.into_iter().for_each(|(skip, n)| *skips.entry(skip).or_default() += n);
                part_file.as_mut().map_or(Ok(()), |file| file.write(part.kept))
            },
        );
        if log.has_average_positions() != had_averages {
            return Ok(false);
        }
        read?;
        for (skip, n) in log.as_former().map(FormerLog::skips).unwrap_or_default() {
            tally.add(skip.reason(), n, || format!("in {}", log.name()));
        }
        self.tally.merge(tally);
        self.lost_zeros.extend(unknown.of_file(Path::new(log.name())));
        let source = log.source(rows);
        if let Some(history) = history {
            match (part_file, log.as_former()) {
                (Some(file), _) => history.end_log(file, (&source, &log.origin), &skips)?,
                (None, Some(former)) => history.take_over(&former.path, &former.part)?,
                (None, None) => {}
            }
        }
        self.sources.push(source);
        Ok(true)
    }

    fn add_row(&self, part: &mut CountedPart, row: &LogRow<'_>) -> Result<(), Skip> {
        let CountedPart { batch, unknown, .. } = part;
        if row.query == QueryName::Unknown {
            return Err(Skip::UnknownSearch);
        }
        let Some(document) = self.collection.ids.find(row.document) else {
            unknown.documents.add(row.document, &self.known_documents);
            return Err(Skip::UnknownDocument);
        };
        let share = split::share_of(self.split, row.time);
        let sums = Sums::new(row.clicks, row.shown, row.position);
        match row.query {
            QueryName::Id(id) => {
                let Some(number) = self.listed.ids.find(id) else {
                    unknown.queries.add(id, &self.known_queries);
                    return Err(Skip::UnknownQuery);
                };
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
            QueryName::Unknown => unreachable!("refused above"),
        }
        Ok(())
    }

    /// Adds the judgments of a file that are learned from.
    pub(super) fn add_responses(&mut self, file: &JudgmentFile) -> Result<()> {
        let path = Path::new(&file.name);
        let (mut batch, mut unknown) = (Batch::default(), UnknownIds::default());
        for row in &file.rows {
            let example = || format!("{} {} in {}", row.query, row.document, files::name_of(path));
            match (self.listed.ids.find(&row.query), self.collection.ids.find(&row.document)) {
                (None, _) => {
                    unknown.queries.add(&row.query, &self.known_queries);
                    self.tally.add(Skip::UnknownQuery.reason(), 1, example);
                }
                (_, None) => {
                    unknown.documents.add(&row.document, &self.known_documents);
                    self.tally.add(Skip::UnknownDocument.reason(), 1, example);
                }
                (Some(query), Some(document)) => {
                    batch.push(QueryKey::Listed(query), Share::Train, document, Sums::of_grade(row.grade));
                }
            }
        }
        self.aggregator.add(&batch)?;
        self.lost_zeros.extend(unknown.of_file(path));
        self.sources.push(file.source("responses"));
        Ok(())
    }
}
