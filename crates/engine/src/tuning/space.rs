//! Search spaces: names of parameters with the values to try.

use matchrank_core::{Error, Result};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::settings::Settings;

/// Points of a range in a grid.
const GRID_POINTS: usize = 5;
/// A range of positive numbers that spans at least this factor is walked by factors, not by differences.
const WIDE: f64 = 100.0;

/// The values of one parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Axis {
    /// These.
    List(Vec<Json>),
    /// Numbers from `low` to `high`.
    Range {
        /// The least.
        low: f64,
        /// The greatest.
        high: f64,
        /// True if they are whole numbers.
        whole: bool,
    },
}

/// Parameters that vary, each with its values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Space(pub Vec<(String, Axis)>);

impl Axis {
    /// `0.1,0.3,0.5` (values, as JSON where they are JSON) or `1e-7..1e-4` (a range; of whole numbers where both ends
    /// are written as such).
    pub fn parse(text: &str) -> Result<Self> {
        if let Some((low, high)) = text.split_once("..") {
            let ends = (low.trim().parse::<f64>(), high.trim().parse::<f64>());
            return match ends {
                (Ok(a), Ok(b)) if a.is_finite() && b.is_finite() && a < b => {
                    let whole = [low, high].iter().all(|end| end.trim().parse::<u64>().is_ok());
                    Ok(Self::Range { low: a, high: b, whole })
                }
                _ => Err(Error::Params(format!(
                    "{text} is no range; write two numbers, the smaller first, as in 0.1..0.9"
                ))),
            };
        }
        let values: Vec<Json> =
            text.split(',').map(str::trim).filter(|text| !text.is_empty()).map(Json::parse).collect();
        if values.is_empty() {
            return Err(Error::Params(
                "no value is named; write values as in 0.1,0.3 or a range as in 0.1..0.9".into(),
            ));
        }
        Ok(Self::List(values))
    }

    fn grid(&self) -> Vec<Json> {
        match self {
            Self::List(values) => values.clone(),
            Self::Range { .. } => {
                let mut points: Vec<Json> =
                    (0..GRID_POINTS).map(|i| self.at(i as f64 / (GRID_POINTS - 1) as f64)).collect();
                points.dedup();
                points
            }
        }
    }

    fn draw(&self, rng: &mut impl Rng) -> Json {
        match self {
            Self::List(values) => values[rng.random_range(0..values.len())].clone(),
            Self::Range { .. } => self.at(rng.random()),
        }
    }

    /// The value at a place between 0 and 1 of a range.
    fn at(&self, place: f64) -> Json {
        let Self::Range { low, high, whole } = *self else { unreachable!("a list has no places between") };
        let value = if low > 0.0 && high / low >= WIDE {
            (low.ln() + place * (high.ln() - low.ln())).exp()
        } else {
            low + place * (high - low)
        };
        // Three digits are enough to try, and can be read.
        let rounded: f64 = format!("{:.2e}", value.clamp(low, high)).parse().expect("a number");
        if whole { Json::of(&(rounded.round() as u64)) } else { Json::of(&rounded.clamp(low, high)) }
    }
}

impl Space {
    /// All combinations, the last parameter varying fastest.
    pub(super) fn grid(&self, most: usize) -> Vec<Settings> {
        let axes: Vec<(&String, Vec<Json>)> = self.0.iter().map(|(name, axis)| (name, axis.grid())).collect();
        let n =
            axes.iter().try_fold(1_usize, |n, (_, values)| n.checked_mul(values.len())).unwrap_or(usize::MAX);
        let point = |mut i: usize| {
            let mut settings: Settings = Vec::with_capacity(axes.len());
            for (name, values) in axes.iter().rev() {
                settings.push(((*name).clone(), values[i % values.len()].clone()));
                i /= values.len();
            }
            settings.reverse();
            settings
        };
        (0..n.min(most)).map(point).collect()
    }

    /// Nothing varied, then combinations drawn at random, all different; fewer than `n` where there are not so many.
    /// The first of a longer sequence are those of a shorter one.
    pub(super) fn random(&self, n: usize, rng: &mut impl Rng) -> Vec<Settings> {
        const ATTEMPTS: usize = 100;
        let mut drawn: Vec<Settings> = vec![Settings::new()];
        let mut misses = 0;
        while drawn.len() < n && misses < ATTEMPTS && !self.0.is_empty() {
            let settings: Settings =
                self.0.iter().map(|(name, axis)| (name.clone(), axis.draw(rng))).collect();
            if drawn.contains(&settings) {
                misses += 1;
            } else {
                misses = 0;
                drawn.push(settings);
            }
        }
        drawn.truncate(n.max(1));
        drawn
    }

    /// The default search space of a kind of model.
    pub fn of_axes(axes: &[(&str, &str)]) -> Self {
        let axis = |text: &str| Axis::parse(text).expect("defaults are valid");
        Self(axes.iter().map(|(name, values)| ((*name).to_owned(), axis(values))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn axes_are_lists_or_ranges() {
        assert_eq!(
            Axis::parse("1, log,true").unwrap(),
            Axis::List(vec![Json::of(&1), Json::of(&"log"), Json::of(&true)])
        );
        let range = Axis::parse("1e-6..1e-2").unwrap();
        assert_eq!(range.grid(), [1e-6, 1e-5, 1e-4, 1e-3, 1e-2].map(|value| Json::of(&value)));
        assert_eq!(Axis::parse("1..3").unwrap().grid(), [1, 2, 3].map(|value| Json::of(&value)));
        assert_eq!(
            Axis::parse("0..1.0").unwrap().grid(),
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|value| Json::of(&value))
        );
        for wrong in ["", " , ", "3..1", "a..2", "1..inf", "1..1"] {
            assert!(Axis::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn grids_are_products_and_draws_are_distinct_and_extend_each_other() {
        let space = Space(vec![
            ("a".into(), Axis::parse("1,2,3").unwrap()),
            ("b".into(), Axis::parse("x,y").unwrap()),
        ]);
        let grid = space.grid(usize::MAX);
        assert_eq!(grid.len(), 6);
        assert_eq!(grid[1], [("a".to_owned(), Json::of(&1)), ("b".to_owned(), Json::of(&"y"))]);
        assert_eq!(space.grid(4), grid[..4]);
        let draw = |n| space.random(n, &mut Xoshiro256PlusPlus::seed_from_u64(1));
        let all = draw(100);
        assert_eq!(all.len(), 7, "nothing varied, and all six");
        assert_eq!(draw(4), all[..4]);
        assert!(grid.iter().all(|settings| all.contains(settings)));
    }
}
