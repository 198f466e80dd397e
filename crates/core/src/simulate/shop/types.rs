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
    /// Phrases of descriptions.
    pub phrases: [&'static str; 3],
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
    ProductType {
        category,
        titles: &[],
        asked: &[],
        materials,
        phrases: [""; 3],
        has_audience,
        size,
        prices: (0.0, 0.0),
    }
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
        phrases: ["cushioned sole", "breathable lining", "firm lacing"],
        prices: (35.0, 180.0),
        ..SHOES
    },
    ProductType {
        titles: &["ankle boot", "chelsea boot"],
        asked: &["boot", "ankle boot", "bootie"],
        phrases: ["treaded sole", "elastic side panels", "pull tab at the heel"],
        prices: (50.0, 220.0),
        ..SHOES
    },
    ProductType {
        titles: &["sandal", "slide"],
        asked: &["sandal", "flip flop", "slider"],
        phrases: ["open toe", "adjustable strap", "contoured footbed"],
        prices: (15.0, 90.0),
        ..SHOES
    },
    ProductType {
        titles: &["slipper", "house shoe"],
        asked: &["slipper", "house shoe", "mule"],
        phrases: ["plush lining", "silent sole", "padded insole"],
        prices: (12.0, 60.0),
        ..SHOES
    },
    ProductType {
        titles: &["loafer", "moccasin"],
        asked: &["loafer", "boat shoe", "moccasin"],
        phrases: ["hand-stitched seam", "flexible sole", "low collar"],
        prices: (45.0, 190.0),
        ..SHOES
    },
    ProductType {
        titles: &["court shoe", "pump"],
        asked: &["high heel", "pump", "stiletto"],
        phrases: ["slim heel", "pointed toe", "padded arch"],
        prices: (40.0, 210.0),
        ..SHOES
    },
    ProductType {
        titles: &["hooded sweatshirt", "sweatshirt"],
        asked: &["hoodie", "sweatshirt", "hooded top"],
        phrases: ["kangaroo pocket", "ribbed cuffs", "drawstring hood"],
        prices: (20.0, 95.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["jumper", "pullover"],
        asked: &["sweater", "jumper", "pullover"],
        phrases: ["round neck", "chunky knit", "long sleeves"],
        prices: (25.0, 140.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["trousers", "chinos"],
        asked: &["pants", "trousers", "slacks"],
        phrases: ["tapered leg", "belt loops", "deep side pockets"],
        prices: (25.0, 120.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["rain jacket", "windbreaker"],
        asked: &["raincoat", "rain jacket", "anorak"],
        phrases: ["taped seams", "storm flap", "packs into its own pocket"],
        materials: &["nylon", "polyester", "fleece"],
        prices: (35.0, 230.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["tee", "crew neck top"],
        asked: &["tshirt", "tee", "undershirt"],
        phrases: ["short sleeves", "tagless collar", "relaxed cut"],
        prices: (8.0, 45.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["bathing suit", "swimming costume"],
        asked: &["swimsuit", "bathing suit", "swimwear"],
        phrases: ["resists chlorine", "crossed back straps", "quick drying"],
        materials: &["nylon", "polyester"],
        prices: (18.0, 90.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["gown", "frock"],
        asked: &["dress", "gown", "frock"],
        phrases: ["flared skirt", "hidden zip", "fitted waist"],
        prices: (30.0, 260.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["baseball cap", "snapback"],
        asked: &["hat", "baseball cap", "snapback"],
        phrases: ["curved peak", "adjustable buckle", "embroidered eyelets"],
        size: Plain,
        prices: (10.0, 40.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["pyjamas", "nightwear"],
        asked: &["pajamas", "pyjamas", "sleepwear"],
        phrases: ["elastic waistband", "buttoned top", "brushed fabric"],
        prices: (18.0, 80.0),
        ..CLOTHES
    },
    ProductType {
        titles: &["sofa", "settee"],
        asked: &["couch", "sofa", "loveseat"],
        phrases: ["deep seat cushions", "removable covers", "sprung frame"],
        materials: &["leather", "velvet", "linen"],
        size: Number(2, 4, "seater"),
        prices: (350.0, 2400.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["wardrobe", "armoire"],
        asked: &["closet", "wardrobe", "armoire"],
        phrases: ["hanging rail", "sliding doors", "mirrored front"],
        prices: (150.0, 1100.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["bookcase", "shelving unit"],
        asked: &["bookshelf", "bookcase", "shelving unit"],
        phrases: ["five tiers", "wall fixings included", "adjustable boards"],
        prices: (60.0, 480.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["chest of drawers", "sideboard"],
        asked: &["dresser", "drawers", "sideboard"],
        phrases: ["soft closing runners", "brass knobs", "dovetail joints"],
        prices: (110.0, 750.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["bedside table", "bedside cabinet"],
        asked: &["nightstand", "bedside table", "night table"],
        phrases: ["one drawer", "cable opening", "rounded corners"],
        prices: (40.0, 260.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["armchair", "lounge chair"],
        asked: &["recliner", "armchair", "easy chair"],
        phrases: ["winged back", "swivel base", "padded armrests"],
        materials: &["leather", "velvet", "oak"],
        prices: (120.0, 900.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["rug", "runner"],
        asked: &["carpet", "rug", "floor mat"],
        phrases: ["short pile", "non-slip backing", "woven fringe"],
        size: Number(120, 300, "cm"),
        prices: (30.0, 420.0),
        ..TEXTILES
    },
    ProductType {
        titles: &["desk light", "table lamp"],
        asked: &["lamp", "reading light", "table lamp"],
        phrases: ["dimmable bulb", "flexible neck", "touch switch"],
        materials: &["oak", "steel", "glass"],
        prices: (18.0, 160.0),
        ..FURNITURE
    },
    ProductType {
        titles: &["curtain", "drape"],
        asked: &["curtain", "drape", "window blind"],
        phrases: ["blocks daylight", "eyelet heading", "floor length"],
        size: Number(140, 280, "cm"),
        prices: (20.0, 150.0),
        ..TEXTILES
    },
    ProductType {
        titles: &["duvet", "quilt"],
        asked: &["comforter", "duvet", "eiderdown"],
        phrases: ["box stitching", "goose filling", "for all seasons"],
        prices: (35.0, 240.0),
        ..TEXTILES
    },
    ProductType {
        titles: &["notebook", "notebook computer", "laptop"],
        asked: &["laptop", "notebook", "ultrabook"],
        phrases: ["eight core processor", "backlit keyboard", "solid state storage"],
        size: Number(13, 17, "inch"),
        prices: (380.0, 2600.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["television", "smart television"],
        asked: &["tv", "television", "telly"],
        phrases: ["streaming apps", "remote control", "high dynamic range"],
        size: Number(32, 75, "inch"),
        prices: (180.0, 2200.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["smartphone", "mobile phone"],
        asked: &["cell phone", "smartphone", "mobile"],
        phrases: ["dual camera", "face unlock", "two sim slots"],
        prices: (150.0, 1300.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["headphones", "headset"],
        asked: &["earphones", "headphones", "headset"],
        phrases: ["noise cancelling", "folding headband", "built-in microphone"],
        prices: (20.0, 350.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["wireless speaker", "soundbar"],
        asked: &["speaker", "boombox", "soundbar"],
        phrases: ["deep bass", "pairs by bluetooth", "stereo sound"],
        prices: (25.0, 480.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["power adapter", "charging plug"],
        asked: &["charger", "power adapter", "power supply"],
        phrases: ["fast charging", "two outlets", "overheat protection"],
        size: Number(20, 100, "watt"),
        prices: (9.0, 70.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["flash drive", "memory stick"],
        asked: &["usb stick", "thumb drive", "flash drive"],
        phrases: ["capless design", "key ring loop", "encrypts files"],
        size: Number(16, 256, "gigabyte"),
        prices: (6.0, 60.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["monitor", "display"],
        asked: &["computer screen", "monitor", "display"],
        phrases: ["tilting stand", "matt panel", "thin bezel"],
        size: Number(22, 38, "inch"),
        prices: (110.0, 900.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["smartwatch", "activity tracker"],
        asked: &["fitness band", "smartwatch", "fitness watch"],
        phrases: ["measures heart rate", "counts steps", "sleep analysis"],
        prices: (40.0, 420.0),
        ..ELECTRONICS
    },
    ProductType {
        titles: &["coffee machine", "espresso machine"],
        asked: &["coffee maker", "coffee machine", "percolator"],
        phrases: ["milk frother", "burr grinder", "drip tray"],
        prices: (40.0, 850.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["kettle", "water boiler"],
        asked: &["tea kettle", "kettle", "hot pot"],
        phrases: ["boils in minutes", "limescale filter", "cordless base"],
        size: Number(1, 2, "litre"),
        prices: (15.0, 110.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["frying pan", "griddle"],
        asked: &["skillet", "frying pan", "griddle"],
        phrases: ["non-stick coating", "induction base", "riveted handle"],
        materials: &["steel", "ceramic", "aluminium"],
        size: Number(20, 32, "cm"),
        prices: (14.0, 120.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["blender", "liquidiser"],
        asked: &["blender", "smoothie maker", "food mixer"],
        phrases: ["pulse mode", "ice crushing blades", "measuring jug"],
        prices: (22.0, 260.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["refrigerator", "cooling cabinet"],
        asked: &["fridge", "refrigerator", "icebox"],
        phrases: ["vegetable compartment", "frost free", "reversible door"],
        size: Number(90, 400, "litre"),
        prices: (180.0, 1700.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["pedal bin", "waste bin"],
        asked: &["trash bin", "garbage pail", "waste bin"],
        phrases: ["odour seal", "inner bucket", "slow closing lid"],
        size: Number(5, 50, "litre"),
        prices: (15.0, 140.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["mug", "cup"],
        asked: &["cup", "mug", "tumbler"],
        phrases: ["large handle", "dishwasher safe", "glazed inside"],
        prices: (4.0, 28.0),
        ..KITCHEN
    },
    ProductType {
        titles: &["bicycle", "city cycle"],
        asked: &["bike", "bicycle", "push bike"],
        phrases: ["seven gears", "disc brakes", "puncture resistant tyres"],
        materials: &["aluminium", "steel", "carbon"],
        has_audience: true,
        prices: (190.0, 2100.0),
        ..OUTDOOR
    },
    ProductType {
        titles: &["rucksack", "daypack"],
        asked: &["backpack", "rucksack", "school bag"],
        phrases: ["chest strap", "laptop sleeve", "mesh bottle pocket"],
        materials: &["nylon", "canvas", "leather"],
        size: Number(15, 60, "litre"),
        prices: (22.0, 190.0),
        ..OUTDOOR
    },
    ProductType {
        titles: &["suitcase", "trolley case"],
        asked: &["luggage", "suitcase", "travel case"],
        phrases: ["four spinner wheels", "combination lock", "telescopic handle"],
        materials: &["nylon", "aluminium", "plastic"],
        prices: (40.0, 380.0),
        ..OUTDOOR
    },
    ProductType {
        titles: &["dumbbell", "hand weight"],
        asked: &["dumbbell", "free weight", "barbell"],
        phrases: ["knurled grip", "hexagonal ends", "for strength workouts"],
        materials: &["steel", "rubber"],
        size: Number(1, 30, "kg"),
        prices: (8.0, 130.0),
        ..OUTDOOR
    },
    ProductType {
        titles: &["pushchair", "pram"],
        asked: &["stroller", "buggy", "pram"],
        phrases: ["five point harness", "folds with one hand", "rain cover"],
        materials: &["aluminium", "steel"],
        prices: (90.0, 950.0),
        ..BABY
    },
    ProductType {
        titles: &["soother", "dummy"],
        asked: &["pacifier", "soother", "binky"],
        phrases: ["orthodontic teat", "glows at night", "sterilising box"],
        materials: &["silicone", "latex"],
        prices: (3.0, 18.0),
        ..BABY
    },
    ProductType {
        titles: &["building blocks", "brick set"],
        asked: &["toy bricks", "building blocks", "construction toy"],
        phrases: ["rounded edges", "storage tub", "trains fine motor skills"],
        materials: &["wood", "plastic"],
        prices: (10.0, 85.0),
        ..BABY
    },
];
