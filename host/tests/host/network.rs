//! Tests of the host's connections: requests go only to allowed hosts, reuse what is kept, and are
//! never sent twice.

use futures_util::future::{BoxFuture, join_all};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use std::sync::Arc;
use std::time::Duration;
use tokio::time;
use voice_calling_check::operation::external_id;
use voice_calling_host::types::{CreatedDocketV2, RequestError};
use voice_calling_host::{Network, Outgoing, PooledNetwork, Reach, Trust};
use voice_calling_peer::{Authority, Behaviour, Peer};
use voice_calling_test_guests::{
    SATISFYING, Script, Step, create, instance_at, outcome, plugin, settings,
};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// A host that makes calls to one service, and keeps its connections.
struct Host {
    base_url: String,
    outgoing: Outgoing,
}

impl Host {
    fn new(base_url: String, trust: &Trust) -> Self {
        let network = PooledNetwork::new(trust, Reach::Loopback).unwrap();
        let outgoing = Outgoing::over(network);
        Self { base_url, outgoing }
    }

    /// Creates the docket with this number in its own instance.
    async fn create(&self, number: usize) -> Result<CreatedDocketV2, RequestError> {
        let mut instance = instance_at(&self.base_url, &[], self.outgoing.clone()).await;
        create(&mut instance, number).await
    }
}

/// Trusts this authority alone.
fn only(authority: &Authority) -> Trust {
    Trust {
        authorities: Some(authority.pem().into()),
        ..Trust::default()
    }
}

/// Returns a service with a script, over TLS, and a host that has already made one call: a
/// connection that was kept fails in other ways than one that was just opened.
async fn met(rest: &[Behaviour]) -> (Peer, Host) {
    let authority = Authority::new();
    let script = [&[Behaviour::Keep(SATISFYING)], rest].concat();
    let peer = Peer::over_tls(&authority, &["h2", "http/1.1"], script).await;
    let peer = peer.unwrap();
    let host = Host::new(peer.base_url(), &only(&authority));
    host.create(0).await.expect("a docket");
    (peer, host)
}

/// Returns the indices of the connections of all requests, in order.
fn connections_of(peer: &Peer) -> Vec<usize> {
    let requests = peer.requests();
    requests.iter().map(|request| request.connection).collect()
}

