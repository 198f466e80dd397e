//! `matchrank serve`: own routes, models, keys, the page, starting and ending.
#![cfg(unix)]

mod matchrank;
mod service;

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use matchrank::{Folder, wait_for};
use serde_json::{Value, json};
use service::{Reply, Service, read_reply};

/// A small shop with models.
fn shop() -> Folder {
    let folder = matchrank::shop();
    folder.text("train bm25 --data shop --out bm25.model --quiet");
    folder.text("train rmls --data shop --set d=4 --out rmls.model --quiet");
    folder
}

const MODELS: &str = "--data shop --model rmls.model --model words=bm25.model --alias rerank-v3.5=words";

fn ids(hits: &Value) -> Vec<&str> {
    hits.as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect()
}

#[test]
fn search_gives_what_the_command_gives() {
    let folder = shop();
    let service = Service::start(&folder, MODELS);
    for (model, file) in [("rmls", "rmls.model"), ("words", "bm25.model")] {
        for query in ["sneaker", "hat sun", "lid"] {
            let of_command =
                folder.json(&format!("search --model {file} --data shop --format json --top 5 {query}"));
            let answer = service
                .post("/v1/search", &json!({"query": query, "model": model, "top": 5}).to_string())
                .json();
            let expected = of_command["results"].as_array().unwrap();
            let hits = answer["hits"].as_array().unwrap();
            assert_eq!(hits.len(), expected.len(), "{model} {query}");
            for (hit, expected) in hits.iter().zip(expected) {
                assert_eq!(hit["id"], expected["document"], "{model} {query}");
                assert_eq!(hit["score"], expected["score"], "{model} {query}");
                assert_eq!(hit["fields"]["title"], expected["texts"]["title"]);
            }
        }
    }
    let answer = service.post("/v1/search", "{\"query\": \"sneaker\", \"explain\": true}").json();
    assert_eq!(answer["model"], json!({"name": "rmls", "version": 1}));
    let explained =
        folder.json("explain --model rmls.model --data shop --query sneaker --document d0 --format json");
    let hit = answer["hits"].as_array().unwrap().iter().find(|hit| hit["id"] == "d0").unwrap();
    assert_eq!(hit["explanation"]["score"], explained["score"]);
}

#[test]
fn filters_apply_before_the_best_are_chosen() {
    let folder = shop();
    let service = Service::start(&folder, MODELS);
    let all =
        service.post("/v1/search", "{\"query\": \"hat sun\", \"model\": \"words\", \"top\": 10}").json();
    let wanted = &all["hits"].as_array().unwrap().last().unwrap()["fields"]["title"];
    let body = json!({"query": "hat sun", "model": "words", "top": 1, "filter": {"title": wanted}});
    let answer = service.post("/v1/search", &body.to_string()).json();
    assert_eq!(answer["hits"][0]["fields"]["title"], *wanted);
    let unknown = json!({"query": "hat", "filter": {"brand": "acme"}});
    let failure = service.post("/v1/search", &unknown.to_string()).failure(422);
    assert!(failure["error"]["message"].as_str().unwrap().contains("brand"), "{failure}");
}

#[test]
fn fast_models_propose_what_the_model_ranks() {
    let folder = shop();
    folder.text("train clicks --data shop --out clicks.model --quiet");
    folder.text("train combination --data shop --of rmls.model bm25.model --out both.model --quiet");
    let args = "--data shop --model both.model --model words=bm25.model --model clicks.model --first-stage words,clicks";
    let service = Service::start(&folder, args);
    let search = |body: Value| service.post("/v1/search", &body.to_string()).json();
    let found = search(json!({"query": "sneaker", "top": 20, "explain": true}));
    let proposers = ["words", "clicks"].map(|model| {
        let found = search(json!({"query": "sneaker", "model": model, "top": 200}));
        assert!(found.get("proposed").is_none(), "models of the first stage search alone: {found}");
        ids(&found["hits"]).into_iter().map(str::to_owned).collect::<Vec<_>>()
    });
    let mut proposed = proposers.concat();
    proposed.sort();
    proposed.dedup();
    assert_eq!(found["proposed"], proposed.len());
    assert!((1..12).contains(&proposed.len()), "{proposed:?}");
    // The same scores as for a list of these candidates, and reasons that add up to them.
    let body = json!({"query": "sneaker", "candidates": proposed, "explain": true});
    let ranked = service.post("/v1/rank", &body.to_string()).json();
    assert_eq!(ids(&found["hits"]), ids(&ranked["results"]));
    for (hit, result) in found["hits"].as_array().unwrap().iter().zip(ranked["results"].as_array().unwrap()) {
        assert_eq!(hit["score"], result["score"]);
        for explained in [hit, result] {
            let difference =
                explained["explanation"]["score"].as_f64().unwrap() - hit["score"].as_f64().unwrap();
            assert!(difference.abs() < 1e-5, "{explained}");
        }
        let body = json!({"query": "sneaker", "document": hit["id"]});
        let why = service.post("/v1/explain", &body.to_string()).json();
        assert_eq!(why["explanation"]["score"], hit["explanation"]["score"]);
    }
    // No word of the documents is in the query, so words alone propose nothing.
    let none = search(json!({"query": "sneaker", "first_stage": ["words"]}));
    assert_eq!((&none["hits"], &none["proposed"]), (&json!([]), &json!(0)));
    let few = search(json!({"query": "hat sneaker", "depth": 2, "top": 20}));
    assert!((2..=4).contains(&few["hits"].as_array().unwrap().len()), "{few}");
    let all = search(json!({"query": "sneaker", "first_stage": [], "top": 20}));
    assert_eq!((all["hits"].as_array().unwrap().len(), all.get("proposed")), (12, None));
    let last = found["hits"].as_array().unwrap().last().unwrap();
    let body = json!({"query": "sneaker", "filter": {"title": last["fields"]["title"]}});
    assert_eq!(ids(&search(body)["hits"]), [last["id"].as_str().unwrap()]);
    for (body, status) in [
        (json!({"query": "hat", "depth": 0}), 422),
        (json!({"query": "hat", "depth": 1_000_000}), 422),
        (json!({"query": "hat", "first_stage": ["nobody"]}), 404),
    ] {
        service.post("/v1/search", &body.to_string()).failure(status);
    }
    for (options, part) in [("--first-stage nobody", "nobody"), ("--depth 0", "`depth` is 0")] {
        let refused = folder.refused(&format!("serve {MODELS} {options} --listen 127.0.0.1:0"));
        assert!(refused.contains(part) || refused.contains("--depth is 0"), "{refused}");
    }
}

