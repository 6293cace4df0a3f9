//! Whom a host trusts over TLS.

use anyhow::{Context, Result, anyhow};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{Error as PemError, PemObject, SectionKind};
use rustls::{ClientConfig, RootCertStore};
use std::fs;
use std::path::Path;
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
    /// The authorities in a PEM file, and no other: a service with an authority of its own is
    /// not to be vouched for by any other. To trust the public ones as well, append them to the
    /// file. What else is in it, such as a private key, is ignored.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not PEM, has no certificate, or has one that is broken.
    pub fn from_pem_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let pem = fs::read(path)
            .with_context(|| format!("cannot read the authorities in {}", path.display()))?;
        let authorities = authorities_in(&pem).map_err(|found| {
            anyhow!(
                "{} must have the certificates of authorities in PEM \
                 (-----BEGIN CERTIFICATE-----), found {found}",
                path.display()
            )
        })?;
        Ok(Trust::Only(authorities))
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

/// The certificates in the contents of a PEM file, each of which can be trusted. The error
/// says what was found.
fn authorities_in(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let mut authorities: Vec<CertificateDer<'static>> = Vec::new();
    let mut others = Vec::new();
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(pem) {
        match section.map_err(broken)? {
            (SectionKind::Certificate, der) => authorities.push(der.into()),
            (other, _) => others.push(format!("{other:?}")),
        }
    }
    for (number, authority) in (1..).zip(&authorities) {
        RootCertStore::empty()
            .add(authority.clone())
            .map_err(|error| format!("certificate {number}, which is broken: {error}"))?;
    }
    match (authorities.is_empty(), others.is_empty()) {
        (false, _) => Ok(authorities),
        (true, true) => Err("no PEM in it".to_owned()),
        (true, false) => Err(format!("no certificate, but {}", others.join(", "))),
    }
}

/// What is not PEM, without what may be a secret in it.
fn broken(error: PemError) -> String {
    match error {
        PemError::MissingSectionEnd { end_marker } => {
            let section = String::from_utf8_lossy(&end_marker);
            format!("a section {section:?} without its end")
        }
        PemError::IllegalSectionStart { line } => {
            let line = String::from_utf8_lossy(&line);
            format!("the line {:?}", line.trim_end())
        }
        PemError::Base64Decode(_) => "a section that is not Base64".to_owned(),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_that_are_named_replace_the_public_ones() {
        assert!(!Trust::Public.roots().unwrap().is_empty());
        assert!(Trust::Only(Vec::new()).roots().unwrap().is_empty());
    }
}
