use std::collections::BTreeMap;

use matchrank_core::matching::SparseRow;

use super::{Analyser, FieldWeights, Vocabulary};

/// Text as a sparse vector: weighted counts of the terms of a vocabulary.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bag {
    /// Term ids, ascending, each once.
    pub indices: Vec<u32>,
    /// Weighted count of each term; as long as `indices`.
    pub counts: Vec<f32>,
    /// Weighted number of all tokens, those outside the vocabulary included.
    pub length: f32,
}

impl Bag {
    /// Returns terms and counts as a row for the models of core.
    pub fn row(&self) -> SparseRow<'_> {
        SparseRow::new(&self.indices, &self.counts).expect("a bag is sorted and finite")
    }
}

/// Converts texts to [`Bag`]s with an analyser, a vocabulary and field weights, which belong together and are stored
/// together in a model file.
#[derive(Debug, Clone)]
pub struct BagOfWords {
    /// Splits text into tokens.
    pub analyser: Analyser,
    /// Gives tokens their ids.
    pub vocabulary: Vocabulary,
    /// Weighs the fields of documents; queries have one field of weight 1.
    pub fields: FieldWeights,
}

impl BagOfWords {
    /// Returns the bag of a query: every token counts 1, as often as it is repeated.
    pub fn query(&self, text: &str) -> Bag {
        let mut ids: Vec<u32> = Vec::new();
        let mut length = 0u32;
        self.analyser.tokens(text, |token| {
            length += 1;
            ids.extend(self.vocabulary.id(token));
        });
        ids.sort_unstable();
        let mut bag = Bag { length: length as f32, ..Default::default() };
        for run in ids.chunk_by(|a, b| a == b) {
            bag.indices.push(run[0]);
            bag.counts.push(run.len() as f32);
        }
        bag
    }

    /// Returns the bag of a document, given as one text for each of [`fields`](Self::fields), in their order. A field
    /// that the document does not have is an empty text. Panics for another number of texts.
    pub fn document(&self, texts: &[impl AsRef<str>]) -> Bag {
        assert_eq!(texts.len(), self.fields.len(), "one text for every field");
        let mut ids: Vec<(u32, u32)> = Vec::new();
        let mut lengths = vec![0u32; texts.len()];
        let fields = self.fields.iter().map(|(name, _)| name).zip(texts.iter().map(AsRef::as_ref));
        self.analyser.document(fields, |field, token| {
            lengths[field] += 1;
            ids.extend(self.vocabulary.id(token).map(|id| (id, field as u32)));
        });
        ids.sort_unstable();
        let mut bag = Bag { length: self.fields.weighted(&lengths), ..Default::default() };
        let mut counts = lengths;
        for run in ids.chunk_by(|a, b| a.0 == b.0) {
            counts.fill(0);
            run.iter().for_each(|&(_, field)| counts[field as usize] += 1);
            bag.indices.push(run[0].0);
            bag.counts.push(self.fields.weighted(&counts));
        }
        bag
    }

    /// Returns the terms of a bag with their counts, for people to read.
    pub fn terms<'a>(&'a self, bag: &'a Bag) -> BTreeMap<&'a str, f32> {
        bag.indices.iter().map(|&id| self.vocabulary.term(id)).zip(bag.counts.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::AnalyserParams;

    fn words() -> BagOfWords {
        BagOfWords {
            analyser: Analyser::new(&AnalyserParams::default()).unwrap(),
            vocabulary: Vocabulary::from_terms(9, [("dog", 5, 9), ("run", 3, 3), ("cat", 2, 4)]).unwrap(),
            fields: FieldWeights::new([("title", 2.0), ("body", 0.5)]).unwrap(),
        }
    }

    #[test]
    fn documents_weigh_their_fields() {
        let bag = words().document(&["Dogs", "running dogs and birds: dog"]);
        assert_eq!(bag.indices, [0, 1]);
        assert_eq!(bag.counts, [3.0, 0.5]);
        assert_eq!(bag.length, 2.0 + 0.5 * 4.0);
    }

    #[test]
    fn queries_count_repetitions() {
        let words = words();
        let bag = words.query("cat dog bird the cat");
        assert_eq!(
            (bag.indices.as_slice(), bag.counts.as_slice(), bag.length),
            (&[0, 2][..], &[1.0, 2.0][..], 4.0)
        );
        assert_eq!(words.terms(&bag), BTreeMap::from([("cat", 2.0), ("dog", 1.0)]));
        assert_eq!(words.query(""), Bag::default());
    }
}
