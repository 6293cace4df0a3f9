//! What a guest may reach: hosts by what they are called in a URL, and the addresses that
//! these names may mean.

use anyhow::{Result, anyhow};
use http::uri::Authority;
use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};
use voice_calling_core::base_url::BaseUrl;

/// The hosts that a guest may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// This machine, as `localhost`, 127.0.0.0/8 or `[::1]`, on any port.
    Loopback,
    /// The hosts of an allow-list.
    Hosts(Hosts),
}

impl Reach {
    /// The host of a service at this URL (a value of `VOICE_CALLING_BASE_URL`), and no other.
    ///
    /// # Errors
    ///
    /// If it is not a URL that the component accepts.
    pub fn of_url(base_url: &str) -> Result<Self> {
        Self::of_urls([base_url])
    }

    /// The hosts of services at these URLs, one for each account, and no others.
    ///
    /// # Errors
    ///
    /// If one is not a URL that the component accepts.
    pub fn of_urls<'a>(base_urls: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut hosts = Hosts::default();
        for base_url in base_urls {
            let url = BaseUrl::parse(base_url).map_err(|found| {
                anyhow!("the base URL must be http(s)://host[:port][/path], found {found}")
            })?;
            hosts.add(url.authority(), Addresses::NotLocal)?;
        }
        Ok(Reach::Hosts(hosts))
    }

    /// Whether a request to this authority (`host` or `host:port`) may go out.
    pub fn includes(&self, authority: &str) -> bool {
        match self {
            Reach::Loopback => {
                // The usual ones, which need not be taken apart.
                let usual: Result<SocketAddrV4, _> = authority.parse();
                usual.is_ok_and(|it| it.ip().is_loopback() && it.port() != 0)
                    || BaseUrl::parse(&format!("http://{authority}"))
                        .is_ok_and(|url| url.is_loopback())
            }
            Reach::Hosts(hosts) => hosts.include(authority),
        }
    }

    /// Whether this host, a name or an address without port, may mean this address.
    pub fn includes_address(&self, host: &str, address: IpAddr) -> bool {
        match self {
            Reach::Loopback => self.includes(host) && address.is_loopback(),
            Reach::Hosts(hosts) => hosts.include_address(host, address),
        }
    }
}

/// An allow-list of hosts, `host` or `host:port` as in a URL. The port has to be the same in a
/// request; an entry without one allows requests without one.
///
/// An allowed name does not allow every address that a name server gives for it:
///
/// | entry | addresses that it may mean |
/// |---|---|
/// | an address, such as `10.0.0.7` or `[::1]:8080` | this one |
/// | `localhost` | 127.0.0.0/8 and `::1` |
/// | any other name | all but [local ones](is_local) |
/// | any other name, [as local](Hosts::and_local) | all |
///
/// Private networks (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, fc00::/7) are
/// not local: a company's own service may well be there.
///
/// Only `localhost` itself is this machine: `localhost.` and `127.1` are names like any other,
/// so the loopback address that they resolve to is denied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(BTreeMap<String, Allowed>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Allowed {
    /// Without port.
    host: String,
    addresses: Addresses,
}

/// The addresses that an allowed host may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Addresses {
    One(IpAddr),
    Loopback,
    NotLocal,
    All,
}

impl Hosts {
    /// An allow-list of these hosts. An empty one allows nothing.
    ///
    /// # Errors
    ///
    /// If one is not `host` or `host:port`.
    pub fn new<'a>(hosts: impl IntoIterator<Item = &'a str>) -> Result<Self, NotAHost> {
        let mut allowed = Self::default();
        for host in hosts {
            allowed.add(host, Addresses::NotLocal)?;
        }
        Ok(allowed)
    }

    /// The same list and this host, which may be at a [local](is_local) address: a name for a
    /// service on this machine, for example in `/etc/hosts`. Other ports of the same name may
    /// then be there as well.
    ///
    /// # Errors
    ///
    /// If it is not `host` or `host:port`.
    pub fn and_local(mut self, host: &str) -> Result<Self, NotAHost> {
        self.add(host, Addresses::All)?;
        Ok(self)
    }

    fn add(&mut self, entry: &str, of_a_name: Addresses) -> Result<(), NotAHost> {
        let (authority, host) = take_apart(entry).map_err(|found| NotAHost {
            entry: entry.to_owned(),
            found,
        })?;
        let addresses = match address_in(&host) {
            Some(address) => Addresses::One(address),
            None if host == "localhost" => Addresses::Loopback,
            None => of_a_name,
        };
        self.0.insert(authority, Allowed { host, addresses });
        Ok(())
    }

    fn include(&self, authority: &str) -> bool {
        self.0.contains_key(&authority.to_ascii_lowercase())
    }

    fn include_address(&self, host: &str, address: IpAddr) -> bool {
        let mut allowed = self.0.values();
        allowed.any(|it| it.host.eq_ignore_ascii_case(host) && it.addresses.include(address))
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

/// Authority and host of an entry, in lower case.
fn take_apart(entry: &str) -> Result<(String, String), String> {
    if entry.contains('/') {
        return Err("a `/`".to_owned());
    }
    let url = BaseUrl::parse(&format!("http://{entry}"))?;
    let authority = url.authority();
    let parsed: Authority = authority
        .parse()
        .map_err(|_| format!("the host {authority:?}"))?;
    Ok((authority.to_owned(), parsed.host().to_owned()))
}

/// The address that a host of a URL is, if it is not a name. The same forms are addresses to
/// the connector; all others, such as `127.1`, are names to both.
fn address_in(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        Some(address) => address.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

/// What is not a host of an allow-list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAHost {
    entry: String,
    found: String,
}

impl fmt::Display for NotAHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, found } = self;
        match entry.contains('@') {
            // It may hold a password.
            true => write!(formatter, "an allowed host")?,
            false => write!(formatter, "the allowed host {entry:?}")?,
        }
        write!(
            formatter,
            " must be host or host:port as in a URL, found {found}"
        )
    }
}

