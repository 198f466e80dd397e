use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::{Bltm, BltmParams};
use crate::linalg::simd::vectorised;
use crate::matching::operator::compact;
use crate::matching::{Csr, Factor, Rows, SparseRow};
use crate::progress::Progress;
use crate::{Error, Result};

/// Number of pairs that seed a topic. Their words are mixed with the words of all pairs.
const SEEDS: usize = 8;

/// Number of pairs that a thread takes at a time, rounded up to whole documents.
const CHUNK: usize = 256;

/// Topics during training; see the [module](super).
pub struct Em {
    params: BltmParams,
    /// Query, document and weight of every pair, sorted by document: pairs that share most of their words are processed
    /// one after the other.
    pairs: Vec<(u32, u32, f32)>,
    /// Ranges of documents that a thread takes at a time.
    chunks: Vec<Range<usize>>,
    x: Words,
    y: Words,
    /// K values for every pair.
    theta: Vec<f32>,
    /// c n_w / s_w for every word of every pair, in the order in which the sums over pairs need them: for queries by
    /// pair and word, for documents by document, word and pair.
    coefficients: [Vec<f32>; 2],
}

/// The words of one side.
struct Words {
    /// Counts of the words of queries (documents); columns are the rows of `p`.
    counts: Csr,
    transposed: Csr,
    /// The word of every row of `p`, and the total number of words.
    features: (Vec<u32>, usize),
    /// p(w | z), a row for every word.
    p: Vec<f32>,
    /// Pairs of every query (document).
    pairs_of: Pairs,
    /// Start of the coefficients of every pair (for words of queries) or document.
    offsets: Vec<usize>,
}

/// Pair numbers, grouped by query or by document.
struct Pairs {
    offsets: Vec<usize>,
    numbers: Vec<u32>,
}

impl Pairs {
    fn new(n: usize, owners: impl Iterator<Item = u32> + Clone) -> Self {
        let mut offsets = vec![0usize; n + 1];
        owners.clone().for_each(|owner| offsets[owner as usize + 1] += 1);
        (0..n).for_each(|owner| offsets[owner + 1] += offsets[owner]);
        let mut next = offsets.clone();
        let mut numbers = vec![0u32; offsets[n]];
        for (number, owner) in (0..).zip(owners) {
            numbers[next[owner as usize]] = number;
            next[owner as usize] += 1;
        }
        Self { offsets, numbers }
    }

    fn of(&self, owner: u32) -> &[u32] {
        &self.numbers[self.offsets[owner as usize]..self.offsets[owner as usize + 1]]
    }

    /// Splits the owners into ranges of `n` pairs or a little more each; the last range may have fewer.
    fn cut(&self, n: usize) -> Vec<Range<usize>> {
        let (mut cuts, mut first) = (Vec::new(), 0);
        for end in 1..self.offsets.len() {
            if self.offsets[end] - self.offsets[first] >= n || end + 1 == self.offsets.len() {
                cuts.push(first..end);
                first = end;
            }
        }
        cuts
    }
}

