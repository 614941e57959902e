//! What all TLS connections of a server share.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, SupportedCipherSuite};

use super::ciphers::{cipher_names, name};
use super::identity::{Identity, IdentityError};
use super::kernel::{Handover, Offer};
use super::tickets::Tickets;

/// The one protocol that a server speaks over TLS (RFC 7301).
pub(super) const ALPN: &[u8] = b"http/1.1";
/// The protocol of a client that asks for HTTP/2.
pub(super) const ALPN_HTTP2: &[u8] = b"h2";
/// Tickets that a client of TLS 1.3 gets for each session, as many as most servers give.
const TICKETS: usize = 2;
/// The header of a record, which rustls counts as part of the record's size.
const HEADER_BYTES: usize = 5;
/// The most content that a record may have (RFC 8446 §5.1).
pub(super) const FULL_CONTENT_BYTES: usize = 16 * 1024;

/// How a server speaks TLS.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only these cipher suites, the preferred ones first, by their names at IANA; if empty, those
    /// that rustls enables by default.
    pub ciphers: Vec<String>,
    /// Let clients resume a session: it saves the signature, and with TLS 1.2 the exchange of keys.
    pub resumption: bool,
    /// Most bytes of content in a record; `None` for 16 KiB, the most there may be.
    pub record_bytes: Option<usize>,
    /// When the kernel gets the sessions that it can handle.
    pub handover: Handover,
}

/// Why TLS cannot be spoken with these options.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("there is no cipher suite `{name}`; there are {}", cipher_names().join(", "))]
    UnknownCipher { name: String },
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("the certificate and the key cannot be used: {0}")]
    Unusable(rustls::Error),
    #[error("the cipher suites serve no version of TLS: {0}")]
    NoVersion(rustls::Error),
}

/// A server's side of TLS 1.2 and 1.3, made once and shared by its connections.
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) server: Arc<ServerConfig>,
    pub(super) handover: Handover,
    offer: Offer,
}

impl Config {
    /// # Errors
    /// A name that no cipher suite has, an identity without certificate or key, or a key that does
    /// not belong to its certificate.
    pub fn new(identity: &Identity, options: &Options) -> Result<Self, ConfigError> {
        let provider = CryptoProvider {
            cipher_suites: suites(&options.ciphers)?,
            ..aws_lc_rs::default_provider()
        };
        let builder = ServerConfig::builder_with_provider(Arc::new(provider));
        let mut config = builder
            .with_safe_default_protocol_versions()
            .map_err(ConfigError::NoVersion)?
            .with_no_client_auth()
            .with_single_cert(identity.chain()?, identity.key()?)
            .map_err(ConfigError::Unusable)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.max_fragment_size = options.record_bytes.map(|bytes| bytes + HEADER_BYTES);
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        if options.resumption {
            config.ticketer = Arc::new(Tickets::new(&identity.ticket_key));
            config.send_tls13_tickets = TICKETS;
        }
        // A user who names ciphers wants the first of them.
        config.ignore_client_order = !options.ciphers.is_empty();
        config.enable_secret_extraction = options.handover != Handover::Never;
        let offer = match options.handover {
            Handover::Never => Offer::default(),
            _ => Offer::of(&config.crypto_provider().cipher_suites),
        };
        Ok(Self {
            server: Arc::new(config),
            handover: options.handover,
            offer,
        })
    }

    /// Which of its sessions the kernel can handle; none if it is to have none.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Most bytes of content in a record.
    pub(super) fn content_bytes(&self) -> usize {
        let most = self.server.max_fragment_size;
        most.map_or(FULL_CONTENT_BYTES, |bytes| bytes - HEADER_BYTES)
    }
}

fn suites(names: &[String]) -> Result<Vec<SupportedCipherSuite>, ConfigError> {
    let find = |wanted: &String| {
        let mut suites = aws_lc_rs::ALL_CIPHER_SUITES.iter();
        let found = suites.find(|suite| name(suite) == *wanted).copied();
        found.ok_or_else(|| ConfigError::UnknownCipher {
            name: wanted.clone(),
        })
    };
    match names {
        [] => Ok(aws_lc_rs::DEFAULT_CIPHER_SUITES.to_vec()),
        names => names.iter().map(find).collect(),
    }
}
