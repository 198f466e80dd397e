//! LambdaMART: trees for the pairs in the wrong order, by what exchanging them would change NDCG.

use super::{Boosting, HELP, Objective, PARAMETERS, SPACE, TAKES, TREES, codec, note_library, with};
use crate::rankers::RankerKind;
use crate::settings::Parameter;

/// LambdaMART: trees for the pairs in the wrong order, by what exchanging them would change NDCG.
pub static KIND: RankerKind = RankerKind {
    class: "LambdaMart",
    name: "lambdamart",
    summary: "LambdaMART: boosted trees that learn which exchanges of documents would better NDCG",
    help: HELP,
    parameters: &with::<_, 13, 14>(
        PARAMETERS,
        Parameter::new("truncation", "20", "documents at the top of a list whose order counts"),
    ),
    examples: &[
        "--letor train.txt --validation vali.txt --out trees.model",
        "--letor train.txt --document-weights propensities.tsv --out trees.model",
        "--letor train.txt --set trees=100 --set leaves=15 --out trees.model",
    ],
    takes: TAKES,
    variants: None,
    curve: None,
    is_seeded: true,
    chosen: Some(TREES),
    space: &with::<_, 11, 12>(SPACE, ("truncation", "10,20,50")),
    effort: Some(("trees", 20)),
    announce: Some(note_library),
    parse: |settings| Boosting::parse(Objective::LambdaMart, settings),
    open: |file| codec::open(file, Objective::LambdaMart),
};
