//! Access to the page: only for a browser that opened the page's own address, and clicks only from
//! the page itself.

use super::{Served, problem};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::net::IpAddr;

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
    let [host] = values(headers, &HOST)[..] else {
        return Some("the request must have exactly one Host header".to_owned());
    };
    // A foreign name that resolves to this machine would give its site access. Beyond this machine,
    // the names and ports of containers cannot be known.
    let port = served.address.port();
    if served.address.ip().is_loopback() && !is_local(host, port) {
        let host = String::from_utf8_lossy(host);
        let allowed = format!("localhost:{port}, or a loopback address with this port");
        return Some(format!("Host is {host:?}; allowed: {allowed}"));
    }
    // Browsers say which site a click comes from.
    let own = [&b"http://"[..], host].concat();
    let foreign = values(headers, &ORIGIN).into_iter().find(|it| *it != own);
    foreign.map(|foreign| {
        let origin = String::from_utf8_lossy(foreign);
        format!("Origin is {origin:?}; allowed: that of this page")
    })
}

/// Returns `true` for a loopback address or `localhost`, with this port, which HTTP omits if it is 80.
fn is_local(host: &[u8], port: u16) -> bool {
    Authority::try_from(host).is_ok_and(|authority| {
        let name = authority.host().trim_matches(['[', ']']);
        let is_loopback = name
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback());
        (is_loopback || name == "localhost") && authority.port_u16().unwrap_or(80) == port
    })
}

fn values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<&'a [u8]> {
    let values = headers.get_all(name).iter();
    values.map(HeaderValue::as_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn port_80_may_be_omitted_and_no_other() {
        assert!(is_local(b"127.0.0.1", 80) && is_local(b"localhost:80", 80));
        assert!(!is_local(b"127.0.0.1", 8081) && !is_local(b"rebound.example", 80));
    }
}
