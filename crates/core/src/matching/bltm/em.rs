use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::{Bltm, BltmParams};
use crate::matching::operator::compact;
use crate::matching::{Csr, Factor, Rows, SparseRow};
use crate::progress::Progress;
use crate::simd::vectorised;
use crate::{Error, Result};

/// Pairs whose words, together with those of all pairs, a topic starts from.
const SEEDS: usize = 8;

/// Pairs that a thread takes at a time.
const CHUNK: usize = 256;

/// Topics that are being learned; see the [module](super).
pub struct Em {
    params: BltmParams,
    /// Query, document and weight of every pair, by query.
    pairs: Vec<(u32, u32, f32)>,
    x: Words,
    y: Words,
    /// K numbers for every pair.
    theta: Vec<f32>,
    /// c n_w / s_w for every word of every pair, of queries and of documents.
    coefficients: [Vec<f32>; 2],
}

/// The words of one side.
struct Words {
    /// Counts of the words of queries (documents), columns numbered by rows of `p`.
    counts: Csr,
    transposed: Csr,
    /// The word of every row of `p`, and the number of all words.
    features: (Vec<u32>, usize),
    /// p(w | z), a row for every word.
    p: Vec<f32>,
    /// Pairs of every query (document).
    pairs_of: Pairs,
    /// Where the words of every pair start among those of all pairs.
    offsets: Vec<usize>,
}

/// Numbers of pairs, by query or by document.
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
}

