//! Splits text into words by the Unicode rules (UAX #29), fast if the text is ASCII.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;

/// Calls `each` with every word of `text`, as written (not lower-cased), in order.
///
/// The result is that of splitting the whole text (after NFKC, if requested) by UAX #29. One accent must not send a
/// whole document down the slow path. So a text that is not ASCII is split before every space, and only the pieces that
/// are not ASCII pay for normalisation and the Unicode tables. That is exact: a word never continues across a space,
/// and no character composes with a space that follows.
///
/// `buffer` holds a normalised piece; passing it in saves an allocation per text.
pub(super) fn for_each_word(text: &str, nfkc: bool, buffer: &mut String, mut each: impl FnMut(&str)) {
    if text.is_ascii() {
        return text.unicode_words().for_each(each);
    }
    for_each_piece(text, nfkc, buffer, |piece| for_each_of_piece(piece, &mut each));
}

/// Calls `each` with every piece of `text` from a space to the next, after NFKC, if requested.
pub(super) fn for_each_piece(text: &str, nfkc: bool, buffer: &mut String, mut each: impl FnMut(&str)) {
    let mut rest = text;
    while !rest.is_empty() {
        // At least one byte, so that a piece starts with its space and ends before the next one.
        let end = memchr::memchr(b' ', &rest.as_bytes()[1..]).map_or(rest.len(), |at| at + 1);
        let (piece, after) = rest.split_at(end);
        rest = after;
        if !piece.is_ascii() && nfkc && is_nfkc_quick(piece.chars()) != IsNormalized::Yes {
            buffer.clear();
            buffer.extend(piece.nfkc());
            each(buffer);
        } else {
            each(piece);
        }
    }
}

/// Calls `each` with every word of a piece.
pub(super) fn for_each_of_piece(piece: &str, each: &mut impl FnMut(&str)) {
    if piece.is_ascii() {
        piece.unicode_words().for_each(each);
    } else {
        for_each_trimmed(piece, each);
    }
}

/// Calls `each` with every word without leading spaces: by the Unicode rules a mark that follows a space belongs to it.
fn for_each_trimmed(piece: &str, each: &mut impl FnMut(&str)) {
    piece.unicode_words().for_each(|word| each(word.trim_start()));
}

/// Writes `word` lower-cased into `out`, replacing its content. Typographic apostrophes become plain ones, as in stop
/// words ("don't") and in the input of stemmers ("dog's").
pub(super) fn lower_case_into(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        out.push_str(word);
        out.make_ascii_lowercase();
    } else if word.contains(['\u{2018}', '\u{2019}', '\u{02bc}']) {
        out.push_str(&word.replace(['\u{2018}', '\u{2019}', '\u{02bc}'], "'").to_lowercase());
    } else {
        // By string, not by character: a final sigma depends on its place in the word.
        out.push_str(&word.to_lowercase());
    }
}

/// Normalises a query, so that equal queries of a log have equal texts: NFKC, lower case, white space trimmed and
/// collapsed to single spaces. Punctuation stays, since `c++` is not `c`.
///
/// ```
/// use matchrank_engine::text::normalise_query;
/// assert_eq!(normalise_query("  XBOX\t 360  "), "xbox 360");
/// assert_eq!(normalise_query("Ｘｂｏｘ"), "xbox");
/// ```
pub fn normalise_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut push_words = |text: &str| {
        for word in text.split_whitespace() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
    };
    if text.is_ascii() {
        push_words(text);
        out.make_ascii_lowercase();
        return out;
    }
    // Lower-casing can undo the normal form, so the text is normalised again.
    let lower = text.nfkc().collect::<String>().to_lowercase();
    push_words(&lower.nfkc().collect::<String>());
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str, nfkc: bool) -> Vec<String> {
        let mut found = Vec::new();
        for_each_word(text, nfkc, &mut String::new(), |word| found.push(word.to_owned()));
        found
    }

    /// Letters, digits, the punctuation that joins words, spaces of several kinds, marks, emoji parts.
    fn tricky() -> impl Strategy<Value = String> {
        let parts = prop::sample::select(vec![
            "a", "Z", "9", "0", "_", "-", ".", ",", ":", "'", "\u{2019}", " ", "  ", "\t", "\r", "\n",
            "\u{a0}", "\u{2003}", "\u{3000}", "\u{308}", "\u{93e}", "\u{200d}", "é", "e\u{301}", "ﬁ", "½",
            "ß", "İ", "Σ", "Ａ", "漢", "カ", "ｶﾞ", "한", "א", "\"", "😀", "🇩🇪", "…", "\u{ad}",
        ]);
        prop::collection::vec(parts, 0..40).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn pieces_give_the_words_of_the_whole(text in prop_oneof![tricky(), any::<String>()]) {
            let whole: Vec<_> = text.unicode_words().map(str::trim_start).map(str::to_owned).collect();
            prop_assert_eq!(words(&text, false), whole);
            let normal = text.nfkc().collect::<String>();
            let whole: Vec<_> = normal.unicode_words().map(str::trim_start).map(str::to_owned).collect();
            prop_assert_eq!(words(&text, true), whole);
        }

        #[test]
        fn a_normalised_query_stays_as_it_is(text in prop_oneof![tricky(), any::<String>()]) {
            let once = normalise_query(&text);
            prop_assert_eq!(normalise_query(&once), once.clone());
            prop_assert_eq!(once.trim(), &once);
            prop_assert_eq!(normalise_query(&format!(" {text}\n")), once);
        }
    }

    #[test]
    fn lower_case_knows_apostrophes_and_sigma() {
        let mut out = String::from("old");
        lower_case_into("DOG\u{2019}S", &mut out);
        assert_eq!(out, "dog's");
        lower_case_into("ΟΔΟΣ", &mut out);
        assert_eq!(out, "οδος");
    }
}
