//! The end that is not ours: rustls with its own buffers. It says what a test tells it to say.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use model::request::TlsVersion;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
};
use traffic::tls::{chain, key};

use super::{Choice, Role};

/// Bytes that rustls counts as part of a record, in addition to its content.
const HEADER_BYTES: usize = 5;
/// Content of a record where records are small, bytes: a ticket needs more.
const SMALL_RECORD_BYTES: usize = 64;

/// Configurations of peers: with full and with small records, and each client with one version of
/// TLS only.
pub(super) struct Peers {
    servers: [Arc<ServerConfig>; 2],
    clients: [[Arc<ClientConfig>; 2]; 2],
}

impl Peers {
    pub(super) fn new(certificate: &str, private_key: &str) -> Self {
        let sizes = [None, Some(SMALL_RECORD_BYTES + HEADER_BYTES)];
        let versions = [TlsVersion::Tls12, TlsVersion::Tls13];
        Self {
            servers: sizes.map(|most| Arc::new(server(certificate, private_key, most))),
            clients: versions
                .map(|version| sizes.map(|most| Arc::new(client(certificate, version, most)))),
        }
    }

    /// Makes the peer of an end of ours.
    pub(super) fn connect(&self, kind: Choice) -> Peer {
        let size = usize::from(kind.is_small);
        let mut connection = match kind.ours {
            Role::Client => ServerConnection::new(Arc::clone(&self.servers[size])).map(Into::into),
            Role::Server => {
                let version = usize::from(kind.version == TlsVersion::Tls13);
                let name = ServerName::try_from("a.test").expect("a name");
                let config = Arc::clone(&self.clients[version][size]);
                ClientConnection::new(config, name).map(Into::<Connection>::into)
            }
        }
        .expect("there is randomness");
        connection.set_buffer_limit(None);
        Peer(connection)
    }
}

fn server(certificate: &str, private_key: &str, record_bytes: Option<usize>) -> ServerConfig {
    let (chain, key) = (chain(certificate), key(private_key));
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain.expect("of our making"), key.expect("of our making"))
        .expect("the key belongs to the certificate");
    config.max_fragment_size = record_bytes;
    config
}

fn client(certificate: &str, version: TlsVersion, record_bytes: Option<usize>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(chain(certificate).expect("of our making"));
    let version = match version {
        TlsVersion::Tls12 => &TLS12,
        TlsVersion::Tls13 => &TLS13,
    };
    let mut config = ClientConfig::builder_with_protocol_versions(&[version])
        .with_root_certificates(roots)
        .with_no_client_auth();
    // What a connection does must not depend on the connections before it.
    config.resumption = Resumption::disabled();
    config.max_fragment_size = record_bytes;
    config
}

pub(super) struct Peer(Connection);

impl Peer {
    /// Takes content to say once the handshake is over.
    pub(super) fn say(&mut self, content: &[u8]) {
        let taken = self.0.writer().write_all(content);
        taken.expect("its buffers have no limit");
    }

    /// Changes its keys, and asks our end to change its own.
    pub(super) fn update_keys(&mut self) {
        let updated = self.0.refresh_traffic_keys();
        updated.expect("hands are shaken, with TLS 1.3");
    }

    pub(super) fn say_goodbye(&mut self) {
        self.0.send_close_notify();
    }

    /// Returns the bytes that it has to send.
    pub(super) fn said(&mut self) -> Vec<u8> {
        let mut words = Vec::new();
        while self.0.wants_write() {
            let written = self.0.write_tls(&mut words);
            written.expect("memory takes all");
        }
        words
    }

    /// Takes what our end says, and appends the content in it to `heard`. Returns `false` when that
    /// is not TLS, or at the end of the connection.
    pub(super) fn hear(&mut self, mut words: &[u8], heard: &mut Vec<u8>) -> bool {
        while !words.is_empty() {
            if self.0.read_tls(&mut words).is_err() || self.0.process_new_packets().is_err() {
                return false;
            }
            // The read ends with an error when nothing more is there yet, after it has read what
            // was.
            if self.0.reader().read_to_end(heard).is_ok() {
                return false;
            }
        }
        true
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }
}
