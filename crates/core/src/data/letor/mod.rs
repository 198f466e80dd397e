//! LETOR / SVMlight ranking files: `label qid:7 1:0.5 2:0 ... # comment`, one document per line.
//!
//! Accepted input and its meaning:
//! - Fields are separated by spaces or tabs; lines end in LF or CRLF; blank lines and lines that are
//!   only a comment are skipped; a UTF-8 byte order mark at the start is skipped. A carriage return
//!   within a line, or a zero byte, is an error: a comment would hide everything after it.
//! - The label is a grade: a finite number of at least 0, not necessarily whole. Negative labels are an error: the gain
//!   of a measure would be negative, and files that write -1 for "not relevant" (as in classification) would be
//!   evaluated wrongly without any warning.
//! - `qid:` follows the label; the id is any text without a space. The rows of a query belong together: scattered rows
//!   are grouped, and the caller gets a note.
//! - Features are numbered from 1 to 10,000,000 ([`HIGHEST_FEATURE`](crate::data::HIGHEST_FEATURE)), in any order, each
//!   at most once per row. A feature that a row does not name is 0. Values are finite 32-bit numbers. `NaN`, `NA` and
//!   LETOR's `NULL`, in upper or lower case, are missing values, which trees support and linear rankers refuse.
//!   Infinity is an error.
//! - The document id is the comment's `docid = ID` (or `docid=ID`), up to the next `name = value` of the comment or its
//!   end, blanks included. Without a `docid`, the id is the number of the row, counted from 1 through all files that
//!   are read together (including the folds of a comparison). Blank lines and comment lines are not counted.
//!
//! Text is read in blocks that are split at line ends, and all threads parse the pieces. The result does not depend on
//! the split.

mod parse;
mod row;
#[cfg(test)]
mod tests;
mod write;

pub use parse::{LetorSource, parse, read};
pub use row::{LetorRow, parse_row};
pub use write::write;
