//! `--set NAME=VALUE`: parameters by the names of their fields.

use anyhow::Context;
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
fn set<P: DeserializeOwned>(params: &mut Value, name: &str, value: &Value) -> anyhow::Result<()> {
    params[name] = value.clone();
    serde_json::from_value::<P>(params.clone()).with_context(|| format!("--set {name}={value}"))?;
    Ok(())
}

/// `name=value`, the value as JSON where it is JSON (numbers, true, false, null), else as text.
pub(crate) fn parse_setting(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, for example k1=0.9")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}
