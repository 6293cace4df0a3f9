//! Sends HTTP requests, bounded in time and size.

pub use wstd::http::{Method, Request, Uri};

use wstd::future::FutureExt;
use wstd::http::body::Bytes;
use wstd::http::body::util::{BodyExt, Empty};
use wstd::http::error::ErrorCode;
use wstd::http::{Body, Client, Error, Response};
use wstd::runtime::block_on;
use wstd::time::Duration;

/// The answer to a request. Redirects are not followed.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    /// Whether the body was longer, and is cut at the limit.
    pub is_cut: bool,
}

/// Sends a request, and reads at most `most_bytes` of the answer's body. The error is for people to
/// read, and contains nothing that was sent or received.
pub fn send(request: Request<String>, limit_ms: u64, most_bytes: usize) -> Result<Answer, String> {
    let limit = Duration::from_millis(limit_ms);
    // wstd writes even a body of no bytes, unless it has no frames. The engine may have closed it
    // by then: writing fails, and the answer is lost.
    let request = request.map(|text| match text.is_empty() {
        true => Body::from_http_body(Empty::<Bytes>::new()),
        false => Body::from(text),
    });
    let exchange = async {
        let response = Client::new().send(request).await.map_err(reason)?;
        read(response, most_bytes).await
    };
    // The timer needs the reactor that `block_on` starts.
    block_on(async { exchange.timeout(limit).await })
        .unwrap_or_else(|_| Err(format!("no complete response within {limit_ms} ms")))
}

async fn read(response: Response<Body>, most_bytes: usize) -> Result<Answer, String> {
    let (head, frames) = response.into_parts();
    let mut frames = frames.into_boxed_body();
    let (mut body, mut is_cut) = (Vec::new(), false);
    while !is_cut && let Some(frame) = frames.frame().await {
        let frame =
            frame.map_err(|error| format!("the response body ended early: {}", reason(error)))?;
        if let Some(chunk) = frame.data_ref() {
            is_cut = !add(&mut body, chunk, most_bytes);
        }
    }
    Ok(Answer {
        status: head.status.as_u16(),
        body,
        is_cut,
    })
}

/// Adds the next bytes of a body. Returns `false` if they exceed the limit, at which they are cut.
fn add(body: &mut Vec<u8>, chunk: &[u8], most_bytes: usize) -> bool {
    let room = most_bytes - body.len();
    body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    chunk.len() <= room
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

#[cfg(test)]
mod tests {
    use super::add;

    #[test]
    fn a_body_is_cut_where_it_exceeds_the_limit() {
        let mut body = Vec::new();
        assert!(add(&mut body, b"abc", 5));
        assert!(add(&mut body, b"de", 5));
        assert!(add(&mut body, b"", 5));
        assert!(!add(&mut body, b"f", 5));
        assert_eq!(body, b"abcde");
        assert!(!add(&mut Vec::new(), b"abcdef", 5));
    }
}
