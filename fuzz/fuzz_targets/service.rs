//! Arbitrary bytes as the body of a request to a running service: never a panic, never a status of 5xx, and an answer in
//! JSON. The first byte chooses the route, the rest of the first line is the id or name in its path, and what follows is the
//! body.
#![no_main]

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use matchrank_fuzz::service::{Service, documented};
use serde_json::Value;

/// Errors of a route, as their clients read them.
#[derive(Clone, Copy)]
enum ErrorFormat {
    Own,
    Cohere,
    Tei,
}
use ErrorFormat::{Cohere, Own, Tei};

/// Routes by letter: method, path, and whether they change something.
const ROUTES: [(u8, &str, &str, ErrorFormat, bool); 17] = [
    (b's', "POST", "/v1/search", Own, false),
    (b'r', "POST", "/v1/rank", Own, false),
    (b'e', "POST", "/v1/explain", Own, false),
    (b'c', "POST", "/v1/compare", Own, false),
    (b'1', "POST", "/v1/rerank", Cohere, false),
    (b'2', "POST", "/v2/rerank", Cohere, false),
    (b't', "POST", "/rerank", Tei, false),
    (b'm', "POST", "/rank/{model}", Own, false),
    (b'M', "POST", "/rank/{model}?explain=true", Own, false),
    (b'f', "POST", "/feedback", Own, true),
    (b'v', "POST", "/v1/events", Own, true),
    (b'b', "POST", "/v1/documents", Own, true),
    (b'p', "PUT", "/v1/documents/{id}", Own, true),
    (b'd', "DELETE", "/v1/documents/{id}", Own, true),
    (b'g', "GET", "/v1/documents/{id}", Own, false),
    (b'a', "POST", "/v1/models/{name}/activate", Own, true),
    (b'u', "POST", "/v1/models/{name}/rollback", Own, true),
];

thread_local! {
    static SERVICE: RefCell<Option<Service>> = const { RefCell::new(None) };
}

fuzz_target!(|bytes: &[u8]| {
    let Some((letter, rest)) = bytes.split_first() else { return };
    let Some((_, method, path, format, changes)) = ROUTES.iter().find(|route| route.0 == *letter) else {
        return;
    };
    let (name, body) = match rest.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&rest[..end], &rest[end + 1..]),
        None => (rest, &[][..]),
    };
    let path = in_path(path, name);
    SERVICE.with_borrow_mut(|service| {
        let service = service.get_or_insert_with(begin);
        let answer = service.send(method, &path, body);
        assert!(answer.status == 200 || (400..500).contains(&answer.status), "status {}", answer.status);
        assert!(answer.is_json, "the answer says that it is no JSON");
        let value: Value = serde_json::from_slice(&answer.body).expect("JSON");
        if answer.status != 200 {
            let message = match format {
                Own => &value["error"]["message"],
                Cohere => &value["message"],
                Tei => &value["error"],
            };
            assert!(message.as_str().is_some_and(|message| !message.is_empty()), "{value}");
        } else if *changes {
            service.changed(method, &path, body);
        }
    });
});

/// Starts the service, and checks that there is a letter for every body.
fn begin() -> Service {
    let mut service = Service::start();
    for (method, path) in documented(&mut service) {
        assert!(
            ROUTES.iter().any(|route| route.1 == method && route.2 == path),
            "{method} {path} has no letter"
        );
    }
    service
}

/// The path with the bytes of a name, all of them escaped.
fn in_path(path: &str, name: &[u8]) -> String {
    let Some((before, rest)) = path.split_once('{') else { return path.to_owned() };
    let after = rest.split_once('}').map_or("", |(_, after)| after);
    let escaped: String = name.iter().map(|byte| format!("%{byte:02x}")).collect();
    format!("{before}{escaped}{after}")
}
