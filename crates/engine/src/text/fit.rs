//! Tells whether an analyser fits the languages of texts.

use super::{AnalyserParams, LanguageShares, stop_words};

/// Advice that follows [`mismatch`].
pub(crate) const MISMATCH_FIX: &str =
    "ingest with option `language auto`, or name the languages with option `language NAME,NAME`";

/// Returns a sentence on languages of a sample of documents or queries that an analyser does not handle.
pub(crate) fn mismatch(params: &AnalyserParams, shares: &LanguageShares, what: &str) -> Option<String> {
    let languages = params.each_language();
    let handles = |name: &str| {
        languages.iter().any(|language| {
            let list = language.stop_words.as_deref().and_then(stop_words::name_of);
            language.language == name
                || list == Some(name)
                || (name == "english" && language.language == "porter")
        })
    };
    let mut found: Vec<String> = Vec::new();
    // Without stemming and stop words there is no language that could be wrong.
    let is_plain =
        languages.iter().all(|language| language.stop_words.is_none() && language.stemmer.is_none());
    for (name, share) in shares.languages.iter().filter(|(name, _)| !is_plain && !handles(name)) {
        let n = shares.n_known;
        found.push(format!("{:.0} % of {n} sampled {what} of known language are {name}", 100.0 * share));
    }
    if shares.needs_cjk() && !params.cjk {
        found.push(format!(
            "{:.0} % of {} sampled {what} have Chinese, Japanese or Korean characters, which are not cut into words",
            100.0 * shares.cjk,
            shares.n_documents
        ));
    }
    let names: Vec<&str> = languages.iter().map(|language| language.language.as_str()).collect();
    let analyser = if names == [""] { "no language".to_owned() } else { names.join(", ") };
    (!found.is_empty()).then(|| format!("{}, and the analyser is for {analyser}", found.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::LanguageSample;

    fn shares(texts: &[&str]) -> LanguageShares {
        let mut sample = LanguageSample::default();
        texts.iter().for_each(|text| sample.see(std::iter::once(*text)));
        sample.shares()
    }

    #[test]
    fn other_languages_are_named_with_their_share() {
        let spanish = shares(&[
            "Chaqueta de invierno con capucha para mujer",
            "El bolso es de piel y tiene muchos bolsillos",
            "Un cuchillo que no se oxida",
            "红色雨伞",
        ]);
        let of = |language: &str| {
            mismatch(&AnalyserParams::for_language(language).unwrap(), &spanish, "documents")
        };
        let warning = of("english").unwrap();
        for expected in
            ["100 % of 3 sampled documents", "are spanish", "25 % of 4", "not cut", "is for english"]
        {
            assert!(warning.contains(expected), "{warning}");
        }
        assert!(!of("es").unwrap().contains("are spanish"));
        assert!(!of("chinese").unwrap().contains("not cut"));
        let both = AnalyserParams::for_languages(&["spanish", "chinese"]).unwrap();
        assert_eq!(mismatch(&both, &spanish, "documents"), None);
        let plain = mismatch(&AnalyserParams::plain(), &spanish, "documents").unwrap();
        assert!(!plain.contains("spanish") && plain.contains("no language"), "{plain}");
    }
}
