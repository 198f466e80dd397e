//! Hostile and broken clients of `matchrank serve`: the right status, bounded memory, other requests unharmed.
#![cfg(unix)]

mod matchrank;
mod service;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use matchrank::{Folder, wait_for};
use serde_json::{Value, json};
use service::{Service, read_reply};

fn shop() -> Folder {
    let folder = matchrank::shop();
    folder.text("train bm25 --data shop --out bm25.model --quiet");
    folder
}

fn search(service: &Service) -> usize {
    let answer = service.post("/v1/search", "{\"query\": \"hat\"}").json();
    answer["hits"].as_array().unwrap().len()
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let folder = shop();
    let service = Service::start(&folder, "--data shop --model bm25.model --host rank.example");
    let body = "{\"query\": \"hat\"}";
    let status = |headers: &str| {
        let length = body.len();
        let request = format!(
            "POST /v1/search HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        service.send(request.as_bytes()).status
    };
    for (headers, expected) in [
        ("Host: localhost\r\n", 200),
        ("Host: rank.example\r\n", 200),
        ("Host: evil.example\r\n", 421),
        ("Host: 10.1.2.3\r\n", 421),
        ("", 400),
        ("Host: localhost\r\nOrigin: http://localhost\r\n", 200),
        ("Host: localhost\r\nOrigin: http://localhost:3000\r\n", 403),
        ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403),
        ("Host: localhost\r\nOrigin: null\r\n", 403),
    ] {
        assert_eq!(status(headers), expected, "{headers}");
    }
    // A page of another site asks first.
    let preflight = service.request(
        "OPTIONS",
        "/v1/search",
        "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n",
        b"",
    );
    assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (403, None));
}

#[test]
fn broken_bodies_have_their_status() {
    let folder = shop();
    let service = Service::start(&folder, "--data shop --model bm25.model");
    let deep =
        format!("{{\"query\": \"hat\", \"filter\": {}1{}}}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    for (body, expected) in [
        (&b""[..], 400),
        (b"{", 400),
        (b"{\"query\": \"\xff\xfe\"}", 400),
        (deep.as_bytes(), 400),
        (b"[]", 422),
        (b"{}", 422),
        (b"{\"query\": 3}", 422),
        (b"{\"query\": \"  \"}", 422),
        (b"{\"query\": \"hat\", \"top\": 0}", 422),
        (b"{\"query\": \"hat\", \"top\": 1000000}", 422),
        (b"{\"query\": \"hat\", \"topp\": 1}", 422),
        (b"{\"query\": \"hat\", \"top\": 1e99}", 422),
        (b"{\"query\": \"hat\", \"model\": \"nobody\"}", 404),
    ] {
        let reply = service.request("POST", "/v1/search", "", body);
        assert_eq!(
            reply.status,
            expected,
            "{} {}",
            String::from_utf8_lossy(&body[..body.len().min(60)]),
            reply.body
        );
    }
    let long = json!({"query": "hat ".repeat(10_000)}).to_string();
    service.post("/v1/search", &long).failure(422);
    assert_eq!(search(&service), 6);
}

