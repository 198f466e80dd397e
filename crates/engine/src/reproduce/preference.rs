//! Sparse preference learning on labelled rows: Tables II and III and Figure 1 of Chen et al., ICDM 2010.
//!
//! A tuple is a row, another one of its class, and one of another class, all drawn at random. **MAP** is over
//! all test rows as queries, each against all other test rows; equal scores are ordered by a hash, since rows
//! come class by class. **Error** is the share of test tuples whose preferred row does not score higher; a tie
//! is an error. Training draws its tuples from training rows alone.
//!
//! The protocol is the paper's: T = 100, and Sparse-R refits on exactly the tuples that Sparse learned from.
//! [`DataSettings::refit_passes`] above 1 adds a row for refitting on newly drawn tuples after that, which the paper does
//! not have. The paper leaves two things open: refitting starts from the sparse W here, and Diagonal takes the fixed
//! steps of SGD FLR, which gain over Identity what the paper's Diagonal gains (decaying ones gain ten times as much).
//!
//! Two rows at the end are not the paper's: a start from ridge regression, and its refitting ([`RidgeSettings`]).

mod ridge;

use std::ops::Range;
use std::time::Instant;

use matchrank_core::matching::sparse_preference::{Learner, PreferenceParams, Step, Tuple, WeightForm};
use matchrank_core::matching::{Csr, SparseRow};
use matchrank_core::progress::Progress;
use matchrank_core::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde::Serialize;

use super::labelled::{Labelled, LabelledSplit};
pub use ridge::{RIDGE, RIDGE_REFITTED, RidgeSettings};

/// Settings that differ between data sets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DataSettings {
    /// Parameters of the sparse model; the other methods use those they share with it.
    pub params: PreferenceParams,
    /// Tuples to learn from.
    pub n_tuples: usize,
    /// Test tuples for the error.
    pub n_test_tuples: usize,
    /// Passes of refitting. The first is the paper's, over the same tuples. Further ones are over as many new tuples
    /// each, and their result is a separate row.
    pub refit_passes: usize,
    /// Points of the learning curves; 0 for none.
    pub n_points: usize,
    /// The ridge start, which the paper does not have.
    pub ridge: RidgeSettings,
    /// Seed of the tuples.
    pub seed: u64,
}

impl DataSettings {
    /// Settings for texts of 10,000 words: the paper's C and T, and a lambda that leaves 5 to 10 % of the entries.
    /// lambda was chosen on a fifth of the training rows of 20 Newsgroups.
    pub fn texts(seed: u64) -> Self {
        Self {
            params: PreferenceParams { lambda: 7e-6, shrink_every: 100, ..Default::default() },
            n_tuples: 100_000,
            n_test_tuples: 200_000,
            refit_passes: 1,
            n_points: 0,
            ridge: RidgeSettings::default(),
            seed,
        }
    }

    /// Settings for images of 784 pixels: about half of the entries remain. Those of the ridge start were chosen on 2,000
    /// training images.
    pub fn images(seed: u64) -> Self {
        let texts = Self::texts(seed);
        let ridge = RidgeSettings { density: 0.45, margin: 0.7, c: 0.3, ..texts.ridge };
        Self { params: PreferenceParams { lambda: 1e-6, ..texts.params }, ridge, ..texts }
    }
}

/// A row of Table II.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Method {
    /// Name in the paper, or [`MORE_PASSES`], [`RIDGE`] or [`RIDGE_REFITTED`].
    pub name: &'static str,
    /// Tuples that the method learned from, repetitions included.
    pub tuples: usize,
    /// Mean average precision.
    pub map: f64,
    /// Error on test tuples.
    pub error: f64,
    /// Share of the entries of W that are not 0.
    pub density: f64,
    /// Number of nonzero entries.
    pub nnz: usize,
    /// Seconds of learning.
    pub seconds: f64,
}

