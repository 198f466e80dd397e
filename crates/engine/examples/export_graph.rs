//! Writes the click graph of a dataset, as models see it, into a folder of raw arrays that any language can
//! read: `export_graph DATASET FOLDER`. `bench/matching/README.md` describes the files.
#![allow(clippy::print_stdout)]

use std::io::{BufWriter, Write};
use std::path::Path;

use matchrank_core::matching::Csr;
use matchrank_core::progress::Silent;
use matchrank_engine::dataset::{Clicks, Dataset};
use matchrank_engine::features::{FeatureParams, Features, click_graph};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [_, dataset, folder] = &std::env::args().collect::<Vec<_>>()[..] else {
        return Err("usage: export_graph DATASET FOLDER".into());
    };
    let dataset = Dataset::open(Path::new(dataset))?;
    let features = Features::of_dataset(&FeatureParams::default(), &dataset)?;
    let (graph, statistics) = click_graph(&features, &dataset, Clicks::to_learn_from(&dataset)?, &Silent)?;
    println!("{statistics:?}");
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder)?;
    let mut shape = serde_json::Map::new();
    for (name, matrix) in [("x", graph.x()), ("y", graph.y()), ("r", graph.r())] {
        write(folder, name, matrix)?;
        shape.insert(name.into(), serde_json::json!([matrix.n_rows(), matrix.n_columns()]));
    }
    std::fs::write(folder.join("shape.json"), serde_json::to_string(&shape)?)?;
    Ok(())
}

fn write(folder: &Path, name: &str, matrix: &Csr) -> std::io::Result<()> {
    let file = |what: &str| std::fs::File::create(folder.join(format!("{name}.{what}"))).map(BufWriter::new);
    let mut offsets = file("offsets.u64")?;
    matrix.offsets().iter().try_for_each(|&offset| offsets.write_all(&(offset as u64).to_le_bytes()))?;
    let mut indices = file("indices.u32")?;
    matrix.indices().iter().try_for_each(|index| indices.write_all(&index.to_le_bytes()))?;
    let mut values = file("values.f32")?;
    matrix.values().iter().try_for_each(|value| values.write_all(&value.to_le_bytes()))?;
    offsets.flush().and(indices.flush()).and(values.flush())
}
