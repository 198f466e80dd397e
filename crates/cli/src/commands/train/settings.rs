//! `--set NAME=VALUE`: parameters by the names of their fields.

use matchrank_engine::json::Json;
use matchrank_engine::settings;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Parameters with the settings of `--set` over their defaults.
pub(crate) fn params_from<P: DeserializeOwned + Serialize + Default>(
    settings: &[(String, Json)],
) -> anyhow::Result<P> {
    settings::params_from(settings).map_err(of_set)
}

/// Reads the parameters of a model and of its features from settings.
pub(super) fn params_of_two<P, Q>(settings: &[(String, Json)]) -> anyhow::Result<(P, Q)>
where
    P: DeserializeOwned + Serialize + Default,
    Q: DeserializeOwned + Serialize + Default,
{
    settings::params_of_two(settings).map_err(of_set)
}

/// An error about a setting, which came by `--set`.
pub(crate) fn of_set(error: matchrank_engine::Error) -> anyhow::Error {
    anyhow::anyhow!("--set {error}")
}

/// `name=value`, the value as JSON where it is JSON (numbers, true, false, null), else as text.
pub(crate) fn parse_setting(text: &str) -> Result<(String, Json), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, for example k1=0.9")?;
    Ok((name.trim().to_owned(), Json::parse(value)))
}
