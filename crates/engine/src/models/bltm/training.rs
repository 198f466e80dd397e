//! The bilingual topic model on a dataset, stopped by the validation judgments.

use std::time::Instant;

use matchrank_core::Result;
use matchrank_core::matching::bltm::{Bltm, BltmParams, Em};
use matchrank_core::matching::{Csr, CsrBuilder};
use matchrank_core::progress::{Progress, Silent};

use super::matcher::{BltmScorer, KnownDocuments};
use super::{BltmIteration, BltmModel, BltmReport};
use crate::dataset::BoundDocuments;
use crate::dataset::{Clicks, Dataset};
use crate::features::{ClickParams, document_counts};
use crate::models::Training;
use crate::text::{Analyser, Bag, BagOfWords};
use crate::validation::Validation;

/// Iterations from one validation to the next: finding the topics of all documents costs as much as several.
const EVERY: usize = 5;
/// Validations without a better figure after which training stops.
const PATIENCE: usize = 2;

/// Trains the bilingual topic model on the words of queries and the documents they led to; a pair counts by
/// its clicks, as `counting` says.
pub fn train(params: &BltmParams, counting: &ClickParams, training: &Training<'_>) -> Result<BltmModel> {
    let Training { dataset, seed, progress, .. } = *training;
    params.validate()?;
    let words = BagOfWords {
        analyser: Analyser::new(&dataset.manifest.analyser)?,
        vocabulary: dataset.vocabulary()?,
        fields: dataset.manifest.fields.clone(),
    };
    let clicks = Clicks::to_learn_from(dataset)?;
    let documents = document_counts(&words, BoundDocuments::all(dataset), progress)?;
    let queries = query_counts(&words, &clicks)?;
    let r = clicks.into_by_query();
    let weights = r.values().iter().map(|&count| counting.click_tf.of(count) as f32).collect();
    let weights = Csr::new(r.n_columns(), r.offsets().to_vec(), r.indices().to_vec(), weights)?;
    let mut judge = TopicJudge::of(&words, &documents, dataset, seed, progress)?;
    let mut em = Em::new(params, [&queries, &documents], &weights, seed)?;
    drop((queries, documents, weights));

    let mut report =
        BltmReport { click_tf: counting.click_tf, n_pairs: em.n_pairs(), ..BltmReport::default() };
    let mut kept: Option<(usize, Option<f64>, Bltm)> = None;
    progress.begin("learning", Some((params.iterations * em.n_pairs()) as u64), "pairs");
    for number in 1..=params.iterations {
        let clock = Instant::now();
        let log_likelihood = em.iterate(progress);
        let seconds = clock.elapsed().as_secs_f64();
        let mut validation = None;
        let last = number == params.iterations;
        if last || (judge.is_some() && number % EVERY == 0) {
            let model = em.model()?;
            validation = judge.as_mut().map(|judge| judge.ndcg(&model, params)).transpose()?;
            if kept.as_ref().is_none_or(|(_, best, _)| validation > *best) {
                kept = Some((number, validation, model));
            }
            let ndcg = validation.map_or(String::new(), |ndcg| format!(", validation NDCG@10 {ndcg:.4}"));
            progress.note(&format!(
                "iteration {number} ({seconds:.1} s): mean log-likelihood of a word {log_likelihood:.4}{ndcg}"
            ));
        }
        report.iterations.push(BltmIteration { number, log_likelihood, validation, seconds });
        if kept.as_ref().is_some_and(|(best, ..)| number >= best + PATIENCE * EVERY) {
            break;
        }
    }
    let (best, validation, topics) = kept.expect("the last iteration is measured");
    report.best = Some(best);
    report.validation = validation;
    Ok(BltmModel { params: *params, words, topics, report })
}

/// Counts of the words of the queries with clicks, a row for every query of the dataset.
fn query_counts(words: &BagOfWords, clicks: &Clicks) -> Result<Csr> {
    let mut builder = CsrBuilder::new(words.vocabulary.len());
    let mut next = 0;
    for (row, text) in clicks.queries() {
        (next..row).for_each(|_| builder.end_row());
        builder.push_row(words.query(text).row());
        next = row + 1;
    }
    (next as usize..clicks.by_query().n_rows()).for_each(|_| builder.end_row());
    builder.finish()
}

/// Measures topics on the validation judgments.
struct TopicJudge {
    validation: Validation,
    queries: Vec<Bag>,
    documents: KnownDocuments,
}

impl TopicJudge {
    fn of(
        words: &BagOfWords,
        documents: &Csr,
        dataset: &Dataset,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Option<Self>> {
        let Some(validation) = Validation::of(dataset, seed, progress)? else { return Ok(None) };
        let queries = validation.queries().iter().map(|query| words.query(query)).collect();
        let counts = match validation.wanted() {
            None => documents.clone(),
            Some(wanted) => {
                let mut some = CsrBuilder::new(documents.n_columns());
                wanted.iter().for_each(|&document| some.push_row(documents.row(document as usize)));
                some.finish()?
            }
        };
        let documents =
            KnownDocuments { counts, topics: Vec::new(), background: BltmModel::background(words) };
        Ok(Some(Self { validation, queries, documents }))
    }

    fn ndcg(&mut self, model: &Bltm, params: &BltmParams) -> Result<f64> {
        self.documents.find_topics(model, params, &Silent);
        self.validation.value(&mut BltmScorer::new(model, params, &self.queries, &self.documents))
    }
}
