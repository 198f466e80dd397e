//! The catalogue: products with a type, a brand and attributes, and their texts.
//!
//! A title names the type by one word of [`ProductType::titles`](super::ProductType::titles) and no other text of the
//! product does: descriptions say what products of the category have in common. Brand, material, colour and audience are in the text as well, so that word matching finds these.

use std::collections::BTreeMap;

use rand::RngExt;
use rayon::prelude::*;

use super::types::{ProductType, SizeLabel, TYPES};
use super::words::{AUDIENCES, BRANDS, BRANDS_OF_A_TYPE, COLOURS, GENERAL, phrases, plural};
use crate::simulate::log_lines::put;
use crate::simulate::random::{Stream, early, stream};

/// Purpose of the random numbers of a product.
const PURPOSE: u64 = 10;
/// Exponent above 1 that makes the first types more frequent.
const FIRST_TYPES: f64 = 1.3;
/// Largest number of items in stock.
const MOST_STOCK: u32 = 250;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ShopProduct {
    /// Number in [`TYPES`].
    pub(super) kind: usize,
    /// Word of the title for the type.
    pub(super) name: &'static str,
    /// Number in [`BRANDS`].
    pub(super) brand: usize,
    /// Number in [`COLOURS`].
    pub(super) colour: usize,
    pub(super) material: &'static str,
    /// Number in [`AUDIENCES`].
    pub(super) audience: Option<usize>,
}

impl ShopProduct {
    pub(super) fn kind(&self) -> &'static ProductType {
        &TYPES[self.kind]
    }

    fn draw(rng: &mut Stream) -> Self {
        let kind = (rng.random::<f64>().powf(FIRST_TYPES) * TYPES.len() as f64) as usize;
        let ProductType { titles, materials, has_audience, .. } = TYPES[kind];
        Self {
            kind,
            name: titles[early(titles.len(), rng)],
            brand: (3 * kind + rng.random_range(0..BRANDS_OF_A_TYPE)) % BRANDS.len(),
            colour: early(COLOURS.len(), rng),
            material: materials[rng.random_range(0..materials.len())],
            audience: has_audience.then(|| rng.random_range(0..AUDIENCES.len())),
        }
    }

    /// Writes the product as a line of JSON. No word needs an escape.
    fn write(&self, number: usize, rng: &mut Stream, out: &mut Vec<u8>) {
        let kind = self.kind();
        let (brand, material, colour) = (BRANDS[self.brand], self.material, COLOURS[self.colour].title);
        let name = if kind.size == SizeLabel::Shoe { plural(self.name) } else { self.name.to_owned() };
        put(out, format_args!("{{\"id\":\"p{number}\",\"title\":\"{brand} {material} {name}"));
        if let Some(audience) = self.audience {
            put(out, format_args!(" for {}", AUDIENCES[audience].title));
        }
        put(out, format_args!(", {colour}"));
        match kind.size {
            SizeLabel::None => {}
            SizeLabel::Shoe => put(out, format_args!(", size {}", rng.random_range(36..47))),
            SizeLabel::Letter => {
                put(out, format_args!(", size {}", ["S", "M", "L", "XL"][rng.random_range(0..4)]))
            }
            SizeLabel::Number(low, high, unit) => {
                put(out, format_args!(", {} {unit}", rng.random_range(low..=high)));
            }
        }
        out.extend_from_slice(b"\",\"description\":\"");
        let start = out.len();
        let phrases = phrases(kind.category);
        let first = rng.random_range(0..phrases.len());
        let second = (first + rng.random_range(1..phrases.len())) % phrases.len();
        put(out, format_args!("{}, {}", phrases[first], phrases[second]));
        out[start].make_ascii_uppercase();
        put(out, format_args!(". {}", GENERAL[rng.random_range(0..GENERAL.len())]));
        let (low, high) = kind.prices;
        let price = (low * (high / low).powf(rng.random())).floor() + 0.99;
        let rating = f64::from(rng.random_range(25..=50)) / 10.0;
        let stock = rng.random_range(0..=MOST_STOCK);
        put(
            out,
            format_args!(
                "\",\"brand\":\"{brand}\",\"category\":\"{}\",\"price\":{price:.2},\"rating\":{rating:.1},\"stock\":{stock}}}\n",
                kind.category
            ),
        );
    }
}

/// All products, by type and by category.
pub(super) struct Catalogue {
    pub(super) products: Vec<ShopProduct>,
    /// Numbers of the products of each type.
    pub(super) by_type: Vec<Vec<u32>>,
    /// Numbers of the products of each category.
    pub(super) by_category: BTreeMap<&'static str, Vec<u32>>,
}

impl Catalogue {
    /// Draws `n` products and returns them with their lines.
    pub(super) fn draw(n: usize, seed: u64) -> (Self, Vec<u8>) {
        let made: Vec<(ShopProduct, Vec<u8>)> = (0..n)
            .into_par_iter()
            .map(|number| {
                let mut rng = stream(seed, number, PURPOSE);
                let product = ShopProduct::draw(&mut rng);
                let mut line = Vec::with_capacity(320);
                product.write(number, &mut rng, &mut line);
                (product, line)
            })
            .collect();
        let (products, lines): (Vec<ShopProduct>, Vec<Vec<u8>>) = made.into_iter().unzip();
        (Self::new(products), lines.concat())
    }

    pub(super) fn new(products: Vec<ShopProduct>) -> Self {
        let mut by_type = vec![Vec::new(); TYPES.len()];
        let mut by_category: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for (number, product) in (0..).zip(&products) {
            by_type[product.kind].push(number);
            by_category.entry(product.kind().category).or_default().push(number);
        }
        Self { products, by_type, by_category }
    }
}
