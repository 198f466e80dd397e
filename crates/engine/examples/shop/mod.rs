//! A small shop for the examples: 12 products, and the clicks of shoppers who use other words than the products' titles.

use std::path::Path;

use matchrank_core::Result;
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::{Dataset, Holdout};
use matchrank_engine::ingest::{IngestParams, ingest};

/// Writes the files of the shop into a folder, and makes a dataset of them.
pub(crate) fn dataset(folder: &Path) -> Result<Dataset> {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|e| matchrank_core::Error::io(path.display().to_string(), e))?;
        Ok::<_, matchrank_core::Error>(path)
    };
    let title = |i: u32| if i.is_multiple_of(2) { "trainers for running" } else { "hat for the sun" };
    let documents: String = (0..12).map(|i| format!("d{i},{} model{}\n", title(i), i / 2)).collect();
    let clicks: String = (0..60)
        .map(|i| {
            let query = ["sneaker", "lid", "cheap sneaker", "cheap lid"][i % 4];
            format!("{query},d{},{}\n", (2 * (i / 4) + i % 2) % 12, 1 + i % 3)
        })
        .collect();
    let judgments: String = (0..12)
        .flat_map(|d| (1..3).map(move |q| format!("new{q} 0 d{d} {}\n", u8::from(d % 2 == (q + 1) % 2))))
        .collect();
    let params = IngestParams {
        documents: vec![write("documents.csv", format!("id,title\n{documents}"))?],
        clicks: vec![write("clicks.csv", format!("query,document,clicks\n{clicks}"))?],
        queries: vec![write("queries.tsv", "new1\tred sneaker\nnew2\tred lid\n".to_owned())?],
        judgments: vec![(Holdout::Validation, write("judgments.qrels", judgments)?)],
        ..IngestParams::default()
    };
    ingest(&params, &folder.join("dataset"), false, &Silent)?;
    Dataset::open(&folder.join("dataset"))
}
