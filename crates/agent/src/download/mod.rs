//! One file from a server to its clients, again and again over connections that stay: how fast it
//! goes, what it costs each side, and which side has no more to give.
//!
//! Whatever the client is, the same is counted in the same way: what the kernel knows to have come,
//! and the CPU time of both sides' processes, between two moments in the middle of it.

mod clients;
mod folder;
mod line;
mod server;
mod serving;
mod sides;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use machine::cpus::CpuSplit;
use machine::instruments::senders::SenderReading;
use model::cpus::CpuWish;
use model::failure::Failure;
use model::reading::MachineCpu;
use serde::{Deserialize, Serialize};
use traffic::tls::Agreed;

use crate::service::Pems;
use clients::Clients;
pub use line::{FarServing, LONGEST, serve};
pub use server::FileServer;
pub use serving::{ServedFile, Serving, ServingEnd};
use sides::SideWatch;

/// How long no further connection may be had, or get bytes, on a machine that has much else to do.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// A server's part of a handshake of TLS has more, also of one that goes on with an earlier session: H2O says 240
/// bytes then. To ask for another key, or to refuse, takes less.
const HANDSHAKE_BYTES: u64 = 120;
/// More than the kernel takes of an answer that nobody reads on: a client may ask first what there is,
/// over a connection that it closes.
const BEGUN_BYTES: u64 = 1 << 20;
/// Between two looks whether they have come.
const PAUSE: Duration = Duration::from_millis(5);
const LONGER_THAN_A_LOOK: Duration = Duration::from_millis(100);

/// What is served, and by whom.
#[derive(Clone, Debug)]
pub struct FileOffer {
    pub server: FileServer,
    /// It is asked for by its name, so that is of letters, digits, `.`, `-` and `_`.
    pub file: PathBuf,
    /// Who the server is over TLS; `None` in the clear.
    pub identity: Option<Pems>,
    /// How bytes leave our own server, which the other end is told; `None` of another.
    pub way: Option<String>,
}

/// Who downloads it, and for how long.
#[derive(Clone, Debug)]
pub struct Fetching {
    /// The client's program and its arguments, in which `{url}` is what it shall download until it is
    /// ended, `{connections}` over how many connections, and `{number}` which of the processes it is,
    /// from 0 on.
    pub client: Vec<String>,
    /// Of all processes.
    pub connections: u32,
    /// Connections of each process; `connections` is a multiple of it.
    pub connections_each: u32,
    /// From the first bytes of every connection to the window.
    pub settle: Duration,
    /// The window.
    pub score: Duration,
}

/// How it went.
#[derive(Clone, Debug)]
pub struct Downloaded {
    pub served: ServedFile,
    /// What our own client and the server agreed on beforehand.
    pub tls: Option<Agreed>,
    pub window_ns: u64,
    /// What the clients' ends of the connections acknowledged within the window: heads and, with TLS,
    /// what records add, are in it.
    pub sending: SenderReading,
    pub server: Side,
    pub client: Side,
    /// All CPUs of this machine within the window; `None` where they are hidden, and between two machines.
    pub machine: Option<MachineCpu>,
    /// What went to and from DRAM within the window, bytes, whoever asked for it; `None` where nothing counts it.
    pub dram_bytes: Option<f64>,
    /// What neither side nor the kernel's network threads had of the time of the CPUs, 0 to 1, of two machines on that where
    /// it is more; `None` where that is hidden.
    pub others_share: Option<f64>,
    /// CPUs that both sides had to share, count.
    pub shared_cpus: u32,
}

/// What one side spent within the window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Side {
    pub cpus: Vec<usize>,
    /// All its processes.
    pub cpu_ns: u64,
    /// The larger one of two shares, 0 to 1: of the window that its busiest thread had a CPU, and of
    /// the time of all its CPUs that it had.
    pub busy_share: f64,
}

impl Downloaded {
    /// Bytes per second.
    pub fn bytes_per_second(&self) -> f64 {
        self.sending.acked_bytes as f64 * 1e9 / self.window_ns.max(1) as f64
    }

    /// CPU time of a side per GB, s.
    pub fn cpu_seconds_per_gb(&self, side: &Side) -> f64 {
        self.seconds_per_gb(side.cpu_ns)
    }

    /// Any CPU time per GB, s.
    pub fn seconds_per_gb(&self, cpu_ns: u64) -> f64 {
        // ns per byte are s per GB.
        cpu_ns as f64 / self.sending.acked_bytes.max(1) as f64
    }
}

