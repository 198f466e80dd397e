//! The backward random walk: documents that queries with the same clicks lead to.

use std::sync::Arc;

use matchrank_core::Result;
use matchrank_core::matching::{RandomWalk, RandomWalkParams, SparseRow, Walker};
use matchrank_core::progress::Progress;

use super::memory::{ENTRY, PROGRAM};
use super::recipe::{NoFeatures, trainer};
use super::{Binding, MatchingKind, MatchingModel, UnseenDocuments};
use crate::container::{Reader, Writer};
use crate::dataset::{BoundDocuments, Clicks, Dataset, GivenDocuments};
use crate::description::Description;
use crate::prose::human;
use crate::scoring::{Among, ClickPath, Explanation, Hit, Matcher, Scorer, SparseScorer, TopK, Why};
use crate::settings::Parameter;

/// The random walk in the table of models.
pub const KIND: MatchingKind = MatchingKind {
    class: "RandomWalk",
    aliases: &["rw"],
    help: "Ranks documents that can be reached from the query over clicks, for queries that training saw.",
    parameters: &[
        Parameter::new("self_transition", "0.9", "probability to stay in a step, from 0 to below 1"),
        Parameter::new("steps", "5", "steps, from 1"),
    ],
    is_seeded: false,
    space: &[("steps", "1,3,5,7,9"), ("self_transition", "0.1,0.5,0.9")],
    unseen_documents: UnseenDocuments::Unscored,
    trainer: Some(|settings| {
        trainer::<RandomWalkParams, NoFeatures>(
            settings,
            |params, _| params.validate(),
            |params, _, training| {
                let content_hash = training.dataset.manifest.content_hash.clone();
                Ok(Arc::new(WalkModel { params: *params, content_hash }))
            },
        )
    }),
    memory: Some(|sizes| PROGRAM + 2.0 * ENTRY * sizes.pairs),
    cost: 0.1,
    ..MatchingKind::new(
        "random-walk",
        "Random walk on the clicks: documents that queries with the same clicks lead to",
        open,
    )
};

fn open(file: &Reader<'_>) -> Result<Arc<dyn MatchingModel>> {
    let content_hash = file.metadata("content_hash")?.to_owned();
    let model = WalkModel { params: file.json("params")?, content_hash };
    model.params.validate()?;
    Ok(Arc::new(model))
}

impl MatchingModel for WalkModel {
    fn kind(&self) -> &'static str {
        KIND.name
    }

    fn bind<'a>(&'a self, binding: &mut Binding<'a, '_>) -> Result<Box<dyn Matcher + 'a>> {
        if self.content_hash != binding.documents.dataset.manifest.content_hash {
            binding
                .progress
                .note("the random walk was trained on another dataset; it walks on the clicks of this one");
        }
        Ok(Box::new(WalkMatcher::new(self, binding.documents, binding.clicks()?)?))
    }

    fn put<'a>(&'a self, file: &mut Writer<'_, 'a>) -> Result<()> {
        file.put("content_hash", self.content_hash.as_str());
        file.put_json("params", &self.params)
    }

    fn describe(&self) -> Result<Description> {
        let mut description = Description::default();
        description.fact("steps", self.params.steps.to_string());
        description.fact("probability to stay", self.params.self_transition.to_string());
        description.details.set("params", &self.params);
        Ok(description)
    }

    fn summary(&self, dataset: &Dataset) -> Description {
        let s = &dataset.manifest.statistics;
        let mut description = Description::default();
        description.params(&self.params);
        description.details.set("params", &self.params);
        description.fact("queries with clicks", human(s.n_x));
        description.fact("documents with clicks", human(s.n_y));
        description.fact("pairs", human(s.n_pairs));
        description.details.set("queries", &s.n_x);
        description.details.set("documents", &s.n_y);
        description.details.set("pairs", &s.n_pairs);
        description
    }
}

/// A random walk on the training clicks of a dataset, which are its only knowledge.
#[derive(Debug, Clone, PartialEq)]
pub struct WalkModel {
    /// Parameters of the walk.
    pub params: RandomWalkParams,
    /// Hash of the dataset it was made for.
    pub content_hash: String,
}

struct WalkMatcher<'a> {
    documents: BoundDocuments<'a>,
    clicks: Arc<Clicks>,
    walk: Arc<RandomWalk>,
}

/// Reached documents held at a time, for all queries of a batch together.
const HELD: u32 = 1 << 27;
/// Ways that an explanation lists.
const LISTED: usize = 1000;

