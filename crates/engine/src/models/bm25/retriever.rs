//! Exact top-k with early termination (MaxScore: Turtle & Flood 1995), in windows of documents.
//!
//! Every term has a bound: the most that it adds to any document. Once k documents are known, terms whose bounds
//! together cannot reach the k-th score are *optional*: a document with only such terms cannot enter the result. So for
//! every window of documents, the postings of the other terms are summed into an array that stays in the cache, and the
//! optional terms are looked up only for documents that may still enter.
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use matchrank_core::{Error, Result};
use rayon::prelude::*;
use tantivy::schema::IndexRecordOption;

use super::TextBm25;
use crate::retrieval::{Index, Postings, Segment};
use crate::scoring::{Among, Hit, TopK};
use crate::text::Bag;
use crate::unwind::caught;

/// Finds the k best documents of an [`Index`] for a query, by a [`TextBm25`].
///
/// The statistics (document frequencies, average length) are the model's, whether or not they come from
/// the documents of the index.
pub struct Retriever<'m> {
    index: Arc<Index>,
    model: &'m TextBm25,
    /// Position in the index and weight of each weighted field.
    fields: Vec<(usize, f64)>,
    /// Weighted length of every document, by segment.
    lengths: Vec<Vec<f32>>,
    /// Largest saturation of each term, measured when a term is first used; NaN before.
    largest: Vec<AtomicU32>,
}

/// Documents summed at a time: 8 bytes each, 256 KiB, which fits into the second-level cache. Few in tests, so that
/// small collections have many windows.
const WINDOW: u32 = if cfg!(test) { 1 << 8 } else { 1 << 15 };
/// Terms in fewer documents get the bound that holds for every term, k1 + 1.
const RARE: u32 = 512;
/// Slack for rounding: sums and their bounds are computed in different orders. It covers the difference many times
/// over.
const SLACK: f64 = 1.0 + 1e-9;

/// The postings of one query term in one segment.
struct Term {
    /// qtf idf.
    weight: f64,
    /// Most that the term adds to a document.
    bound: f64,
    /// The term in each weighted field that has it, with the weight of the field.
    fields: Vec<(f64, Postings)>,
}

#[derive(Default)]
struct SearchScratch {
    scores: Vec<f64>,
    counts: Vec<f64>,
    present: Vec<u64>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<SearchScratch>>> = const { Cell::new(None) };
}

impl<'m> Retriever<'m> {
    /// Creates a retriever. Returns an error unless model and index fit: the same analyser, and an index that has the
    /// weighted fields.
    pub fn new(index: Arc<Index>, model: &'m TextBm25) -> Result<Self> {
        if index.analyser() != model.words.analyser.params() {
            return Err(Error::Params(format!(
                "{} was built with a different analyser than the model ({:?}, not {:?}); build it again",
                index.name(),
                index.analyser(),
                model.words.analyser.params()
            )));
        }
        let mut fields = Vec::new();
        for (name, weight) in model.words.fields.iter() {
            let place = index.fields().iter().position(|field| field == name).ok_or_else(|| {
                Error::Params(format!(
                    "{} has no field {name:?}; it has {}",
                    index.name(),
                    index.fields().join(", ")
                ))
            })?;
            fields.push((place, f64::from(weight)));
        }
        let lengths = index.segments.iter().map(|segment| lengths(segment, model, &fields)).collect();
        let unknown = f32::NAN.to_bits();
        let largest = (0..model.words.vocabulary.len()).map(|_| AtomicU32::new(unknown)).collect();
        Ok(Self { index, model, fields, lengths, largest })
    }

    /// Returns the index that is searched.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the model that scores documents.
    pub fn model(&self) -> &TextBm25 {
        self.model
    }

    /// Returns the `k` best documents for the text of a query.
    pub fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>> {
        self.search_bag(&self.model.words.query(query), k)
    }

    /// Returns the `k` best documents for each query, on all threads.
    pub fn search_all(&self, queries: &[impl AsRef<str> + Sync], k: usize) -> Result<Vec<Vec<Hit>>> {
        queries.par_iter().map(|query| self.search(query.as_ref(), k)).collect()
    }

    /// Returns the `k` best documents for an analysed query.
    pub fn search_bag(&self, query: &Bag, k: usize) -> Result<Vec<Hit>> {
        self.search_among(query, k, None)
    }

