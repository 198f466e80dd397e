use matchrank_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// Weights of the text fields of a document.
///
/// The weighted count of a term is `sum_f w_f tf_f` and the weighted length of a document
/// `sum_f w_f length_f`, so a title that counts three times is a title written three times (the simple
/// form of BM25F, Robertson, Zaragoza & Taylor 2004). A field that is not named does not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldWeights(Vec<(String, f32)>);

impl FieldWeights {
    /// Creates weights for fields. The order is kept; it only decides the order of sums.
    pub fn new<S: Into<String>>(fields: impl IntoIterator<Item = (S, f32)>) -> Result<Self> {
        let weights = Self(fields.into_iter().map(|(name, weight)| (name.into(), weight)).collect());
        weights.validate()?;
        Ok(weights)
    }

    /// Gives every named field the weight 1.
    pub fn equal<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Result<Self> {
        Self::new(names.into_iter().map(|name| (name, 1.0)))
    }

    /// Checks that weights are positive and finite and that names are unique; needed after deserialising.
    pub fn validate(&self) -> Result<()> {
        if self.0.is_empty() {
            return Err(Error::Params("at least one text field is needed".into()));
        }
        for (index, (name, weight)) in self.0.iter().enumerate() {
            if !(weight.is_finite() && *weight > 0.0) {
                return Err(Error::Params(format!(
                    "the weight of field {name:?} must be above 0 and finite, not {weight}; leave a field out to ignore it"
                )));
            }
            if self.0[..index].iter().any(|(other, _)| other == name) {
                return Err(Error::Params(format!("field {name:?} has two weights")));
            }
        }
        Ok(())
    }

    /// Iterates over names and weights, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, f32)> + Clone {
        self.0.iter().map(|(name, weight)| (name.as_str(), *weight))
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no fields, which checked weights never have.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the position of a field in the order, or `None` for a field that does not count.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(other, _)| other == name)
    }

    /// Computes `sum_f w_f n_f`, summed in f64 in the order of the fields and rounded once, so that every caller gets
    /// the same bits.
    pub fn weighted(&self, counts: &[u32]) -> f32 {
        debug_assert_eq!(counts.len(), self.0.len());
        self.0.iter().zip(counts).map(|((_, weight), &n)| f64::from(*weight) * f64::from(n)).sum::<f64>()
            as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights() {
        let weights = FieldWeights::new([("title", 3.0), ("body", 0.5)]).unwrap();
        assert_eq!(weights.weighted(&[2, 5]), 8.5);
        assert_eq!((weights.position("body"), weights.position("url")), (Some(1), None));
        assert!(FieldWeights::new([("title", -1.0)]).is_err());
        assert!(FieldWeights::new([("title", f32::NAN)]).is_err());
        assert!(FieldWeights::new([("a", 1.0), ("a", 2.0)]).unwrap_err().to_string().contains("two weights"));
        assert!(FieldWeights::equal(Vec::<String>::new()).is_err());
    }
}
