//! To which addresses connections go: a name in an allow-list may mean some, and not others.

use crate::peer::{Act, Peer};
use crate::stage::{CREATED, create, plugin, settings_for};
use voice_calling_host::types::{CreatedDocketV2, RequestError};
use voice_calling_host::{Outgoing, PooledNetwork, Reach, Trust};

/// Creates a docket at this base URL over plain HTTP.
async fn created_at(base_url: &str, outgoing: Outgoing) -> Result<CreatedDocketV2, RequestError> {
    let mut settings = settings_for(base_url, outgoing);
    let allowed = ("VOICE_CALLING_ALLOW_INSECURE_HTTP", "true");
    let allowed = (allowed.0.to_owned(), allowed.1.to_owned());
    settings.environment.push(allowed);
    let mut instance = plugin().instantiate(settings).await.expect("an instance");
    create(&mut instance, 0).await
}

#[tokio::test]
async fn an_address_and_localhost_in_an_allow_list_mean_themselves() {
    let peer = Peer::plain([Act::Answer(CREATED)]).await;
    for host in ["127.0.0.1", "localhost"] {
        let base_url = format!("http://{host}:{}", peer.address().port());
        let outgoing = Outgoing::to([&*base_url], &Trust::Public).unwrap();
        created_at(&base_url, outgoing).await.unwrap();
    }
    assert_eq!(peer.requests().len(), 2);
}

/// Addresses do not go through the resolver.
#[tokio::test]
async fn a_network_connects_to_no_address_out_of_its_own_reach() {
    let peer = Peer::plain([Act::Answer(CREATED)]).await;
    let reach = Reach::of_url("https://api.example").unwrap();
    let network = PooledNetwork::new(reach).unwrap();
    let answer = created_at(&peer.base_url(), Outgoing::loopback(network)).await;
    let error = answer.unwrap_err();
    let [attempt] = error.attempts() else {
        panic!("{error:?}")
    };
    let denied = Some("HTTP-request-denied");
    assert_eq!(attempt.transport_error.as_deref(), denied);
    assert_eq!(peer.connections(), 0);
}
