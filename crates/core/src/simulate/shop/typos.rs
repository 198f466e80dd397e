//! Typos: one edit of a word, the same few for a word again and again.
//!
//! Customers miss the same keys, so a word has [`VARIANTS`] typos in the whole log. What a model learns of a typo in one
//! query then serves others.

use rand::RngExt;

use super::words::KNOWN;
use crate::simulate::random::{Stream, early, stream};

/// Purpose of the random numbers of a typo.
const PURPOSE: u64 = 11;
/// Number of typos of a word, the first far more often than the last.
const VARIANTS: usize = 4;
/// Shorter words have no typos: almost every edit of them is another word.
const SHORTEST: usize = 4;
/// Neighbours of the letters a to z on a keyboard.
const NEIGHBOURS: [&[u8]; 26] = [
    b"sqz", b"vn", b"xv", b"sf", b"wr", b"dg", b"fh", b"gj", b"uo", b"hk", b"jl", b"k", b"n", b"bm", b"ip",
    b"o", b"wa", b"et", b"ad", b"ry", b"yi", b"cb", b"qe", b"zc", b"tu", b"xa",
];

/// Replaces one word by a typo of it, and returns the word as meant and as typed; none if all words are short.
pub(super) fn mistype(words: &mut [String], seed: u64, rng: &mut Stream) -> Option<(String, String)> {
    let long: Vec<usize> = (0..words.len()).filter(|&i| words[i].len() >= SHORTEST).collect();
    if long.is_empty() {
        return None;
    }
    let word = &mut words[long[rng.random_range(0..long.len())]];
    let typed = typo(word, early(VARIANTS, rng), seed)?;
    Some((std::mem::replace(word, typed.clone()), typed))
}

/// Returns a typo of a word: two letters swapped, one left out, one twice, or one of a neighbouring key. None if a few
/// attempts give words of the shop only.
fn typo(word: &str, variant: usize, seed: u64) -> Option<String> {
    // FNV-1a, so that a word has its own stream in any order of the queries.
    let key = word
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |key: u64, byte| (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut rng = stream(seed ^ key, variant, PURPOSE);
    (0..20).find_map(|_| {
        let mut letters = word.as_bytes().to_vec();
        // The first letter is right, as it mostly is.
        let at = rng.random_range(1..letters.len());
        match rng.random_range(0..4) {
            0 => letters.swap(at - usize::from(at > 1), at),
            1 => {
                letters.remove(at);
            }
            2 => letters.insert(at, letters[at]),
            _ => {
                let near = NEIGHBOURS[usize::from(letters[at] - b'a')];
                letters[at] = near[rng.random_range(0..near.len())];
            }
        }
        let typed = String::from_utf8(letters).expect("letters are ASCII");
        (typed != word && !KNOWN.contains(&typed)).then_some(typed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_long_word_has_its_own_typos() {
        let mut n_words = 0;
        for word in KNOWN.iter().filter(|word| word.len() >= SHORTEST) {
            assert!(word.bytes().all(|c| c.is_ascii_lowercase()), "{word}");
            for seed in 0..3 {
                for variant in 0..VARIANTS {
                    let typed = typo(word, variant, seed).unwrap();
                    assert_eq!(typo(word, variant, seed).as_ref(), Some(&typed), "a typo is a habit");
                    assert!(
                        typed.len().abs_diff(word.len()) <= 1 && typed[..1] == word[..1],
                        "{word} {typed}"
                    );
                }
            }
            n_words += 1;
        }
        assert!(n_words > 200, "{n_words}");
    }
}
