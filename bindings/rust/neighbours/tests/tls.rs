//! The client beside a library whose rustls has another provider of cryptography.

use voice_calling::Client;
use voice_calling_peer::{Authority, Behaviour, Peer};

#[tokio::test]
async fn the_client_and_reqwest_speak_tls_in_one_program() {
    let authority = Authority::new();
    let service = Peer::over_tls(&authority, &["http/1.1"], [Behaviour::Keep("[]")]);
    let (service, certificate) = (service.await.unwrap(), authority.pem());
    let client = Client::builder()
        .base_url(service.base_url())
        .api_token("t");
    let client = client.authorities(certificate.as_bytes()).build().unwrap();
    let authority = reqwest::Certificate::from_pem(certificate.as_bytes()).unwrap();
    let other = reqwest::Client::builder().tls_certs_only([authority]);
    let other = other.build().unwrap();
    for _ in 0..2 {
        client.list_agents("org-1").await.unwrap();
        let answer = other.get(service.base_url()).send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), "[]");
    }
}
