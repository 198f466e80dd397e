//! Requests as other services' clients send them, and the answers that they read.
#![cfg(unix)]

mod matchrank;
mod service;

use matchrank::Folder;
use serde_json::{Value, json};
use service::Service;

fn shop() -> Folder {
    let folder = matchrank::shop();
    folder.text("train bm25 --data shop --out bm25.model --quiet");
    folder.text("train rmls --data shop --set d=4 --out rmls.model --quiet");
    folder
}

const MODELS: &str = "--data shop --model bm25.model --model rmls.model";

fn indices(answer: &Value) -> Vec<u64> {
    answer["results"].as_array().unwrap().iter().map(|result| result["index"].as_u64().unwrap()).collect()
}

/// Body that the Python package `cohere` 7.3 sends for `ClientV2.rerank`.
#[test]
fn cohere_v2() {
    let folder = shop();
    let service = Service::start(&folder, MODELS);
    let body = json!({
        "model": "rerank-v3.5", "query": "hat sun", "top_n": 2, "max_tokens_per_doc": 4096, "priority": 0,
        "documents": ["trainers for running", "a hat for the sun", "another hat"]
    });
    let answer = service
        .request(
            "POST",
            "/v2/rerank",
            "Content-Type: application/json\r\nAuthorization: Bearer any\r\n",
            body.to_string().as_bytes(),
        )
        .json();
    assert_eq!(indices(&answer), [1, 2], "{answer}");
    let scores: Vec<f64> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["relevance_score"].as_f64().unwrap())
        .collect();
    assert!(1.0 > scores[0] && scores[0] > scores[1] && scores[1] > 0.5, "{scores:?}");
    assert_eq!(answer["meta"]["api_version"]["version"], "2");
    assert_eq!(answer["id"].as_str().unwrap().len(), 36);
    assert!(
        answer["results"][0].get("document").is_none()
            && answer["results"][0].get("relevant_spans").is_none()
    );

    let failure = service.post("/v2/rerank", "{\"query\": \"hat\", \"documents\": []}").failure(422);
    assert_eq!(failure["message"], "`documents` is empty; give at least one");
}

#[test]
fn cohere_spans_are_code_points() {
    let folder = shop();
    let service = Service::start(&folder, MODELS);
    let text = "🏖 Große Hats, for the sun";
    let body = json!({
        "query": "hat in the sun", "documents": [text, {"id": "d1"}, "nothing"],
        "relevant_spans": {"mode": "enabled", "max_spans": 5}, "return_documents": true
    });
    let answer = service.post("/v2/rerank", &body.to_string()).json();
    for result in answer["results"].as_array().unwrap() {
        let shown: Vec<char> = result["document"]["text"].as_str().unwrap().chars().collect();
        let Some(spans) = result["relevant_spans"].as_array() else {
            assert_eq!(result["index"], 2, "{answer}");
            continue;
        };
        let words: Vec<String> = spans
            .iter()
            .map(|span| {
                let place = |name: &str| span[name].as_u64().unwrap() as usize;
                shown[place("start")..place("end")].iter().collect::<String>().to_lowercase()
            })
            .collect();
        assert!(words.iter().all(|word| ["hat", "hats", "sun"].contains(&word.as_str())), "{words:?}");
        assert_eq!(words.len(), 2, "{words:?}");
        let total: f64 = spans.iter().map(|span| span["score"].as_f64().unwrap()).sum();
        assert!((total - 1.0).abs() < 1e-9);
    }
}

/// Documents by id have the clicks of the dataset: words alone would not find trainers for "sneaker".
#[test]
fn documents_by_id_have_their_clicks() {
    let folder = shop();
    let service = Service::start(&folder, MODELS);
    let body = json!({"model": "rmls", "query": "cheap sneaker", "documents": [{"id": "d1"}, {"id": "d0", "text": "ignored"}, {"id": "new", "text": "hat"}]});
    let answer = service.post("/v2/rerank", &body.to_string()).json();
    assert_eq!(indices(&answer)[0], 1, "{answer}");
}

