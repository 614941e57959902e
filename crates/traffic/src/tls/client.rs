//! The client's side of TLS: whom it trusts, and one connection that is driven by hand.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use model::request::TlsVersion;
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, CommonState, HandshakeKind, ProtocolVersion, RootCertStore};
use schemars::JsonSchema;
use serde::Serialize;

use super::ciphers::name;
use super::config::{ALPN, ALPN_HTTP2, FULL_CONTENT_BYTES};
use super::end::{End, room_for_piece};
use super::failure::TlsFailure;
use super::identity::{IdentityError, chain};
use super::unchecked::Unchecked;
use crate::engine::transfer::Calls;

/// Room for records received and not yet read; the largest message of a handshake must fit.
const INCOMING_BYTES: usize = 128 * 1024;
/// Most full reads in a row that give no content: a peer could send any number of empty records.
const MOST_EMPTY_READS: u32 = 32;
/// The alert of a server that shares no protocol with us: `no_application_protocol` (RFC 7301 §3.2).
const NO_PROTOCOL: u8 = 120;
/// Sessions stored to be resumed; there is one server, and rustls stores eight tickets for it.
const SESSIONS: usize = 8;

/// Whose certificates are accepted.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Those that the certificates of this PEM text vouch for.
    Roots(String),
    /// Any certificate, whatever name is in it: for a server of a lab.
    Anybody,
}

/// How a client speaks TLS.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub trust: Trust,
    /// Only this version; `None` offers both, and the server chooses.
    pub version: Option<TlsVersion>,
    /// Resume sessions where the server gives tickets: that needs no signature, and with TLS 1.2 no
    /// exchange of keys.
    pub resumption: bool,
    /// Speak HTTP/2, and nothing else; otherwise HTTP/1.1.
    pub http2: bool,
}

impl ClientOptions {
    fn protocol(&self) -> &'static [u8] {
        if self.http2 { ALPN_HTTP2 } else { ALPN }
    }
}

/// Why a client cannot speak TLS with these options.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("`{0}` is neither a name nor an address that a certificate could be for")]
    Name(String),
    #[error(transparent)]
    Roots(#[from] IdentityError),
    #[error("none of its {count} certificates can vouch for others")]
    NoRoot { count: usize },
    #[error("the cipher suites serve no version of TLS: {0}")]
    NoVersion(rustls::Error),
}

impl ClientError {
    /// Whether the certificates that should vouch for servers are the cause.
    pub fn is_of_roots(&self) -> bool {
        matches!(self, Self::Roots(_) | Self::NoRoot { .. })
    }
}

/// How to speak to one server: made once, and shared by its connections together with their
/// sessions.
#[derive(Clone, Debug)]
pub struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Client {
    /// Prepares to speak to the server of this name or address, as it stands in the URL.
    ///
    /// # Errors
    /// A name that no certificate can be for, or a text without a certificate that can vouch.
    pub fn new(host: &str, options: &ClientOptions) -> Result<Self, ClientError> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| ClientError::Name(host.to_owned()))?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let versions = match options.version {
            None => &[&TLS13, &TLS12][..],
            Some(TlsVersion::Tls12) => &[&TLS12],
            Some(TlsVersion::Tls13) => &[&TLS13],
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .map_err(ClientError::NoVersion)?;
        let mut config = match &options.trust {
            Trust::Roots(pem) => builder.with_root_certificates(roots(pem)?),
            Trust::Anybody => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unchecked(provider))),
        }
        .with_no_client_auth();
        config.alpn_protocols = vec![options.protocol().to_vec()];
        config.resumption = if options.resumption {
            Resumption::in_memory_sessions(SESSIONS)
        } else {
            Resumption::disabled()
        };
        let config = Arc::new(config);
        Ok(Self { config, name })
    }

    fn speaks_http2(&self) -> bool {
        self.config
            .alpn_protocols
            .iter()
            .any(|name| name == ALPN_HTTP2)
    }
}

/// The certificates of a text that can vouch for others; bundles of systems hold some that no
/// longer can.
fn roots(pem: &str) -> Result<RootCertStore, ClientError> {
    let mut store = RootCertStore::empty();
    let found = chain(pem)?;
    let count = found.len();
    match store.add_parsable_certificates(found) {
        (0, _) => Err(ClientError::NoRoot { count }),
        _ => Ok(store),
    }
}

