//! Receives the service's webhook with axum, on `http://127.0.0.1:9000/completed`. A delivery is
//! not signed: what the service itself does not confirm is not acted on.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use voice_calling::{Client, FailureKind, Verification};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:9000").await?;
    // With the ledger of your creates, a confirmed docket resolves its entry:
    // let ledger = Ledger::open("calls.db")?;
    // let client = Builder::from_env().ledger(ledger).build()?;
    let client = Client::from_env()?;
    axum::serve(listener, router(client)).await?;
    Ok(())
}

/// The endpoint that the service delivers to.
pub fn router(client: Client) -> Router {
    let router = Router::new().route("/completed", post(completed));
    router.with_state(client)
}

async fn completed(State(client): State<Client>, delivery: String) -> StatusCode {
    match client.verify_docket_completed(&delivery).await {
        Ok(Verification::Confirmed(completion)) => {
            println!("completed: {}", completion.docket.docket_id);
            StatusCode::NO_CONTENT
        }
        // About something else: there is nothing to do.
        Ok(Verification::NotACompletion) => StatusCode::NO_CONTENT,
        // The text of the delivery is wrong, and will be.
        Err(error) if error.kind() == FailureKind::InvalidInput => StatusCode::BAD_REQUEST,
        // The service does not show the docket as completed: forged, or too early.
        Ok(Verification::Contradicted(_)) => StatusCode::SERVICE_UNAVAILABLE,
        // It does not know the docket, or could not be asked. The delivery should come again.
        Err(error) => {
            eprintln!("not verified: {error}");
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;
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
        let router = router(client.build().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        // reqwest makes no client without one, although it sends nothing over TLS here.
        let _first = rustls::crypto::ring::default_provider().install_default();
        for (delivery, expected) in deliveries {
            let request = reqwest::Client::new().post(&url).body(delivery.clone());
            let status = request.send().await.unwrap().status();
            assert_eq!(status, expected, "{delivery}");
        }
    }
}
