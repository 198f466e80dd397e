//! Sums clicks per (query, document, part of the split) in bounded memory.
//!
//! Rows go to one of [`PARTITIONS`] partitions by a hash of their query. A partition sums its rows in a hash table.
//! When it outgrows its share of the memory, it is written to a temporary file and emptied. At the end the partitions
//! are merged from their tables and files a few at a time, so only a few partitions are in memory. Sums are integers,
//! so the result does not depend on the order of the rows, on the number of threads, or on whether anything was written
//! to disk.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};
use matchrank_core::{Error, Result};

use crate::files;

/// Number of partitions. The result depends on it: queries are numbered partition by partition.
pub(super) const PARTITIONS: usize = 64;

/// Fractional responses are summed in units of 1/65536, so that sums do not depend on their order.
pub(super) const UNIT: f64 = 65_536.0;

/// Documents are numbered in 30 bits, next to 2 bits for the part of the split.
pub(super) const MOST_DOCUMENTS: usize = 1 << 30;

/// Part of the data that a click belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Share {
    Train = 0,
    Validation = 1,
    Test = 2,
}

impl Share {
    fn from_bits(bits: u64) -> Self {
        match bits {
            0 => Self::Train,
            1 => Self::Validation,
            _ => Self::Test,
        }
    }
}

/// Sums of a pair.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub(super) struct Sums {
    clicks: i64,
    pub(super) shown: u64,
    position_sum: u64,
    /// Number of positions, and [`JUDGED`].
    positions: u64,
}

/// Bit of a pair that has a grade, in a field that no count fills.
const JUDGED: u64 = 1 << 63;

impl Sums {
    pub(super) fn new(clicks: f64, shown: u64, position: Option<u32>) -> Self {
        Self {
            clicks: (clicks * UNIT).round() as i64,
            shown,
            position_sum: position.map_or(0, |position| u64::from(position) * shown.max(1)),
            positions: position.map_or(0, |_| shown.max(1)),
        }
    }

    /// Returns the sums of a graded judgment; grades below 0 count as 0.
    pub(super) fn of_grade(grade: f32) -> Self {
        Self { positions: JUDGED, ..Self::new(f64::from(grade.max(0.0)), 0, None) }
    }

    pub(super) fn clicks(&self) -> f64 {
        self.clicks as f64 / UNIT
    }

    /// Returns true if the pair was judged and has neither a grade above 0 nor a click.
    pub(super) fn is_negative(&self) -> bool {
        self.clicks <= 0 && self.positions & JUDGED != 0
    }

    /// Mean position over the impressions that had one.
    pub(super) fn position(&self) -> Option<f64> {
        let positions = self.positions & !JUDGED;
        (positions > 0).then(|| self.position_sum as f64 / positions as f64)
    }

    fn add(&mut self, other: &Self) {
        self.clicks = self.clicks.saturating_add(other.clicks);
        self.shown += other.shown;
        self.position_sum += other.position_sum;
        let judged = (self.positions | other.positions) & JUDGED;
        self.positions = ((self.positions & !JUDGED) + (other.positions & !JUDGED)) | judged;
    }

    fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (slot, value) in
            bytes.chunks_exact_mut(8).zip([self.clicks as u64, self.shown, self.position_sum, self.positions])
        {
            slot.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; 32]) -> Self {
        let word = |i: usize| u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes"));
        Self { clicks: word(0) as i64, shown: word(1), position_sum: word(2), positions: word(3) }
    }
}

/// Query of a row: one of the queries file, or one known by its text only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum QueryKey<'a> {
    Listed(u32),
    Text(&'a str),
}

/// One query of a finished partition, with its pairs sorted by (part, document).
#[derive(Debug, PartialEq)]
pub(super) struct QuerySums {
    /// Number in the queries file.
    pub(super) listed: Option<u32>,
    /// Normalised text of a query that is in no queries file, else empty.
    pub(super) text: String,
    pub(super) pairs: Vec<(Share, u32, Sums)>,
}

/// Rows of one chunk, sorted into partitions, ready to be added.
#[derive(Default)]
pub(super) struct Batch {
    rows: Vec<Vec<PairCounts>>,
    keys: Vec<u8>,
}

struct PairCounts {
    hash: u64,
    key: std::ops::Range<u32>,
    packed: u32,
    sums: Sums,
}

impl Batch {
    /// Adds a row; keys may repeat.
    pub(super) fn push(&mut self, query: QueryKey<'_>, share: Share, document: u32, sums: Sums) {
        if self.rows.is_empty() {
            self.rows.resize_with(PARTITIONS, Vec::new);
        }
        let start = self.keys.len() as u32;
        match query {
            QueryKey::Listed(number) => {
                self.keys.push(LISTED);
                self.keys.extend(number.to_le_bytes());
            }
            QueryKey::Text(text) => {
                self.keys.push(TEXT);
                self.keys.extend(text.as_bytes());
            }
        }
        let hash = fnv(&self.keys[start as usize..]);
        let partition = (hash >> 58) as usize;
        let packed = (share as u32) << 30 | document;
        self.rows[partition].push(PairCounts { hash, key: start..self.keys.len() as u32, packed, sums });
    }
}

