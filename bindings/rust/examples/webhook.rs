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
