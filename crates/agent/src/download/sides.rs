//! What is read of both sides at the two ends of the window.

use std::net::SocketAddr;

use machine::cpus::CpuSplit;
use machine::instruments::cpu::CpuWatch;
use machine::instruments::dram::DramWatch;
use machine::instruments::senders::{SenderReading, SenderWatch};
use machine::instruments::threads::ThreadWatch;
use model::failure::Failure;
use model::reading::MachineCpu;
use sys::clock;
use sys::tcp_diag::Sending;

use super::Side;
use super::clients::Clients;
use super::server::Server;

/// More than may be under way in the buffers of a connection, and so have cost its CPU time before
/// the window.
const FEWEST_BYTES: u64 = 10_000_000;

/// What is asked of a client.
const STAY: &str = "each process of the client must download `{url}` over one connection that stays, \
                    as `curl -s '{url}?[1-1000000]'` does";

/// How many of a server's connections have got at least so many bytes.
pub(super) fn connections_with(server: SocketAddr, bytes: u64) -> usize {
    let all = sys::tcp_diag::sending_from(server.port()).unwrap_or_default();
    let has_them = |one: &&Sending| one.acked_bytes >= bytes;
    all.iter().filter(has_them).count()
}

/// The counters of both sides.
pub(super) struct Sides {
    server: SideWatch,
    client: SideWatch,
    senders: SenderWatch,
    dram: Option<DramWatch>,
    opened_ns: u64,
    closed_ns: u64,
}

struct SideWatch {
    cpus: Vec<usize>,
    cpu: CpuWatch,
    threads: ThreadWatch,
}

impl Sides {
    pub(super) fn new(server: &Server, clients: &Clients, cpus: &CpuSplit) -> Self {
        Self {
            server: SideWatch::new(&[server.pid], &cpus.server),
            client: SideWatch::new(&clients.pids(), &cpus.client),
            senders: SenderWatch::new(server.address.port()),
            dram: DramWatch::new(),
            opened_ns: 0,
            closed_ns: 0,
        }
    }

    /// Reads all counters in one order at both ends, so that all windows are of one length.
    pub(super) fn open(&mut self) {
        self.server.threads.open();
        self.client.threads.open();
        self.server.cpu.open();
        self.client.cpu.open();
        self.senders.open();
        self.dram.iter_mut().for_each(DramWatch::open);
        self.opened_ns = clock::monotonic_ns();
    }

    pub(super) fn close(&mut self) {
        self.server.threads.close();
        self.client.threads.close();
        self.server.cpu.close();
        self.client.cpu.close();
        self.senders.close();
        self.dram.iter_mut().for_each(DramWatch::close);
        self.closed_ns = clock::monotonic_ns();
    }

    pub(super) fn window_ns(&self) -> u64 {
        (self.closed_ns - self.opened_ns).max(1)
    }

    /// Whether as much came within the window as a cost can be told from.
    pub(super) fn has_enough(&self) -> bool {
        let reading = self.senders.reading();
        reading.is_some_and(|read| read.acked_bytes >= FEWEST_BYTES)
    }

    /// What came within the window over connections that stayed for all of it.
    pub(super) fn sent(&self) -> Result<SenderReading, Failure> {
        let reading = self.senders.reading().ok_or_else(|| Failure {
            what: "no connection to the server was left at the end of the window".to_owned(),
            advice: STAY.to_owned(),
        })?;
        if reading.changes > 0 {
            return Err(Failure {
                what: format!(
                    "{} connections to the server came or went within the window, and what those \
                     carried that went cannot be counted",
                    reading.changes
                ),
                advice: STAY.to_owned(),
            });
        }
        if reading.acked_bytes < FEWEST_BYTES {
            return Err(Failure {
                what: format!(
                    "only {} bytes came from the server, too few to tell a cost from",
                    reading.acked_bytes
                ),
                advice: "give a longer --duration".to_owned(),
            });
        }
        Ok(reading)
    }

    /// What the server and the clients spent.
    pub(super) fn spent(&self) -> Result<[Side; 2], Failure> {
        let of = |side: &SideWatch, name: &str| {
            side.spent(self.window_ns()).ok_or_else(|| Failure {
                what: format!("the CPU time of the {name} could not be read"),
                advice: "one of its processes ended within the window".to_owned(),
            })
        };
        Ok([of(&self.server, "server")?, of(&self.client, "client")?])
    }

    /// What went to and from DRAM, bytes.
    pub(super) fn dram_bytes(&self) -> Option<f64> {
        self.dram.as_ref()?.bytes()
    }

    /// What all CPUs did.
    pub(super) fn machine(&self) -> Option<MachineCpu> {
        self.server.cpu.counts(self.window_ns()).machine
    }

    /// What others had of the time of all CPUs.
    pub(super) fn others_share(&self) -> Option<f64> {
        let window_ns = self.window_ns();
        let client_ns = self.client.cpu.counts(window_ns).server_ns?;
        let others_ns = self.server.cpu.counts(window_ns).foreign_ns(client_ns)?;
        let online = sys::kernel_file::text("/sys/devices/system/cpu/online")?;
        let cpus = sys::cpu::parse_list(&online).ok()?.len();
        Some(others_ns as f64 / (window_ns as f64 * cpus as f64))
    }
}

impl SideWatch {
    fn new(pids: &[u32], cpus: &[usize]) -> Self {
        Self {
            cpus: cpus.to_vec(),
            cpu: CpuWatch::new(pids),
            threads: ThreadWatch::new(pids),
        }
    }

    fn spent(&self, window_ns: u64) -> Option<Side> {
        // Whose processes are watched is that instrument's target, whichever side it is.
        let cpu_ns = self.cpu.counts(window_ns).server_ns?;
        let all_cpus_ns = window_ns as f64 * self.cpus.len().max(1) as f64;
        let of_all = cpu_ns as f64 / all_cpus_ns;
        let of_one = self.threads.busiest_share().unwrap_or(0.0);
        Some(Side {
            cpus: self.cpus.clone(),
            cpu_ns,
            busy_share: of_all.max(of_one).min(1.0),
        })
    }
}
