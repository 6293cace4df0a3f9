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
    let mut deliveries = vec![
        (r#"{"event":"other"}"#.to_owned(), StatusCode::NO_CONTENT),
        ("no JSON".to_owned(), StatusCode::BAD_REQUEST),
    ];
    for (number, (answered, status, expected)) in [
        (200, "COMPLETED", StatusCode::NO_CONTENT),
        (200, "IN_PROGRESS", StatusCode::SERVICE_UNAVAILABLE),
        (404, "COMPLETED", StatusCode::SERVICE_UNAVAILABLE),
        (500, "COMPLETED", StatusCode::SERVICE_UNAVAILABLE),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("7f8d3b0e-0d51-4f0c-9a63-{number:012}");
        let docket = |status| format!(r#"{{"docket_id":"{id}","status":"{status}"}}"#);
        let answer = ResponseTemplate::new(answered).set_body_string(docket(status));
        let look = Mock::given(path(format!("/api/v1/dockets/{id}")));
        look.respond_with(answer).mount(&service).await;
        deliveries.push((docket("COMPLETED"), expected));
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
    for (delivery, expected) in deliveries {
        let request = reqwest::Client::new().post(&url).body(delivery.clone());
        let status = request.send().await.unwrap().status();
        assert_eq!(status, expected, "{delivery}");
    }
}
