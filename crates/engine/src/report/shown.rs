//! Documents as a report shows them: a title and the beginning of the text, whatever fields there are.

use foldhash::HashMap;
use matchrank_core::Result;

use crate::dataset::Dataset;

/// Largest number of characters of a title, and of the text below it.
const TITLE: usize = 110;
const TEXT: usize = 220;

/// Mark of a document without a response in the training data.
const NEW: &str = "new: no clicks yet";

/// A document as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownDocument {
    /// Row in the dataset.
    pub row: u32,
    /// Id, shortened.
    pub id: String,
    /// Title or name, else the beginning of the first field.
    pub title: String,
    /// Beginning of the rest, after a mark if the document has no response in the training data.
    pub text: String,
}

/// Documents by number, in the order in which they were first requested.
#[derive(Default)]
pub(super) struct Numbers<'a> {
    numbers: HashMap<&'a str, usize>,
    ids: Vec<&'a str>,
}

impl<'a> Numbers<'a> {
    pub(super) fn number(&mut self, id: &'a str) -> usize {
        *self.numbers.entry(id).or_insert_with(|| {
            self.ids.push(id);
            self.ids.len() - 1
        })
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Reads the documents with their texts; one that is not in the dataset has none.
    pub(super) fn read(&self, dataset: &Dataset) -> Result<Vec<ShownDocument>> {
        let nothing = |id: &&str| {
            let id = shortened(id, TITLE);
            ShownDocument { row: u32::MAX, title: id.clone(), id, text: String::new() }
        };
        let mut shown: Vec<ShownDocument> = self.ids.iter().map(nothing).collect();
        let names: Vec<&str> = dataset.manifest.fields.iter().map(|(name, _)| name).collect();
        let title = names.iter().position(|name| ["title", "name", "headline"].contains(name)).unwrap_or(0);
        let is_new = dataset.new_documents()?;
        let mut first = 0;
        dataset.for_each_documents(|batch| {
            for i in 0..batch.len() {
                if let Some(&number) = self.numbers.get(batch.id(i)) {
                    let texts: Vec<&str> = (0..names.len()).map(|field| batch.text(i, field)).collect();
                    let (title, mut text) = shorten(&texts, title);
                    if is_new[first as usize + i] {
                        text = if text.is_empty() { NEW.to_owned() } else { format!("{NEW} · {text}") };
                    }
                    shown[number] =
                        ShownDocument { row: first + i as u32, title, text, ..shown[number].clone() };
                }
            }
            first += batch.len() as u32;
            Ok(())
        })?;
        Ok(shown)
    }
}

/// Returns the title and the beginning of the other fields. A long title continues in the text.
fn shorten(fields: &[&str], title: usize) -> (String, String) {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let name = squeezed(fields.get(title).copied().unwrap_or_default());
    let others = fields.iter().enumerate().filter(|(field, _)| *field != title);
    let rest: Vec<String> = others.map(|(_, text)| squeezed(text)).filter(|text| !text.is_empty()).collect();
    let rest = rest.join(" · ");
    let (_, more) = cut(&name, TITLE);
    (shortened(&name, TITLE), shortened(if more.is_empty() { &rest } else { more }, TEXT))
}

/// Shortens a text to at most `most` characters, with a mark if something is missing.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match cut(text, most) {
        (all, "") => all.to_owned(),
        (beginning, _) => format!("{beginning} …"),
    }
}

/// Splits a text after at most `most` characters, at a blank if there is one near the end.
fn cut(text: &str, most: usize) -> (&str, &str) {
    let Some((end, _)) = text.char_indices().nth(most) else { return (text, "") };
    let blank = text[..end].rfind(' ').filter(|blank| 2 * blank > end).unwrap_or(end);
    (&text[..blank], text[blank..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_words() {
        assert_eq!(cut("one two", 10), ("one two", ""));
        assert_eq!(cut("one two three", 9), ("one two", "three"));
        assert_eq!(cut("äöüäöüäöü", 4), ("äöüä", "öüäöü"));
        let long = "word ".repeat(100);
        let (title, text) = shorten(&[&long], 0);
        assert!(title.ends_with(" …") && title.chars().count() <= TITLE + 2);
        assert!(text.starts_with("word") && text.ends_with(" …"));
        assert_eq!(shorten(&["http://a", "A  title"], 1), ("A title".into(), "http://a".into()));
        assert_eq!(shorten(&[], 0), (String::new(), String::new()));
    }
}
