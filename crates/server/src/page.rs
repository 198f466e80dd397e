//! The page at `/`: search with explanations. Everything is embedded; nothing comes from the network.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, header};
use axum::routing::get;
use maud::{DOCTYPE, Markup, html};

use crate::service::Service;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Returns the routes of the page.
pub(crate) fn pages() -> Router<Arc<Service>> {
    Router::new()
        .route("/", get(search_page))
        .route("/assets/page.css", get(|| async { asset(STYLE, "text/css; charset=utf-8") }))
        .route("/assets/page.js", get(|| async { asset(SCRIPT, "text/javascript; charset=utf-8") }))
}

fn asset(content: &'static str, kind: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(content));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Returns a response with a page.
pub(crate) fn html_response(page: String) -> Response<Body> {
    let mut response = Response::new(Body::from(page));
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn search_page(State(service): State<Arc<Service>>) -> Response<Body> {
    html_response(page(service.keys.guard_reading()).into_string())
}

/// Writes the page. It holds no data: the script asks for them, with the key where one is needed.
fn page(needs_key: bool) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "matchrank: search" }
                link rel="stylesheet" href="/assets/page.css";
                link rel="icon" href="data:,";
                script src="/assets/page.js" defer {}
            }
            body data-needs-key=(needs_key) {
                a.skip href="#results" { "Skip to results" }
                header {
                    h1 { "matchrank" }
                    nav aria-label="Pages" { a href="/docs" { "Interface" } button type="button" id="forget" hidden { "Forget key" } }
                }
                main {
                    form id="key-form" hidden {
                        label for="key" { "Key of the service" }
                        div.row {
                            input id="key" type="password" autocomplete="off" required;
                            button { "Use key" }
                        }
                        p.note { "The key is kept for this tab only." }
                    }
                    form id="search-form" role="search" {
                        label for="query" { "Search" }
                        div.row {
                            input id="query" name="q" type="search" autocomplete="off" required maxlength="2000";
                            button { "Search" }
                        }
                        div.row.options {
                            label { "Model " select id="model" {} }
                            label { "Results " select id="top" {
                                @for n in ["10", "20", "50"] { option { (n) } }
                            } }
                        }
                    }
                    p id="status" role="status" aria-live="polite" {}
                    ol id="results" tabindex="-1" {}
                    noscript { p { "The page needs JavaScript. The interface is described at " a href="/docs" { "/docs" } "." } }
                }
                footer { p { kbd { "/" } " search · " kbd { "j" } " " kbd { "k" } " next, previous result · " kbd { "e" } " explain" } }
            }
        }
    }
}
