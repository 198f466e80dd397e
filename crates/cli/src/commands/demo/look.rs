//! A first look at a trained model: what `explain`, `related` and `inspect` say of it, in a few lines each.

use std::collections::{HashMap, HashSet};

use anyhow::Context;
use matchrank_core::progress::Silent;
use matchrank_engine::comparison::TestQuery;
use matchrank_engine::dataset::{Clicks, Dataset};
use matchrank_engine::models::latent::LatentModel;
use matchrank_engine::models::{MatchingModel, Related, RelatedQuery, bind, find_part};
use matchrank_engine::scoring::Explanation;
use matchrank_engine::text::Analyser;
use serde::Serialize;
use serde_json::Value;

use crate::commands::{explain, related};
use crate::terminal::{Format, table};

/// Parts of an explanation and related words that are shown.
const SHOWN: usize = 5;
/// Words of customers that are shown with their nearest document words, and how many of these.
const UNWRITTEN: usize = 10;
const NEAREST: usize = 3;
/// Training clicks that such a word has at least.
const CLICKS: f64 = 20.0;
/// The word of customers that the demo asks about.
const ASKED: &str = "sneaker";

#[derive(Serialize)]
pub(super) struct Look {
    model: &'static str,
    /// A test query: if possible, one whose best document has none of its words, has the highest grade of the query's
    /// judgments, and which training has never seen; of these the one with the highest score.
    pub(super) query: String,
    /// The best document for it by this model, and its title.
    pub(super) document: String,
    title: String,
    /// True if the document has a word of the query.
    shares_a_word: bool,
    /// True if the query is in the training data.
    is_seen: bool,
    explanation: Explanation,
    /// The word that is asked about.
    pub(super) word: String,
    related: Value,
    #[serde(skip)]
    related_text: String,
    /// Words of queries that no document has, those with the nearest document words first.
    unwritten: Vec<Unwritten>,
    /// Two sentences on what is inside the model.
    inspection: String,
}

/// A word that customers type and no document has: a synonym or a typo.
#[derive(Serialize)]
struct Unwritten {
    word: String,
    /// Training clicks of the queries with this word or another of its stem.
    clicks: f64,
    /// The document words nearest to it.
    related: Vec<String>,
}

impl Look {
    /// Looks at a model by the best document of each test query.
    pub(super) fn new(
        model: &dyn MatchingModel,
        dataset: &Dataset,
        ranked: Vec<(&TestQuery, &str, f32)>,
    ) -> anyhow::Result<Self> {
        let latent: &LatentModel = find_part(model).context("a latent model is looked at")?;
        let analyser = Analyser::new(&dataset.manifest.analyser)?;
        let texts = texts(dataset, &ranked)?;
        let shares_a_word = |query: &TestQuery, document: &str| {
            let mut words: HashSet<String> = HashSet::new();
            let names = dataset.manifest.fields.iter().map(|(name, _)| name);
            analyser.document(names.zip(texts[document].iter().map(String::as_str)), |_, word| {
                words.insert(word.to_owned());
            });
            analyser.collect(&query.text).iter().any(|word| words.contains(word))
        };
        let candidates = ranked.into_iter().map(|(query, best, score)| {
            let highest = query.judged.iter().map(|(_, grade)| *grade).fold(0.0, f32::max);
            let is_highest = query.judged.iter().any(|(id, grade)| id == best && *grade == highest);
            ((!shares_a_word(query, best), is_highest, query.clicks == 0.0), score, query, best)
        });
        let best = candidates.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let ((shares_none, _, is_unseen), _, query, document) = best.context("the model ranked nothing")?;
        let row = explain::row_of(dataset, document)?;
        let matcher = bind(model, dataset, Some(std::slice::from_ref(&row)), &Silent)?;
        let mut explanation = matcher.explain(&query.text, 0)?;
        explain::shorten(&mut explanation, SHOWN);
        let related = near(model, ASKED);
        Ok(Self {
            model: model.kind(),
            query: query.text.clone(),
            document: document.to_owned(),
            title: texts[document][0].clone(),
            shares_a_word: !shares_none,
            explanation,
            is_seen: !is_unseen,
            word: ASKED.to_owned(),
            related: related.as_ref().map_or(Value::Array(Vec::new()), related::words_of),
            related_text: match &related {
                Some(related) => related::text(related, Format::Table),
                None => "the model knows no related words".to_owned(),
            },
            unwritten: unwritten(model, dataset, &analyser)?,
            inspection: latent.in_short()?,
        })
    }

