//! A simulated shop in English words: a catalogue, a click log and graded judgments.
//!
//! # The shop
//! A product has a **type** ([`TYPES`]), a brand ([`BRANDS`], all invented), a colour, a material and, for shoes and the
//! like, an audience. Merchants and customers have different words for a type: titles say *trainer*, queries say
//! *sneaker*. They also differ in some colours and audiences. A share of the queries has a **typo**
//! ([`ShopParams::typos`]), one edit of one word, and a word has a few typos that come again.
//!
//! So word matching finds the brand and the attributes of a query and often misses its type. The words of the type, and
//! the typos, can be learned from clicks.
//!
//! # Relevance
//! Grades compare the product that the customer wants with the product at hand, and do not depend on clicks or words:
//!
//! | grade | the product |
//! |---|---|
//! | 4 | is of the type and has everything else that the query names |
//! | 3 | is of the type and has some of it |
//! | 2 | is of the type |
//! | 1 | is of another type of the category and has everything else that the query names |
//! | 0 | is none of these |
//!
//! # Clicks
//! A query's page is ordered by grade plus noise. Clicks follow the position-based model of
//! [`clicks`](super::clicks) with the parameters of its small log. Query `k` has a share of the clicks proportional to
//! `(k + 1)^-0.9`. Grades are in no file but the judgments.
//!
//! # Reproducibility
//! Products and the sessions of queries draw from their own streams of random numbers and are generated in parallel. So
//! the bytes depend only on the parameters and the seed.
//!
//! ```
//! use matchrank_core::{progress::Silent, simulate::{clicks::ClickFiles, shop::{ShopParams, simulate}}};
//!
//! let [mut clicks, mut documents, mut queries, mut validation, mut test] = [const { Vec::new() }; 5];
//! let files = ClickFiles {
//!     clicks: &mut clicks,
//!     documents: &mut documents,
//!     queries: &mut queries,
//!     validation: &mut validation,
//!     test: &mut test,
//! };
//! let statistics = simulate(&ShopParams::sized(300, 200, 2_000), 1, files, &Silent)?;
//! assert!(statistics.clicks >= 2_000);
//! assert!(documents.starts_with(b"{\"id\":\"p0\",\"title\":\""));
//! # Ok::<(), matchrank_core::Error>(())
//! ```

mod judgments;
mod params;
mod products;
mod queries;
mod relevance;
mod statistics;
mod traffic;
mod types;
mod typos;
mod words;

use rand::RngExt;
use rayon::prelude::*;

pub use params::ShopParams;
pub use statistics::ShopStatistics;
pub use types::{ProductType, TYPES};
pub use words::{AUDIENCES, AttributeWord, BRANDS, COLOURS, plural};

use crate::progress::Progress;
use crate::simulate::clicks::{ClickFiles, ClickModel, ClickParams, PositionCount};
use crate::simulate::log_lines::{SESSIONS_HEADER, put, put_session, put_time, some_time, type_query};
use crate::simulate::random::stream;
use crate::{Error, Result};
use judgments::JudgedShopQuery;
use products::Catalogue;
use queries::ShopQuery;
use traffic::ShopTraffic;

/// Purpose of the random numbers of times and customers.
const PURPOSE: u64 = 16;

/// The whole simulation, before it is written.
struct Shop {
    catalogue: Catalogue,
    /// Lines of the products.
    documents: Vec<u8>,
    /// Queries of the log, then those absent from it.
    queries: Vec<ShopQuery>,
    /// Sessions of each query of the log.
    traffic: Vec<ShopTraffic>,
    judged: Vec<JudgedShopQuery>,
}

impl Shop {
    fn new(params: &ShopParams, seed: u64, progress: &dyn Progress) -> Result<Self> {
        params.validate()?;
        progress.begin("simulating a shop", Some(params.queries as u64), "queries");
        let (catalogue, documents) = Catalogue::draw(params.products, seed);
        let queries = queries::draw(&catalogue, params, seed)?;
        let model = ClickModel::new(&ClickParams::small());
        let traffic: Vec<ShopTraffic> = queries[..params.queries]
            .par_iter()
            .enumerate()
            .map(|(number, query)| {
                let traffic = ShopTraffic::simulate(&catalogue, query, &model, (seed, number));
                progress.advance(1);
                traffic
            })
            .collect();
        let judged = judgments::judge(&catalogue, &queries, &traffic, (params, seed));
        Ok(Self { catalogue, documents, queries, traffic, judged })
    }

