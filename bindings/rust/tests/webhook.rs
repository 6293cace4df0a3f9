//! The example with axum, as the service meets it.

#[allow(dead_code)] // A test has a main function of its own.
#[path = "../examples/webhook.rs"]
mod webhook;

use reqwest::StatusCode;
use tokio::net::TcpListener;
use voice_calling::Client;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

#[tokio::test]
async fn the_status_for_a_delivery_depends_on_the_docket_at_the_service() {
    let service = MockServer::start().await;
    let docket = r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-000000000001","status":"COMPLETED"}"#;
    let open = r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-000000000004","status":"IN_PROGRESS"}"#;
    for (id, answer) in [
        (
            "7f8d3b0e-0d51-4f0c-9a63-000000000001",
            ResponseTemplate::new(200).set_body_string(docket),
        ),
        (
            "7f8d3b0e-0d51-4f0c-9a63-000000000002",
            ResponseTemplate::new(404),
        ),
        (
            "7f8d3b0e-0d51-4f0c-9a63-000000000003",
            ResponseTemplate::new(500),
        ),
        (
            "7f8d3b0e-0d51-4f0c-9a63-000000000004",
            ResponseTemplate::new(200).set_body_string(open),
        ),
    ] {
        let look = Mock::given(path(format!("/api/v1/dockets/{id}")));
        look.respond_with(answer).mount(&service).await;
    }
    let client = Client::builder()
        .base_url(service.uri())
        .api_token("token-of-a-test")
        .max_attempts(1);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/completed", listener.local_addr().unwrap());
    let router = webhook::router(client.build().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    // reqwest makes no client without one, although it sends nothing over TLS here.
    let _first = rustls::crypto::ring::default_provider().install_default();
    for (delivery, expected) in [
        (docket, StatusCode::NO_CONTENT),
        (
            r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-000000000002","status":"COMPLETED"}"#,
            StatusCode::SERVICE_UNAVAILABLE,
        ),
        (
            r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-000000000003","status":"COMPLETED"}"#,
            StatusCode::SERVICE_UNAVAILABLE,
        ),
        (
            r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-000000000004","status":"COMPLETED"}"#,
            StatusCode::SERVICE_UNAVAILABLE,
        ),
        (r#"{"event":"other"}"#, StatusCode::NO_CONTENT),
        ("no JSON", StatusCode::BAD_REQUEST),
    ] {
        let request = reqwest::Client::new().post(&url).body(delivery);
        assert_eq!(
            request.send().await.unwrap().status(),
            expected,
            "{delivery}"
        );
    }
}