/// Figure 1: error and density while a method learns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The method.
    pub method: &'static str,
    /// Tuples learned from.
    pub iterations: usize,
    /// Error on test tuples.
    pub error: f64,
    /// Share of the entries of W that are not 0.
    pub density: f64,
}

/// A row of Table III.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelatedWords {
    /// A query word.
    pub word: String,
    /// The document words with the largest |W_ij|, as in the paper.
    pub related: Vec<String>,
    /// The document words with the largest W_ij above 0, among the [common words](COMMON).
    pub common: Vec<String>,
}

/// Results of a reproduction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PreferenceReproduction {
    /// Rows for training.
    pub n_train: usize,
    /// Rows for testing.
    pub n_test: usize,
    /// Features of a row.
    pub n_features: usize,
    /// Settings of the reproduction.
    pub settings: DataSettings,
    /// Table II.
    pub methods: Vec<Method>,
    /// Table III, for texts.
    pub related: Vec<RelatedWords>,
    /// Table III of the ridge start, for texts.
    pub ridge_related: Vec<RelatedWords>,
    /// Figure 1, if points were requested.
    pub curves: Vec<Point>,
}

/// Name of the method that refits on more tuples than the paper does.
pub const MORE_PASSES: &str = "Sparse-R (more passes)";

/// Query words of the paper's Table III.
pub const WORDS: [&str; 7] = ["clinton", "cpu", "graphics", "handgun", "hockey", "motorcycle", "religions"];

/// Share of the training rows that a common word occurs in. Rarer words are often names of posters and machines.
pub const COMMON: f64 = 0.01;

/// Learns and measures all methods.
pub fn reproduce(
    split: &LabelledSplit,
    settings: &DataSettings,
    progress: &dyn Progress,
) -> Result<PreferenceReproduction> {
    settings.params.validate()?;
    settings.ridge.validate()?;
    if settings.n_tuples == 0 || settings.n_test_tuples == 0 || settings.refit_passes == 0 {
        return Err(Error::Params("tuples, test tuples and refit passes must be at least 1".into()));
    }
    let mut run = PreferenceRun {
        split,
        settings,
        tuples: tuples(&split.train.labels, settings.n_tuples, settings.seed),
        test: tuples(&split.test.labels, settings.n_test_tuples, settings.seed.wrapping_add(1)),
        progress,
        methods: Vec::new(),
        curves: Vec::new(),
    };
    let params = settings.params;
    let (identity, n) = (run.learner(&params)?, settings.n_tuples);
    run.measure("Identity", &identity, 0, 0.0);
    let fixed = PreferenceParams { step: Step::Fixed, c: 0.01, ..params };
    for (name, params) in [
        ("Diagonal", PreferenceParams { form: WeightForm::Diagonal, ..fixed }),
        ("SGD FLR", PreferenceParams { form: WeightForm::Dense, ..fixed }),
        ("SGD DLR", PreferenceParams { form: WeightForm::Dense, ..params }),
    ] {
        let mut learner = run.learner(&params)?;
        let seconds = run.learn(name, &mut learner, 0..1)?;
        run.measure(name, &learner, n, seconds);
    }
    let mut learner = run.learner(&params)?;
    let mut seconds = run.learn("Sparse", &mut learner, 0..1)?;
    run.measure("Sparse", &learner, n, seconds);
    let sparse = learner.matrix();
    learner.refit();
    seconds += run.learn("Sparse-R", &mut learner, 0..1)?;
    run.measure("Sparse-R", &learner, 2 * n, seconds);
    let passes = settings.refit_passes;
    if passes > 1 {
        seconds += run.learn(MORE_PASSES, &mut learner, 1..passes)?;
        run.measure(MORE_PASSES, &learner, (1 + passes) * n, seconds);
    }
    let ridge = ridge::run(&mut run)?;
    Ok(PreferenceReproduction {
        n_train: split.train.labels.len(),
        n_test: split.test.labels.len(),
        n_features: split.train.rows.n_columns(),
        settings: *settings,
        methods: run.methods,
        related: related(&sparse, split),
        ridge_related: related(&ridge, split),
        curves: run.curves,
    })
}

