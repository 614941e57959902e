//! The end that serves a file, as the end that downloads it sees it: in this process, or behind a line.

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

/// More than may be under way in the buffers of a connection, and so have cost its CPU time before
/// the window.
const FEWEST_BYTES: u64 = 10_000_000;

/// What is asked of a client.
const STAY: &str = "each process of the client must download `{url}` over one connection that stays, \
                    as `curl -s '{url}?[1-1000000]'` does";

/// What is served, and how it is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServedFile {
    /// What readers call the server.
    pub server_title: String,
    /// What its program calls its version; `None` of our own.
    pub server_version: Option<String>,
    /// How bytes leave our own server, in the words of whoever started it; `None` of another.
    pub way: Option<String>,
    pub is_tls: bool,
    /// Of the kernel that it runs on (`/proc/sys/kernel/random/boot_id`).
    pub(super) boot_id: String,
    pub file_bytes: u64,
    pub(super) port: u16,
    /// From the first `/` on.
    pub(super) path: String,
}

/// What the serving end saw within the window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServingReading {
    pub(super) window_ns: u64,
    pub(super) sending: SenderReading,
    pub(super) side: Side,
    /// What neither its server nor the kernel's network threads had of its machine's CPUs, 0 to 1.
    pub(super) others_share: Option<f64>,
    pub(super) dram_bytes: Option<f64>,
}

/// The end that serves.
pub trait Serving {
    fn served(&self) -> &ServedFile;

    /// Where its server is.
    fn address(&self) -> SocketAddr;

    /// How many of the server's connections have got at least so many bytes.
    ///
    /// # Errors
    /// Where the line to it has ended.
    fn connections_with(&mut self, bytes: u64) -> Result<usize, Failure>;

    /// Begins a window.
    ///
    /// # Errors
    /// Where the line to it has ended.
    fn open(&mut self) -> Result<(), Failure>;

    /// Ends it, as often as it is asked to; whether as much came within it as a cost can be told from.
    ///
    /// # Errors
    /// Where the line to it has ended.
    fn close(&mut self) -> Result<bool, Failure>;

    /// What was seen within it.
    ///
    /// # Errors
    /// Where connections came or went, next to nothing came, or the line to it has ended.
    fn reading(&mut self) -> Result<ServingReading, Failure>;
}

/// One that is here. Dropping it stops its server.
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
    /// When it cannot be started, or the file is not there.
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

    /// What came within the window over connections that stayed for all of it.
    fn sent(&self) -> Result<SenderReading, Failure> {
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
