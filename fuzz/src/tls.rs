//! Both ends of TLS over sockets, with somebody between them who cuts and alters what they say.

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use traffic::engine::channel::{Channel as _, Received};
use traffic::engine::transfer::Calls;
use traffic::tls::{
    Buffers, Client, ClientEnd, ClientOptions, Common, Config, Handshake, Identity, Options,
    Secured, Trust, Version,
};

/// What the client says once it may, and what the server answers to the last byte of it.
pub const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
pub const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What a service would have at once of one connection.
const ROOM_BYTES: usize = 64 * 1024;
/// A handshake and an exchange take a few turns; ends that never fall silent are a fault.
const MOST_TURNS: usize = 64;

/// Whose words are altered on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    Client,
    Server,
}

/// What became of an exchange.
#[derive(Debug, Default)]
pub struct Heard {
    pub by_server: Vec<u8>,
    pub by_client: Vec<u8>,
    /// Something did not come as it was said.
    pub is_altered: bool,
}

/// How TLS is spoken, and the memory that connections share; made once.
struct Place {
    clients: [Client; 2],
    buffers: Buffers,
    common: Common,
    room: Vec<u8>,
}

thread_local! {
    static PLACE: RefCell<Place> = RefCell::new(Place::new());
}

impl Place {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["a.test".to_owned()]);
        let made = made.expect("a certificate can be made");
        let identity = Identity::new(&made.cert.pem(), &made.signing_key.serialize_pem());
        let options = Options {
            resumption: true,
            ..Options::default()
        };
        let config = Config::new(&identity.expect("there is randomness"), &options);
        let client = |version| {
            let options = ClientOptions {
                trust: Trust::Anybody,
                version: Some(version),
                resumption: false,
                http2: false,
            };
            Client::new("a.test", &options).expect("a name that a certificate can have")
        };
        Self {
            clients: [Version::Tls12, Version::Tls13].map(client),
            buffers: Buffers::default(),
            common: Common::new(config.expect("an identity of its own making")),
            room: vec![0; ROOM_BYTES],
        }
    }
}

/// Somebody's way to say bytes: cut into pieces, and altered as `changes` has it, whose pairs are how
/// many bytes go by unaltered and what is then XORed.
struct Way<'a> {
    piece_bytes: usize,
    changes: &'a [u8],
    passed: usize,
    is_altered: bool,
}

impl Way<'_> {
    fn alter(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            let [gap, mask, rest @ ..] = self.changes else {
                return;
            };
            if self.passed < usize::from(*gap) {
                self.passed += 1;
                continue;
            }
            *byte ^= mask;
            self.is_altered |= *mask != 0;
            (self.passed, self.changes) = (0, rest);
        }
    }
}

/// A server's connection, from the service's side, and the other end of its socket.
struct Server {
    end: Secured,
    peer: UnixStream,
    heard: Vec<u8>,
    is_over: bool,
}

impl Server {
    fn new(place: &Place) -> Self {
        let (socket, peer) = sockets();
        let socket = TcpStream::from(OwnedFd::from(socket));
        let end = Secured::new(socket, &place.common).expect("there is randomness");
        Self {
            end,
            peer,
            heard: Vec::new(),
            is_over: false,
        }
    }

    /// Takes one piece as the loop of a worker does, and answers a whole request.
    fn take(&mut self, place: &mut Place, piece: &[u8]) {
        if self.is_over || self.peer.write_all(piece).is_err() {
            return;
        }
        let (common, room) = (&mut place.common, &mut place.room[..]);
        match self.end.receive(common, &mut Calls, room) {
            Ok(Received::Bytes { count, .. }) => self.heard.extend_from_slice(&room[..count]),
            Ok(Received::Nothing) => {}
            Ok(Received::End | Received::Refused) | Err(_) => self.is_over = true,
        }
        let answer = match self.heard == REQUEST && !self.is_over {
            true => ANSWER,
            false => &[],
        };
        if !answer.is_empty() || self.end.has_output() {
            let sent = self.end.send(common, &mut Calls, answer, false);
            self.is_over |= sent.is_err();
        }
        if self.is_over {
            self.end.say_goodbye(common, &mut Calls);
        }
    }
}

/// A client's connection, and the other end of its socket.
struct Caller {
    end: ClientEnd,
    socket: UnixStream,
    peer: UnixStream,
    heard: Vec<u8>,
    has_asked: bool,
    is_over: bool,
}

