use super::items::Items;
use super::{Rule, WIDTH};
use crate::simd::vectorised;

/// Rows of `W` numbers, each with the sum of squares that its steps are divided by.
pub(super) struct Table<const W: usize> {
    rows: Vec<[f32; W]>,
    squares: Vec<f32>,
    /// Gradients of the rows that a batch touches.
    gradients: Vec<[f32; W]>,
}

impl<const W: usize> Table<W> {
    /// Rows whose first `width` numbers are even between -spread and spread, drawn from 0 to 1; the others are
    /// 0, and stay so.
    pub(super) fn random(n: usize, width: usize, spread: f32, mut draw: impl FnMut() -> f32) -> Self {
        let mut row = |_| {
            let mut row = [0.0; W];
            row[..width].iter_mut().for_each(|value| *value = spread * (2.0 * draw() - 1.0));
            row
        };
        Self { rows: (0..n).map(&mut row).collect(), squares: vec![0.0; n], gradients: Vec::new() }
    }

    pub(super) fn row(&self, row: usize) -> &[f32; W] {
        &self.rows[row]
    }

    #[cfg(test)]
    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f32; W] {
        &mut self.rows[row]
    }

    /// The gradient of every row that the items touch, by place: the sum of value * error over the items with
    /// the feature, and l2 times the row for each of them.
    #[inline(always)]
    fn differentiate(&mut self, items: &Items, errors: &[[f32; W]], rule: &Rule) {
        self.gradients.clear();
        self.gradients.extend(items.touched().iter().map(|&(row, n)| {
            let pull = rule.l2 * n as f32;
            self.rows[row as usize].map(|value| pull * value)
        }));
        for ((places, values), error) in items.entries().zip(errors) {
            if error.iter().all(|&error| error == 0.0) {
                continue;
            }
            for (&place, &value) in places.iter().zip(values) {
                let gradient = &mut self.gradients[place as usize];
                for column in 0..W {
                    gradient[column] += value * error[column];
                }
            }
        }
    }

    /// The steps.
    #[inline(always)]
    fn take_steps(&mut self, items: &Items, rule: &Rule) {
        for (&(row, _), gradient) in items.touched().iter().zip(&self.gradients) {
            let square = gradient.iter().map(|g| g * g).sum::<f32>() / W as f32;
            if square > 0.0 {
                let sum = &mut self.squares[row as usize];
                *sum += square;
                let step = rule.rate / sum.sqrt();
                let row = &mut self.rows[row as usize];
                for column in 0..W {
                    row[column] -= step * gradient[column];
                }
            }
        }
    }

    #[inline(always)]
    fn map_plainly(&self, items: &Items, images: &mut Vec<[f32; W]>) {
        images.clear();
        let rows = items.touched();
        images.extend(items.entries().map(|(places, values)| {
            let mut image = [0.0; W];
            for (&place, &value) in places.iter().zip(values) {
                let row = &self.rows[rows[place as usize].0 as usize];
                for column in 0..W {
                    image[column] += value * row[column];
                }
            }
            image
        }));
    }

    /// The gradients of the touched rows, for tests.
    #[cfg(test)]
    pub(super) fn gradients(&mut self, items: &Items, errors: &[[f32; W]], rule: &Rule) -> &[[f32; W]] {
        self.differentiate(items, errors, rule);
        &self.gradients
    }
}

vectorised! {
    fn map_block(table: &Table<WIDTH>, items: &Items, images: &mut Vec<[f32; WIDTH]>) {
        table.map_plainly(items, images);
    }
}

vectorised! {
    fn descend_block(table: &mut Table<WIDTH>, items: &Items, errors: &[[f32; WIDTH]], rule: &Rule) {
        table.differentiate(items, errors, rule);
        table.take_steps(items, rule);
    }
}

impl Table<WIDTH> {
    /// The image of every item: the sum of value * row.
    pub(super) fn map(&self, items: &Items, images: &mut Vec<[f32; WIDTH]>) {
        map_block(self, items, images);
    }

    /// One step of every row that the items touch; `errors` is the derivative of the loss by each image.
    pub(super) fn descend(&mut self, items: &Items, errors: &[[f32; WIDTH]], rule: &Rule) {
        descend_block(self, items, errors, rule);
    }
}

impl Table<1> {
    /// The image of every item: the sum of value * row.
    pub(super) fn map(&self, items: &Items, images: &mut Vec<[f32; 1]>) {
        self.map_plainly(items, images);
    }

    /// One step of every row that the items touch; `errors` is the derivative of the loss by each image.
    pub(super) fn descend(&mut self, items: &Items, errors: &[[f32; 1]], rule: &Rule) {
        self.differentiate(items, errors, rule);
        self.take_steps(items, rule);
    }
}