    /// Returns the `k` best of some documents, or of all, for an analysed query.
    pub(crate) fn search_among(&self, query: &Bag, k: usize, among: Option<Among<'_>>) -> Result<Vec<Hit>> {
        let mut top = TopK::new(k);
        if k == 0 {
            return Ok(Vec::new());
        }
        let mut scratch = SCRATCH.take().unwrap_or_default();
        scratch.scores.resize(WINDOW as usize, 0.0);
        scratch.counts.resize(WINDOW as usize, 0.0);
        scratch.present.resize(WINDOW as usize / 64, 0);
        // A mapped file that changes after its checksum was compared may cause anything.
        let searched = caught(|| {
            for (segment, lengths) in self.index.segments.iter().zip(&self.lengths) {
                let mut terms = self.terms(query, segment).map_err(|e| self.unreadable(e))?;
                terms.sort_by(|a, b| a.bound.total_cmp(&b.bound));
                self.search_segment(&mut terms, (segment, lengths), &mut scratch, &mut top, among);
            }
            Ok(())
        });
        searched.unwrap_or_else(|panic| {
            Err(Error::format(
                self.index.name(),
                format!("the index is damaged ({panic}); remove its folder"),
            ))
        })?;
        SCRATCH.set(Some(scratch));
        Ok(top.into_hits())
    }

    fn terms(&self, query: &Bag, segment: &Segment) -> std::io::Result<Vec<Term>> {
        let mut terms = Vec::with_capacity(query.indices.len());
        for (&id, &count) in query.indices.iter().zip(&query.counts) {
            let weight = f64::from(count) * self.model.bm25.idf(id);
            let fields = self.open(id, segment)?;
            if !fields.is_empty() {
                terms.push(Term { weight, bound: weight * self.largest_saturation(id)?, fields });
            }
        }
        Ok(terms)
    }

    fn open(&self, id: u32, segment: &Segment) -> std::io::Result<Vec<(f64, Postings)>> {
        let term = self.model.words.vocabulary.term(id).as_bytes();
        let mut opened = Vec::with_capacity(self.fields.len());
        for &(place, weight) in &self.fields {
            let reader = &segment.postings[place];
            if let Some(info) = reader.terms().get(term)? {
                let blocks = reader.read_block_postings_from_terminfo(&info, IndexRecordOption::WithFreqs)?;
                opened.push((weight, Postings::new(blocks)));
            }
        }
        Ok(opened)
    }

    /// Returns an upper bound of `tf (k1 + 1) / (tf + K)` of a term over all documents.
    fn largest_saturation(&self, id: u32) -> std::io::Result<f64> {
        if self.model.bm25.document_frequencies()[id as usize] < RARE {
            return Ok(self.model.bm25.params().k1 + 1.0);
        }
        let known = f32::from_bits(self.largest[id as usize].load(Ordering::Relaxed));
        if !known.is_nan() {
            return Ok(f64::from(known));
        }
        let mut largest = 0.0f64;
        let mut counts = vec![0.0; WINDOW as usize];
        let mut present = vec![0; WINDOW as usize / 64];
        for (segment, lengths) in self.index.segments.iter().zip(&self.lengths) {
            let mut fields = self.open(id, segment)?;
            while let Some(window) = next_window(fields.iter().map(|(_, postings)| postings)) {
                self.for_each_saturation(
                    &mut fields,
                    &window,
                    lengths,
                    &mut counts,
                    &mut present,
                    |_, value| {
                        largest = largest.max(value);
                    },
                );
                present.fill(0);
            }
        }
        let rounded_up = (largest as f32).next_up();
        self.largest[id as usize].store(rounded_up.to_bits(), Ordering::Relaxed);
        Ok(f64::from(rounded_up))
    }

