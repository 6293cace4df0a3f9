//! What a guest may reach: origins, and the addresses that the names in them may mean.

use anyhow::{Result, anyhow};
use http::Uri;
use http::uri::Authority;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use voice_calling_core::Scheme;
use voice_calling_core::base_url::BaseUrl;

/// What a guest may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// This machine, as `localhost`, 127.0.0.0/8 or `[::1]`, on any port.
    Loopback,
    /// The origins of an allow-list.
    Origins(Origins),
}

impl Reach {
    /// The origin of a service at this URL (a value of `VOICE_CALLING_BASE_URL`), and no other.
    ///
    /// # Errors
    ///
    /// If it is not a URL that the component accepts.
    pub fn of_url(base_url: &str) -> Result<Self> {
        Self::of_urls([base_url])
    }

    /// The origins of services at these URLs, one for each account, and no others.
    ///
    /// # Errors
    ///
    /// If one is not a URL that the component accepts.
    pub fn of_urls<'a>(base_urls: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        Origins::new(base_urls).map(Reach::Origins)
    }

    /// Whether a request to this URL may go out. One that is not `http://host[:port]/…` or
    /// `https://…`, user information among it, may not.
    pub fn includes(&self, url: &Uri) -> bool {
        let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority()) else {
            return false;
        };
        let Ok(url) = BaseUrl::parse(&format!("{scheme}://{authority}")) else {
            return false;
        };
        match self {
            Reach::Loopback => url.is_loopback(),
            Reach::Origins(origins) => Origin::of(&url).is_some_and(|it| origins.include(&it)),
        }
    }

    /// Whether this host, a name or an address without port, may mean this address.
    pub fn includes_address(&self, host: &str, address: IpAddr) -> bool {
        match self {
            Reach::Loopback => host.eq_ignore_ascii_case("localhost") && address.is_loopback(),
            Reach::Origins(origins) => origins.include_address(host, address),
        }
    }
}

/// An allow-list of origins: scheme, host and port, which have to be the same in a request. A URL
/// without a port has the one of its scheme.
///
/// An allowed name does not allow every address that a name server gives for it:
///
/// | host of an origin | addresses that it may mean |
/// |---|---|
/// | an address, such as `10.0.0.7` or `[::1]` | this one |
/// | `localhost` | 127.0.0.0/8 and `::1` |
/// | any other name | all but [local ones](is_local) |
/// | any other name, [as local](Origins::and_local) | all |
///
/// Private networks (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7) are
/// not local: a company's own service may well be there.
///
/// Only `localhost` itself is this machine: `localhost.` and `127.1` are names like any other,
/// so the loopback address that they resolve to is denied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins(Vec<(Origin, Addresses)>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    scheme: Scheme,
    host: Host,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    /// In lower case.
    Name(String),
    Address(IpAddr),
}

/// The addresses that an allowed host may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Addresses {
    One(IpAddr),
    Loopback,
    NotLocal,
    All,
}

impl Origins {
    /// An allow-list of the origins of these URLs, whose paths are ignored. An empty one allows
    /// nothing.
    ///
    /// # Errors
    ///
    /// If one is not `http(s)://host[:port][/path]`.
    pub fn new<'a>(urls: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut allowed = Self::default();
        for url in urls {
            allowed.add(url, Addresses::NotLocal)?;
        }
        Ok(allowed)
    }

    /// The same list and the origin of this URL, which may be at a [local](is_local) address: a
    /// name for a service on this machine, for example in `/etc/hosts`. Other origins of the same
    /// name may then be there as well.
    ///
    /// # Errors
    ///
    /// If it is not `http(s)://host[:port][/path]`.
    pub fn and_local(mut self, url: &str) -> Result<Self> {
        self.add(url, Addresses::All)?;
        Ok(self)
    }

    fn add(&mut self, url: &str, of_a_name: Addresses) -> Result<()> {
        let parsed = BaseUrl::parse(url).and_then(|parsed| {
            let host = || format!("the host {:?}", parsed.authority());
            Origin::of(&parsed).ok_or_else(host)
        });
        let origin = parsed.map_err(|found| {
            // User information may hold a password.
            let shown = match url.contains('@') {
                true => String::new(),
                false => format!(" {url:?}"),
            };
            anyhow!("the allowed URL{shown} must be http(s)://host[:port][/path], found {found}")
        })?;
        let addresses = match &origin.host {
            Host::Address(address) => Addresses::One(*address),
            Host::Name(name) if name == "localhost" => Addresses::Loopback,
            Host::Name(_) => of_a_name,
        };
        self.0.push((origin, addresses));
        Ok(())
    }

    fn include(&self, origin: &Origin) -> bool {
        self.0.iter().any(|(allowed, _)| allowed == origin)
    }

    fn include_address(&self, host: &str, address: IpAddr) -> bool {
        let host = Host::of(host);
        let mut allowed = self.0.iter();
        allowed.any(|(origin, addresses)| origin.host == host && addresses.include(address))
    }
}

