//! Data for refitting: the same collection and the same test, without the answers of the test.
//!
//! Under a split by time, refitting adds the clicks between training and test. A pair that was clicked there may be
//! clicked again in the test: its answer was known before the test began. Any other relevant test pair must not be new
//! to the training data. If it has a response in the data for refitting, and had none in the data that the parameters
//! were chosen on, an answer of the test leaks.

use foldhash::{HashMap, HashSet};
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::measuring::TestSet;
use crate::dataset::{DOCUMENTS, Dataset, HeldOut, Holdout, Manifest, Split};

/// Returns an error if data for refitting would change the test, has validation judgments, or leaks test answers.
pub(super) fn check_refit(test: &TestSet, dataset: &Dataset, more: &Dataset) -> Result<()> {
    let name = more.folder().display();
    if !more.judgments(Holdout::Validation)?.is_empty() {
        return Err(Error::Params(format!(
            "{name}: has validation judgments, but refitting uses all data except the test; ingest it with a \
             validation share of 0"
        )));
    }
    let (own, other) = (&more.manifest, &dataset.manifest);
    let documents = |manifest: &Manifest| manifest.tables.get(DOCUMENTS).map(|table| table.blake3.clone());
    let differs = |what: &str| {
        Err(Error::Params(format!(
            "{name}: its {what} differ from those of {}; ingest both from the same files, with the same test",
            dataset.folder().display()
        )))
    };
    if documents(own) != documents(other) {
        return differs("documents");
    }
    if own.analyser != other.analyser || own.fields != other.fields {
        return differs("text fields, their weights or their analysis");
    }
    // Clicks that are held out for the test must not be training data.
    let is_same = match (&own.split, &other.split) {
        (Split::None, Split::None) => true,
        (Split::Query { test, seed, .. }, Split::Query { test: t, seed: s, .. }) => test == t && seed == s,
        (Split::Time { test_from, .. }, Split::Time { test_from: from, .. }) => test_from == from,
        _ => false,
    };
    let held_out = HeldOut::of(dataset, Holdout::Test)?;
    if !is_same || test.held_out().queries != held_out.queries || test.held_out().judged != held_out.judged {
        return differs("test queries and judgments");
    }
    let answers = TestAnswers::of(dataset)?;
    let known = answers.known_before_the_test(dataset)?;
    let leaked = answers.trained(more)?.difference(&known).count();
    if leaked > 0 {
        return Err(Error::Params(format!(
            "{name}: {leaked} of {} have a training response here and none in {}; models would learn the answers \
             that they are tested on: ingest it without these responses",
            counted(answers.relevant.len(), "relevant test pair"),
            dataset.folder().display()
        )));
    }
    Ok(())
}

/// Prints a note with the number of test answers in the training data, if there are any.
pub(super) fn note_known_answers(learned_from: &Dataset, progress: &dyn Progress) -> Result<()> {
    let answers = TestAnswers::of(learned_from)?;
    let n_known = answers.trained(learned_from)?.len();
    if n_known > 0 {
        progress.note(&format!(
            "{n_known} of {} have a training response; look at unseen queries separately",
            counted(answers.relevant.len(), "relevant test pair")
        ));
    }
    Ok(())
}

/// Number of a test query, which [`TestAnswers`] assigns by text, and row of a document.
type TestPair = (u32, u32);

/// Relevant test pairs. Queries with the same text count as one, as in training.
struct TestAnswers {
    number_of: HashMap<String, u32>,
    relevant: HashSet<TestPair>,
}

impl TestAnswers {
    fn of(dataset: &Dataset) -> Result<Self> {
        let queries = dataset.queries()?;
        let mut answers = Self { number_of: HashMap::default(), relevant: HashSet::default() };
        for judged in dataset.judgments(Holdout::Test)?.iter().filter(|judged| judged.grade > 0.0) {
            let next = answers.number_of.len() as u32;
            let text = &queries[judged.query as usize].text;
            let number = *answers.number_of.entry(text.clone()).or_insert(next);
            answers.relevant.insert((number, judged.document));
        }
        Ok(answers)
    }

    /// Returns the relevant test pairs among (query row, document row) pairs of a dataset with the same documents.
    fn among(&self, dataset: &Dataset, pairs: impl Iterator<Item = TestPair>) -> Result<HashSet<TestPair>> {
        let queries = dataset.queries()?;
        let numbers: Vec<Option<u32>> =
            queries.iter().map(|query| self.number_of.get(&query.text).copied()).collect();
        let pairs = pairs.filter_map(|(query, document)| Some((numbers[query as usize]?, document)));
        Ok(pairs.filter(|pair| self.relevant.contains(pair)).collect())
    }

    /// Returns the relevant test pairs with a training response.
    fn trained(&self, dataset: &Dataset) -> Result<HashSet<TestPair>> {
        let responses = dataset.responses()?;
        let answered = responses.iter().filter(|response| response.response > 0.0);
        self.among(dataset, answered.map(|response| (response.query, response.document)))
    }

    /// Returns the relevant test pairs that may be learned from: those with a training response in the dataset that the
    /// parameters were chosen on and, under a split by time, those clicked between training and test.
    fn known_before_the_test(&self, dataset: &Dataset) -> Result<HashSet<TestPair>> {
        let mut known = self.trained(dataset)?;
        if matches!(dataset.manifest.split, Split::Time { .. }) {
            let judged = dataset.judgments(Holdout::Validation)?;
            let clicked = judged.iter().filter(|judged| judged.grade > 0.0);
            known.extend(self.among(dataset, clicked.map(|judged| (judged.query, judged.document)))?);
        }
        Ok(known)
    }
}
