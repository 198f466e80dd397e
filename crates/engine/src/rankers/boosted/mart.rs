//! MART: trees for the squared errors of the grades.

use super::{Boosting, HELP, Objective, PARAMETERS, SPACE, TAKES, TREES, codec, note_library};
use crate::rankers::RankerKind;

/// MART: trees for the squared errors of the grades.
pub static KIND: RankerKind = RankerKind {
    class: "Mart",
    name: "mart",
    summary: "MART: boosted trees that predict grades of feature lists",
    help: HELP,
    parameters: &PARAMETERS,
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
    space: &SPACE,
    effort: Some(("trees", 20)),
    announce: Some(note_library),
    parse: |settings| Boosting::parse(Objective::Mart, settings),
    open: |file| codec::open(file, Objective::Mart),
};
