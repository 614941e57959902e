//! A connection over a fake channel, in states that no real peer could bring about in time.

use std::fs::File;
use std::net::TcpListener;
use std::sync::Arc;

use sys::tally_page::TallyPage;

use super::*;
use crate::engine::life::Life;
use crate::engine::transfer::Calls;
use crate::engine::{FilePart, Settings};

/// A channel that receives the same each time, except that bytes come only once. Its goodbye finds
/// no room at first.
struct Fake {
    socket: TcpStream,
    received: Received,
    has_output: bool,
    has_room: bool,
    has_said_goodbye: bool,
    files_sent: usize,
}

impl Channel for Fake {
    /// What the channel receives.
    type Common = Received;

    fn new(socket: TcpStream, received: &Received) -> io::Result<Self> {
        Ok(Self {
            socket,
            received: *received,
            has_output: false,
            has_room: false,
            has_said_goodbye: false,
            files_sent: 0,
        })
    }

    fn socket(&self) -> &TcpStream {
        &self.socket
    }

    fn receive<T: Transfer>(
        &mut self,
        _received: &mut Received,
        _transfer: &mut T,
        _room: &mut [u8],
    ) -> io::Result<Received> {
        let received = self.received;
        if let Received::Bytes { count, .. } = &mut self.received {
            *count = 0;
        }
        Ok(received)
    }

    fn send<T: Transfer>(
        &mut self,
        _received: &mut Received,
        _transfer: &mut T,
        bytes: &[u8],
        _more: bool,
    ) -> io::Result<usize> {
        self.has_output &= !self.has_room;
        Ok(bytes.len())
    }

    fn send_file<T: Transfer>(
        &mut self,
        _received: &mut Received,
        _transfer: &mut T,
        _part: &FilePart,
        most: usize,
    ) -> io::Result<usize> {
        self.files_sent += 1;
        Ok(most)
    }

    fn has_output(&self) -> bool {
        self.has_output
    }

    fn say_goodbye<T: Transfer>(&mut self, _received: &mut Received, _transfer: &mut T) {
        self.has_output |= !self.has_said_goodbye;
        self.has_said_goodbye = true;
    }
}

struct Silent;

impl Service for Silent {
    type Memory = ();

    fn step(&mut self, (): &mut (), _input: &[u8], _output: &mut Output) -> Step {
        Step::NeedMore
    }

    fn is_mid_request(&self, (): &()) -> bool {
        false
    }
}

const PIPELINED: usize = 100;

/// Answers each byte with a byte of a file.
struct TinyFiles;

impl Service for TinyFiles {
    type Memory = ();

    fn step(&mut self, (): &mut (), _input: &[u8], output: &mut Output) -> Step {
        let file = File::open("/proc/self/exe").unwrap();
        let metadata = file.metadata().unwrap();
        output.attach(FilePart::new(file, &metadata, (0, 1)));
        Step::Took {
            bytes: 1,
            next: Next::Continue,
        }
    }

    fn is_mid_request(&self, (): &()) -> bool {
        false
    }
}

#[test]
fn many_tiny_files_at_once_leave_the_others_their_turn() {
    let (peer, _listener) = connected();
    let requests = Received::Bytes {
        count: PIPELINED,
        perhaps_more: false,
    };
    let mut shared = Shared::<_, Fake, _>::new(TinyFiles, requests, Calls, (settings(), life()));
    let mut connection = Connection::<_, ()>::new(peer, &shared).unwrap();
    let mut turns = Vec::new();
    while connection.channel.files_sent < PIPELINED && turns.len() < PIPELINED {
        let before = connection.channel.files_sent;
        assert_eq!(connection.proceed(&mut shared, false), Fate::Keep);
        turns.push(connection.channel.files_sent - before);
    }
    assert_eq!(turns, [16, 16, 16, 16, 16, 16, 4]);
    assert!(!connection.has_output());
}

#[test]
fn nobody_waits_for_room_to_send_once_sending_is_over() {
    let (peer, _listener) = connected();
    let mut shared =
        Shared::<_, Fake, _>::new(Silent, Received::Refused, Calls, (settings(), life()));
    let mut connection = Connection::<_, ()>::new(peer, &shared).unwrap();
    assert_eq!(connection.proceed(&mut shared, false), Fate::Keep);
    assert!(connection.has_output() && !connection.waits_for_room());
}

#[test]
fn a_connection_ends_once_there_was_room_for_its_goodbye() {
    for (received, is_stopped) in [(Received::End, false), (Received::Nothing, true)] {
        let (peer, _listener) = connected();
        let mut shared = Shared::<_, Fake, _>::new(Silent, received, Calls, (settings(), life()));
        let mut connection = Connection::<_, ()>::new(peer, &shared).unwrap();
        if is_stopped {
            // A connection that was never answered would stay open for its first request.
            connection.output.bytes().push(b'x');
            assert_eq!(connection.send(&mut shared), Fate::Keep);
            shared.drain().unwrap();
        }
        let fate = connection.proceed(&mut shared, false);
        assert!(!connection.is_over(fate, &mut shared), "{received:?}");
        assert!(connection.waits_for_room());
        connection.channel.has_room = true;
        let fate = connection.proceed(&mut shared, false);
        assert!(connection.is_over(fate, &mut shared), "{received:?}");
    }
}

#[test]
fn once_a_peer_has_made_room_an_incomplete_request_has_the_request_timeout_again() {
    let (peer, _listener) = connected();
    let timeouts = Settings {
        request_timeout_s: 2,
        idle_timeout_s: 9,
        ..settings()
    };
    let shared = Shared::<_, Fake, _>::new(Silent, Received::Refused, Calls, (timeouts, life()));
    let mut connection = Connection::<_, ()>::new(peer, &shared).unwrap();
    for (mid_request, has_output, timeout_s) in
        [(true, false, 2), (false, false, 9), (true, true, 9)]
    {
        connection.mid_request = mid_request;
        connection.channel.has_output = has_output;
        connection.expect_room(&shared);
        connection.room_was_had(&shared);
        assert_eq!(connection.deadline_second, shared.deadline(timeout_s));
    }
}

fn connected() -> (TcpStream, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (peer, listener)
}

fn life() -> Life {
    Life {
        counts: Arc::new(TallyPage::new().unwrap()),
        listener: Box::new(|_| Ok(())),
    }
}

fn settings() -> Settings {
    Settings {
        idle_timeout_s: 1,
        request_timeout_s: 1,
        drain_timeout_s: 1,
        max_connections: 1,
        least_rate_bytes_s: 1,
        memory_bytes: usize::MAX,
        rearm_oneshot: false,
        busy_poll: None,
    }
}
