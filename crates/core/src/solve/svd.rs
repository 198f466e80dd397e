//! The largest singular vectors of W, by block Lanczos with thick restarts.
//!
//! C = W'W (or WW', for the side with fewer rows) is applied to a block of columns at a time, and every new block is
//! orthogonalised against all previous ones, twice. The result is a randomised block Krylov space, which contains the
//! wanted vectors far better than the powers of one block. When the basis Q is full, its best vectors (those of the
//! small matrix Q'CQ) and the newest block are kept and the basis grows again, until |W'u_i - s_i v_i| <= tolerance s_1
//! for all wanted i.
//!
//! Cost of a step with a block of b columns and a basis of m: one product with W and with W', and 8 n m b operations
//! for orthogonalisation; memory 4 n m bytes. Small problems are solved densely instead.
//!
//! References: C. Musco, C. Musco, *Randomized block Krylov methods* (2015); K. Wu, H. Simon,
//! *Thick-restart Lanczos* (2000).

use faer::Mat;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::Tall;
use crate::linalg::{Block, Lanes, Operator, Scratch, Side, WIDTH};
use crate::progress::Progress;
use crate::{Error, Result};

/// W = U diag(s) V', truncated.
pub(crate) struct Svd {
    /// For every row of the X side, one value per singular vector.
    pub(crate) u: Vec<f32>,
    /// Singular values, descending: d, or the rank of W if smaller, but at least one.
    pub(crate) s: Vec<f64>,
    /// For every row of the Y side, one value per singular vector.
    pub(crate) v: Vec<f32>,
    /// max_i max(|W'u_i - s_i v_i|, |W v_i - s_i u_i|) / s_1, recomputed from the result.
    pub(crate) residual: f64,
    /// Number of blocks that W'W was applied to.
    pub(crate) steps: usize,
}

/// Parameters of the decomposition.
pub(crate) struct SvdParams {
    pub(crate) d: usize,
    pub(crate) tolerance: f64,
    /// Maximum number of steps; the residual shows the accuracy that was reached.
    pub(crate) max_steps: usize,
}

/// Number of rows of one piece of work.
const PIECE: usize = 4096;
/// Number of rows up to which a side is solved densely.
const DENSE: usize = 400;
/// Share of the largest singular value below which others count as zero: f32 cannot resolve them.
const ZERO: f64 = 1e-5;

