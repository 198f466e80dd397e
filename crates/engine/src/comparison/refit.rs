//! Data for training again: the same collection and the same test, and none of the test's answers.
//!
//! Under a split by time the clicks between training and test are what there is more to learn from, and a pair that was
//! clicked there may be clicked again in the test: its answer was known before the test began. Any other relevant test
//! pair that has a response in the data for training again, and had none in the data that everything was chosen on, gives
//! an answer of the test away.

use foldhash::{HashMap, HashSet};
use matchrank_core::message::counted;
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};

use super::measuring::TestSet;
use crate::dataset::{DOCUMENTS, Dataset, HeldOut, Holdout, Manifest, Split};

/// Refuses data for training again that would change what is measured, choose something else, or give answers away.
pub(super) fn check_refit(test: &TestSet, dataset: &Dataset, more: &Dataset) -> Result<()> {
    let name = more.folder().display();
    if !more.judgments(Holdout::Validation)?.is_empty() {
        return Err(Error::Params(format!(
            "{name}: has validation judgments; what was chosen is trained again on all but the test: ingest without \
             them, as with --holdout 0,SHARE"
        )));
    }
    let (own, other) = (&more.manifest, &dataset.manifest);
    let documents = |manifest: &Manifest| manifest.tables.get(DOCUMENTS).map(|table| table.blake3.clone());
    let differs = |what: &str| {
        Err(Error::Params(format!(
            "{name}: its {what} are not those of {}; ingest both from the same files, with the same test",
            dataset.folder().display()
        )))
    };
    if documents(own) != documents(other) {
        return differs("documents");
    }
    if own.analyser != other.analyser || own.fields != other.fields {
        return differs("text fields, their weights or their analysis");
    }
    // What is held out for the test must not be among the clicks to learn from.
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
    let answers = Answers::of(dataset)?;
    let known = answers.known_before_the_test(dataset)?;
    let leaked = answers.trained(more)?.difference(&known).count();
    if leaked > 0 {
        return Err(Error::Params(format!(
            "{name}: training has a response to {leaked} of {}, and to none of these in {}; models would \
             learn the answers that they are measured by: ingest it without them",
            counted(answers.relevant.len(), "relevant test pair"),
            dataset.folder().display()
        )));
    }
    Ok(())
}

/// Says how many answers of the test the models have learned from, if there are any.
pub(super) fn note_known_answers(learned_from: &Dataset, progress: &dyn Progress) -> Result<()> {
    let answers = Answers::of(learned_from)?;
    let n_known = answers.trained(learned_from)?.len();
    if n_known > 0 {
        progress.note(&format!(
            "there is a training response to {n_known} of {}; look at unseen queries apart",
            counted(answers.relevant.len(), "relevant test pair")
        ));
    }
    Ok(())
}

/// A pair of a test query, as [`Answers`] numbers them by their text, and the row of a document.
type Pair = (u32, u32);

/// The relevant test pairs. Queries of the same text are one, as in training.
struct Answers {
    number_of: HashMap<String, u32>,
    relevant: HashSet<Pair>,
}

impl Answers {
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

    /// Those among pairs of a query's row and a document's row in a dataset with the same documents.
    fn among(&self, dataset: &Dataset, pairs: impl Iterator<Item = Pair>) -> Result<HashSet<Pair>> {
        let queries = dataset.queries()?;
        let numbers: Vec<Option<u32>> =
            queries.iter().map(|query| self.number_of.get(&query.text).copied()).collect();
        let pairs = pairs.filter_map(|(query, document)| Some((numbers[query as usize]?, document)));
        Ok(pairs.filter(|pair| self.relevant.contains(pair)).collect())
    }

    /// Those with a training response.
    fn trained(&self, dataset: &Dataset) -> Result<HashSet<Pair>> {
        let responses = dataset.responses()?;
        let answered = responses.iter().filter(|response| response.response > 0.0);
        self.among(dataset, answered.map(|response| (response.query, response.document)))
    }

    /// Those that may be learned from: with a training response where everything was chosen, and, under a split by
    /// time, those clicked between training and test.
    fn known_before_the_test(&self, dataset: &Dataset) -> Result<HashSet<Pair>> {
        let mut known = self.trained(dataset)?;
        if matches!(dataset.manifest.split, Split::Time { .. }) {
            let judged = dataset.judgments(Holdout::Validation)?;
            let clicked = judged.iter().filter(|judged| judged.grade > 0.0);
            known.extend(self.among(dataset, clicked.map(|judged| (judged.query, judged.document)))?);
        }
        Ok(known)
    }
}
