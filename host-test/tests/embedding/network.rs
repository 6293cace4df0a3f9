//! What the harness's connections carry, over both versions of HTTP: they are shared, and
//! no request leaves twice.

use crate::peer::{Act, Authority, Peer};
use crate::stage::{CREATED, TOKEN, create, plugin, settings, settings_for};
use futures_util::future::{BoxFuture, join_all};
use http::{Request, Response, Version};
use std::sync::Arc;
use voice_calling_check::operation::{external_id, outcome};
use voice_calling_check::script::{Script, Step};
use voice_calling_host::types::{CreatedDocketV2, RequestError};
use voice_calling_host::{Network, Outgoing, PooledNetwork, Reach, Trust};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// A host that makes calls to one service, and keeps its connections.
struct Host {
    base_url: String,
    outgoing: Outgoing,
}

impl Host {
    fn new(base_url: String, trust: &Trust) -> Self {
        let network = PooledNetwork::trusting(trust, Reach::Loopback).unwrap();
        let outgoing = Outgoing::loopback(network);
        Self { base_url, outgoing }
    }

    fn trusting(base_url: String, authority: &Authority) -> Self {
        Self::new(base_url, &Trust::Only(vec![authority.certificate()]))
    }

    /// Creates the docket of this number in an instance of its own.
    async fn create(&self, number: usize) -> Result<CreatedDocketV2, RequestError> {
        let settings = settings_for(&self.base_url, self.outgoing.clone());
        let mut instance = plugin().instantiate(settings).await.expect("an instance");
        create(&mut instance, number).await
    }
}

/// The versions of HTTP, and a service with a script for each, with a host that has made one
/// call already: what goes wrong with a connection that was just opened is not what goes
/// wrong with one that was kept.
async fn met(rest: &[Act]) -> [(Version, Peer, Host); 2] {
    let authority = Authority::new();
    let mut script = vec![Act::Answer(CREATED)];
    script.extend_from_slice(rest);
    let http1 = Peer::plain(script.clone()).await;
    let http2 = Peer::over_tls(authority.vouch(&["h2"]), script).await;
    let versions = [(Version::HTTP_11, http1), (Version::HTTP_2, http2)];
    let met = versions.map(|(version, peer)| {
        let host = Host::trusting(peer.base_url(), &authority);
        async move {
            host.create(0).await.expect("a docket");
            (version, peer, host)
        }
    });
    let [http1, http2] = met;
    [http1.await, http2.await]
}

/// The numbers of the connections on which requests came, in order.
fn connections_of(peer: &Peer) -> Vec<usize> {
    let requests = peer.requests();
    requests.iter().map(|request| request.connection).collect()
}

