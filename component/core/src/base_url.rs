//! The base URL of the service: scheme, host, port, and the path that precedes those of all
//! endpoints.

use crate::transport::Scheme;
use std::net::{Ipv4Addr, Ipv6Addr};

const USER_INFORMATION: &str = "user information (`@`)";

/// The maximum lengths of a host's name and of a part of it (RFC 1035, section 2.3.4).
const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// A checked base URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    scheme: Scheme,
    authority: String,
    host: Host,
    path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Name(String),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

impl BaseUrl {
    /// Checks a base URL: `http` or `https`, a host name or address, and optionally a port and a
    /// path. The error says what was found, and never quotes what may be a secret.
    pub fn parse(url: &str) -> Result<Self, String> {
        Self::split(url).map_err(|found| match url.contains('@') {
            // A password may contain any character, also one that ends an authority: its beginning
            // would be quoted as a port, a host or a scheme.
            true if found.contains('"') => USER_INFORMATION.into(),
            _ => found,
        })
    }

    fn split(url: &str) -> Result<Self, String> {
        if url.is_empty() {
            return Err("an empty value".into());
        }
        if let Some(odd) = url.chars().find(|c| !c.is_ascii_graphic()) {
            return Err(format!("the character {odd:?}"));
        }
        // Searching for a text of several characters would add two kilobytes to a guest.
        let mut colons = url.match_indices(':').map(|(index, _)| url.split_at(index));
        let parts = colons.find_map(|(scheme, rest)| Some((scheme, rest.strip_prefix("://")?)));
        let (scheme, rest) = parts.ok_or("no scheme")?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(format!("the scheme {scheme:?}")),
        };
        if rest.contains('?') {
            return Err("a query (`?`)".into());
        }
        if rest.contains('#') {
            return Err("a fragment (`#`)".into());
        }
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        if authority.contains('@') {
            return Err(USER_INFORMATION.into());
        }
        let (host, port) = split_port(authority)?;
        if let Some(port) = port {
            check_port(port)?;
        }
        Ok(Self {
            scheme,
            authority: authority.to_ascii_lowercase(),
            host: Host::parse(host)?,
            path: check_path(path)?.trim_end_matches('/').to_owned(),
        })
    }

    /// Returns the scheme, http or https.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns host and port, in lower case, as in the header `host`.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the path that precedes that of every endpoint: it is empty, or begins with `/`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns `true` if the host is this machine: `localhost`, 127.0.0.0/8 or `[::1]`.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Name(name) => name == "localhost",
            Host::V4(address) => address.is_loopback(),
            Host::V6(address) => address.is_loopback(),
        }
    }
}

/// Splits an authority into host and port; the brackets of an IPv6 address stay.
fn split_port(authority: &str) -> Result<(&str, Option<&str>), String> {
    let host_end = match authority.strip_prefix('[') {
        Some(_) => authority.find(']').ok_or("a `[` without `]`")? + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, rest) = authority.split_at(host_end);
    match rest.strip_prefix(':') {
        Some(port) => Ok((host, Some(port))),
        None if rest.is_empty() => Ok((host, None)),
        None => Err(format!("{rest:?} after the host")),
    }
}

fn check_port(port: &str) -> Result<(), String> {
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(1..) if digits => Ok(()),
        _ => Err(format!("the port {port:?}")),
    }
}

fn check_path(path: &str) -> Result<&str, String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@%".contains(&b);
    if let Some(odd) = path.bytes().find(|b| !allowed(*b)) {
        return Err(format!("the character {:?} in the path", char::from(odd)));
    }
    if path.split('/').any(|segment| matches!(segment, "." | "..")) {
        return Err("a `.` or `..` in the path".into());
    }
    Ok(path)
}

impl Host {
    fn parse(host: &str) -> Result<Self, String> {
        if let Some(address) = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
            return match address.parse() {
                Ok(address) => Ok(Host::V6(address)),
                Err(_) => Err(format!("the host {host:?}, which is not an IPv6 address")),
            };
        }
        if host.is_empty() {
            return Err("no host".into());
        }
        if let Ok(address) = host.parse() {
            return Ok(Host::V4(address));
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        if name.len() > MAX_NAME_BYTES || !name.split('.').all(is_label) || ends_in_number(name) {
            return Err(format!(
                "the host {host:?}, which is neither a name nor an address"
            ));
        }
        Ok(Host::Name(host.to_ascii_lowercase()))
    }
}

/// Returns `true` for a part of a host's name. Underscores are for the networks of Docker, whose
/// names may end with a hyphen as well.
fn is_label(label: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=MAX_LABEL_BYTES).contains(&label.len())
        && !label.starts_with('-')
        && label.bytes().all(allowed)
}