    /// Calls `each(place in the window, saturation)` for the documents of a window that have the term, and
    /// marks them in `present`. `counts` is all zero before and after.
    fn for_each_saturation(
        &self,
        fields: &mut [(f64, Postings)],
        window: &Range<u32>,
        lengths: &[f32],
        counts: &mut [f64],
        present: &mut [u64],
        mut each: impl FnMut(usize, f64),
    ) {
        if let [(weight, postings)] = fields {
            postings.for_each_in(window, |document, count| {
                let place = (document - window.start) as usize;
                present[place / 64] |= 1 << (place % 64);
                each(place, self.saturation(*weight * f64::from(count), lengths[document as usize]));
            });
            return;
        }
        let mut found = [0u64; WINDOW as usize / 64];
        for (weight, postings) in fields {
            postings.for_each_in(window, |document, count| {
                let place = (document - window.start) as usize;
                found[place / 64] |= 1 << (place % 64);
                counts[place] += *weight * f64::from(count);
            });
        }
        for_each_bit(&found, |place| {
            let count = std::mem::take(&mut counts[place]);
            each(place, self.saturation(count, lengths[window.start as usize + place]));
        });
        present.iter_mut().zip(&found).for_each(|(all, some)| *all |= some);
    }

    /// Returns core's saturation of a weighted count, rounded as a [`Bag`] would store it.
    #[inline]
    fn saturation(&self, count: f64, length: f32) -> f64 {
        self.model.bm25.saturation(count as f32, self.model.bm25.length_norm(length))
    }

    /// Searches one segment; terms ascend by bound.
    fn search_segment(
        &self,
        terms: &mut [Term],
        (segment, lengths): (&Segment, &[f32]),
        scratch: &mut SearchScratch,
        top: &mut TopK,
        among: Option<Among<'_>>,
    ) {
        // bounds[i]: the most that terms 0..=i add together.
        let bounds: Vec<f64> = terms
            .iter()
            .scan(0.0, |sum, term| {
                *sum += term.bound;
                Some(*sum * SLACK)
            })
            .collect();
        let SearchScratch { scores, counts, present } = scratch;
        loop {
            let n_optional = bounds.partition_point(|&bound| bound as f32 <= top.threshold());
            let (optional, needed) = terms.split_at_mut(n_optional);
            let postings = needed.iter().flat_map(|term| term.fields.iter().map(|(_, postings)| postings));
            let Some(window) = next_window(postings) else { break };
            let mut consider = |document: u32, mut score: f64| {
                if among.is_some_and(|among| !among.holds(segment.first + document)) {
                    return;
                }
                for (term, bound) in optional.iter_mut().zip(&bounds).rev() {
                    if ((score + bound) * SLACK) as f32 <= top.threshold() {
                        return;
                    }
                    let count: f64 = term
                        .fields
                        .iter_mut()
                        .map(|(weight, field)| *weight * f64::from(field.count(document)))
                        .sum();
                    if count > 0.0 {
                        score += term.weight * self.saturation(count, lengths[document as usize]);
                    }
                }
                if score as f32 > top.threshold() {
                    top.offer(Hit { document: segment.first + document, score: score as f32 });
                }
            };
            // A single list needs no summing.
            if let [Term { weight, fields, .. }] = needed
                && let [(field_weight, postings)] = &mut fields[..]
            {
                postings.for_each_in(&window, |document, count| {
                    let count = *field_weight * f64::from(count);
                    consider(document, *weight * self.saturation(count, lengths[document as usize]));
                });
                continue;
            }
            for term in needed {
                let weight = term.weight;
                self.for_each_saturation(
                    &mut term.fields,
                    &window,
                    lengths,
                    counts,
                    present,
                    |place, value| {
                        scores[place] += weight * value;
                    },
                );
            }
            for_each_bit(present, |place| {
                consider(window.start + place as u32, std::mem::take(&mut scores[place]));
            });
            present.fill(0);
        }
    }

    fn unreadable(&self, error: std::io::Error) -> Error {
        Error::io(self.index.name(), error)
    }
}

/// Returns the weighted length of every document of a segment.
fn lengths(segment: &Segment, model: &TextBm25, fields: &[(usize, f64)]) -> Vec<f32> {
    let mut counts = vec![0u32; fields.len()];
    (0..segment.n_documents as usize)
        .map(|document| {
            for (count, (place, _)) in counts.iter_mut().zip(fields) {
                *count = segment.lengths[*place][document];
            }
            model.words.fields.weighted(&counts)
        })
        .collect()
}

/// Returns the window that starts at the first current document of the postings.
fn next_window<'a>(postings: impl Iterator<Item = &'a Postings>) -> Option<Range<u32>> {
    let start = postings.filter_map(Postings::document).min()?;
    Some(start..start.saturating_add(WINDOW))
}

fn for_each_bit(words: &[u64], mut each: impl FnMut(usize)) {
    for (index, &word) in words.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            each(index * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}
