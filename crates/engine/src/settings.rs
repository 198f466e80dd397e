//! Parameters by the names of their fields: settings over defaults.

use crate::json::Json;
use matchrank_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Names and values that take the place of defaults.
pub type Settings = Vec<(String, Json)>;

/// Documentation of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its default value, as it is typed.
    pub default: &'static str,
    /// Its meaning and its values.
    pub help: &'static str,
}

impl Parameter {
    pub(crate) const fn new(name: &'static str, default: &'static str, help: &'static str) -> Self {
        Self { name, default, help }
    }
}

/// A number, or `auto`: chosen on the validation judgments.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum AutoNumber {
    /// Chosen.
    #[default]
    Auto,
    /// Given.
    Given(f64),
}

impl AutoNumber {
    /// The number, if it is given.
    pub fn given(self) -> Option<f64> {
        match self {
            Self::Auto => None,
            Self::Given(value) => Some(value),
        }
    }
}

impl Serialize for AutoNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Given(value) => serializer.serialize_f64(*value),
        }
    }
}

impl<'de> Deserialize<'de> for AutoNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        match (value.as_f64(), value.as_str()) {
            (Some(number), _) => Ok(Self::Given(number)),
            (None, Some("auto")) => Ok(Self::Auto),
            _ => Err(serde::de::Error::custom(format!("expected a number or auto, not {value}"))),
        }
    }
}

/// Parameters with settings over their defaults; an unknown name is an error that lists
/// the known ones.
pub fn params_from<P: DeserializeOwned + Serialize + Default>(settings: &[(String, Json)]) -> Result<P> {
    let mut params = defaults::<P>();
    for (name, value) in settings {
        if !has(&params, name) {
            return Err(unknown(name, &[&params]));
        }
        set::<P>(&mut params, name, value)?;
    }
    Ok(typed(params))
}

/// Reads the parameters of a model and of its features, which have different names, from settings.
pub fn params_of_two<P, Q>(settings: &[(String, Json)]) -> Result<(P, Q)>
where
    P: DeserializeOwned + Serialize + Default,
    Q: DeserializeOwned + Serialize + Default,
{
    let (mut first, mut second) = (defaults::<P>(), defaults::<Q>());
    for (name, value) in settings {
        if has(&first, name) {
            set::<P>(&mut first, name, value)?;
        } else if !has(&second, name) {
            return Err(unknown(name, &[&first, &second]));
        } else {
            set::<Q>(&mut second, name, value)?;
        }
    }
    Ok((typed(first), typed(second)))
}

fn defaults<P: Serialize + Default>() -> Value {
    serde_json::to_value(P::default()).expect("parameters are plain data")
}

/// Every value was checked when it was set.
fn typed<P: DeserializeOwned>(params: Value) -> P {
    serde_json::from_value(params).expect("values fit their parameters")
}

fn has(params: &Value, name: &str) -> bool {
    params.as_object().expect("parameters are a struct").contains_key(name)
}

fn unknown(name: &str, params: &[&Value]) -> Error {
    let known = params.iter().flat_map(|params| params.as_object().expect("parameters are a struct").keys());
    Error::Params(format!(
        "{name}: the model has no such parameter; it has {}",
        known.cloned().collect::<Vec<_>>().join(", ")
    ))
}

/// One at a time, so that a value that does not fit is blamed on its parameter.
fn set<P: DeserializeOwned + Serialize + Default>(
    params: &mut Value,
    name: &str,
    value: &Json,
) -> Result<()> {
    params[name] = value.0.clone();
    if serde_json::from_value::<P>(params.clone()).is_err() {
        let default = &defaults::<P>()[name];
        return Err(Error::Params(format!(
            "{name}={}: {name} is {} (default {})",
            value.plain(),
            expected::<P>(params, name, default),
            Json(default.clone()).plain()
        )));
    }
    Ok(())
}

/// Describes the values that a parameter accepts.
fn expected<P: DeserializeOwned>(params: &mut Value, name: &str, default: &Value) -> String {
    match default {
        Value::Number(number) if number.is_f64() => "a number".into(),
        Value::Number(_) => "a whole number, 0 or more".into(),
        Value::Bool(_) => "true or false".into(),
        _ => {
            // What is none of the allowed names is answered by all of them, in backticks.
            params[name] = "".into();
            let answer =
                serde_json::from_value::<P>(params.clone()).err().map_or(String::new(), |e| e.to_string());
            let names: Vec<&str> =
                answer.split('`').skip(1).step_by(2).filter(|name| !name.is_empty()).collect();
            match answer.strip_prefix("expected ") {
                Some(expected) => expected.split(", not").next().unwrap_or_default().to_owned(),
                None if names.is_empty() => match answer.split_once("; known targets: ") {
                    Some((_, known)) => format!("one of {known}"),
                    None => "something like its default".into(),
                },
                None => format!("one of {}", names.join(", ")),
            }
        }
    }
}
