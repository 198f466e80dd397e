//! Tokens of Chinese, Japanese and Korean text, without a dictionary.
//!
//! These scripts put no blanks between words (Korean puts them between phrases), so a run of their characters is cut
//! into overlapping pairs: `绿茶杯` is `绿茶` and `茶杯`. Chinese characters are tokens by themselves, too, so that `茶`
//! finds `绿茶` and `女包` finds `女士手提包`, behind documents that have the pair. Kana and Hangul are letters rather than
//! words, and single ones are tokens only if the run has no other character.
//!
//! Pairs and characters together retrieve as well as words of a segmenter (Nie, Gao, Zhang & Zhou 2000), and a name
//! that is in no dictionary is found as well as any other.

/// Script of a run of characters that is cut into pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Run {
    /// Chinese characters and Kana, which Japanese mixes within a word.
    Chinese,
    Hangul,
}

/// Part of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Span<'a> {
    /// A run of characters without blanks between words.
    Cjk(&'a str),
    /// Anything else.
    Other(&'a str),
}

/// Returns true for a character of a script without blanks between words.
pub(super) fn is_cjk(c: char) -> bool {
    run_of(c).is_some()
}

fn run_of(c: char) -> Option<Run> {
    match c {
        // Every character of ASCII and of the European scripts ends here.
        ..'\u{1100}' => None,
        '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{ac00}'..='\u{d7a3}' => Some(Run::Hangul),
        '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{3099}'..='\u{309a}' => Some(Run::Chinese),
        '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' => Some(Run::Chinese),
        _ if is_han(c) => Some(Run::Chinese),
        _ => None,
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Calls `each` with the parts of a text, in order: one after the other they are the text.
pub(super) fn for_each_span<'a>(text: &'a str, mut each: impl FnMut(Span<'a>)) {
    let mut start = 0;
    let mut current: Option<Run> = None;
    let mut end = |range: &'a str, run: Option<Run>| match run {
        _ if range.is_empty() => {}
        Some(_) => each(Span::Cjk(range)),
        None => each(Span::Other(range)),
    };
    for (at, c) in text.char_indices() {
        let run = run_of(c);
        if run != current {
            end(&text[start..at], current);
            (start, current) = (at, run);
        }
    }
    end(&text[start..], current);
}

/// Calls `each` with the tokens of a run: its Chinese characters, and pairs of neighbours; a run of one character is
/// one token.
pub(super) fn for_each_token<'a>(run: &'a str, mut each: impl FnMut(&'a str)) {
    let mut characters = run.char_indices().map(|(at, c)| (at, at + c.len_utf8(), c)).peekable();
    let is_single = run.chars().nth(1).is_none();
    while let Some((start, end, c)) = characters.next() {
        if is_single || is_han(c) {
            each(&run[start..end]);
        }
        if let Some((_, next_end, _)) = characters.peek() {
            each(&run[start..*next_end]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(run: &str) -> Vec<&str> {
        let mut found = Vec::new();
        for_each_token(run, |token| found.push(token));
        found
    }

    fn spans(text: &str) -> Vec<Span<'_>> {
        let mut found = Vec::new();
        for_each_span(text, |span| found.push(span));
        found
    }

    #[test]
    fn runs_give_characters_and_pairs() {
        assert_eq!(tokens("茶"), ["茶"]);
        assert_eq!(tokens("绿茶杯"), ["绿", "绿茶", "茶", "茶杯", "杯"]);
        assert_eq!(tokens("カメラ"), ["カメ", "メラ"]);
        assert_eq!(tokens("お茶"), ["お茶", "茶"]);
        assert_eq!(tokens("가방을"), ["가방", "방을"]);
        assert_eq!(tokens("책"), ["책"]);
    }

    #[test]
    fn scripts_are_told_apart() {
        use Span::{Cjk, Other};
        assert_eq!(spans("LG전자 TV"), [Other("LG"), Cjk("전자"), Other(" TV")]);
        assert_eq!(spans("USB充电器，白色"), [Other("USB"), Cjk("充电器"), Other("，"), Cjk("白色")]);
        assert_eq!(spans("日本のカメラ한국"), [Cjk("日本のカメラ"), Cjk("한국")]);
        assert_eq!(spans("café мой"), [Other("café мой")]);
        assert!(spans("").is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The spans of any text are the text, and the characters of a run, each taken once, are the run.
        #[test]
        fn nothing_is_lost(text in prop_oneof![any::<String>(), "[a-z 绿茶杯カメラ한국々ー]{0,20}"]) {
            let mut whole = String::new();
            for span in spans(&text) {
                match span {
                    Span::Other(other) => {
                        prop_assert!(!other.chars().any(is_cjk));
                        whole.push_str(other);
                    }
                    Span::Cjk(run) => {
                        whole.push_str(run);
                        prop_assert!(run.chars().all(is_cjk));
                        let tokens = tokens(run);
                        let n = run.chars().count();
                        prop_assert!(tokens.iter().all(|token| (1..=2).contains(&token.chars().count())));
                        let pairs: Vec<_> = tokens.iter().filter(|t| t.chars().count() == 2).collect();
                        prop_assert_eq!(pairs.len(), n - 1);
                        let mut joined: String = pairs.iter().map(|p| p.chars().next().unwrap()).collect();
                        joined.extend(run.chars().last());
                        prop_assert_eq!(joined, run);
                        prop_assert_eq!(self::tokens(run), tokens);
                    }
                }
            }
            prop_assert_eq!(whole, text);
        }
    }
}