/// Draws tuples (q, d+, d-) of labelled rows at random.
pub fn tuples(labels: &[u32], n: usize, seed: u64) -> Vec<Tuple> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let n_classes = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let mut classes = vec![Vec::new(); n_classes];
    (0..).zip(labels).for_each(|(row, &label): (u32, _)| classes[label as usize].push(row));
    let mut draw = || {
        let query = rng.random_range(0..labels.len());
        let class = &classes[labels[query] as usize];
        let query = query as u32;
        let more = loop {
            let row = class[rng.random_range(0..class.len())];
            if row != query {
                break row;
            }
        };
        let less = loop {
            let row = rng.random_range(0..labels.len());
            if labels[row] != labels[query as usize] {
                break row as u32;
            }
        };
        Tuple { query, more, less }
    };
    (0..n).map(|_| draw()).collect()
}

struct PreferenceRun<'a> {
    split: &'a LabelledSplit,
    settings: &'a DataSettings,
    tuples: Vec<Tuple>,
    test: Vec<Tuple>,
    progress: &'a dyn Progress,
    methods: Vec<Method>,
    curves: Vec<Point>,
}

impl PreferenceRun<'_> {
    fn learner(&self, params: &PreferenceParams) -> Result<Learner> {
        let n = self.split.train.rows.n_columns();
        Learner::new(params, n, n, (0..n as u32).map(|word| (word, word)))
    }

    /// Makes passes over the tuples: pass 0 over those of the run, each further one over newly drawn ones. Pauses for
    /// the points of a curve, and returns the seconds without the pauses.
    fn learn(&mut self, method: &'static str, learner: &mut Learner, passes: Range<usize>) -> Result<f64> {
        let n = self.tuples.len();
        self.progress.begin(method, Some((passes.len() * n) as u64), "tuples");
        let rows = &self.split.train.rows;
        let piece = n.div_ceil(self.settings.n_points.max(1));
        let mut seconds = 0.0;
        for pass in passes {
            let more = (pass > 0).then(|| {
                let seed = self.settings.seed.wrapping_add(1 + pass as u64);
                tuples(&self.split.train.labels, n, seed)
            });
            for (at, tuples) in more.as_ref().unwrap_or(&self.tuples).chunks(piece).enumerate() {
                let started = Instant::now();
                learner.learn(rows, rows, tuples, self.progress)?;
                seconds += started.elapsed().as_secs_f64();
                if self.settings.n_points > 0 {
                    self.curves.push(Point {
                        method,
                        iterations: pass * n + at * piece + tuples.len(),
                        error: error(&learner.matrix(), &self.split.test, &self.test),
                        density: learner.density(),
                    });
                }
            }
        }
        Ok(seconds)
    }

    fn measure(&mut self, name: &'static str, learner: &Learner, tuples: usize, seconds: f64) {
        let w = learner.matrix();
        self.progress.begin(
            &format!("{name}: measuring"),
            Some(self.split.test.labels.len() as u64),
            "queries",
        );
        let map = mean_average_precision(&w, &self.split.test, 1, self.progress);
        let error = error(&w, &self.split.test, &self.test);
        let (density, nnz) = (learner.density(), learner.nnz());
        self.methods.push(Method { name, tuples, map, error, density, nnz, seconds });
    }
}

/// Computes W' q.
fn image(w: &Csr, q: SparseRow<'_>) -> Vec<f32> {
    let mut image = vec![0f32; w.n_columns()];
    for (i, x) in q.iter() {
        w.row(i as usize).iter().for_each(|(j, entry)| image[j as usize] += x * entry);
    }
    image
}

fn score(image: &[f32], d: SparseRow<'_>) -> f64 {
    d.iter().map(|(j, x)| f64::from(image[j as usize] * x)).sum()
}

