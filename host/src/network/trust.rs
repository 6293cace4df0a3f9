//! The authorities that a host trusts over TLS.

use anyhow::{Context, Result, anyhow, ensure};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// The authorities that a host trusts to certify a service over TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// The public authorities (those of Mozilla).
    #[default]
    Public,
    /// These authorities, and no other.
    Only(Vec<CertificateDer<'static>>),
}

impl Trust {
    /// Trusts the authorities in a PEM file, and no others: a service with its own authority must
    /// not be certified by any other. To trust the public ones as well, append them to the file.
    /// Other contents, such as a private key, are ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, is not PEM, has no certificate, or has a broken
    /// one.
    pub fn from_pem_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let pem = fs::read(path)
            .with_context(|| format!("cannot read the authorities in {}", path.display()))?;
        Self::in_pem(&pem).map_err(|found| {
            anyhow!(
                "{} must have the certificates of authorities in PEM \
                 (-----BEGIN CERTIFICATE-----), found {found:#}",
                path.display()
            )
        })
    }

    fn in_pem(pem: &[u8]) -> Result<Self> {
        let authorities = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
        ensure!(!authorities.is_empty(), "no certificate");
        let trust = Trust::Only(authorities);
        trust.roots().context("one that is broken")?;
        Ok(trust)
    }

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

    /// Returns the TLS configuration of a client.
    ///
    /// # Errors
    ///
    /// Returns an error if an authority's certificate is broken.
    pub fn client(&self) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Ok(ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(self.roots()?)
            .with_no_client_auth())
    }
}