impl Em {
    /// Initialises random topics. Takes the word counts of queries and documents, and the weights (queries x documents)
    /// of the training pairs. Pairs of weight 0 are ignored.
    pub fn new(
        params: &BltmParams,
        [queries, documents]: [&Csr; 2],
        weights: &Csr,
        seed: u64,
    ) -> Result<Self> {
        params.validate()?;
        if (weights.n_rows(), weights.n_columns()) != (queries.n_rows(), documents.n_rows()) {
            return Err(Error::Shape(
                "the weights must have a row for every query and a column for every document".into(),
            ));
        }
        if [queries, documents, weights].iter().any(|matrix| matrix.values().iter().any(|&value| value < 0.0))
        {
            return Err(Error::Params("word counts and pair weights must be at least 0".into()));
        }
        let by_document = weights.transpose();
        let mut pairs: Vec<(u32, u32, f32)> = (0..)
            .zip(by_document.rows())
            .flat_map(|(document, row)| row.iter().map(move |(query, c)| (query, document, c)))
            .filter(|(.., c)| *c > 0.0)
            .collect();
        if pairs.is_empty() {
            return Err(Error::Params(
                "no query has a response above 0; there is nothing to learn from".into(),
            ));
        }
        if u32::try_from(pairs.len()).is_err() {
            return Err(Error::Params(
                "there are more than 4,294,967,295 pairs, the most that can be trained on".into(),
            ));
        }
        // Keep only queries and documents with a pair.
        let select = |n: usize, of: fn(&mut (u32, u32, f32)) -> &mut u32, pairs: &mut [(u32, u32, f32)]| {
            let mut number_of = vec![u32::MAX; n];
            pairs.iter_mut().for_each(|pair| number_of[*of(pair) as usize] = 0);
            let chosen: Vec<u32> = (0..n as u32).filter(|&i| number_of[i as usize] == 0).collect();
            chosen.iter().zip(0..).for_each(|(&i, number)| number_of[i as usize] = number);
            pairs.iter_mut().for_each(|pair| *of(pair) = number_of[*of(pair) as usize]);
            chosen
        };
        let chosen_x = select(queries.n_rows(), |pair| &mut pair.0, &mut pairs);
        let chosen_y = select(documents.n_rows(), |pair| &mut pair.1, &mut pairs);
        let words = |matrix: &Csr, chosen: &[u32], owners: Vec<u32>| {
            let (counts, features) = compact(matrix, chosen);
            Words {
                transposed: counts.transpose(),
                pairs_of: Pairs::new(chosen.len(), owners.into_iter()),
                offsets: Vec::new(),
                p: Vec::new(),
                features: (features, matrix.n_columns()),
                counts,
            }
        };
        let mut x = words(queries, &chosen_x, pairs.iter().map(|pair| pair.0).collect());
        let mut y = words(documents, &chosen_y, pairs.iter().map(|pair| pair.1).collect());
        x.offsets = ends(pairs.iter().map(|pair| x.counts.row(pair.0 as usize).indices().len()));
        y.offsets =
            ends((0..).zip(y.counts.rows()).map(|(j, row)| row.indices().len() * y.pairs_of.of(j).len()));
        if x.features.0.is_empty() || y.features.0.is_empty() {
            return Err(Error::Params("no training query, or no training document, has a known word".into()));
        }
        let k = params.topics;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let seeds: Vec<[usize; SEEDS]> =
            (0..k).map(|_| [0; SEEDS].map(|_| rng.random_range(0..pairs.len()))).collect();
        x.start(&seeds, |pair| pairs[pair].0);
        y.start(&seeds, |pair| pairs[pair].1);
        let theta = vec![1.0 / k as f32; pairs.len() * k];
        let coefficients = [&x, &y].map(|words| vec![0.0; words.offsets[words.offsets.len() - 1]]);
        let chunks = y.pairs_of.cut(CHUNK);
        Ok(Self { params: *params, pairs, chunks, x, y, theta, coefficients })
    }

    /// Starts from given p(w | z), a row for every word.
    #[cfg(test)]
    pub(super) fn start_from(&mut self, x: &[Vec<f32>], y: &[Vec<f32>]) {
        for (words, given) in [(&mut self.x, x), (&mut self.y, y)] {
            words.p =
                words.features.0.iter().flat_map(|&word| given[word as usize].iter().copied()).collect();
        }
    }

    /// Number of training pairs.
    pub fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Topics of every pair, K values each, sorted by document and then by query.
    pub fn theta(&self) -> &[f32] {
        &self.theta
    }

    /// Runs one iteration. Returns the weighted mean of ln s_w over all words of all pairs, computed with the new
    /// thetas and the topics' previous word distributions.
    pub fn iterate(&mut self, progress: &dyn Progress) -> f64 {
        let (k, alpha) = (self.params.topics, self.params.alpha);
        let Self { pairs, chunks, x, y, theta, coefficients: [of_x, of_y], .. } = self;
        let starts = &y.pairs_of.offsets;
        let ends_of = |end: fn(&Words, &[usize], usize) -> usize, words: &Words| -> Vec<usize> {
            chunks.iter().map(|documents| end(words, starts, documents.end)).collect()
        };
        let parts: Vec<_> = (split(theta, &ends_of(|_, starts, end| starts[end], y), k).into_iter())
            .zip(split(of_x, &ends_of(|x, starts, end| x.offsets[starts[end]], x), 1))
            .zip(split(of_y, &ends_of(|y, _, end| y.offsets[end], y), 1))
            .zip(chunks.iter())
            .collect();
        let sums: Vec<[f64; 2]> = parts
            .into_par_iter()
            .map_init(
                || vec![0f32; k],
                |sums, (((theta, mut of_x), mut of_y), documents)| {
                    let mut thetas = theta.chunks_exact_mut(k);
                    let mut likelihood = [0.0; 2];
                    let mut add = |[a, b]: [f64; 2]| likelihood = [likelihood[0] + a, likelihood[1] + b];
                    for j in documents.clone() {
                        let document = y.counts.row(j);
                        let pairs = &pairs[starts[j]..starts[j + 1]];
                        let n_words = document.indices().len();
                        let of_document = of_y
                            .split_off_mut(..n_words * pairs.len())
                            .expect("there is one per word and pair");
                        for (place, (&(query, _, c), theta)) in pairs.iter().zip(&mut thetas).enumerate() {
                            let query = x.counts.row(query as usize);
                            sums.fill(0.0);
                            add_shares(query.indices(), query.values(), &x.p, theta, sums);
                            add_shares(document.indices(), document.values(), &y.p, theta, sums);
                            update_theta(theta, sums, alpha);
                            let own =
                                of_x.split_off_mut(..query.indices().len()).expect("there is one per word");
                            add(weigh(query, &x.p, theta, c, own, (0, 1)));
                            add(weigh(document, &y.p, theta, c, of_document, (place, pairs.len())));
                        }
                        progress.advance(pairs.len() as u64);
                    }
                    likelihood
                },
            )
            .collect();
        let [likelihood, n] = sums.iter().fold([0.0; 2], |[a, b], sum| [a + sum[0], b + sum[1]]);
        let Self { x, y, theta, coefficients: [of_x, of_y], params, .. } = self;
        let (starts_x, starts_y) = (std::mem::take(&mut x.offsets), std::mem::take(&mut y.offsets));
        x.update(theta, k, params.beta, |_, pairs, place, i| of_x[starts_x[pairs[i] as usize] + place]);
        y.update(theta, k, params.beta, |j, pairs, place, i| of_y[starts_y[j] + place * pairs.len() + i]);
        (x.offsets, y.offsets) = (starts_x, starts_y);
        likelihood / n.max(f64::MIN_POSITIVE)
    }

