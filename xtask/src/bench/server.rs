//! `linerate serve` beside nginx, and its two engines beside each other, under the same wrk.

use std::io::BufRead as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};
use sys::process::ChildSetup;

use super::nginx::Nginx;
use super::pairs::{Bar, Comparison};
use super::{CLIENT_CPU, CONNECTIONS, SERVER_CPU};

/// Highest ratio to nginx's CPU per request.
const BAR: f64 = 0.92;
/// Highest ratio of epoll to the ring: `auto` takes epoll as long as it is not clearly dearer.
const ENGINES_BAR: f64 = 1.05;

pub(crate) fn run(linerate: &Path) -> anyhow::Result<Comparison> {
    let nginx = Nginx::start(SERVER_CPU)?;
    let ours = Served::start(linerate, "auto")?;
    let url = |address: &str| format!("http://{address}/json");
    let peer_address = format!("127.0.0.1:{}", nginx.port);
    Comparison::measure(
        "server, keep-alive JSON, 64 connections, under wrk -t1 -c64 -d1s: server processes",
        "CPU per request",
        Bar::AtMost(BAR),
        [
            "linerate serve --workers 1".to_owned(),
            "nginx, bench/nginx.conf".to_owned(),
        ],
        || ours.cpu_us_per_request(),
        || loaded(&url(&peer_address), || nginx.cpu_ns()),
    )
}

/// What `auto` goes by: epoll, which it takes, as ours; io_uring as the peer.
pub(crate) fn engines(linerate: &Path) -> anyhow::Result<Comparison> {
    let [epoll, uring] = ["epoll", "uring"].map(|engine| Served::start(linerate, engine));
    let (epoll, uring) = (epoll?, uring?);
    Comparison::measure(
        "server, keep-alive JSON, 64 connections, under wrk -t1 -c64 -d1s: its two engines",
        "CPU per request",
        Bar::AtMost(ENGINES_BAR),
        ["epoll", "uring"].map(|engine| format!("linerate serve --workers 1 --engine {engine}")),
        || epoll.cpu_us_per_request(),
        || uring.cpu_us_per_request(),
    )
}

/// Loads a server with wrk for a second and returns the server's CPU µs per request.
fn loaded(url: &str, server_cpu_ns: impl Fn() -> anyhow::Result<u64>) -> anyhow::Result<f64> {
    let before_ns = server_cpu_ns()?;
    let mut wrk = Command::new("wrk");
    wrk.args(["-t", "1", "-c", CONNECTIONS, "-d", "1s", url]);
    sys::process::prepare_child(
        &mut wrk,
        ChildSetup {
            cpus: vec![CLIENT_CPU],
            ..ChildSetup::default()
        },
    );
    let output = wrk.output().context("wrk could not be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success() && !text.contains("Non-2xx"),
        "wrk failed: {text}"
    );
    let answered =
        super::client::wrk_answered(&text).with_context(|| format!("no count in: {text}"))?;
    Ok((server_cpu_ns()? - before_ns) as f64 / 1e3 / answered as f64)
}

/// Our own server. Dropping it stops it.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(linerate: &Path, engine: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(linerate);
        command
            .args([
                "serve",
                "--quiet",
                "--listen",
                "127.0.0.1:0",
                "--workers",
                "1",
            ])
            .args(["--engine", engine])
            .stdout(Stdio::piped());
        sys::process::prepare_child(
            &mut command,
            ChildSetup {
                cpus: vec![SERVER_CPU],
                ..ChildSetup::default()
            },
        );
        let mut child = command.spawn()?;
        let output = child.stdout.take().context("standard output")?;
        let mut line = String::new();
        std::io::BufReader::new(output).read_line(&mut line)?;
        let address = line
            .trim()
            .strip_prefix("listening on ")
            .context("the ready line")?
            .to_owned();
        Ok(Self { child, address })
    }

    /// Under wrk for a second.
    fn cpu_us_per_request(&self) -> anyhow::Result<f64> {
        let url = format!("http://{}/json", self.address);
        loaded(&url, || Ok(sys::clock::process_cpu_ns(self.child.id())?))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = sys::process::terminate(&self.child);
        let _ = self.child.wait();
    }
}
