//! Solvers shared by several models.

pub(crate) mod bundle;
pub(crate) mod newton;
pub(crate) mod ridge;
pub(crate) mod svd;
mod tall;

pub(crate) use tall::Tall;
