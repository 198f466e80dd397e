//! Words as they are written, for people and for other programs.

use super::cjk::{Span, for_each_span};
use super::words::{for_each_of_piece, for_each_piece, lower_case_into};

/// Calls `each` with every word of a text as it is written, in lower case; a run of Chinese, Japanese or Korean
/// characters is one word.
pub(crate) fn for_each_written(text: &str, nfkc: bool, mut each: impl FnMut(&str)) {
    let (mut buffer, mut lower) = (String::new(), String::new());
    for_each_piece(text, nfkc, &mut buffer, |piece| {
        for_each_span(piece, |span| match span {
            Span::Cjk(run) => each(run),
            Span::Other(other) => for_each_of_piece(other, &mut |word| {
                lower_case_into(word, &mut lower);
                each(&lower);
            }),
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_runs() {
        let mut words = Vec::new();
        for_each_written("The Dogs’ café, USB充电器 白色", true, |word| words.push(word.to_owned()));
        assert_eq!(words, ["the", "dogs", "café", "usb", "充电器", "白色"]);
    }
}
