use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Layout of the click log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogRows {
    /// One row per shown document of a session with a click, from position 1 to one below the last click.
    Sessions,
    /// One row per (query, document, position) with a click: its numbers of impressions and clicks.
    Pairs,
}

/// Parameters of the simulation. The essay of the module describes their effects on the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClickParams {
    /// Number of queries with at least one click, `n_x`.
    pub queries: usize,
    /// Number of documents, `n_y`; each of them is clicked at least once.
    pub documents: usize,
    /// Number of distinct words of the clicked queries and the documents together.
    pub words: usize,
    /// Number of topics; queries, documents and words of different topics are unrelated.
    pub topics: usize,
    /// Number of concepts of all topics together; fewer if a topic has too few words for them.
    pub concepts: usize,
    /// Number of words that belong to every topic and to no concept, such as "free" or "page".
    pub general_words: usize,
    /// Mean number of clicked documents of a query.
    pub clicked_per_query: f64,
    /// Mean number of distinct words of a query.
    pub words_per_query: f64,
    /// Mean number of distinct words of a document, title and URL together.
    pub words_per_document: f64,
    /// Share of the concepts that have only one word, the same in queries and documents, such as a name.
    pub one_word_concepts: f64,
    /// Probability that a side uses its own word for a concept rather than the word that both sides know.
    pub own_words: f64,
    /// Exponent `a` of a query's popularity: P(at least n sessions with a click) = n^-a.
    pub popularity: f64,
    /// Maximum number of sessions with a click that popularity alone gives a query.
    pub most_sessions: usize,
    /// Number of documents on a result page.
    pub list_size: usize,
    /// Exponent `eta` of the position bias: position k is examined with probability k^-eta.
    pub position_bias: f64,
    /// Probability that an examined document is clicked, for grades 0 to 4. The entry of grade 0 is the rate of noise
    /// clicks.
    pub attractiveness: [f64; 5],
    /// Probability that a session sees two neighbours of the ranking swapped.
    pub swap: f64,
    /// Share of the sessions whose query is typed with capitals or extra spaces (sessions layout only).
    pub typing_noise: f64,
    /// Number of judged queries, half of them for validation, half for test.
    pub judged: usize,
    /// Share of the judged queries that are absent from the log.
    pub unseen: f64,
    /// Mean number of judged documents of a judged query.
    pub judged_per_query: f64,
    /// Number of days the log covers.
    pub days: u32,
    /// Layout of the log.
    pub rows: LogRows,
}

impl Default for ClickParams {
    fn default() -> Self {
        Self::small()
    }
}

impl ClickParams {
    /// A log that is generated in less than a second: for experiments, demonstrations and tests.
    pub fn small() -> Self {
        Self {
            queries: 2_000,
            documents: 3_000,
            words: 2_600,
            topics: 16,
            concepts: 240,
            general_words: 40,
            clicked_per_query: 2.4,
            words_per_query: 2.3,
            words_per_document: 5.0,
            one_word_concepts: 0.3,
            own_words: 0.6,
            popularity: 1.2,
            most_sessions: 2_000,
            list_size: 10,
            position_bias: 0.7,
            attractiveness: [0.008, 0.03, 0.25, 0.5, 0.75],
            swap: 0.1,
            typing_noise: 0.05,
            judged: 400,
            unseen: 0.3,
            judged_per_query: 12.0,
            days: 7,
            rows: LogRows::Sessions,
        }
    }

    /// The papers' week: 94,022 queries, 111,631 documents.
    pub fn one_week() -> Self {
        Self {
            queries: 94_022,
            documents: 111_631,
            words: 101_904,
            topics: 150,
            concepts: 4_000,
            general_words: 300,
            clicked_per_query: 1.74,
            // With 1.74 clicks, the papers' c_x = 4.0 and N_x = 1.7 (c_x <= 3.97) leave 2.22.
            words_per_query: 2.22,
            words_per_document: 4.44,
            judged: 4_445,
            judged_per_query: 11.34,
            ..Self::small()
        }
    }

    /// The papers' half year: 6,372,254 queries, 4,599,849 documents.
    pub fn half_year() -> Self {
        Self {
            queries: 6_372_254,
            documents: 4_599_849,
            words: 271_561,
            topics: 500,
            concepts: 20_000,
            general_words: 500,
            clicked_per_query: 2.92,
            words_per_query: 2.58,
            words_per_document: 4.56,
            popularity: 1.0,
            most_sessions: 20_000,
            judged: 57_514,
            judged_per_query: 13.84,
            days: 182,
            rows: LogRows::Pairs,
            ..Self::small()
        }
    }