impl Origin {
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
    /// A host of a URL. The same forms are addresses to the connector; all others, such as
    /// `127.1`, are names to both.
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
}

impl Addresses {
    fn include(self, address: IpAddr) -> bool {
        match self {
            Addresses::One(only) => address == only,
            Addresses::Loopback => address.is_loopback(),
            Addresses::NotLocal => !is_local(address),
            Addresses::All => true,
        }
    }
}

/// Where clouds give a machine its credentials, outside of link-local: Alibaba, Azure, Oracle.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// Whether an address is this machine, its link or no single host: loopback, unspecified
/// (0.0.0.0/8, `::`), link-local (169.254.0.0/16, fe80::/10), multicast, broadcast, or where
/// clouds give a machine its credentials. An IPv6 address that stands for one of IPv4 (mapped,
/// compatible, translated, of NAT64, of 6to4, of Teredo) is what that one is. In 64:ff9b:1::/48,
/// the local prefix of NAT64, it cannot be known which one that is: all of it is local.
pub fn is_local(address: IpAddr) -> bool {
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
    // Linux takes 0.0.0.0 for this machine.
    network == 0
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || METADATA_V4.contains(&address)
}

/// The same as [`METADATA_V4`]: AWS (all of its services for a machine), Google, Oracle, Scaleway,
/// Akamai, Alibaba.
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

