//! Sends HTTP requests, bounded in time and size.

pub use wstd::http::{HeaderMap, Method, Request, Uri};

use wstd::future::FutureExt;
use wstd::http::body::Bytes;
use wstd::http::body::util::{BodyExt, Empty};
use wstd::http::error::ErrorCode;
use wstd::http::{Body, Client, Error, Response};
use wstd::runtime::block_on;
use wstd::time::Duration;

use crate::Window;

/// The answer to a request. Redirects are not followed.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Window,
}

/// Sends a request. `window` returns the part of the body to read, or the reason to reject the
/// answer. The error is for people to read, and contains nothing that was sent or received.
pub fn send(
    request: Request<String>,
    limit_ms: u64,
    window: impl FnOnce(u16, &HeaderMap) -> Result<Window, String>,
) -> Result<Answer, String> {
    let limit = Duration::from_millis(limit_ms);
    // wstd writes even a body of no bytes, unless it has no frames. The engine may have closed it
    // by then: writing fails, and the answer is lost.
    let request = request.map(|text| match text.is_empty() {
        true => Body::from_http_body(Empty::<Bytes>::new()),
        false => Body::from(text),
    });
    let exchange = async {
        let response = Client::new().send(request).await.map_err(reason)?;
        read(response, window).await
    };
    // The timer needs the reactor that `block_on` starts.
    block_on(async { exchange.timeout(limit).await })
        .unwrap_or_else(|_| Err(format!("no complete response within {limit_ms} ms")))
}

async fn read(
    response: Response<Body>,
    window: impl FnOnce(u16, &HeaderMap) -> Result<Window, String>,
) -> Result<Answer, String> {
    let (head, body) = response.into_parts();
    let status = head.status.as_u16();
    let mut window = window(status, &head.headers)?;
    let mut body = body.into_boxed_body();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| format!("the response body ended early: {}", reason(error)))?;
        if frame.data_ref().is_some_and(|chunk| !window.take(chunk)) {
            break;
        }
    }
    Ok(Answer {
        status,
        headers: head.headers,
        body: window,
    })
}

fn reason(error: Error) -> String {
    match error.downcast_ref::<ErrorCode>() {
        Some(ErrorCode::HttpRequestDenied) => {
            "the engine does not allow this origin: deployment.toml and server.toml both have to, \
             by default with a variable whose name ends with _ORIGIN"
                .to_owned()
        }
        Some(code) => format!("{code:?}"),
        None => format!("{error:#}"),
    }
}