    /// Returns an error if such data cannot be generated; the error says what to change.
    pub fn validate(&self) -> Result<()> {
        let check = |ok: bool, message: String| if ok { Ok(()) } else { Err(Error::Params(message)) };
        check(
            self.topics >= 1 && self.topics <= 4_000,
            format!("topics is {}; it must be from 1 to 4000", self.topics),
        )?;
        let per_topic = 20 * self.topics;
        for (name, n) in [("queries", self.queries), ("documents", self.documents)] {
            check(
                n >= per_topic,
                format!("{name} is {n}; {} topics need at least {per_topic}", self.topics),
            )?;
            check(n <= 1 << 30, format!("{name} is {n}; it must be at most 2^30"))?;
        }
        check(
            self.words >= self.general_words + per_topic,
            format!(
                "words is {}; {} topics and {} general words need at least {}",
                self.words,
                self.topics,
                self.general_words,
                self.general_words + per_topic
            ),
        )?;
        check(
            self.queries <= 200 * self.words,
            format!(
                "words is {}; {} distinct queries need at least {}",
                self.words,
                self.queries,
                self.queries.div_ceil(200)
            ),
        )?;
        check(
            (self.words as f64) <= self.documents as f64 * (self.words_per_document - 1.0).max(0.0),
            format!(
                "words is {}; {} documents of {} words cannot hold so many",
                self.words, self.documents, self.words_per_document
            ),
        )?;
        check(
            self.concepts >= self.topics,
            format!("concepts is {}; {} topics need at least one each", self.concepts, self.topics),
        )?;
        check(self.general_words >= 1, "general_words is 0; it must be at least 1".into())?;
        for (name, value, low, high) in [
            ("clicked_per_query", self.clicked_per_query, 1.0, 6.0),
            ("words_per_query", self.words_per_query, 1.2, 5.0),
            ("words_per_document", self.words_per_document, 3.0, 8.0),
            ("one_word_concepts", self.one_word_concepts, 0.0, 1.0),
            ("own_words", self.own_words, 0.0, 1.0),
            ("popularity", self.popularity, 0.2, 10.0),
            ("position_bias", self.position_bias, 0.0, 3.0),
            ("swap", self.swap, 0.0, 1.0),
            ("typing_noise", self.typing_noise, 0.0, 1.0),
            ("unseen", self.unseen, 0.0, 1.0),
            ("judged_per_query", self.judged_per_query, 4.0, 30.0),
        ] {
            check(
                (low..=high).contains(&value),
                format!("{name} is {value}; it must be from {low} to {high}"),
            )?;
        }
        for (grade, &a) in self.attractiveness.iter().enumerate() {
            // Even a page of only bad documents must be clicked eventually, or its query's traffic would not end.
            let low = if grade < 2 { 0.0005 } else { 0.05 };
            check(
                (low..=1.0).contains(&a),
                format!("attractiveness[{grade}] is {a}; it must be from {low} to 1"),
            )?;
        }
        check(
            (2..=16).contains(&self.list_size),
            format!("list_size is {}; it must be from 2 to 16", self.list_size),
        )?;
        let pairs = self.clicked_per_query * self.queries as f64;
        check(
            pairs >= self.documents as f64,
            format!(
                "{} queries with {} clicked documents each cannot click all {} documents",
                self.queries, self.clicked_per_query, self.documents
            ),
        )?;
        check(
            self.documents <= self.queries * self.list_size / 4,
            format!(
                "documents is {}; it must be at most {} for this number of queries and this length of result pages",
                self.documents,
                self.queries * self.list_size / 4
            ),
        )?;
        check(self.most_sessions >= 1, "most_sessions is 0; it must be at least 1".into())?;
        check((1..=3_650).contains(&self.days), format!("days is {}; it must be from 1 to 3650", self.days))?;
        let seen = self.judged - (self.judged as f64 * self.unseen) as usize;
        check(
            seen <= self.queries / 2,
            format!("judged is {}; at most half of the {} queries can be judged", self.judged, self.queries),
        )
    }
}
