//! Which proxy a request takes.

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use std::net::IpAddr;
use std::{env, io};

/// The proxies of requests. None is used for `localhost`, 127.0.0.0/8 and `[::1]`, whatever is set: a
/// proxy that got such a request would read its token in clear text, and could not answer it.
#[derive(Debug)]
pub struct Proxies(Matcher);

impl Proxies {
    /// Returns the proxies of the environment: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
    /// `NO_PROXY`, in either case. A CGI program has none, since a header of its requests would set
    /// `HTTP_PROXY`.
    pub fn from_env() -> Self {
        match env::var_os("REQUEST_METHOD") {
            Some(_) => Self::none(),
            None => Self::of_variables(|name| env::var(name).ok()),
        }
    }

    /// Returns no proxy at all.
    pub fn none() -> Self {
        Self(Matcher::builder().build())
    }

    /// Returns a proxy for all requests: `http://host:port` or `https://host:port`, with
    /// `user:password@` if it wants them.
    pub fn all(url: &str) -> Self {
        Self(Matcher::builder().all(readable(url)).build())
    }

    fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| {
            let value = variable(name).or_else(|| variable(&name.to_lowercase()));
            value.unwrap_or_default()
        };
        let proxies = Matcher::builder()
            .all(readable(&value("ALL_PROXY")))
            .http(readable(&value("HTTP_PROXY")))
            .https(readable(&value("HTTPS_PROXY")))
            .no(value("NO_PROXY"));
        Self(proxies.build())
    }

    /// Returns the proxy of a request, or `None` if it goes to its host directly.
    ///
    /// # Errors
    /// Returns an error if it has a proxy that cannot be used. It is not shown: it may contain a
    /// password.
    pub fn of(&self, uri: &Uri) -> io::Result<Option<Intercept>> {
        if is_loopback(uri) {
            return Ok(None);
        }
        let proxy = self.0.intercept(uri);
        match proxy.as_ref().and_then(|proxy| proxy.uri().scheme_str()) {
            None | Some("http" | "https") => Ok(proxy),
            Some(_) => {
                let message = "the proxy is neither http://host:port nor https://host:port";
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
        }
    }
}

/// Returns the URL of a proxy, or one that cannot be used in its place. The matcher ignores what it
/// cannot read, and a request would go out without its proxy.
fn readable(url: &str) -> &str {
    let any = Uri::from_static("https://api.example");
    let proxy = Matcher::builder().all(url).build().intercept(&any);
    match proxy.is_some() || url.is_empty() {
        true => url,
        false => "socks5://unreadable",
    }
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the proxy of a URL with these variables.
    fn proxy(variables: &[(&str, &str)], url: &'static str) -> Result<Option<String>, ()> {
        let proxies = Proxies::of_variables(|name| {
            let mut variables = variables.iter();
            let found = variables.find(|(variable, _)| *variable == name)?;
            Some(found.1.to_owned())
        });
        let proxy = proxies.of(&Uri::from_static(url)).map_err(drop)?;
        Ok(proxy.map(|proxy| proxy.uri().to_string()))
    }

    #[test]
    fn a_host_has_the_proxy_of_its_scheme_unless_it_is_excepted() {
        let variables = [
            ("ALL_PROXY", "http://all.example:1"),
            ("https_proxy", "secure.example:2"),
            ("NO_PROXY", "direct.example, 10.0.0.0/8"),
        ];
        for (url, expected) in [
            ("http://api.example", Some("http://all.example:1/")),
            ("https://api.example", Some("http://secure.example:2/")),
            ("https://a.direct.example", None),
            ("https://10.1.2.3", None),
        ] {
            assert_eq!(proxy(&variables, url), Ok(expected.map(str::to_owned)));
        }
        assert_eq!(proxy(&[], "https://api.example"), Ok(None));
    }

    #[test]
    fn loopback_is_direct_and_other_hosts_refuse_a_proxy_that_cannot_be_used() {
        for url in [
            "socks://proxy:1",
            "socks5h://proxy:1",
            "ftp://proxy",
            "http://",
            "a b",
        ] {
            let variables = [("ALL_PROXY", url)];
            assert_eq!(proxy(&variables, "https://api.example"), Err(()), "{url}");
            for loopback in [
                "http://localhost:80",
                "http://127.9.8.7",
                "https://[::1]:8443",
            ] {
                assert_eq!(proxy(&variables, loopback), Ok(None), "{url}");
            }
        }
        let all = [
            ("ALL_PROXY", "socks://proxy:1"),
            ("HTTPS_PROXY", "http://p:1"),
        ];
        assert!(proxy(&all, "https://api.example").is_ok_and(|it| it.is_some()));
    }
}
