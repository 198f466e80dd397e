//! A simulated click log: texts, positions, clicks and graded judgments, with the statistics of the
//! papers' data (Table 1) and with what makes such data hard.
//!
//! # The world
//! A **topic** has **concepts**. A query asks for one to three concepts that go together; a document
//! holds some. A concept has a word that everybody knows and words that only queries or only documents
//! use ([`ClickParams::own_words`]), so a document may be perfect for a query and share no word with it:
//! matching words finds part of what is relevant, and the rest can be learned from clicks, for queries
//! that were never seen too, because their words were. Popularity of queries, documents, concepts, words
//! and topics is heavy-tailed.
//!
//! # Relevance
//! Grades 0 to 4 compare the concepts of a query with those of a document and know nothing of clicks:
//! Perfect (4) holds all of the query's concepts and has the same main concept, Excellent (3) holds all,
//! Good (2) holds the query's main concept, Fair (1) another one, Bad (0) none.
//!
//! # Clicks
//! Position-based: position `k` is looked at with probability `gamma_k = k^-eta`, a document that is
//! looked at is clicked with probability `alpha`, which depends on its grade; `alpha` of Bad documents is
//! the rate of noise clicks:
//!
//! ```text
//! P(click on d at position k | q) = k^-position_bias * attractiveness[grade(q, d)]
//! ```
//!
//! A query's sessions go on until as many of them had a click as the query is popular, with
//! `P(at least n) = n^-popularity`, and until every document written for the query was clicked. So all
//! queries and documents occur in the click graph; no filter is needed to reach the statistics, and the
//! sum of clicks at a position keeps the expectation above ([`ClickStatistics::positions`] has both).
//!
//! # Reproducible
//! A topic draws from its own streams of random numbers and is made by one thread; topics are made in
//! parallel and written in order. So the bytes depend on the parameters and the seed alone. Memory is that
//! of the topics in the making, not that of the log.
//!
//! ```
//! use matchrank_core::{progress::Silent, simulate::clicks::{ClickFiles, ClickParams, simulate}};
//!
//! let [mut clicks, mut documents, mut queries, mut validation, mut test] = [const { Vec::new() }; 5];
//! let files = ClickFiles {
//!     clicks: &mut clicks,
//!     documents: &mut documents,
//!     queries: &mut queries,
//!     validation: &mut validation,
//!     test: &mut test,
//! };
//! let statistics = simulate(&ClickParams::small(), 1, files, &Silent)?;
//! assert_eq!(statistics.table1.n_x, 2000.0);
//! assert!(clicks.starts_with(b"session,user,time,query,document,position,shown,clicks\n"));
//! # Ok::<(), matchrank_core::Error>(())
//! ```

mod click_model;
mod concepts;
mod files;
mod judgments;
mod log;
mod params;
mod random;
mod relevance;
mod statistics;
mod topic;
mod words;

use std::io::Write;

use rayon::prelude::*;

pub use click_model::{ClickModel, PositionCount, Session};
pub use params::{ClickParams, Rows};
pub use statistics::{ClickStatistics, Table1};
pub use words::Speller;

use crate::progress::Progress;
use crate::{Error, Result};
use random::{Shares, stream};
use statistics::Counts;
use topic::{Place, Topic};

/// Where the parts of a simulation go.
pub struct ClickFiles<'a> {
    /// The log, CSV with a header, in the layout of [`ClickParams::rows`]; sorted by time within a topic.
    pub clicks: &'a mut dyn Write,
    /// One JSON object per line: `id`, `title`, `url`.
    pub documents: &'a mut dyn Write,
    /// Lines `id<TAB>text` without a header: the queries of the log, and judged ones that are not in it.
    pub queries: &'a mut dyn Write,
    /// TREC judgments of one half of the judged queries.
    pub validation: &'a mut dyn Write,
    /// TREC judgments of the other half.
    pub test: &'a mut dyn Write,
}

/// Topics that are in memory at a time, at most: two per thread keep all threads busy.
const TOPICS_AT_A_TIME: usize = 16;

/// Makes the data and writes it. Needs the memory of a few topics, whatever the size of
/// the log.
pub fn simulate(
    params: &ClickParams,
    seed: u64,
    files: ClickFiles<'_>,
    progress: &dyn Progress,
) -> Result<ClickStatistics> {
    params.validate()?;
    let io = |file: &str| {
        let file = file.to_owned();
        move |e| Error::io(file, e)
    };
    progress.begin("simulating clicks", Some(params.queries as u64), "queries");
    files.clicks.write_all(files::header(params.rows).as_bytes()).map_err(io("clicks"))?;
    let shares = Shares::new(params.topics);
    let mut sum = Counts::default();
    let topics: Vec<usize> = (0..params.topics).collect();
    for some in topics.chunks(TOPICS_AT_A_TIME.min(2 * rayon::current_num_threads())) {
        let made: Vec<(files::Parts, Counts)> = some
            .par_iter()
            .with_max_len(1)
            .map(|&topic| {
                let place = Place::of(topic, &shares, params);
                let made = make_topic(&place, params, seed);
                progress.advance(place.queries.len() as u64);
                made
            })
            .collect();
        for (parts, counts) in made {
            files.clicks.write_all(&parts.clicks).map_err(io("clicks"))?;
            files.documents.write_all(&parts.documents).map_err(io("documents"))?;
            files.queries.write_all(&parts.queries).map_err(io("queries"))?;
            files.validation.write_all(&parts.validation).map_err(io("validation judgments"))?;
            files.test.write_all(&parts.test).map_err(io("test judgments"))?;
            sum.add(&counts);
        }
    }
    Ok(sum.finish(params, seed))
}

fn make_topic(place: &Place, params: &ClickParams, seed: u64) -> (files::Parts, Counts) {
    let [mut texts, mut traffic, mut judges, mut scribe] =
        [0, 1, 2, 3].map(|purpose| stream(seed, place.topic, purpose));
    let topic = Topic::new(place, params, &mut texts);
    let log = log::simulate(&topic, place, params, &mut traffic);
    let judged = judgments::judge(&topic, place, &log, params, &mut judges);
    let parts = files::write(&topic, place, &log, &judged, params, &mut scribe);
    let mut counts = Counts {
        topic_words: topic.n_words_used as u64,
        query_words: topic.queries.iter().map(|q| q.words.len() as u64).sum(),
        document_words: topic.documents.iter().map(|d| d.n_words() as u64).sum(),
        pairs: log.n_pairs,
        noise_pairs: log.n_noise_pairs,
        sessions: log.n_sessions,
        abandoned: log.n_abandoned,
        rows: parts.rows,
        general_used: topic.general_used,
        positions: log.positions,
        ..Counts::default()
    };
    for judged in &judged {
        let query = if judged.seen { &topic.queries[judged.query] } else { &topic.unseen[judged.query] };
        counts.judged_queries[usize::from(!judged.validation)] += 1;
        counts.judged_unseen += u64::from(!judged.seen);
        for &(document, grade) in &judged.documents {
            counts.grades[grade as usize] += 1;
            if grade >= 3 {
                let document = &topic.documents[document as usize - place.documents.start];
                counts.mismatched += u64::from(!files::share_a_word(query, document));
            }
        }
    }
    (parts, counts)
}
