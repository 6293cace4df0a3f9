//! The example with axum, as the service meets it.

#[allow(dead_code)] // A test has a main function of its own.
#[path = "../examples/webhook.rs"]
mod webhook;

use reqwest::StatusCode;
use tokio::net::TcpListener;
use voice_calling::Client;
use voice_calling_peer::{Behaviour, Peer};

#[tokio::test]
async fn the_status_for_a_delivery_depends_on_the_docket_at_the_service() {
    const ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";
    let docket = |status| format!(r#"{{"docket_id":"{ID}","status":"{status}"}}"#);
    let (no_content, unavailable) = (StatusCode::NO_CONTENT, StatusCode::SERVICE_UNAVAILABLE);
    let mut deliveries = vec![
        (r#"{"event":"other"}"#.to_owned(), no_content),
        ("no JSON".to_owned(), StatusCode::BAD_REQUEST),
    ];
    let mut answers = Vec::new();
    for (line, status, expected) in [
        ("200 OK", "COMPLETED", no_content),
        ("200 OK", "IN_PROGRESS", unavailable),
        ("404 Not Found", "COMPLETED", unavailable),
        ("500 Internal Server Error", "COMPLETED", unavailable),
    ] {
        let head = format!("HTTP/1.1 {line}\r\nconnection: close\r\n\r\n");
        answers.push(Behaviour::Send((head + &docket(status)).into_bytes()));
        deliveries.push((docket("COMPLETED"), expected));
    }
    let peer = Peer::start(answers).await.unwrap();
    let client = Client::builder()
        .base_url(peer.base_url())
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
