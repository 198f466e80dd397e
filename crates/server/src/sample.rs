//! Queries for the self-test of models.

use matchrank_core::Result;
use matchrank_engine::dataset::Dataset;

/// Queries of a sample.
const QUERIES: usize = 24;
/// Documents whose first words are taken for queries, too.
const DOCUMENTS: usize = 8;
/// Words of a document that are taken.
const WORDS: usize = 5;

/// Returns queries of a dataset, evenly spaced, and the first words of some documents. Models of clicks know queries; models of
/// words may know none of them, where people and documents have different words.
pub(crate) fn sample_queries(dataset: &Dataset) -> Result<Vec<String>> {
    let queries: Vec<String> = dataset.queries()?.into_iter().map(|query| query.text).collect();
    let mut sample = spread(&queries);
    for texts in dataset.texts()?.take(DOCUMENTS) {
        let text = texts?.join(" ");
        sample.push(text.split_whitespace().take(WORDS).collect::<Vec<_>>().join(" "));
    }
    sample.retain(|query| !query.is_empty());
    Ok(sample)
}

fn spread(texts: &[String]) -> Vec<String> {
    let n = texts.len().min(QUERIES);
    (0..n).map(|i| texts[i * texts.len() / n].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_over_all_queries() {
        let texts: Vec<String> = (0..100).map(|i| i.to_string()).collect();
        let sample = spread(&texts);
        assert_eq!((sample.len(), sample[0].as_str(), sample[23].as_str()), (QUERIES, "0", "95"));
        assert_eq!(spread(&texts[..3]), ["0", "1", "2"]);
        assert!(spread(&[]).is_empty());
    }
}
