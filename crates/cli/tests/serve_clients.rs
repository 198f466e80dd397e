//! Clients of other services, unmodified, against a running service: Python packages and curl.
//!
//! `tests/clients/README.md` says how to install the packages. The folder is named by MATCHRANK_CLIENTS.
#![cfg(unix)]

mod matchrank;
mod service;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use matchrank::{Folder, wait_for};
use serde_json::{Value, json};
use service::Service;

const READ_KEY: &str = "read-key-0123456789";
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/clients");
const MODELS: &str = "--data shop --model bm25.model --model rmls.model";

fn shop() -> Folder {
    let folder = matchrank::shop();
    folder.text("train bm25 --data shop --out bm25.model --quiet");
    folder.text("train rmls --data shop --set d=4 --out rmls.model --quiet");
    folder
}

/// Python with the packages of other services.
struct Python {
    packages: PathBuf,
}

impl Python {
    /// Returns Python with the packages that MATCHRANK_CLIENTS names. Prints a message if it names none.
    fn find() -> Option<Self> {
        let packages = std::env::var_os("MATCHRANK_CLIENTS").map(PathBuf::from);
        if packages.is_none() {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: MATCHRANK_CLIENTS names no folder of clients; see tests/clients/README.md"
            );
        }
        packages.map(|packages| Self { packages })
    }

    /// Runs a script of `tests/clients`, which must end well.
    fn run(&self, script: &str, args: &[&str], service: &Service) {
        let url = format!("http://{}", service.address);
        let output = Command::new("python3")
            .arg(Path::new(SCRIPTS).join(script))
            .args(args)
            .env("PYTHONPATH", &self.packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("NO_PROXY", "127.0.0.1")
            .env("CO_API_URL", &url)
            .env("CO_API_KEY", READ_KEY)
            .env("SERVICE_URL", &url)
            .env("SERVICE_KEY", READ_KEY)
            .output()
            .unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{script} {args:?}\n{out}\n{err}");
    }
}

/// A service that needs a key.
fn guarded(folder: &Folder, args: &str) -> Service {
    Service::start_with(folder, &format!("{MODELS} {args}"), &[("MATCHRANK_READ_KEY", READ_KEY)])
}

#[test]
fn the_package_of_cohere_reranks_and_raises_its_errors() {
    let Some(python) = Python::find() else { return };
    let folder = shop();
    let service = guarded(&folder, "");
    python.run("cohere_client.py", &["answers"], &service);
    python.run("cohere_client.py", &["errors"], &service);
}

/// One body that never ends takes the memory for all bodies, so that every other request is refused.
#[test]
fn the_package_of_cohere_knows_a_busy_service() {
    let Some(python) = Python::find() else { return };
    let folder = shop();
    let all: usize = 256 << 20;
    let service = guarded(&folder, &format!("--max-body {all} --body-timeout 600"));
    let key = format!("Authorization: Bearer {READ_KEY}\r\n");
    let status = || service.request("POST", "/v1/search", &key, b"{\"query\": \"hat\"}").status;
    let head = format!(
        "POST /v1/search HTTP/1.1\r\nHost: {}\r\n{key}Content-Length: {all}\r\n\r\n",
        service.address
    );
    let piece = vec![b' '; 1 << 20];
    // A question that comes before the last byte of the body may take its place, and the body is refused.
    let fill = || {
        let mut endless = service.connect();
        endless.write_all(head.as_bytes()).ok()?;
        (0..256).try_for_each(|i| endless.write_all(&piece[usize::from(i == 255)..])).ok()?;
        let asked = (0..50).find(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            status() == 429
        });
        asked.map(|_| endless)
    };
    let mut endless = None;
    wait_for("the memory for bodies is full", || {
        endless = fill();
        endless.is_some()
    });
    python.run("cohere_client.py", &["busy"], &service);
    drop(endless);
    wait_for("the memory for bodies is free", || status() == 200);
    python.run("cohere_client.py", &["answers"], &service);
}

#[test]
fn a_client_of_text_embeddings_inference_reranks() {
    let Some(python) = Python::find() else { return };
    let folder = shop();
    python.run("tei_http_client.py", &[], &guarded(&folder, ""));
}

/// Sends a body with curl, whose content type for `-d` is that of a form. Returns the status and the answer.
fn curl(service: &Service, path: &str, body: &str) -> (u16, Value) {
    let url = format!("http://{}{path}", service.address);
    let output = Command::new("curl")
        .args(["-sS", "--noproxy", "*", "-w", "\n%{http_code}", "-X", "POST", &url, "-d", body])
        .output()
        .unwrap();
    let (text, error) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    let (answer, status) = text.rsplit_once('\n').unwrap_or_else(|| panic!("{error}"));
    (status.parse().unwrap(), serde_json::from_str(answer).unwrap_or_else(|e| panic!("{e}: {answer}")))
}

