//! Who a server is: its certificates, its key, and the key of its tickets.

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

use super::tickets::KEY_BYTES;

/// What all workers of one server share, so that clients may meet any of them. It holds secrets, so
/// it must not be printed.
#[derive(Serialize, Deserialize)]
pub struct Identity {
    pem: String,
    pub(super) ticket_key: [u8; KEY_BYTES],
}

/// Why there is no identity to use.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("there is no certificate (`-----BEGIN CERTIFICATE-----`) in it")]
    NoCertificate,
    #[error("there is no private key (`-----BEGIN PRIVATE KEY-----`, or of RSA or EC) in it")]
    NoKey,
    #[error("it is no PEM: {0}")]
    NoPem(rustls::pki_types::pem::Error),
    #[error("no random numbers are available")]
    NoRandomness,
    #[error("it was not handed over completely")]
    Truncated,
}

impl Identity {
    /// Makes an identity of PEM texts, the chain with the server's own certificate first. Its
    /// ticket key is new: a client with a ticket of an earlier server gets a new session, with keys
    /// of its own.
    ///
    /// # Errors
    /// Only when there is no randomness: `chain` and `key` examine the texts.
    pub fn new(chain: &str, key: &str) -> Result<Self, IdentityError> {
        let mut ticket_key = [0; KEY_BYTES];
        aws_lc_rs::rand::fill(&mut ticket_key).map_err(|_| IdentityError::NoRandomness)?;
        let pem = format!("{chain}\n{key}");
        Ok(Self { pem, ticket_key })
    }

    /// The identity as a text, to hand it to another process.
    pub fn to_text(&self) -> String {
        // Text and numbers can always be serialized.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`Self::to_text`] wrote.
    ///
    /// # Errors
    /// When the text is not whole.
    pub fn from_text(text: &str) -> Result<Self, IdentityError> {
        serde_json::from_str(text).map_err(|_| IdentityError::Truncated)
    }

    pub(super) fn chain(&self) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
        chain(&self.pem)
    }

    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, IdentityError> {
        key(&self.pem)
    }
}

/// The certificates of a PEM text, at least one.
///
/// # Errors
/// When there is none.
pub fn chain(pem: &str) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let found = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(IdentityError::NoPem)?;
    Some(found)
        .filter(|found| !found.is_empty())
        .ok_or(IdentityError::NoCertificate)
}

/// The first private key of a PEM text.
///
/// # Errors
/// When there is none.
pub fn key(pem: &str) -> Result<PrivateKeyDer<'static>, IdentityError> {
    match PrivateKeyDer::pem_slice_iter(pem.as_bytes()).next() {
        None => Err(IdentityError::NoKey),
        Some(found) => found.map_err(IdentityError::NoPem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_handed_over_whole_or_not_at_all() {
        let one = Identity::new("-- chain", "-- key").unwrap();
        let text = one.to_text();
        let other = Identity::from_text(&text).unwrap();
        assert_eq!((one.ticket_key, &one.pem), (other.ticket_key, &other.pem));
        assert_ne!(Identity::new("", "").unwrap().ticket_key, one.ticket_key);
        for cut in 0..text.len() {
            assert!(Identity::from_text(&text[..cut]).is_err());
        }
    }

    #[test]
    fn what_is_missing_in_a_file_is_told() {
        assert!(matches!(chain("hello"), Err(IdentityError::NoCertificate)));
        assert!(matches!(key("hello"), Err(IdentityError::NoKey)));
        let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n";
        assert!(matches!(chain(cut), Err(IdentityError::NoPem(_))));
    }
}
