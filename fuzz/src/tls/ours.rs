//! Our ends, driven as the server's loop and the load drive them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use model::request::TlsVersion;
use traffic::engine::channel::{Channel as _, Received};
use traffic::tls::{ClientEnd, Handshake, Secured};

use super::memory::MemoryStream;
use super::{Choice, Role, SharedTls};

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OurStage {
    Open,
    /// The peer has said that nothing follows.
    Ended,
    Broken,
}

/// One of our ends.
pub(super) trait Ours {
    /// Takes a piece of what the peer says, and appends the content in it to `heard`.
    fn hear(&mut self, shared: &mut SharedTls, piece: &[u8], heard: &mut Vec<u8>);

    /// Takes content to say, and returns how much it took. No more than `room_bytes` may leave,
    /// where that can be limited.
    fn say(&mut self, shared: &mut SharedTls, content: &[u8], room_bytes: usize) -> usize;

    /// Says that nothing follows, if it can.
    fn say_goodbye(&mut self, shared: &mut SharedTls);

    /// Returns the bytes that have left since the last call.
    fn said(&mut self) -> Vec<u8>;

    /// Whether hands are shaken and nothing is under way.
    fn is_at_rest(&self) -> bool;

    fn has_output(&self) -> bool;

    fn stage(&self) -> OurStage;
}

pub(super) fn new(shared: &mut SharedTls, kind: Choice) -> Box<dyn Ours> {
    match kind.ours {
        Role::Server => Box::new(OurServer::new(shared, kind)),
        Role::Client => Box::new(Caller::new(shared, kind)),
    }
}

/// A server's connection, from the service's side.
struct OurServer {
    end: Secured,
    memory: MemoryStream,
    /// Index of its own configuration in `SharedTls::commons`.
    common: usize,
    stage: OurStage,
}

impl OurServer {
    fn new(shared: &SharedTls, kind: Choice) -> Self {
        let common = usize::from(kind.is_small);
        // The socket is never used: the memory stands in for it.
        let (socket, _) = UnixStream::pair().expect("two descriptors are to be had");
        let socket = TcpStream::from(OwnedFd::from(socket));
        Self {
            end: Secured::new(socket, &shared.commons[common]).expect("there is randomness"),
            memory: MemoryStream::default(),
            common,
            stage: OurStage::Open,
        }
    }

    /// Receives once, and returns whether there may be more.
    fn receive(&mut self, shared: &mut SharedTls, heard: &mut Vec<u8>) -> bool {
        let (common, room) = (&mut shared.commons[self.common], &mut shared.room[..]);
        match self.end.receive(common, &mut self.memory, room) {
            Ok(Received::Bytes {
                count,
                perhaps_more,
            }) => {
                heard.extend_from_slice(&room[..count]);
                if self.end.has_ended() {
                    self.stage = OurStage::Ended;
                }
                perhaps_more && !self.end.has_ended()
            }
            Ok(Received::Nothing) => false,
            Ok(Received::End) => {
                self.stage = OurStage::Ended;
                false
            }
            Ok(Received::Refused) | Err(_) => {
                self.stage = OurStage::Broken;
                false
            }
        }
    }
}

impl Ours for OurServer {
    fn hear(&mut self, shared: &mut SharedTls, piece: &[u8], heard: &mut Vec<u8>) {
        if self.stage != OurStage::Open {
            return;
        }
        self.memory.arrived.extend_from_slice(piece);
        while self.receive(shared, heard) {}
        if self.end.has_output() {
            self.say(shared, &[], usize::MAX);
        }
        if self.stage == OurStage::Broken {
            self.say_goodbye(shared);
        }
    }

    fn say(&mut self, shared: &mut SharedTls, content: &[u8], room_bytes: usize) -> usize {
        self.memory.room_bytes = room_bytes;
        let common = &mut shared.commons[self.common];
        let taken = self.end.send(common, &mut self.memory, content, false);
        taken.unwrap_or_else(|_| {
            self.stage = OurStage::Broken;
            0
        })
    }

