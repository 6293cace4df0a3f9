//! Control of a mock over HTTP, on a port of its own: a page on which its calls ring and can be
//! answered, and an API for tests in any language. Requests here are none to the service.
//!
//! On loopback, another site can neither read it (every other `Host` is rejected) nor click on it
//! (every other `Origin` is).

mod act;
mod events;
mod guard;
mod shown;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode, Uri};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::{MockService, local_url};

/// The page and the control API of a mock, whose endpoints `docs/mock.md` describes. Dropping it
/// stops it: requests are refused, and streams of events end.
///
/// ```no_run
/// # async fn example() -> anyhow::Result<()> {
/// use std::sync::Arc;
/// use voice_calling_mock::{Control, MockService, Options};
///
/// let mock = Arc::new(MockService::start(Options::default()).await?);
/// let control = Control::start(mock.clone(), ([127, 0, 0, 1], 0).into()).await?;
/// println!("open {}", control.url());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Control {
    url: String,
    _running: watch::Sender<()>,
}

impl Control {
    /// Serves the page and the API of a mock at this address, on a free port if the port is 0. From
    /// now on the `dashboard_url` of the mock's dockets leads to the page.
    ///
    /// # Errors
    /// Fails if the address is not available.
    pub async fn start(mock: Arc<MockService>, address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("the page cannot listen on {address}"))?;
        let address = listener.local_addr()?;
        let url = local_url(address);
        mock.set_dashboard(&url);
        let (running, stopped) = watch::channel(());
        let served = Served {
            mock,
            address,
            stopped,
        };
        let stopped = served.stopped();
        let server = axum::serve(listener, router(served)).with_graceful_shutdown(stopped);
        // Connection errors do not end the server: it runs until it is stopped.
        tokio::spawn(async { _ = server.await });
        Ok(Self {
            url,
            _running: running,
        })
    }

    /// Returns the URL of the page, which is the base URL of the API, such as
    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }
}

#[derive(Clone)]
struct Served {
    mock: Arc<MockService>,
    address: SocketAddr,
    /// Closed when the control is dropped.
    stopped: watch::Receiver<()>,
}

impl Served {
    /// Waits until the control is dropped.
    fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopped = self.stopped.clone();
        async move { _ = stopped.changed().await }
    }
}

/// Returns what a path such as `/entries/{id}` names, as it was sent: ids need no percent-encoding.
fn named(uri: &Uri) -> &str {
    uri.path().split('/').nth(2).unwrap_or_default()
}

fn problem(status: StatusCode, error: impl Into<String>) -> Response {
    (status, Json(json!({"error": error.into()}))).into_response()
}

const PAGE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
const SCRIPT: &str = include_str!("../assets/page.js");
const ICON: &str = include_str!("../assets/icon.svg");

fn router(served: Served) -> Router {
    Router::new()
        .route("/", get(Html(PAGE)))
        .route("/dockets/{id}", get(Html(PAGE)))
        .route("/page.css", get(asset("text/css; charset=utf-8", STYLE)))
        .route(
            "/page.js",
            get(asset("text/javascript; charset=utf-8", SCRIPT)),
        )
        .route("/icon.svg", get(asset("image/svg+xml", ICON)))
        .route("/health", get(shown::health))
        .route("/events", get(events::events))
        .route("/changes", get(shown::changes))
        .route("/entries/{id}", get(shown::entry))
        .route("/entries/{id}/end", post(act::end))
        .route("/requests/{n}", get(shown::request))
        .route("/deliveries", get(shown::deliveries))
        .route("/faults", post(act::order).delete(act::clear))
        .route("/clock", post(act::advance))
        .route("/reset", post(act::reset))
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "not found") })
        .method_not_allowed_fallback(|method: Method| async move {
            let error = format!("the method is {method}, which this path does not have");
            problem(StatusCode::METHOD_NOT_ALLOWED, error)
        })
        .layer(middleware::from_fn_with_state(served.clone(), guard::guard))
        .with_state(served)
}

fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse + Clone {
    let kind = [(CONTENT_TYPE, HeaderValue::from_static(kind))];
    (kind, text)
}
