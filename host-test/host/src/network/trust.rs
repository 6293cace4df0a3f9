//! Whom a host trusts over TLS.

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

/// Whom a host trusts to vouch for a service over TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The public authorities (those of Mozilla).
    #[default]
    Public,
    /// These authorities, and no other.
    Only(Vec<CertificateDer<'static>>),
}

impl Trust {
    fn roots(&self) -> Result<RootCertStore, rustls::Error> {
        let mut roots = RootCertStore::empty();
        match self {
            Trust::Public => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Trust::Only(authorities) => {
                for authority in authorities {
                    roots.add(authority.clone())?;
                }
            }
        }
        Ok(roots)
    }

    /// A client's side of TLS.
    ///
    /// # Errors
    ///
    /// If an authority's certificate is broken.
    pub fn client(&self) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Ok(ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.roots()?)
            .with_no_client_auth())
    }
}
