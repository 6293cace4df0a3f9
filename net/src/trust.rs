//! Who is believed over TLS, and how the client proves itself.

use crate::BoxError;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::fmt;
use std::sync::Arc;

/// Whom a client believes over TLS, and how it proves itself. All texts are PEM.
#[derive(Clone, Default)]
pub struct Trust {
    /// The authorities that may certify a service, and no others may. Without them, those of the
    /// system may, which `SSL_CERT_FILE` and `SSL_CERT_DIR` replace on Linux.
    pub authorities: Option<Vec<u8>>,
    /// The client's certificate, with those of its issuers, and its private key.
    pub client_certificate: Option<Vec<u8>>,
}

/// Shows no PEM, which may contain a private key.
impl fmt::Debug for Trust {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Trust")
            .field("has_authorities", &self.authorities.is_some())
            .field("has_client_certificate", &self.client_certificate.is_some())
            .finish()
    }
}

impl Trust {
    /// Returns the TLS of a client.
    ///
    /// # Errors
    /// Returns an error if the system's authorities cannot be read, if a certificate or the key is
    /// missing or broken, or if there is no provider of cryptography.
    pub fn client(&self) -> Result<ClientConfig, BoxError> {
        let tls = ClientConfig::builder_with_provider(provider()?);
        let tls = tls.with_safe_default_protocol_versions()?;
        let tls = match &self.authorities {
            None => tls.with_platform_verifier()?,
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for authority in certificates(pem)? {
                    roots.add(authority)?;
                }
                tls.with_root_certificates(roots)
            }
        };
        let mut tls = match &self.client_certificate {
            None => tls.with_no_client_auth(),
            Some(pem) => {
                let key = PrivateKeyDer::from_pem_slice(pem);
                let key = key.map_err(|error| format!("no private key in PEM: {error}"))?;
                tls.with_client_auth_cert(certificates(pem)?, key)?
            }
        };
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(tls)
    }
}

/// Returns the provider of cryptography. The process may have another default.
fn provider() -> Result<Arc<CryptoProvider>, BoxError> {
    #[cfg(feature = "ring")]
    let provider = Some(rustls::crypto::ring::default_provider().into());
    #[cfg(all(feature = "aws-lc-rs", not(feature = "ring")))]
    let provider = Some(rustls::crypto::aws_lc_rs::default_provider().into());
    #[cfg(not(any(feature = "aws-lc-rs", feature = "ring")))]
    let provider = CryptoProvider::get_default().cloned();
    provider.ok_or_else(|| {
        let features = "enable the feature `ring` or `aws-lc-rs`";
        format!("no provider of cryptography: {features}, or install one for the process").into()
    })
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, BoxError> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    match certificates.is_empty() {
        true => Err("no certificate in PEM (-----BEGIN CERTIFICATE-----)".into()),
        false => Ok(certificates),
    }
}
