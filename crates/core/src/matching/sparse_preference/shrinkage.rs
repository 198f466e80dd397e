//! Shrinkage that costs nothing until an entry is read.
//!
//! Every T steps all of W is soft-thresholded. Thresholds of an entry that is not touched in between add up:
//! S(S(w, a), b) = S(w, a + b). With s the sum of all thresholds so far, an entry w is therefore stored as
//! the number u with the sign of w and |u| = |w| + s, and whenever it is read, w is what is left of u:
//! |w| = max(|u| - s, 0). Nothing is ever applied to the whole matrix, no entry needs a time stamp, and when
//! an entry is read makes no difference to it, not even in the last bit.
//!
//! An entry of which nothing is left is dead: it may be forgotten at any time. s grows without end while |w|
//! does not, so that digits of w are lost; it is set back to 0 (see `Clock`) before that matters.

/// s, as entries see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Shrinkage(pub(super) f32);

impl Shrinkage {
    /// w of a stored number.
    #[inline(always)]
    pub(super) fn value(self, stored: f32) -> f32 {
        let left = stored.abs() - self.0;
        (if left > 0.0 { left } else { 0.0 }).copysign(stored)
    }

    /// What is stored for w. An entry that becomes 0 is stored as the smallest normal number, so that a
    /// stored 0 means that there is no entry.
    #[inline(always)]
    pub(super) fn stored(self, value: f32) -> f32 {
        let size = value.abs();
        ((if size > f32::MIN_POSITIVE { size } else { f32::MIN_POSITIVE }) + self.0).copysign(value)
    }

    /// Whether anything is left of a stored number.
    #[inline(always)]
    pub(super) fn leaves(self, stored: f32) -> bool {
        stored.abs() > self.0
    }
}
