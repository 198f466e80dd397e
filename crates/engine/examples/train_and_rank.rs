//! Trains a matching model on clicks, saves it, and ranks: `cargo run -p matchrank-engine --example train_and_rank`.
//!
//! Shoppers call trainers "sneaker", a word that no product has: BM25 finds nothing, PLS has learned the word.
#![allow(clippy::print_stdout)]

mod shop;

use matchrank_core::progress::Silent;
use matchrank_engine::model_file::{self, Provenance};
use matchrank_engine::models::{Recipe, Training};
use matchrank_engine::ranking::{RankRequest, rank_collection};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let dataset = shop::dataset(folder.path())?;
    let queries: Vec<_> =
        dataset.queries()?.into_iter().filter(|query| query.text == "red sneaker").collect();

    for (kind, settings) in [("bm25", vec![]), ("pls", vec![("d".to_owned(), 4.into())])] {
        let model = Recipe::new(kind, &settings)?.train(&Training::new(&dataset, 1, &Silent))?;
        let path = folder.path().join(format!("{kind}.model"));
        model_file::save(&path, &*model, &Provenance::of_dataset(&dataset, Some(1)))?;

        let (model, _) = model_file::load(&path)?;
        let rankings = rank_collection(
            &RankRequest { model: &*model, dataset: &dataset, queries: &queries },
            3,
            &Silent,
        )?;
        println!("{kind}: {:?}", rankings[0].1);
        assert_eq!(rankings[0].1.is_empty(), kind == "bm25");
        assert!(
            rankings[0].1.iter().all(|(id, _)| id[1..].parse::<u32>().is_ok_and(|number| number % 2 == 0))
        );
    }
    Ok(())
}
