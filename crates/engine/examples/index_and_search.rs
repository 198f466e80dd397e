//! Indexes documents and searches them: `cargo run -p matchrank-engine --example index_and_search`.
#![allow(clippy::print_stdout)]

mod shop;

use matchrank_core::progress::Silent;
use matchrank_engine::models::{Recipe, Training, bind};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let dataset = shop::dataset(folder.path())?;

    let bm25 = Recipe::new("bm25", &[])?.train(&Training::new(&dataset, 1, &Silent))?;
    // Binding reads the index of the dataset; the first binding writes it.
    let matcher = bind(&*bm25, &dataset, None, &Silent)?;
    let ids = dataset.document_ids()?;
    let found = matcher.top(&["running trainers", "sun hat model3"], 3, &Silent)?;
    for (query, hits) in ["running trainers", "sun hat model3"].iter().zip(&found) {
        println!("{query}:");
        for hit in hits {
            println!("  {:4} {:.3}", ids[hit.document as usize], hit.score);
        }
    }
    assert_eq!(ids[found[1][0].document as usize], "d7", "the hat of model 3");
    Ok(())
}
