//! Changes as server-sent events.

use crate::Served;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{Stream, StreamExt, unfold};
use http::HeaderMap;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::sleep;

/// The time between two events.
const PAUSE: Duration = Duration::from_millis(100);

/// The position of a reader.
struct Reader {
    served: Served,
    since: u64,
    /// Whether it has received an event.
    is_reading: bool,
}

pub(crate) async fn events(State(served): State<Served>, headers: HeaderMap) -> Response {
    let stopped = served.until_stopped();
    let reader = Reader {
        since: since(&headers),
        served,
        is_reading: false,
    };
    let events = changes(reader).take_until(Box::pin(stopped));
    Sse::new(events)
        .keep_alive(KeepAlive::default())
        .into_response()
}

/// Returns the position of the reader, which a reconnecting browser sends in a header. Without a
/// number, or with one that was never assigned, the reader receives everything.
fn since(headers: &HeaderMap) -> u64 {
    let last = headers.get("last-event-id");
    let last = last.and_then(|last| last.to_str().ok()?.parse().ok());
    last.unwrap_or(0)
}

fn changes(reader: Reader) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(reader, |mut reader| async {
        let mock = &reader.served.mock;
        if reader.is_reading {
            sleep(PAUSE).await;
            mock.changed(reader.since).await;
        }
        let changes = mock.changes(reader.since);
        reader.since = changes.sequence;
        reader.is_reading = true;
        let mut shown = reader.served.masked(&changes);
        if let Value::Object(members) = &mut shown {
            members.insert("base_url".to_owned(), json!(mock.base_url()));
        }
        let event = Event::default()
            .id(reader.since.to_string())
            .data(shown.to_string());
        Some((Ok(event), reader))
    })
}
