//! Lazy shrinkage, which costs nothing until a row is read.
//!
//! Every T steps all of W is soft-thresholded. Thresholds of a row that is not touched in between add up:
//! S(S(w, a), b) = S(w, a + b). Let s be the sum of all thresholds so far. A row stores the s of its last write, and
//! whenever the row is read, its numbers are thresholded by the increase of s. The whole matrix is never processed, and
//! the time of reading does not affect a row.
//!
//! An entry that has become 0 is dead: it may be dropped at any time.

/// Threshold of the entries of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shrinkage(pub(super) f32);

impl Shrinkage {
    /// Returns the threshold from one s to a later one.
    pub(super) fn between(earlier: f64, later: f64) -> Self {
        Self((later - earlier) as f32)
    }

    /// Returns the remainder of a number: S(number, threshold).
    #[inline(always)]
    pub(super) fn value(self, number: f32) -> f32 {
        let left = number.abs() - self.0;
        (if left > 0.0 { left } else { 0.0 }).copysign(number)
    }

    /// Returns true if the remainder of a number is not 0.
    #[inline(always)]
    pub(super) fn leaves(self, number: f32) -> bool {
        number.abs() > self.0
    }
}
