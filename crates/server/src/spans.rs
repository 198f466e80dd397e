//! Words of a text that make a document relevant, as spans of code points.

use std::collections::HashMap;

use matchrank_engine::text::Analyser;
use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;
use utoipa::ToSchema;

/// A span of a text, in code points.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct RelevantSpan {
    /// First code point.
    pub(crate) start: usize,
    /// Code point behind the last.
    pub(crate) end: usize,
    /// Share of the word in what all words of the text add to the score, in [0, 1].
    pub(crate) score: f64,
}

/// Returns the spans of the words that raise the score, the strongest first. `words` are analysed words with what they add.
pub(crate) fn relevant_spans(
    text: &str,
    words: &HashMap<String, f64>,
    analyser: &Analyser,
    max_spans: usize,
) -> Vec<RelevantSpan> {
    let mut of_word: HashMap<&str, f64> = HashMap::new();
    let mut spans = Vec::new();
    let mut code_point = 0;
    for piece in text.split_word_bounds() {
        let length = piece.chars().count();
        let adds = *of_word.entry(piece).or_insert_with(|| {
            analyser
                .collect(piece)
                .iter()
                .filter_map(|token| words.get(token))
                .fold(0.0, |sum, adds| sum + adds)
        });
        if adds > 0.0 {
            spans.push(RelevantSpan { start: code_point, end: code_point + length, score: adds });
        }
        code_point += length;
    }
    let total: f64 = spans.iter().map(|span| span.score).sum();
    spans.iter_mut().for_each(|span| span.score /= total);
    spans.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.start.cmp(&b.start)));
    spans.truncate(max_spans);
    spans
}

#[cfg(test)]
mod tests {
    use matchrank_engine::text::AnalyserParams;

    use super::*;

    #[test]
    fn spans_count_code_points() {
        let analyser = Analyser::new(&AnalyserParams::default()).unwrap();
        let words =
            HashMap::from([("shoe".to_owned(), 3.0), ("run".to_owned(), 1.0), ("size".to_owned(), -1.0)]);
        let spans = relevant_spans("🏃 Running Shoes, size 9", &words, &analyser, 10);
        let expected = [(10, 15, 0.75), (2, 9, 0.25)];
        assert_eq!(spans.iter().map(|span| (span.start, span.end, span.score)).collect::<Vec<_>>(), expected);
        assert_eq!(relevant_spans("shoes", &words, &analyser, 0), []);
        assert_eq!(relevant_spans("", &words, &analyser, 3), []);
    }
}
