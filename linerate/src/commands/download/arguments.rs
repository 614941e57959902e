//! The flags of `linerate download`, and the order made from them.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use agent::download::{Fetching, FileOffer, FileServer, LONGEST, ServedFile};
use anyhow::{Context as _, bail, ensure};
use clap::ValueHint;
use traffic::engine::FileWay;

use super::crossings;
use crate::listening;
use crate::ourselves::OURSELVES;
use crate::rig_flags::HostsFlag;
use crate::tls_flags::self_signed_pems;
use crate::trust::TrustFlag;
use crate::values;

/// Duration given to our own client: longer than settling and window together, after which it is
/// ended anyway.
const OWN_CLIENT_DURATION: &str = "24h";
/// Timeout given to our own client: longer than a server may send to the other connections only.
/// A request that is given up would end the download.
const OWN_CLIENT_TIMEOUT: &str = "1m";
/// Flags of the serving end, which do not go with `--from`.
const OF_SERVING: [&str; 8] = [
    "file",
    "server",
    "trust",
    "tls",
    "kernel_tls",
    "record_size",
    "files_by",
    "listen",
];
/// Flags of the fetching end, which do not go with `--listen`.
const OF_FETCHING: [&str; 7] = [
    "client",
    "connections",
    "each",
    "settle",
    "duration",
    "hosts",
    "json",
];

/// Measure how fast a server sends a file to a client, and what it costs both
///
/// The server is started with the file's folder on a loopback port, and one client process for
/// every --each connections, each side on CPUs of its own and neither as root. The clients download
/// over and over until they are ended; scoring begins when all receive data and have had time to
/// settle. Whatever the programs are, the same is counted: the bytes that the kernel knows to have
/// arrived, heads and what TLS adds included, and the CPU time of each side's processes.
///
/// The file should be in the page cache: read it once beforehand. Its folder may otherwise hold
/// only what every user of the machine may read, because all of them can reach the server.
///
/// Between two machines `linerate download FILE --listen ADDRESS:PORT` starts the server on one,
/// and `linerate download --from ADDRESS:PORT` the clients on the other, with all CPUs of each
/// machine. The server itself gets another, free port of that address. The folder may then hold
/// nothing but the file, because others may reach the server too.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file to send
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "from")]
    file: Option<PathBuf>,
    /// Start only the server, until Ctrl-C, for clients with --from; a port alone means loopback
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = listening::parse, conflicts_with_all = OF_FETCHING)]
    pub(super) listen: Option<sys::address::Address>,
    /// Start only the clients, for the serving end at HOST or HOST:PORT; port 5202 unless given
    #[arg(long, value_name = "HOST", conflicts_with_all = OF_SERVING)]
    pub(super) from: Option<String>,
    /// This host is mine and may be loaded
    #[arg(hide_short_help = true, long, value_name = "HOST", requires = "from")]
    pub(super) mine: Vec<String>,
    #[command(flatten)]
    pub(super) hosts: HostsFlag,
    /// The server: caddy, go-http, h2o, nginx, or your own service file that has `{root}`
    /// [default: linerate serve]
    #[arg(long, value_name = "SERVICE")]
    server: Option<String>,
    #[command(flatten)]
    trust: TrustFlag,
    /// The client's command, run once for each connection [default: linerate load --download]
    ///
    /// It must download `{url}` over and over until it is ended, over `{connections}` persistent
    /// connections, which is 1 without --each; `{number}` is the number of the process, from 0 on.
    /// The certificate is self-signed. No shell is used.
    #[arg(long, value_name = "COMMAND")]
    pub(super) client: Option<String>,
    /// Connections, all client processes together
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) connections: u32,
    /// Connections of each client process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    each: u32,
    /// Use HTTPS, with a certificate that is made for this
    ///
    /// The cipher suite is TLS_AES_128_GCM_SHA256 where it can be chosen.
    #[arg(long)]
    tls: bool,
    /// Have the kernel make the TLS records of `linerate serve` (kTLS); no effect without --tls
    #[arg(long, conflicts_with = "server")]
    kernel_tls: bool,
    /// Most bytes of content in a TLS record of `linerate serve` [default: 16384]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(64..=16384), requires = "tls", conflicts_with_all = ["server", "kernel_tls"])]
    record_size: Option<u16>,
    /// How `linerate serve` sends the file without TLS: sendfile or copy [default: sendfile]
    ///
    /// By sendfile(2), or copied from a memory mapping of the file.
    #[arg(long, value_name = "HOW", value_parser = values::one_of::<FileWay>(FileWay::ALL.map(FileWay::name)), hide_possible_values = true, conflicts_with_all = ["server", "tls"])]
    files_by: Option<FileWay>,
    /// Time from the first bytes to the scored window
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::parse_duration)]
    pub(super) settle: Duration,
    /// Length of the scored window; it is extended until 10 MB have arrived
    #[arg(short, long, value_name = "TIME", default_value = "2s", value_parser = values::parse_duration)]
    duration: Duration,
    /// Print one JSON value (docs/schema/download.json)
    #[arg(long)]
    pub(super) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  What does it cost to send and to receive a file of 1 GB that is in the page cache?
    head -c 1G /dev/urandom > /tmp/big.img
    linerate download /tmp/big.img
  nginx to curl, over HTTPS:
    linerate download /tmp/big.img --server nginx --tls --client 'curl -sk {url}?[1-1000000]'
  Four connections to Caddy, for a script:
    linerate download /tmp/big.img --server caddy -c 4 --json | jq .throughput_gbit_per_second
  To two processes of wrk with 32 connections each:
    linerate download /tmp/big.img -c 64 --each 32 --client 'wrk -c {connections} -d 1h {url}'
  What do smaller records cost?
    linerate download /tmp/big.img --tls --record-size 1400
  Between two machines, the first line on one and the second on the other:
    linerate download /srv/big/big.img --tls --listen 10.0.0.2:5202
    linerate download --from 10.0.0.2 --mine 10.0.0.2 -c 4";

