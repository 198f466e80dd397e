//! The place in a stream up to which lines were learned from.

use serde::{Deserialize, Serialize};

use crate::lines::Line;

/// Lines of a stream that were learned from, or left out, from its start on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamPosition {
    /// Number of the lines.
    pub lines: u64,
    /// BLAKE3 of the hash of the lines before and of the last line, so that a position is enough to go on from.
    pub hash: String,
}

/// The lines of a stream that is being read.
#[derive(Default)]
pub(super) struct Consumed {
    lines: u64,
    chain: [u8; blake3::OUT_LEN],
}

impl Consumed {
    /// Goes on after the lines of a position. Returns `None` if its hash is none.
    pub(super) fn after(position: &StreamPosition) -> Option<Self> {
        let chain = *blake3::Hash::from_hex(&position.hash).ok()?.as_bytes();
        Some(Self { lines: position.lines, chain })
    }

    /// Adds the next line.
    pub(super) fn add(&mut self, line: &[u8]) {
        self.lines += 1;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.chain).update(line);
        self.chain = *hasher.finalize().as_bytes();
    }

    pub(super) fn position(&self) -> StreamPosition {
        StreamPosition { lines: self.lines, hash: blake3::Hash::from_bytes(self.chain).to_hex().to_string() }
    }

    /// Adds those of the lines that come before a known position and returns their number. Says so when the stream does
    /// not begin with the lines of that position.
    pub(super) fn skip(&mut self, lines: &[Line], known: Option<&StreamPosition>) -> Result<usize, String> {
        let Some(known) = known.filter(|known| self.lines < known.lines) else { return Ok(0) };
        let n = (known.lines - self.lines).min(lines.len() as u64) as usize;
        lines[..n].iter().for_each(|line| self.add(line.bytes.as_deref().unwrap_or_default()));
        if self.lines == known.lines { self.reached(known).map(|()| n) } else { Ok(n) }
    }

    /// Says so when the lines so far are not, or do not begin with, those of a known position.
    pub(super) fn reached(&self, known: &StreamPosition) -> Result<(), String> {
        if self.lines < known.lines {
            return Err(format!(
                "has {} lines, and the model has learned from {} already: give the stream from its start on, or do not \
                 resume",
                self.lines, known.lines
            ));
        }
        if self.lines == known.lines && self.position() != *known {
            return Err(format!(
                "its first {} lines are not those that the model has learned from: give the same stream from its start \
                 on, or do not resume",
                known.lines
            ));
        }
        Ok(())
    }
}
