//! Settings of the service, as the configuration file has them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use matchrank_core::{Error, Result};
use matchrank_engine::files;
use serde::{Deserialize, Serialize};

use crate::keys::Keys;
use crate::service::BODY_MEMORY;

/// Documents that a model of the first stage may propose.
pub(crate) const MAX_DEPTH: usize = 10_000;

/// Settings of the service. In a configuration file (TOML) they have these names with hyphens: `max-body = 1048576`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ServiceSettings {
    /// Dataset folder.
    pub data: PathBuf,
    /// Models, each `FILE` or `NAME=FILE`; the first is the default.
    pub model: Vec<ModelSetting>,
    /// Other names of models, each `ALIAS=NAME`.
    pub alias: Vec<String>,
    /// Folder of the log of events and document changes; none for a service that only reads.
    pub state: Option<PathBuf>,
    /// Names of models that learn from events: sparse preferences and perceptrons.
    pub learn: Vec<String>,
    /// Names of models that propose the documents which other models rank in searches; none to rank the whole collection.
    pub first_stage: Vec<String>,
    /// Documents that each model of the first stage proposes.
    pub depth: usize,
    /// Days for which events are kept; without it, for ever.
    pub keep_days: Option<f64>,
    /// Bytes of events that are kept, the newest; without it, all.
    pub keep_bytes: Option<u64>,
    /// Address and port.
    pub listen: SocketAddr,
    /// Names under which clients reach the service, besides the local ones.
    pub host: Vec<String>,
    /// File with the key that opens searching and ranking.
    pub read_key_file: Option<PathBuf>,
    /// File with the key that opens everything.
    pub write_key_file: Option<PathBuf>,
    /// Certificate chain, PEM.
    pub tls_certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM.
    pub tls_key: Option<PathBuf>,
    /// Largest body of a request, in bytes.
    pub max_body: usize,
    /// Memory for images of the documents of each model, in bytes; documents beyond it are mapped for every query.
    pub image_memory: u64,
    /// Open connections, at most.
    pub max_connections: usize,
    /// Requests that may wait for a free thread.
    pub max_queue: usize,
    /// Seconds until the header of a request must have come; idle connections are closed after this time.
    pub header_timeout: u64,
    /// Seconds until the body of a request must have come.
    pub body_timeout: u64,
    /// Seconds after SIGTERM for which requests are still taken while `/readyz` says that the service ends.
    pub drain_delay: u64,
    /// Seconds that open requests get to end after that.
    pub drain_timeout: u64,
    /// True to log the bodies of requests.
    pub log_bodies: bool,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            data: PathBuf::new(),
            model: Vec::new(),
            alias: Vec::new(),
            state: None,
            learn: Vec::new(),
            first_stage: Vec::new(),
            depth: 200,
            keep_days: None,
            keep_bytes: None,
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7878),
            host: Vec::new(),
            read_key_file: None,
            write_key_file: None,
            tls_certificate: None,
            tls_key: None,
            max_body: 8 << 20,
            image_memory: 2 << 30,
            max_connections: 4096,
            max_queue: 256,
            header_timeout: 15,
            body_timeout: 30,
            drain_delay: 0,
            drain_timeout: 30,
            log_bodies: false,
        }
    }
}

