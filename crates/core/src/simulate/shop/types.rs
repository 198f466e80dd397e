//! Types of products, with the words that merchants and customers use for them.
//!
//! Merchants write one of the words of [`ProductType::titles`], customers type one of [`ProductType::asked`]; the two
//! lists differ, as in real shops. No word of `asked` stands for two types.

/// Label of size in a title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeLabel {
    None,
    /// A shoe size.
    Shoe,
    /// A letter for clothes.
    Letter,
    /// A number from low to high, with its unit.
    Number(u32, u32, &'static str),
}

/// A type of product.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProductType {
    /// Category of the type.
    pub category: &'static str,
    /// Words that titles use, the most frequent first.
    pub titles: &'static [&'static str],
    /// Words that queries use.
    pub asked: &'static [&'static str],
    /// Materials of such products.
    pub materials: &'static [&'static str],
    /// True if there are products for men, for women and for children.
    pub has_audience: bool,
    pub(super) size: SizeLabel,
    /// Lowest and highest price.
    pub(super) prices: (f64, f64),
}

use SizeLabel::{Letter, None as Plain, Number, Shoe};

/// Category and sizes that many types have in common.
const fn like(
    category: &'static str,
    materials: &'static [&'static str],
    has_audience: bool,
    size: SizeLabel,
) -> ProductType {
    ProductType { category, titles: &[], asked: &[], materials, has_audience, size, prices: (0.0, 0.0) }
}

const SHOES: ProductType = like("shoes", &["leather", "suede", "canvas", "mesh"], true, Shoe);
const CLOTHES: ProductType = like("clothing", &["cotton", "wool", "linen", "fleece"], true, Letter);
const FURNITURE: ProductType = like("furniture", &["oak", "pine", "walnut", "bamboo"], false, Plain);
const TEXTILES: ProductType = like("furniture", &["cotton", "wool", "linen", "velvet"], false, Plain);
const ELECTRONICS: ProductType = like("electronics", &["aluminium", "plastic"], false, Plain);
const KITCHEN: ProductType = like("kitchen", &["steel", "glass", "ceramic", "plastic"], false, Plain);
const OUTDOOR: ProductType = like("outdoor", &["nylon", "aluminium", "canvas", "steel"], false, Plain);
const BABY: ProductType = like("baby", &["cotton", "plastic", "wood", "silicone"], false, Plain);

