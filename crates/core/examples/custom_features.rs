//! Trains a ranker on features of your own: `cargo run -p matchrank-core --example custom_features`.
//!
//! A row is a query and a document. Its features are any numbers: the score of a matching model, a price, an age.
#![allow(clippy::print_stdout)]

use matchrank_core::data::FeatureLists;
use matchrank_core::measure::Measure;
use matchrank_core::progress::Silent;
use matchrank_core::ranking::ranksvm::{self, RankSvmParams};
use matchrank_core::ranking::{
    LinearRanker, Ranker, Sample, Scaling, ScalingKind, Validation, evaluate_ranker,
};

const NAMES: [&str; 3] = ["match", "price", "days since listing"];

/// Offers of a shop: people buy what matches, and of that the cheaper.
fn offers(queries: std::ops::Range<u32>) -> matchrank_core::Result<FeatureLists> {
    let (mut lengths, mut labels, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for query in queries {
        lengths.push(6);
        for offer in 0..6 {
            let matching = ((query + offer * 5) % 6) as f32;
            let price = 10.0 + ((query * 3 + offer * 7) % 11) as f32;
            let days = ((query * 13 + offer * 29) % 90) as f32;
            labels.push(if matching - price / 10.0 > 2.0 { 1.0 } else { 0.0 });
            values.extend([matching, price, days]);
        }
    }
    FeatureLists::from_dense(&lengths, labels, NAMES.len() as u32, values)
}

pub(crate) fn main() -> matchrank_core::Result<()> {
    let (mut train, mut validation, test) = (offers(0..40)?, offers(40..60)?, offers(60..100)?);
    let measure = Measure::parse_list("ndcg@10")?;

    // Features of different ranges are scaled first; the ranker keeps the scaling and applies it to new lists.
    let scaling = Scaling::fit(ScalingKind::MinMax, &train);
    scaling.apply(&mut train);
    scaling.apply(&mut validation);
    let chosen_on = Validation::new(&validation, measure[0])?;
    let (weights, report) =
        ranksvm::fit(&RankSvmParams::default(), &Sample::new(&train), Some(&chosen_on), &Silent)?;
    println!("lambda {} is best on the validation lists", report.lambda);

    let ranker = LinearRanker { weights, scaling };
    let result = evaluate_ranker(&ranker, &test, &measure)?;
    println!("NDCG@10 of the test lists {:.4}", result.mean(0));
    assert!(result.mean(0) > 0.95);

    println!("why the first document of the first list is where it is:");
    for part in ranker.explain(&test.list(0), 0) {
        println!("  {:18} {:6.1} adds {:+.3}", NAMES[part.feature as usize], part.value, part.adds);
    }
    assert_eq!(ranker.score_all(&test).len(), test.n_rows());
    Ok(())
}