#[test]
fn candidates_are_ranked_and_explained() {
    let folder = shop();
    let service = Service::start(&folder, MODELS);
    let body = json!({
        "query": "sneaker", "explain": true,
        "candidates": ["d1", "d0", {"id": "new", "text": "trainers for running"}, {"fields": {"title": "hat"}}]
    });
    let answer = service.post("/v1/rank", &body.to_string()).json();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results[0]["id"], "d0", "{answer}");
    assert_eq!(results[1]["id"], "new", "the words of a new document rank it: {answer}");
    assert_eq!(results.len(), 4);
    assert!(results[0]["explanation"]["score"].is_number());

    let why = json!({"query": "sneaker", "document": "d0", "against": "d1"});
    let answer = service.post("/v1/explain", &why.to_string()).json();
    let sum: f64 =
        answer["parts"].as_array().unwrap().iter().map(|part| part["adds"].as_f64().unwrap()).sum();
    assert!((sum - answer["explanation"]["score"].as_f64().unwrap()).abs() < 1e-4, "{answer}");
    let difference: f64 = answer["against"]["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["difference"].as_f64().unwrap())
        .sum();
    let other = answer["against"]["explanation"]["score"].as_f64().unwrap();
    assert!((sum - other - difference).abs() < 1e-4, "{answer}");
    service.post("/v1/explain", "{\"query\": \"sneaker\", \"document\": \"nobody\"}").failure(404);
    // Among candidates, the explanation is that of the ranking.
    let among = json!({"query": "sneaker", "document": "d1", "against": {"text": "trainers"}, "candidates": ["d1", {"text": "trainers"}]});
    let answer = service.post("/v1/explain", &among.to_string()).json();
    let ranked = json!({"query": "sneaker", "candidates": ["d1", {"text": "trainers"}]});
    for result in service.post("/v1/rank", &ranked.to_string()).json()["results"].as_array().unwrap() {
        let why = if result["index"] == 0 { &answer } else { &answer["against"] };
        assert_eq!(why["explanation"]["score"], result["score"], "{answer}");
    }
    let both = json!({"query": "sneaker", "document": "d1", "depth": 3, "candidates": ["d1"]});
    service.post("/v1/explain", &both.to_string()).failure(422);

    let compared = json!({"query": "trainers", "models": ["words", "rmls"], "top": 3});
    let answer = service.post("/v1/compare", &compared.to_string()).json();
    for (own, model) in answer["models"].as_array().unwrap().iter().enumerate() {
        for (rank, hit) in (1..).zip(model["hits"].as_array().unwrap()) {
            assert_eq!(hit["ranks"][own], rank, "{answer}");
        }
    }
    service.post("/v1/compare", "{\"query\": \"x\", \"models\": [\"words\"]}").failure(422);
}

