use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Parameters of the simulated shop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ShopParams {
    /// Number of products.
    pub products: usize,
    /// Number of distinct queries of the log.
    pub queries: usize,
    /// Number of clicks; a query's last session may add a few.
    pub clicks: usize,
    /// Probability that a customer makes a typo; texts with one run out later, so more of the distinct queries have one.
    pub typos: f64,
    /// Number of judged queries, half of them for validation, half for test.
    pub judged: usize,
    /// Share of the judged queries that are absent from the log.
    pub unseen: f64,
    /// Number of days the log covers.
    pub days: u32,
}

impl Default for ShopParams {
    fn default() -> Self {
        Self {
            products: 2_000,
            queries: 2_000,
            clicks: 16_000,
            typos: 0.15,
            judged: 400,
            unseen: 0.3,
            days: 28,
        }
    }
}

impl ShopParams {
    /// Returns the default with other sizes, and fewer judged queries where the log has few.
    pub fn sized(products: usize, queries: usize, clicks: usize) -> Self {
        let default = Self::default();
        Self { products, queries, clicks, judged: default.judged.min(queries / 4), ..default }
    }

    /// Number of judged queries that are absent from the log.
    pub(super) fn n_unseen(&self) -> usize {
        (self.judged as f64 * self.unseen).round() as usize
    }

    /// Returns an error if such data cannot be generated; the error says what to change.
    pub fn validate(&self) -> Result<()> {
        let check = |ok: bool, message: String| if ok { Ok(()) } else { Err(Error::Params(message)) };
        let Self { products, queries, clicks, judged, days, .. } = *self;
        check(
            (200..=1_000_000).contains(&products),
            format!("products is {products}; it must be from 200 to 1000000"),
        )?;
        check(
            (40..=10 * products).contains(&queries),
            format!("queries is {queries}; it must be from 40 to 10 for each product ({})", 10 * products),
        )?;
        check(
            (queries..=100_000_000).contains(&clicks),
            format!("clicks is {clicks}; it must be from the number of queries ({queries}) to 100000000"),
        )?;
        for (name, value) in [("typos", self.typos), ("unseen", self.unseen)] {
            check((0.0..=1.0).contains(&value), format!("{name} is {value}; it must be from 0 to 1"))?;
        }
        check(
            judged <= queries / 2,
            format!("judged is {judged}; at most half of the {queries} queries can be judged"),
        )?;
        check((1..=3_650).contains(&days), format!("days is {days}; it must be from 1 to 3650"))
    }
}
