//! Rigs: hosts that are network namespaces of our own, joined by virtual devices. Client and server
//! have a network between them, and the machine's own network stays as it is.
//!
//! A [`Lab`] lives as long as its value; a rig that `linerate rig up` leaves standing is in
//! [`standing`]. Either is held by a process of its own, see [`holder`].

mod build;
mod cabling;
mod error;
pub mod holder;
mod inside;
mod layout;
pub mod qdisc;
pub mod standing;
pub mod tcp;
pub mod wire;

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use model::Topology;
use sys::namespace::HeldNamespace;

use crate::links::{self, Device};
pub use error::{RigError, Step};
use holder::Holder;
pub use holder::{HeldHost, hold};
pub use inside::MARK;
use inside::{GRACE, Inside};

/// Whether the calling process is on a host of a rig: every device of its network namespace that is
/// up is a loopback or belongs to a rig, so nothing that is sent there leaves the rig.
pub fn is_inside() -> bool {
    let is_rigs = |device: &Device| {
        let kind = device.virtual_kind.as_deref();
        device.name.starts_with(layout::PREFIX) && matches!(kind, Some("veth" | "vxlan" | "bridge"))
    };
    let mut devices = links::list().unwrap_or_default();
    devices.retain(|device| device.name != "lo" && device.flags & links::IFF_UP != 0);
    !devices.is_empty() && devices.iter().all(is_rigs)
}

/// A rig that exists as long as this lives. If the process that has it dies, the rig goes too: the
/// holder notices the end, and ends all that was started there.
#[derive(Debug)]
pub struct Lab {
    hosts: Vec<Host>,
    /// The last field, so that it is dropped when nothing of ours is open in its namespaces.
    _holder: Holder,
}

impl Lab {
    /// Builds a rig: as root from plain network namespaces, otherwise within a user namespace.
    ///
    /// `program` is Linerate itself, usually `/proc/self/exe`, which is started again to hold the
    /// rig.
    ///
    /// # Errors
    /// Says which step the kernel refused, its errno, and what to do.
    pub fn build(program: &Path, topology: Topology) -> Result<Self, RigError> {
        let mut holder = Holder::start(program, topology)?;
        let held = holder.build()?;
        let pid = holder.pid();
        let hosts = held.into_iter().map(|host| Host::open(pid, host));
        let hosts: Result<Vec<_>, _> = hosts.collect();
        Ok(Self {
            hosts: hosts.map_err(RigError::Start)?,
            _holder: holder,
        })
    }

    /// Finds a host by its name: `client`, `server`, or one that its topology has between them.
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name() == name)
    }

    /// Client and server, each with the address at which the other reaches it.
    pub fn ends(&self) -> Option<[(&Host, Ipv4Addr); 2]> {
        let (client, server) = (self.hosts.first()?, self.hosts.last()?);
        Some([(client, client.address()?), (server, server.address()?)])
    }

    /// All hosts, the client first and the server last.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }
}

/// A host of a rig, whose namespaces are kept open.
#[derive(Debug)]
pub struct Host {
    /// PID of the process that holds it.
    holder: u32,
    held: HeldHost,
    place: HeldNamespace,
}

impl Host {
    fn open(holder: u32, held: HeldHost) -> io::Result<Self> {
        let place = HeldNamespace::held_by(holder, held.descriptor)?;
        Ok(Self {
            holder,
            held,
            place,
        })
    }

    /// Its name in the rig.
    pub fn name(&self) -> &str {
        &self.held.name
    }

    /// The address at which the other hosts of the rig reach it; the host of a wire has none.
    pub fn address(&self) -> Option<Ipv4Addr> {
        self.held.address
    }

    /// Inode of its network namespace.
    pub fn namespace(&self) -> u64 {
        self.held.namespace
    }

    /// The PID of the process that holds its network namespace, and the descriptor there.
    pub fn held_as(&self) -> (u32, i32) {
        (self.holder, self.held.descriptor)
    }

    /// Lets a command start on this host, as the user who starts it. If the rig belongs to an
    /// ordinary user, the command is root over the rig's namespaces, but remains that user to the
    /// machine. Call it before anything else that the child sets for itself, such as
    /// [`sys::process::prepare_child`].
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files.
    pub fn put(&self, command: &mut Command) -> io::Result<()> {
        self.place.put(command)
    }

    /// Ends every process on this host except its holder: asks them all, and kills those that are
    /// still there two seconds later. Returns when they have ended, or wait for a disk to do so.
    ///
    /// # Errors
    /// `EMFILE` at the limit of open files; then no process is ended.
    pub fn end_all(&self) -> io::Result<()> {
        Inside::of_host(self.holder, self.place.network()?).end(GRACE);
        Ok(())
    }

    /// Moves the calling process to this host, as [`Host::put`] does with a child.
    ///
    /// # Errors
    /// `EINVAL` in a process with threads.
    pub fn enter(&self) -> io::Result<()> {
        self.place.enter()
    }
}
