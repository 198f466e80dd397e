//! Solvers that several models share.

pub(crate) mod svd;
mod tall;

pub(crate) use tall::Tall;