/// The addresses of IPv4 that one of IPv6 stands for.
fn v4_within(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let v4 = |high: u16, low: u16| Some((u32::from(high) << 16 | u32::from(low)).into());
    match address.segments() {
        // RFC 6052, section 2.1. A name server with DNS64 makes them of any address of IPv4.
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
    fn the_reach_of_loopback_is_this_machine_and_nothing_that_looks_like_it() {
        for (authority, within) in [
            ("127.0.0.1:8080", true),
            ("localhost", true),
            ("LocalHost:8080", true),
            ("[::1]:80", true),
            ("[0:0:0:0:0:0:0:1]", true),
            ("[::ffff:127.0.0.1]", false),
            ("localhost.", false),
            ("me@localhost", false),
            ("localhost:0", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("0.0.0.0:80", false),
            ("10.0.0.1", false),
        ] {
            for scheme in ["http", "https"] {
                let url = format!("{scheme}://{authority}/v1").parse().unwrap();
                assert_eq!(Reach::Loopback.includes(&url), within, "{url}");
            }
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
    fn a_name_may_mean_any_address_but_local_ones() {
        for (address, allowed) in [
            ("203.0.113.7", true),
            ("2001:db8::7", true),
            // Private networks.
            ("10.0.0.1", true),
            ("172.16.0.1", true),
            ("192.168.0.1", true),
            ("100.64.0.1", true),
            ("fc00::1", true),
            // Loopback.
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("::1", false),
            // Unspecified.
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("::", false),
            // Link-local.
            ("169.254.169.254", false),
            ("169.254.0.1", false),
            ("fe80::1", false),
            ("febf::1", false),
            // The credentials of a cloud's machine.
            ("100.100.100.200", false),
            ("168.63.129.16", false),
            ("192.0.0.192", false),
            ("fd00:ec2::254", false),
            ("fd00:ec2::23", false),
            ("fd20:ce::254", false),
            ("fd00:c1::a9fe:a9fe", false),
            ("fd00:42::42", false),
            ("fd00:a9fe:a9fe::1", false),
            ("fd00:100::100:200", false),
            // No single host.
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("ff02::1", false),
        ] {
            let reach = Reach::of_url("https://api.example").unwrap();
            let found = reach.includes_address("api.example", ip(address));
            assert_eq!(found, allowed, "{address}");
        }
    }

    #[test]
    fn an_address_of_ipv6_that_stands_for_one_of_ipv4_is_as_local_as_that_one() {
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
            // Where the address is in these depends on the translator.
            let translated = Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low);
            assert!(is_local(translated.into()), "{translated}");
        }
    }

    #[test]
    fn local_addresses_are_within_reach_where_the_allow_list_means_them() {
        for (entry, host, address, allowed) in [
            ("127.0.0.1:8080", "127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1:8080", "127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "localhost", "127.0.0.1", false),
            (
                "169.254.169.254",
                "169.254.169.254",
                "169.254.169.254",
                true,
            ),
            ("[::1]:80", "[::1]", "::1", true),
            (
                "[::ffff:127.0.0.1]",
                "[::ffff:127.0.0.1]",
                "::ffff:127.0.0.1",
                true,
            ),
            ("LOCALHOST:80", "localhost", "127.0.0.1", true),
            ("localhost", "LocalHost", "::1", true),
            ("localhost", "localhost", "203.0.113.7", false),
            ("localhost", "localhost", "169.254.169.254", false),
            // Names that only look like this machine.
            ("localhost.", "localhost.", "127.0.0.1", false),
            ("a.localhost", "a.localhost", "127.0.0.1", false),
            ("2130706433", "2130706433", "127.0.0.1", false),
            ("0x7f.1", "0x7f.1", "127.0.0.1", false),
            ("127.1", "127.1", "127.0.0.1", false),
            ("127.0.0.01", "127.0.0.01", "127.0.0.1", false),
            // Of a name that is not in the list, nothing is.
            ("api.example", "other.example", "203.0.113.7", false),
        ] {
            let reach = Reach::of_url(&format!("http://{entry}")).unwrap();
            let found = reach.includes_address(host, ip(address));
            assert_eq!(found, allowed, "{entry}: {host} {address}");
        }
    }

    #[test]
    fn a_name_that_is_allowed_as_local_may_mean_any_address_and_no_other_name_may() {
        let origins = Origins::new(["https://api.example"]).unwrap();
        let reach = Reach::Origins(origins.and_local("http://sidecar.example:8080").unwrap());
        for (url, within) in [
            ("https://api.example/v1", true),
            ("http://sidecar.example:8080/v1", true),
            ("https://sidecar.example:8080/v1", false),
            ("http://api.example/v1", false),
        ] {
            assert_eq!(reach.includes(&url.parse().unwrap()), within, "{url}");
        }
        for (host, address, allowed) in [
            ("sidecar.example", "127.0.0.1", true),
            ("Sidecar.example", "fe80::1", true),
            ("sidecar.example", "203.0.113.7", true),
            ("api.example", "127.0.0.1", false),
        ] {
            let found = reach.includes_address(host, ip(address));
            assert_eq!(found, allowed, "{host} {address}");
        }
    }

    #[test]
    fn what_is_not_an_origin_is_refused_by_an_error_that_says_what_was_found() {
        let must = "must be http(s)://host[:port][/path], found";
        for (entry, of_entry, found) in [
            ("", " \"\"", "an empty value"),
            ("api.example", " \"api.example\"", "no scheme"),
            ("ftp://a", " \"ftp://a\"", "the scheme \"ftp\""),
            ("http://*.a", " \"http://*.a\"", "the host \"*.a\""),
            ("http://a:0", " \"http://a:0\"", "the port \"0\""),
            ("http://a?x", " \"http://a?x\"", "a query (`?`)"),
            ("http://me:secret@a", "", "user information (`@`)"),
        ] {
            let error = Origins::new(["https://good.example", entry]).unwrap_err();
            let expected = format!("the allowed URL{of_entry} {must} {found}");
            assert_eq!(error.to_string(), expected);
            let error = Origins::default().and_local(entry).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
