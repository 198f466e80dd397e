//! Rows of documents, analysed and on their way to the table of documents.

use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use matchrank_core::Result;

use super::attributes::{AttributeValues, Unreadable};
use super::documents::check_id;
use crate::dataset::Attribute;
use crate::text::{Analyser, TermCounts};

/// The rows of a chunk of documents, analysed.
#[derive(Default)]
pub(super) struct DocumentRows {
    pub(super) lines: Vec<u64>,
    pub(super) ids: Vec<String>,
    /// Texts by field, then by row.
    pub(super) texts: Vec<Vec<String>>,
    /// Values by attribute.
    attributes: Vec<AttributeValues>,
    pub(super) n_words: Vec<u32>,
    /// Words by field, repeated ones included.
    pub(super) lengths: Vec<u64>,
    pub(super) counts: TermCounts,
}

/// Row of a file of documents.
pub(super) struct DocumentRow<'a> {
    pub(super) line: u64,
    pub(super) id: &'a str,
    /// Texts of the attributes.
    pub(super) attributes: &'a [Option<&'a str>],
}

impl DocumentRows {
    pub(super) fn of(n_fields: usize, attributes: &[Attribute], is_stored: bool) -> Self {
        Self {
            texts: vec![Vec::new(); n_fields],
            lengths: vec![0; n_fields],
            attributes: attributes.iter().map(|a| AttributeValues::of(a, is_stored)).collect(),
            ..Self::default()
        }
    }

    /// Adds a row of a file, with the texts of its fields.
    pub(super) fn push<'a>(
        &mut self,
        file: &str,
        row: &DocumentRow<'_>,
        texts: impl Iterator<Item = &'a str>,
        analyser: (&Analyser, &[String]),
    ) -> Result<()> {
        check_id(file, row.line, "document", row.id)?;
        self.push_texts((row.line, row.id), texts, analyser);
        self.attributes
            .iter_mut()
            .zip(row.attributes)
            .for_each(|(values, text)| values.push(row.line, *text));
        Ok(())
    }

    fn push_texts<'a>(
        &mut self,
        (line, id): (u64, &str),
        texts: impl Iterator<Item = &'a str>,
        (analyser, fields): (&Analyser, &[String]),
    ) {
        self.lines.push(line);
        self.ids.push(id.to_owned());
        self.counts.begin_document();
        let mut n_words = 0;
        texts.zip(&mut self.texts).for_each(|(text, column)| column.push(text.to_owned()));
        let texts = self.texts.iter().filter_map(|column| column.last().map(String::as_str));
        analyser.document(fields.iter().map(String::as_str).zip(texts), |field, token| {
            n_words += u32::from(self.counts.add(token));
            self.lengths[field] += 1;
        });
        self.n_words.push(n_words);
    }

    /// Returns the rows that are kept; their texts are analysed again.
    pub(super) fn kept(mut self, keep: &[bool], analyser: (&Analyser, &[String])) -> Self {
        let mut kept = Self::of(self.texts.len(), &[], false);
        for (i, id) in self.ids.iter().enumerate().filter(|(i, _)| keep[*i]) {
            kept.push_texts((self.lines[i], id), self.texts.iter().map(|texts| texts[i].as_str()), analyser);
        }
        self.attributes.iter_mut().for_each(|values| values.retain(keep));
        kept.attributes = self.attributes;
        kept
    }

    /// Adds the unreadable texts of each attribute to `sums`.
    pub(super) fn count_unreadable(&mut self, sums: &mut [Unreadable]) {
        self.attributes.iter_mut().zip(sums).for_each(|(values, sum)| values.count_unreadable(sum));
    }

    /// Returns the columns of the table: ids, texts, attributes.
    pub(super) fn into_columns(self) -> Vec<ArrayRef> {
        let mut columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(self.ids))];
        columns.extend(self.texts.into_iter().map(|texts| Arc::new(StringArray::from(texts)) as ArrayRef));
        columns.extend(self.attributes.into_iter().map(AttributeValues::into_array));
        columns
    }
}
