//! The mock as a telephone: a page on loopback on which its calls ring and can be answered, its
//! dockets and requests are listed, and faults are ordered.
//!
//! Another site can neither read it (every other `Host` is rejected) nor click on it (every other
//! `Origin` is).
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
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod click;
mod events;
mod guard;
mod shown;

use anyhow::{Context, Result};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde_json::json;
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use voice_calling_mock::MockService;

/// A running page. Dropping it stops it: new requests are refused.
pub struct Page {
    url: String,
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
        mock.set_dashboard(&url);
        let server = axum::serve(listener, router(Served { mock, port }));
        Ok(Self {
            url,
            // Connection errors do not end the server: it runs until it is stopped.
            serving: tokio::spawn(async { _ = server.await }),
        })
    }

    /// Returns the URL of the page, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The state of the server.
#[derive(Clone)]
struct Served {
    mock: Arc<MockService>,
    port: u16,
}

/// Returns an answer that describes the error.
fn problem(status: StatusCode, error: impl Into<String>) -> Response {
    (status, axum::Json(json!({"error": error.into()}))).into_response()
}

const PAGE: &str = include_str!("../assets/page.html");

fn router(served: Served) -> Router {
    Router::new()
        .route("/", get(Html(PAGE)))
        .route("/dockets/{id}", get(Html(PAGE)))
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
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "not found") })
        .layer(middleware::from_fn_with_state(served.clone(), guard::guard))
        .with_state(served)
}

fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse + Clone {
    let kind = [(CONTENT_TYPE, HeaderValue::from_static(kind))];
    (kind, text)
}
