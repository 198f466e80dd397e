//! Shrinkage that costs nothing until a row is read.
//!
//! Every T steps all of W is soft-thresholded. Thresholds of a row that is not touched in between add up:
//! S(S(w, a), b) = S(w, a + b). With s the sum of all thresholds so far, a row therefore keeps the s of when
//! it was last written, and whenever it is read, w is what the difference leaves of its numbers. Nothing is
//! ever applied to the whole matrix, and when a row is read makes no difference to it.
//!
//! An entry of which nothing is left is dead: it may be forgotten at any time.

/// A threshold, as entries see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shrinkage(pub(super) f32);

impl Shrinkage {
    /// From one s to a later one.
    pub(super) fn between(earlier: f64, later: f64) -> Self {
        Self((later - earlier) as f32)
    }

    /// What is left of a number: S(number, threshold).
    #[inline(always)]
    pub(super) fn value(self, number: f32) -> f32 {
        let left = number.abs() - self.0;
        (if left > 0.0 { left } else { 0.0 }).copysign(number)
    }

    /// Whether anything is left of a number.
    #[inline(always)]
    pub(super) fn leaves(self, number: f32) -> bool {
        number.abs() > self.0
    }
}
