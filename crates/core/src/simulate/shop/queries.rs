//! Queries of customers: each asks for a product that the shop has, in the customer's words.
//!
//! A customer has a product in mind, and types a word for its type and some of brand, colour, material and audience. So
//! every query has a Perfect product. Texts are distinct. Short queries without a typo are the popular ones.

use std::collections::HashSet;

use rand::RngExt;

use super::params::ShopParams;
use super::products::{Catalogue, ShopProduct};
use super::relevance::Wanted;
use super::typos::mistype;
use super::words::{AUDIENCES, AttributeWord, BRANDS, COLOURS, plural};
use crate::simulate::random::{Shares, Stream, shuffle, stream};
use crate::{Error, Result};

/// Purposes of the random numbers of queries and of their popularity.
const PURPOSES: [u64; 2] = [12, 13];
/// Exponent of the popularity: query `k` has a share of the clicks proportional to `(k + 1)^-POPULARITY`.
const POPULARITY: f64 = 0.9;
/// Shares of the queries that name the brand, the colour, the material and the audience.
const NAMES_BRAND: f64 = 0.25;
const NAMES_COLOUR: f64 = 0.3;
const NAMES_MATERIAL: f64 = 0.2;
const NAMES_AUDIENCE: f64 = 0.3;
/// Share of the names in the plural.
const PLURAL: f64 = 0.4;
/// Share of the queries whose words are in no natural order.
const SHUFFLED: f64 = 0.2;
/// Words that a typo counts for in the order of popularity, in which short queries come first.
const TYPO_RARITY: f64 = 2.0;
/// Attempts at a text that no other query has.
const ATTEMPTS: usize = 10_000;

#[derive(Clone, Debug)]
pub(super) struct ShopQuery {
    pub(super) wanted: Wanted,
    /// Word for the type, as meant.
    pub(super) name: &'static str,
    /// The text as typed.
    pub(super) text: String,
    /// A word as meant and as typed, if the query has a typo.
    pub(super) typo: Option<(String, String)>,
    /// Number of clicks that end the query's sessions; 0 if the query is absent from the log.
    pub(super) clicks: usize,
}

impl ShopQuery {
    /// Returns true if the query does not say the word that a title has for the type.
    pub(super) fn misses(&self, name: &str) -> bool {
        let is_misspelt = self.typo.as_ref().is_some_and(|(meant, _)| plural(name).contains(meant.as_str()));
        self.name != name || is_misspelt
    }

    fn about(product: &ShopProduct, params: &ShopParams, seed: u64, rng: &mut Stream) -> Self {
        let kind = product.kind();
        let wanted = Wanted {
            kind: product.kind,
            brand: rng.random_bool(NAMES_BRAND).then_some(product.brand),
            colour: rng.random_bool(NAMES_COLOUR).then_some(product.colour),
            material: rng.random_bool(NAMES_MATERIAL).then_some(product.material),
            audience: product.audience.filter(|_| rng.random_bool(NAMES_AUDIENCE)),
        };
        let name = kind.asked[rng.random_range(0..kind.asked.len())];
        let mut say = |value: &AttributeWord| value.asked[rng.random_range(0..value.asked.len())].to_owned();
        let colour = wanted.colour.map(|colour| say(&COLOURS[colour]));
        let audience = wanted.audience.map(|audience| say(&AUDIENCES[audience]));
        let brand = wanted.brand.map(|brand| BRANDS[brand].to_lowercase());
        let typed_name = if rng.random_bool(PLURAL) { plural(name) } else { name.to_owned() };
        let material = wanted.material.map(str::to_owned);
        let parts = [brand, audience, colour, material, Some(typed_name)];
        let mut parts: Vec<String> = parts.into_iter().flatten().collect();
        if rng.random_bool(SHUFFLED) {
            shuffle(&mut parts, rng);
        }
        let mut words: Vec<String> =
            parts.iter().flat_map(|part| part.split(' ')).map(str::to_owned).collect();
        let typo = if rng.random_bool(params.typos) { mistype(&mut words, seed, rng) } else { None };
        Self { wanted, name, text: words.join(" "), typo, clicks: 0 }
    }
}

/// Draws the queries of the log, the popular ones first, and then the judged ones that are absent from it.
pub(super) fn draw(catalogue: &Catalogue, params: &ShopParams, seed: u64) -> Result<Vec<ShopQuery>> {
    let [mut texts, mut popularity] = PURPOSES.map(|purpose| stream(seed, 0, purpose));
    let mut known = HashSet::new();
    let mut queries = Vec::new();
    for _ in 0..params.queries + params.n_unseen() {
        let query = (0..ATTEMPTS).find_map(|_| {
            let product = &catalogue.products[texts.random_range(0..catalogue.products.len())];
            let query = ShopQuery::about(product, params, seed, &mut texts);
            known.insert(query.text.clone()).then_some(query)
        });
        queries.push(query.ok_or_else(|| {
            Error::Params(format!(
                "queries is {}; {} products are too few for that many different queries",
                params.queries, params.products
            ))
        })?);
    }
    let unseen = queries.split_off(params.queries);
    let rarity = |query: &ShopQuery| {
        query.text.split(' ').count() as f64 + if query.typo.is_some() { TYPO_RARITY } else { 0.0 }
    };
    let mut ranked: Vec<(f64, ShopQuery)> =
        queries.into_iter().map(|query| (rarity(&query) + 3.0 * popularity.random::<f64>(), query)).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut queries: Vec<ShopQuery> = ranked.into_iter().map(|(_, query)| query).collect();
    let shares = Shares::new(params.queries, POPULARITY);
    for (k, query) in queries.iter_mut().enumerate() {
        query.clicks = 1 + shares.part(k, params.clicks - params.queries).len();
    }
    queries.extend(unseen);
    Ok(queries)
}
