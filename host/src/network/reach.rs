//! The reach of a guest: origins, and the addresses that the names in them may resolve to.

use anyhow::{Result, anyhow};
use http::Uri;
use http::uri::Authority;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use voice_calling_core::Scheme;
use voice_calling_core::base_url::BaseUrl;

/// The reach of a guest.
///
/// An allowed name does not allow every address that a name server returns for it:
///
/// | host of an origin | addresses that it may resolve to |
/// |---|---|
/// | an address, such as `10.0.0.7` or `[::1]` | this one |
/// | `localhost` | 127.0.0.0/8 and `::1` |
/// | any other name | all but local ones: loopback, unspecified, link-local, multicast, broadcast, and sources of cloud credentials |
///
/// Private networks (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7) are not
/// local: a company's own service may well be there.
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
    /// Returns the origin of a service at this URL (a value of `VOICE_CALLING_BASE_URL`), and no
    /// other.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not a URL that the component accepts.
    pub fn of_url(base_url: &str) -> Result<Self> {
        Self::of_urls([base_url])
    }

    /// Returns the origins of services at these URLs, one for each account, and no others.
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
            Reach::Origins(origins) => Origin::of(&url).is_some_and(|it| origins.contains(&it)),
        }
    }

    /// Returns `true` if this host, a name or an address without port, may mean this address.
    pub fn includes_address(&self, host: &str, address: IpAddr) -> bool {
        let host = Host::of(host);
        match self {
            Reach::Loopback => host.is_localhost() && address.is_loopback(),
            Reach::Origins(origins) => {
                origins.iter().any(|it| it.host == host) && host.may_mean(address)
            }
        }
    }
}

/// Scheme, host and port, which must be the same in a request. A URL without a port has the port of
/// its scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: Scheme,
    host: Host,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    /// A name in lower case.
    Name(String),
    Address(IpAddr),
}

impl Origin {
    fn allowed(url: &str) -> Result<Self> {
        let parsed = BaseUrl::parse(url).and_then(|parsed| {
            let host = || format!("the host {:?}", parsed.authority());
            Self::of(&parsed).ok_or_else(host)
        });
        parsed.map_err(|found| {
            // User information may contain a password.
            let shown = match url.contains('@') {
                true => String::new(),
                false => format!(" {url:?}"),
            };
            anyhow!("the allowed URL{shown} must be http(s)://host[:port][/path], found {found}")
        })
    }

    fn of(url: &BaseUrl) -> Option<Self> {
        let authority: Authority = url.authority().parse().ok()?;
        let scheme = url.scheme();
        let default = match scheme {
            Scheme::Http => 80,
            Scheme::Https => 443,
        };
        Some(Self {
            scheme,
            host: Host::of(authority.host()),
            port: authority.port_u16().unwrap_or(default),
        })
    }
}

impl Host {
    /// Parses the host of a URL. The connector treats the same forms as addresses; all others are
    /// names to both.
    fn of(host: &str) -> Self {
        let address = match host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            Some(address) => address.parse().ok().map(IpAddr::V6),
            None => host.parse().ok().map(IpAddr::V4),
        };
        match address {
            Some(address) => Host::Address(address),
            None => Host::Name(host.to_ascii_lowercase()),
        }
    }

    fn is_localhost(&self) -> bool {
        matches!(self, Host::Name(name) if name == "localhost")
    }

    fn may_mean(&self, address: IpAddr) -> bool {
        match self {
            Host::Address(only) => address == *only,
            name if name.is_localhost() => address.is_loopback(),
            Host::Name(_) => !is_local(address),
        }
    }
}

/// The addresses outside of link-local from which clouds give a machine its credentials: Alibaba,
/// Azure, Oracle.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// Returns `true` if an address is this machine, its link or not a single host: loopback,
/// unspecified (0.0.0.0/8, `::`), link-local (169.254.0.0/16, fe80::/10), multicast, broadcast, or
/// a source of cloud credentials. An IPv6 address that stands for an IPv4 address (mapped,
/// compatible, translated, of NAT64, of 6to4, of Teredo) is treated like that one. In
/// 64:ff9b:1::/48, the local prefix of NAT64, it cannot be known which one that is: all of it is
/// local.
fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_local_v4(address),
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unicast_link_local()
                || address.is_multicast()
                || is_metadata_v6(address)
                || address.segments().starts_with(&[0x64, 0xff9b, 1])
                || v4_within(address).into_iter().flatten().any(is_local_v4)
        }
    }
}

fn is_local_v4(address: Ipv4Addr) -> bool {
    let [network, ..] = address.octets();
    // Linux treats 0.0.0.0 as this machine.
    network == 0
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || METADATA_V4.contains(&address)
}

/// Returns `true` for the IPv6 counterparts of [`METADATA_V4`]: AWS (all of its services for a
/// machine), Google, Oracle, Scaleway, Akamai, Alibaba.
fn is_metadata_v6(address: Ipv6Addr) -> bool {
    matches!(
        address.segments(),
        [0xfd00, 0xec2, ..]
            | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]
            | [0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe]
            | [0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42]
            | [0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1]
            | [0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200]
    )
}