/// How often the docket of this number came.
fn times_sent(peer: &Peer, number: usize) -> usize {
    let own = format!(r#""external_id":"{}"}}"#, external_id(number));
    let requests = peer.requests();
    let own = requests.iter().filter(|sent| sent.text.ends_with(&own));
    own.count()
}

/// What went wrong in the transport of each attempt.
fn transport_errors(error: &RequestError) -> Vec<Option<&str>> {
    let attempts = error.attempts().iter();
    let errors = attempts.map(|attempt| attempt.transport_error.as_deref());
    errors.collect()
}

#[tokio::test]
async fn a_request_is_the_same_over_both_versions() {
    let body = format!(
        r#"{{"agent_id":7,"to_phone_number":"919876543210","extra_config":{{"call_context":{{}}}},"external_id":"{}"}}"#,
        external_id(0)
    );
    for (version, peer, _) in met(&[]).await {
        let [request] = &peer.requests()[..] else {
            panic!("not one request")
        };
        assert_eq!(request.version, version);
        let address = peer.address();
        // HTTP/2 has the address in the target as well; both must be the same then.
        let target = match version {
            Version::HTTP_11 => String::new(),
            _ => format!("https://{address}"),
        };
        let expected = format!(
            "POST {target}/api/v2/dockets\nauth_token: Bearer {TOKEN}\ncontent-length: {}\n\
             content-type: application/json\nhost: {address}\n\n{body}",
            body.len()
        );
        assert_eq!(request.text, expected, "{version:?}");
    }
}

#[tokio::test]
async fn the_version_is_the_one_that_the_service_prefers() {
    let authority = Authority::new();
    let offers: [(&[&str], Version); 3] = [
        (&["h2", "http/1.1"], Version::HTTP_2),
        (&["http/1.1", "h2"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ];
    for (protocols, expected) in offers {
        let tls = authority.vouch(protocols);
        let peer = Peer::over_tls(tls, [Act::Answer(CREATED)]).await;
        let host = Host::trusting(peer.base_url(), &authority);
        host.create(0).await.unwrap();
        let versions: Vec<_> = peer.requests().iter().map(|sent| sent.version).collect();
        assert_eq!(versions, [expected], "{protocols:?}");
    }
}

#[tokio::test]
async fn many_calls_before_there_is_a_connection_are_sent_once_each() {
    let authority = Authority::new();
    for protocols in [&["h2"], &["http/1.1"]] {
        let tls = authority.vouch(protocols);
        let peer = Peer::over_tls(tls, [Act::Answer(CREATED)]).await;
        let host = Host::trusting(peer.base_url(), &authority);
        // Each opens a connection, since none knows what will be spoken; over HTTP/2 they
        // then share the first, and the others are closed unused.
        let created = join_all((0..20).map(|number| host.create(number))).await;
        assert!(created.iter().all(Result::is_ok), "{created:?}");
        for number in 0..20 {
            assert_eq!(times_sent(&peer, number), 1, "{protocols:?}: {number}");
        }
    }
}

#[tokio::test]
async fn a_service_that_a_stranger_vouches_for_is_sent_nothing() {
    let authority = Authority::new();
    let stranger = Trust::Only(vec![Authority::new().certificate()]);
    for trust in [stranger, Trust::Public, Trust::Only(Vec::new())] {
        for protocols in [&["h2"], &["http/1.1"]] {
            let tls = authority.vouch(protocols);
            let peer = Peer::over_tls(tls, [Act::Answer(CREATED)]).await;
            let host = Host::new(peer.base_url(), &trust);
            let error = host.create(0).await.unwrap_err();
            assert_eq!(error.case(), "unreachable", "{error:?}");
            assert_eq!(transport_errors(&error), [Some("TLS-certificate-error"); 4]);
            // A create too is tried again: nothing was sent.
            assert_eq!(peer.connections(), 4);
            assert_eq!(peer.requests().len(), 0);
        }
    }
}

#[tokio::test]
async fn a_service_with_which_there_is_no_tls_is_sent_nothing() {
    let authority = Authority::new();
    let strange = authority.vouch(&["spdy/3"]);
    let peers = [
        Peer::plain([Act::Answer(CREATED)]).await,
        Peer::over_tls(strange, [Act::Answer(CREATED)]).await,
    ];
    for peer in peers {
        let base_url = format!("https://{}", peer.address());
        let host = Host::trusting(base_url, &authority);
        let error = host.create(0).await.unwrap_err();
        assert_eq!(error.case(), "unreachable", "{error:?}");
        assert_eq!(transport_errors(&error), [Some("TLS-protocol-error"); 4]);
        assert_eq!(peer.connections(), 4);
        assert_eq!(peer.requests().len(), 0);
    }
}

#[tokio::test]
async fn a_create_without_an_answer_on_a_kept_connection_is_sent_once_and_unknown() {
    for act in [Act::Break, Act::HangUp] {
        for (version, peer, host) in met(&[act.clone(), Act::Answer(CREATED)]).await {
            let error = host.create(1).await.unwrap_err();
            assert_eq!(error.case(), "permanent-outcome-unknown", "{version:?}");
            let [attempt] = error.attempts() else {
                panic!("{error:?}")
            };
            assert_eq!(attempt.status, None);
            assert!(attempt.transport_error.is_some());
            assert_eq!(connections_of(&peer), [0, 0], "{version:?}");

            // What comes next is not held up, and a connection that broke is not used again.
            host.create(2).await.unwrap();
            host.create(3).await.unwrap();
            let next = match (version, &act) {
                (Version::HTTP_2, Act::Break) => 0,
                _ => 1,
            };
            assert_eq!(connections_of(&peer), [0, 0, next, next], "{version:?}");
        }
    }
}

#[tokio::test]
async fn a_create_that_is_taken_back_by_http_2_is_sent_once_and_unknown() {
    let authority = Authority::new();
    // A client may send again what it sent. That is for the component to decide, which learns only
    // that the connection is gone.
    for act in [Act::RefuseStream, Act::GoAway] {
        let script = [Act::Answer(CREATED), act.clone(), Act::Answer(CREATED)];
        let peer = Peer::frame_by_frame(authority.vouch(&["h2"]), script).await;
        let host = Host::trusting(peer.base_url(), &authority);
        host.create(0).await.expect("a docket");
        let unanswered = host.create(1).await;
        assert_eq!(outcome(&unanswered), "permanent-outcome-unknown", "{act:?}");
        assert_eq!(unanswered.unwrap_err().attempts().len(), 1, "{act:?}");
        assert_eq!(connections_of(&peer), [0, 0], "{act:?}");

        host.create(2).await.expect("a docket");
        // A stream that is reset leaves its connection as it is.
        let next = match act {
            Act::RefuseStream => 0,
            _ => 1,
        };
        assert_eq!(connections_of(&peer), [0, 0, next], "{act:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_request_and_no_other() {
    let script = [Act::Silence, Act::Silence, Act::Answer(CREATED)];
    for (version, peer, host) in met(&script).await {
        let kept = host.create(1);
        let others = async {
            peer.has_requests(2).await;
            tokio::select! {
                created = host.create(2) => panic!("{version:?}: {created:?}"),
                () = peer.has_requests(3) => {}
            }
            peer.has_given_up(1).await;
            host.create(3).await.unwrap();
        };
        tokio::select! {
            created = kept => panic!("{version:?}: {created:?}"),
            () = others => {}
        }
        // The end of one of HTTP/1.1 is that of its connection.
        let expected = match version {
            Version::HTTP_11 => [0, 0, 1, 2],
            _ => [0; 4],
        };
        assert_eq!(connections_of(&peer), expected, "{version:?}");
        peer.has_given_up(2).await;
    }
}

#[tokio::test]
async fn of_many_creates_whose_connection_breaks_none_is_sent_twice() {
    for (version, peer, host) in met(&[Act::HangUp]).await {
        let created = join_all((1..=20).map(|number| host.create(number))).await;
        for (number, created) in (1..).zip(&created) {
            let sent = times_sent(&peer, number);
            match outcome(created) {
                "permanent-outcome-unknown" => assert!(sent <= 1, "{version:?}: {sent}"),
                // It had to wait for a connection, and got none.
                "unreachable" => assert_eq!(sent, 0, "{version:?}"),
                other => panic!("{version:?}: {other}"),
            }
        }
    }
}

/// A network that says whether its connection timeouts are true.
struct Reporting {
    network: Arc<dyn Network>,
    has_true_connection_timeouts: bool,
}

impl Network for Reporting {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        self.network.send(request, options)
    }

    fn has_true_connection_timeouts(&self) -> bool {
        self.has_true_connection_timeouts
    }
}

/// Or a request that was sent might be sent again.
#[tokio::test(start_paused = true)]
async fn a_connection_timeout_is_believed_of_a_network_that_reports_true_ones_unless_it_is_set() {
    const TRUST: &str = "VOICE_CALLING_TRUST_CONNECTION_TIMEOUT";
    let pooled = PooledNetwork::new(Reach::Loopback).expect("a network");
    assert!(pooled.has_true_connection_timeouts());
    for (has_true_connection_timeouts, set, requests) in [
        (true, None, 2),
        (false, None, 1),
        (true, Some("false"), 1),
        (false, Some("true"), 2),
    ] {
        let script = Script::new([Step::fail(ErrorCode::ConnectionTimeout), Step::ok(CREATED)]);
        let mut outgoing = script.outgoing();
        outgoing.network = Arc::new(Reporting {
            network: outgoing.network,
            has_true_connection_timeouts,
        });
        let mut settings = settings(outgoing);
        settings.environment.retain(|(name, _)| name != TRUST);
        let set = set.map(|value| (TRUST.to_owned(), value.to_owned()));
        settings.environment.extend(set);
        let mut instance = plugin().instantiate(settings).await.expect("an instance");
        let created = create(&mut instance, 0).await;
        assert_eq!(
            (script.sent().len(), created.is_ok()),
            (requests, requests == 2),
            "{created:?}"
        );
    }
}