    /// Returns the current model.
    pub fn model(&self) -> Result<Bltm> {
        let k = self.params.topics;
        let factor = |words: &Words| {
            let (features, n_words) = &words.features;
            Factor::of_features(k, features, *n_words, Rows::Dense(words.p.clone()))
        };
        let mut prior = vec![0f64; k];
        let mut n = 0.0;
        for (theta, (.., c)) in self.theta.chunks_exact(k).zip(&self.pairs) {
            prior.iter_mut().zip(theta).for_each(|(sum, share)| *sum += f64::from(*share) * f64::from(*c));
            n += f64::from(*c);
        }
        let prior = prior.into_iter().map(|sum| (sum / n) as f32).collect();
        Bltm::new(factor(&self.x)?, factor(&self.y)?, prior)
    }
}

impl Words {
    /// Initialises p(w | z): half from the words of all pairs, half from the words of a few pairs that are drawn for
    /// each topic.
    fn start(&mut self, seeds: &[[usize; SEEDS]], owner_of: impl Fn(usize) -> u32) {
        let (n, k) = (self.features.0.len(), seeds.len());
        let mut all = vec![0f64; n];
        for (owner, row) in (0..).zip(self.counts.rows()) {
            let pairs = self.pairs_of.of(owner).len() as f64;
            row.iter().for_each(|(word, count)| all[word as usize] += f64::from(count) * pairs);
        }
        let total: f64 = all.iter().sum();
        self.p = all.iter().flat_map(|count| std::iter::repeat_n((count / total) as f32, k)).collect();
        for (z, seeds) in seeds.iter().enumerate() {
            let rows = || seeds.iter().map(|&pair| self.counts.row(owner_of(pair) as usize));
            let sum: f32 = rows().flat_map(|row| row.values().iter()).sum();
            if sum > 0.0 {
                self.p.iter_mut().skip(z).step_by(k).for_each(|p| *p *= 0.5);
                for (word, count) in rows().flat_map(|row| row.iter()) {
                    self.p[word as usize * k + z] += 0.5 * count / sum;
                }
            }
        }
    }

    /// Computes p(w | z) from theta and the coefficients, word by word. The arguments of `coefficient` are a query or
    /// document, its pairs, and the places of the word and of the pair in it.
    fn update(
        &mut self,
        theta: &[f32],
        k: usize,
        beta: f64,
        coefficient: impl Fn(usize, &[u32], usize, usize) -> f32 + Sync,
    ) {
        let Self { counts, transposed, pairs_of, p, .. } = self;
        p.par_chunks_exact_mut(k).enumerate().for_each_init(
            || (vec![0f64; k], vec![0f32; k]),
            |(sums, part), (word, p)| {
                sums.fill(0.0);
                for &owner in transposed.row(word).indices() {
                    let row = counts.row(owner as usize).indices();
                    let place = row.binary_search(&(word as u32)).expect("a transposed entry");
                    let pairs = pairs_of.of(owner);
                    part.fill(0.0);
                    for (i, &pair) in pairs.iter().enumerate() {
                        let theta = &theta[pair as usize * k..][..k];
                        add_theta(part, coefficient(owner as usize, pairs, place, i), theta);
                    }
                    sums.iter_mut().zip(&*part).for_each(|(sum, part)| *sum += f64::from(*part));
                }
                p.iter_mut().zip(&*sums).for_each(|(p, sum)| *p = (f64::from(*p) * sum) as f32);
            },
        );
        let mut totals = vec![beta * (p.len() / k) as f64; k];
        for row in p.chunks_exact(k) {
            totals.iter_mut().zip(row).for_each(|(total, n)| *total += f64::from(*n));
        }
        p.par_chunks_exact_mut(k).for_each(|row| {
            for (p, total) in row.iter_mut().zip(&totals).filter(|(_, total)| **total > 0.0) {
                *p = ((f64::from(*p) + beta) / total) as f32;
            }
        });
    }
}

