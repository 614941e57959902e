//! A relay between a client and a server that tampers with what the server sends.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;

use crate::common::load_server::serve;

/// A place in the bytes that a server sends: after the handshake, within a record of a long answer.
const MID_RECORD: usize = 40_000;

/// What is done, once, to the bytes of a server that come after [`MID_RECORD`].
pub(crate) type Misdeed = fn(&mut TcpStream, &mut [u8]);

/// Starts the relay; on the first two connections, which are the first look, it changes nothing.
pub(crate) fn relay(to: SocketAddr, misdeed: Misdeed) -> SocketAddr {
    serve(move |client, index| {
        let server = TcpStream::connect(to).unwrap();
        let [mut from, mut upwards] = [&client, &server].map(|end| end.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut from, &mut upwards));
        pass_on(server, client, (index >= 2).then_some(misdeed));
    })
}

fn pass_on(mut server: TcpStream, mut client: TcpStream, mut misdeed: Option<Misdeed>) {
    let mut passed = 0;
    let mut room = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = server.read(&mut room) {
        let piece = &mut room[..count];
        passed += count;
        if passed > MID_RECORD
            && let Some(misdeed) = misdeed.take()
        {
            misdeed(&mut client, piece);
        }
        if client.write_all(piece).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}
