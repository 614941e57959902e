//! One file from a server to its clients, again and again over connections that stay: how fast it
//! goes, what it costs each side, and which side has no more to give.
//!
//! Whatever the client is, the same is counted in the same way: what the kernel knows to have come,
//! and the CPU time of both sides' processes, between two moments in the middle of it.

mod clients;
mod folder;
mod server;
mod sides;

use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::instruments::senders::SenderReading;
use model::cpus::CpuWish;
use model::failure::Failure;
use model::reading::MachineCpu;
use traffic::tls::Agreed;

use crate::service::Pems;
use clients::Clients;
pub use server::FileServer;
use server::Server;
use sides::Sides;

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

/// What is downloaded, from whom, and by whom.
#[derive(Clone, Debug)]
pub struct DownloadOrder {
    pub server: FileServer,
    /// It is asked for by its name, so that is of letters, digits, `.`, `-` and `_`.
    pub file: PathBuf,
    /// Who the server is over TLS; `None` in the clear.
    pub identity: Option<Pems>,
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
    /// What readers call the server.
    pub server_title: String,
    /// What its program calls its version; `None` of our own.
    pub server_version: Option<String>,
    pub file_bytes: u64,
    /// What our own client and the server agreed on beforehand.
    pub tls: Option<Agreed>,
    pub window_ns: u64,
    /// What the clients' ends of the connections acknowledged within the window: heads and, with TLS,
    /// what records add, are in it.
    pub sending: SenderReading,
    pub server: Side,
    pub client: Side,
    /// All CPUs of this machine within the window; `None` where they are hidden.
    pub machine: Option<MachineCpu>,
    /// What went to and from DRAM within the window, bytes, whoever asked for it; `None` where nothing counts it.
    pub dram_bytes: Option<f64>,
    /// What neither side nor the kernel's network threads had of the time of this machine's CPUs, 0
    /// to 1; `None` where that is hidden.
    pub others_share: Option<f64>,
    /// Whether both sides had to share a CPU.
    pub is_shared: bool,
}

/// What one side spent within the window.
#[derive(Clone, Debug)]
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

/// Starts the server and its clients, each side on its CPUs, and ends both; `program` is Linerate.
///
/// # Errors
/// When the server cannot be started or does not serve the file, or a client ends or gets nothing:
/// what happened, and what to do.
pub fn download(program: &Path, order: &DownloadOrder) -> Result<Downloaded, Failure> {
    let cpus = machine::cpus::here(&CpuWish::default())
        .map_err(|error| failed("asking for CPUs", &error))?;
    let mut server = Server::start(program, order, &cpus.server)?;
    let (file_bytes, tls) = server.look(&order.file)?;
    let mut clients = Clients::start(order, &server.url(), &cpus.client)?;
    let mut sides = Sides::new(&server, &clients, &cpus);
    begin_together(&mut clients, &server, order)?;
    clients.work_for(order.settle)?;
    sides.open();
    clients.work_for(order.score)?;
    // One in which next to nothing came would tell nothing.
    clients.work_until(LONGEST_WAIT, PAUSE, || {
        sides.close();
        sides.has_enough()
    })?;
    server.check()?;
    let sending = sides.sent()?;
    let [server_side, client_side] = sides.spent()?;
    drop(clients);
    Ok(Downloaded {
        server_title: server.title.clone(),
        server_version: server.version.clone(),
        file_bytes,
        tls,
        window_ns: sides.window_ns(),
        sending,
        server: server_side,
        client: client_side,
        machine: sides.machine(),
        dram_bytes: sides.dram_bytes(),
        others_share: sides.others_share(),
        is_shared: cpus.is_shared(),
    })
}

/// Lets the clients go when all are connected, and waits until each connection got something. A server
/// may send to one that reads as fast for as long as it has something for it: nginx over TLS sends all
/// of a file at one go, and accepts nobody meanwhile.
fn begin_together(
    clients: &mut Clients,
    server: &Server,
    order: &DownloadOrder,
) -> Result<(), Failure> {
    let connected_bytes = order.identity.as_ref().map_or(0, |_| HANDSHAKE_BYTES);
    let wanted = order.connections as usize;
    let with = |bytes| sides::connections_with(server.address, bytes);
    let mut before = 0;
    // Twice in a row: a client may take a look over another connection first.
    let connected = || {
        let now = with(connected_bytes);
        now.min(std::mem::replace(&mut before, now))
    };
    let all_are = clients.work_until_all(LONGEST_WAIT, LONGER_THAN_A_LOOK, wanted, connected)?;
    clients.let_go();
    let begun = || with(BEGUN_BYTES);
    if all_are && clients.work_until_all(LONGEST_WAIT, PAUSE, wanted, begun)? {
        return Ok(());
    }
    Err(clients.got_nothing(LONGEST_WAIT))
}

fn failed(doing: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::plain(format!("{doing}: {error}"))
}