/// Memory that the connections of a thread share: none needs it for longer than a call.
pub struct Buffers {
    incoming: Vec<u8>,
    content: Vec<u8>,
    outgoing: Vec<u8>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            incoming: vec![0; INCOMING_BYTES],
            content: vec![0; INCOMING_BYTES],
            outgoing: room_for_piece(FULL_CONTENT_BYTES),
        }
    }
}

impl Buffers {
    /// The first `count` bytes of the content received last.
    pub(crate) fn content(&self, count: usize) -> &[u8] {
        &self.content[..count]
    }
}

/// The state of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    Done,
    /// The server must send something first.
    NeedsInput,
    /// The socket must accept what waits to be sent.
    NeedsRoom,
}

/// What a handshake agreed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Agreed {
    /// Version of TLS.
    #[schemars(extend("enum" = ["1.2", "1.3"]))]
    pub version: &'static str,
    /// Cipher suite, by its name at IANA.
    pub cipher: String,
}

/// Content received; empty at the end that the server has announced.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    pub bytes: &'a [u8],
    /// There may be more to receive right now.
    pub perhaps_more: bool,
}

/// How many bytes of content are in the buffers, and whether there may be more to receive.
struct Decrypted {
    count: usize,
    perhaps_more: bool,
}

impl Decrypted {
    fn of(self, buffers: &Buffers) -> Content<'_> {
        Content {
            bytes: &buffers.content[..self.count],
            perhaps_more: self.perhaps_more,
        }
    }
}

/// A client's connection, over a socket that the caller holds and that does not block.
pub struct ClientEnd {
    end: End<UnbufferedClientConnection>,
    /// Nothing was received so far.
    is_new: bool,
    /// HTTP/2 is the one protocol asked for; otherwise HTTP/1.1.
    wants_http2: bool,
    /// Content that came with the end of the handshake: settings of HTTP/2, which a server sends
    /// unasked.
    early: Vec<u8>,
}

impl ClientEnd {
    /// Prepares the first message, which [`Self::shake_hands`] sends.
    ///
    /// # Errors
    /// When there is no randomness for it.
    pub fn new(client: &Client) -> Result<Self, TlsFailure> {
        let config = Arc::clone(&client.config);
        let mut end = End::new(UnbufferedClientConnection::new(
            config,
            client.name.clone(),
        )?);
        end.read(&mut [], &mut [])?;
        Ok(Self {
            end,
            is_new: true,
            wants_http2: client.speaks_http2(),
            early: Vec::new(),
        })
    }

    /// Continues the handshake as far as that is possible without waiting.
    ///
    /// # Errors
    /// The reason why there is no TLS with this server.
    pub fn shake_hands(
        &mut self,
        buffers: &mut Buffers,
        socket: BorrowedFd<'_>,
    ) -> Result<Handshake, TlsFailure> {
        self.end.send_unsent(&mut Calls, socket)?;
        while self.end.is_handshaking() && !self.end.has_output() {
            let Some(arrived) = self
                .end
                .receive(&mut Calls, socket, &mut buffers.incoming)?
            else {
                return Ok(Handshake::NeedsInput);
            };
            let records = &mut buffers.incoming[..arrived.bytes];
            if std::mem::take(&mut self.is_new) && !arrived.is_last {
                TlsFailure::unless_record(records)?;
            }
            if arrived.is_last {
                return Err(TlsFailure::Closed);
            }
            let read = self.end.read(records, &mut buffers.content);
            // To send an alert is a courtesy: an error of `read` comes before one of sending.
            let sent = self.end.send_unsent(&mut Calls, socket);
            let count = read.map_err(|error| self.named(error.into()))?;
            // Nothing was asked yet, so a server of HTTP/1.1 has no content to send.
            if count > 0 && !self.wants_http2 {
                return Err(TlsFailure::SpeaksOther);
            }
            self.early.extend_from_slice(&buffers.content[..count]);
            sent?;
        }
        self.check_protocol()?;
        Ok(if self.end.has_output() {
            Handshake::NeedsRoom
        } else {
            Handshake::Done
        })
    }

    /// Names the alert of a server that knows none of our protocols, if HTTP/2 was asked for.
    fn named(&self, failure: TlsFailure) -> TlsFailure {
        match failure {
            TlsFailure::Alert { number, .. } if self.wants_http2 && number == NO_PROTOCOL => {
                TlsFailure::NoHttp2
            }
            other => other,
        }
    }

