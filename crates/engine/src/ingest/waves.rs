//! Overlaps reading, parallel work and ordered merging, in bounded memory.

use matchrank_core::Result;
use rayon::prelude::*;

/// Takes items from `next` until it returns `None`, processes them on all cores and merges the results in the order of
/// the items.
///
/// While one wave of `size` items is processed, the next is being read. At most two waves are in memory. The returned
/// error is the first in the order of the items, whichever thread met it.
pub(super) fn in_waves<Item: Send, Done: Send>(
    size: usize,
    mut next: impl FnMut() -> Result<Option<Item>> + Send,
    work: impl Fn(Item) -> Result<Done> + Sync,
    mut merge: impl FnMut(Done) -> Result<()>,
) -> Result<()> {
    let mut draw = || -> (Vec<Item>, Result<bool>) {
        let mut items = Vec::with_capacity(size);
        while items.len() < size {
            match next() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => return (items, Ok(true)),
                Err(error) => return (items, Err(error)),
            }
        }
        (items, Ok(false))
    };
    let (mut items, mut ended) = draw();
    loop {
        let over = !matches!(ended, Ok(false));
        let worked = || items.into_par_iter().map(&work).collect::<Vec<_>>();
        let (done, following) =
            if over { (worked(), (Vec::new(), Ok(true))) } else { rayon::join(worked, &mut draw) };
        for result in done {
            merge(result?)?;
        }
        if over {
            return ended.map(|_| ());
        }
        (items, ended) = following;
    }
}

#[cfg(test)]
mod tests {
    use matchrank_core::Error;

    use super::*;

    #[test]
    fn results_come_in_order_and_the_first_error_wins() {
        let mut n = 0;
        let mut seen = Vec::new();
        let counted = || {
            n += 1;
            Ok((n <= 100).then_some(n))
        };
        in_waves(
            3,
            counted,
            |i| Ok(i * i),
            |square| {
                seen.push(square);
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(seen, (1..=100).map(|i| i * i).collect::<Vec<i32>>());

        let mut n = 0;
        let failing = || {
            n += 1;
            if n > 50 { Err(Error::Params("reader".into())) } else { Ok(Some(n)) }
        };
        let error = in_waves(
            4,
            failing,
            |i| if i % 7 == 0 { Err(Error::Params(format!("item {i}"))) } else { Ok(i) },
            |_| Ok(()),
        )
        .unwrap_err();
        assert_eq!(error.to_string(), "item 7");
    }
}
