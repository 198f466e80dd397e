//! Rows of one side, their images and their steps.

use std::ops::Range;

use rayon::prelude::*;

use super::items::{ItemEntry, Items};
use super::{StepRule, WIDTH};
use crate::linalg::simd::vectorised;

/// Number of items that a thread maps at a time.
const MAPPED: usize = 64;

/// Number of rows that a thread updates at a time.
const STEPPED: usize = 512;

/// Number of rows to prefetch ahead: enough to hide the memory latency.
const AHEAD: usize = 6;

/// Sixteen values of a row or an image: one cache line.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(super) struct Lane(pub(super) [f32; WIDTH]);

impl Lane {
    pub(super) const ZERO: Self = Self([0.0; WIDTH]);

    #[inline(always)]
    pub(super) fn add(&mut self, weight: f32, other: &Self) {
        for column in 0..WIDTH {
            self.0[column] += weight * other.0[column];
        }
    }

    #[inline(always)]
    pub(super) fn dot(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(x, y)| x * y).sum()
    }

    fn is_finite(&self) -> bool {
        self.0.iter().fold(true, |all, value| all & value.is_finite())
    }
}

/// Columns of a row: `d` latent columns and, if the model has biases, the bias of the feature after them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) d: usize,
    pub(super) with_bias: bool,
}

impl Shape {
    /// Number of lanes of a row.
    pub(super) fn lanes(self) -> usize {
        (self.d + usize::from(self.with_bias)).div_ceil(WIDTH)
    }

    /// Number of sums of squares of a row: one per lane, and one for the bias.
    fn sums(self) -> usize {
        self.lanes() + usize::from(self.with_bias)
    }

    /// Returns the bias of a row or an image.
    pub(super) fn bias(self, lanes: &mut [Lane]) -> Option<&mut f32> {
        self.with_bias.then(|| &mut lanes[self.d / WIDTH].0[self.d % WIDTH])
    }
}

/// Rows of values, each with the sums of squares that its steps are divided by.
pub(super) struct Table {
    shape: Shape,
    rows: Vec<Lane>,
    squares: Vec<f32>,
}

impl Table {
    /// Initialises rows whose latent columns are uniform between -spread and spread; biases are 0. `draw(number)`
    /// generates values between 0 and 1 for lane `number`.
    pub(super) fn random<D: FnMut() -> f32>(
        n: usize,
        shape: Shape,
        spread: f32,
        draw: impl Fn(usize) -> D,
    ) -> Self {
        let mut draws: Vec<D> = (0..shape.d.div_ceil(WIDTH)).map(draw).collect();
        let mut rows = vec![Lane::ZERO; n * shape.lanes()];
        for row in rows.chunks_exact_mut(shape.lanes()) {
            for (number, (lane, draw)) in row.iter_mut().zip(&mut draws).enumerate() {
                let width = WIDTH.min(shape.d - number * WIDTH);
                lane.0[..width].iter_mut().for_each(|value| *value = spread * (2.0 * draw() - 1.0));
            }
        }
        Self { shape, rows, squares: vec![0.0; n * shape.sums()] }
    }

    /// Returns true if every value is finite.
    pub(super) fn is_finite(&self) -> bool {
        self.rows.par_chunks(1 << 12).all(|lanes| lanes.iter().all(Lane::is_finite))
    }

    pub(super) fn row(&self, row: usize) -> &[Lane] {
        &self.rows[row * self.shape.lanes()..][..self.shape.lanes()]
    }

    #[cfg(test)]
    pub(super) fn row_mut(&mut self, row: usize) -> &mut [Lane] {
        &mut self.rows[row * self.shape.lanes()..][..self.shape.lanes()]
    }

    /// Computes the gradient of a row, for tests.
    #[cfg(test)]
    pub(super) fn gradient(
        &self,
        row: usize,
        items: &[(u32, u32, f32)],
        errors: &[Lane],
        rule: &StepRule,
    ) -> Vec<Lane> {
        let mut gradient = vec![Lane::ZERO; self.shape.lanes()];
        differentiate(&mut gradient, self.row(row), items, errors, rule);
        gradient
    }

    /// Returns the bias of a row, if rows have one.
    pub(super) fn bias(&self, row: usize) -> f32 {
        self.row(row)[self.shape.d / WIDTH].0[self.shape.d % WIDTH]
    }

    /// Computes the image of every item: the sum of value * row.
    pub(super) fn map(&self, items: &Items<'_>, images: &mut Vec<Lane>) {
        let lanes = self.shape.lanes();
        images.clear();
        images.resize(items.len() * lanes, Lane::ZERO);
        images.par_chunks_mut(MAPPED * lanes).enumerate().for_each(|(number, images)| {
            let offsets = &items.offsets()[number * MAPPED..][..=images.len() / lanes];
            map_items(&self.rows, lanes, items.entries(), offsets, images);
        });
    }