    pub(super) fn text(&self) -> String {
        let Self { model, query, document, title, explanation, word, related_text, inspection, .. } = self;
        let never = if self.is_seen { "" } else { ", which nobody asked before" };
        let shared = if self.shares_a_word { "" } else { "; they share no word" };
        let rows = self.unwritten.iter().map(|unwritten| {
            let clicks = Format::Table.count(unwritten.clicks as u64);
            vec![unwritten.word.clone(), clicks, unwritten.related.join(", ")]
        });
        format!(
            "Why {document} is the best document for '{query}'{never} (explain):\n{document} is '{title}'{shared}\n{}\n\n\
             Document words nearest to '{word}' in the latent space (related):\n{related_text}\n\n\
             Words that customers type and no product has, with the nearest document words, the surest first (related):\n{}\n\n\
             Inside the {model} model (inspect):\n{inspection}",
            explain::text(model, explanation, SHOWN),
            table(&["query word", "clicks", "nearest document words"], rows.collect(), Format::Table),
        )
    }
}

/// Reads the texts of the best documents, field by field.
fn texts(
    dataset: &Dataset,
    ranked: &[(&TestQuery, &str, f32)],
) -> anyhow::Result<HashMap<String, Vec<String>>> {
    let wanted: HashSet<&str> = ranked.iter().map(|(_, best, _)| *best).collect();
    let n_fields = dataset.manifest.fields.len();
    let mut texts = HashMap::new();
    dataset.for_each_documents(|batch| {
        for row in (0..batch.len()).filter(|&row| wanted.contains(batch.id(row))) {
            let fields = (0..n_fields).map(|field| batch.text(row, field).to_owned()).collect();
            texts.insert(batch.id(row).to_owned(), fields);
        }
        Ok(())
    })?;
    Ok(texts)
}

/// Returns frequent words of the training queries that no document has, the most certain first.
fn unwritten(
    model: &dyn MatchingModel,
    dataset: &Dataset,
    analyser: &Analyser,
) -> anyhow::Result<Vec<Unwritten>> {
    let vocabulary = dataset.document_vocabulary()?;
    let clicks = Clicks::of(dataset)?;
    // Words with one stem are one word for a model: of these the one with the most clicks is shown.
    let mut by_stem: HashMap<Vec<String>, HashMap<&str, f64>> = HashMap::new();
    for (row, text) in clicks.queries() {
        let n: f64 = clicks.of_query(row).iter().map(|(_, n)| f64::from(n)).sum();
        for word in text.split_whitespace() {
            let terms = analyser.collect(word);
            if !terms.is_empty() && terms.iter().all(|term| vocabulary.id(term).is_none()) {
                *by_stem.entry(terms).or_default().entry(word).or_default() += n;
            }
        }
    }
    let words = by_stem.values().filter_map(|words| {
        let most = words.iter().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(a.0)));
        most.map(|(word, _)| (*word, words.values().sum::<f64>()))
    });
    let frequent = words.filter(|(_, clicks)| *clicks >= CLICKS);
    let known = frequent.filter_map(|(word, clicks)| {
        let nearest = near(model, word)?.words;
        let cosine = nearest.first()?.value;
        let related = nearest.into_iter().take(NEAREST).map(|near| near.word).collect();
        Some((cosine, Unwritten { word: word.to_owned(), clicks, related }))
    });
    let mut known: Vec<(f64, Unwritten)> = known.map(|(cosine, word)| (f64::from(cosine), word)).collect();
    known.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.word.cmp(&b.1.word)));
    Ok(known.into_iter().take(UNWRITTEN).map(|(_, word)| word).collect())
}

/// The document words nearest to a word, if the model knows it.
fn near(model: &dyn MatchingModel, words: &str) -> Option<Related> {
    let related = model.related(&RelatedQuery { words, top: SHOWN, min_documents: 3, is_reverse: false });
    related?.ok().filter(|related| !related.words.is_empty())
}
