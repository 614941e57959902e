//! Downloads one file from a server again and again over connections that stay open: how fast that
//! is, what it costs each side, and which side is at its limit.
//!
//! Every client is measured in the same way: by the bytes that the kernel knows to have arrived and
//! by the CPU time of both sides' processes, between two points of time during the download.

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

/// How long the wait for a further connection, or for its bytes, may take on a busy machine.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Fewer bytes than a server's part of a TLS handshake, even one with resumption: H2O then sends
/// 240 bytes. More than a server sends to ask for another key or to refuse.
const HANDSHAKE_BYTES: u64 = 120;
/// More than the kernel accepts of an answer that nobody goes on reading: a client may first ask
/// what there is, over a connection that it then closes.
const BEGUN_BYTES: u64 = 1 << 20;
/// Time between two checks whether bytes have arrived.
const PAUSE: Duration = Duration::from_millis(5);
const LONGER_THAN_A_LOOK: Duration = Duration::from_millis(100);

/// What is served, and by whom.
#[derive(Clone, Debug)]
pub struct FileOffer {
    pub server: FileServer,
    /// Its name goes into the URL, so it may have only letters, digits, `.`, `-` and `_`.
    pub file: PathBuf,
    /// Certificate and key of the server; `None` without TLS.
    pub identity: Option<Pems>,
    /// How bytes leave our own server, in words for the other end; `None` for any other server.
    pub way: Option<String>,
}

/// Who downloads it, and for how long.
#[derive(Clone, Debug)]
pub struct Fetching {
    /// The client's program and its arguments. In them `{url}` is what it downloads until it is
    /// ended, `{connections}` the number of its connections, and `{number}` its own number among
    /// the processes, from 0 on.
    pub client: Vec<String>,
    /// Connections of all processes together.
    pub connections: u32,
    /// Connections of each process; `connections` is a multiple of it.
    pub connections_each: u32,
    /// Time from the first bytes of every connection to the opening of the window.
    pub settle: Duration,
    /// Length of the window.
    pub score: Duration,
}

/// The result of a download.
#[derive(Clone, Debug)]
pub struct Downloaded {
    pub served: ServedFile,
    /// What our own client and the server agreed on beforehand.
    pub tls: Option<Agreed>,
    pub window_ns: u64,
    /// What the clients acknowledged within the window. It includes response heads and, with TLS,
    /// the overhead of records.
    pub sending: SenderReading,
    pub server: Side,
    pub client: Side,
    /// What all CPUs of this machine did within the window; `None` where that is hidden, and
    /// between two machines.
    pub machine: Option<MachineCpu>,
    /// Bytes to and from DRAM within the window, of all programs; `None` where nothing counts them.
    pub dram_bytes: Option<f64>,
    /// Share of the CPUs' time, 0 to 1, that others than the two sides and the kernel's network
    /// threads used; of two machines the larger share. `None` where that is hidden.
    pub others_share: Option<f64>,
    /// Number of CPUs that both sides had to share.
    pub shared_cpus: u32,
}

/// What one side spent within the window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Side {
    pub cpus: Vec<usize>,
    /// CPU time of all its processes, ns.
    pub cpu_ns: u64,
    /// The larger of two shares, 0 to 1: the part of the window in which its busiest thread ran,
    /// and the part of the time of all its CPUs that it used.
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

/// The CPUs of both ends. They are shared out where the address leads only to this machine or into
/// a rig; otherwise each end has all of them.
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

/// The boot id, which differs between machines and between two boots of one machine.
fn own_kernel() -> Result<String, Failure> {
    machine::journal::boot_id().map_err(|error| failed("/proc/sys/kernel/random/boot_id", &error))
}

/// Runs clients of a serving end, on CPUs of their own, and measures both sides.
///
/// # Errors
/// When the file is not served, or a client ends or gets nothing. Says what happened, and what to
/// do.
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
    // Little can be learnt from a window in which next to nothing arrived, so it may last longer.
    clients.work_until(LONGEST_WAIT, PAUSE, || {
        own.close();
        server.close()
    })?;
    let seen = server.reading()?;
    let mut client = own.spent("client")?;
    drop(clients);
    // The client's window is a little longer or shorter than that in which bytes are counted.
    let scaled = u128::from(client.cpu_ns) * u128::from(seen.window_ns);
    client.cpu_ns = u64::try_from(scaled / u128::from(own.window_ns())).unwrap_or(u64::MAX);
    let is_one_machine = server.served().boot_id == own_kernel()?;
    let (came, wanted) = (seen.sending.connections, fetching.connections);
    if came != u64::from(wanted) {
        return Err(Failure {
            what: format!("the server had {came} connections instead of our {wanted}"),
            advice: "make sure that nobody else downloads from it, and that the client opens as \
                many as --connections and --each say"
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

/// Lets the clients start once all are connected, and waits until each connection has received
/// something. They connect first because a server may go on sending to a client that reads as fast:
/// nginx over TLS sends a whole file in one go, and accepts no connection in the meantime.
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
    // The count must hold twice in a row: a client may first take a look over another connection.
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
