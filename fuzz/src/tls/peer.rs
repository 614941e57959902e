//! The end that is not ours: rustls with its own buffers, which say what they are told to.

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

/// What rustls counts to a record's content.
const HEADER_BYTES: usize = 5;
/// Content of a record where they are small: a ticket needs more.
const SMALL_RECORD_BYTES: usize = 64;

/// How peers speak: with full records and with small ones; clients with one version of TLS alone.
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

    /// The peer of an end of ours.
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
    // What a connection does is not to depend on those before it.
    config.resumption = Resumption::disabled();
    config.max_fragment_size = record_bytes;
    config
}

pub(super) struct Peer(Connection);

impl Peer {
    /// Says content once hands are shaken.
    pub(super) fn say(&mut self, content: &[u8]) {
        let taken = self.0.writer().write_all(content);
        taken.expect("its buffers have no limit");
    }

    /// Takes other keys, and asks for others.
    pub(super) fn update_keys(&mut self) {
        let updated = self.0.refresh_traffic_keys();
        updated.expect("hands are shaken, with TLS 1.3");
    }

    pub(super) fn say_goodbye(&mut self) {
        self.0.send_close_notify();
    }

    /// What it has to send.
    pub(super) fn said(&mut self) -> Vec<u8> {
        let mut words = Vec::new();
        while self.0.wants_write() {
            let written = self.0.write_tls(&mut words);
            written.expect("memory takes all");
        }
        words
    }

    /// Takes what our end says; what it holds of content is appended to `heard`. `false` when that
    /// is no TLS, or the end.
    pub(super) fn hear(&mut self, mut words: &[u8], heard: &mut Vec<u8>) -> bool {
        while !words.is_empty() {
            if self.0.read_tls(&mut words).is_err() || self.0.process_new_packets().is_err() {
                return false;
            }
            // That nothing more is there is told as an error, after what was.
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