/// Returns 0, followed by the cumulative sums of the lengths.
fn ends(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let sums = lengths.scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    std::iter::once(0).chain(sums).collect()
}

/// Splits values, `k` per place, at the given places.
fn split<'a>(mut numbers: &'a mut [f32], ends: &[usize], k: usize) -> Vec<&'a mut [f32]> {
    let mut start = 0;
    let mut parts = Vec::with_capacity(ends.len());
    for &end in ends {
        parts.push(numbers.split_off_mut(..(end - start) * k).expect("ends ascend"));
        start = end;
    }
    parts
}

vectorised! {
    /// Computes c n_w / s_w for every word of a row and stores them in `out`; `place` is the first index and the
    /// stride. Returns the sums of c n_w ln s_w and of c n_w.
    fn weigh(
        row: SparseRow<'_>,
        p: &[f32],
        theta: &[f32],
        c: f32,
        out: &mut [f32],
        place: (usize, usize),
    ) -> [f64; 2] {
        let mut sums = [0f64; 2];
        let (from, step) = place;
        for ((word, n), out) in row.iter().zip(out.iter_mut().skip(from).step_by(step)) {
            let s = likelihood(&p[word as usize * theta.len()..][..theta.len()], theta);
            let n = c * n;
            *out = if s > 0.0 { n / s } else { 0.0 };
            if s > 0.0 {
                sums[0] += f64::from(n) * f64::from(s).ln();
                sums[1] += f64::from(n);
            }
        }
        sums
    }
}

vectorised! {
    /// Adds sum_w n_w p(w | z) / s_w to the sums. Words are given by their rows of `p`.
    pub(super) fn add_shares(rows: &[u32], counts: &[f32], p: &[f32], theta: &[f32], sums: &mut [f32]) {
        let k = theta.len();
        for (&row, &n) in rows.iter().zip(counts) {
            let p = &p[row as usize * k..][..k];
            let s = likelihood(p, theta);
            if s > 0.0 {
                let share = n / s;
                sums.iter_mut().zip(p).for_each(|(sum, p)| *sum += share * p);
            }
        }
    }
}

/// Computes s_w in sixteen lanes that are added pairwise, which avoids a long chain of dependent additions.
#[inline(always)]
fn likelihood(p: &[f32], theta: &[f32]) -> f32 {
    let mut lanes = [0f32; 16];
    let ((p, p_rest), (theta, theta_rest)) = (p.as_chunks::<16>(), theta.as_chunks::<16>());
    for (p, theta) in p.iter().zip(theta) {
        for lane in 0..16 {
            lanes[lane] += p[lane] * theta[lane];
        }
    }
    for (lane, (p, theta)) in p_rest.iter().zip(theta_rest).enumerate() {
        lanes[lane] += p * theta;
    }
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
    }
    lanes[0]
}

vectorised! {
    fn add_theta(sums: &mut [f32], coefficient: f32, theta: &[f32]) {
        sums.iter_mut().zip(theta).for_each(|(sum, share)| *sum += coefficient * share);
    }
}

/// Sets theta_z proportional to alpha + theta_z sums_z.
pub(super) fn update_theta(theta: &mut [f32], sums: &[f32], alpha: f64) {
    let alpha = alpha as f32;
    theta.iter_mut().zip(sums).for_each(|(theta, sum)| *theta = *theta * sum + alpha);
    let total: f64 = theta.iter().map(|&share| f64::from(share)).sum();
    if total > 0.0 {
        let scale = (1.0 / total) as f32;
        theta.iter_mut().for_each(|share| *share *= scale);
    } else {
        // No word is known and alpha is 0: all topics are equally likely.
        let even = 1.0 / theta.len() as f32;
        theta.fill(even);
    }
}
