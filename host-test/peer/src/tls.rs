//! The certificate of peers with TLS.

use crate::Connection;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

impl Connection for TlsStream<TcpStream> {
    fn reset(self) {
        self.into_inner().0.reset();
    }
}

/// The certificate authority of peers on this machine: a self-signed certificate, which they
/// present themselves.
pub struct Authority {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Authority {
    /// Makes a certificate for 127.0.0.1.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let made = generate_simple_self_signed(["127.0.0.1".to_owned()]);
        let CertifiedKey { cert, signing_key } = made.expect("a certificate");
        Self {
            certificate: cert.der().clone(),
            key: signing_key.serialize_der(),
        }
    }

    /// Returns the certificate as the content of a PEM file.
    pub fn pem(&self) -> String {
        let text = BASE64.encode(&self.certificate);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    }

    /// Returns a server's configuration, which offers these protocols.
    pub(crate) fn vouch(&self, protocols: &[&str]) -> TlsAcceptor {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has these versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)
            .expect("the key is the certificate's");
        let protocol = |name: &&str| name.as_bytes().to_vec();
        server.alpn_protocols = protocols.iter().map(protocol).collect();
        TlsAcceptor::from(Arc::new(server))
    }
}
