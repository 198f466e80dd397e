//! Identifiers of requests and responses: unique, and not to be guessed from one another.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Key of this process.
static SEED: LazyLock<[u8; 32]> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    // The standard library seeds its hashes from the operating system.
    let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), now);
    *blake3::hash(format!("{now} {random} {}", std::process::id()).as_bytes()).as_bytes()
});
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Returns a new identifier in the form of a UUID.
pub(crate) fn next() -> String {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let hex = blake3::keyed_hash(&SEED, &number.to_le_bytes()).to_hex();
    format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_differ_and_have_the_form_of_a_uuid() {
        let (a, b) = (next(), next());
        assert_ne!(a, b);
        assert_eq!(a.len(), 36);
        assert_eq!(a.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    }
}
