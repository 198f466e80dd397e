//! Searches in one stage or two.
//!
//! In one stage a model ranks the whole collection. In two, faster models propose their best documents for the query, and
//! the model ranks these alone: what BM25 and click counts miss cannot come back, and nothing else of the collection is
//! scored. Models that standardise scores do so over the proposals.

use matchrank_engine::ranking::check_finite;
use matchrank_engine::scoring::{Explanation, Hit};
use matchrank_engine::serving::{Allowed, Candidate, Filter, Served};

use crate::failure::Failure;
use crate::fleet::{Named, Snapshot};
use crate::settings::{MAX_DEPTH, ServiceSettings};

/// Models that may propose documents.
const MOST_PROPOSERS: usize = 8;

/// What a request asks for.
#[derive(Default)]
pub(crate) struct Asked<'a> {
    pub(crate) query: &'a str,
    /// Name or alias of the model; the default model without one.
    pub(crate) model: Option<&'a str>,
    pub(crate) filter: Option<&'a Filter>,
    /// Models that propose documents, empty for a search in one stage; those of the settings without it.
    pub(crate) first_stage: Option<&'a [String]>,
    /// Documents that each of them proposes; that of the settings without it.
    pub(crate) depth: Option<usize>,
}

/// A search by one model.
pub(crate) struct Finding<'a> {
    pub(crate) named: Named<'a>,
    served: &'a Served,
    query: &'a str,
    allowed: Option<Allowed>,
    /// Documents that the first stage proposes, ascending; `None` for a search in one stage.
    proposed: Option<Vec<u32>>,
}

impl<'a> Finding<'a> {
    /// Runs the first stage of a search.
    pub(crate) fn begin(
        settings: &ServiceSettings,
        live: &'a Snapshot,
        asked: &Asked<'a>,
    ) -> Result<Self, Failure> {
        let named = live.model(asked.model)?;
        let served = named.matching()?;
        let allowed = asked.filter.map(|filter| live.collection.allowed(filter)).transpose()?;
        let depth = asked.depth.unwrap_or(settings.depth);
        if !(1..=MAX_DEPTH).contains(&depth) {
            return Err(Failure::Unusable(format!("`depth` is {depth}; 1 to {MAX_DEPTH} is possible")));
        }
        let proposers = asked.first_stage.unwrap_or(&settings.first_stage);
        if proposers.len() > MOST_PROPOSERS {
            return Err(Failure::Unusable(format!(
                "`first_stage` names {} models; at most {MOST_PROPOSERS} can propose documents",
                proposers.len()
            )));
        }
        let mut proposers =
            proposers.iter().map(|name| live.model(Some(name))).collect::<Result<Vec<_>, _>>()?;
        proposers.sort_by_key(|proposer| proposer.name);
        proposers.dedup_by_key(|proposer| proposer.name);
        // By the settings, models of the first stage search alone.
        let is_proposer = proposers.iter().any(|proposer| proposer.name == named.name);
        let in_two_stages = !proposers.is_empty() && (asked.first_stage.is_some() || !is_proposer);
        let propose = || -> Result<Vec<u32>, Failure> {
            let mut proposed = Vec::new();
            for proposer in &proposers {
                let hits = proposer.matching()?.top(asked.query, depth, allowed.as_ref())?;
                proposed.extend(hits.iter().map(|hit| hit.document));
            }
            proposed.sort_unstable();
            proposed.dedup();
            Ok(proposed)
        };
        let proposed = in_two_stages.then(propose).transpose()?;
        Ok(Self { named, served, query: asked.query, allowed, proposed })
    }

    /// The model.
    pub(crate) fn served(&self) -> &'a Served {
        self.served
    }

    /// Number of documents that the first stage proposes.
    pub(crate) fn n_proposed(&self) -> Option<usize> {
        self.proposed.as_ref().map(Vec::len)
    }

    /// Returns the best documents: the highest score first, ties by document number.
    pub(crate) fn top(&self, top: usize) -> Result<Vec<Hit>, Failure> {
        let hits = match &self.proposed {
            None => self.served.top(self.query, top, self.allowed.as_ref())?,
            Some(proposed) => {
                let candidates: Vec<Candidate<'_>> = proposed.iter().copied().map(Candidate::Known).collect();
                let scores = self.served.score(self.query, &candidates)?;
                let scored = proposed.iter().zip(scores);
                let mut hits: Vec<Hit> =
                    scored.filter_map(|(&document, score)| Some(Hit { document, score: score? })).collect();
                hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
                hits.truncate(top);
                hits
            }
        };
        check_finite("the request", hits.iter().map(|hit| hit.score))?;
        Ok(hits)
    }

    /// Explains the scores of documents of the collection, relative to the documents that [`Self::top`] ranks. A document that
    /// is not among them is added.
    pub(crate) fn explain(&self, documents: &[u32]) -> Result<Vec<Explanation>, Failure> {
        let known = |&document: &u32| Candidate::Known(document);
        let Some(proposed) = &self.proposed else {
            return Ok(self.served.explain_among(self.query, documents, self.allowed.as_ref())?);
        };
        let mut list = proposed.clone();
        list.extend(documents.iter().filter(|document| proposed.binary_search(document).is_err()));
        let place = |document: &u32| {
            proposed.binary_search(document).ok().or_else(|| list.iter().position(|other| other == document))
        };
        let places: Vec<usize> = documents.iter().filter_map(place).collect();
        let candidates: Vec<Candidate<'_>> = list.iter().map(known).collect();
        Ok(self.served.explain_in_list(self.query, &candidates, &places)?)
    }
}
