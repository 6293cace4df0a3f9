//! Access to the page: only for a browser that opened the page's own address, and clicks only from
//! the page itself.

use super::{Served, problem};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// Rejects requests that are not from the page, and adds headers to every answer.
pub(crate) async fn guard(State(served): State<Served>, request: Request, next: Next) -> Response {
    let mut answer = match refusal(&served, request.headers()) {
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

fn refusal(served: &Served, headers: &HeaderMap) -> Option<String> {
    let port = served.address.port();
    let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
    let [host] = values(headers, &HOST)[..] else {
        return Some("the request must have exactly one Host header".to_owned());
    };
    // A foreign name that resolves to this machine would give its site access. Beyond this machine,
    // the names and ports of containers cannot be known.
    let is_local = served.address.ip().is_loopback();
    if is_local && !hosts.iter().any(|allowed| allowed.as_bytes() == host) {
        let host = String::from_utf8_lossy(host);
        return Some(format!("Host is {host:?}; allowed: {}", hosts.join(", ")));
    }
    // Browsers say which site a click comes from.
    let own = [&b"http://"[..], host].concat();
    let foreign = values(headers, &ORIGIN).into_iter().find(|it| *it != own);
    foreign.map(|foreign| {
        let origin = String::from_utf8_lossy(foreign);
        format!("Origin is {origin:?}; allowed: that of this page")
    })
}

fn values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<&'a [u8]> {
    let values = headers.get_all(name).iter();
    values.map(HeaderValue::as_bytes).collect()
}