/// The CPUs of both ends: shared out where an address leads to this machine alone, or into a rig, and else all of them for
/// either.
fn cpus_at(ip: IpAddr) -> Result<CpuSplit, Failure> {
    if ip.to_canonical().is_loopback() || machine::rig::is_inside() {
        let shared_out = machine::cpus::here(&CpuWish::default());
        return shared_out.map_err(|error| failed("asking for CPUs", &error));
    }
    let all = sys::cpu::allowed().map_err(|error| failed("asking for CPUs", &error))?;
    Ok(CpuSplit {
        server: all.clone(),
        client: all,
        left_out: Vec::new(),
    })
}

/// What tells this kernel from others, and from itself after another start.
fn own_kernel() -> Result<String, Failure> {
    machine::journal::boot_id().map_err(|error| failed("/proc/sys/kernel/random/boot_id", &error))
}

/// Starts clients of a serving end, on CPUs of their own, and ends them.
///
/// # Errors
/// When the file is not served, or a client ends or gets nothing: what happened, and what to do.
pub fn fetch(server: &mut dyn Serving, fetching: &Fetching) -> Result<Downloaded, Failure> {
    let address = server.address();
    let cpus = cpus_at(address.ip())?.client;
    let tls = server::look(server.served(), address)?;
    let url = server.served().url(address);
    let mut clients = Clients::start(fetching, &url, &cpus)?;
    let mut own = SideWatch::new(&clients.pids(), &cpus);
    begin_together(&mut clients, server, fetching)?;
    clients.work_for(fetching.settle)?;
    own.open();
    server.open()?;
    clients.work_for(fetching.score)?;
    // One in which next to nothing came would tell nothing.
    clients.work_until(LONGEST_WAIT, PAUSE, || {
        own.close();
        server.close()
    })?;
    let seen = server.reading()?;
    let mut client = own.spent("client")?;
    drop(clients);
    // Its window is a little longer or shorter than that of the bytes.
    let scaled = u128::from(client.cpu_ns) * u128::from(seen.window_ns);
    client.cpu_ns = u64::try_from(scaled / u128::from(own.window_ns())).unwrap_or(u64::MAX);
    let is_one_machine = server.served().boot_id == own_kernel()?;
    let (came, wanted) = (seen.sending.connections, fetching.connections);
    if came != u64::from(wanted) {
        return Err(Failure {
            what: format!(
                "the server had {came} connections in the place of ours, which are {wanted}"
            ),
            advice: "see that nobody else downloads from it, and that the client opens as many as it is \
                     told with --connections and --each"
                .to_owned(),
        });
    }
    let is_shared = |cpu: &&usize| is_one_machine && cpus.contains(cpu);
    let shared_cpus = seen.side.cpus.iter().filter(is_shared).count();
    let others_share = match is_one_machine {
        true => own.others_share(seen.side.cpu_ns),
        false => [own.others_share(0), seen.others_share]
            .into_iter()
            .flatten()
            .reduce(f64::max),
    };
    Ok(Downloaded {
        served: server.served().clone(),
        tls,
        window_ns: seen.window_ns,
        sending: seen.sending,
        shared_cpus: u32::try_from(shared_cpus).unwrap_or(u32::MAX),
        server: seen.side,
        client,
        machine: own.machine().filter(|_| is_one_machine),
        dram_bytes: seen.dram_bytes,
        others_share,
    })
}

/// Lets the clients go when all are connected, and waits until each connection got something. A server
/// may send to one that reads as fast for as long as it has something for it: nginx over TLS sends all
/// of a file at one go, and accepts nobody meanwhile.
fn begin_together(
    clients: &mut Clients,
    server: &mut dyn Serving,
    fetching: &Fetching,
) -> Result<(), Failure> {
    let connected_bytes = match server.served().is_tls {
        true => HANDSHAKE_BYTES,
        false => 0,
    };
    let wanted = fetching.connections as usize;
    let mut before = 0;
    // Twice in a row: a client may take a look over another connection first.
    let connected = || {
        let now = server.connections_with(connected_bytes)?;
        Ok(now.min(std::mem::replace(&mut before, now)))
    };
    let all_are = clients.work_until_all(LONGEST_WAIT, LONGER_THAN_A_LOOK, wanted, connected)?;
    clients.let_go();
    let begun = || server.connections_with(BEGUN_BYTES);
    if all_are && clients.work_until_all(LONGEST_WAIT, PAUSE, wanted, begun)? {
        return Ok(());
    }
    Err(clients.got_nothing(LONGEST_WAIT))
}

fn failed(doing: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::plain(format!("{doing}: {error}"))
}