#[test]
fn rankers_rank_feature_lists() {
    let folder = shop();
    let lists: String =
        (0..20).map(|query| format!("1 qid:{query} 1:0.9 2:0.1\n0 qid:{query} 1:0.2 2:0.5\n")).collect();
    folder.write("lists.txt", lists);
    folder.text("train ranksvm --letor lists.txt --out ranker.model --quiet");
    let service = Service::start(&folder, "--data shop --model bm25.model --model ranker.model");
    let body = json!({"model": "ranker", "candidates": [{"features": [0.1, 0.6]}, {"features": {"1": 0.8, "2": 0.2}}]});
    let answer = service.post("/v1/rank", &body.to_string()).json();
    assert_eq!(answer["results"][0]["index"], 1, "{answer}");
    let items = json!({"items": [
        {"id": "a", "fields": [{"name": "1", "value": 0.1}]}, {"id": "b", "fields": [{"name": "1", "value": 0.9}]}
    ]});
    assert_eq!(service.post("/rank/ranker", &items.to_string()).json()["items"][0]["item"], "b");
    let without = service.post("/v1/rank", "{\"model\": \"ranker\", \"candidates\": [\"d1\"]}").failure(422);
    assert!(without["error"]["message"].as_str().unwrap().contains("`features`"), "{without}");
    service.post("/v1/search", "{\"model\": \"ranker\", \"query\": \"x\"}").failure(422);

    // Features add to the mean score of the candidates, in a ranking and for one of its documents.
    let list = json!([{"id": "a", "features": [0.1, 0.6]}, {"id": "b", "features": [0.8, 0.2]}, {"features": [0.3, 0.3]}]);
    let ranked = json!({"model": "ranker", "explain": true, "candidates": list});
    let ranked = service.post("/v1/rank", &ranked.to_string()).json();
    let best = &ranked["results"][0];
    let adds = best["features"]["features"].as_array().unwrap().iter().map(|of| of["adds"].as_f64().unwrap());
    let sum = best["features"]["base"].as_f64().unwrap() + adds.sum::<f64>();
    assert!((sum - best["score"].as_f64().unwrap()).abs() < 1e-5, "{best}");
    let why =
        json!({"model": "ranker", "document": "b", "against": {"features": [0.3, 0.3]}, "candidates": list});
    let answer = service.post("/v1/explain", &why.to_string()).json();
    assert_eq!((&best["id"], &best["features"]), (&json!("b"), &answer["features"]));
    assert!(answer["against"]["differences"][0]["difference"].as_f64().unwrap() > 0.0, "{answer}");
    let without = json!({"model": "ranker", "document": {"features": [0.3, 0.3]}});
    let without = service.post("/v1/explain", &without.to_string()).failure(422);
    assert!(without["error"]["message"].as_str().unwrap().contains("`candidates` is missing"), "{without}");
}

#[test]
fn models_are_activated_and_rolled_back_without_a_failed_request() {
    let folder = shop();
    folder.text("train rmls --data shop --set d=2 --out rmls-2.model --quiet");
    let poisoned = std::fs::read(folder.path().join("rmls.model")).unwrap();
    let half = poisoned.len() / 2;
    folder.write("half.model", &poisoned[..half]);
    let mut changed = poisoned;
    changed[half] ^= 1;
    folder.write("changed.model", changed);
    let service = Service::start(&folder, MODELS);
    let ending = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut versions = std::collections::BTreeSet::new();
                    while !ending.load(Ordering::Relaxed) {
                        let answer = service.post("/v1/search", "{\"query\": \"sneaker\"}").json();
                        assert!(!answer["hits"].as_array().unwrap().is_empty());
                        versions.insert(answer["model"]["version"].as_u64().unwrap());
                    }
                    versions
                })
            })
            .collect();
        let body = json!({"file": "rmls-2.model", "reason": "smaller"}).to_string();
        let state = service.post("/v1/models/rmls/activate", &body).json();
        assert_eq!((&state["current"]["version"], &state["previous"]["version"]), (&json!(2), &json!(1)));
        for (file, expected) in [
            ("half.model", "half.model"),
            ("changed.model", "changed.model"),
            ("missing.model", "there is no such file"),
            ("../shop/manifest.json", "no file name"),
            ("/etc/passwd", "no file name"),
            ("docs.csv", "docs.csv"),
        ] {
            let failure =
                service.post("/v1/models/rmls/activate", &json!({"file": file}).to_string()).failure(422);
            assert!(failure["error"]["message"].as_str().unwrap().contains(expected), "{failure}");
        }
        let state = service.post("/v1/models/rmls/rollback", "").json();
        assert_eq!(
            (&state["current"]["version"], &state["current"]["file"]),
            (&json!(1), &json!("rmls.model"))
        );
        let actions: Vec<&str> = state["history"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["action"].as_str().unwrap())
            .collect();
        assert_eq!(actions[..3], ["start", "activate", "refused"]);
        assert_eq!(actions.last(), Some(&"rollback"));
        ending.store(true, Ordering::Relaxed);
        let seen = clients.into_iter().flat_map(|client| client.join().unwrap());
        assert!(seen.collect::<std::collections::BTreeSet<_>>().is_subset(&[1, 2].into()));
    });
    service.post("/v1/models/words/rollback", "").failure(409);
    service.post("/v1/models/nothing/activate", "").failure(404);
}

