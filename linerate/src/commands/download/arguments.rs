//! The flags of `linerate download`, and the order that they say.

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

/// Longer than settling and window together: it is ended by then.
const OWN_CLIENT_DURATION: &str = "24h";
/// Longer than a server may send to the other connections alone: giving one up would end the download.
const OWN_CLIENT_TIMEOUT: &str = "1m";
/// What the serving end alone is asked, and what the other.
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
const OF_FETCHING: [&str; 7] = [
    "client",
    "connections",
    "each",
    "settle",
    "duration",
    "hosts",
    "json",
];

/// How fast a server sends a file to a client, and what it costs each
///
/// The server is started with the file's folder on a port of loopback, and the client as often as
/// there are connections, each side on CPUs of its own and neither as root. The clients download
/// until they are ended, over and over; what is scored begins when all get something and have had
/// time to settle. Whatever programs they are, the same is counted: the bytes that the kernel knows
/// to have come, heads and what TLS adds included, and the CPU time of each side's processes.
///
/// The file should be in the page cache: read it once before. Beside it in its folder may lie only what
/// every user of the machine may read, as they all reach the server.
///
/// Between two machines `linerate download FILE --listen ADDRESS:PORT` starts the server on the one, and
/// `linerate download --from ADDRESS:PORT` the clients on the other, with all CPUs of either. The server has another,
/// free port of that address. Beside the file in its folder nothing may lie then, as others may reach it too.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file to send
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "from")]
    file: Option<PathBuf>,
    /// Start the server alone, until Ctrl-C, for clients --from here; a port alone means loopback
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = listening::parse, conflicts_with_all = OF_FETCHING)]
    pub(super) listen: Option<sys::address::Address>,
    /// Start the clients alone, of what such a serving end offers at HOST or HOST:PORT; port 5202 unless given
    #[arg(long, value_name = "HOST", conflicts_with_all = OF_SERVING)]
    pub(super) from: Option<String>,
    /// This host is mine and may be loaded
    #[arg(hide_short_help = true, long, value_name = "HOST", requires = "from")]
    pub(super) mine: Vec<String>,
    #[command(flatten)]
    pub(super) hosts: HostsFlag,
    /// The server: caddy, go-http, h2o, nginx, or a service file of yours that has `{root}`
    /// [default: linerate serve]
    #[arg(long, value_name = "SERVICE")]
    server: Option<String>,
    #[command(flatten)]
    trust: TrustFlag,
    /// The client's command, run once for each connection [default: linerate load --download]
    ///
    /// `{url}` in it is what it shall download for as long as it is let, over `{connections}`
    /// connections that stay, which is 1 without --each; `{number}` is which of its processes it is,
    /// from 0 on. The certificate is one that nobody vouches for. There is no shell.
    #[arg(long, value_name = "COMMAND")]
    pub(super) client: Option<String>,
    /// Connections, all client processes together
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) connections: u32,
    /// Connections of each client process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    each: u32,
    /// Over HTTPS, with a certificate that is made for it
    ///
    /// Where it can be chosen the cipher suite is TLS_AES_128_GCM_SHA256.
    #[arg(long)]
    tls: bool,
    /// Have the kernel make the records of `linerate serve` (kTLS); without TLS it changes nothing
    #[arg(long, conflicts_with = "server")]
    kernel_tls: bool,
    /// The most bytes of content in a record of `linerate serve` [default: 16384]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(64..=16384), requires = "tls", conflicts_with_all = ["server", "kernel_tls"])]
    record_size: Option<u16>,
    /// How the file leaves `linerate serve` in the clear: sendfile or copy [default: sendfile]
    ///
    /// By sendfile(2), or copied from memory that it is mapped into.
    #[arg(long, value_name = "HOW", value_parser = values::one_of::<FileWay>(FileWay::ALL.map(FileWay::name)), hide_possible_values = true, conflicts_with_all = ["server", "tls"])]
    files_by: Option<FileWay>,
    /// From the first bytes to the scored window
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::parse_duration)]
    pub(super) settle: Duration,
    /// Length of the scored window; it goes on until 10 MB came
    #[arg(short, long, value_name = "TIME", default_value = "2s", value_parser = values::parse_duration)]
    duration: Duration,
    /// Print one JSON value (docs/schema/download.json)
    #[arg(long)]
    pub(super) json: bool,
}

const EXAMPLES: &str = "\
Examples:
  A file of 1 GB, in the page cache, and what it costs to send it and to receive it:
    head -c 1G /dev/urandom > /tmp/big.img
    linerate download /tmp/big.img
  nginx to curl, over HTTPS:
    linerate download /tmp/big.img --server nginx --tls --client 'curl -sk {url}?[1-1000000]'
  Four connections to Caddy, for a script:
    linerate download /tmp/big.img --server caddy -c 4 --json | jq .throughput_gbit_per_second
  To wrk, two processes of it with 32 connections each:
    linerate download /tmp/big.img -c 64 --each 32 --client 'wrk -c {connections} -d 1h {url}'
  What do smaller records cost?
    linerate download /tmp/big.img --tls --record-size 1400
  Between two machines, the first line on the one and the second on the other:
    linerate download /srv/big/big.img --tls --listen 10.0.0.2:5202
    linerate download --from 10.0.0.2 --mine 10.0.0.2 -c 4";

impl Arguments {
    /// What is served.
    pub(super) fn offer(&self) -> anyhow::Result<FileOffer> {
        let file = self.file.clone().context("no file is given")?;
        Ok(FileOffer {
            server: self.server()?,
            file,
            identity: self.tls.then(self_signed_pems).transpose()?,
            way: self.way().map(str::to_owned),
        })
    }

    /// Who downloads what a serving end has; `far` is where that is, if it is elsewhere.
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

    /// The longest that nothing is asked of a serving end.
    pub(super) fn patience(&self) -> Duration {
        self.settle.max(self.duration)
    }

    /// How a byte leaves our own server; `None` of another.
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

    /// By itself our server leaves the records to a kernel that makes them, which would be another
    /// server on another machine.
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
            "--client has no `{{url}}`, which is what it shall download"
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
