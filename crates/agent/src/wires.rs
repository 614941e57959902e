//! Connections of which this process holds both ends, for the probes that send back and forth.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use machine::probes::handoff::ByteEnd;
use machine::probes::quick::Wires;
use machine::rig::{Host, Lab};
use model::Topology;

/// A datagram that has not arrived after this time counts as lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// Connections over loopback, and between two namespaces that are made on first use and go when
/// this is dropped.
#[derive(Debug)]
pub struct OwnWires {
    /// Linerate's executable, which runs as the holder of the namespaces.
    program: PathBuf,
    lab: OnceLock<Result<Lab, String>>,
}

impl OwnWires {
    /// Prepares connections without opening any; `program` is Linerate's executable.
    pub fn of(program: PathBuf) -> Self {
        Self {
            program,
            lab: OnceLock::new(),
        }
    }

    fn namespaces(&self) -> io::Result<[(&Host, Ipv4Addr); 2]> {
        let build =
            || Lab::build(&self.program, Topology::Netns).map_err(|error| error.to_string());
        let lab = self.lab.get_or_init(build).as_ref();
        let lab = lab.map_err(|why| io::Error::other(why.clone()))?;
        lab.ends().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Wires for OwnWires {
    fn loopback(&self) -> io::Result<[ByteEnd; 2]> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        ends(near, &listener)
    }

    fn veth(&self) -> io::Result<[ByteEnd; 2]> {
        if !sys::user::is_root() {
            // An ordinary user's namespaces may be entered only by a process with one thread.
            return Err(io::Error::other("only root can enter its namespaces"));
        }
        let [(client, _), (server, address)] = self.namespaces()?;
        let listener = make_on(server, || TcpListener::bind((address, 0)))?;
        let to = SocketAddr::new(IpAddr::V4(address), listener.local_addr()?.port());
        let near = make_on(client, || TcpStream::connect(to))?;
        ends(near, &listener)
    }

    fn datagrams(&self) -> io::Result<[UdpSocket; 2]> {
        let bound = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        let (near, far) = (bound()?, bound()?);
        near.connect(far.local_addr()?)?;
        far.connect(near.local_addr()?)?;
        far.set_read_timeout(Some(PATIENCE))?;
        Ok([near, far])
    }
}

/// Both ends of a connection, without Nagle's delay.
fn ends(near: TcpStream, listener: &TcpListener) -> io::Result<[ByteEnd; 2]> {
    let (far, _) = listener.accept()?;
    let end = |stream: TcpStream| -> io::Result<ByteEnd> {
        stream.set_nodelay(true)?;
        Ok(ByteEnd {
            reads: Box::new(stream.try_clone()?),
            writes: Box::new(stream),
        })
    };
    Ok([end(near)?, end(far)?])
}

/// Runs `make` in a thread on a host of a rig; a socket stays in the namespace where it was made.
fn make_on<T: Send>(host: &Host, make: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let work = || {
        host.enter()?;
        make()
    };
    thread::scope(|scope| {
        let ended = thread::Builder::new().spawn_scoped(scope, work)?.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("its thread has ended")))
    })
}