/// Returns how often the docket with this number was sent.
fn times_sent(peer: &Peer, number: usize) -> usize {
    let own = format!(r#""external_id":"{}"}}"#, external_id(number));
    let requests = peer.requests();
    let own = requests
        .iter()
        .filter(|sent| sent.body.ends_with(own.as_bytes()));
    own.count()
}

#[tokio::test]
async fn many_calls_before_there_is_a_connection_are_sent_once_each() {
    let authority = Authority::new();
    let script = [Behaviour::Keep(SATISFYING)];
    let peer = Peer::over_tls(&authority, &["http/1.1"], script).await;
    let peer = peer.unwrap();
    let host = Host::new(peer.base_url(), &only(&authority));
    let created = join_all((0..20).map(|number| host.create(number))).await;
    assert!(created.iter().all(Result::is_ok), "{created:?}");
    for number in 0..20 {
        assert_eq!(times_sent(&peer, number), 1, "{number}");
    }
}

#[tokio::test]
async fn a_service_that_a_stranger_vouches_for_or_without_tls_is_sent_nothing() {
    let authority = Authority::new();
    let (certificate, protocol) = ("TLS-certificate-error", "TLS-protocol-error");
    for (tls, trust, error) in [
        (Some("http/1.1"), only(&Authority::new()), certificate),
        (Some("http/1.1"), Trust::default(), certificate),
        (Some("h2"), only(&authority), protocol),
        (None, only(&authority), protocol),
    ] {
        let script = [Behaviour::Keep(SATISFYING)];
        let peer = match tls {
            Some(offered) => Peer::over_tls(&authority, &[offered], script).await,
            None => Peer::start(script).await,
        };
        let peer = peer.unwrap();
        let host = Host::new(format!("https://{}", peer.address()), &trust);
        let unreachable = host.create(0).await.unwrap_err();
        assert_eq!(unreachable.kind(), "unreachable", "{unreachable:?}");
        let attempts = unreachable.attempts().iter();
        let errors: Vec<_> = attempts.map(|it| it.transport_error.as_deref()).collect();
        // A create is retried too: nothing was sent.
        assert_eq!(errors, [Some(error); 4]);
        assert_eq!((peer.connections(), peer.requests().len()), (4, 0));
    }
}

#[tokio::test]
async fn a_create_without_an_answer_on_a_kept_connection_is_sent_once_and_unknown() {
    let (peer, host) = met(&[Behaviour::CloseAfterReading, Behaviour::Keep(SATISFYING)]).await;
    let error = host.create(1).await.unwrap_err();
    assert_eq!(error.kind(), "outcome-unknown", "{error:?}");
    let [attempt] = error.attempts() else {
        panic!("{error:?}")
    };
    assert_eq!(attempt.status, None);
    let terminated = Some("connection-terminated");
    assert_eq!(attempt.transport_error.as_deref(), terminated);

    // The next requests are not delayed, and a connection that broke is not reused.
    host.create(2).await.unwrap();
    host.create(3).await.unwrap();
    assert_eq!(connections_of(&peer), [0, 0, 1, 1]);
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_request_and_no_other() {
    let script = [
        Behaviour::Silence,
        Behaviour::Silence,
        Behaviour::Keep(SATISFYING),
    ];
    let (peer, host) = met(&script).await;
    let kept = host.create(1);
    let others = async {
        peer.received(2).await;
        tokio::select! {
            created = host.create(2) => panic!("{created:?}"),
            _ = peer.received(3) => {}
        }
        peer.given_up(1).await;
        host.create(3).await.unwrap();
    };
    tokio::select! {
        created = kept => panic!("{created:?}"),
        () = others => {}
    }
    // A cancelled request ends its connection.
    assert_eq!(connections_of(&peer), [0, 0, 1, 2]);
    peer.given_up(2).await;
}

#[tokio::test]
async fn of_many_creates_whose_connection_breaks_none_is_sent_twice() {
    let (peer, host) = met(&[Behaviour::CloseAfterReading]).await;
    let created = join_all((1..=20).map(|number| host.create(number))).await;
    for (number, created) in (1..).zip(&created) {
        assert_eq!(outcome(created), "outcome-unknown");
        assert_eq!(times_sent(&peer, number), 1, "{number}");
    }
}

/// Addresses bypass the resolver.
#[tokio::test]
async fn a_network_connects_to_no_address_out_of_its_own_reach() {
    let peer = Peer::start([Behaviour::Keep(SATISFYING)]).await.unwrap();
    let outgoing = Outgoing::to(["https://api.example"], &Trust::default()).unwrap();
    let mut instance = instance_at(&peer.base_url(), &[], outgoing).await;
    let error = create(&mut instance, 0).await.unwrap_err();
    let [attempt] = error.attempts() else {
        panic!("{error:?}")
    };
    let denied = Some("HTTP-request-denied");
    assert_eq!(attempt.transport_error.as_deref(), denied);
    assert_eq!(peer.connections(), 0);
}

/// Otherwise a create that was sent would be sent again.
#[tokio::test]
async fn a_connection_timeout_is_reported_only_if_nothing_was_sent() {
    let network = PooledNetwork::new(&Trust::default(), Reach::Loopback).unwrap();
    assert!(network.has_reliable_connection_timeouts());
    let post = async |url: String, timeout: Duration| {
        let body = Empty::new().map_err(|never| match never {}).boxed_unsync();
        let options = RequestOptions {
            connect_timeout: Some(timeout),
            first_byte_timeout: Some(timeout),
            between_bytes_timeout: Some(timeout),
        };
        let request = Request::post(url).body(body).unwrap();
        network.send(request, options).await.map(drop)
    };
    let without_handshake = Peer::start([Behaviour::Silence]).await.unwrap();
    let url = without_handshake.base_url().replace("http:", "https:");
    let answered = post(url, Duration::from_millis(200)).await;
    assert!(matches!(answered, Err(Error::ConnectionTimeout)));
    assert_eq!(without_handshake.requests().len(), 0);
    // On a connection that was kept, and on a new one.
    let script = [Behaviour::Keep(SATISFYING), Behaviour::Silence];
    let peer = Peer::start(script).await.unwrap();
    let long = Duration::from_secs(60);
    post(peer.base_url(), long).await.unwrap();
    for sent in [2, 3] {
        let time_passes = async {
            peer.received(sent).await;
            // From now on, until something happens.
            time::pause();
        };
        let (answered, ()) = tokio::join!(post(peer.base_url(), long), time_passes);
        time::resume();
        assert!(matches!(answered, Err(Error::ConnectionReadTimeout)));
    }
    assert_eq!(connections_of(&peer), [0, 0, 1]);
}

/// A network that reports whether its connection timeouts are reliable.
struct Reporting {
    network: Arc<dyn Network>,
    has_reliable_connection_timeouts: bool,
}

impl Network for Reporting {
    fn send(
        &self,
        request: Request<WasiBody>,
        options: RequestOptions,
    ) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        self.network.send(request, options)
    }

    fn has_reliable_connection_timeouts(&self) -> bool {
        self.has_reliable_connection_timeouts
    }
}

/// Otherwise a request that was sent might be sent again.
#[tokio::test(start_paused = true)]
async fn a_connection_timeout_is_believed_of_a_network_that_reports_true_ones_unless_it_is_set() {
    for (has_reliable_connection_timeouts, set, requests) in [
        (true, None, 2),
        (false, None, 1),
        (true, Some("false"), 1),
        (false, Some("true"), 2),
    ] {
        let timeout = Step::fail(ErrorCode::ConnectionTimeout);
        let script = Script::new([timeout, Step::ok(SATISFYING)]);
        let mut outgoing = script.outgoing();
        outgoing.network = Arc::new(Reporting {
            network: outgoing.network,
            has_reliable_connection_timeouts,
        });
        let set = set.map(|value| ("TRUST_CONNECTION_TIMEOUT", value));
        let settings = settings(set.as_slice(), outgoing);
        let mut instance = plugin().instantiate(settings).await.expect("an instance");
        let created = create(&mut instance, 0).await;
        assert_eq!(
            (script.sent().len(), created.is_ok()),
            (requests, requests == 2),
            "{created:?}"
        );
    }
}