    fn say_goodbye(&mut self, shared: &mut SharedTls) {
        let common = &mut shared.commons[self.common];
        self.end.say_goodbye(common, &mut self.memory);
    }

    fn said(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.memory.said)
    }

    fn is_at_rest(&self) -> bool {
        self.memory.arrived.is_empty() && !self.end.is_mid_message() && !self.end.has_output()
    }

    fn has_output(&self) -> bool {
        self.end.has_output()
    }

    fn stage(&self) -> OurStage {
        self.stage
    }
}

/// A client's connection, and the other end of its socket.
struct Caller {
    end: ClientEnd,
    socket: UnixStream,
    peer: UnixStream,
    has_shaken_hands: bool,
    stage: OurStage,
}

impl Caller {
    /// Makes a client that has said its first message.
    fn new(shared: &mut SharedTls, kind: Choice) -> Self {
        let (socket, peer) = sockets();
        let client = &shared.clients[usize::from(kind.version == TlsVersion::Tls13)];
        let mut caller = Self {
            end: ClientEnd::new(client).expect("there is randomness"),
            socket,
            peer,
            has_shaken_hands: false,
            stage: OurStage::Open,
        };
        caller.shake_hands(shared);
        caller
    }

    fn shake_hands(&mut self, shared: &mut SharedTls) {
        let socket = self.socket.as_fd();
        match self.end.shake_hands(&mut shared.buffers, socket) {
            Ok(Handshake::Done) => self.has_shaken_hands = true,
            Ok(Handshake::NeedsInput | Handshake::NeedsRoom) => {}
            Err(_) => self.stage = OurStage::Broken,
        }
    }

    /// Receives once, and returns whether there may be more.
    fn receive(&mut self, shared: &mut SharedTls, heard: &mut Vec<u8>) -> bool {
        match self.end.receive(&mut shared.buffers, self.socket.as_fd()) {
            Ok(None) => false,
            Ok(Some(content)) if !content.bytes.is_empty() => {
                heard.extend_from_slice(content.bytes);
                content.perhaps_more
            }
            Ok(Some(_)) => {
                self.stage = OurStage::Ended;
                false
            }
            Err(_) => {
                self.stage = OurStage::Broken;
                false
            }
        }
    }
}

impl Ours for Caller {
    fn hear(&mut self, shared: &mut SharedTls, piece: &[u8], heard: &mut Vec<u8>) {
        if self.stage != OurStage::Open {
            return;
        }
        let written = self.peer.write_all(piece);
        written.expect("the socket has room for a piece");
        if !self.has_shaken_hands {
            self.shake_hands(shared);
        }
        while self.has_shaken_hands && self.receive(shared, heard) {}
    }

    /// The socket alone limits how much leaves.
    fn say(&mut self, shared: &mut SharedTls, content: &[u8], _: usize) -> usize {
        let socket = self.socket.as_fd();
        let taken = self.end.send(&mut shared.buffers, socket, content);
        taken.unwrap_or_else(|_| {
            self.stage = OurStage::Broken;
            0
        })
    }

    /// Does nothing: our client leaves without a goodbye.
    fn say_goodbye(&mut self, _: &mut SharedTls) {}

    fn said(&mut self) -> Vec<u8> {
        let mut words = Vec::new();
        // The read ends with an error when nothing more is there, after it has read what was.
        let _ = self.peer.read_to_end(&mut words);
        words
    }

    fn is_at_rest(&self) -> bool {
        self.has_shaken_hands && !self.end.has_output()
    }

    fn has_output(&self) -> bool {
        self.end.has_output()
    }

    fn stage(&self) -> OurStage {
        self.stage
    }
}

fn sockets() -> (UnixStream, UnixStream) {
    let (near, far) = UnixStream::pair().expect("two descriptors are to be had");
    for socket in [&near, &far] {
        let set = socket.set_nonblocking(true);
        set.expect("a socket can be told not to block");
    }
    (near, far)
}
