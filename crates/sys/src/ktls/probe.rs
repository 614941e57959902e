//! Whether the kernel makes and reads the records of a cipher: tested by doing it once, over
//! loopback.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::time::Duration;

use super::{Direction, Keys, Suite, attach, set_keys};
use crate::listener::Refused;

/// The bytes that one end sends to the other.
const CONTENT: &[u8] = b"made by the kernel, and read by it";
/// The key for this test alone: any bytes will do.
const KEY: [u8; 32] = *b"a key that keeps nothing secret.";
const NONCE: [u8; 12] = *b"salt and all";
/// The kernel may have to load a module for it first.
const PATIENCE: Duration = Duration::from_secs(10);

/// Has the kernel encrypt some bytes at one end of a connection and decrypt them at the other.
///
/// # Errors
/// The first refusal: `TCP_ULP` where the kernel has no kTLS, `TLS_TX` or `TLS_RX` where it lacks
/// the cipher, or the connection where there is no loopback.
pub fn probe(suite: Suite) -> Result<(), Refused> {
    let (sender, receiver) = pair().map_err(refused("a connection over loopback"))?;
    for (end, direction) in [
        (&sender, Direction::Transmit),
        (&receiver, Direction::Receive),
    ] {
        attach(end.as_fd())?;
        let keys = Keys {
            suite,
            key: &KEY[..suite.cipher.key_bytes()],
            nonce: &NONCE,
            sequence: 0,
        };
        set_keys(end.as_fd(), direction, &keys)?;
    }
    carry(sender, receiver).map_err(refused("a record over loopback"))
}

/// Opens a connection to ourselves and returns both ends.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    loop {
        // Anybody may connect to a port; our connection may stand in the backlog behind others.
        let (far, peer) = listener.accept()?;
        if peer == near.local_addr()? {
            return Ok((near, far));
        }
    }
}

fn carry(mut sender: TcpStream, mut receiver: TcpStream) -> io::Result<()> {
    receiver.set_read_timeout(Some(PATIENCE))?;
    sender.write_all(CONTENT)?;
    let mut content = [0; CONTENT.len()];
    receiver.read_exact(&mut content)?;
    if content == CONTENT {
        Ok(())
    } else {
        Err(io::ErrorKind::InvalidData.into())
    }
}

fn refused(option: &'static str) -> impl Fn(io::Error) -> Refused {
    move |source| Refused { option, source }
}
