//! Writes feature lists as LETOR.

use std::io::Write;

use super::row::{docid, is_space};
use crate::data::{FeatureLists, FeatureRow};
use crate::{Error, Result};

/// Writes lists so that [`parse`](super::parse) reads back the same lists, bit for bit. `file` is the name for
/// messages.
///
/// Dense lists are written with every feature, sparse lists without the zeros. As an exception, the first row names the
/// last feature, which preserves the number of features. An id that would be read back differently is an error: a query
/// id with a space or a `#`, a document id that contains `name = value`.
pub fn write(file: &str, lists: &FeatureLists, out: &mut dyn Write) -> Result<()> {
    let io = |e| Error::io(file, e);
    let mut line = Vec::new();
    for list in lists.iter() {
        if list.query().contains('#') {
            return Err(unwritable(file, "query", list.query()));
        }
        check(file, "query", list.query())?;
        for i in 0..list.len() {
            let document = list.document(i);
            let comment = format!("docid = {document}");
            if document.bytes().any(|byte| byte < b' ')
                || docid(comment.as_bytes()) != Some(document.as_bytes())
            {
                return Err(unwritable(file, "document", document));
            }
            line.clear();
            write!(line, "{} qid:{}", list.labels()[i], list.query()).map_err(io)?;
            match list.row(i) {
                FeatureRow::Dense(cells) => {
                    for (id, value) in (1u64..).zip(cells) {
                        write!(line, " {id}:{value}").map_err(io)?;
                    }
                }
                FeatureRow::Sparse { columns, values } => {
                    for (column, value) in columns.iter().zip(values) {
                        write!(line, " {}:{value}", u64::from(*column) + 1).map_err(io)?;
                    }
                    let last = lists.n_features();
                    if list.rows().start + i == 0 && columns.last().is_none_or(|c| *c as usize + 1 != last) {
                        write!(line, " {last}:0").map_err(io)?;
                    }
                }
            }
            writeln!(line, " #docid = {}", list.document(i)).map_err(io)?;
            out.write_all(&line).map_err(io)?;
        }
    }
    Ok(())
}

fn check(file: &str, what: &str, id: &str) -> Result<()> {
    if id.is_empty() || id.bytes().any(is_space) { Err(unwritable(file, what, id)) } else { Ok(()) }
}

fn unwritable(file: &str, what: &str, id: &str) -> Error {
    Error::format(
        file,
        format!(
            "the {what} id `{id}` cannot be written as LETOR: it is empty, or would be truncated when read \
             back; rename it"
        ),
    )
}
