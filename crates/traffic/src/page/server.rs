//! The end that answers, one connection at a time.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::time::Duration;

use sys::socket;

use super::answer;

/// A client that is silent for this long has gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than any request that is answered, bytes.
const REQUEST_BYTES: usize = 256;

/// A server of pages that is listening.
#[derive(Debug)]
pub struct PageServer {
    listener: TcpListener,
    /// The congestion control of its connections.
    congestion_control: String,
}

impl PageServer {
    /// Listens on a free port of this address. `congestion_control` applies to its connections;
    /// `None` keeps the default of the namespace.
    ///
    /// # Errors
    /// `ENOENT` for an algorithm that the kernel does not have, `EPERM` for one that ordinary users
    /// may not choose here; otherwise those of bind(2).
    pub fn listen(address: Ipv4Addr, congestion_control: Option<&str>) -> io::Result<Self> {
        let listener = TcpListener::bind((address, 0))?;
        if let Some(wanted) = congestion_control {
            socket::set_congestion_control(listener.as_fd(), wanted)?;
        }
        let congestion_control = socket::congestion_control(listener.as_fd())?;
        Ok(Self {
            listener,
            congestion_control,
        })
    }

    /// Returns the address at which it listens.
    ///
    /// # Errors
    /// None are known.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the congestion control by its name in the kernel.
    pub fn congestion_control(&self) -> &str {
        &self.congestion_control
    }

    /// Answers one connection after another, for as long as the process lives.
    pub fn serve(&self) -> ! {
        loop {
            // An error of one connection does not affect the next; the client reports it.
            let _ = self.listener.accept().and_then(|(stream, _)| serve(stream));
        }
    }
}

fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // The answer leaves in one piece, so nothing of it may wait for an acknowledgement.
    stream.set_nodelay(true)?;
    let mut request = Vec::new();
    let mut piece = [0; REQUEST_BYTES];
    while !request.ends_with(b"\r\n\r\n") && request.len() < REQUEST_BYTES {
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            bytes => request.extend_from_slice(&piece[..bytes]),
        }
    }
    answer::requested(&request).map_or(Ok(()), |bytes| stream.write_all(&answer::answer(bytes)))
}