impl Em {
    /// Topics at random, for counts of words of queries and documents and the weights (queries x documents) of
    /// the pairs to learn from; pairs of weight 0 are none.
    pub fn new(
        params: &BltmParams,
        queries: &Csr,
        documents: &Csr,
        weights: &Csr,
        seed: u64,
    ) -> Result<Self> {
        params.validate()?;
        if (weights.n_rows(), weights.n_columns()) != (queries.n_rows(), documents.n_rows()) {
            return Err(Error::Shape("weights for every query and document are needed".into()));
        }
        if [queries, documents, weights].iter().any(|matrix| matrix.values().iter().any(|&value| value < 0.0))
        {
            return Err(Error::Params("counts of words and weights of pairs are at least 0".into()));
        }
        let mut pairs: Vec<(u32, u32, f32)> = (0..)
            .zip(weights.rows())
            .flat_map(|(query, row)| row.iter().map(move |(document, c)| (query, document, c)))
            .filter(|(.., c)| *c > 0.0)
            .collect();
        if pairs.is_empty() {
            return Err(Error::Params(
                "no query has a response above 0; there is nothing to learn from".into(),
            ));
        }
        if u32::try_from(pairs.len()).is_err() {
            return Err(Error::Params("more than 4,294,967,295 pairs".into()));
        }
        // Only queries and documents with a pair.
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
            let lengths = owners.iter().map(|&owner| counts.row(owner as usize).indices().len());
            let offsets: Vec<usize> = std::iter::once(0)
                .chain(lengths.scan(0, |end, length| {
                    *end += length;
                    Some(*end)
                }))
                .collect();
            Words {
                transposed: counts.transpose(),
                pairs_of: Pairs::new(chosen.len(), owners.into_iter()),
                offsets,
                p: Vec::new(),
                features: (features, matrix.n_columns()),
                counts,
            }
        };
        let mut x = words(queries, &chosen_x, pairs.iter().map(|pair| pair.0).collect());
        let mut y = words(documents, &chosen_y, pairs.iter().map(|pair| pair.1).collect());
        if x.features.0.is_empty() || y.features.0.is_empty() {
            return Err(Error::Params("no query or no document to learn from has a known word".into()));
        }
        let k = params.topics;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let seeds: Vec<[usize; SEEDS]> =
            (0..k).map(|_| [0; SEEDS].map(|_| rng.random_range(0..pairs.len()))).collect();
        x.start(&seeds, |pair| pairs[pair].0);
        y.start(&seeds, |pair| pairs[pair].1);
        let theta = vec![1.0 / k as f32; pairs.len() * k];
        let coefficients = [&x, &y].map(|words| vec![0.0; words.offsets[pairs.len()]]);
        Ok(Self { params: *params, pairs, x, y, theta, coefficients })
    }

    /// Starts from given p(w | z), a row for every word.
    #[cfg(test)]
    pub(super) fn start_from(&mut self, x: &[Vec<f32>], y: &[Vec<f32>]) {
        for (words, given) in [(&mut self.x, x), (&mut self.y, y)] {
            words.p =
                words.features.0.iter().flat_map(|&word| given[word as usize].iter().copied()).collect();
        }
    }

    /// Pairs that it learns from.
    pub fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The topics of every pair, K numbers for each, pairs by query and then by document.
    pub fn theta(&self) -> &[f32] {
        &self.theta
    }

    /// One iteration. The mean of ln s_w over all words of all pairs, weights counted, comes back: that of the
    /// new thetas and the former words of the topics.
    pub fn iterate(&mut self, progress: &dyn Progress) -> f64 {
        let (k, alpha) = (self.params.topics, self.params.alpha);
        let Self { pairs, x, y, theta, coefficients: [of_x, of_y], .. } = self;
        let of_pairs = pairs.par_chunks(CHUNK).zip(theta.par_chunks_mut(CHUNK * k));
        let parts = of_pairs.zip(x.cut(of_x)).zip(y.cut(of_y));
        let sums: Vec<[f64; 2]> = parts
            .map_init(
                || vec![0f32; k],
                |sums, (((pairs, theta), mut of_x), mut of_y)| {
                    let mut likelihood = [0.0; 2];
                    for (&(query, document, c), theta) in pairs.iter().zip(theta.chunks_exact_mut(k)) {
                        let (query, document) =
                            (x.counts.row(query as usize), y.counts.row(document as usize));
                        sums.fill(0.0);
                        add_shares(query.indices(), query.values(), &x.p, theta, sums);
                        add_shares(document.indices(), document.values(), &y.p, theta, sums);
                        update_theta(theta, sums, alpha);
                        for (row, p, rest) in [(query, &x.p, &mut of_x), (document, &y.p, &mut of_y)] {
                            let (own, after) = std::mem::take(rest).split_at_mut(row.indices().len());
                            *rest = after;
                            let [a, b] = weigh(row, p, theta, c, own);
                            likelihood = [likelihood[0] + a, likelihood[1] + b];
                        }
                    }
                    progress.advance(pairs.len() as u64);
                    likelihood
                },
            )
            .collect();
        let [likelihood, n] = sums.iter().fold([0.0; 2], |[a, b], sum| [a + sum[0], b + sum[1]]);
        for (words, coefficients) in [&mut self.x, &mut self.y].into_iter().zip(&self.coefficients) {
            words.update(&self.theta, coefficients, k, self.params.beta);
        }
        likelihood / n.max(f64::MIN_POSITIVE)
    }

    /// The model as it is now.
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
    /// p(w | z): half the words of all pairs, half those of a few pairs that are drawn for each topic.
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

    /// The coefficients of each chunk of pairs.
    fn cut<'a>(&self, mut coefficients: &'a mut [f32]) -> Vec<&'a mut [f32]> {
        let n_pairs = self.offsets.len() - 1;
        let cuts = (0..n_pairs).step_by(CHUNK).map(|first| {
            let length = self.offsets[n_pairs.min(first + CHUNK)] - self.offsets[first];
            let (chunk, after) = std::mem::take(&mut coefficients).split_at_mut(length);
            coefficients = after;
            chunk
        });
        cuts.collect()
    }

    /// p(w | z) from theta and the coefficients, word by word.
    fn update(&mut self, theta: &[f32], coefficients: &[f32], k: usize, beta: f64) {
        let Self { counts, transposed, pairs_of, offsets, p, .. } = self;
        p.par_chunks_exact_mut(k).enumerate().for_each_init(
            || (vec![0f64; k], vec![0f32; k]),
            |(sums, part), (word, p)| {
                sums.fill(0.0);
                for (owner, _) in transposed.row(word).iter() {
                    let row = counts.row(owner as usize).indices();
                    let place = row.binary_search(&(word as u32)).expect("a transposed entry");
                    part.fill(0.0);
                    for &pair in pairs_of.of(owner) {
                        let coefficient = coefficients[offsets[pair as usize] + place];
                        add_theta(part, coefficient, &theta[pair as usize * k..][..k]);
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

/// c n_w / s_w for every word of a row; the sums of c n_w ln s_w and of c n_w.
fn weigh(row: SparseRow<'_>, p: &[f32], theta: &[f32], c: f32, out: &mut [f32]) -> [f64; 2] {
    let mut sums = [0f64; 2];
    for ((word, n), out) in row.iter().zip(out) {
        let s = crate::matching::dot(&p[word as usize * theta.len()..][..theta.len()], theta);
        let n = c * n;
        *out = if s > 0.0 { n / s } else { 0.0 };
        if s > 0.0 {
            sums[0] += f64::from(n) * f64::from(s).ln();
            sums[1] += f64::from(n);
        }
    }
    sums
}

vectorised! {
    /// Adds sum_w n_w p(w | z) / s_w to the sums, for words given by their rows of `p`.
    pub(super) fn add_shares(rows: &[u32], counts: &[f32], p: &[f32], theta: &[f32], sums: &mut [f32]) {
        let k = theta.len();
        for (&row, &n) in rows.iter().zip(counts) {
            let p = &p[row as usize * k..][..k];
            let mut lanes = [0f32; 16];
            let ((own, own_rest), (of, of_rest)) = (p.as_chunks::<16>(), theta.as_chunks::<16>());
            for (own, of) in own.iter().zip(of) {
                for lane in 0..16 {
                    lanes[lane] += own[lane] * of[lane];
                }
            }
            let s = lanes.iter().sum::<f32>() + own_rest.iter().zip(of_rest).map(|(p, t)| p * t).sum::<f32>();
            if s > 0.0 {
                let share = n / s;
                sums.iter_mut().zip(p).for_each(|(sum, p)| *sum += share * p);
            }
        }
    }
}

vectorised! {
    fn add_theta(sums: &mut [f32], coefficient: f32, theta: &[f32]) {
        sums.iter_mut().zip(theta).for_each(|(sum, share)| *sum += coefficient * share);
    }
}

/// theta_z proportional to alpha + theta_z sums_z.
pub(super) fn update_theta(theta: &mut [f32], sums: &[f32], alpha: f64) {
    let alpha = alpha as f32;
    theta.iter_mut().zip(sums).for_each(|(theta, sum)| *theta = *theta * sum + alpha);
    let total: f64 = theta.iter().map(|&share| f64::from(share)).sum();
    if total > 0.0 {
        let scale = (1.0 / total) as f32;
        theta.iter_mut().for_each(|share| *share *= scale);
    } else {
        // No word is known, and nothing pulls: all topics alike.
        let even = 1.0 / theta.len() as f32;
        theta.fill(even);
    }
}
