//! Chooses the judged queries, and their judged products.
//!
//! Queries of the log are judged with a probability that grows with the square root of their clicks; other judged
//! queries are absent from the log. A list contains the top of the result page (nothing for an unseen query) and
//! products that are drawn whether or not anybody ever saw them. Grades do not depend on the clicks.

use super::params::ShopParams;
use super::products::Catalogue;
use super::queries::ShopQuery;
use super::traffic::{Drawn, ShopTraffic};
use crate::simulate::random::{stream, weighted_sample};

/// Purpose of the random numbers of the judges.
const PURPOSE: u64 = 15;
/// Products of the page that are judged.
const FROM_PAGE: usize = 5;
/// Products that are judged besides.
const DRAWN: Drawn = Drawn { perfect: 5, of_type: 9, of_category: 3, other: 6 };

pub(super) struct JudgedShopQuery {
    /// Number of the query.
    pub(super) query: usize,
    /// True if the query is for validation; the others are for test.
    pub(super) is_validation: bool,
    /// Products with their grades, by number.
    pub(super) products: Vec<(u32, u8)>,
}

/// Judges the queries. Those of the log come first, and `traffic` is theirs.
pub(super) fn judge(
    catalogue: &Catalogue,
    queries: &[ShopQuery],
    traffic: &[ShopTraffic],
    (params, seed): (&ShopParams, u64),
) -> Vec<JudgedShopQuery> {
    let mut rng = stream(seed, 0, PURPOSE);
    let weights = queries[..traffic.len()].iter().map(|query| (query.clicks as f64).sqrt());
    let seen = weighted_sample(weights, params.judged - params.n_unseen(), &mut rng);
    let unseen = traffic.len()..queries.len();
    let numbered = seen.into_iter().enumerate().chain(unseen.enumerate());
    numbered
        .map(|(n, query)| {
            let wanted = &queries[query].wanted;
            let page = traffic.get(query).map_or(&[][..], |traffic| &traffic.page);
            let mut products: Vec<(u32, u8)> = page
                .iter()
                .take(FROM_PAGE)
                .map(|&number| (number, wanted.grade(&catalogue.products[number as usize])))
                .collect();
            products.extend(DRAWN.draw(catalogue, wanted, &mut rng));
            products.sort_unstable();
            products.dedup();
            JudgedShopQuery { query, is_validation: n % 2 == 0, products }
        })
        .collect()
}
