//! Queries for the self-test of models.

use matchrank_core::Result;
use matchrank_engine::dataset::Dataset;

/// Queries of a sample.
const QUERIES: usize = 32;

/// Returns queries of a dataset, evenly spaced; the texts of documents where there are no queries.
pub(crate) fn sample_queries(dataset: &Dataset) -> Result<Vec<String>> {
    let texts: Vec<String> = dataset.queries()?.into_iter().map(|query| query.text).collect();
    if !texts.is_empty() {
        return Ok(spread(&texts));
    }
    let first: Vec<String> = dataset
        .texts()?
        .take(QUERIES)
        .map(|texts| texts.map(|texts| texts.join(" ")))
        .collect::<Result<_>>()?;
    Ok(first.iter().map(|text| text.split_whitespace().take(5).collect::<Vec<_>>().join(" ")).collect())
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
        assert_eq!((sample.len(), sample[0].as_str(), sample[31].as_str()), (QUERIES, "0", "96"));
        assert_eq!(spread(&texts[..3]), ["0", "1", "2"]);
        assert!(spread(&[]).is_empty());
    }
}
