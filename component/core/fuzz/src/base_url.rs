//! The base URL of the service.

use std::net::{IpAddr, Ipv6Addr};
use voice_calling_core::base_url::BaseUrl;
use voice_calling_core::{Scheme, Settings};

/// What is accepted can be written down again and means the same; what is refused says
/// why, without what may be a password. Plain http leaves this machine only where that
/// is allowed, and no setting is longer than servers take.
pub fn base_url(data: &[u8]) {
    let Ok(url) = std::str::from_utf8(data) else {
        return;
    };
    match BaseUrl::parse(url) {
        Ok(base_url) => {
            assert_parts(&base_url, url);
            assert_in_the_clear_only_where_allowed(&base_url, url);
        }
        Err(found) => {
            assert!(!found.is_empty());
            assert!(!url.contains('@') || !found.contains('"'), "{found}");
            assert!(!is_accepted(url, "true"));
        }
    }
}

fn assert_parts(base_url: &BaseUrl, url: &str) {
    let (authority, path) = (base_url.authority(), base_url.path());
    let odd = |c: char| !c.is_ascii_graphic() || "?#\\\"<>".contains(c);
    let odd_in_authority = |c: char| odd(c) || c == '@' || c == '/' || c.is_ascii_uppercase();
    assert!(!authority.is_empty() && !authority.contains(odd_in_authority));
    assert!(path.is_empty() || (path.starts_with('/') && !path.ends_with('/')));
    assert!(!path.contains(odd));
    assert!(
        !path
            .split('/')
            .any(|segment| segment == "." || segment == "..")
    );

    let scheme = match base_url.scheme() {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    let written = format!("{scheme}://{authority}{path}");
    let came = url.trim_end_matches('/');
    assert!(written.eq_ignore_ascii_case(came), "{written:?}");
    assert!(came.ends_with(path), "a path keeps its case");
    assert_eq!(BaseUrl::parse(&written).as_ref(), Ok(base_url));
    assert_eq!(base_url.is_loopback(), is_loopback(host(authority)));
}

/// An authority without its port.
fn host(authority: &str) -> &str {
    match authority.rfind(':') {
        Some(colon) if !authority[colon..].contains(']') => &authority[..colon],
        _ => authority,
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    match bare.parse() {
        Ok(IpAddr::V4(address)) => address.octets()[0] == 127,
        Ok(IpAddr::V6(address)) => address == Ipv6Addr::LOCALHOST,
        Err(_) => host == "localhost",
    }
}

fn assert_in_the_clear_only_where_allowed(base_url: &BaseUrl, url: &str) {
    let safe = base_url.scheme() == Scheme::Https || base_url.is_loopback();
    let is_short = url.len() <= 2_048;
    assert_eq!(is_accepted(url, "false"), safe && is_short, "{url:?}");
    assert_eq!(is_accepted(url, "true"), is_short, "{url:?}");
}

fn is_accepted(url: &str, allow_insecure_http: &str) -> bool {
    let environment = [
        ("VOICE_CALLING_BASE_URL", url),
        ("VOICE_CALLING_API_TOKEN", "t"),
        ("VOICE_CALLING_ALLOW_INSECURE_HTTP", allow_insecure_http),
    ];
    let variables = environment.map(|(variable, value)| (variable.to_owned(), value.to_owned()));
    Settings::from_environment(variables).is_ok()
}