/// Computes the `d` largest singular values with their vectors; if the rank of W is smaller, all of them, with a note.
pub(crate) fn svd(
    operator: &impl Operator,
    params: &SvdParams,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Svd> {
    let (n_x, n_y) = (operator.n_rows(Side::X), operator.n_rows(Side::Y));
    let base = if n_x < n_y { Side::X } else { Side::Y };
    let n = n_x.min(n_y);
    let mut products = Products { operator, scratch: Scratch::default(), lanes: [Vec::new(), Vec::new()] };
    let (mut mine, steps) = if n <= DENSE.max(2 * params.d.min(n)) {
        let mut identity = Tall::zeros(n, n);
        (0..n).for_each(|i| identity.data_mut()[i * n + i] = 1.0);
        (identity, 0)
    } else {
        krylov(&mut products, base, params.d, params, seed, progress)?
    };
    // Fewer, if the steps ended before there were d.
    let d = params.d.min(mine.room());
    // Rayleigh-Ritz: the eigenvectors of (W Q)'(W Q) are the best vectors in the space of Q.
    let mut other = products.apply(base.other(), &mine);
    let (_, vectors) = eigen(&other.product(other.room(), &other, other.room()))?;
    let vectors = vectors.subcols(0, d).to_owned();
    mine.rotate(&vectors);
    other.rotate(&vectors);
    let (mut mine, mut other) = (mine.truncate(d), other.truncate(d));
    // Measure the norms of the columns of W V rather than taking them from the eigenvalues, whose rounding errors would
    // create directions out of nothing.
    let gram = other.product(d, &other, d);
    let lengths: Vec<f64> = (0..d).map(|i| gram[(i, i)].sqrt()).collect();
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    if !longest.is_finite() {
        return Err(Error::Diverged("the responses are too large for f32; scale them down".into()));
    }
    let kept = independent(&gram, &lengths, longest);
    let rank = kept.len();
    let pick = |scale: &dyn Fn(usize) -> f64| {
        Mat::from_fn(d, rank, |i, j| if i == kept[j] { scale(i) } else { 0.0 })
    };
    if rank > 0 {
        mine.rotate(&pick(&|_| 1.0));
        other.rotate(&pick(&|i| 1.0 / lengths[i]));
    }
    // Orthonormalise what is orthonormal up to rounding: W V = U R diag(s).
    let (mut mine, mut other) = (mine.truncate(rank), other.truncate(rank));
    let mut s = Vec::new();
    if rank > 0 {
        let first = mine.orthonormalise(rank)?;
        let second = other.orthonormalise(rank)?;
        let mut inverse = Mat::<f64>::identity(rank, rank);
        faer::linalg::triangular_solve::solve_upper_triangular_in_place(
            first.as_ref(),
            inverse.as_mut(),
            faer::Par::Seq,
        );
        let middle = Mat::from_fn(rank, rank, |i, j| second[(i, j)] * lengths[kept[j]]);
        let small = (&middle * &inverse).svd().map_err(|_| {
            Error::Diverged("the decomposition of the projected matrix did not converge".into())
        })?;
        other.rotate(&small.U().to_owned());
        mine.rotate(&small.V().to_owned());
        s = (0..rank).map(|i| small.S()[i]).collect();
    }
    let residual = residual(&mut products, base, &mine, &other, &s);
    if rank < params.d {
        let why = if steps >= params.max_steps {
            format!("were found within max_steps = {}", params.max_steps)
        } else {
            "are all that the data supports".into()
        };
        progress.note(&format!("d = {} was requested, but {rank} latent dimensions {why}", params.d));
    }
    // For a matrix of zeros, any direction is as good as any other.
    s.resize(rank.max(1), 0.0);
    let [mine, other] =
        [mine, other].map(|side| if rank > 0 { side.into_data() } else { vec![0.0; side.n()] });
    let (u, v) = if base == Side::X { (mine, other) } else { (other, mine) };
    Ok(Svd { u, s, v, residual, steps })
}

/// Returns the columns that are long enough to have a direction, and whose directions f32 can tell apart. The other
/// small singular values are rounding errors.
fn independent(gram: &Mat<f64>, lengths: &[f64], longest: f64) -> Vec<usize> {
    let mut zero = ZERO;
    loop {
        let kept: Vec<usize> = (0..lengths.len()).filter(|&i| lengths[i] > zero * longest).collect();
        let cosine = |i: usize, j: usize| gram[(kept[i], kept[j])] / (lengths[kept[i]] * lengths[kept[j]]);
        let cosines = Mat::from_fn(kept.len(), kept.len(), cosine);
        let apart = |l: faer::MatRef<'_, f64>| (0..kept.len()).all(|i| l[(i, i)] > 0.1);
        if kept.len() <= 1 || cosines.llt(faer::Side::Lower).is_ok_and(|cholesky| apart(cholesky.L())) {
            return kept;
        }
        zero *= 3.0;
    }
}

/// Computes an orthonormal basis of d columns that contains the wanted vectors of a side.
fn krylov(
    products: &mut Products<'_, impl Operator>,
    side: Side,
    d: usize,
    params: &SvdParams,
    seed: u64,
    progress: &dyn Progress,
) -> Result<(Tall, usize)> {
    let n = products.operator.n_rows(side);
    let b = (d / 8).next_multiple_of(WIDTH).clamp(WIDTH, 4 * WIDTH);
    let room = (d + d / 2 + 4 * b).min(n);
    let keep = d + b;
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut random = |block: &mut Tall, size: f32| {
        block.data_mut().iter_mut().for_each(|value| *value += size * (rng.random::<f32>() - 0.5));
    };
    let mut block = Tall::zeros(n, b);
    random(&mut block, 1.0);
    block.orthonormalise(b)?;
    let mut basis = Tall::zeros(n, room);
    let mut t = Mat::<f64>::zeros(room, room);
    let mut m = 0;
    let mut largest = 0f64;
    progress.begin("singular vectors", None, "products with W'W");
    for step in 1.. {
        copy_columns(&block, &mut basis, m);
        m += b;
        // Mean norm of W q over the block, which is at most s_1.
        let length = products.square(side, &mut block);
        largest = largest.max(length);
        progress.advance(1);
        if !block.data().iter().all(|value| value.is_finite()) {
            return Err(Error::Diverged("the responses are too large for f32; scale them down".into()));
        }
        // C Q_j = Q H + (the new part), orthogonalised twice.
        let mut h = basis.product(m, &block, b);
        block.subtract(&basis, &h);
        let again = basis.product(m, &block, b);
        block.subtract(&basis, &again);
        h += again;
        for column in 0..b {
            for row in 0..m {
                t[(row, m - b + column)] = h[(row, column)];
                t[(m - b + column, row)] = h[(row, column)];
            }
        }
        let left = block.product(b, &block, b);
        let left_over = (0..b).map(|i| left[(i, i)]).sum::<f64>().sqrt();
        let full = m + b > room;
        // W maps the block to nearly zero: only such directions are left, or the block would contain others.
        let exhausted = length <= ZERO * largest;
        let last = exhausted || step >= params.max_steps;
        if full || last {
            let (values, mut vectors) = eigen(&t.submatrix(0, 0, m, m).to_owned())?;
            // C v - lambda v = (the new part) e, where e is the last rows of the eigenvector.
            let worst = (0..d.min(m))
                .map(|i| {
                    let e = vectors.col(i).subrows(m - b, b).to_owned();
                    let square: f64 = e.transpose() * &left * &e;
                    square.max(0.0).sqrt() / (values[i].max(0.0) * values[0].max(0.0)).sqrt()
                })
                .filter(|residual| residual.is_finite())
                .fold(0.0, f64::max);
            if worst <= params.tolerance || last || values[0] <= 0.0 {
                vectors.truncate(m, d.min(m));
                basis.rotate(&vectors);
                return Ok((basis.truncate(d.min(m)), step));
            }
            vectors.truncate(m, keep);
            basis.rotate(&vectors);
            t = Mat::zeros(room, room);
            (0..keep).for_each(|i| t[(i, i)] = values[i]);
            m = keep;
        }
        let mut attempt = block.clone();
        let mut n_attempts = 0;
        while attempt.orthonormalise(b).is_err() {
            n_attempts += 1;
            if n_attempts > 20 {
                return Err(Error::Diverged(
                    "no independent direction was found for the Krylov space".into(),
                ));
            }
            // Nothing new in some direction: any other direction will do.
            let size = block.data().iter().fold(0f32, |most, value| most.max(value.abs()));
            random(&mut block, 0.1 * size.max(f32::MIN_POSITIVE.sqrt()));
            for _ in 0..2 {
                let h = basis.product(m, &block, b);
                block.subtract(&basis, &h);
            }
            attempt = block.clone();
        }
        block = attempt;
        if full || left_over < 1e-3 * h.norm_l2() {
            // Rotation leaves rounding errors between the kept vectors and the block, and so does rescaling of short
            // vectors.
            let h = basis.product(m, &block, b);
            block.subtract(&basis, &h);
            block.orthonormalise(b)?;
        }
    }
    unreachable!("the last step returns")
}

/// Products of W with tall matrices.
struct Products<'a, O> {
    operator: &'a O,
    scratch: Scratch,
    lanes: [Vec<Lanes>; 2],
}