/// Returns the IPv4 addresses that an IPv6 address stands for.
fn v4_within(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let v4 = |high: u16, low: u16| Some((u32::from(high) << 16 | u32::from(low)).into());
    match address.segments() {
        // RFC 6052, section 2.1. A name server with DNS64 derives them from any IPv4 address.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        // RFC 2765, section 2.1.
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        // RFC 3056, section 2.
        | [0x2002, high, low, ..] => [v4(high, low), None],
        // RFC 4380, section 4: the server, and the client, whose bits are inverted.
        [0x2001, 0, high, low, _, _, client_high, client_low] => {
            [v4(high, low), v4(!client_high, !client_low)]
        }
        _ => [address.to_ipv4(), None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(address: &str) -> IpAddr {
        address.parse().unwrap()
    }

    #[test]
    fn the_reach_of_loopback_is_this_machine_only() {
        for (authority, within) in [
            ("127.0.0.1:8080", true),
            ("[::1]:80", true),
            ("me@localhost", false),
            ("127.0.0.1.evil.example", false),
            ("10.0.0.1", false),
        ] {
            let url = format!("https://{authority}/v1").parse().unwrap();
            assert_eq!(Reach::Loopback.includes(&url), within, "{url}");
        }
        for (host, address, within) in [
            ("localhost", "127.0.0.1", true),
            ("localhost", "10.0.0.1", false),
            ("api.example", "127.0.0.1", false),
        ] {
            let found = Reach::Loopback.includes_address(host, ip(address));
            assert_eq!(found, within, "{host} {address}");
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
            &["http://[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080"],
            &["http://[::ffff:127.0.0.1]:8080"],
        ];
        for origin in origins {
            for url in origin {
                let reach = Reach::of_url(url).unwrap();
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
    fn a_name_may_resolve_to_any_address_that_is_not_local() {
        let reach = Reach::of_url("https://api.example").unwrap();
        let allowed = [
            &["203.0.113.7", "2001:db8::7"][..],
            // Private networks.
            &[
                "10.0.0.1",
                "172.16.0.1",
                "192.168.0.1",
                "100.64.0.1",
                "fc00::1",
            ],
        ];
        let denied = [
            // Loopback.
            &["127.0.0.1", "127.255.255.254", "::1"][..],
            // Unspecified.
            &["0.0.0.0", "0.1.2.3", "::"],
            // Link-local.
            &["169.254.169.254", "169.254.0.1", "fe80::1", "febf::1"],
            // The credentials of a cloud's machine.
            &["100.100.100.200", "168.63.129.16", "192.0.0.192"],
            &[
                "fd00:ec2::254",
                "fd00:ec2::23",
                "fd20:ce::254",
                "fd00:c1::a9fe:a9fe",
            ],
            &["fd00:42::42", "fd00:a9fe:a9fe::1", "fd00:100::100:200"],
            // No single host.
            &["224.0.0.1", "255.255.255.255", "ff02::1"],
        ];
        for (addresses, expected) in [(&allowed[..], true), (&denied, false)] {
            for address in addresses.concat() {
                let found = reach.includes_address("api.example", ip(address));
                assert_eq!(found, expected, "{address}");
            }
        }
        // A name that is not in the list has no address within reach.
        assert!(!reach.includes_address("other.example", ip("203.0.113.7")));
    }

    #[test]
    fn an_ipv6_address_that_embeds_an_ipv4_address_is_local_if_that_is() {
        for (address, local) in [
            ("203.0.113.7", false),
            ("10.0.0.1", false),
            ("127.0.0.1", true),
            ("0.0.0.0", true),
            ("169.254.169.254", true),
            ("168.63.129.16", true),
            ("224.0.0.1", true),
            ("255.255.255.255", true),
        ] {
            let [a, b, c, d] = address.parse::<Ipv4Addr>().unwrap().octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for form in [
                Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 7, 0, 0, 0, 7),
                // Teredo: the server, and the client behind it.
                Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !0xcb00, !0x7107),
                Ipv6Addr::new(0x2001, 0, 0xcb00, 0x7107, 0, 0, !high, !low),
            ] {
                assert_eq!(is_local(form.into()), local, "{form} of {address}");
            }
            // The position of the address in these depends on the translator.
            let translated = Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low);
            assert!(is_local(translated.into()), "{translated}");
        }
    }

    #[test]
    fn local_addresses_are_within_reach_if_the_allow_list_has_them() {
        for (entry, host, address, allowed) in [
            ("127.0.0.1:8080", "127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1:8080", "127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "localhost", "127.0.0.1", false),
            ("[::1]:80", "[::1]", "::1", true),
            ("LOCALHOST:80", "localhost", "127.0.0.1", true),
            ("localhost", "LocalHost", "::1", true),
            ("localhost", "localhost", "203.0.113.7", false),
            // Names that only look like this machine.
            ("localhost.", "localhost.", "127.0.0.1", false),
            ("a.localhost", "a.localhost", "127.0.0.1", false),
        ] {
            let reach = Reach::of_url(&format!("http://{entry}")).unwrap();
            let found = reach.includes_address(host, ip(address));
            assert_eq!(found, allowed, "{entry}: {host} {address}");
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