#[test]
fn long_bodies_and_lists_are_refused_in_bounded_memory() {
    let folder = shop();
    let service = Service::start(&folder, "--data shop --model bm25.model");
    search(&service);
    let before = service.memory();
    // A gigabyte, announced.
    let head = format!(
        "POST /v2/rerank HTTP/1.1\r\nHost: {}\r\nContent-Length: 1073741824\r\n\r\n",
        service.address
    );
    let mut stream = service.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let refused = read_reply(&mut stream);
    assert_eq!(
        refused.failure(413)["message"].as_str().unwrap().split(';').next(),
        Some("the body is longer than 8388608 bytes")
    );
    // A gigabyte in chunks, not announced.
    let mut stream = service.connect();
    let head = format!(
        "POST /v1/search HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
        service.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = [format!("{:x}\r\n", 1 << 20).as_bytes(), &vec![b' '; 1 << 20], b"\r\n"].concat();
    let sent = (0..1024).take_while(|_| stream.write_all(&chunk).is_ok()).count();
    assert!(sent < 100, "{sent} MiB were read");
    // A million documents in 4 MB.
    for (path, name, message) in [("/v2/rerank", "documents", "message"), ("/rerank", "texts", "error")] {
        let body = format!("{{\"query\": \"hat\", \"{name}\": [{}\"a\"]}}", "\"a\",".repeat(999_999));
        let reply = service.post(path, &body).failure(413);
        assert!(reply[message].as_str().unwrap().contains("has 1000000 items"), "{reply}");
    }
    let grown = service.memory().saturating_sub(before);
    assert!(grown < 200 << 20, "memory grew by {} MiB", grown >> 20);
    assert_eq!(search(&service), 6);
}

#[test]
fn slow_clients_are_cut_off() {
    let folder = shop();
    let service =
        Service::start(&folder, "--data shop --model bm25.model --header-timeout 1 --body-timeout 1");
    let start = Instant::now();
    let mut slow_header = service.connect();
    slow_header.write_all(b"POST /v1/search HTTP/1.1\r\nHost: loc").unwrap();
    let mut idle = service.connect();
    let mut slow_body = service.connect();
    let head = format!(
        "POST /v1/search HTTP/1.1\r\nHost: {}\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{{",
        service.address
    );
    slow_body.write_all(head.as_bytes()).unwrap();
    assert_eq!(search(&service), 6);
    assert_eq!(read_reply(&mut slow_body).failure(408)["error"]["code"], "timeout");
    for stream in [&mut slow_header, &mut idle] {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "slow clients kept their connections for {took:?}");
    // A body that ends early.
    let cut =
        format!("POST /v1/search HTTP/1.1\r\nHost: {}\r\nContent-Length: 100\r\n\r\n{{", service.address);
    let mut stream = service.connect();
    stream.write_all(cut.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(matches!(read_reply(&mut stream).status, 0 | 400));
    assert_eq!(search(&service), 6);
}

#[test]
fn idle_connections_make_room() {
    let folder = shop();
    let service = Service::start(&folder, "--data shop --model bm25.model --max-connections 40");
    let mut idle: Vec<TcpStream> = Vec::new();
    for round in 0..5 {
        idle.extend((0..40).map(|_| service.connect()));
        // Connections that have just opened are kept for a second.
        std::thread::sleep(Duration::from_millis(1100));
        assert_eq!(search(&service), 6, "round {round}");
    }
    let metrics = service.get("/metrics").body;
    let open = metrics.lines().find_map(|line| line.strip_prefix("matchrank_connections_open ")).unwrap();
    assert!(open.parse::<usize>().unwrap() <= 41, "{open}");
}

#[test]
fn a_flood_is_answered_or_refused() {
    let folder = shop();
    let service = Service::start(&folder, "--data shop --model bm25.model --max-queue 1");
    let texts: Vec<String> = (0..5000).map(|i| format!("a hat with the number {i} in the sun")).collect();
    let body = json!({"query": "hat sun", "documents": texts}).to_string();
    let statuses: Vec<(u16, bool)> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..48)
            .map(|_| {
                scope.spawn(|| {
                    let reply = service.post("/v2/rerank", &body);
                    (reply.status, reply.header("retry-after").is_some())
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert!(
        statuses.iter().all(|&(status, retry)| status == 200 && !retry || status == 429 && retry),
        "{statuses:?}"
    );
    assert!(statuses.iter().any(|(status, _)| *status == 200));
    assert_eq!(search(&service), 6);
}

/// Connections of a patient attacker.
const IDLE: usize = 10_000;
/// Open files that the test needs beside them.
const OTHER_FILES: usize = 200;

/// Raises the limit of this process on open files. Prints a message if the system does not allow as many.
fn may_open(files: usize) -> bool {
    let limit = || {
        let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
        let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
        line.split_whitespace().nth(3)?.parse::<usize>().ok()
    };
    let has_enough = || limit().is_some_and(|limit| limit >= files);
    if !has_enough() {
        let process = std::process::id().to_string();
        let _ = Command::new("prlimit")
            .args(["--pid", &process, &format!("--nofile={files}:")])
            .stderr(Stdio::null())
            .status();
    }
    if !has_enough() {
        let _ = writeln!(std::io::stderr(), "skipped: {files} open files are not allowed here");
    }
    has_enough()
}

fn figure(service: &Service, name: &str) -> usize {
    let metrics = service.get("/metrics").body;
    let figure = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    figure.unwrap_or_else(|| panic!("{name}: {metrics}")).parse().unwrap()
}

#[test]
fn ten_thousand_idle_connections_disturb_nobody() {
    if !may_open(IDLE + OTHER_FILES) {
        return;
    }
    let folder = shop();
    for (most, args) in [(4096, ""), (IDLE + 100, "--max-connections 10100 --header-timeout 120")] {
        let service = Service::start(&folder, &format!("--data shop --model bm25.model {args}"));
        search(&service);
        let before = service.memory();
        let idle: Vec<TcpStream> = (0..IDLE).map(|_| service.connect()).collect();
        // Connections that have just opened are kept for a second: a service without room refuses others meanwhile.
        let body = b"{\"query\": \"hat\"}";
        wait_for("a search is answered", || service.request("POST", "/v1/search", "", body).status == 200);
        (0..20).for_each(|_| assert_eq!(search(&service), 6));
        let open = figure(&service, "matchrank_connections_open");
        assert!(open <= most, "{open} connections are open");
        assert!(most < IDLE || open > IDLE, "{open} of {IDLE} connections are open");
        let grown = service.memory().saturating_sub(before);
        assert!(grown < 400 << 20, "memory grew by {} MiB", grown >> 20);
        drop(idle);
        wait_for("the connections are closed", || figure(&service, "matchrank_connections_open") < 10);
    }
}

#[test]
fn nothing_is_written_without_the_write_key() {
    let folder = shop();
    let (read, write) = ("read-key-0123456789", "write-key-0123456789");
    let keys = [("MATCHRANK_READ_KEY", read), ("MATCHRANK_WRITE_KEY", write)];
    let service = Service::start_with(&folder, "--data shop --model bm25.model --state state", &keys);
    let event = "{\"event\": \"click\", \"query\": \"hat\", \"document\": \"d1\"}";
    let put = "{\"put\": [{\"id\": \"x\", \"fields\": {\"title\": \"hat\"}}]}";
    let routes = [
        ("POST", "/v1/events", event),
        ("POST", "/feedback", event),
        ("POST", "/v1/documents", put),
        ("PUT", "/v1/documents/x", "{\"title\": \"hat\"}"),
        ("DELETE", "/v1/documents/d1", ""),
        ("POST", "/v1/models/bm25/activate", ""),
        ("POST", "/v1/models/bm25/rollback", ""),
    ];
    let wrong = [
        String::new(),
        "Authorization: Bearer \r\n".into(),
        "Authorization: Bearer\r\n".into(),
        "Authorization: \r\n".into(),
        "Authorization: Bearer wrong-key-0123456789\r\n".into(),
        format!("Authorization: Bearer {read}\r\n"),
        format!("Authorization: Bearer {write}x\r\n"),
        format!("Authorization: Bearer {}\r\n", &write[..write.len() - 1]),
        format!("Authorization: Basic {write}\r\n"),
        format!("Authorization: {write}\r\n"),
        format!("X-Api-Key: {write}\r\n"),
        format!("Cookie: key={write}\r\n"),
        // The first of several counts.
        format!("Authorization: Bearer {read}\r\nAuthorization: Bearer {write}\r\n"),
    ];
    for (method, path, body) in routes {
        for headers in &wrong {
            let reply = service.request(method, path, headers, body.as_bytes());
            assert_eq!(reply.failure(401)["error"]["code"], "unauthorised", "{method} {path} {headers}");
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        }
        let in_path = format!("{path}?key={write}&access_token={write}");
        service.request(method, &in_path, "", body.as_bytes()).failure(401);
    }
    // Other spellings of the routes lead nowhere, or need the same key.
    let reader = format!("Authorization: Bearer {read}\r\nX-HTTP-Method-Override: POST\r\n");
    for path in [
        "/V1/EVENTS",
        "//v1/events",
        "/v1//events",
        "/v1/events/",
        "/v1/%65vents",
        "/v1/./events",
        "/v1/x/../events",
        "/feedback/",
        "/%66eedback",
        "/feedback;x",
        "/v1/documents/",
        "/v1/search/../documents",
        "/v1/models/bm25/activate/",
        "/v1/models/../models/bm25/activate",
        "/v1/models//bm25/activate",
    ] {
        for method in ["POST", "PUT", "DELETE", "PATCH", "GET", "HEAD"] {
            let status = service.request(method, path, &reader, event.as_bytes()).status;
            assert!([400, 401, 404, 405].contains(&status), "{method} {path}: {status}");
        }
    }
    let reply = |path: &str| service.request("GET", path, &reader, b"");
    assert!(reply("/metrics").body.contains("matchrank_events_total 0\n"));
    assert!(reply("/metrics").body.contains("matchrank_documents 12\n"));
    reply("/v1/documents/x").failure(404);
    // With the key all of them are allowed; there is no version to roll back to before the model was activated.
    let writer = format!("Authorization: Bearer {write}\r\n");
    for (method, path, body) in routes {
        assert_eq!(service.request(method, path, &writer, body.as_bytes()).status, 200, "{method} {path}");
    }
}

/// Every id that a request can name is an id, whatever path it looks like.
#[test]
fn ids_that_look_like_paths_are_ids() {
    let folder = shop();
    let service = Service::start(&folder, "--data shop --model bm25.model --state state");
    let names = folder.names();
    let ids = [
        ("..%2F..%2F..%2Fetc%2Fpasswd", "../../../etc/passwd"),
        ("%2Fetc%2Fpasswd", "/etc/passwd"),
        ("..%5C..%5Cshop", "..\\..\\shop"),
        ("%2e%2e%2fstate%2fstore.redb", "../state/store.redb"),
        ("C:%5Cx", "C:\\x"),
        ("%252e%252e%252f", "%2e%2e%2f"),
        ("file:%2F%2F%2Fetc", "file:///etc"),
        ("a%3Fb%23c", "a?b#c"),
        ("%E2%80%AE%E2%80%8B", "\u{202e}\u{200b}"),
        ("%27%3BDROP%2F%2A%2A%2FTABLE%2F%2A%2A%2Fdocuments%3B--", "';DROP/**/TABLE/**/documents;--"),
        ("%24%7Bjndi:x%7D", "${jndi:x}"),
    ];
    for (path, id) in ids {
        let path = format!("/v1/documents/{path}");
        let body = json!({"title": format!("hat of {id}")}).to_string();
        assert_eq!(service.request("PUT", &path, "", body.as_bytes()).json()["changed"], 1, "{path}");
        assert_eq!(service.get(&path).json()["id"], id);
        let ranked = json!({"query": "hat", "candidates": [id, "d0"]}).to_string();
        assert_eq!(service.post("/v1/rank", &ranked).json()["results"][0]["id"], id);
        service.request("DELETE", &path, "", b"").json();
        service.get(&path).failure(404);
    }
    // Blanks, which runs cannot hold, control characters, and ids that are too long, are refused.
    let long = format!("/v1/documents/{}", "x".repeat(513));
    for path in [
        "/v1/documents/a%20b",
        "/v1/documents/%00",
        "/v1/documents/a%00b",
        "/v1/documents/a%0D%0Ab",
        "/v1/documents/%7F",
        &long,
    ] {
        service.request("PUT", path, "", b"{\"title\": \"hat\"}").failure(422);
    }
    service.request("PUT", "/v1/documents/%C3%28", "", b"{\"title\": \"hat\"}").failure(400);
    for model in ["..", "..%2Fbm25", "%2Fbm25.model", "bm25%00", "shop", "%2e%2e%2fshop"] {
        service.post(&format!("/v1/models/{model}/activate"), "").failure(404);
        service.post(&format!("/rank/{model}"), "{\"items\": [{\"id\": \"d1\"}]}").failure(404);
    }
    assert_eq!(folder.names(), names, "no file was made");
    assert_eq!(search(&service), 6);
}

/// A model file taken apart, as far as poisoning it needs.
struct Poison {
    bytes: Vec<u8>,
}

impl Poison {
    fn of(folder: &Folder, name: &str) -> Self {
        Self { bytes: std::fs::read(folder.path().join(name)).unwrap() }
    }

    fn header(&self) -> Value {
        let end = 8 + u64::from_le_bytes(self.bytes[..8].try_into().unwrap()) as usize;
        serde_json::from_slice(&self.bytes[8..end]).unwrap()
    }

    /// Place of an array in the file.
    fn array(&self, name: &str) -> std::ops::Range<usize> {
        let start = 8 + u64::from_le_bytes(self.bytes[..8].try_into().unwrap()) as usize;
        let offsets = self.header()[name]["data_offsets"].clone();
        let place = |i: usize| start + offsets[i].as_u64().unwrap() as usize;
        place(0)..place(1)
    }

    /// Sets some numbers of an array: the first of every `step`, from the last on.
    fn with_numbers(mut self, name: &str, step: usize, number: f32) -> Self {
        let place = self.array(name);
        for chunk in self.bytes[place].rchunks_exact_mut(4).step_by(step) {
            chunk.copy_from_slice(&number.to_le_bytes());
        }
        self
    }

    fn with_count(mut self, name: &str, count: u64) -> Self {
        let place = self.array(name);
        self.bytes[place].copy_from_slice(&count.to_le_bytes());
        self
    }

    /// Returns the file with the right checksum.
    fn file(mut self) -> Vec<u8> {
        let key = b"\"checksum\":\"";
        let at = self.bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len();
        self.bytes[at..at + 64].fill(b'0');
        let checksum = blake3::hash(&self.bytes).to_hex();
        self.bytes[at..at + 64].copy_from_slice(checksum.as_bytes());
        self.bytes
    }
}

#[test]
fn poisoned_model_files_take_no_traffic() {
    let folder = shop();
    folder.text("train rmls --data shop --set d=4 --out rmls.model --quiet");
    let lists: String =
        (0..20).map(|query| format!("1 qid:{query} 1:0.9 2:0.1\n0 qid:{query} 1:0.2 2:0.5\n")).collect();
    folder.write("lists.txt", lists);
    folder.text("train ranksvm --letor lists.txt --out ranker.model --quiet");
    folder.write("other.csv", "id,title\no1,alpha beta\no2,gamma delta\no3,epsilon\n");
    folder.write("other_log.csv", "query,document,clicks\nalpha,o1,3\ngamma,o2,2\nepsilon,o3,1\n");
    folder.text("ingest --clicks other_log.csv --documents other.csv --out other --quiet");
    for kind in ["bm25", "rmls"] {
        folder.text(&format!("train {kind} --data other --out other-{kind}.model --quiet"));
    }
    let good = std::fs::read(folder.path().join("rmls.model")).unwrap();
    let mut poisons = vec!["ranker.model".to_owned(), "shop".into(), "docs.csv".into(), "-".into()];
    poisons.extend(["bm25", "rmls"].map(|kind| format!("other-{kind}.model")));
    let mut add = |name: String, bytes: &[u8]| {
        folder.write(&name, bytes);
        poisons.push(name);
    };
    for length in [0, 1, 7, 8, 9, good.len() / 2, good.len() - 1] {
        add(format!("cut-{length}.model"), &good[..length]);
    }
    add("longer.model".into(), &[&good[..], b"\0"].concat());
    for at in (0..good.len()).step_by(good.len() / 40) {
        let mut flipped = good.clone();
        flipped[at] ^= 1 << (at % 8);
        add(format!("flip-{at}.model"), &flipped);
    }
    let rmls = || Poison::of(&folder, "rmls.model");
    for (name, number) in [("nan", f32::NAN), ("infinite", f32::INFINITY), ("huge", f32::MAX)] {
        for step in [1, 1_000_000] {
            for array in ["lx.values", "ly.values"] {
                add(format!("{name}-{step}-{array}.model"), &rmls().with_numbers(array, step, number).file());
            }
        }
    }
    for count in [0, 1, u64::MAX, 1 << 40] {
        add(format!("d-{count}.model"), &rmls().with_count("d", count).file());
    }
    // A header of 2^63 bytes, 8 GiB of zeros that are not on disk, and a gigabyte in a small compressed file.
    add("header.model".into(), &[&(1u64 << 63).to_le_bytes()[..], &good[8..]].concat());
    std::fs::File::create(folder.path().join("zeros.model")).unwrap().set_len(8 << 30).unwrap();
    add("bomb.model".into(), &zstd::encode_all(std::io::repeat(0).take(1 << 30), 1).unwrap());
    poisons.push("zeros.model".into());
    let is_there = Command::new("mkfifo").arg(folder.path().join("pipe.model")).status();
    if is_there.is_ok_and(|made| made.success()) {
        poisons.push("pipe.model".into());
    }

    let service = Service::start(&folder, "--data shop --model rmls.model --model bm25.model --state state");
    let answer = |service: &Service| {
        let mut answer = service.post("/v1/search", "{\"query\": \"sneaker\"}").json();
        answer["took_ms"] = Value::Null;
        answer
    };
    let expected = answer(&service);
    let before = service.memory();
    let ending = AtomicBool::new(false);
    let peak = std::thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut peak = 0;
            while !ending.load(Ordering::Relaxed) {
                assert_eq!(answer(&service), expected);
                peak = peak.max(service.memory());
            }
            peak
        });
        let mut wrong = Vec::new();
        for file in &poisons {
            let reply = service.post("/v1/models/rmls/activate", &json!({"file": file}).to_string());
            if reply.status != 422
                || !reply.body.contains("keeps version 1") && !reply.body.contains("no file name")
            {
                wrong.push(format!("{file}: {} {}", reply.status, &reply.body[..reply.body.len().min(300)]));
                service.post("/v1/models/rmls/rollback", "");
            }
        }
        ending.store(true, Ordering::Relaxed);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        client.join().unwrap()
    });
    let models = service.get("/v1/models").json();
    let rmls = models["models"].as_array().unwrap().iter().find(|model| model["name"] == "rmls").unwrap();
    assert_eq!(rmls["current"]["version"], 1, "{rmls}");
    assert_eq!(rmls["history"].as_array().unwrap().len(), 50, "a bounded history");
    let grown = peak.saturating_sub(before);
    assert!(grown < 1 << 30, "memory grew by {} MiB", grown >> 20);
    // A good file is still taken, and a restart keeps it.
    service.post("/v1/models/rmls/activate", "{\"file\": \"rmls.model\"}").json();
}
