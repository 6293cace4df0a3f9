//! Changes as server-sent events.

use super::Served;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, StreamExt, unfold};
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::sleep;

/// The time between two events.
const PAUSE: Duration = Duration::from_millis(100);

/// Sends everything, and then what changes.
pub(crate) async fn events(State(served): State<Served>) -> Response {
    let stopped = served.stopped();
    Sse::new(changes(served).take_until(stopped))
        .keep_alive(KeepAlive::default())
        .into_response()
}

fn changes(served: Served) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold((served, None), |(served, since)| async move {
        let mock = &served.mock;
        if let Some(since) = since {
            sleep(PAUSE).await;
            mock.changed(since).await;
        }
        let changes = mock.changes(since.unwrap_or(0));
        let shown = served.changes(&changes);
        let event = Event::default().data(shown.to_string());
        Some((Ok(event), (served, Some(changes.sequence))))
    })
}
