//! Judgments, runs and feature lists, and the parsers of their bytes.
