//! `--set NAME=VALUE`: parameters by the names of their fields.

use anyhow::bail;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Parameters with the settings of `--set` over their defaults; an unknown name is an error that lists
/// the known ones.
pub(crate) fn params_from<P: DeserializeOwned + Serialize + Default>(
    settings: &[(String, Value)],
) -> anyhow::Result<P> {
    let mut params = serde_json::to_value(P::default())?;
    for (name, value) in settings {
        anyhow::ensure!(has(&params, name), unknown(name, &[&params]));
        set::<P>(&mut params, name, value)?;
    }
    Ok(serde_json::from_value(params)?)
}

/// The same for parameters of a model and of its features, which have different names.
pub(super) fn params_of_two<P, Q>(settings: &[(String, Value)]) -> anyhow::Result<(P, Q)>
where
    P: DeserializeOwned + Serialize + Default,
    Q: DeserializeOwned + Serialize + Default,
{
    let (mut first, mut second) = (serde_json::to_value(P::default())?, serde_json::to_value(Q::default())?);
    for (name, value) in settings {
        if has(&first, name) {
            set::<P>(&mut first, name, value)?;
        } else {
            anyhow::ensure!(has(&second, name), unknown(name, &[&first, &second]));
            set::<Q>(&mut second, name, value)?;
        }
    }
    Ok((serde_json::from_value(first)?, serde_json::from_value(second)?))
}

fn has(params: &Value, name: &str) -> bool {
    params.as_object().expect("parameters are a struct").contains_key(name)
}

fn unknown(name: &str, params: &[&Value]) -> String {
    let known = params.iter().flat_map(|params| params.as_object().expect("parameters are a struct").keys());
    format!(
        "--set {name}: the model has no such parameter; it has {}",
        known.cloned().collect::<Vec<_>>().join(", ")
    )
}

/// One at a time, so that a value that does not fit is blamed on its parameter.
fn set<P: DeserializeOwned + Serialize + Default>(
    params: &mut Value,
    name: &str,
    value: &Value,
) -> anyhow::Result<()> {
    params[name] = value.clone();
    if serde_json::from_value::<P>(params.clone()).is_err() {
        let default = &serde_json::to_value(P::default())?[name];
        bail!(
            "--set {name}={}: {name} is {} (default {})",
            plain(value),
            expected::<P>(params, name, default),
            plain(default)
        );
    }
    Ok(())
}

/// What a parameter takes, in words.
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
                None if names.is_empty() => match answer.split_once("known are ") {
                    Some((_, known)) => format!("one of {known}"),
                    None => "something like its default".into(),
                },
                None => format!("one of {}", names.join(", ")),
            }
        }
    }
}

/// A value as it is typed: texts without quotes, 1 for 1.0.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or(number.to_string(), |number| number.to_string()),
        other => other.to_string(),
    }
}

/// `name=value`, the value as JSON where it is JSON (numbers, true, false, null), else as text.
pub(crate) fn parse_setting(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, for example k1=0.9")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.trim().to_owned(), value))
}
