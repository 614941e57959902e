//! A connection over a channel that no peer could bring about in time.

use std::net::TcpListener;

use super::*;
use crate::engine::transfer::Calls;
use crate::engine::{FilePart, Settings};

/// A channel whose goodbye finds no room.
struct Full {
    socket: TcpStream,
    has_output: bool,
}

impl Channel for Full {
    type Common = ();

    fn new(socket: TcpStream, (): &()) -> io::Result<Self> {
        Ok(Self {
            socket,
            has_output: false,
        })
    }

    fn socket(&self) -> &TcpStream {
        &self.socket
    }

    fn receive<T: Transfer>(
        &mut self,
        (): &mut (),
        _transfer: &mut T,
        _room: &mut [u8],
    ) -> io::Result<Received> {
        Ok(Received::Refused)
    }

    fn send<T: Transfer>(
        &mut self,
        (): &mut (),
        _transfer: &mut T,
        bytes: &[u8],
        _more: bool,
    ) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn send_file<T: Transfer>(
        &mut self,
        (): &mut (),
        _transfer: &mut T,
        _part: &FilePart,
        most: usize,
    ) -> io::Result<usize> {
        Ok(most)
    }

    fn has_output(&self) -> bool {
        self.has_output
    }

    fn say_goodbye<T: Transfer>(&mut self, (): &mut (), _transfer: &mut T) {
        self.has_output = true;
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

#[test]
fn nobody_waits_for_room_to_send_once_sending_is_over() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let settings = Settings {
        idle_timeout_s: 1,
        request_timeout_s: 1,
        drain_timeout_s: 1,
        max_connections: 1,
        busy_poll: None,
    };
    let mut shared = Shared::<_, Full, _>::new(Silent, (), Calls, settings);
    let mut connection = Connection::<_, ()>::new(peer, &shared).unwrap();
    assert_eq!(connection.proceed(&mut shared, false), Fate::Keep);
    assert!(connection.has_output() && !connection.waits_for_room());
}