/// Every type of the shop.
pub const TYPES: [ProductType; 48] = [
    ProductType {
        titles: &["trainer", "running shoe", "sneaker"],
        asked: &["sneaker", "trainer", "running shoe", "gym shoe"],
        prices: (35.0, 180.0),
        ..SHOES
    },
    ProductType {
        titles: &["ankle boot", "chelsea boot"],
        asked: &["boot", "ankle boot", "bootie"],
        prices: (50.0, 220.0),
        ..SHOES
    },
    ProductType {
        titles: &["sandal", "slide"],
        asked: &["sandal", "flip flop", "slider"],
        prices: (15.0, 90.0),
        ..SHOES
    },
    ProductType {
        titles: &["slipper", "house shoe"],
        asked: &["slipper", "house shoe", "mule"],
        prices: (12.0, 60.0),
        ..SHOES
    },
    ProductType {
        titles: &["loafer", "moccasin"],
        asked: &["loafer", "boat shoe", "moccasin"],
        prices: (45.0, 190.0),
        ..SHOES
    },
    ProductType {
        titles: &["court shoe", "pump"],
        asked: &["high heel", "pump", "stiletto"],
        prices: (40.0, 210.0),
        ..SHOES
    },
    ProductType {
        titles: &["hooded sweatshirt", "sweatshirt"],
        asked: &["hoodie", "sweatshirt", "hooded top"],
        prices: (20.0, 95.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["jumper", "pullover"],
        asked: &["sweater", "jumper", "pullover"],
        prices: (25.0, 140.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["trousers", "chinos"],
        asked: &["pants", "trousers", "slacks"],
        prices: (25.0, 120.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["rain jacket", "windbreaker"],
        asked: &["raincoat", "rain jacket", "anorak"],
        materials: &["nylon", "polyester", "fleece"],
        prices: (35.0, 230.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["tee", "crew neck top"],
        asked: &["tshirt", "tee", "undershirt"],
        prices: (8.0, 45.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["bathing suit", "swimming costume"],
        asked: &["swimsuit", "bathing suit", "swimwear"],
        materials: &["nylon", "polyester"],
        prices: (18.0, 90.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["gown", "frock"],
        asked: &["dress", "gown", "frock"],
        prices: (30.0, 260.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["baseball cap", "snapback"],
        asked: &["hat", "baseball cap", "snapback"],
        size: Plain,
        prices: (10.0, 40.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["pyjamas", "nightwear"],
        asked: &["pajamas", "pyjamas", "sleepwear"],
        prices: (18.0, 80.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["sofa", "settee"],
        asked: &["couch", "sofa", "loveseat"],
        materials: &["leather", "velvet", "linen"],
        size: Number(2, 4, "seater"),
        prices: (350.0, 2400.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["wardrobe", "armoire"],
        asked: &["closet", "wardrobe", "armoire"],
        prices: (150.0, 1100.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["bookcase", "shelving unit"],
        asked: &["bookshelf", "bookcase", "shelving unit"],
        prices: (60.0, 480.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["chest of drawers", "sideboard"],
        asked: &["dresser", "drawers", "sideboard"],
        prices: (110.0, 750.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["bedside table", "bedside cabinet"],
        asked: &["nightstand", "bedside table", "night table"],
        prices: (40.0, 260.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["armchair", "lounge chair"],
        asked: &["recliner", "armchair", "easy chair"],
        materials: &["leather", "velvet", "oak"],
        prices: (120.0, 900.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["rug", "runner"],
        asked: &["carpet", "rug", "floor mat"],
        size: Number(120, 300, "cm"),
        prices: (30.0, 420.0),
        ..TEXTILES
    },
    ProductType {
        titles: &["desk light", "table lamp"],
        asked: &["lamp", "reading light", "table lamp"],
        materials: &["oak", "steel", "glass"],
        prices: (18.0, 160.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["curtain", "drape"],
        asked: &["curtain", "drape", "window blind"],
        size: Number(140, 280, "cm"),
        prices: (20.0, 150.0),
        ..TEXTILES
    },
    ProductType {
        titles: &["duvet", "quilt"],
        asked: &["comforter", "duvet", "eiderdown"],
        prices: (35.0, 240.0),
        ..TEXTILES
    },
    ProductType {
        titles: &["notebook", "notebook computer", "laptop"],
        asked: &["laptop", "notebook", "ultrabook"],
        size: Number(13, 17, "inch"),
        prices: (380.0, 2600.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["television", "smart television"],
        asked: &["tv", "television", "telly"],
        size: Number(32, 75, "inch"),
        prices: (180.0, 2200.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["smartphone", "mobile phone"],
        asked: &["cell phone", "smartphone", "mobile"],
        prices: (150.0, 1300.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["headphones", "headset"],
        asked: &["earphones", "headphones", "headset"],
        prices: (20.0, 350.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["wireless speaker", "soundbar"],
        asked: &["speaker", "boombox", "soundbar"],
        prices: (25.0, 480.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["power adapter", "charging plug"],
        asked: &["charger", "power adapter", "power supply"],
        size: Number(20, 100, "watt"),
        prices: (9.0, 70.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["flash drive", "memory stick"],
        asked: &["usb stick", "thumb drive", "flash drive"],
        size: Number(16, 256, "gigabyte"),
        prices: (6.0, 60.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["monitor", "display"],
        asked: &["computer screen", "monitor", "display"],
        size: Number(22, 38, "inch"),
        prices: (110.0, 900.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["smartwatch", "activity tracker"],
        asked: &["fitness band", "smartwatch", "fitness watch"],
        prices: (40.0, 420.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["coffee machine", "espresso machine"],
        asked: &["coffee maker", "coffee machine", "percolator"],
        prices: (40.0, 850.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["kettle", "water boiler"],
        asked: &["tea kettle", "kettle", "hot pot"],
        size: Number(1, 2, "litre"),
        prices: (15.0, 110.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["frying pan", "griddle"],
        asked: &["skillet", "frying pan", "griddle"],
        materials: &["steel", "ceramic", "aluminium"],
        size: Number(20, 32, "cm"),
        prices: (14.0, 120.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["blender", "liquidiser"],
        asked: &["blender", "smoothie maker", "food mixer"],
        prices: (22.0, 260.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["refrigerator", "cooling cabinet"],
        asked: &["fridge", "refrigerator", "icebox"],
        size: Number(90, 400, "litre"),
        prices: (180.0, 1700.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["pedal bin", "waste bin"],
        asked: &["trash bin", "garbage pail", "waste bin"],
        size: Number(5, 50, "litre"),
        prices: (15.0, 140.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["mug", "cup"],
        asked: &["cup", "mug", "tumbler"],
        prices: (4.0, 28.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["bicycle", "city cycle"],
        asked: &["bike", "bicycle", "push bike"],
        materials: &["aluminium", "steel", "carbon"],
        has_audience: true,
        prices: (190.0, 2100.0),
        ..OUTDOOR
    },
    ProductType {
        titles: &["rucksack", "daypack"],
        asked: &["backpack", "rucksack", "school bag"],
        materials: &["nylon", "canvas", "leather"],
        size: Number(15, 60, "litre"),
        prices: (22.0, 190.0),
        ..OUTDOOR
    },
    ProductType {
        titles: &["suitcase", "trolley case"],
        asked: &["luggage", "suitcase", "travel case"],
        materials: &["nylon", "aluminium", "plastic"],
        prices: (40.0, 380.0),
        ..OUTDOOR
    },
    ProductType {
        titles: &["dumbbell", "hand weight"],
        asked: &["dumbbell", "free weight", "barbell"],
        materials: &["steel", "rubber"],
        size: Number(1, 30, "kg"),
        prices: (8.0, 130.0),
        ..OUTDOOR
    },
    ProductType {
        titles: &["pushchair", "pram"],
        asked: &["stroller", "buggy", "pram"],
        materials: &["aluminium", "steel"],
        prices: (90.0, 950.0),
        ..BABY
    },
    ProductType {
        titles: &["soother", "dummy"],
        asked: &["pacifier", "soother", "binky"],
        materials: &["silicone", "latex"],
        prices: (3.0, 18.0),
        ..BABY
    },
    ProductType {
        titles: &["building blocks", "brick set"],
        asked: &["toy bricks", "building blocks", "construction toy"],
        materials: &["wood", "plastic"],
        prices: (10.0, 85.0),
        ..BABY
    },
];
