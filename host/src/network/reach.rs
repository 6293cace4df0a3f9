//! The reach of a guest: origins, and the addresses that the names in them may resolve to.

use anyhow::{Result, anyhow};
use http::Uri;
use std::net::IpAddr;
use voice_calling_core::Scheme;
use voice_calling_core::base_url::BaseUrl;

/// The reach of a guest.
///
/// An allowed name does not allow every address that a name server returns for it: `localhost` may
/// resolve to loopback only, and any other name to anything but this machine and its link
/// (loopback, unspecified, link-local). Private networks are allowed: a company's own service may
/// well be there. Over https the service proves its name as well.
///
/// Only `localhost` itself is this machine: `localhost.` is a name like any other, so the loopback
/// address that it resolves to is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// This machine, as `localhost`, 127.0.0.0/8 or `[::1]`, on any port.
    Loopback,
    /// The origins of an allow-list. An empty one allows nothing.
    Origins(Vec<Origin>),
}

impl Reach {
    /// Returns the origins of services at these URLs (values of `VOICE_CALLING_BASE_URL`), one for
    /// each account, and no others.
    ///
    /// # Errors
    ///
    /// Returns an error if one is not a URL that the component accepts.
    pub fn of_urls<'a>(base_urls: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let origins = base_urls.into_iter().map(Origin::allowed);
        Ok(Reach::Origins(origins.collect::<Result<_>>()?))
    }

    /// Returns `true` if a request to this URL may be sent. A URL that is not
    /// `http://host[:port]/…` or `https://…`, or that contains user information, is out of reach.
    pub fn includes(&self, url: &Uri) -> bool {
        let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
            return false;
        };
        let Ok(url) = BaseUrl::parse(&format!("{scheme}://{authority}")) else {
            return false;
        };
        match self {
            Reach::Loopback => url.is_loopback(),
            Reach::Origins(origins) => origins.contains(&Origin::of(&url)),
        }
    }
}

/// Scheme, host and port, which must be the same in a request. The host is compared as it is
/// written, in lower case; a URL without a port has the port of its scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: Scheme,
    /// Host, and the port if it is not that of the scheme.
    authority: String,
}

impl Origin {
    fn allowed(url: &str) -> Result<Self> {
        let parsed = BaseUrl::parse(url).map_err(|found| {
            // User information may contain a password.
            let shown = match url.contains('@') {
                true => String::new(),
                false => format!(" {url:?}"),
            };
            anyhow!("the allowed URL{shown} must be http(s)://host[:port][/path], found {found}")
        })?;
        Ok(Self::of(&parsed))
    }

    fn of(url: &BaseUrl) -> Self {
        let default = match url.scheme() {
            Scheme::Http => ":80",
            Scheme::Https => ":443",
        };
        let authority = url.authority();
        Self {
            scheme: url.scheme(),
            authority: authority.strip_suffix(default).unwrap_or(authority).into(),
        }
    }
}

/// Returns `true` if a name may resolve to this address. An IPv6 address that maps an IPv4 address
/// is treated like that one.
pub(crate) fn may_resolve_to(name: &str, address: IpAddr) -> bool {
    let address = address.to_canonical();
    if name.eq_ignore_ascii_case("localhost") {
        return address.is_loopback();
    }
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(address.is_loopback() || address.is_unspecified() || is_link_local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reach_of_loopback_is_this_machine_only() {
        for (authority, within) in [
            ("127.0.0.1:8080", true),
            ("[::1]:80", true),
            ("LocalHost:80", true),
            ("me@localhost", false),
            ("127.0.0.1.evil.example", false),
            ("10.0.0.1", false),
        ] {
            let url = format!("https://{authority}/v1").parse().unwrap();
            assert_eq!(Reach::Loopback.includes(&url), within, "{url}");
        }
    }

    #[test]
    fn the_reach_of_a_url_is_its_scheme_host_and_port_and_no_other() {
        // Each line is one origin.
        let origins = [
            &["https://api.example", "https://API.example:443/v1"][..],
            &["http://api.example", "http://Api.Example:80/"],
            &["https://api.example:80"],
            &["http://api.example:443"],
            &["https://api.example."],
            &["https://x.api.example"],
            &["https://203.0.113.7"],
            &["http://127.0.0.1:8080"],
            &["http://localhost:8080"],
            &["http://[::1]:8080"],
            &["http://[::ffff:127.0.0.1]:8080"],
        ];
        for origin in origins {
            for url in origin {
                let reach = Reach::of_urls([*url]).unwrap();
                for other in origins {
                    for requested in other {
                        let included = reach.includes(&requested.parse().unwrap());
                        assert_eq!(included, origin == other, "{url} {requested}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_request_that_is_not_clearly_to_an_allowed_origin_is_out_of_reach() {
        let reach = Reach::of_urls(["https://api.example", "https://[fe80::1]"]).unwrap();
        for url in [
            "https://me@api.example",
            "https://me:secret@api.example:443",
            "https://api.example@evil.example",
            "ftp://api.example",
            "https://api.example:0",
            "https://[fe80::1%25eth0]",
            "/path-alone",
        ] {
            assert!(!reach.includes(&url.parse().unwrap()), "{url}");
        }
    }

    #[test]
    fn a_name_may_resolve_to_any_address_that_is_not_this_machine_or_its_link() {
        let allowed = [
            "203.0.113.7",
            "2001:db8::7",
            "10.0.0.1",
            "100.64.0.1",
            "fc00::1",
        ];
        let local = ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"];
        let denied = [
            "0.0.0.0",
            "::",
            "169.254.169.254",
            "fe80::1",
            "::ffff:169.254.0.1",
        ];
        // The second and the third only look like this machine.
        for (name, is_localhost) in [
            ("api.example", false),
            ("localhost.", false),
            ("a.localhost", false),
            ("localhost", true),
            ("LocalHost", true),
        ] {
            for (addresses, expected) in [
                (&allowed[..], !is_localhost),
                (&local, is_localhost),
                (&denied, false),
            ] {
                for address in addresses {
                    let found = may_resolve_to(name, address.parse().unwrap());
                    assert_eq!(found, expected, "{name} {address}");
                }
            }
        }
    }

    #[test]
    fn the_error_of_an_invalid_origin_says_what_was_found() {
        let must = "must be http(s)://host[:port][/path], found";
        for (entry, of_entry, found) in [
            ("api.example", " \"api.example\"", "no scheme"),
            ("http://a:0", " \"http://a:0\"", "the port \"0\""),
            ("http://me:secret@a", "", "user information (`@`)"),
        ] {
            let error = Reach::of_urls(["https://good.example", entry]).unwrap_err();
            let expected = format!("the allowed URL{of_entry} {must} {found}");
            assert_eq!(error.to_string(), expected);
        }
    }
}
