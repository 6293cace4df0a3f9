//! A certificate authority for one run, and what it vouches for: this machine.

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::sync::Arc;

/// An authority, and how a server shows itself with its certificate.
pub(super) struct Identity {
    /// Who trusts this certificate trusts the server.
    pub(super) authority: CertificateDer<'static>,
    /// The server's side of TLS; HTTP/2 is offered, and HTTP/1.1.
    pub(super) server: ServerConfig,
}

impl Identity {
    /// A new one, known to nobody.
    pub(super) fn new() -> Result<Self> {
        let mut authority = CertificateParams::new([])?;
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let authority_key = KeyPair::generate()?;
        let authority_certificate = authority.self_signed(&authority_key)?;
        let authority = Issuer::new(authority, authority_key);
        let key = KeyPair::generate()?;
        let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
        let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            authority: authority_certificate.der().clone(),
            server,
        })
    }
}
