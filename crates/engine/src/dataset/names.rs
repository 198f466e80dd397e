//! Ids of queries and documents: a set of numbered strings, and ids made from query texts.

use hashbrown::HashTable;

use foldhash::fast::FixedState;
use std::hash::BuildHasher;

/// Strings numbered in the order they were added, looked up by content. All strings are in one arena, without an
/// allocation per string.
#[derive(Default)]
pub struct Names {
    bytes: String,
    ends: Vec<usize>,
    lookup: HashTable<u32>,
}

impl Names {
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the string with a number.
    pub fn get(&self, number: u32) -> &str {
        slice(&self.bytes, &self.ends, number)
    }

    /// Returns the number of a string.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.lookup.find(hash(name), |&n| self.get(n) == name).copied()
    }

    /// Adds a string; `Err` holds its number if it was already there.
    pub fn insert(&mut self, name: &str) -> Result<u32, u32> {
        if let Some(number) = self.find(name) {
            return Err(number);
        }
        let number = u32::try_from(self.ends.len()).expect("fewer than 2^32 names");
        self.bytes.push_str(name);
        self.ends.push(self.bytes.len());
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.lookup.insert_unique(hash(name), number, |&n| hash(slice(bytes, ends, n)));
        Ok(number)
    }

    /// Iterates over all strings in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|n| self.get(n))
    }
}

fn slice<'a>(bytes: &'a str, ends: &[usize], number: u32) -> &'a str {
    let start = if number == 0 { 0 } else { ends[number as usize - 1] };
    &bytes[start..ends[number as usize]]
}

fn hash(name: &str) -> u64 {
    FixedState::with_seed(0).hash_one(name.as_bytes())
}

/// Returns what is left of an id of digits without its leading zeros.
pub(crate) fn without_zeros(id: &str) -> Option<&str> {
    id.bytes().all(|byte| byte.is_ascii_digit()).then(|| id.trim_start_matches('0'))
}

/// Returns the id of a query known by its text only: the normalised text with `_` for blanks, so that run files stay
/// readable. Different texts have different ids: `_`, `%`, `~` and control characters are written as `%5F`, `%25`,
/// `%7E` and so on.
pub(crate) fn id_of_text(text: &str) -> String {
    let mut id = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '_' => id.push_str("%5F"),
            '%' => id.push_str("%25"),
            '~' => id.push_str("%7E"),
            c if c.is_whitespace() => id.push('_'),
            c if c.is_control() => id.extend(c.to_string().bytes().map(|b| format!("%{b:02X}"))),
            c => id.push(c),
        }
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_and_found() {
        let mut names = Names::default();
        for i in 0..1000 {
            assert_eq!(names.insert(&format!("n{i}")), Ok(i));
        }
        assert_eq!(names.insert("n7"), Err(7));
        assert_eq!(names.insert(""), Ok(1000));
        assert_eq!((names.find("n999"), names.find("x"), names.get(1000)), (Some(999), None, ""));
        assert_eq!(names.iter().count(), names.len());
    }

    #[test]
    fn ids_of_texts_are_readable_and_never_meet() {
        assert_eq!(id_of_text("gears of war 3"), "gears_of_war_3");
        assert_eq!(id_of_text("a\u{0}b\u{1b}"), "a%00b%1B");
        assert_ne!(id_of_text("a_b"), id_of_text("a b"));
        assert_ne!(id_of_text("a%5Fb"), id_of_text("a_b"));
        assert_eq!(id_of_text("a\u{1}b"), "a%01b");
    }
}
