use serde::Serialize;

use super::lines;

/// A kind of file that can be examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// LETOR / SVMlight feature lists.
    Letor,
    /// TREC judgments.
    Qrels,
    /// A TREC run.
    Run,
    /// A dataset folder. Every folder is examined as one.
    Dataset,
}

/// Lines that vote on the kind.
const VOTERS: usize = 100;

impl FileKind {
    /// Returns the kind that most of the first lines look like, if at least a quarter of them do.
    pub fn recognise(bytes: &[u8]) -> Option<Self> {
        let mut votes = [(Self::Letor, 0), (Self::Run, 0), (Self::Qrels, 0)];
        let full = lines(bytes).map(|(_, line)| line.trim_ascii()).filter(|l| !l.is_empty() && l[0] != b'#');
        let mut n_voters = 0;
        for line in full.take(VOTERS) {
            n_voters += 1;
            if let Some(kind) = Self::of_line(line) {
                votes.iter_mut().filter(|(k, _)| *k == kind).for_each(|(_, n)| *n += 1);
            }
        }
        let (kind, n) = votes.into_iter().max_by_key(|(_, n)| *n)?;
        (n > 0 && 4 * n >= n_voters).then_some(kind)
    }

    fn of_line(line: &[u8]) -> Option<Self> {
        let fields: Vec<&[u8]> =
            line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).take(7).collect();
        let number = |field: &[u8]| fast_float2::parse::<f64, _>(field).is_ok();
        let is_feature = |field: &[u8]| {
            memchr::memchr(b':', field)
                .map(|at| &field[..at])
                .is_some_and(|id| id == b"qid" || (!id.is_empty() && id.iter().all(u8::is_ascii_digit)))
        };
        match fields[..] {
            [label, second, ..] if number(label) && is_feature(second) => Some(Self::Letor),
            [_, _, _, rank, score, _] if number(rank) || number(score) => Some(Self::Run),
            [_, _, _, rank, score] if number(rank) && number(score) => Some(Self::Run),
            [_, _, _, grade] | [_, _, grade] if number(grade) => Some(Self::Qrels),
            _ => None,
        }
    }
}
