//! The setting `BASE_URL`: where the service is.

use crate::operation::Operation::ListAgents;
use crate::operation::Run;
use crate::script::TOKEN;
use crate::settings::{assert_good, assert_problem};
use crate::stage::instance;
use http::StatusCode;
use voice_calling_host::{InMemoryNetwork, Outgoing, Reach, network};

#[tokio::test(start_paused = true)]
async fn a_bad_base_url_is_told_by_what_is_bad_in_it() {
    let allowed = "http(s)://host[:port][/path], such as https://api.example";
    for (url, found) in [
        ("", "an empty value"),
        ("api.example", "no scheme"),
        ("//api.example", "no scheme"),
        ("127.0.0.1:8080", "no scheme"),
        ("ftp://api.example", "the scheme \"ftp\""),
        ("https://", "no host"),
        ("https:///path", "no host"),
        ("https://:80", "no host"),
        ("https://api.example?x=1", "a query (`?`)"),
        ("https://api.example/v1?", "a query (`?`)"),
        ("https://api.example/#top", "a fragment (`#`)"),
        ("https://user@api.example", "user information (`@`)"),
        ("https://user:secret@api.example", "user information (`@`)"),
        ("http://127.0.0.1@evil.example", "user information (`@`)"),
        ("https://api.example:", "the port \"\""),
        ("https://api.example:0", "the port \"0\""),
        ("https://api.example:65536", "the port \"65536\""),
        ("https://api.example:80a", "the port \"80a\""),
        ("https://api.example:+80", "the port \"+80\""),
        ("https://[::1", "a `[` without `]`"),
        ("https://[::1]x", "\"x\" after the host"),
        ("https://api example", "the character ' '"),
        ("https://api.example/\n", "the character '\\n'"),
        ("https://\u{e4}.example", "the character '\u{e4}'"),
        ("https://api.example/a/../b", "a `.` or `..` in the path"),
        ("https://api..example", "the host \"api..example\""),
    ] {
        assert_problem(&[("BASE_URL", url)], "BASE_URL", found, allowed).await;
    }
}

#[tokio::test(start_paused = true)]
async fn plain_http_to_a_remote_host_must_be_allowed_deliberately() {
    let allowed = "https, or VOICE_CALLING_ALLOW_INSECURE_HTTP=true";
    for (url, host) in [
        ("http://api.example", "api.example"),
        ("HTTP://API.example:8080/v1", "api.example:8080"),
        ("http://localhost.evil.example", "localhost.evil.example"),
        ("http://127.0.0.1.evil.example", "127.0.0.1.evil.example"),
        ("http://0.0.0.0", "0.0.0.0"),
        ("http://[::2]", "[::2]"),
    ] {
        let found = format!("http to the remote host {host}");
        assert_problem(&[("BASE_URL", url)], "BASE_URL", &found, allowed).await;
        let remote = Outgoing {
            reach: Reach::of_url(url).unwrap(),
            ..Outgoing::loopback(InMemoryNetwork(|_, _| async {
                Ok(network::answer(StatusCode::OK, "[]"))
            }))
        };
        let settings = [
            ("BASE_URL", url),
            ("API_TOKEN", TOKEN),
            ("ALLOW_INSECURE_HTTP", "true"),
        ];
        let mut instance = instance(&settings, remote.clone()).await;
        ListAgents.run(&mut instance).await.unwrap();
        let origin = &remote.recorder.exchanges()[0].origin;
        assert_eq!(*origin, format!("http://{host}"));
    }
}

#[tokio::test(start_paused = true)]
async fn loopback_needs_no_permission_for_plain_http() {
    for url in [
        "http://127.0.0.1",
        "http://127.9.8.7:8080/",
        "http://localhost:65535",
        "http://LOCALHOST",
        "http://[::1]:8080/v1",
        "https://[::1]",
    ] {
        assert_good(&[("BASE_URL", url)]).await;
    }
}