    /// Takes one step for every row that the items touch; `errors` is the derivative of the loss with respect to each
    /// image.
    pub(super) fn descend(&mut self, items: &Items<'_>, errors: &[Lane], rule: &StepRule) {
        let shape = self.shape;
        let (mut rows, mut squares) = (&mut self.rows[..], &mut self.squares[..]);
        let mut first = 0;
        // Touched rows ascend, so the parts do not overlap.
        let parts: Vec<TablePart<'_>> = items
            .touched()
            .chunks(STEPPED)
            .enumerate()
            .map(|(number, touched)| {
                let end = touched[touched.len() - 1] as usize + 1;
                let part = TablePart {
                    first,
                    places: number * STEPPED..number * STEPPED + touched.len(),
                    rows: rows.split_off_mut(..(end - first) * shape.lanes()).expect("rows ascend"),
                    squares: squares.split_off_mut(..(end - first) * shape.sums()).expect("rows ascend"),
                };
                first = end;
                part
            })
            .collect();
        parts.into_par_iter().for_each(|part| step_rows(part, shape, items, errors, rule));
    }
}

/// Rows that one thread updates.
struct TablePart<'a> {
    /// Number of the first row.
    first: usize,
    /// Places of the rows among the touched rows.
    places: Range<usize>,
    rows: &'a mut [Lane],
    squares: &'a mut [f32],
}

/// Prefetches values that will be needed soon.
#[inline(always)]
fn fetch<T>(numbers: Option<&[T]>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(numbers) = numbers {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        for line in numbers.chunks(size_of::<Lane>() / size_of::<T>()) {
            // SAFETY: a hint about memory that belongs to `numbers`; nothing is read.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = numbers;
}

vectorised! {
    /// Computes the images of items whose entries lie between one offset and the next.
    fn map_items(rows: &[Lane], lanes: usize, entries: &[ItemEntry], offsets: &[usize], images: &mut [Lane]) {
        for (image, at) in images.chunks_exact_mut(lanes).zip(offsets.windows(2)) {
            for number in at[0]..at[1] {
                if let Some(later) = entries.get(number + AHEAD) {
                    let later = later.row as usize;
                    fetch(rows.get(later * lanes..(later + 1) * lanes));
                }
                let ItemEntry { row, value } = entries[number];
                let row = &rows[row as usize * lanes..][..lanes];
                image.iter_mut().zip(row).for_each(|(sum, lane)| sum.add(value, lane));
            }
        }
    }
}

vectorised! {
    /// Takes one step for each row of a part.
    fn step_rows(part: TablePart<'_>, shape: Shape, items: &Items<'_>, errors: &[Lane], rule: &StepRule) {
        let TablePart { first, places, rows, squares } = part;
        let (lanes, sums) = (shape.lanes(), shape.sums());
        let touched = &items.touched()[..places.end];
        let mut gradient = vec![Lane::ZERO; lanes];
        for place in places {
            if let Some(&later) = touched.get(place + AHEAD) {
                let later = later as usize - first;
                fetch(rows.get(later * lanes..(later + 1) * lanes));
                fetch(squares.get(later * sums..(later + 1) * sums));
            }
            let at = touched[place] as usize - first;
            let (row, squares) = (&mut rows[at * lanes..][..lanes], &mut squares[at * sums..][..sums]);
            differentiate(&mut gradient, row, items.of_row(place), errors, rule);
            take_step(shape, &mut gradient, row, squares, rule);
        }
    }
}

/// Computes the gradient of a row: the sum of value * error over the items with the feature, plus l2 times the row for
/// each of them.
#[inline(always)]
fn differentiate(
    gradient: &mut [Lane],
    row: &[Lane],
    items: &[(u32, u32, f32)],
    errors: &[Lane],
    rule: &StepRule,
) {
    let pull = rule.l2 * items.len() as f32;
    gradient.iter_mut().zip(row).for_each(|(gradient, row)| gradient.0 = row.0.map(|value| pull * value));
    for &(_, item, value) in items {
        let error = &errors[item as usize * gradient.len()..][..gradient.len()];
        gradient.iter_mut().zip(error).for_each(|(gradient, error)| gradient.add(value, error));
    }
}

/// Takes one step of a row: each lane has its own rate, and so has the bias.
#[inline(always)]
fn take_step(shape: Shape, gradient: &mut [Lane], row: &mut [Lane], squares: &mut [f32], rule: &StepRule) {
    if let (Some(slope), Some(bias)) = (shape.bias(gradient), shape.bias(row)) {
        let slope = std::mem::take(slope);
        let square = slope * slope;
        if square > 0.0 {
            let sum = &mut squares[shape.lanes()];
            *sum += square;
            *bias -= rule.rate / sum.sqrt() * slope;
        }
    }
    for ((lane, gradient), sum) in row.iter_mut().zip(&*gradient).zip(squares) {
        let square = gradient.dot(gradient) / WIDTH as f32;
        if square > 0.0 {
            *sum += square;
            lane.add(-(rule.rate / sum.sqrt()), gradient);
        }
    }
}