impl<O: Operator> Products<'_, O> {
    /// Multiplies W or W' by a tall matrix, block by block: `each` receives the first column of a block and its rows.
    fn blocks(&mut self, to: Side, from: &Tall, mut each: impl FnMut(usize, &[Lanes])) {
        let n = self.operator.n_rows(to);
        let scaled = self.operator.scaled(to, None);
        let [input, output] = &mut self.lanes;
        output.resize(n, Lanes::ZERO);
        for first in (0..from.room()).step_by(WIDTH) {
            to_lanes(from, first, input);
            let (block, nothing) = (Block::Dense(input), &mut vec![(); n]);
            self.operator.multiply(&scaled, block, &mut self.scratch, Some(output), nothing, |_, _| ());
            each(first, output);
        }
    }

    /// Multiplies W or W' by a tall matrix.
    fn apply(&mut self, to: Side, from: &Tall) -> Tall {
        let mut out = Tall::zeros(self.operator.n_rows(to), from.room());
        self.blocks(to, from, |first, lanes| from_lanes(lanes, &mut out, first));
        out
    }

    /// Applies C = W'W or WW' to a block Q in place; returns |W Q| / sqrt(columns), with the Frobenius norm.
    fn square(&mut self, side: Side, block: &mut Tall) -> f64 {
        let mut squares = 0.0;
        let there = self.operator.scaled(side.other(), None);
        let back = self.operator.scaled(side, None);
        for first in (0..block.room()).step_by(WIDTH) {
            let [mine, other] = &mut self.lanes;
            to_lanes(block, first, mine);
            other.resize(self.operator.n_rows(side.other()), Lanes::ZERO);
            let (mut here_state, mut there_state) = (vec![(); mine.len()], vec![(); other.len()]);
            let scratch = &mut self.scratch;
            self.operator.multiply(
                &there,
                Block::Dense(mine),
                scratch,
                Some(other),
                &mut there_state,
                |_, _| (),
            );
            squares += sum_of_squares(other);
            self.operator.multiply(
                &back,
                Block::Dense(other),
                scratch,
                Some(mine),
                &mut here_state,
                |_, _| (),
            );
            from_lanes(mine, block, first);
        }
        (squares / block.room() as f64).sqrt()
    }
}

