//! Result pages and clicks.
//!
//! **Page.** A query's page has ten products: mostly of the type, some of the category, some that share only the brand
//! or an attribute. They are ordered by grade plus noise, as an imperfect engine would.
//!
//! **Clicks.** Customers click by the position-based model of [`clicks`](crate::simulate::clicks), with its noise, until
//! the query has its number of clicks.

use rand::RngExt;

use super::products::Catalogue;
use super::queries::ShopQuery;
use super::relevance::Wanted;
use crate::simulate::clicks::{ClickModel, PositionCount, Session, imperfect_order};
use crate::simulate::random::{Stream, shuffle, stream};

/// Purpose of the random numbers of a query's traffic.
const PURPOSE: u64 = 14;
/// Products of a page, drawn before the engine orders them.
const DRAWN: Drawn = Drawn { perfect: 4, of_type: 6, of_category: 4, other: 4 };
/// Attempts at a product that shares the brand or an attribute with a query.
const ATTEMPTS: usize = 20;

/// Numbers of products to draw for a query.
#[derive(Clone, Copy)]
pub(super) struct Drawn {
    /// Perfect ones at most.
    pub(super) perfect: usize,
    /// Products of the type at most, with the Perfect ones.
    pub(super) of_type: usize,
    /// Products of the category, of any type.
    pub(super) of_category: usize,
    /// Products of any category, with the brand or an attribute that the query names if one is found.
    pub(super) other: usize,
}

impl Drawn {
    /// Draws distinct products and grades them.
    pub(super) fn draw(self, catalogue: &Catalogue, wanted: &Wanted, rng: &mut Stream) -> Vec<(u32, u8)> {
        let judge = |number: u32| (number, wanted.grade(&catalogue.products[number as usize]));
        let of_type = &catalogue.by_type[wanted.kind];
        let mut of_type: Vec<(u32, u8)> = of_type.iter().map(|&number| judge(number)).collect();
        shuffle(&mut of_type, rng);
        let (perfect, others): (Vec<_>, Vec<_>) = of_type.into_iter().partition(|found| found.1 == 4);
        let mut found: Vec<(u32, u8)> = perfect.into_iter().take(self.perfect).collect();
        found.extend(others.into_iter().take(self.of_type.saturating_sub(found.len())));
        let mut add = |number: u32| {
            let is_new = found.iter().all(|known| known.0 != number);
            if is_new {
                found.push(judge(number));
            }
        };
        let of_category = &catalogue.by_category[super::TYPES[wanted.kind].category];
        for _ in 0..self.of_category {
            add(of_category[rng.random_range(0..of_category.len())]);
        }
        let n = catalogue.products.len() as u32;
        for _ in 0..self.other {
            let mut number = rng.random_range(0..n);
            for _ in 0..ATTEMPTS {
                if wanted.shares_a_word(&catalogue.products[number as usize]) {
                    break;
                }
                number = rng.random_range(0..n);
            }
            add(number);
        }
        found
    }
}

/// Sessions of a query.
pub(super) struct ShopTraffic {
    /// Products of the page, in the order of the engine.
    pub(super) page: Vec<u32>,
    /// Sessions with a click.
    pub(super) visits: Vec<Session>,
    /// Number of sessions, also of those without a click.
    pub(super) n_sessions: u64,
    /// Products of the page that were clicked, and how many of them have grade 0 or 1.
    pub(super) n_pairs: u64,
    pub(super) n_noise_pairs: u64,
    pub(super) positions: Vec<PositionCount>,
}

impl ShopTraffic {
    /// Simulates the sessions of query `number`.
    pub(super) fn simulate(
        catalogue: &Catalogue,
        query: &ShopQuery,
        model: &ClickModel,
        (seed, number): (u64, usize),
    ) -> Self {
        let mut rng = stream(seed, number, PURPOSE);
        let found = DRAWN.draw(catalogue, &query.wanted, &mut rng);
        let order = imperfect_order(found.iter().map(|found| found.1), &mut rng);
        let shown = order.into_iter().take(model.examination.len()).map(|i| found[i]);
        let (page, grades): (Vec<u32>, Vec<u8>) = shown.unzip();
        let positions =
            (1..=model.examination.len()).map(|position| PositionCount { position, ..Default::default() });
        let mut traffic = Self {
            page,
            visits: Vec::new(),
            n_sessions: 0,
            n_pairs: 0,
            n_noise_pairs: 0,
            positions: positions.collect(),
        };
        let (mut clicks, mut clicked) = (0, [false; 16]);
        while clicks < query.clicks {
            let session = model.visit(&grades, &mut traffic.positions, &mut rng);
            traffic.n_sessions += 1;
            if session.clicked == 0 {
                continue;
            }
            clicks += session.clicked.count_ones() as usize;
            (0..grades.len())
                .filter(|k| session.clicked >> k & 1 == 1)
                .for_each(|k| clicked[session.shown_at(k)] = true);
            traffic.visits.push(session);
        }
        for (grade, _) in grades.iter().zip(clicked).filter(|(_, clicked)| *clicked) {
            traffic.n_pairs += 1;
            traffic.n_noise_pairs += u64::from(*grade < 2);
        }
        traffic
    }
}