/// The requests of Metarank's quickstart and of its page on the API, with ids of the shop where they are ranked.
#[test]
fn curl_lines_of_metarank_are_answered() {
    if Command::new("curl").arg("--version").output().is_err() {
        let _ = writeln!(std::io::stderr(), "skipped: there is no curl");
        return;
    }
    let folder = shop();
    let service = Service::start(&folder, &format!("{MODELS} --alias xgboost=bm25 --state state"));
    let taken = |body: &str| {
        let (status, answer) = curl(&service, "/feedback", body);
        assert_eq!((status, &answer["status"]), (200, &json!("ok")), "{answer}");
        assert!(answer["tookMillis"].is_u64(), "{answer}");
        (answer["accepted"].as_u64().unwrap(), answer["updated"].as_u64().unwrap())
    };
    let order = |path: &str, body: &str| -> (Vec<String>, Value) {
        let (status, answer) = curl(&service, path, body);
        assert!(status == 200 && answer["took"].is_u64(), "{answer}");
        let items = answer["items"].as_array().unwrap();
        assert!(items.iter().all(|item| item["score"].is_number()), "{answer}");
        (items.iter().map(|item| item["item"].as_str().unwrap().to_owned()).collect(), answer)
    };

    let rank = r#"{
  "id": "81f46c34-a4bb-469c-8708-f8127cd67d27",
  "timestamp": "1599391467000",
  "user": "user1",
  "session": "session1",
  "fields": [
    {"name": "query", "value": "hat"},
    {"name": "source", "value": "search"}
  ],
  "items": [
    {"id": "d2", "fields": [{"name": "relevancy", "value": 2.0}]},
    {"id": "d1", "fields": [{"name": "relevancy", "value": 1.0}]},
    {"id": "3114", "fields": [{"name": "relevancy", "value": 0.1}]}
  ]
}"#;
    assert_eq!(order("/rank/xgboost", rank).0, ["d1", "d2", "3114"]);
    let (explained, answer) = order("/rank/xgboost?explain=true", rank);
    assert_eq!((explained[0].as_str(), &answer["items"][0]["features"][0]["name"]), ("d1", &json!("hat")));

    let item = r#"{
  "id": "b4951b85-a87f-4fdc-b2af-9ff06783def4",
  "item": "3114",
  "timestamp": "1636907100000",
  "fields": [
    {"name": "title", "value": "Hat Story 2: the hat"},
    {"name": "popularity", "value": 112.767},
    {"name": "vote_avg", "value": 7.6},
    {"name": "budget", "value": 9.0E+7},
    {"name": "release_date", "value": 9.412416E+8},
    {"name": "genres", "value": ["animation", "comedy", "family"]},
    {"name": "director", "value": "john lasseter"}
  ],
  "event": "item"
}"#;
    assert_eq!(taken(item), (1, 1));
    // The title of the item ranks it from now on.
    assert_eq!(order("/rank/xgboost", rank).0, ["3114", "d1", "d2"]);
    let stored = service.get("/v1/documents/3114").json();
    assert_eq!(stored["fields"]["genres"], json!(["animation", "comedy", "family"]), "{stored}");

    let ranking = r#"{
    "event": "ranking",
    "id": "id1",
    "items": [
        {"id":"72998"}, {"id":"589"}, {"id":"134130"}, {"id":"5459"}, 
        {"id":"1917"}, {"id":"2571"}, {"id":"1527"}, {"id":"97752"}, 
        {"id":"1270"}, {"id":"1580"}, {"id":"109487"}, {"id":"79132"}
    ],
    "user": "alice",
    "session": "alice1",
    "timestamp": 1661431894711
}"#;
    let click = r#"{
    "event": "interaction",
    "type": "click",
    "id": "id2",
    "ranking": "id1",
    "item": "1580",
    "user": "alice",
    "session": "alice1",
    "timestamp": 1661431896711
}"#;
    assert_eq!(taken(ranking), (1, 0));
    assert_eq!(taken(click), (1, 0));
    // A retry of all of them, as a list.
    assert_eq!(taken(&format!("[{item}, {ranking}, {click}]")), (3, 0));
    let metrics = service.get("/metrics").body;
    assert!(metrics.contains("matchrank_events_total 3\n"), "{metrics}");
    assert!(metrics.contains("matchrank_duplicate_events_total 3\n"), "{metrics}");

    // A model that is not served, a request without the query, and a body that is no JSON.
    assert_eq!(curl(&service, "/rank/nobody", rank).0, 404);
    let (status, answer) = curl(&service, "/rank/xgboost", ranking);
    assert!(status == 422 && answer["error"]["message"].as_str().unwrap().contains("`query`"), "{answer}");
    assert_eq!(curl(&service, "/rank/xgboost", "query=hat&item=d1").0, 400);
}