impl Caller {
    fn new(place: &mut Place, version: Version) -> Self {
        let (socket, peer) = sockets();
        let client = &place.clients[usize::from(version == Version::Tls13)];
        let mut caller = Self {
            end: ClientEnd::new(client).expect("there is randomness"),
            socket,
            peer,
            heard: Vec::new(),
            has_asked: false,
            is_over: false,
        };
        caller.proceed(place);
        caller
    }

    fn take(&mut self, place: &mut Place, piece: &[u8]) {
        if !self.is_over && self.peer.write_all(piece).is_ok() {
            self.proceed(place);
        }
    }

    fn proceed(&mut self, place: &mut Place) {
        let socket = self.socket.as_fd();
        if !self.has_asked {
            match self.end.shake_hands(&mut place.buffers, socket) {
                Ok(Handshake::Done) => {
                    let sent = self.end.send(&mut place.buffers, socket, REQUEST);
                    self.is_over |= sent.is_err();
                    self.has_asked = true;
                }
                Ok(Handshake::NeedsInput | Handshake::NeedsRoom) => return,
                Err(_) => self.is_over = true,
            }
        }
        while !self.is_over {
            match self.end.receive(&mut place.buffers, socket) {
                Ok(None) => return,
                Ok(Some(content)) if !content.bytes.is_empty() => {
                    self.heard.extend_from_slice(content.bytes);
                }
                Ok(Some(_)) | Err(_) => self.is_over = true,
            }
        }
    }
}

/// A server hears these bytes, in pieces, from the first one on.
pub fn server_hears(bytes: &[u8], piece_bytes: usize) {
    PLACE.with_borrow_mut(|place| {
        let mut server = Server::new(place);
        for piece in bytes.chunks(piece_bytes) {
            server.take(place, piece);
            // What it says is read, so that there is always room.
            said(&mut server.peer);
        }
        assert_eq!(server.heard, b"", "content before keys were agreed on");
    });
}

/// A client hears these bytes, in pieces, after its first message.
pub fn client_hears(bytes: &[u8], piece_bytes: usize, version: Version) {
    PLACE.with_borrow_mut(|place| {
        let mut client = Caller::new(place, version);
        for piece in bytes.chunks(piece_bytes) {
            client.take(place, piece);
            said(&mut client.peer);
        }
        assert!(!client.has_asked && client.heard.is_empty());
    });
}

/// A handshake, a request and its answer. What one of them says is cut into pieces and altered.
#[must_use]
pub fn talk(version: Version, speaker: Speaker, changes: &[u8], piece_bytes: usize) -> Heard {
    let mut way = Way {
        piece_bytes,
        changes,
        passed: 0,
        is_altered: false,
    };
    PLACE.with_borrow_mut(|place| {
        let mut server = Server::new(place);
        let mut client = Caller::new(place, version);
        for _ in 0..MOST_TURNS {
            let asked = said(&mut client.peer);
            pass(asked, &mut way, speaker == Speaker::Client, |piece| {
                server.take(place, piece);
            });
            let answered = said(&mut server.peer);
            let fell_silent = answered.is_empty();
            pass(answered, &mut way, speaker == Speaker::Server, |piece| {
                client.take(place, piece);
            });
            if fell_silent {
                return Heard {
                    by_server: server.heard,
                    by_client: client.heard,
                    is_altered: way.is_altered,
                };
            }
        }
        panic!("they never fall silent");
    })
}

fn pass(mut words: Vec<u8>, way: &mut Way<'_>, is_altered: bool, mut take: impl FnMut(&[u8])) {
    if !is_altered {
        words.chunks(ROOM_BYTES).for_each(take);
        return;
    }
    way.alter(&mut words);
    words.chunks(way.piece_bytes).for_each(&mut take);
}

/// All that waits at this end of a socket.
fn said(peer: &mut UnixStream) -> Vec<u8> {
    let mut words = Vec::new();
    // That nothing more is there is told as an error, after what was.
    let _ = peer.read_to_end(&mut words);
    words
}

fn sockets() -> (UnixStream, UnixStream) {
    let (near, far) = UnixStream::pair().expect("two descriptors are to be had");
    for socket in [&near, &far] {
        let set = socket.set_nonblocking(true);
        set.expect("a socket can be told not to block");
    }
    (near, far)
}
