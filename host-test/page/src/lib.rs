//! The mock as a telephone: a page on loopback on which its calls ring and can be answered, its
//! dockets and requests are listed, and faults are ordered.
//!
//! Another site can neither read it (every other `Host` is rejected) nor click on it (a click needs
//! the page's token).
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use std::sync::Arc;
//! use voice_calling_mock::{MockService, Options};
//! use voice_calling_page::Page;
//!
//! let mock = Arc::new(MockService::start(Options::default()).await?);
//! let page = Page::start(mock.clone(), 0).await?;
//! println!("open {}", page.url());
//! # page.stop().await;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod click;
mod events;
mod guard;
mod shown;

use anyhow::{Context, Result};
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;
use voice_calling_core::token;
use voice_calling_mock::MockService;

/// The time for answers in progress when the page is stopped.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// A running page. Dropping it stops it; [`Self::stop`] also waits for the end.
pub struct Page {
    url: String,
    mock: Arc<MockService>,
    stopping: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Page {
    /// Serves the page of a mock on 127.0.0.1, on a free port if `port` is 0. From now on the
    /// `dashboard_url` of the mock's dockets leads to it.
    ///
    /// # Errors
    /// Fails if the port is not available.
    pub async fn start(mock: Arc<MockService>, port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .with_context(|| format!("the page cannot listen on 127.0.0.1:{port}"))?;
        let port = listener.local_addr()?.port();
        let url = format!("http://127.0.0.1:{port}");
        let (stopping, stopped) = watch::channel(false);
        let served = Served {
            mock: mock.clone(),
            port,
            token: Uuid::new_v4().simple().to_string().into(),
            stopping: stopped,
        };
        mock.set_dashboard(Some(url.clone()));
        let stopped = served.until_stopped();
        let server = axum::serve(listener, router(served)).with_graceful_shutdown(stopped);
        Ok(Self {
            url,
            mock,
            stopping,
            // Connection errors do not end the server: it runs until it is stopped.
            serving: tokio::spawn(async { _ = server.await }),
        })
    }

    /// Returns the URL of the page, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the page. When this returns, its port is free, unless a client's last request took more
    /// than two seconds.
    pub async fn stop(mut self) {
        self.stopping.send_replace(true);
        _ = timeout(LAST_ANSWERS, &mut self.serving).await;
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.mock.set_dashboard(None);
        self.stopping.send_replace(true);
        self.serving.abort();
    }
}

/// The state of the server.
#[derive(Clone)]
struct Served {
    mock: Arc<MockService>,
    port: u16,
    /// The token that a click needs.
    token: Arc<str>,
    stopping: watch::Receiver<bool>,
}

impl Served {
    /// Waits until the page is stopped.
    fn until_stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopping = self.stopping.clone();
        async move { _ = stopping.wait_for(|stopping| *stopping).await }
    }

    /// Returns the value as JSON, with the mock's token masked.
    fn masked(&self, value: &impl Serialize) -> Value {
        let mut json = serde_json::to_value(value).expect("the mock's structs are JSON");
        mask(&mut json, &self.mock.token());
        json
    }
}

/// Masks a token in the values of JSON.
fn mask(json: &mut Value, token: &str) {
    match json {
        Value::String(text) => *text = token::mask(token, text),
        Value::Array(elements) => elements.iter_mut().for_each(|it| mask(it, token)),
        Value::Object(members) => members.values_mut().for_each(|it| mask(it, token)),
        _ => {}
    }
}

/// Returns an answer that describes the error.
fn problem(status: StatusCode, error: impl Into<String>) -> Response {
    (status, axum::Json(json!({"error": error.into()}))).into_response()
}

fn router(served: Served) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/dockets/{id}", get(page))
        .route(
            "/page.css",
            get(asset(
                "text/css; charset=utf-8",
                include_str!("../assets/page.css"),
            )),
        )
        .route(
            "/page.js",
            get(asset(
                "text/javascript; charset=utf-8",
                include_str!("../assets/page.js"),
            )),
        )
        .route(
            "/icon.svg",
            get(asset("image/svg+xml", include_str!("../assets/icon.svg"))),
        )
        .route("/events", get(events::events))
        .route("/entries/{id}", get(shown::entry))
        .route("/requests/{n}", get(shown::request))
        .route("/entries/{id}/end", post(click::end))
        .route("/faults", post(click::order))
        .route("/faults/clear", post(click::clear))
        .route("/delivery-faults", post(click::order_delivery))
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "not found") })
        .layer(middleware::from_fn_with_state(served.clone(), guard::guard))
        .with_state(served)
}

/// Serves the page, which reads the token from its own text.
async fn page(State(served): State<Served>) -> Html<String> {
    Html(include_str!("../assets/page.html").replace("{{token}}", &served.token))
}

fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse + Clone {
    let kind = [(CONTENT_TYPE, HeaderValue::from_static(kind))];
    (kind, text)
}
