//! To which addresses connections go: a name in an allow-list may mean some, and not others.

use crate::peer::{Act, Peer};
use crate::stage::{CREATED, create, plugin, settings_for};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use std::io;
use std::net::IpAddr;
use voice_calling_check::operation::outcome;
use voice_calling_host::types::{CreatedDocketV2, RequestError};
use voice_calling_host::{Origins, Outgoing, PooledNetwork, Reach, Resolver, Trust};

/// A name server that gives these addresses for every name.
#[derive(Clone)]
struct Names(Vec<IpAddr>);

impl Resolver for Names {
    fn resolve(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        ready(Ok(self.0.clone())).boxed()
    }
}

fn names(addresses: &[&str]) -> Names {
    let addresses = addresses.iter().map(|address| address.parse().unwrap());
    Names(addresses.collect())
}

fn way_out(network: PooledNetwork, reach: Reach) -> Outgoing {
    Outgoing {
        reach,
        ..Outgoing::loopback(network)
    }
}

/// Creates a docket at this authority over plain HTTP.
async fn created_at(authority: &str, outgoing: Outgoing) -> Result<CreatedDocketV2, RequestError> {
    let mut settings = settings_for(&format!("http://{authority}"), outgoing);
    let allowed = ("VOICE_CALLING_ALLOW_INSECURE_HTTP", "true");
    let allowed = (allowed.0.to_owned(), allowed.1.to_owned());
    settings.environment.push(allowed);
    let mut instance = plugin().instantiate(settings).await.expect("an instance");
    create(&mut instance, 0).await
}

async fn service() -> (Peer, u16) {
    let peer = Peer::plain([Act::Answer(CREATED)]).await;
    let port = peer.address().port();
    (peer, port)
}

/// What went wrong in the transport, of all attempts the same.
fn transport_error(error: &RequestError) -> &str {
    let mut errors = error.attempts().iter().map(|attempt| {
        let error = attempt.transport_error.as_deref();
        error.expect("an error of the transport")
    });
    let first = errors.next().expect("an attempt");
    assert!(errors.all(|error| error == first), "{error:?}");
    first
}

#[tokio::test]
async fn an_allowed_name_that_resolves_to_this_machine_is_denied_without_a_connection() {
    for addresses in [&["127.0.0.1"][..], &["0.0.0.0"], &["::1", "127.0.0.1"]] {
        let (peer, port) = service().await;
        let authority = format!("api.example:{port}");
        let reach = Reach::of_url(&format!("http://{authority}")).unwrap();
        let network =
            PooledNetwork::resolving(names(addresses), &Trust::Public, reach.clone()).unwrap();
        let answer = created_at(&authority, way_out(network, reach)).await;
        assert_eq!(outcome(&answer), "permanent-configuration", "{addresses:?}");
        let error = answer.unwrap_err();
        assert_eq!(transport_error(&error), "destination-IP-prohibited");
        assert_eq!(peer.connections(), 0, "{addresses:?}");
    }
}

#[tokio::test]
async fn a_name_that_is_allowed_as_local_reaches_this_machine() {
    let (peer, port) = service().await;
    let authority = format!("sidecar.example:{port}");
    let local = Origins::default().and_local(&format!("http://{authority}"));
    let reach = Reach::Origins(local.unwrap());
    let network =
        PooledNetwork::resolving(names(&["127.0.0.1"]), &Trust::Public, reach.clone()).unwrap();
    let answer = created_at(&authority, way_out(network, reach)).await;
    answer.unwrap();
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
async fn an_address_and_localhost_in_an_allow_list_mean_themselves() {
    let (peer, port) = service().await;
    for host in ["127.0.0.1", "localhost"] {
        let authority = format!("{host}:{port}");
        let reach = Reach::of_url(&format!("http://{authority}")).unwrap();
        let network =
            PooledNetwork::resolving(names(&["127.0.0.1"]), &Trust::Public, reach.clone()).unwrap();
        created_at(&authority, way_out(network, reach))
            .await
            .unwrap();
    }
    assert_eq!(peer.requests().len(), 2);
}

/// The connector takes none of them for an address, and the system resolves all of them to
/// 127.0.0.1 without asking anyone.
#[tokio::test]
async fn this_machine_in_an_odd_form_is_denied_without_a_connection() {
    for host in ["2130706433", "0x7f.1", "127.1", "0177.0.0.1"] {
        let (peer, port) = service().await;
        let authority = format!("{host}:{port}");
        let reach = Reach::of_url(&format!("http://{authority}")).unwrap();
        let network = PooledNetwork::new(reach.clone()).unwrap();
        let answer = created_at(&authority, way_out(network, reach)).await;
        let error = answer.unwrap_err();
        assert_eq!(
            transport_error(&error),
            "destination-IP-prohibited",
            "{host}"
        );
        assert_eq!(peer.connections(), 0, "{host}");
    }
}

/// Addresses do not go through the resolver.
#[tokio::test]
async fn a_network_connects_to_no_address_out_of_its_own_reach() {
    let (peer, port) = service().await;
    let reach = Reach::of_url("https://api.example").unwrap();
    let network = PooledNetwork::new(reach).unwrap();
    let authority = format!("127.0.0.1:{port}");
    let answer = created_at(&authority, Outgoing::loopback(network)).await;
    let error = answer.unwrap_err();
    assert_eq!(transport_error(&error), "HTTP-request-denied");
    assert_eq!(peer.connections(), 0);
}
