//! Data with the statistics of the papers.
