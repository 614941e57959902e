//! TLS connections between an end that is ours and one that is not. What ours hears is cut and
//! altered on the way.

mod handshake;
mod memory;
mod ours;
mod pair;
mod peer;
mod records;

use std::cell::RefCell;

use model::request::TlsVersion;
use traffic::tls::{Buffers, Client, ClientOptions, Common, Config, Identity, Options, Trust};

use self::peer::Peers;

pub use handshake::{Heard, hears, shake_hands};
pub use records::converse;

/// What the client says once it may. The server answers with [`ANSWER`] once it has heard all of
/// it.
pub const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
pub const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Input that a service would receive at once from one connection.
const ROOM_BYTES: usize = 64 * 1024;
/// Content of our records where they are small, bytes.
const SMALL_RECORD_BYTES: usize = 512;
/// A handshake and an exchange take a few turns; ends that never fall silent are a fault.
const MOST_TURNS: usize = 64;

/// Which of the two ends is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Server,
    Client,
}

/// What kind of connection there is to be.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub version: TlsVersion,
    pub ours: Role,
    /// Records hold little content.
    pub is_small: bool,
}

impl Choice {
    pub const COUNT: usize = 8;

    /// Makes the choice that the lowest three bits of a byte stand for.
    pub fn of(byte: u8) -> Self {
        Self {
            version: [TlsVersion::Tls12, TlsVersion::Tls13][usize::from(byte & 1)],
            ours: [Role::Server, Role::Client][usize::from(byte >> 1 & 1)],
            is_small: byte >> 2 & 1 == 1,
        }
    }
}

/// Configurations of TLS, and the memory that connections share; made once in a thread.
struct SharedTls {
    clients: [Client; 2],
    buffers: Buffers,
    /// With full records, and with small ones.
    commons: [Common; 2],
    peers: Peers,
    room: Vec<u8>,
}

thread_local! {
    static SHARED: RefCell<SharedTls> = RefCell::new(SharedTls::new());
}

impl SharedTls {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]);
        let made = made.expect("a certificate can be made");
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        Self {
            clients: [TlsVersion::Tls12, TlsVersion::Tls13].map(client),
            buffers: Buffers::default(),
            commons: [None, Some(SMALL_RECORD_BYTES)].map(|most| common(&certificate, &key, most)),
            peers: Peers::new(&certificate, &key),
            room: vec![0; ROOM_BYTES],
        }
    }
}

fn common(certificate: &str, key: &str, record_bytes: Option<usize>) -> Common {
    let identity = Identity::new(certificate, key).expect("there is randomness");
    let options = Options {
        resumption: true,
        record_bytes,
        ..Options::default()
    };
    Common::new(Config::new(&identity, &options).expect("an identity of its own making"))
}

fn client(version: TlsVersion) -> Client {
    let options = ClientOptions {
        trust: Trust::Anybody,
        version: Some(version),
        resumption: false,
        http2: false,
    };
    Client::new("a.test", &options).expect("a name that a certificate can have")
}
