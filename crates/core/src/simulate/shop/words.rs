//! Brands, attributes and phrases of the shop, and the plural of English nouns.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::types::TYPES;

/// Brands, all of them invented.
pub const BRANDS: [&str; 24] = [
    "Velmora",
    "Tarnwick",
    "Ostrilo",
    "Brindlow",
    "Kestova",
    "Marrowby",
    "Pellucine",
    "Dunfara",
    "Halverix",
    "Lomasca",
    "Nuvetti",
    "Orsenda",
    "Quorrel",
    "Rivanto",
    "Sorrelby",
    "Tolvane",
    "Umbrick",
    "Wexholme",
    "Yarrowen",
    "Zelkira",
    "Glimmero",
    "Corvenna",
    "Fennimor",
    "Jaspery",
];

/// Number of brands that sell a type.
pub(super) const BRANDS_OF_A_TYPE: usize = 6;

/// A value of an attribute: the word of titles, and the words of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributeWord {
    /// Word of the catalogue.
    pub title: &'static str,
    /// Words that customers use for it.
    pub asked: &'static [&'static str],
}

const fn value(title: &'static str, asked: &'static [&'static str]) -> AttributeWord {
    AttributeWord { title, asked }
}

/// Colours of every type.
pub const COLOURS: [AttributeWord; 10] = [
    value("black", &["black"]),
    value("white", &["white"]),
    value("grey", &["grey", "gray"]),
    value("navy", &["navy", "dark blue"]),
    value("red", &["red"]),
    value("green", &["green"]),
    value("beige", &["beige", "cream"]),
    value("burgundy", &["burgundy", "maroon"]),
    value("pink", &["pink"]),
    value("brown", &["brown"]),
];

/// People whom products are made for.
pub const AUDIENCES: [AttributeWord; 3] = [
    value("men", &["men", "mens"]),
    value("women", &["women", "ladies"]),
    value("kids", &["kids", "children"]),
];

/// Phrases of descriptions, by category.
const PHRASES: [(&str, [&str; 6]); 7] = [
    (
        "shoes",
        [
            "flexible sole",
            "padded insole",
            "breathable lining",
            "reinforced heel",
            "sturdy stitching",
            "true to size",
        ],
    ),
    (
        "clothing",
        [
            "soft fabric",
            "relaxed cut",
            "machine washable",
            "hidden pocket",
            "keeps its shape",
            "double seams",
        ],
    ),
    (
        "furniture",
        [
            "fits small rooms",
            "timeless look",
            "matches any interior",
            "handmade finish",
            "quickly assembled",
            "scratch proof",
        ],
    ),
    (
        "electronics",
        [
            "latest generation",
            "compact housing",
            "low consumption",
            "fast setup",
            "cable included",
            "updates for years",
        ],
    ),
    (
        "kitchen",
        [
            "dishwasher safe",
            "heat resistant",
            "non-slip base",
            "space saving",
            "food grade",
            "ergonomic handle",
        ],
    ),
    (
        "outdoor",
        [
            "weather proof",
            "light weight",
            "reflective details",
            "carrying strap",
            "built for travel",
            "folds flat",
        ],
    ),
    (
        "baby",
        [
            "gentle on skin",
            "rounded edges",
            "tested for safety",
            "from birth",
            "grows along",
            "without additives",
        ],
    ),
];

/// Returns the phrases of a category.
pub(super) fn phrases(category: &str) -> &'static [&'static str] {
    let found = PHRASES.iter().find(|(name, _)| *name == category);
    found.map_or(&[], |(_, phrases)| phrases)
}

/// Sentences that say nothing of the product.
pub(super) const GENERAL: [&str; 8] = [
    "A favourite of our customers.",
    "Easy to clean.",
    "Designed to last for years.",
    "Free returns within a month.",
    "New this season.",
    "Ships in recycled packaging.",
    "Great value for everyday use.",
    "Two years of warranty.",
];

/// Words of the shop that a typo must not produce: those of the catalogue and of queries, in both numbers.
pub(super) static KNOWN: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let names = TYPES.iter().flat_map(|kind| kind.titles.iter().chain(kind.asked));
    let attributes = COLOURS.iter().chain(&AUDIENCES);
    let texts = attributes.flat_map(|value| value.asked.iter().chain([&value.title]));
    let texts = texts.chain(TYPES.iter().flat_map(|kind| kind.materials));
    let texts = texts.chain(PHRASES.iter().flat_map(|(_, phrases)| phrases));
    let texts = texts.chain(&GENERAL).map(|text| text.to_lowercase());
    let names = names.flat_map(|name| [(*name).to_owned(), plural(name)]);
    let texts = texts.chain(names).chain(BRANDS.iter().map(|brand| brand.to_lowercase()));
    let words = |text: String| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
    };
    texts.flat_map(words).filter(|word| !word.is_empty()).collect()
});

/// Returns the plural of a name, of which the last word is a noun; nouns that end in s and mass nouns have none.
pub fn plural(name: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if ends(&["ss", "x", "ch", "sh"]) {
        format!("{name}es")
    } else if ends(&["s", "wear", "age"]) {
        name.to_owned()
    } else if let Some(stem) = name.strip_suffix("lf") {
        format!("{stem}lves")
    } else if let Some(stem) = name.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        format!("{stem}ies")
    } else {
        format!("{name}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_have_their_plurals() {
        for (one, many) in [
            ("sneaker", "sneakers"),
            ("couch", "couches"),
            ("dress", "dresses"),
            ("icebox", "iceboxes"),
            ("bookshelf", "bookshelves"),
            ("power supply", "power supplies"),
            ("construction toy", "construction toys"),
            ("trousers", "trousers"),
            ("luggage", "luggage"),
            ("sleepwear", "sleepwear"),
        ] {
            assert_eq!(plural(one), many);
        }
    }

    /// A word of customers stands for one type, or nobody could say what they want.
    #[test]
    fn names_and_attributes_are_distinct() {
        let (mut seen, mut titles) = (HashSet::new(), HashSet::new());
        for kind in &TYPES {
            assert!(kind.titles.iter().all(|name| titles.insert(name)), "{kind:?} shares a title");
            for name in kind.asked {
                assert!(seen.insert(*name), "{name} is asked for two types");
            }
            for name in kind.titles {
                let other =
                    TYPES.iter().filter(|other| *other != kind).any(|other| other.asked.contains(name));
                assert!(!other, "{name} is the title of one type and asked for another");
            }
            assert!(kind.titles.iter().any(|name| kind.asked.contains(name)), "{kind:?} shares no word");
            assert!(
                kind.asked.iter().any(|name| !kind.titles.contains(name)),
                "{kind:?} is never asked otherwise"
            );
        }
        assert!(TYPES.iter().all(|kind| phrases(kind.category).len() == 6), "a category has no phrases");
        for value in COLOURS.iter().chain(&AUDIENCES) {
            assert!(value.asked.iter().all(|word| seen.insert(word)), "{value:?} is asked twice");
        }
        for word in BRANDS.iter().chain(TYPES.iter().flat_map(|kind| kind.materials)) {
            assert!(!seen.contains(word.to_lowercase().as_str()), "{word} has two meanings");
        }
    }
}
