//! The client beside a library whose rustls has another provider of cryptography.

use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use voice_calling::Client;

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
                      content-length: 2\r\nconnection: close\r\n\r\n[]";

/// Starts a service on loopback, and returns its URL and its certificate in PEM.
async fn service() -> (String, String) {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
    let tls = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let tls = tls.with_safe_default_protocol_versions().unwrap();
    let tls = tls.with_no_client_auth();
    let tls = tls
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    );
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = acceptor.accept(stream).await.unwrap();
            let _request = stream.read(&mut [0; 4096]).await.unwrap();
            stream.write_all(ANSWER.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    (url, issued.cert.pem())
}

#[tokio::test]
async fn the_client_and_reqwest_speak_tls_in_one_program() {
    let (url, certificate) = service().await;
    let client = Client::builder().base_url(&url).api_token("t");
    let client = client.authorities(certificate.as_bytes()).build().unwrap();
    let authority = reqwest::Certificate::from_pem(certificate.as_bytes()).unwrap();
    let other = reqwest::Client::builder().tls_certs_only([authority]);
    let other = other.build().unwrap();
    for _ in 0..2 {
        client.list_agents("org-1").await.unwrap();
        assert_eq!(
            other.get(&url).send().await.unwrap().text().await.unwrap(),
            "[]"
        );
    }
}