impl StdError for NotAHost {}

/// Where clouds give a machine its credentials, outside of link-local: Alibaba, Azure.
const METADATA_V4: [Ipv4Addr; 2] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(168, 63, 129, 16),
];

/// The same: AWS, Google.
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// Whether an address is this machine, its link or no single host: loopback, unspecified
/// (0.0.0.0/8, `::`), link-local (169.254.0.0/16, fe80::/10), multicast, broadcast, or where
/// clouds give a machine its credentials. An IPv6 address that stands for one of IPv4 (mapped,
/// compatible, of NAT64) is what that one is.
pub fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_local_v4(address),
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unicast_link_local()
                || address.is_multicast()
                || METADATA_V6.contains(&address)
                || v4_within(address).is_some_and(is_local_v4)
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

fn v4_within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        // RFC 6052, section 2.1. A name server with DNS64 makes them of any address of IPv4.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some((u32::from(high) << 16 | u32::from(low)).into())
        }
        _ => address.to_ipv4(),
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
            ("[::1]:80", true),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("0.0.0.0:80", false),
            ("10.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(Reach::Loopback.includes(authority), within, "{authority:?}");
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
    fn named_hosts_are_matched_with_their_port_in_any_case() {
        let reach = Reach::Hosts(Hosts::new(["Api.example:8443"]).unwrap());
        for (authority, within) in [
            ("api.example:8443", true),
            ("API.EXAMPLE:8443", true),
            ("api.example", false),
            ("api.example:443", false),
            ("api.example.:8443", false),
            ("x.api.example:8443", false),
        ] {
            assert_eq!(reach.includes(authority), within, "{authority}");
        }
    }

    #[test]
    fn the_reach_of_a_url_is_its_host_and_no_other_not_even_another_port() {
        for (url, authority, within) in [
            ("https://API.example/v1", "api.example", true),
            ("https://api.example/v1", "api.example:8443", false),
            ("http://127.0.0.1:8080", "127.0.0.1:8080", true),
            ("http://127.0.0.1:8080", "127.0.0.1:8081", false),
            ("http://127.0.0.1:8080", "localhost:8080", false),
        ] {
            let reach = Reach::of_url(url).unwrap();
            assert_eq!(reach.includes(authority), within, "{url} {authority}");
        }
        let error = Reach::of_url("api.example").unwrap_err();
        assert!(error.to_string().ends_with("found no scheme"), "{error}");
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
            ("::ffff:10.0.0.1", true),
            ("64:ff9b::203.0.113.7", true),
            // Loopback.
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::127.0.0.1", false),
            ("64:ff9b::127.0.0.1", false),
            // Unspecified.
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("::", false),
            ("::ffff:0.0.0.0", false),
            // Link-local.
            ("169.254.169.254", false),
            ("169.254.0.1", false),
            ("fe80::1", false),
            ("febf::1", false),
            ("::ffff:169.254.169.254", false),
            ("::169.254.169.254", false),
            ("64:ff9b::169.254.169.254", false),
            // The credentials of a cloud's machine.
            ("100.100.100.200", false),
            ("168.63.129.16", false),
            ("fd00:ec2::254", false),
            ("fd20:ce::254", false),
            // No single host.
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("ff02::1", false),
            ("::ffff:255.255.255.255", false),
        ] {
            let reach = Reach::Hosts(Hosts::new(["api.example"]).unwrap());
            let found = reach.includes_address("api.example", ip(address));
            assert_eq!(found, allowed, "{address}");
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
            let hosts = Hosts::new([entry]).unwrap();
            let found = Reach::Hosts(hosts).includes_address(host, ip(address));
            assert_eq!(found, allowed, "{entry}: {host} {address}");
        }
    }

    #[test]
    fn a_name_that_is_allowed_as_local_may_mean_any_address_and_no_other_name_may() {
        let hosts = Hosts::new(["api.example"]).unwrap();
        let reach = Reach::Hosts(hosts.and_local("sidecar.example:8080").unwrap());
        assert!(reach.includes("sidecar.example:8080"));
        assert!(reach.includes("api.example"));
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
    fn what_is_not_a_host_is_refused_by_an_error_that_says_what_was_found() {
        for (entry, message) in [
            (
                "",
                "the allowed host \"\" must be host or host:port as in a URL, found no host",
            ),
            ("https://api.example", "found a `/`"),
            ("api.example/v1", "found a `/`"),
            ("*.example", "found the host \"*.example\""),
            ("api.example:", "found the port \"\""),
            ("api.example:0", "found the port \"0\""),
            ("::1", "found the port \":1\""),
            ("api.example?x", "found a query (`?`)"),
            ("api example", "found the character ' '"),
            (
                "me:secret@api.example",
                "an allowed host must be host or host:port as in a URL, found user information (`@`)",
            ),
        ] {
            let refused = Hosts::new(["good.example", entry]).unwrap_err();
            assert_eq!(Hosts::default().and_local(entry).unwrap_err(), refused);
            let told = refused.to_string();
            assert!(told.ends_with(message), "{entry:?}: {told}");
            assert!(!told.contains("secret"), "{told}");
        }
    }
}