    /// Returns the log, sorted by time, and its number of rows.
    fn log(&self, params: &ShopParams, seed: u64) -> (Vec<u8>, u64) {
        let mut rng = stream(seed, 0, PURPOSE);
        let visits = self.traffic.iter().enumerate();
        let visits =
            visits.flat_map(|(query, traffic)| (0..traffic.visits.len()).map(move |visit| (query, visit)));
        let mut times: Vec<(u32, usize, usize)> =
            visits.map(|(query, visit)| (some_time(params.days, &mut rng), query, visit)).collect();
        times.sort_unstable();
        let n_customers = (times.len() / 4).max(1) as f64;
        let noise = ClickParams::small().typing_noise;
        let (mut out, mut head, mut rows) = (SESSIONS_HEADER.as_bytes().to_vec(), Vec::new(), 0);
        for (number, &(time, query, visit)) in times.iter().enumerate() {
            // A few customers search a lot, most search little.
            let customer = (rng.random::<f64>().powi(2) * n_customers) as usize;
            head.clear();
            put(&mut head, format_args!("s{number},u{customer},"));
            put_time(time, &mut head);
            head.push(b',');
            type_query(self.queries[query].text.as_bytes(), noise, &mut rng, &mut head);
            head.extend_from_slice(b",p");
            let traffic = &self.traffic[query];
            rows += put_session(&head, &traffic.page, traffic.visits[visit], &mut out);
        }
        (out, rows)
    }

    fn statistics(&self, params: &ShopParams, seed: u64, rows: u64) -> ShopStatistics {
        let sum = |count: fn(&ShopTraffic) -> u64| self.traffic.iter().map(count).sum::<u64>();
        let mut positions: Vec<PositionCount> = Vec::new();
        for traffic in &self.traffic {
            positions.resize(traffic.positions.len(), PositionCount::default());
            for (sum, count) in positions.iter_mut().zip(&traffic.positions) {
                sum.position = count.position;
                sum.shown += count.shown;
                sum.clicks += count.clicks;
                sum.expected_clicks += count.expected_clicks;
            }
        }
        let (mut grades, mut mismatched, mut judged_queries) = ([0; 5], 0, [0; 2]);
        for judged in &self.judged {
            judged_queries[usize::from(!judged.is_validation)] += 1;
            let query = &self.queries[judged.query];
            for &(product, grade) in &judged.products {
                grades[usize::from(grade)] += 1;
                mismatched +=
                    u64::from(grade == 4 && query.misses(self.catalogue.products[product as usize].name));
            }
        }
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let (pairs, sessions) = (sum(|t| t.n_pairs), sum(|t| t.n_sessions));
        ShopStatistics {
            types: self.catalogue.by_type.iter().filter(|products| !products.is_empty()).count() as u64,
            typos: self.queries[..params.queries].iter().filter(|query| query.typo.is_some()).count() as u64,
            sessions,
            abandoned: sessions - sum(|t| t.visits.len() as u64),
            clicks: positions.iter().map(|p| p.clicks).sum(),
            pairs,
            noise_pairs: share(sum(|t| t.n_noise_pairs), pairs),
            rows,
            positions,
            judged_queries,
            judged_unseen: self.judged.iter().filter(|judged| judged.query >= params.queries).count() as u64,
            grades,
            name_mismatch: share(mismatched, grades[4]),
            seed,
            params: params.clone(),
        }
    }
}

/// Generates the shop and writes it.
pub fn simulate(
    params: &ShopParams,
    seed: u64,
    files: ClickFiles<'_>,
    progress: &dyn Progress,
) -> Result<ShopStatistics> {
    let shop = Shop::new(params, seed, progress)?;
    let (log, rows) = shop.log(params, seed);
    let (mut queries, mut qrels) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (number, query) in shop.queries.iter().enumerate() {
        put(&mut queries, format_args!("q{number}\t{}\n", query.text));
    }
    for judged in &shop.judged {
        for (product, grade) in &judged.products {
            let out = &mut qrels[usize::from(!judged.is_validation)];
            put(out, format_args!("q{} 0 p{product} {grade}\n", judged.query));
        }
    }
    for (name, out, bytes) in [
        ("clicks", files.clicks, &log),
        ("documents", files.documents, &shop.documents),
        ("queries", files.queries, &queries),
        ("validation judgments", files.validation, &qrels[0]),
        ("test judgments", files.test, &qrels[1]),
    ] {
        out.write_all(bytes).map_err(|e| Error::io(name, e))?;
    }
    Ok(shop.statistics(params, seed, rows))
}