/// Bodies of Cohere v1 and Jina, OpenSearch's connector, and Elasticsearch's service `custom`.
#[test]
fn first_version_of_cohere_and_jina() {
    let folder = shop();
    let service = Service::start(&folder, MODELS);
    let cohere = json!({
        "documents": [{"text": "trainers", "url": "hat"}, {"text": "hat for the sun"}], "query": "hat", "model": "rerank-english-v3.0",
        "top_n": 2, "return_documents": true, "max_chunks_per_doc": 10
    });
    let answer = service.post("/v1/rerank", &cohere.to_string()).json();
    assert_eq!(answer["results"][0]["document"]["text"], "hat for the sun", "{answer}");
    assert_eq!(answer["meta"]["api_version"]["version"], "1");
    let fields = json!({"documents": [{"text": "hat", "title": "trainers"}, {"text": "trainers", "title": "hat"}], "query": "hat", "rank_fields": ["title"]});
    assert_eq!(indices(&service.post("/v1/rerank", &fields.to_string()).json()), [1, 0]);

    let jina = json!({"model": "jina-reranker-v2-base-multilingual", "query": "hat", "top_n": 1, "documents": ["trainers", "hat"]});
    let answer = service.post("/v1/rerank", &jina.to_string()).json();
    assert_eq!(answer["usage"]["total_tokens"], 3);
    assert_eq!(answer["model"], "bm25");
    assert_eq!(indices(&answer), [1]);

    // The request body that OpenSearch's documentation gives for the connector of Cohere Rerank.
    let open_search = "{ \"documents\": [\"trainers\", \"hat\"], \"query\": \"hat\", \"model\": \"rerank-english-v3.0\", \"top_n\": 2 }";
    assert_eq!(indices(&service.post("/v1/rerank", open_search).json()), [1, 0]);

    // Elasticsearch's `custom` service: `${query}` and `${input}` in its template.
    let custom = "{\"query\": \"hat\", \"documents\": [\"trainers\",\"hat\"]}";
    let answer = service.post("/v1/rerank", custom).json();
    assert!(answer["results"][0]["relevance_score"].is_number() && indices(&answer) == [1, 0]);
}

/// Bodies of clients of Text Embeddings Inference and of Elasticsearch's service `hugging_face`.
#[test]
fn text_embeddings_inference() {
    let folder = shop();
    let service = Service::start(&folder, MODELS);
    let body = json!({"query": "hat", "texts": ["trainers", "a hat", "hat"], "raw_scores": false, "return_text": true, "truncate": true, "truncation_direction": "Right"});
    let answer = service.post("/rerank", &body.to_string()).json();
    let ranked = answer.as_array().unwrap();
    assert_eq!(ranked.len(), 3);
    assert_eq!(ranked[2]["text"], "trainers", "{answer}");
    assert_eq!(ranked[2]["score"], 0.5);
    let raw = service
        .post("/rerank", "{\"query\":\"hat\",\"texts\":[\"trainers\",\"hat\"],\"raw_scores\":true}")
        .json();
    assert_eq!(raw[1], json!({"index": 0, "score": 0.0}));
    // `hugging_face` of Elasticsearch posts the texts and `return_text`.
    let elastic = service
        .post("/rerank", "{\"texts\":[\"trainers\",\"hat\"],\"query\":\"hat\",\"return_text\":false}")
        .json();
    assert_eq!(elastic[0]["index"], 1);

    for (body, status) in
        [("{\"query\":\"hat\",\"texts\":[]}", 422), ("{\"query\":\"hat\"}", 422), ("{", 422)]
    {
        let failure = service.post("/rerank", body).failure(status);
        assert_eq!(failure["error_type"], "Validation", "{failure}");
        assert!(failure["error"].is_string());
    }
    let info = service.get("/info").json();
    assert!(info["model_type"]["reranker"].is_object() && info["model_id"] == "bm25", "{info}");
    assert_eq!(service.get("/health").status, 200);
}

/// The request of Metarank's documentation, with its content type: curl's own.
#[test]
fn metarank_ranks() {
    let folder = shop();
    let service = Service::start(&folder, &format!("{MODELS} --alias xgboost=bm25"));
    let body = "{
    \"id\": \"81f46c34-a4bb-469c-8708-f8127cd67d27\",
    \"timestamp\": \"1599391467000\",
    \"user\": \"user1\",
    \"session\": \"session1\",
    \"fields\": [
        {\"name\": \"query\", \"value\": \"hat\"},
        {\"name\": \"source\", \"value\": \"search\"}
    ],
    \"items\": [
      {\"id\": \"d2\", \"fields\": [{\"name\": \"relevancy\", \"value\": 2.0}]},
      {\"id\": \"d1\", \"fields\": [{\"name\": \"relevancy\", \"value\": 1.0}]},
      {\"id\": \"unknown\", \"fields\": [{\"name\": \"title\", \"value\": \"a hat\"}], \"label\": 1}
    ]
  }";
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let answer = service.request("POST", "/rank/xgboost?explain=true", form, body.as_bytes()).json();
    assert!(answer["took"].is_u64());
    let items = answer["items"].as_array().unwrap();
    assert_eq!(
        items.iter().map(|item| item["item"].as_str().unwrap()).collect::<std::collections::BTreeSet<_>>(),
        ["d1", "d2", "unknown"].into()
    );
    assert_eq!(items[2], json!({"item": "d2", "score": 0.0, "features": []}));
    assert_eq!(items[0]["features"][0]["name"], "hat");
    let plain = service.request("POST", "/rank/xgboost", form, body.as_bytes()).json();
    assert!(plain["items"][0].get("features").is_none());
    service.post("/rank/nobody", body).failure(404);
    let without = service
        .post("/rank/bm25", "{\"id\": \"a\", \"timestamp\": 1, \"items\": [{\"id\": \"d1\"}]}")
        .failure(422);
    assert!(without["error"]["message"].as_str().unwrap().contains("`query`"), "{without}");
}
