//! Letters that mark the models that a model beats.

/// Letters of models. There is no q, as in the tables of `eval`, because it does not exist as a superscript.
const LETTERS: [char; 25] = [
    'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'r', 's', 't', 'u', 'v',
    'w', 'x', 'y', 'z',
];

/// Returns the letter of the i-th model: a to z, then aa, bb and so on.
pub(super) fn letter(i: usize) -> String {
    std::iter::repeat_n(LETTERS[i % LETTERS.len()], 1 + i / LETTERS.len()).collect()
}

/// Writes the letters of some models, ascending; three and more in a row are written as a range.
pub(super) fn letters(models: &[usize]) -> String {
    let runs = models.chunk_by(|a, b| a + 1 == *b);
    let written = runs.map(|run| match run {
        [first, .., last] if run.len() > 2 => format!("{}–{}", letter(*first), letter(*last)),
        run => run.iter().map(|&i| letter(i)).collect::<Vec<_>>().join(" "),
    });
    written.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_short() {
        assert_eq!(letters(&[1, 2, 3, 5, 7, 8]), "b–d f h i");
        assert_eq!(letters(&[]), "");
        assert_eq!((letter(15), letter(16), letter(25)), ("p".into(), "r".into(), "aa".into()));
    }
}
