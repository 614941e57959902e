//! The serving end, as the end that downloads sees it: in this process, or at the far end of a
//! line.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use machine::instruments::dram::DramWatch;
use machine::instruments::senders::{SenderReading, SenderWatch};
use model::failure::Failure;
use serde::{Deserialize, Serialize};
use sys::tcp_info::TcpInfo;

use super::server::{Server, unreadable};
use super::sides::SideWatch;
use super::{FileOffer, Side, cpus_at, own_kernel};

/// The fewest bytes from which a cost can be told: more than the buffers of a connection hold,
/// whose CPU time may have been spent before the window.
const FEWEST_BYTES: u64 = 10_000_000;

/// The advice on how a client must download.
const STAY: &str = "each process of the client must download `{url}` over one connection that stays, \
                    as `curl -s '{url}?[1-1000000]'` does";

/// What is served, and how it is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServedFile {
    /// What readers call the server.
    pub server_title: String,
    /// What its program calls its version; `None` for our own server.
    pub server_version: Option<String>,
    /// How bytes leave our own server, in the words of the command that started it; `None` for any
    /// other server.
    pub way: Option<String>,
    pub is_tls: bool,
    /// Boot id of the kernel that it runs on (`/proc/sys/kernel/random/boot_id`).
    pub(super) boot_id: String,
    pub file_bytes: u64,
    pub(super) port: u16,
    /// The path in the URL, from the first `/` on.
    pub(super) path: String,
}

/// What the serving end saw within the window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServingReading {
    pub(super) window_ns: u64,
    pub(super) sending: SenderReading,
    pub(super) side: Side,
    /// Share of its machine's CPU time, 0 to 1, that others than its server and the kernel's
    /// network threads used.
    pub(super) others_share: Option<f64>,
    pub(super) dram_bytes: Option<f64>,
}

/// The end that serves.
pub trait Serving {
    fn served(&self) -> &ServedFile;

    /// The address of its server.
    fn address(&self) -> SocketAddr;

    /// How many connections of the server have received at least `bytes` bytes.
    ///
    /// # Errors
    /// Where the line to it has ended.
    fn connections_with(&mut self, bytes: u64) -> Result<usize, Failure>;

    /// Begins a window.
    ///
    /// # Errors
    /// Where the line to it has ended.
    fn open(&mut self) -> Result<(), Failure>;

    /// Ends the window; a further call moves its end to the present. Returns whether enough bytes
    /// came within it to tell a cost from.
    ///
    /// # Errors
    /// Where the line to it has ended.
    fn close(&mut self) -> Result<bool, Failure>;

    /// What was seen within the window.
    ///
    /// # Errors
    /// Where connections came or went, next to nothing came, or the line to it has ended.
    fn reading(&mut self) -> Result<ServingReading, Failure>;
}

/// A serving end in this process. Dropping it stops its server.
pub struct ServingEnd {
    served: ServedFile,
    server: Server,
    side: SideWatch,
    senders: SenderWatch,
    dram: Option<DramWatch>,
}

impl ServingEnd {
    /// Starts the server at an address of this machine; `program` is Linerate.
    ///
    /// # Errors
    /// When the server cannot be started, or the file is not there.
    pub fn start(program: &Path, offer: &FileOffer, ip: IpAddr) -> Result<Self, Failure> {
        let cpus = cpus_at(ip)?.server;
        let there = std::fs::metadata(&offer.file);
        let there = there.map_err(|error| unreadable(&offer.file, &error))?;
        if !there.is_file() {
            return Err(Failure {
                what: format!("{} is no file", offer.file.display()),
                advice: "give a file: servers send the bytes of one".to_owned(),
            });
        }
        let server = Server::start(program, offer, ip, &cpus)?;
        Ok(Self {
            served: ServedFile {
                server_title: server.title.clone(),
                server_version: server.version.clone(),
                way: offer.way.clone(),
                is_tls: offer.identity.is_some(),
                boot_id: own_kernel()?,
                file_bytes: there.len(),
                port: server.address.port(),
                path: server.path.clone(),
            },
            side: SideWatch::new(&[server.pid], &cpus),
            senders: SenderWatch::new(server.address.port()),
            dram: DramWatch::new(),
            server,
        })
    }

    /// Whether its server is still up.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        self.server.check()
    }

    /// What was sent within the window, over connections that lasted for all of it.
    fn sent(&self) -> Result<SenderReading, Failure> {
        let reading = self.senders.reading().ok_or_else(|| Failure {
            what: "no connection to the server was left at the end of the window".to_owned(),
            advice: STAY.to_owned(),
        })?;
        if reading.changes > 0 {
            return Err(Failure {
                what: format!(
                    "{} connections to the server came or went within the window, and what the \
                     closed ones carried cannot be counted",
                    reading.changes
                ),
                advice: STAY.to_owned(),
            });
        }
        if reading.acked_bytes < FEWEST_BYTES {
            return Err(Failure {
                what: format!(
                    "only {} bytes came from the server, too few to compute a cost",
                    reading.acked_bytes
                ),
                advice: "give a longer --duration".to_owned(),
            });
        }
        Ok(reading)
    }
}

impl Serving for ServingEnd {
    fn served(&self) -> &ServedFile {
        &self.served
    }

    fn address(&self) -> SocketAddr {
        self.server.address
    }

    fn connections_with(&mut self, bytes: u64) -> Result<usize, Failure> {
        let all = TcpInfo::of_port(self.served.port).unwrap_or_default();
        let has_them = |(_, one): &&(u16, TcpInfo)| one.acked_bytes >= bytes;
        Ok(all.iter().filter(has_them).count())
    }

    fn open(&mut self) -> Result<(), Failure> {
        self.side.open();
        self.senders.open();
        self.dram.iter_mut().for_each(DramWatch::open);
        Ok(())
    }

    fn close(&mut self) -> Result<bool, Failure> {
        self.side.close();
        self.senders.close();
        self.dram.iter_mut().for_each(DramWatch::close);
        let reading = self.senders.reading();
        Ok(reading.is_some_and(|read| read.acked_bytes >= FEWEST_BYTES))
    }

    fn reading(&mut self) -> Result<ServingReading, Failure> {
        self.check()?;
        Ok(ServingReading {
            sending: self.sent()?,
            window_ns: self.side.window_ns(),
            side: self.side.spent("server")?,
            others_share: self.side.others_share(0),
            dram_bytes: self.dram.as_ref().and_then(DramWatch::bytes),
        })
    }
}