const LISTED: u8 = 0;
const TEXT: u8 = 1;

/// FNV-1a with a final mix: short, and stable on all machines and in all versions, because the numbering of queries
/// depends on it.
fn fnv(bytes: &[u8]) -> u64 {
    let hash = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

/// Returns the hash to use inside a partition, where the highest bits of all hashes are equal.
fn within(hash: u64) -> u64 {
    hash.rotate_left(29)
}

#[derive(Default)]
struct Partition {
    keys: Vec<u8>,
    ends: Vec<u32>,
    lookup: HashTable<u32>,
    pairs: HashMap<u64, Sums, FixedState>,
    spilled: Option<BufWriter<File>>,
}

impl Partition {
    fn key(&self, query: u32) -> &[u8] {
        let start = if query == 0 { 0 } else { self.ends[query as usize - 1] };
        &self.keys[start as usize..self.ends[query as usize] as usize]
    }

    fn add(&mut self, hash: u64, key: &[u8], packed: u32, sums: &Sums) {
        let query = match self.lookup.find(within(hash), |&q| self.key(q) == key) {
            Some(&query) => query,
            None => {
                let query = self.ends.len() as u32;
                self.keys.extend(key);
                self.ends.push(self.keys.len() as u32);
                let (keys, ends) = (&self.keys, &self.ends);
                self.lookup.insert_unique(within(hash), query, |&q| {
                    let start = if q == 0 { 0 } else { ends[q as usize - 1] };
                    within(fnv(&keys[start as usize..ends[q as usize] as usize]))
                });
                query
            }
        };
        self.pairs.entry(u64::from(query) << 32 | u64::from(packed)).or_default().add(sums);
    }

    fn bytes(&self) -> usize {
        self.keys.capacity()
            + self.ends.capacity() * 4
            + self.lookup.capacity() * 5
            + self.pairs.capacity() * (size_of::<(u64, Sums)>() + 1)
    }

    /// Writes the table to the partition's file and empties it.
    fn spill(&mut self, folder: &Path) -> std::io::Result<()> {
        let mut file = match self.spilled.take() {
            Some(file) => file,
            None => BufWriter::with_capacity(1 << 16, tempfile::tempfile_in(folder)?),
        };
        for (pair, sums) in &self.pairs {
            let key = self.key((pair >> 32) as u32);
            file.write_all(&(key.len() as u32).to_le_bytes())?;
            file.write_all(key)?;
            file.write_all(&(*pair as u32).to_le_bytes())?;
            file.write_all(&sums.to_bytes())?;
        }
        *self = Self { spilled: Some(file), ..Self::default() };
        Ok(())
    }

    /// Reads the spilled rows back into the table.
    fn unspill(&mut self) -> std::io::Result<()> {
        let Some(mut writer) = self.spilled.take() else { return Ok(()) };
        writer.flush()?;
        let mut file = writer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.rewind()?;
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let (mut word, mut sums, mut key) = ([0; 4], [0; 32], Vec::new());
        loop {
            match reader.read_exact(&mut word) {
                Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
                other => other?,
            }
            key.resize(u32::from_le_bytes(word) as usize, 0);
            reader.read_exact(&mut key)?;
            reader.read_exact(&mut word)?;
            reader.read_exact(&mut sums)?;
            self.add(fnv(&key), &key, u32::from_le_bytes(word), &Sums::from_bytes(&sums));
        }
    }

    /// Returns the queries in the order of (listed number, text), each with its pairs in order.
    fn into_queries(self) -> Vec<QuerySums> {
        let mut queries: Vec<QuerySums> = (0..self.ends.len() as u32)
            .map(|q| match self.key(q) {
                [LISTED, number @ ..] => QuerySums {
                    listed: Some(u32::from_le_bytes(number.try_into().expect("four bytes"))),
                    text: String::new(),
                    pairs: Vec::new(),
                },
                [_, text @ ..] => QuerySums {
                    listed: None,
                    text: String::from_utf8(text.to_vec()).expect("keys are made from text"),
                    pairs: Vec::new(),
                },
                [] => unreachable!("a key has its kind"),
            })
            .collect();
        for (pair, sums) in &self.pairs {
            let packed = pair & u64::from(u32::MAX);
            let entry = (Share::from_bits(packed >> 30), (packed & ((1 << 30) - 1)) as u32, *sums);
            queries[(pair >> 32) as usize].pairs.push(entry);
        }
        for query in &mut queries {
            query.pairs.sort_unstable_by_key(|&(share, document, _)| (share, document));
        }
        queries.sort_unstable_by(|a, b| (a.listed, &a.text).cmp(&(b.listed, &b.text)));
        queries
    }
}

/// Sums rows, in memory while they fit, and through temporary files beyond.
pub(super) struct Aggregator {
    partitions: Vec<Mutex<Partition>>,
    /// Bytes that a partition may hold before it is written out.
    most_bytes: usize,
    folder: PathBuf,
}

impl Aggregator {
    /// Creates an aggregator. `memory` bounds the bytes held in all tables; `folder` takes the temporary files.
    pub(super) fn new(memory: usize, folder: &Path) -> Self {
        Self {
            partitions: std::iter::repeat_with(Mutex::default).take(PARTITIONS).collect(),
            most_bytes: memory / PARTITIONS,
            folder: folder.to_owned(),
        }
    }

    /// Adds the rows of a batch. Any thread may call it.
    pub(super) fn add(&self, batch: &Batch) -> Result<()> {
        for (rows, partition) in batch.rows.iter().zip(&self.partitions) {
            let mut partition = partition.lock().expect("no panic while rows are added");
            for PairCounts { hash, key, packed, sums } in rows {
                partition.add(*hash, &batch.keys[key.start as usize..key.end as usize], *packed, sums);
            }
            if partition.bytes() > self.most_bytes {
                partition.spill(&self.folder).map_err(|e| Error::io(files::name_of(&self.folder), e))?;
            }
        }
        Ok(())
    }

    /// Returns the partitions, each merged only when it is requested.
    pub(super) fn finish(self) -> impl Iterator<Item = impl FnOnce() -> Result<Vec<QuerySums>> + Send> {
        let folder = self.folder;
        self.partitions.into_iter().map(move |partition| {
            let folder = folder.clone();
            move || {
                let mut partition = partition.into_inner().expect("no panic while rows are added");
                partition.unspill().map_err(|e| Error::io(files::name_of(&folder), e))?;
                Ok(partition.into_queries())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Plain = BTreeMap<(Option<u32>, String, u8, u32), Sums>;

    fn collect(aggregator: Aggregator) -> (Vec<QuerySums>, Plain) {
        let queries: Vec<QuerySums> = aggregator.finish().flat_map(|p| p().unwrap()).collect();
        let mut plain = Plain::new();
        for query in &queries {
            for (share, document, sums) in &query.pairs {
                let old = plain.insert((query.listed, query.text.clone(), *share as u8, *document), *sums);
                assert!(old.is_none(), "a pair appears once");
            }
        }
        (queries, plain)
    }

    #[test]
    fn grades_of_0_are_negatives_unless_something_speaks_for_the_pair() {
        let sum = |parts: &[Sums]| {
            parts.iter().fold(Sums::default(), |mut sum, part| {
                sum.add(part);
                sum
            })
        };
        let (zero, shown, click) =
            (Sums::of_grade(0.0), Sums::new(0.0, 1, Some(3)), Sums::new(1.0, 1, Some(5)));
        assert!(zero.is_negative() && Sums::of_grade(-1.0).is_negative() && sum(&[zero, zero]).is_negative());
        assert!(!shown.is_negative() && !click.is_negative() && !Sums::of_grade(2.0).is_negative());
        assert!(!sum(&[zero, click]).is_negative() && !sum(&[zero, Sums::of_grade(1.0)]).is_negative());
        let both = sum(&[zero, shown, click]);
        assert_eq!(
            (sum(&[zero, shown]).is_negative(), both.position(), zero.position()),
            (true, Some(4.0), None)
        );
        assert_eq!(Sums::from_bytes(&both.to_bytes()), both);
    }

    proptest! {
        #[test]
        fn partitioned_and_spilled_sums_equal_plain_sums(
            rows in prop::collection::vec((0_u32..40, any::<bool>(), 0_u8..3, 0_u32..30, 0_u32..9, prop::option::of(1_u32..11)), 1..600)
        ) {
            let mut expected = Plain::new();
            let folder = tempfile::tempdir().unwrap();
            let roomy = Aggregator::new(1 << 30, folder.path());
            let tight = Aggregator::new(PARTITIONS * 300, folder.path());
            for chunk in rows.chunks(50) {
                let mut batch = Batch::default();
                for &(query, listed, share, document, quarter_clicks, position) in chunk {
                    let share = Share::from_bits(u64::from(share));
                    let sums = Sums::new(f64::from(quarter_clicks) / 4.0, 1, position);
                    let text = format!("query {query}");
                    let key = if listed { QueryKey::Listed(query) } else { QueryKey::Text(&text) };
                    batch.push(key, share, document, sums);
                    let plain = (listed.then_some(query), if listed { String::new() } else { text }, share as u8, document);
                    expected.entry(plain).or_default().add(&sums);
                }
                roomy.add(&batch).unwrap();
                tight.add(&batch).unwrap();
            }
            let (roomy_order, roomy) = collect(roomy);
            let (tight_order, tight) = collect(tight);
            prop_assert_eq!(&roomy, &expected);
            prop_assert_eq!(&tight, &expected);
            prop_assert_eq!(roomy_order, tight_order);
        }
    }
}