/// Computes a sum in chunks of fixed size, so that the result is the same for any number of threads.
fn sum_of_squares(lanes: &[Lanes]) -> f64 {
    let square = |lanes: &Lanes| lanes.0.iter().map(|&value| f64::from(value * value)).sum::<f64>();
    let chunks: Vec<f64> = lanes.par_chunks(4096).map(|chunk| chunk.iter().map(square).sum()).collect();
    chunks.iter().sum()
}

fn to_lanes(tall: &Tall, first: usize, lanes: &mut Vec<Lanes>) {
    lanes.resize(tall.n(), Lanes::ZERO);
    let width = WIDTH.min(tall.room() - first);
    lanes.par_iter_mut().zip(tall.data().par_chunks(tall.room())).with_min_len(4096).for_each(
        |(lanes, row)| {
            lanes.0[..width].copy_from_slice(&row[first..first + width]);
            lanes.0[width..].fill(0.0);
        },
    );
}

fn from_lanes(lanes: &[Lanes], tall: &mut Tall, first: usize) {
    let room = tall.room();
    let width = WIDTH.min(room - first);
    tall.data_mut().par_chunks_mut(room).zip(lanes).with_min_len(4096).for_each(|(row, lanes)| {
        row[first..first + width].copy_from_slice(&lanes.0[..width]);
    });
}

fn copy_columns(from: &Tall, to: &mut Tall, first: usize) {
    let (columns, room) = (from.room(), to.room());
    to.data_mut()
        .par_chunks_mut(room)
        .zip(from.data().par_chunks(columns))
        .with_min_len(4096)
        .for_each(|(to, from)| to[first..first + columns].copy_from_slice(from));
}

/// Computes the eigenvalues, descending, and eigenvectors of a symmetric matrix.
fn eigen(matrix: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>)> {
    let failed = |_| Error::Diverged("the eigenvalues of the projected matrix did not converge".into());
    let decomposition = matrix.self_adjoint_eigen(faer::Side::Lower).map_err(failed)?;
    let m = matrix.nrows();
    let values = (0..m).rev().map(|i| decomposition.S()[i]).collect();
    let vectors = decomposition.U();
    Ok((values, Mat::from_fn(m, m, |i, j| vectors[(i, m - 1 - j)])))
}

/// Computes max_i max(|W m_i - s_i o_i|, |W' o_i - s_i m_i|) / s_1.
fn residual(
    products: &mut Products<'_, impl Operator>,
    base: Side,
    mine: &Tall,
    other: &Tall,
    s: &[f64],
) -> f64 {
    let mut worst = 0f64;
    for (to, from, expected) in [(base.other(), mine, other), (base, other, mine)] {
        products.blocks(to, from, |first, image| {
            let s = &s[first..s.len().min(first + WIDTH)];
            let expected = expected.data().par_chunks(PIECE * expected.room());
            let pieces: Vec<[f64; WIDTH]> = image
                .par_chunks(PIECE)
                .zip(expected)
                .map(|(image, expected)| {
                    let mut squares = [0.0; WIDTH];
                    for (image, expected) in image.iter().zip(expected.chunks(mine.room())) {
                        for (lane, s) in s.iter().enumerate() {
                            let expected = s * f64::from(expected[first + lane]);
                            squares[lane] += (f64::from(image.0[lane]) - expected).powi(2);
                        }
                    }
                    squares
                })
                .collect();
            for lane in 0..s.len() {
                worst = worst.max(pieces.iter().map(|squares| squares[lane]).sum::<f64>().sqrt());
            }
        });
    }
    if s.is_empty() { 0.0 } else { worst / s[0] }
}