impl Arguments {
    /// What the serving end offers.
    pub(super) fn offer(&self) -> anyhow::Result<FileOffer> {
        let file = self.file.clone().context("no file is given")?;
        Ok(FileOffer {
            server: self.server()?,
            file,
            identity: self.tls.then(self_signed_pems).transpose()?,
            way: self.way().map(str::to_owned),
        })
    }

    /// The clients for what a serving end offers; `far` is its address if it is on another machine.
    pub(super) fn fetching(
        &self,
        served: &ServedFile,
        far: Option<IpAddr>,
    ) -> anyhow::Result<Fetching> {
        Ok(Fetching {
            client: self.client(served.is_tls, far)?,
            connections: self.connections,
            connections_each: self.each,
            settle: self.settle,
            score: self.duration,
        })
    }

    /// Refuses what cannot be scored.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        ensure!(
            !self.duration.is_zero(),
            "--duration 0 leaves nothing to be scored"
        );
        ensure!(
            self.connections.is_multiple_of(self.each),
            "--connections {} cannot be shared out by --each {}: give a multiple of it",
            self.connections,
            self.each
        );
        ensure!(
            self.from.is_some() || self.hosts.hosts.is_none(),
            "--hosts names the machine of a serving end: it goes with --from"
        );
        if self.from.is_some() && self.patience() > LONGEST {
            bail!("--from waits for an hour at most: shorten --settle or --duration");
        }
        Ok(())
    }

    /// Longest time for which nothing is asked of a serving end.
    pub(super) fn patience(&self) -> Duration {
        self.settle.max(self.duration)
    }

    /// Path of a byte out of our own server; `None` for another server.
    fn way(&self) -> Option<&'static str> {
        let (way, _) = match (self.tls, self.kernel_tls) {
            (false, _) => match self.files_by.unwrap_or_default() {
                FileWay::Sendfile => crossings::SENDFILE,
                FileWay::Copy => crossings::COPY,
            },
            (true, true) => crossings::KERNEL_RECORDS,
            (true, false) => crossings::OWN_RECORDS,
        };
        self.server.is_none().then_some(way)
    }

    fn server(&self) -> anyhow::Result<FileServer> {
        let Some(name) = &self.server else {
            return Ok(FileServer::Serve {
                flags: self.serve_flags(),
            });
        };
        let service = study::services::find(name)?.service;
        self.trust.check(&service)?;
        Ok(FileServer::Service(Box::new(service)))
    }

    /// Flags of our own server. They always say who makes the TLS records: by default it leaves
    /// them to a kernel that can, so it would be a different server on another machine.
    fn serve_flags(&self) -> Vec<String> {
        if !self.tls {
            let files_by = self.files_by.unwrap_or_default();
            return vec!["--files-by".to_owned(), files_by.name().to_owned()];
        }
        let by_kernel = if self.kernel_tls { "on" } else { "off" };
        let mut words = vec!["--kernel-tls".to_owned(), by_kernel.to_owned()];
        if let Some(bytes) = self.record_size {
            words.extend(["--tls-record-size".to_owned(), bytes.to_string()]);
        }
        words
    }

    fn client(&self, is_tls: bool, far: Option<IpAddr>) -> anyhow::Result<Vec<String>> {
        let Some(line) = &self.client else {
            return Ok(own_client(is_tls, far));
        };
        let words = shell_words::split(line).context("--client")?;
        ensure!(
            line.contains("{url}"),
            "--client has no `{{url}}`, which is what it must download"
        );
        Ok(words)
    }
}

fn own_client(is_tls: bool, far: Option<IpAddr>) -> Vec<String> {
    let mut words = vec![OURSELVES, "load", "{url}", "--download", "--hold"];
    words.extend(["--connections", "{connections}"]);
    words.extend(["--duration", OWN_CLIENT_DURATION]);
    words.extend(["--timeout", OWN_CLIENT_TIMEOUT]);
    if is_tls {
        words.push("--insecure");
    }
    let mine = far.map(|far| ["--mine".to_owned(), far.to_string()]);
    let words = words.into_iter().map(str::to_owned);
    words.chain(mine.into_iter().flatten()).collect()
}
