//! Receives the service's webhook with axum, on `http://127.0.0.1:8080/completed`. A delivery is
//! not signed: what the service itself does not confirm is not acted on.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use voice_calling::{Client, Verification};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener, router(Client::from_env()?)).await?;
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
        // Forged, or about something else: another delivery would not help.
        Ok(Verification::Contradicted(_) | Verification::NotACompletion) => StatusCode::NO_CONTENT,
        // Not JSON, or a docket that does not exist.
        Err(error) if error.is_permanent() => StatusCode::BAD_REQUEST,
        // The service could not be asked: the delivery should come again.
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