/// Returns `true` for a name that URL parsers read as an IPv4 address, and refuse or rewrite.
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    let hexadecimal = last.strip_prefix("0x").or(last.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|b| b.is_ascii_hexdigit()),
        None => last.bytes().all(|b| b.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_split() {
        for (url, authority, path) in [
            ("https://api.example", "api.example", ""),
            ("https://api.example/", "api.example", ""),
            ("HTTPS://API.Example:8443/", "api.example:8443", ""),
            ("https://api.example/voice/eu/", "api.example", "/voice/eu"),
            ("http://127.0.0.1:8080", "127.0.0.1:8080", ""),
            ("http://[::1]:8080/x", "[::1]:8080", "/x"),
        ] {
            let base = BaseUrl::parse(url).unwrap();
            assert_eq!((base.authority(), base.path()), (authority, path), "{url}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        let loopback = "localhost:1 LOCALHOST 127.0.0.1 127.9.8.7:80 [::1] [0:0:0:0:0:0:0:1]:80";
        let remote = "localhost.evil.example 127.0.0.1.evil.example localhost. 0.0.0.0 [::2] \
            [::ffff:127.0.0.1] 10.0.0.1";
        for (authorities, is_loopback) in [(loopback, true), (remote, false)] {
            for authority in authorities.split_whitespace() {
                let base = BaseUrl::parse(&format!("http://{authority}")).unwrap();
                assert_eq!(base.is_loopback(), is_loopback, "{authority}");
            }
        }
    }

    #[test]
    fn no_part_of_a_password_is_shown() {
        for url in [
            "https://me:secret@api.example",
            "https://me:secret/x@api.example",
            "https://me:secret:x/y@api.example",
            "https://secret\\/x@api.example",
            "https://[::1]secret/@api.example",
            "https://[secret]/@api.example",
            "secret@x://api.example",
        ] {
            let message = BaseUrl::parse(url).unwrap_err();
            assert_eq!(message, "user information (`@`)", "{url}");
        }
        let base = BaseUrl::parse("https://api.example/a@b").unwrap();
        assert_eq!(base.path(), "/a@b", "a path may have an `@`");
    }

    #[test]
    fn the_error_of_a_base_url_says_what_was_found() {
        for (url, found) in [
            ("", "empty"),
            ("api.example", "no scheme"),
            ("ftp://api.example", "scheme \"ftp\""),
            ("://api.example", "scheme \"\""),
            ("https://", "no host"),
            ("https:///path", "no host"),
            ("https://:8080", "no host"),
            ("https://api.example?x=1", "query"),
            ("https://api.example/#top", "fragment"),
            ("https://api.example:0", "port \"0\""),
            ("https://api.example:65536", "port \"65536\""),
            ("https://api.example:", "port \"\""),
            ("https://api.example:+80", "port \"+80\""),
            ("https://::1/", "port \":1\""),
            ("https://[::1", "without `]`"),
            ("https://[::1]x", "after the host"),
            ("https://[fe80::1%25eth0]", "IPv6"),
            ("https://a b", "' '"),
            ("https://\u{e4}.example", "'\u{e4}'"),
            ("https://api.example\n", "'\\n'"),
            ("https://api.example/a/../b", "`..`"),
            ("https://api.example/{x}", "'{'"),
        ] {
            let message = BaseUrl::parse(url).unwrap_err();
            assert!(message.contains(found), "{url:?}: {message}");
        }
    }

    #[test]
    fn a_host_is_a_name_or_an_address_that_a_host_can_have() {
        let label = "a".repeat(63);
        let name = format!("{label}.{label}.{label}.{}", "a".repeat(61));
        let known = "a voice_mock _a db-1_ 1a 7.example a.0xg a-- a.b. 1.2.3.4";
        let known = format!("{known} {name} {name}.");
        for host in known.split_whitespace() {
            assert!(BaseUrl::parse(&format!("http://{host}")).is_ok(), "{host}");
        }
        let unknown = ". .. a..b .a a.. -a a.-b a.- a~b a%20b 256.1.1.1 1.2.3 1.2.3.4.5 1.2.3.4. \
            2130706433 127.1 01.2.3.4 0177.0.0.1 0x7f.1 0x7f000001 a.0x a.1 [1.2.3.4] [] [::g] \
            [1::2::3] [fe80::1%eth0] [1:2:3:4:5:6:7:8:9]";
        let unknown = format!("{unknown} {name}a {label}a.example");
        for host in unknown.split_whitespace() {
            let message = BaseUrl::parse(&format!("http://{host}")).expect_err(host);
            assert!(message.contains("the host"), "{host}: {message}");
        }
    }
}
