//! Lists in requests, of bounded length.

use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

use crate::failure::Failure;

/// Documents, texts, items or candidates that a request may list.
pub(crate) const MAX_LISTED: usize = 10_000;

/// The items of a list. Items beyond [`MAX_LISTED`] are counted and not kept.
#[derive(Debug)]
pub(crate) struct Listed<T> {
    items: Vec<T>,
    n: usize,
}

impl<T> Listed<T> {
    /// Returns the items; an empty or too long list is an error that names it.
    pub(crate) fn items(self, name: &str) -> Result<Vec<T>, Failure> {
        if self.n > MAX_LISTED {
            let n = self.n;
            return Err(Failure::TooLarge(format!(
                "`{name}` has {n} items; a request may have {MAX_LISTED}: send several requests"
            )));
        }
        if self.items.is_empty() {
            return Err(Failure::Unusable(format!("`{name}` is empty; give at least one")));
        }
        Ok(self.items)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Listed<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Listed<T>, A::Error> {
        let mut items = Vec::new();
        while items.len() < MAX_LISTED {
            match seq.next_element()? {
                Some(item) => items.push(item),
                None => return Ok(Listed { n: items.len(), items }),
            }
        }
        let mut n = items.len();
        while seq.next_element::<IgnoredAny>()?.is_some() {
            n += 1;
        }
        if n > MAX_LISTED {
            items = Vec::new();
        }
        Ok(Listed { items, n })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(n: usize) -> Listed<String> {
        serde_json::from_str(&format!("[{}]", vec!["\"a\""; n].join(","))).unwrap()
    }

    #[test]
    fn long_lists_are_counted_and_not_kept() {
        assert_eq!(parse(3).items("texts").unwrap().len(), 3);
        assert_eq!(parse(MAX_LISTED).items("texts").unwrap().len(), MAX_LISTED);
        let long = parse(MAX_LISTED + 7);
        assert!(long.items.capacity() == 0);
        let failure = long.items("texts").unwrap_err();
        assert!(failure.message().starts_with("`texts` has 10007 items"), "{failure:?}");
        assert!(matches!(parse(0).items("texts"), Err(Failure::Unusable(_))));
    }
}
