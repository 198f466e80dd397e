//! Grades of a judge who knows what the customer wants.

use super::products::ShopProduct;
use super::types::TYPES;

/// The product that a customer looks for: a type, and what else the query names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wanted {
    /// Number of the type.
    pub(super) kind: usize,
    pub(super) brand: Option<usize>,
    pub(super) colour: Option<usize>,
    pub(super) material: Option<&'static str>,
    pub(super) audience: Option<usize>,
}

impl Wanted {
    /// Returns the grade of a product:
    ///
    /// | grade | name | the product |
    /// |---|---|---|
    /// | 4 | Perfect | is of the type and has everything else that the query names |
    /// | 3 | Excellent | is of the type and has some of it |
    /// | 2 | Good | is of the type |
    /// | 1 | Fair | is of another type of the category and has everything else that the query names |
    /// | 0 | Bad | is none of these |
    pub(super) fn grade(&self, product: &ShopProduct) -> u8 {
        let named = self.named(product);
        let has_all = named.iter().flatten().all(|has| *has);
        let has_some = named.iter().flatten().any(|has| *has);
        if self.kind == product.kind {
            if has_all {
                4
            } else if has_some {
                3
            } else {
                2
            }
        } else {
            u8::from(has_all && TYPES[self.kind].category == product.kind().category)
        }
    }

    /// Returns true if the product has the brand or an attribute that the query names.
    pub(super) fn shares_a_word(&self, product: &ShopProduct) -> bool {
        self.named(product).contains(&Some(true))
    }

    /// Says of brand, colour, material and audience, where the query names them, if the product has them.
    fn named(&self, product: &ShopProduct) -> [Option<bool>; 4] {
        [
            self.brand.map(|brand| brand == product.brand),
            self.colour.map(|colour| colour == product.colour),
            self.material.map(|material| material == product.material),
            self.audience.map(|audience| Some(audience) == product.audience),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_follow_the_table() {
        let trainer = ShopProduct {
            kind: 0,
            name: "trainer",
            brand: 3,
            colour: 4,
            material: "leather",
            audience: Some(1),
        };
        let boot = ShopProduct { kind: 1, ..trainer.clone() };
        let sofa = ShopProduct { kind: 15, audience: None, ..trainer.clone() };
        let red = Wanted { kind: 0, colour: Some(4), ..Wanted::default() };
        assert_eq!([&trainer, &boot, &sofa].map(|product| red.grade(product)), [4, 1, 0]);
        let blue = Wanted { kind: 0, colour: Some(3), ..Wanted::default() };
        assert_eq!([&trainer, &boot, &sofa].map(|product| blue.grade(product)), [2, 0, 0]);
        let blue_leather = Wanted { material: Some("leather"), ..blue };
        assert_eq!([&trainer, &boot, &sofa].map(|product| blue_leather.grade(product)), [3, 0, 0]);
        let any = Wanted::default();
        assert_eq!([&trainer, &boot, &sofa].map(|product| any.grade(product)), [4, 1, 0]);
        let for_women = Wanted { kind: 15, audience: Some(1), ..Wanted::default() };
        assert_eq!([&trainer, &boot, &sofa].map(|product| for_women.grade(product)), [0, 0, 2]);
    }
}