#[test]
fn keys_open_what_they_should() {
    let folder = shop();
    folder.write("read.key", "read-key-0123456789\n");
    folder.write("short.key", "short\n");
    let write = "write-key-0123456789";
    let args = format!("{MODELS} --read-key-file read.key");
    let service = Service::start_with(&folder, &args, &[("MATCHRANK_WRITE_KEY", write)]);
    let status = |method: &str, path: &str, key: &str, body: &str| {
        let header = if key.is_empty() { String::new() } else { format!("Authorization: Bearer {key}\r\n") };
        service.request(method, path, &header, body.as_bytes()).status
    };
    let query = "{\"query\": \"hat\"}";
    for (key, search, activate) in [
        ("", 401, 401),
        ("wrong-key-0123456789", 401, 401),
        ("read-key-012345678", 401, 401),
        ("read-key-0123456789", 200, 401),
        (write, 200, 200),
    ] {
        assert_eq!(status("POST", "/v1/search", key, query), search, "{key}");
        assert_eq!(status("POST", "/v1/models/rmls/activate", key, ""), activate, "{key}");
        assert_eq!(status("GET", "/metrics", key, ""), search, "{key}");
        assert_eq!(status("GET", "/no-such-route", key, ""), if search == 200 { 404 } else { 401 }, "{key}");
    }
    for open in ["/", "/docs", "/openapi.json", "/healthz", "/readyz", "/health", "/assets/page.js"] {
        assert_eq!(service.get(open).status, 200, "{open}");
    }
    let refused = folder.refused("serve --data shop --model bm25.model --read-key-file short.key");
    assert!(refused.contains("16 or more printable"), "{refused}");
    let refused = folder.refused("serve --data shop --model bm25.model --listen 0.0.0.0:0");
    assert!(refused.contains("there is no read key"), "{refused}");
}