impl<'a> WalkMatcher<'a> {
    fn new(model: &WalkModel, documents: BoundDocuments<'a>, clicks: Arc<Clicks>) -> Result<Self> {
        let r = clicks.by_query();
        let responses = (0..r.n_rows()).flat_map(|query| {
            let row = r.row(query);
            row.indices().iter().zip(row.values()).map(move |(&document, &n)| (query as u32, document, n))
        });
        let walk = RandomWalk::from_triples(&model.params, r.n_rows(), r.n_columns(), responses)?;
        Ok(Self { documents, clicks, walk: Arc::new(walk) })
    }

    /// The documents that a query reaches, as the matcher knows them, ascending.
    fn reached(&self, walker: &mut Walker<'_>, query: &str) -> Vec<(u32, f32)> {
        let reached = self.clicks.row_of(query).map_or(Vec::new(), |row| walker.scores(row));
        self.documents.number(reached)
    }
}

impl Matcher for WalkMatcher<'_> {
    fn n_documents(&self) -> u32 {
        self.documents.len()
    }

    fn batch_size(&self) -> usize {
        (HELD / self.documents.len().max(1)).clamp(1, 256) as usize
    }

    fn begin<'a>(&'a self, queries: &[&str]) -> Result<Box<dyn Scorer + 'a>> {
        let reached = self.walk.map(queries, |walker, query| self.reached(walker, query));
        Ok(Box::new(SparseScorer { scores: reached }))
    }

    fn explain(&self, query: &str, document: u32) -> Result<Explanation> {
        let why = |paths| Why::Paths {
            self_transition: self.walk.params().self_transition,
            steps: self.walk.params().steps,
            paths,
        };
        let Some(query) = self.clicks.row_of(query) else {
            return Ok(Explanation { score: None, why: why(Vec::new()) });
        };
        let Some(document) = self.documents.row(document) else {
            return Ok(Explanation { score: None, why: why(Vec::new()) });
        };
        let scores = self.walk.scores(query);
        let score = scores.binary_search_by_key(&document, |(reached, _)| *reached).ok();
        Ok(Explanation { score: score.map(|at| scores[at].1), why: why(self.paths(query, document)?) })
    }

    fn top_among(
        &self,
        queries: &[&str],
        k: usize,
        among: Option<Among<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Hit>>> {
        progress.begin("ranking", Some(queries.len() as u64), "queries");
        Ok(self.walk.map(queries, |walker, query| {
            let mut top = TopK::new(k);
            let reached = self.reached(walker, query);
            let wanted =
                reached.iter().filter(|(document, _)| among.is_none_or(|among| among.holds(*document)));
            wanted.for_each(|&(document, score)| top.offer(Hit { document, score }));
            progress.advance(1);
            top.into_hits()
        }))
    }

    fn over<'s>(&'s self, documents: &'s GivenDocuments) -> Result<Box<dyn Matcher + 's>> {
        let documents = BoundDocuments::given(self.documents.dataset, documents);
        Ok(Box::new(WalkMatcher { documents, clicks: self.clicks.clone(), walk: self.walk.clone() }))
    }
}

impl WalkMatcher<'_> {
    /// The ways of one and of three clicks from a document to a query, the likeliest first.
    fn paths(&self, query: u32, document: u32) -> Result<Vec<ClickPath>> {
        let sum = |row: SparseRow<'_>| row.values().iter().map(|&n| f64::from(n)).sum::<f64>();
        let own = self.clicks.of_query(query);
        let of_document = self.clicks.of_document(document);
        let mut paths: Vec<(Option<(u32, u32)>, f64)> = Vec::new();
        for (other, n) in of_document.iter() {
            // From the document to a query,
            let first = f64::from(n) / sum(of_document);
            if other == query {
                paths.push((None, first));
            }
            let row = self.clicks.of_query(other);
            let total = sum(row);
            // from there to a document that the wanted query clicked too, and to that query.
            own.for_each_shared(row, |between, back, n| {
                let probability =
                    first * f64::from(n) / total * f64::from(back) / sum(self.clicks.of_document(between));
                paths.push((Some((other, between)), probability));
            });
        }
        paths.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        paths.truncate(LISTED);
        let over = |side: fn(&(u32, u32)) -> u32| -> Vec<u32> {
            paths.iter().filter_map(|(over, _)| over.as_ref().map(side)).collect()
        };
        let queries = self.documents.dataset.query_texts_of(&over(|over| over.0))?;
        let documents = self.documents.dataset.document_ids_of(&over(|over| over.1))?;
        let named = paths.into_iter().map(|(over, probability)| ClickPath {
            over: over.map_or(Vec::new(), |(query, document)| {
                vec![format!("query:{}", queries[&query]), format!("document:{}", documents[&document])]
            }),
            probability,
        });
        Ok(named.collect())
    }
}