/// Computes MAP with every `step`-th row as a query, each against all other rows.
pub fn mean_average_precision(w: &Csr, data: &Labelled, step: usize, progress: &dyn Progress) -> f64 {
    let n = data.labels.len();
    let precision = |query: usize| {
        let image = image(w, data.rows.row(query));
        let others = (0..n).filter(|&row| row != query);
        let mut ranked: Vec<(f64, u32, bool)> = others
            .map(|row| {
                let hash = (row as u32).wrapping_mul(0x9E37_79B1) ^ query as u32;
                (score(&image, data.rows.row(row)), hash, data.labels[row] == data.labels[query])
            })
            .collect();
        ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let (mut found, mut sum) = (0.0, 0.0);
        for (rank, _) in (1..).zip(&ranked).filter(|(_, row)| row.2) {
            found += 1.0;
            sum += found / f64::from(rank);
        }
        progress.advance(1);
        if found > 0.0 { sum / found } else { 0.0 }
    };
    let all: Vec<f64> = (0..n).into_par_iter().step_by(step).map(precision).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// Returns the share of the tuples whose preferred row does not score higher.
pub fn error(w: &Csr, data: &Labelled, tuples: &[Tuple]) -> f64 {
    let mut order: Vec<Tuple> = tuples.to_vec();
    order.sort_unstable_by_key(|tuple| tuple.query);
    let of_query = |tuples: &[Tuple]| {
        let image = image(w, data.rows.row(tuples[0].query as usize));
        let score = |row: u32| score(&image, data.rows.row(row as usize));
        tuples.iter().filter(|tuple| score(tuple.more) <= score(tuple.less)).count()
    };
    let queries: Vec<&[Tuple]> = order.chunk_by(|a, b| a.query == b.query).collect();
    let wrong: usize = queries.into_par_iter().map(of_query).sum();
    wrong as f64 / tuples.len() as f64
}

/// Returns the largest entries in the rows of the paper's words, for the words that exist.
fn related(w: &Csr, split: &LabelledSplit) -> Vec<RelatedWords> {
    let (words, rows) = (&split.words, &split.train.rows);
    let mut frequencies = vec![0usize; words.len()];
    if !words.is_empty() {
        rows.rows().flat_map(|row| row.iter()).for_each(|(column, _)| frequencies[column as usize] += 1);
    }
    let is_common = |column: u32| frequencies[column as usize] as f64 >= COMMON * rows.n_rows() as f64;
    let first = |entries: &mut dyn Iterator<Item = &(u32, f32)>| -> Vec<String> {
        entries.take(5).map(|&(column, _)| words[column as usize].clone()).collect()
    };
    let of = |word: &&str| {
        let row = words.iter().position(|known| known == word)?;
        let mut entries: Vec<(u32, f32)> = w.row(row).iter().collect();
        entries.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        Some(RelatedWords {
            word: (*word).to_owned(),
            related: first(&mut entries.iter()),
            common: first(&mut entries.iter().filter(|&&(column, entry)| entry > 0.0 && is_common(column))),
        })
    };
    WORDS.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use matchrank_core::progress::Silent;

    use super::*;

    /// Makes rows of four classes: two features of the class, two that any class has.
    fn split() -> LabelledSplit {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut part = |n: usize| {
            let labels: Vec<u32> = (0..n).map(|row| row as u32 % 4).collect();
            let mut triples = Vec::new();
            for (row, &label) in (0..).zip(&labels) {
                let own = label * 3 + rng.random_range(0..3u32);
                let mut columns = vec![own, 12 + rng.random_range(0..6u32), 18 + rng.random_range(0..6u32)];
                columns.sort_unstable();
                triples.extend(columns.into_iter().map(|column| (row, column, 0.577)));
            }
            Labelled { rows: Csr::from_triples(n, 24, triples).unwrap(), labels }
        };
        LabelledSplit { train: part(80), test: part(60), words: Vec::new() }
    }

    fn settings(refit_passes: usize) -> DataSettings {
        let texts = DataSettings::texts(1);
        let params = PreferenceParams { c: 1.0, lambda: 1e-3, ..texts.params };
        DataSettings { params, n_tuples: 700, n_test_tuples: 500, refit_passes, ..texts }
    }

    /// The protocol of the paper: T = 100, and refitting sees the tuples of learning and no others.
    #[test]
    fn refitting_uses_exactly_the_tuples_of_learning() {
        for defaults in [DataSettings::texts(1), DataSettings::images(1)] {
            assert_eq!((defaults.params.shrink_every, defaults.refit_passes), (100, 1));
        }
        let (split, settings) = (split(), settings(1));
        let found = reproduce(&split, &settings, &Silent).unwrap();
        let drawn = tuples(&split.train.labels, settings.n_tuples, settings.seed);
        let mut learner = Learner::new(&settings.params, 24, 24, (0..24).map(|word| (word, word))).unwrap();
        let rows = &split.train.rows;
        learner.learn(rows, rows, &drawn, &Silent).unwrap();
        learner.refit();
        learner.learn(rows, rows, &drawn, &Silent).unwrap();
        let test = tuples(&split.test.labels, settings.n_test_tuples, settings.seed + 1);
        let w = learner.matrix();
        assert_eq!(found.methods.len(), 8);
        let names = found.methods[6..].iter().map(|method| method.name);
        assert!(names.eq([RIDGE, RIDGE_REFITTED]));
        assert!(found.methods[6..].iter().all(|method| method.density <= settings.ridge.density));
        let refitted = &found.methods[5];
        assert_eq!((refitted.name, refitted.tuples), ("Sparse-R", 2 * settings.n_tuples));
        assert_eq!(refitted.error, error(&w, &split.test, &test));
        assert_eq!(refitted.map, mean_average_precision(&w, &split.test, 1, &Silent));
    }

    /// More passes add a separate row, and do not change the others.
    #[test]
    fn more_passes_are_a_row_of_their_own() {
        let split = split();
        let [one, three] = [1, 3].map(|passes| reproduce(&split, &settings(passes), &Silent).unwrap());
        let figures = |found: &PreferenceReproduction| -> Vec<(&str, usize, f64, f64, usize)> {
            found.methods.iter().map(|m| (m.name, m.tuples, m.map, m.error, m.nnz)).collect()
        };
        assert_eq!(figures(&one)[..6], figures(&three)[..6]);
        assert_eq!(figures(&one)[6..], figures(&three)[7..], "the ridge start does not depend on passes");
        let more = &three.methods[6];
        assert_eq!((more.name, more.tuples), (MORE_PASSES, 4 * 700));
        assert!(more.map != three.methods[5].map, "more tuples learn something else");
    }

    /// A word that counts against, and a word of too few rows, are among the largest entries but not the common ones.
    #[test]
    fn common_related_words_are_positive_and_frequent() {
        let words = ["cpu", "scsi", "prophet", "lbl", "bus"].map(str::to_owned).to_vec();
        // 200 rows: "lbl" occurs in one of them, "bus" in two, the least that is common.
        let in_rows = |column: u32, n: u32| (0..n).map(move |row| (row, column, 1.0));
        let triples = in_rows(0, 9).chain(in_rows(1, 9)).chain(in_rows(2, 9));
        let triples = triples.chain(in_rows(3, 1)).chain(in_rows(4, 2));
        let part = |rows| Labelled { rows, labels: vec![0; 200] };
        let train = part(Csr::from_triples(200, 5, triples).unwrap());
        let split = LabelledSplit { train, test: part(Csr::from_triples(200, 5, []).unwrap()), words };
        let entries = [(0, 0, 0.1), (0, 1, 0.2), (0, 2, -0.5), (0, 3, 0.4), (0, 4, 0.3)];
        let found = related(&Csr::from_triples(5, 5, entries).unwrap(), &split);
        assert_eq!(found.len(), 1, "the other words of the paper do not exist");
        assert_eq!(found[0].related, ["prophet", "lbl", "bus", "scsi", "cpu"]);
        assert_eq!(found[0].common, ["bus", "scsi", "cpu"]);
    }
}