    /// Checks that HTTP/2 was agreed on, if it was asked for. A server may leave the protocol out
    /// of its answer, and means HTTP/1.1 then.
    fn check_protocol(&self) -> Result<(), TlsFailure> {
        let agreed = self.end.state().and_then(CommonState::alpn_protocol);
        let is_agreed = agreed == Some(ALPN_HTTP2) || self.end.is_handshaking();
        match self.wants_http2 && !is_agreed {
            true => Err(TlsFailure::NoHttp2),
            false => Ok(()),
        }
    }

    /// Takes the content that came with the end of the handshake.
    pub fn take_early(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.early)
    }

    /// What the handshake agreed on; `None` before it is done.
    pub fn agreed(&self) -> Option<Agreed> {
        let state = self.end.state()?;
        let cipher = name(&state.negotiated_cipher_suite()?);
        let version = match state.protocol_version()? {
            ProtocolVersion::TLSv1_2 => "1.2",
            _ => "1.3",
        };
        Some(Agreed { version, cipher })
    }

    /// Whether the handshake resumed an earlier session.
    pub fn is_resumed(&self) -> bool {
        let kind = self.end.state().and_then(CommonState::handshake_kind);
        kind == Some(HandshakeKind::Resumed)
    }

    /// Encrypts and sends bytes, and returns how many it accepted: less than all when there is no
    /// more room.
    ///
    /// # Errors
    /// When the connection is of no more use.
    pub fn send(
        &mut self,
        buffers: &mut Buffers,
        socket: BorrowedFd<'_>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        self.end
            .send(&mut Calls, socket, &mut buffers.outgoing, bytes, false)
    }

    /// Whether accepted bytes are not yet sent.
    pub fn has_output(&self) -> bool {
        self.end.has_output()
    }

    /// Receives content; `None` when there is none, though records without content may have come.
    ///
    /// # Errors
    /// `UnexpectedEof` when the connection ended and the server did not announce it, `InvalidData`
    /// when the server broke the rules, and those of the socket.
    pub fn receive<'b>(
        &mut self,
        buffers: &'b mut Buffers,
        socket: BorrowedFd<'_>,
    ) -> io::Result<Option<Content<'b>>> {
        let received = self.decrypt(buffers, socket)?;
        Ok(received.map(|received| received.of(buffers)))
    }

    /// Receives like [`receive`](Self::receive), from a socket that does not block and that epoll
    /// watches for edges. An end of the connection that came together with part of a record is not
    /// reported again, so after such a part it reads once more.
    ///
    /// # Errors
    /// Those of `receive`.
    pub fn receive_at_edge<'b>(
        &mut self,
        buffers: &'b mut Buffers,
        socket: BorrowedFd<'_>,
    ) -> io::Result<Option<Content<'b>>> {
        let mut received = self.decrypt(buffers, socket)?;
        if received.is_none() && self.end.has_leftover() {
            received = self.decrypt(buffers, socket)?;
        }
        Ok(received.map(|received| received.of(buffers)))
    }

    /// Receives content into the buffers.
    fn decrypt(
        &mut self,
        buffers: &mut Buffers,
        socket: BorrowedFd<'_>,
    ) -> io::Result<Option<Decrypted>> {
        let mut perhaps_more = true;
        let mut empty_reads = 0;
        while perhaps_more && !self.end.has_ended() {
            let Some(arrived) = self
                .end
                .receive(&mut Calls, socket, &mut buffers.incoming)?
            else {
                return Ok(None);
            };
            if arrived.is_last {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            perhaps_more = arrived.perhaps_more;
            let records = &mut buffers.incoming[..arrived.bytes];
            let count = self.end.read(records, &mut buffers.content);
            let count = count.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            self.end.send_unsent(&mut Calls, socket)?;
            if count > 0 {
                let perhaps_more = perhaps_more || self.end.has_ended();
                return Ok(Some(Decrypted {
                    count,
                    perhaps_more,
                }));
            }
            empty_reads += 1;
            if empty_reads > MOST_EMPTY_READS {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        let the_end = Decrypted {
            count: 0,
            perhaps_more: false,
        };
        Ok(self.end.has_ended().then_some(the_end))
    }
}
