//! The description of the interface: as OpenAPI 3, and as a page.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use axum::routing::get;
use maud::{DOCTYPE, Markup, html};
use serde_json::Value;
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};

use crate::page::html_response;
use crate::service::Service;

const DESCRIPTION: &str = "Search, reranking and explanations by trained models, over documents that change while they are \
served.\n\nErrors have a status and a body with a message. Own routes: `{\"error\": {\"code\", \"message\"}}`; compatible routes: \
the form of the service that they replace. 400: malformed; 401: key; 403: origin, or no write key; 404: route, model or \
document; 409: no state folder, or nothing to roll back to; 413: too long; 421: host; 422: content; 429: busy, with \
`Retry-After`; 503: ending, or the disk fails.\n\nKeys are sent as `Authorization: Bearer KEY`.";

/// Returns the description without routes.
pub(crate) fn opening() -> OpenApi {
    let info = InfoBuilder::new()
        .title("matchrank")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .build();
    OpenApiBuilder::new().info(info).build()
}

/// Returns the routes of the description.
pub(crate) fn pages(api: &OpenApi) -> Router<Arc<Service>> {
    let value = serde_json::to_value(api).unwrap_or_default();
    let page = documentation(&value).into_string();
    let json = value.to_string();
    Router::new()
        .route(
            "/openapi.json",
            get(|| async move {
                let mut response = Response::new(Body::from(json));
                let kind = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
                response
            }),
        )
        .route("/docs", get(|| async move { html_response(page) }))
}

/// Writes the page: every route with its request and responses, and every type.
fn documentation(api: &Value) -> Markup {
    let empty = serde_json::Map::new();
    let paths = api["paths"].as_object().unwrap_or(&empty);
    let schemas = api["components"]["schemas"].as_object().unwrap_or(&empty);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "matchrank: interface" }
                link rel="stylesheet" href="/assets/page.css";
                link rel="icon" href="data:,";
            }
            body {
                main.docs {
                    h1 { "matchrank: interface" }
                    @for paragraph in DESCRIPTION.split("\n\n") { p { (paragraph) } }
                    p { a href="/openapi.json" { "OpenAPI 3 document" } " · " a href="/" { "Search page" } }
                    @for (path, methods) in paths {
                        @for (method, operation) in methods.as_object().unwrap_or(&empty) {
                            section {
                                h2 { span.method { (method.to_uppercase()) } " " code { (path) } }
                                p { (operation["summary"].as_str().unwrap_or_default()) }
                                @if let Some(text) = operation["description"].as_str() { p { (text) } }
                                @let body = &operation["requestBody"]["content"]["application/json"];
                                @if !body.is_null() {
                                    p { "Request: " (type_of(&body["schema"])) }
                                    @if let Some(example) = body.get("example") { pre { (example.to_string()) } }
                                }
                                @for (status, response) in operation["responses"].as_object().unwrap_or(&empty) {
                                    p {
                                        code { (status) } " "
                                        @let schema = &response["content"]["application/json"]["schema"];
                                        @if schema.is_null() { (response["description"].as_str().unwrap_or_default()) }
                                        @else { (type_of(schema)) }
                                    }
                                }
                            }
                        }
                    }
                    h2 { "Types" }
                    @for (name, schema) in schemas {
                        section id=(name) {
                            h3 { (name) }
                            @if let Some(text) = schema["description"].as_str() { p { (text) } }
                            @for part in parts_of(schema) {
                                dl {
                                    @for (field, of_field) in part["properties"].as_object().unwrap_or(&empty) {
                                        dt { code { (field) } " " (type_of(of_field))
                                            @if is_required(part, field) { " (required)" } }
                                        dd {
                                            (of_field["description"].as_str().unwrap_or_default())
                                            @if let Some(example) = of_field.get("example") { " " code { (example.to_string()) } }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the parts of a type that is made of several, or the type itself.
fn parts_of(schema: &Value) -> Vec<&Value> {
    schema["allOf"].as_array().map_or_else(|| vec![schema], |parts| parts.iter().collect())
}

fn is_required(schema: &Value, field: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|name| name == field))
}

/// Writes the name of a type, with a link to its section.
fn type_of(schema: &Value) -> Markup {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return html! { a href={ "#" (name) } { (name) } };
    }
    if let Some(choices) = ["oneOf", "anyOf", "allOf"].iter().find_map(|kind| schema[*kind].as_array()) {
        return html! { @for (i, choice) in choices.iter().enumerate() { @if i > 0 { " or " } (type_of(choice)) } };
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => html! { "list of " (type_of(&schema["items"])) },
        Value::String(kind) => html! { (kind) },
        Value::Array(kinds) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            html! { (kinds.join(" or ")) }
        }
        _ => html! { "any value" },
    }
}
