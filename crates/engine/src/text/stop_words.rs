//! Stop words: the short lists of NLTK (English: 198 words), most of which are Snowball's.
//!
//! Larger collections (Stopwords ISO has some 1,300 English words) contain words that people search for, such as
//! "computer" or "value". A list for retrieval should contain function words only.

/// Name and ISO 639-1 code of every language with a list.
const LANGUAGES: [(&str, &str); 32] = [
    ("albanian", "sq"),
    ("arabic", "ar"),
    ("azerbaijani", "az"),
    ("basque", "eu"),
    ("belarusian", "be"),
    ("bengali", "bn"),
    ("catalan", "ca"),
    ("chinese", "zh"),
    ("danish", "da"),
    ("dutch", "nl"),
    ("english", "en"),
    ("finnish", "fi"),
    ("french", "fr"),
    ("german", "de"),
    ("greek", "el"),
    ("hebrew", "he"),
    ("hungarian", "hu"),
    ("indonesian", "id"),
    ("italian", "it"),
    ("kazakh", "kk"),
    ("nepali", "ne"),
    ("norwegian", "no"),
    ("portuguese", "pt"),
    ("romanian", "ro"),
    ("russian", "ru"),
    ("slovenian", "sl"),
    ("spanish", "es"),
    ("swedish", "sv"),
    ("tajik", "tg"),
    ("tamil", "ta"),
    ("turkish", "tr"),
    ("uzbek", "uz"),
];

/// Returns the list of a language, by name or code.
pub(crate) fn of(language: &str) -> Option<&'static [&'static str]> {
    let name = name_of(language)?;
    let (_, code) = LANGUAGES.iter().find(|(other, _)| *other == name)?;
    ::stop_words::lookup(code)
}

/// Returns the names of all languages with a list.
pub(super) fn languages() -> [&'static str; LANGUAGES.len()] {
    LANGUAGES.map(|(name, _)| name)
}

/// Returns the name of a language with a list, by name or code.
pub(super) fn name_of(language: &str) -> Option<&'static str> {
    let is_meant = |(name, code): &&(&str, &str)| {
        name.eq_ignore_ascii_case(language.trim()) || code.eq_ignore_ascii_case(language.trim())
    };
    LANGUAGES.iter().find(is_meant).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_a_list_and_english_keeps_content_words() {
        for (name, code) in LANGUAGES {
            let words = of(name).unwrap_or_else(|| panic!("{name}: no list"));
            assert!(words.len() > 20, "{name}: {}", words.len());
            assert_eq!(of(code).unwrap().len(), words.len());
        }
        let english = of("en").unwrap();
        assert!(english.len() < 250 && english.contains(&"the") && english.contains(&"don't"));
        for content in ["computer", "value", "system", "new", "case"] {
            assert!(!english.contains(&content), "{content}");
        }
        assert!(of("xx").is_none());
    }
}
