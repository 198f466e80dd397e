//! Artificial words: pronounceable, distinct, and unaffected by English stemming and stop words.
//!
//! A word is a sequence of syllables, a consonant and a vowel each. The first syllables identify the topic, so that
//! readers see which words belong together. There is no `e` and no `y`, and the last vowel is `a`, `o` or `u`, so that
//! no suffix rule of the Porter2 stemmer applies. At least four letters avoid stop words.

const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
const INNER_VOWELS: &[u8; 4] = b"aiou";
const LAST_VOWELS: &[u8; 3] = b"aou";
const INNER: usize = CONSONANTS.len() * INNER_VOWELS.len();
const LAST: usize = CONSONANTS.len() * LAST_VOWELS.len();

/// Spells the words of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Speller {
    topic_syllables: u32,
}

impl Speller {
    /// Creates words for the given number of topics, and one more for the words that belong to all of them.
    pub fn new(topics: usize) -> Self {
        Self { topic_syllables: if topics < INNER { 1 } else { 2 } }
    }

    /// Appends word `index` of `topic`. Equal arguments give equal words, and different arguments different words.
    pub fn spell(self, topic: usize, index: usize, out: &mut Vec<u8>) {
        // Multiplying by an odd number permutes the residues of a power of two: neighbours look different.
        let topic = topic * 37 % INNER.pow(self.topic_syllables);
        for power in (0..self.topic_syllables).rev() {
            push(topic / INNER.pow(power) % INNER, INNER_VOWELS, out);
        }
        // The shortest words come first: LAST of one syllable, INNER * LAST of two, and so on.
        let (mut inner, mut left) = (0, index);
        while left >= INNER.pow(inner) * LAST {
            left -= INNER.pow(inner) * LAST;
            inner += 1;
        }
        let middle = (left / LAST) * 27 % INNER.pow(inner).max(1);
        for power in 0..inner {
            push(middle / INNER.pow(power) % INNER, INNER_VOWELS, out);
        }
        push((left % LAST) * 5 % LAST, LAST_VOWELS, out);
    }
}

fn push(syllable: usize, vowels: &[u8], out: &mut Vec<u8>) {
    out.push(CONSONANTS[syllable / vowels.len()]);
    out.push(vowels[syllable % vowels.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn words_are_distinct_and_well_formed() {
        for topics in [1, 16, 64, 65, 500, 4_000] {
            let speller = Speller::new(topics);
            let mut seen = HashSet::new();
            for topic in (0..=topics).step_by(topics.div_ceil(20)) {
                for index in (0..400).chain(3_100..3_200).chain(190_000..190_050) {
                    let mut word = Vec::new();
                    speller.spell(topic, index, &mut word);
                    assert!(word.len() >= 4 && word.len() % 2 == 0);
                    assert!(b"aou".contains(word.last().unwrap()));
                    assert!(seen.insert(word), "word {index} of topic {topic} is spelled like another");
                }
            }
        }
    }
}
