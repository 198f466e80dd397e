//! Values by name, in the order in which they were added.

use std::ops::Index;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Values by name, in the order in which they were added; a JSON object in files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ByName<T>(IndexMap<String, T>);

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self(IndexMap::new())
    }
}

impl<T> ByName<T> {
    /// Returns true if there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the value of a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.get(name)
    }

    /// Adds a value; it takes the place of a former one of the name.
    pub fn insert(&mut self, name: String, value: T) {
        self.0.insert(name, value);
    }

    /// Removes every value.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns names and values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&String, &T)> {
        self.0.iter()
    }

    /// Returns the names.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &String> {
        self.0.keys()
    }

    /// Returns the values.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &T> {
        self.0.values()
    }

    /// Returns the values, to be changed.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        self.0.values_mut()
    }
}

impl<T> Index<&str> for ByName<T> {
    type Output = T;

    /// Returns the value of a name. Panics if there is none.
    fn index(&self, name: &str) -> &T {
        &self.0[name]
    }
}

impl<T> FromIterator<(String, T)> for ByName<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T, const N: usize> From<[(String, T); N]> for ByName<T> {
    fn from(values: [(String, T); N]) -> Self {
        values.into_iter().collect()
    }
}