#[test]
fn open_requests_end_before_the_service_does() {
    let folder = shop();
    let mut service = Service::start(&folder, MODELS);
    let body = "{\"query\": \"sneaker\"}";
    let mut stream = service.connect();
    let head = format!(
        "POST /v1/search HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{}",
        service.address,
        body.len(),
        &body[..5]
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The service has read the header once a later connection was answered.
    service.get("/healthz").json();
    service.signal("TERM");
    std::thread::sleep(std::time::Duration::from_millis(300));
    stream.write_all(&body.as_bytes()[5..]).unwrap();
    let reply = read_reply(&mut stream);
    assert!(!reply.json()["hits"].as_array().unwrap().is_empty());
    assert_eq!(service.wait(), Some(0));
}

#[test]
fn settings_come_from_a_file_and_options_win() {
    let folder = shop();
    let config = "data = 'shop'\nmodel = ['words=bm25.model']\nmax-body = 200\nalias = ['w=words']\n";
    folder.write("serve.toml", config);
    let service = Service::start(&folder, "--config serve.toml");
    let long = json!({"query": "x ".repeat(200)}).to_string();
    service.post("/v1/search", &long).failure(413);
    service.post("/v1/search", "{\"query\": \"hat\", \"model\": \"w\"}").json();
    drop(service);
    let service = Service::start(&folder, "--config serve.toml --max-body 2000");
    service.post("/v1/search", &long).json();
    drop(service);
    folder.write("wrong.toml", format!("{config}max_queue = 3\n"));
    assert!(folder.refused("serve --config wrong.toml").contains("max_queue"));
    assert!(
        folder.refused("serve --data shop").contains("option `model` is missing")
            || folder.refused("serve --data shop").contains("--model")
    );
    let twice = folder.refused("serve --data shop --model a=bm25.model --model a=rmls.model");
    assert!(twice.contains("two models have the name a"), "{twice}");
    let alias = folder.refused("serve --data shop --model bm25.model --alias x=y");
    assert!(alias.contains("the alias x stands for the model y"), "{alias}");
}

#[test]
fn the_interface_is_described() {
    let folder = shop();
    let service = Service::start(&folder, MODELS);
    let api = service.get("/openapi.json").json();
    assert!(api["openapi"].as_str().unwrap().starts_with("3."));
    let paths = api["paths"].as_object().unwrap();
    for path in [
        "/v1/search",
        "/v2/rerank",
        "/rerank",
        "/rank/{model}",
        "/feedback",
        "/v1/documents/{id}",
        "/metrics",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    // Every reference leads to a type that is described.
    let text = api.to_string();
    for reference in text.split("#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(api["components"]["schemas"][reference].is_object(), "{reference}");
    }
    let page = service.get("/docs").body;
    assert!(paths.keys().all(|path| page.contains(path.as_str())));
    for page in ["/", "/docs", "/assets/page.js", "/assets/page.css"] {
        let reply = service.get(page);
        assert!(
            !reply.body.contains("http://") || reply.body.contains("http://www.w3.org/2000/svg"),
            "{page}"
        );
        assert!(!reply.body.contains("https://"), "{page} names another host");
        assert!(reply.header("content-security-policy").unwrap().contains("default-src 'none'"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    }
    let searched = service.post("/v1/search", "{\"query\": \"hat\"}");
    assert_eq!(searched.header("access-control-allow-origin"), None);
    assert_eq!(searched.header("cache-control"), Some("no-store"));
    assert!(searched.header("x-request-id").is_some());
    let metrics = service.get("/metrics").body;
    assert!(metrics.contains("matchrank_requests_total{route=\"/v1/search\",status=\"2xx\"} 1"), "{metrics}");
    assert!(metrics.contains("matchrank_documents 12"), "{metrics}");
    assert!(metrics.contains("matchrank_model_version{model=\"words\",kind=\"bm25\"} 1"), "{metrics}");
    service.request("DELETE", "/v1/search", "", b"").failure(405);
    assert_eq!(service.get("/nothing").failure(404)["error"]["code"], "not_found");
}

#[test]
fn a_certificate_makes_it_tls() {
    let folder = shop();
    let made = std::process::Command::new("openssl")
        .args(
            "req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 -keyout key.pem -out cert.pem"
                .split(' '),
        )
        .current_dir(folder.path())
        .output();
    let curl = std::process::Command::new("curl").arg("--version").output();
    if made.is_err() || curl.is_err() {
        return;
    }
    let service = Service::start(&folder, &format!("{MODELS} --tls-certificate cert.pem --tls-key key.pem"));
    let answer = std::process::Command::new("curl")
        .args(["-sk", "-d", "{\"query\": \"sneaker\"}", &format!("https://{}/v1/search", service.address)])
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert!(!answer["hits"].as_array().unwrap().is_empty());
    assert_eq!(service.get("/healthz").status, 0, "plain HTTP is not answered");
    let refused =
        folder.refused("serve --data shop --model bm25.model --tls-certificate docs.csv --tls-key key.pem");
    assert!(refused.contains("docs.csv"), "{refused}");
}

#[test]
fn ids_are_no_paths() {
    let folder = shop();
    let service = Service::start(&folder, MODELS);
    assert_eq!(service.get("/v1/documents/d3").json()["fields"]["title"], "hat for the sun model1");
    for id in ["..%2F..%2Fetc%2Fpasswd", "%00", "d3%2F", "..", "%2e%2e", "d3/x", "nobody"] {
        let reply = service.get(&format!("/v1/documents/{id}"));
        assert_eq!(reply.status, 404, "{id}: {}", reply.body);
    }
    assert_eq!(service.get("/v1/documents/%ff").status, 400);
    assert_eq!(
        ids(&service.post("/v1/search", "{\"query\": \"sneaker\", \"top\": 1}").json()["hits"]).len(),
        1
    );
    // Without a state folder nothing can be changed.
    let failure = service.request("PUT", "/v1/documents/d3", "", b"{\"title\": \"x\"}").failure(409);
    assert!(failure["error"]["message"].as_str().unwrap().contains("only reads"), "{failure}");
}

#[test]
fn documents_change_while_they_are_served_and_survive_a_kill() {
    let folder = shop();
    let mut service = Service::start(&folder, &format!("{MODELS} --state state"));
    let found = |service: &Service, query: &str| {
        let answer =
            service.post("/v1/search", &json!({"query": query, "model": "words"}).to_string()).json();
        ids(&answer["hits"]).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found(&service, "model0"), ["d0", "d1"]);
    let put = service
        .request("PUT", "/v1/documents/u1", "", b"{\"title\": \"model0 model0\", \"colour\": \"red\"}")
        .json();
    assert_eq!(put, json!({"changed": 1, "documents": 13}));
    assert_eq!(found(&service, "model0"), ["u1", "d0", "d1"]);
    let bulk = json!({
        "put": [{"id": "u2", "fields": {"title": "model1", "colour": "blue"}}, {"id": "d1", "fields": {"title": "model2"}}],
        "delete": ["d3"]
    });
    assert_eq!(service.post("/v1/documents", &bulk.to_string()).json()["documents"], 13);
    service.request("DELETE", "/v1/documents/nobody", "", b"").failure(404);
    let filtered =
        json!({"query": "model0 model1", "model": "words", "filter": {"colour": ["blue", "green"]}});
    assert_eq!(ids(&service.post("/v1/search", &filtered.to_string()).json()["hits"]), ["u2"]);
    // Metarank's metadata of an item set some fields and keep the others.
    let item = json!({"event": "item", "id": "e1", "timestamp": "1599391467000", "item": "u1", "fields": [{"name": "title", "value": "model3 model3"}]});
    assert_eq!(service.post("/feedback", &item.to_string()).json()["updated"], 1);
    assert_eq!(
        service.get("/v1/documents/u1").json()["fields"],
        json!({"title": "model3 model3", "colour": "red"})
    );
    for wrong in [
        "{\"put\": [{\"id\": \"\", \"fields\": {}}]}",
        "{}",
        "{\"put\": [{\"id\": \"a\\u0000b\", \"fields\": {}}]}",
    ] {
        service.post("/v1/documents", wrong).failure(422);
    }
    let expected = |service: &Service| {
        assert_eq!(found(service, "model0"), ["d0"]);
        assert_eq!(found(service, "model1"), ["u2", "d2"]);
        assert_eq!(found(service, "model2"), ["d1", "d4", "d5"]);
        assert_eq!(found(service, "model3")[0], "u1");
        service.get("/v1/documents/d3").failure(404);
    };
    expected(&service);
    service.signal("KILL");
    service.wait();
    expected(&Service::start(&folder, &format!("{MODELS} --state state")));
}

#[test]
fn events_are_counted_once_in_every_form() {
    let folder = shop();
    let service = Service::start(&folder, &format!("{MODELS} --state state"));
    let own = "{\"id\": \"e1\", \"event\": \"search\", \"search\": \"s1\", \"query\": \"red hat\", \"shown\": [\"d1\", \"d3\"]}\n\
               {\"id\": \"e2\", \"event\": \"click\", \"search\": \"s1\", \"document\": \"d3\", \"position\": 2}\n";
    let counts = |accepted: u32, duplicates: u32| json!({"accepted": accepted, "duplicates": duplicates, "documents": 0});
    assert_eq!(service.post("/v1/events", own).json(), counts(2, 0));
    assert_eq!(service.post("/v1/events", own).json(), counts(0, 2));
    let behaviour = json!([
        {"user_query": "lid", "query_id": "q1", "timestamp": "2026-05-01T10:00:00Z"},
        {"action_name": "click", "timestamp": "2026-05-01T10:00:03Z", "query_id": "q1", "event_attributes": {
            "object": {"object_id": "d1"}, "position": {"ordinal": 1}}}
    ]);
    assert_eq!(service.post("/v1/events", &behaviour.to_string()).json()["accepted"], 2);
    let feedback = json!({
        "event": "ranking", "id": "id1", "user": "alice", "session": "alice1", "timestamp": 1661431894711u64,
        "items": [{"id": "d1"}, {"id": "d2"}]
    });
    let answer = service.post("/feedback", &feedback.to_string()).json();
    assert_eq!(
        (&answer["status"], &answer["accepted"], &answer["updated"]),
        (&json!("ok"), &json!(1), &json!(0))
    );
    let failure = service.post("/v1/events", "{\"event\": \"click\"}").failure(422);
    assert!(failure["error"]["message"].as_str().unwrap().contains("line 1"), "{failure}");
    service.post("/v1/events", "").failure(422);
    let metrics = service.get("/metrics").body;
    assert!(metrics.contains("matchrank_events_total 5"), "{metrics}");
    assert!(metrics.contains("matchrank_duplicate_events_total 2"), "{metrics}");
    let second = folder.refused("serve --data shop --model bm25.model --state state --listen 127.0.0.1:0");
    assert!(second.contains("another process"), "{second}");
}

/// A late retry must not bring back an old price.
#[test]
fn metadata_of_a_retried_item_are_not_applied_again() {
    let folder = shop();
    let service = Service::start(&folder, &format!("{MODELS} --state state"));
    let item = |event: &str, title: &str, price: f64| {
        json!({"event": "item", "id": event, "item": "d1", "timestamp": "1636907100000", "fields": [
            {"name": "title", "value": title}, {"name": "price", "value": price}]})
    };
    let send = |body: Value, accepted: u32, updated: u32| {
        let answer = service.post("/feedback", &body.to_string()).json();
        assert_eq!(
            (&answer["accepted"], &answer["updated"]),
            (&json!(accepted), &json!(updated)),
            "{answer}"
        );
    };
    let (first, second) = (item("i1", "green hat", 5.0), item("i2", "blue hat", 4.0));
    send(first.clone(), 1, 1);
    send(second.clone(), 1, 1);
    send(first.clone(), 1, 0);
    send(json!([second, item("i3", "grey hat", 3.0), first, item("i3", "old hat", 2.0)]), 4, 1);
    let stored = service.get("/v1/documents/d1").json();
    assert_eq!((&stored["fields"]["title"], &stored["fields"]["price"]), (&json!("grey hat"), &json!(3.0)));
    assert!(service.get("/metrics").body.contains("matchrank_document_changes_total 3"));
}

/// Headers and body of an export of the log. A client of HTTP 1.0 gets the body as it is.
fn exported(service: &Service, query: &str, headers: &str) -> Reply {
    service.send(
        format!("GET /v1/events/export?{query} HTTP/1.0\r\nHost: localhost\r\n{headers}\r\n").as_bytes(),
    )
}

#[test]
fn the_log_is_exported_while_the_service_runs() {
    let folder = shop();
    let mut service = Service::start(&folder, &format!("{MODELS} --state state"));
    let click =
        |i: usize| format!("{{\"event\": \"click\", \"query\": \"hat {i}\", \"document\": \"d1\"}}\n");
    let preference = "{\"event\": \"preference\", \"query\": \"hat\", \"better\": \"d1\", \"worse\": \"d0\"}";
    let list = "{\"event\": \"list\", \"documents\": [{\"grade\": 1, \"features\": [1, 2]}, {\"grade\": 0, \"features\": [2, 1]}]}";
    let events = (0..2500).map(click).collect::<String>() + preference + "\n" + list;
    assert_eq!(service.post("/v1/events", &events).json()["accepted"], 2502);
    service.request("PUT", "/v1/documents/new", "", b"{\"title\": \"boots\"}").json();
    service.request("DELETE", "/v1/documents/d3", "", b"").json();
    let kinds = ["clicks", "documents", "removed", "tuples", "lists"];
    let running = kinds.map(|of| exported(&service, &format!("of={of}"), ""));
    for (reply, lines) in running.iter().zip([2500, 1, 1, 1, 1]) {
        assert_eq!((reply.status, reply.body.lines().count()), (200, lines), "{reply:?}");
        assert_eq!(reply.header("x-last-sequence"), Some("2504"));
    }
    // The next export goes on from the last one.
    service.post("/v1/events", &click(2500)).json();
    let next = exported(&service, "of=clicks&since=2504", "");
    assert_eq!((next.body.lines().count(), next.header("x-last-sequence")), (1, Some("2505")));
    let none = exported(&service, "of=clicks&since=2505", "");
    assert_eq!((none.status, none.body.as_str()), (200, ""));
    assert_eq!(exported(&service, "of=clicks&since=2100-01-01", "").body, "");
    assert_eq!(exported(&service, "of=clicks&since=2020-01-01", "").body.lines().count(), 2501);
    for wrong in ["", "of=all", "of=clicks&since=yesterday", "of=clicks&since=", "of=clicks&unknown=1"] {
        exported(&service, wrong, "").failure(422);
    }
    // The command writes the same once the service is stopped, and `ingest --append` reads it.
    service.signal("TERM");
    assert_eq!(service.wait(), Some(0));
    folder.text("events export --state state --out clicks --documents documents --removed removed --tuples tuples --lists lists");
    for (kind, reply) in kinds.iter().zip(&running) {
        let added = if *kind == "clicks" { next.body.as_str() } else { "" };
        assert_eq!(folder.read(kind), format!("{}{added}", reply.body), "{kind}");
    }
    folder.write("log.jsonl", &running[0].body);
    folder.text("ingest --append --clicks log.jsonl --out shop");
}

#[test]
fn the_log_is_exported_with_the_write_key() {
    let folder = shop();
    let (read, write) = ("read-key-0123456789", "write-key-0123456789");
    let keys = [("MATCHRANK_READ_KEY", read), ("MATCHRANK_WRITE_KEY", write)];
    let service = Service::start_with(&folder, &format!("{MODELS} --state state"), &keys);
    let status =
        |key: &str| exported(&service, "of=clicks", &format!("Authorization: Bearer {key}\r\n")).status;
    assert_eq!([status(""), status(read), status(write)], [401, 401, 200]);
}

#[test]
fn old_events_are_deleted() {
    let folder = shop();
    let args = format!("{MODELS} --state state");
    let mut service = Service::start(&folder, &args);
    let click = "{\"event\": \"click\", \"query\": \"hat\", \"document\": \"d1\"}\n";
    service.post("/v1/events", &click.repeat(500)).json();
    let n_events = |service: &Service| exported(service, "of=clicks", "").body.lines().count();
    assert_eq!(n_events(&service), 500);
    service.signal("TERM");
    assert_eq!(service.wait(), Some(0));
    let service = Service::start(&folder, &format!("{args} --keep-bytes 2000"));
    wait_for("old events are deleted", || (1..100).contains(&n_events(&service)));
    drop(service);
    for (options, part) in [
        ("--state state --keep-days 0", "--keep-days is 0"),
        ("--state state --keep-days nan", "--keep-days is NaN"),
        ("--keep-bytes 10", "need a state folder"),
    ] {
        let refused = folder.refused(&format!("serve {MODELS} {options} --listen 127.0.0.1:0"));
        assert!(refused.contains(part), "{refused}");
    }
}

#[test]
fn a_model_learns_from_preferences_while_it_serves() {
    let folder = shop();
    folder.text(
        "train sparse-preference --data shop --set tuples=2000 --trial-tuples 1000 --out words.model --quiet",
    );
    let args = "--data shop --model words.model --state state --learn words";
    let mut service = Service::start(&folder, args);
    let score = |service: &Service| {
        let body = "{\"query\": \"sneaker\", \"candidates\": [\"d0\"]}";
        let answer = service.post("/v1/rank", body).json();
        (answer["results"][0]["score"].as_f64().unwrap(), answer["model"]["version"].as_u64().unwrap())
    };
    let before = score(&service);
    let preference =
        "{\"event\": \"preference\", \"query\": \"sneaker\", \"better\": \"d1\", \"worse\": \"d0\"}\n";
    service.post("/v1/events", &preference.repeat(300)).json();
    service.post("/v1/models/words/activate", "").failure(409);
    // Ending saves what was learned.
    service.signal("TERM");
    assert_eq!(service.wait(), Some(0));
    let after = score(&Service::start(&folder, args));
    assert!(after.1 > before.1, "{before:?} {after:?}");
    assert!(after.0 < before.0, "{before:?} {after:?}");
    let refused = folder.refused("serve --data shop --model words.model --learn words");
    assert!(refused.contains("needs a state folder"), "{refused}");
    let refused = folder
        .refused("serve --data shop --model bm25.model --state other --learn bm25 --listen 127.0.0.1:0");
    assert!(refused.contains("bm25"), "{refused}");
}

#[test]
fn activations_survive_a_kill_until_another_file_is_configured() {
    let folder = shop();
    folder.text("train rmls --data shop --set d=2 --out rmls-2.model --quiet");
    let args = format!("{MODELS} --state state");
    let current = |service: &Service| {
        let models = service.get("/v1/models").json();
        let model = models["models"].as_array().unwrap().iter().find(|model| model["name"] == "rmls");
        let model = model.unwrap();
        let actions = model["history"].as_array().unwrap().iter().map(|entry| entry["action"].clone());
        let file = model["current"]["file"].as_str().unwrap().to_owned();
        (file, model["current"]["version"].as_u64().unwrap(), Value::Array(actions.collect()))
    };
    let kill = |mut service: Service| {
        service.signal("KILL");
        service.wait();
    };
    let service = Service::start(&folder, &args);
    let body = json!({"file": "rmls-2.model", "reason": "smaller"}).to_string();
    service.post("/v1/models/rmls/activate", &body).json();
    kill(service);

    let service = Service::start(&folder, &args);
    assert_eq!(current(&service), ("rmls-2.model".into(), 2, json!(["start", "activate", "start"])));
    // The version before is not in memory, and its file is.
    let state = service.post("/v1/models/rmls/rollback", "{\"reason\": \"worse\"}").json();
    assert_eq!((&state["current"]["version"], &state["current"]["file"]), (&json!(1), &json!("rmls.model")));
    assert_eq!(state["previous"]["file"], "rmls-2.model");
    service.post("/v1/models/rmls/rollback", "").json();
    kill(service);

    // The state folder has a copy of a file that is written over. Without both, the file of the options takes the traffic.
    std::fs::copy(folder.path().join("bm25.model"), folder.path().join("rmls-2.model")).unwrap();
    let service = Service::start(&folder, &args);
    assert_eq!((current(&service).0, current(&service).1), ("rmls-2.model".into(), 2));
    kill(service);
    std::fs::remove_dir_all(folder.path().join("state/models")).unwrap();
    let service = Service::start(&folder, &args);
    assert_eq!(current(&service).0, "rmls.model");
    kill(service);

    folder.text("train rmls --data shop --set d=3 --out rmls.model --quiet");
    folder.text("train rmls --data shop --set d=2 --out rmls-2.model --quiet");
    let service = Service::start(&folder, &args);
    let (file, version, _) = current(&service);
    assert_eq!((file.as_str(), version), ("rmls.model", 4));
    service.post("/v1/models/rmls/rollback", "").failure(409);
    kill(service);

    folder.write("state/models.json", "{\"format\": 7, \"models\": {}}");
    let refused = folder.refused(&format!("serve {args} --listen 127.0.0.1:0"));
    assert!(refused.contains("models.json: has format 7"), "{refused}");
}

#[test]
fn a_rollback_survives_a_restart_though_its_file_was_written_over() {
    let folder = shop();
    let args = format!("{MODELS} --state state");
    let scores = |service: &Service| {
        let body = json!({"query": "sneaker", "model": "rmls", "top": 5}).to_string();
        service.post("/v1/search", &body).json()["hits"].clone()
    };
    let version = |service: &Service| {
        let models = service.get("/v1/models").json();
        let mut models = models["models"].as_array().unwrap().iter();
        models.find(|model| model["name"] == "rmls").unwrap()["current"]["version"].clone()
    };
    let mut service = Service::start(&folder, &args);
    let first = scores(&service);
    folder.text("train rmls --data shop --set d=2 --out rmls.model --quiet");
    let state = service.post("/v1/models/rmls/activate", "").json();
    assert_eq!(state["current"]["version"], 2);
    assert_ne!(scores(&service), first);
    service.post("/v1/models/rmls/rollback", "").json();
    service.signal("KILL");
    service.wait();

    let mut service = Service::start(&folder, &args);
    assert_eq!((version(&service), scores(&service)), (json!(1), first));
    // The version that was rolled back, and forth again.
    service.post("/v1/models/rmls/rollback", "").json();
    assert_eq!(version(&service), 2);
    let copies = || std::fs::read_dir(folder.path().join("state/models")).unwrap().count();
    let before = copies();
    folder.text("train rmls --data shop --set d=3 --out rmls.model --quiet");
    service.post("/v1/models/rmls/activate", "").json();
    assert_eq!(copies(), before, "the copy of version 1 is not needed any more");
    service.signal("KILL");
    service.wait();

    // A file that came while the service was down takes the traffic at once.
    folder.text("train rmls --data shop --set d=4 --out rmls.model --quiet");
    assert_eq!(version(&Service::start(&folder, &args)), 4);
}

#[test]
fn a_service_that_ends_says_so_before_it_refuses() {
    let folder = shop();
    let mut service = Service::start(&folder, &format!("{MODELS} --drain-delay 600"));
    service.get("/readyz").json();
    service.signal("TERM");
    let start = std::time::Instant::now();
    while service.get("/readyz").status == 200 {
        assert!(start.elapsed().as_secs() < 60, "it does not say that it ends");
    }
    service.get("/readyz").failure(503);
    service.get("/healthz").json();
    service.post("/v1/search", "{\"query\": \"sneaker\"}").json();
    service.signal("TERM");
    service.wait();
}
