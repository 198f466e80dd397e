//! Keys that open the routes of the service.

use std::path::Path;

use matchrank_core::{Error, Result};
use matchrank_engine::files;

/// Shortest key that is accepted, in bytes.
const SHORTEST: usize = 16;

/// Hashes of the read key and of the write key. The write key opens what the read key opens.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    read: Option<blake3::Hash>,
    write: Option<blake3::Hash>,
}

/// What a request may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// Anyone may: pages without data, health.
    Open,
    /// Needs the read key.
    Read,
    /// Needs the write key.
    Write,
}

/// Result of a check of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    /// The key is missing, wrong, or opens less.
    WrongKey,
    /// No write key was set, so nothing opens the route.
    NoWriteKey,
}

impl Keys {
    /// Reads keys from files, or from the environment variables `MATCHRANK_READ_KEY` and `MATCHRANK_WRITE_KEY`; a file wins.
    pub fn read(read: Option<&Path>, write: Option<&Path>) -> Result<Self> {
        let of = |file: Option<&Path>, variable: &str| match (file, std::env::var(variable)) {
            (Some(path), _) => {
                let bytes = files::read_all(path)?;
                let text = String::from_utf8_lossy(&bytes);
                hashed(text.trim(), &path.display().to_string()).map(Some)
            }
            (None, Ok(key)) => hashed(key.trim(), variable).map(Some),
            (None, Err(_)) => Ok(None),
        };
        Ok(Self { read: of(read, "MATCHRANK_READ_KEY")?, write: of(write, "MATCHRANK_WRITE_KEY")? })
    }

    /// Keys given by their texts.
    pub fn of(read: Option<&str>, write: Option<&str>) -> Result<Self> {
        let of = |key: Option<&str>, name| key.map(|key| hashed(key, name)).transpose();
        Ok(Self { read: of(read, "the read key")?, write: of(write, "the write key")? })
    }

    /// Returns true if a key is needed to read.
    pub(crate) fn guard_reading(&self) -> bool {
        self.read.is_some()
    }

    /// Says whether a request with this key, or none, has an access. The time does not depend on where keys differ: hashes
    /// of fixed length are compared, in constant time.
    pub(crate) fn check(&self, needed: Access, given: Option<&str>) -> Verdict {
        let given = given.map(|key| blake3::hash(key.as_bytes()));
        let is = |key: &Option<blake3::Hash>| given.is_some() && *key == given;
        let (reads, writes) = (is(&self.read), is(&self.write));
        let allowed = match needed {
            Access::Open => true,
            Access::Read => self.read.is_none() || reads || writes,
            Access::Write if self.read.is_none() && self.write.is_none() => true,
            Access::Write if self.write.is_none() => return Verdict::NoWriteKey,
            Access::Write => writes,
        };
        if allowed { Verdict::Allowed } else { Verdict::WrongKey }
    }
}

fn hashed(key: &str, place: &str) -> Result<blake3::Hash> {
    if key.len() < SHORTEST || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::format(
            place,
            format!(
                "is no key; {SHORTEST} or more printable ASCII characters without blanks are expected, as from `openssl rand -hex 32`"
            ),
        ));
    }
    Ok(blake3::hash(key.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_open_what_they_should() {
        let (read, write) = ("read-key-0123456789", "write-key-0123456789");
        let both = Keys::of(Some(read), Some(write)).unwrap();
        for (needed, key, verdict) in [
            (Access::Open, None, Verdict::Allowed),
            (Access::Read, None, Verdict::WrongKey),
            (Access::Read, Some("read-key-012345678"), Verdict::WrongKey),
            (Access::Read, Some(read), Verdict::Allowed),
            (Access::Read, Some(write), Verdict::Allowed),
            (Access::Write, Some(read), Verdict::WrongKey),
            (Access::Write, Some(write), Verdict::Allowed),
        ] {
            assert_eq!(both.check(needed, key), verdict, "{needed:?} {key:?}");
        }
        assert_eq!(Keys::default().check(Access::Write, None), Verdict::Allowed);
        let read_only = Keys::of(Some(read), None).unwrap();
        assert_eq!(read_only.check(Access::Write, Some(read)), Verdict::NoWriteKey);
        assert!(Keys::of(Some("short"), None).is_err());
    }
}
