//! What a ranking is worth, and whether a difference is real.
