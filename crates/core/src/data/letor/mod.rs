//! LETOR / SVMlight ranking files: `label qid:7 1:0.5 2:0 ... # comment`, one document a line.
//!
//! What is accepted, and what it means:
//! - Fields are separated by spaces or tabs; lines end in LF or CRLF; blank lines and lines that are
//!   only a comment are skipped; a UTF-8 byte order mark at the start is skipped. A carriage return
//!   within a line, or a zero byte, is an error: a comment would hide all that comes after it.
//! - The label is a grade: a finite number of at least 0, not necessarily whole. Negative labels are
//!   an error: the gain of a measure would be negative, and files that write -1 for "not relevant"
//!   (the habit of classification) would be measured wrongly without a word.
//! - `qid:` follows the label; the id is any text without a space. The rows of a query belong
//!   together: where they are scattered they are grouped, and the caller gets a note.
//! - Features are numbered from 1 to 10,000,000 ([`HIGHEST_FEATURE`](crate::data::HIGHEST_FEATURE)), in
//!   any order, each at most once a row. A feature that a row does not name is 0. Values are finite
//!   32-bit numbers; `NaN`, `NA` and LETOR's `NULL`, in any case, are missing values, which trees take
//!   and linear rankers refuse; infinity is an error.
//! - The document id is the comment's `docid = ID` (or `docid=ID`) where there is one, up to the next
//!   `name = value` of the comment or its end, blanks included; else the number of the row, counted from 1 through all files that are read together (the folds of a comparison,
//!   too), blank and comment lines not counted.
//!
//! Text is read in blocks, whose bytes are cut at line ends, and the pieces are parsed by all threads; the result does not depend
//! on how they were cut.

mod parse;
mod row;
#[cfg(test)]
mod tests;
mod write;

pub use parse::{Source, parse, read};
pub use row::{Row, parse_row};
pub use write::write;
