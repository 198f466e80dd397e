//! Hostile and broken clients of `matchrank serve`: the right status, bounded memory, other requests unharmed.
#![cfg(unix)]

mod matchrank;
mod service;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use matchrank::Folder;
use serde_json::json;
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
