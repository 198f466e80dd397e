//! Sources of rankings: a parsed run file, or lists in memory.

use crate::data::run::{Run, Scored};
use crate::{Error, Result};

/// Rankings of many queries. Implemented by [`Run`] and by slices of
/// `(query id, list of (document id, score))`; lists need not be sorted.
pub trait Rankings: Sync {
    /// Number of queries.
    fn n_queries(&self) -> usize;
    /// The id of the `i`-th query.
    fn query(&self, i: usize) -> &str;
    /// Replaces the content of `ranking` by the documents of the `i`-th query, in any order.
    fn read<'s>(&'s self, i: usize, ranking: &mut Vec<Scored<'s>>) -> Result<()>;
    /// Builds the error of a document that appears twice in the list of the `i`-th query.
    fn duplicate(&self, i: usize, document: &str) -> Error {
        Error::Params(format!("document {document} is ranked twice for query {}; keep one", self.query(i)))
    }
}

impl Rankings for Run<'_> {
    fn n_queries(&self) -> usize {
        self.n_queries()
    }

    fn query(&self, i: usize) -> &str {
        self.query(i)
    }

    fn read<'s>(&'s self, i: usize, ranking: &mut Vec<Scored<'s>>) -> Result<()> {
        self.read(i, ranking)
    }

    fn duplicate(&self, i: usize, document: &str) -> Error {
        self.duplicate(i, document)
    }
}

impl<Q: AsRef<str> + Sync, D: AsRef<str> + Sync> Rankings for [(Q, Vec<(D, f32)>)] {
    fn n_queries(&self) -> usize {
        self.len()
    }

    fn query(&self, i: usize) -> &str {
        self[i].0.as_ref()
    }

    fn read<'s>(&'s self, i: usize, ranking: &mut Vec<Scored<'s>>) -> Result<()> {
        ranking.clear();
        let (query, list) = &self[i];
        if let Some((document, _)) = list.iter().find(|d| d.1.is_nan()) {
            let (document, query) = (document.as_ref(), query.as_ref());
            return Err(Error::Params(format!("the score of document {document} for query {query} is NaN")));
        }
        let scored = |d: &'s (D, f32)| Scored { document: d.0.as_ref().as_bytes(), score: d.1.into() };
        ranking.extend(list.iter().map(scored));
        Ok(())
    }
}
