//! Near-duplicates of queries: sets of words that overlap.
//!
//! Two queries are near-duplicates if the Jaccard index of their sets of analysed words, |A ∩ B| / |A ∪ B|, is at least
//! 4/5: the same words in another order or another inflection, or one word of five added, or one of nine exchanged.
//!
//! Nothing is compared with everything. With words in one fixed order, rarest first, two such sets share a word among
//! the first n - ceil(4n/5) + 1 words of either (prefix filtering; Chaudhuri, Ganti, Kaushik, ICDE 2006). So judged queries are
//! filed under these few, rare words, and every training query is looked up under its own. Training queries are read once
//! and not kept.

use foldhash::{HashMap, HashSet};

use crate::text::Analyser;

/// The Jaccard index, in fifths, from which queries are near-duplicates.
const FIFTHS: usize = 4;

/// Sets of words that wait for a near-duplicate.
pub(super) struct NearDuplicates<'a> {
    analyser: &'a Analyser,
    /// Numbers of the words, the rarest first.
    numbers: HashMap<String, u32>,
    /// Different sets of words, each ascending.
    sets: Vec<Vec<u32>>,
    /// The set of each text.
    set_of: Vec<usize>,
    /// Sets by each of their first words.
    filed: HashMap<u32, Vec<u32>>,
    is_found: Vec<bool>,
    /// Words of the text at hand that no set has.
    others: HashSet<String>,
}

/// Number of first words of a set among which there is one that a near-duplicate shares.
fn prefix(n_words: usize) -> usize {
    n_words - (FIFTHS * n_words).div_ceil(5) + 1
}

/// Returns true if two ascending sets are near-duplicates; `n_other` counts words of the second that are not in `b`.
fn is_near(a: &[u32], b: &[u32], n_other: usize) -> bool {
    let n_shared = a.iter().filter(|word| b.binary_search(word).is_ok()).count();
    5 * n_shared >= FIFTHS * (a.len() + b.len() + n_other - n_shared)
}

impl<'a> NearDuplicates<'a> {
    /// Files the sets of words of some texts.
    pub(super) fn of<'t>(analyser: &'a Analyser, texts: impl Iterator<Item = &'t str>) -> Self {
        let mut n_texts: HashMap<String, u32> = HashMap::default();
        let words: Vec<HashSet<String>> = texts
            .map(|text| {
                let mut words = HashSet::default();
                analyser.tokens(text, |word| {
                    words.insert(word.to_owned());
                });
                words.iter().for_each(|word| *n_texts.entry(word.clone()).or_default() += 1);
                words
            })
            .collect();
        let mut order: Vec<(u32, String)> = n_texts.into_iter().map(|(word, n)| (n, word)).collect();
        order.sort_unstable();
        let numbers: HashMap<String, u32> = order.into_iter().map(|(_, word)| word).zip(0..).collect();
        let mut places: HashMap<Vec<u32>, usize> = HashMap::default();
        let (mut sets, mut set_of) = (Vec::new(), Vec::with_capacity(words.len()));
        for words in words {
            let mut set: Vec<u32> = words.iter().map(|word| numbers[word]).collect();
            set.sort_unstable();
            set_of.push(*places.entry(set.clone()).or_insert_with(|| {
                sets.push(set);
                sets.len() - 1
            }));
        }
        let mut filed: HashMap<u32, Vec<u32>> = HashMap::default();
        for (i, set) in (0..).zip(&sets) {
            for &word in set.iter().take(prefix(set.len())) {
                filed.entry(word).or_default().push(i);
            }
        }
        let is_found = vec![false; sets.len()];
        Self { analyser, numbers, sets, set_of, filed, is_found, others: HashSet::default() }
    }

    /// Marks the sets that the words of a text are a near-duplicate of.
    pub(super) fn look_up(&mut self, text: &str) {
        let Self { numbers, others, .. } = self;
        others.clear();
        let mut known: Vec<u32> = Vec::new();
        self.analyser.tokens(text, |word| match numbers.get(word) {
            Some(number) => known.push(*number),
            None => {
                others.insert(word.to_owned());
            }
        });
        known.sort_unstable();
        known.dedup();
        // Words that no set has count as the rarest: they come first.
        let n_first = prefix(known.len() + others.len()).saturating_sub(others.len());
        for word in known.iter().take(n_first) {
            for &set in self.filed.get(word).into_iter().flatten() {
                let set = set as usize;
                if !self.is_found[set] && is_near(&self.sets[set], &known, others.len()) {
                    self.is_found[set] = true;
                }
            }
        }
    }

    /// Returns true for each text that has a near-duplicate among those looked up.
    pub(super) fn found(&self) -> Vec<bool> {
        self.set_of.iter().map(|&set| self.is_found[set]).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::AnalyserParams;

    fn found(waiting: &[&str], training: &[&str]) -> Vec<bool> {
        let analyser = Analyser::new(&AnalyserParams::default()).unwrap();
        let mut near = NearDuplicates::of(&analyser, waiting.iter().copied());
        training.iter().for_each(|text| near.look_up(text));
        near.found()
    }

    #[test]
    fn words_count_not_their_order_and_inflection() {
        let waiting = ["red running shoe", "blue shoes", "the", "one two three four five", "shoes blue", "x"];
        let training = ["Shoes, red: running", "one two three four", "blue boots", "the of", "x zebra"];
        assert_eq!(found(&waiting, &training), [true, false, false, true, false, false]);
        // 8 of 10 different words are shared, and 7 of 9.
        assert_eq!(found(&["a1 a2 a3 a4 a5 a6 a7 a8 b"], &["a1 a2 a3 a4 a5 a6 a7 a8 c"]), [true]);
        assert_eq!(found(&["a1 a2 a3 a4 a5 a6 a7 b"], &["a1 a2 a3 a4 a5 a6 a7 c"]), [false]);
    }

    proptest! {
        #[test]
        fn nothing_is_missed_and_nothing_added(
            waiting in prop::collection::vec(prop::collection::vec(0u8..9, 0..9), 1..12),
            training in prop::collection::vec(prop::collection::vec(0u8..12, 0..9), 0..12),
        ) {
            let text = |words: &Vec<u8>| words.iter().map(|word| format!("w{word} ")).collect::<String>();
            let texts = |sets: &[Vec<u8>]| sets.iter().map(text).collect::<Vec<String>>();
            let (left, right) = (texts(&waiting), texts(&training));
            let left: Vec<&str> = left.iter().map(String::as_str).collect();
            let right: Vec<&str> = right.iter().map(String::as_str).collect();
            let jaccard = |a: &[u8], b: &[u8]| {
                let (a, b): (HashSet<u8>, HashSet<u8>) = (a.iter().copied().collect(), b.iter().copied().collect());
                let n = a.union(&b).count();
                n > 0 && 5 * a.intersection(&b).count() >= 4 * n
            };
            let slow: Vec<bool> =
                waiting.iter().map(|a| training.iter().any(|b| jaccard(a, b))).collect();
            prop_assert_eq!(found(&left, &right), slow);
        }
    }
}