impl ServiceSettings {
    /// Reads a configuration file. Relative paths in it are relative to its folder.
    pub fn read(path: &Path) -> Result<Self> {
        let name = files::name_of(path);
        let bytes = files::read_all(path)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| Error::format(&name, "is not UTF-8"))?;
        let mut settings: Self =
            toml::from_str(text).map_err(|error| Error::format(&name, error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let own = [&mut settings.state, &mut settings.read_key_file, &mut settings.write_key_file];
        let tls = [&mut settings.tls_certificate, &mut settings.tls_key];
        let files = own.into_iter().chain(tls).filter_map(Option::as_mut);
        let models = settings.model.iter_mut().map(|model| &mut model.file);
        let data = std::iter::once(&mut settings.data).filter(|data| !data.as_os_str().is_empty());
        files.chain(models).chain(data).for_each(|file| *file = folder.join(&file));
        Ok(settings)
    }

    /// Returns an error if settings are missing, out of range, or unsafe with these keys.
    pub fn validate(&self, keys: &Keys) -> Result<()> {
        let wrong = |message: &str| Err(Error::Params(message.to_owned()));
        if self.data.as_os_str().is_empty() {
            return wrong("option `data` is missing; name a dataset folder");
        }
        if self.model.is_empty() {
            return wrong("option `model` is missing; name at least one model file");
        }
        if let Some((_, name)) =
            self.learn.iter().enumerate().find(|(n, name)| self.learn[..*n].contains(name))
        {
            return Err(Error::Params(format!("option `learn` names the model {name} twice; name it once")));
        }
        if self.max_body > BODY_MEMORY {
            return Err(Error::Params(format!(
                "option `max-body` is {}; all bodies together get {BODY_MEMORY} bytes, so give at most that",
                self.max_body
            )));
        }
        if self.state.is_none() && !self.learn.is_empty() {
            return wrong(
                "option `learn` needs a state folder, which holds the events; name one in option `state`",
            );
        }
        if self.state.is_none() && (self.keep_days.is_some() || self.keep_bytes.is_some()) {
            return wrong(
                "options `keep-days` and `keep-bytes` need a state folder, which holds the events; name one in option `state`",
            );
        }
        if let Some(days) = self.keep_days.filter(|days| !(*days > 0.0 && days.is_finite())) {
            return Err(Error::Params(format!("option `keep-days` is {days}; a number above 0 is expected")));
        }
        if self.tls_certificate.is_some() != self.tls_key.is_some() {
            return wrong("options `tls-certificate` and `tls-key` belong together; give both");
        }
        for (name, value) in [
            ("max-body", self.max_body),
            ("max-connections", self.max_connections),
            ("max-queue", self.max_queue),
            ("header-timeout", self.header_timeout as usize),
            ("body-timeout", self.body_timeout as usize),
            ("drain-timeout", self.drain_timeout as usize),
        ] {
            if value == 0 {
                return Err(Error::Params(format!("option `{name}` is 0; give at least 1")));
            }
        }
        if !(1..=MAX_DEPTH).contains(&self.depth) {
            return Err(Error::Params(format!(
                "option `depth` is {}; 1 to {MAX_DEPTH} documents can be proposed",
                self.depth
            )));
        }
        if !self.listen.ip().is_loopback() && !keys.guard_reading() {
            return Err(Error::Params(format!(
                "option `listen` is {}, which other machines reach, and there is no read key; give one in a file \
                 (option `read-key-file`) or in MATCHRANK_READ_KEY, or listen on 127.0.0.1",
                self.listen
            )));
        }
        Ok(())
    }
}

/// A model file with the name under which it is served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub struct ModelSetting {
    /// Name in requests.
    pub name: String,
    /// Model file.
    pub file: PathBuf,
}

impl ModelSetting {
    /// A model file under a name.
    pub fn new(name: impl Into<String>, file: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), file: file.into() }
    }
}

impl FromStr for ModelSetting {
    type Err = String;

    /// Parses `NAME=FILE`, or `FILE`, whose name without the extension is the model's.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').filter(|(name, _)| is_name(name));
        let (name, file) = match named {
            Some((name, file)) => (name.to_owned(), file),
            None => {
                let stem = Path::new(text).file_stem().unwrap_or_default().to_string_lossy();
                (stem.into_owned(), text)
            }
        };
        if file.is_empty() || !is_name(&name) {
            return Err(format!(
                "`{text}` is no model: NAME=FILE is expected, the name of letters, digits and any of . _ + -"
            ));
        }
        Ok(Self { name, file: file.into() })
    }
}

/// Returns true if a text can be the name of a model: in a path of the service it needs no escapes.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 100
        && !text.starts_with('.')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c))
}

impl TryFrom<String> for ModelSetting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ModelSetting> for String {
    fn from(model: ModelSetting) -> Self {
        format!("{}={}", model.name, model.file.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_names() {
        let parse = |text: &str| text.parse::<ModelSetting>().map(|model| (model.name, model.file));
        assert_eq!(parse("a=x/y.model"), Ok(("a".into(), "x/y.model".into())));
        assert_eq!(parse("x/rmls+bm25.model"), Ok(("rmls+bm25".into(), "x/rmls+bm25.model".into())));
        for wrong in ["", "a=", "=", "../..", "a b.model"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_addresses_need_a_key() {
        let settings = ServiceSettings {
            data: "shop".into(),
            model: vec!["bm25.model".parse().unwrap()],
            ..ServiceSettings::default()
        };
        assert!(settings.validate(&Keys::default()).is_ok());
        let open = ServiceSettings { listen: "0.0.0.0:80".parse().unwrap(), ..settings };
        let error = open.validate(&Keys::default()).unwrap_err().to_string();
        assert!(error.contains("there is no read key"), "{error}");
        assert!(open.validate(&Keys::of(Some("0123456789abcdef"), None).unwrap()).is_ok());
    }

    #[test]
    fn a_file_has_the_names_of_the_flags() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("serve.toml");
        std::fs::write(&path, "data = 'shop'\nmodel = ['a=b.model']\nmax-body = 5\nlisten = '127.0.0.1:0'\n")
            .unwrap();
        let settings = ServiceSettings::read(&path).unwrap();
        assert_eq!((settings.data, settings.max_body), (folder.path().join("shop"), 5));
        std::fs::write(&path, "max_body = 5\n").unwrap();
        assert!(ServiceSettings::read(&path).unwrap_err().to_string().contains("max_body"));
    }
}
