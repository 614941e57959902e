//! A download between two programs as one JSON value of a stable shape.

use agent::download::Side;
use schemars::JsonSchema;
use serde::Serialize;
use traffic::tls::Agreed;

use super::Report;
use super::crossings::{Crossing, FilePath};
use crate::shape;
use crate::zero_copy::Account;
use model::doubt::{WordedDoubt, worded};
use model::reading::MachinePerUnit;

/// One file from a server to clients, over and over, whatever programs both are.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Download {
    /// Version of the program.
    linerate_version: &'static str,
    /// How the URL began.
    #[schemars(extend("enum" = ["http", "https"]))]
    scheme: &'static str,
    /// What our own client and the server agreed on before the clients were started; null in
    /// the clear.
    tls: Option<Agreed>,
    /// Connections of all client processes together.
    connections: u32,
    /// Length of the file, bytes.
    file_bytes: u64,
    /// From the first bytes of every connection to the scored window, s.
    settle_seconds: f64,
    /// Length of the scored window, s.
    window_seconds: f64,
    /// What the clients' kernel acknowledged within the window: bodies, heads and what TLS
    /// adds, bytes.
    acknowledged_bytes: u64,
    /// acknowledged_bytes per second, Gbit/s.
    throughput_gbit_per_second: f64,
    /// The server, and what all its processes spent within the window.
    server: DownloadServer,
    /// Gbit/s for each percent that the server had of the time of all its CPUs.
    gbit_per_second_per_server_cpu_percent: f64,
    /// How often each byte of the file crosses between CPU and memory on its way out of our own
    /// server; null of another server, whose way is not known.
    memory_crossings: Option<Crossings>,
    /// What became of the sends of our own server that were to go without a copy, from its
    /// start to its end; null where none were, or where it did not end in time to tell.
    zero_copy: Option<Account>,
    /// The clients, and what all their processes spent within the window.
    client: DownloadClient,
    /// CPU time of all CPUs of this machine per 10^9 acknowledged bytes, s; null where it is
    /// hidden.
    machine_cpu_seconds_per_gb: Option<MachinePerUnit>,
    /// The sides that were busy for 95 % of the window or more: they could not have done more.
    full_sides: Vec<&'static str>,
    /// Of the server's connections, by the kernel's account (struct tcp_info), within the
    /// window; all connections added up.
    sending: Sending,
    /// What makes the figures doubtful.
    doubts: Vec<WordedDoubt>,
}

/// Of the server's connections, by the kernel's account (struct tcp_info), within the window;
/// all connections added up.
#[derive(Serialize, JsonSchema)]
struct Sending {
    /// There was something to send or to be acknowledged, s.
    busy_seconds: f64,
    /// Of that, the client's window let no more be sent, s.
    rwnd_limited_seconds: f64,
    /// Of that, the server's own buffer held no more, s.
    sndbuf_limited_seconds: f64,
}

/// The clients, and what all their processes spent within the window.
#[derive(Serialize, JsonSchema)]
struct DownloadClient {
    /// The command of each as it was typed; null of our own.
    command: Option<String>,
    #[serde(flatten)]
    spent: Spent,
}

/// How often each byte of the file crosses between CPU and memory on its way out of our own
/// server; null of another server, whose way is not known.
#[derive(Serialize, JsonSchema)]
struct Crossings {
    /// It is added up along the path that is taken, not measured.
    source: &'static str,
    /// The path, in words.
    path: &'static str,
    /// Of all steps, from the page cache on; what stays in a CPU's caches between two steps
    /// does not reach the memory.
    per_byte: u32,
    /// In the order in which they are taken.
    steps: Vec<CrossingStep>,
}

#[derive(Serialize, JsonSchema)]
struct CrossingStep {
    /// What is done to a byte, in words.
    what: &'static str,
    /// How often it is read or written for that.
    crossings: u32,
}

/// The server, and what all its processes spent within the window.
#[derive(Serialize, JsonSchema)]
struct DownloadServer {
    /// What readers call it.
    title: String,
    /// What its program calls its version; null of our own server, whose version is
    /// linerate_version.
    version: Option<String>,
    #[serde(flatten)]
    spent: Spent,
}

/// What all processes of a side spent within the window.
#[derive(Serialize, JsonSchema)]
struct Spent {
    /// Its CPUs, as a list such as 0-3,8.
    cpus: String,
    /// Its CPU time per 10^9 acknowledged bytes, s.
    cpu_seconds_per_gb: f64,
    /// How busy it was: the larger one of two shares, %: of the window that its busiest thread had a
    /// CPU, and of the time of all its CPUs that it had.
    #[schemars(range(min = 0, max = 100))]
    busy_percent: f64,
}

pub(super) fn render(report: &Report) -> String {
    shape::lines(value(report))
}

fn value(report: &Report) -> Download {
    let (order, went) = (&report.order, &report.went);
    let seconds = |us: u64| us as f64 / 1e6;
    Download {
        linerate_version: shape::VERSION,
        scheme: report.scheme(),
        tls: went.tls.clone(),
        connections: order.connections,
        file_bytes: went.file_bytes,
        settle_seconds: order.settle.as_secs_f64(),
        window_seconds: report.seconds(),
        acknowledged_bytes: went.sending.acked_bytes,
        throughput_gbit_per_second: report.gbit_per_second(),
        server: DownloadServer {
            title: went.server_title.clone(),
            version: went.server_version.clone(),
            spent: side(report, &went.server),
        },
        gbit_per_second_per_server_cpu_percent: report.gbit_per_cpu_percent(),
        memory_crossings: report.path.map(crossings),
        zero_copy: report.zero_copy(),
        client: DownloadClient {
            command: report.client.clone(),
            spent: side(report, &went.client),
        },
        machine_cpu_seconds_per_gb: MachinePerUnit::of(went.machine, |ns| {
            Some(went.seconds_per_gb(ns))
        }),
        full_sides: report.full_sides(),
        sending: Sending {
            busy_seconds: seconds(went.sending.busy_us),
            rwnd_limited_seconds: seconds(went.sending.rwnd_limited_us),
            sndbuf_limited_seconds: seconds(went.sending.sndbuf_limited_us),
        },
        doubts: worded(&report.doubts()),
    }
}

/// A byte's way through the server.
fn crossings(path: FilePath) -> Crossings {
    let step = |step: &Crossing| CrossingStep {
        what: step.what,
        crossings: step.crossings,
    };
    Crossings {
        source: "computed",
        path: path.name(),
        per_byte: path.crossings(),
        steps: path.steps().iter().map(step).collect(),
    }
}

fn side(report: &Report, side: &Side) -> Spent {
    Spent {
        cpus: sys::cpu::format_list(&side.cpus),
        cpu_seconds_per_gb: report.went.cpu_seconds_per_gb(side),
        busy_percent: side.busy_share * 100.0,
    }
}
