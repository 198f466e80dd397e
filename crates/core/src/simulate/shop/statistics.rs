use serde::{Deserialize, Serialize};

use super::params::ShopParams;
use crate::simulate::clicks::PositionCount;

/// Statistics that are known when a simulated shop is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ShopStatistics {
    /// Number of types of which the shop has a product.
    pub types: u64,
    /// Number of queries of the log that have a typo.
    pub typos: u64,
    /// Number of sessions, including those without a click (which the log leaves out).
    pub sessions: u64,
    /// Number of sessions without a click.
    pub abandoned: u64,
    /// Number of clicks.
    pub clicks: u64,
    /// Number of distinct clicked (query, product) pairs.
    pub pairs: u64,
    /// Share of these pairs whose grade is Bad or Fair.
    pub noise_pairs: f64,
    /// Number of rows of the log.
    pub rows: u64,
    /// Impressions, clicks and expected clicks by position.
    pub positions: Vec<PositionCount>,
    /// Numbers of judged queries for validation and for test.
    pub judged_queries: [u64; 2],
    /// Number of judged queries that are absent from the log.
    pub judged_unseen: u64,
    /// Number of judged (query, product) pairs by grade, 0 to 4.
    pub grades: [u64; 5],
    /// Share of the judged Perfect products whose title has another word for the type than the query, or whose query has
    /// a typo in that word.
    pub name_mismatch: f64,
    /// Seed of the simulation.
    pub seed: u64,
    /// Parameters of the simulation.
    pub params: ShopParams,
}
