//! Access to the page: only for a browser that opened the page's own address, and clicks only from
//! the page itself.

use crate::{Served, problem};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

/// The header that a click must have.
const TOKEN: HeaderName = HeaderName::from_static("x-page-token");

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// Rejects requests that are not from the page, and adds headers to every answer.
pub(crate) async fn guard(State(served): State<Served>, request: Request, next: Next) -> Response {
    let mut answer = match refusal(&served, request.method(), request.headers()) {
        Some(refusal) => problem(StatusCode::FORBIDDEN, refusal),
        None => next.run(request).await,
    };
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn refusal(served: &Served, method: &Method, headers: &HeaderMap) -> Option<String> {
    let port = served.port;
    let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
    let [host] = values(headers, &HOST)[..] else {
        return Some("the request must have exactly one Host header".to_owned());
    };
    // A foreign name that resolves to this machine would give its site access.
    if !hosts.iter().any(|allowed| allowed.as_bytes() == host) {
        let host = String::from_utf8_lossy(host);
        return Some(format!("Host is {host:?}; allowed: {}", hosts.join(", ")));
    }
    let reads = method == Method::GET || method == Method::HEAD;
    if !reads && values(headers, &TOKEN)[..] != [served.token.as_bytes()] {
        return Some(format!(
            "{TOKEN} is missing or wrong; allowed: the token of this page"
        ));
    }
    None
}

fn values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<&'a [u8]> {
    let values = headers.get_all(name).iter();
    values.map(HeaderValue::as_bytes).collect()
}
