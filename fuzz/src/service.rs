//! A service on a small shop with models of several kinds, and a connection to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use matchrank_core::progress::Silent;
use matchrank_engine::dataset::Dataset;
use matchrank_engine::ingest::{IngestParams, ingest};
use matchrank_server::{Keys, ModelSetting, ServiceSettings, start};
use serde_json::Value;

use crate::{file, folder, models};

/// Models by name, with their golden files. The first is the default, and `learner` learns from events.
const MODELS: [(&str, &str); 8] = [
    ("words", "bm25_v1"),
    ("clicks", "clicks_v2"),
    ("latent", "rmls_v1"),
    ("learner", "sparse_preference_v3"),
    ("both", "combination_v2"),
    ("stack", "stack_v1"),
    ("linear", "listnet_v1"),
    ("trees", "lambdamart_v1"),
];
/// Accepted changes after which the service starts anew, without them.
const CHANGES: usize = 256;

/// An answer of the service.
pub struct Answer {
    pub status: u16,
    pub is_json: bool,
    pub body: Vec<u8>,
}

/// A running service with an open connection.
pub struct Service {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
    ending: Arc<AtomicBool>,
    changes: usize,
}

impl Service {
    /// Starts a service with an empty log.
    pub fn start() -> Self {
        static STARTED: OnceLock<(PathBuf, Vec<ModelSetting>)> = OnceLock::new();
        let (data, models) = STARTED.get_or_init(|| {
            // Requests wait for rayon's pool, so its thread is not that of the fuzzer, which waits for them.
            rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("first pool");
            let data = dataset();
            let opened = Dataset::open(&data).expect("what was written opens");
            let models = MODELS.map(|(name, golden)| {
                let path = file(&format!("{name}.model"), &models::golden_of(golden, &opened));
                ModelSetting::new(name, path)
            });
            file("half.model", &models::golden_of("rmls_v1", &opened)[..2000]);
            (data, models.into())
        });
        let state = tempfile::Builder::new().prefix("state-").tempdir_in(folder()).expect("a folder");
        file("history", b"");
        let mut settings = ServiceSettings::default();
        settings.data = data.clone();
        settings.model = models.clone();
        settings.alias = vec!["rerank-v3.5=words".into()];
        settings.state = Some(state.path().to_owned());
        settings.learn = vec!["learner".into()];
        settings.listen.set_port(0);
        // The fuzzer may pause for as long as it likes.
        settings.header_timeout = 1 << 30;
        let running = start(settings, Keys::default(), &Silent).expect("a sound service");
        let address = running.address();
        let ending = Arc::<AtomicBool>::default();
        let of_thread = ending.clone();
        std::thread::spawn(move || {
            running.serve(move || of_thread.load(Ordering::Relaxed)).expect("the service ends well");
            drop(state);
        });
        Self { address, stream: None, ending, changes: 0 }
    }

    /// Sends a request and reads the answer.
    pub fn send(&mut self, method: &str, path: &str, body: &[u8]) -> Answer {
        let stream = self.stream.get_or_insert_with(|| {
            let stream = TcpStream::connect(self.address).expect("the service listens");
            stream.set_nodelay(true).expect("a socket");
            BufReader::new(stream)
        });
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.get_mut().write_all(&[head.as_bytes(), body].concat()).expect("the service reads");
        read(stream).expect("the service answers")
    }

    /// Remembers a change that the service accepted in the file `history`: what comes later may depend on it. After some of
    /// them the service starts anew.
    pub fn changed(&mut self, method: &str, path: &str, body: &[u8]) {
        let mut history = std::fs::OpenOptions::new()
            .append(true)
            .open(folder().join("history"))
            .expect("the file is there");
        let line = [format!("{method} {path}\n").as_bytes(), body, b"\n\n"].concat();
        history.write_all(&line).expect("the folder can be written");
        self.changes += 1;
        if self.changes >= CHANGES {
            *self = Self::start();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Answer> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let (mut length, mut is_json) = (0, false);
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name {
            "content-length" => length = value.parse().expect("a length"),
            "content-type" => is_json = value == "application/json",
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(Answer { status, is_json, body })
}

/// Three documents with attributes, and the clicks of three queries.
fn dataset() -> PathBuf {
    let documents = "id,title,body,price,colour,added\n\
                     d1,Running shoes,light shoes for runners,49.5,red,2026-01-02\n\
                     d2,Café table,a round table,120,brown,2026-03-04\n\
                     d3,sneaker,shoes on the table,60,red,2026-05-06\n";
    let clicks = b"query,document,clicks\nsneaker,d1,3\nround table,d2,2\nround table,d3,1\n";
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let params = IngestParams {
        documents: vec![file("service.csv", documents.as_bytes())],
        clicks: vec![file("service_clicks.csv", clicks)],
        text: names(&["title", "body"]),
        attributes: Some(names(&["price", "colour", "added"])),
        ..Default::default()
    };
    let out = folder().join("of_service");
    ingest(&params, &out, true, &Silent).expect("a sound log");
    out
}

/// The bodies that the service says it takes, as method and path.
pub fn documented(service: &mut Service) -> Vec<(String, String)> {
    let api: Value = serde_json::from_slice(&service.send("GET", "/openapi.json", b"").body).expect("JSON");
    let mut found = Vec::new();
    for (path, methods) in api["paths"].as_object().expect("paths") {
        for (method, described) in methods.as_object().expect("methods") {
            if described.get("requestBody").is_some() {
                found.push((method.to_uppercase(), path.clone()));
            }
        }
    }
    found
}
