//! Removes accents from Latin and Greek letters, so that `café` and `cafe` are one word.
//!
//! A letter is replaced by the base of its canonical decomposition (`é` is `e` and U+0301), and combining marks that
//! follow a folded letter are dropped. A few Latin letters do not decompose and are replaced by the letters that people
//! type instead: `ø` o, `ł` l, `đ` d, `ð` d, `ħ` h, `ı` i, `ß` ss, `æ` ae, `œ` oe, `þ` th.
//!
//! Letters of other scripts stay as they are, because their marks are no accents: `й` is not `и`, `が` is not `か`, and
//! a vowel sign belongs to its syllable.

use unicode_normalization::char::decompose_canonical;

/// Writes a lower-case word without accents into `out`, replacing its content.
pub(super) fn fold_accents_into(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        return out.push_str(word);
    }
    let mut follows_folded = false;
    for c in word.chars() {
        if is_mark(c) {
            if !follows_folded {
                out.push(c);
            }
            continue;
        }
        let mut base = None;
        decompose_canonical(c, |part| base = base.or(Some(part)));
        let base = base.unwrap_or(c);
        follows_folded = is_latin_or_greek(base);
        match base {
            'ø' => out.push('o'),
            'ł' => out.push('l'),
            'đ' | 'ð' => out.push('d'),
            'ħ' => out.push('h'),
            'ı' => out.push('i'),
            'ß' => out.push_str("ss"),
            'æ' => out.push_str("ae"),
            'œ' => out.push_str("oe"),
            'þ' => out.push_str("th"),
            _ => out.push(if follows_folded { base } else { c }),
        }
    }
}

/// Returns true for the combining diacritical marks that Latin and Greek use.
fn is_mark(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

fn is_latin_or_greek(c: char) -> bool {
    c.is_ascii_alphabetic() || ('\u{c0}'..='\u{24f}').contains(&c) || ('\u{370}'..='\u{3ff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    fn folded(word: &str) -> String {
        let mut out = String::from("old");
        fold_accents_into(word, &mut out);
        out
    }

    #[test]
    fn latin_and_greek_letters_lose_their_accents() {
        for (word, expected) in [
            ("café", "cafe"),
            ("cafe\u{301}", "cafe"),
            ("smørrebrød", "smorrebrod"),
            ("łódź", "lodz"),
            ("đặng", "dang"),
            ("straße", "strasse"),
            ("œuvre", "oeuvre"),
            ("læge", "laege"),
            ("ısı", "isi"),
            ("i\u{307}stanbul", "istanbul"),
            ("ǭ", "o"),
            ("ǿ", "o"),
            ("ώρα", "ωρα"),
            ("ᾴ", "α"),
            ("þór", "thor"),
            ("x-rays", "x-rays"),
        ] {
            assert_eq!(folded(word), expected, "{word}");
        }
    }

    #[test]
    fn other_scripts_keep_their_marks() {
        for word in
            ["мой", "и\u{306}", "ёж", "が", "か\u{3099}", "한국", "हिन्दी", "שָׁלוֹם", "Å\u{3099}", "漢字"]
        {
            let kept = folded(word);
            let expected = if word.starts_with('Å') { "A\u{3099}" } else { word };
            assert_eq!(kept, expected);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// Folding again changes nothing, and composed and decomposed spellings of a word give the same.
        #[test]
        fn folding_is_idempotent_and_ignores_composition(word in "[a-zà-ž\u{300}-\u{30c}α-ώа-я]{0,12}") {
            let once = folded(&word);
            prop_assert_eq!(folded(&once), once.clone());
            prop_assert_eq!(
                folded(&word.nfd().collect::<String>()).nfc().collect::<String>(),
                once.nfc().collect::<String>()
            );
        }
    }
}
