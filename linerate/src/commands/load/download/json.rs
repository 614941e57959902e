//! A download as one JSON value of a stable shape.

use model::reading::Errors;
use schemars::JsonSchema;
use serde::Serialize;
use traffic::tls::Agreed;

use super::{LoadDownloadReport, ServerSpent};
use crate::shape;
use model::doubt::{WordedDoubt, worded};
use model::reading::MachinePerUnit;

/// One download: how fast long bodies came, and what they cost each side.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LoadDownload {
    /// Version of the program.
    linerate_version: &'static str,
    /// What was loaded: the URL without its query.
    target: String,
    /// The address that was loaded, as ADDR:PORT.
    address: String,
    /// Connections held open at once, count.
    connections: u32,
    /// Load threads, count.
    threads: u32,
    /// Download before the scored window, s.
    settle_seconds: f64,
    /// Length of the scored window as it was, s.
    window_seconds: f64,
    /// HTTP status of the first answer.
    first_status: u16,
    /// Length of the body by the head of the first answer, bytes; null where its end tells it.
    body_bytes: Option<u64>,
    /// What the first handshake agreed on; null in the clear.
    tls: Option<Agreed>,
    /// Bytes received within the scored window: heads, bodies and chunk framing, without TLS's
    /// records.
    received_bytes: u64,
    /// Those bytes per second of the window, Gbit/s (1e9 bit/s).
    throughput_gbit_per_second: f64,
    /// Requests sent, settling included, count.
    sent: u64,
    /// Whole right bodies, settling included, count.
    answered: u64,
    /// Requests without a whole right body, settling included, by fate.
    errors: Errors,
    /// CPU time of the load threads per GB (1e9 bytes) received, s; null when nothing came.
    client_cpu_seconds_per_gb: Option<f64>,
    /// Share of the window in which the busiest load thread worked, 0 to 1.
    client_busy_share: f64,
    /// Share of the window in which that thread worked or was ready to run while something else had its
    /// CPU, 0 to 1.
    client_occupied_share: f64,
    /// The server's side; null where it is on another machine or may not be seen.
    server: Option<LoadedServer>,
    /// CPU time of all CPUs of this machine per GB (1e9 bytes) received, s; null where it is
    /// hidden, or nothing came.
    machine_cpu_seconds_per_gb: Option<MachinePerUnit>,
    /// Sides of which one thread had a CPU for 95 % of the window or more.
    full_sides: Vec<&'static str>,
    /// What a sceptic would ask about.
    doubts: Vec<WordedDoubt>,
    /// Remarks about how it was measured.
    notes: Vec<String>,
}

/// A server on this machine.
#[derive(Serialize, JsonSchema)]
struct LoadedServer {
    /// CPU time of all its processes per GB (1e9 bytes) received, s; null where it cannot be
    /// read.
    cpu_seconds_per_gb: Option<f64>,
    /// Share of the window in which its busiest thread had a CPU, 0 to 1; null where it cannot
    /// be read.
    busy_share: Option<f64>,
    /// Why its connections sent no faster; null where the kernel does not tell, or none was
    /// left.
    sending: Option<ServerSending>,
}

/// TCP_INFO of the server's ends within the window, all connections added up.
#[derive(Serialize, JsonSchema)]
struct ServerSending {
    /// Connections, count.
    connections: u64,
    /// There was something to send or to be acknowledged (tcpi_busy_time), s.
    busy_seconds: f64,
    /// Of that, the client's window let no more be sent (tcpi_rwnd_limited), s.
    rwnd_limited_seconds: f64,
    /// Of that, the server's own buffer held no more (tcpi_sndbuf_limited), s.
    sndbuf_limited_seconds: f64,
}

/// The value, over several lines.
pub(super) fn render(report: &LoadDownloadReport) -> String {
    shape::lines(value(report))
}

fn value(report: &LoadDownloadReport) -> LoadDownload {
    let (outcome, plan) = (&report.outcome, &report.plan);
    LoadDownload {
        linerate_version: shape::VERSION,
        target: report.shown.clone(),
        address: plan.address.to_string(),
        connections: plan.connections,
        threads: plan.threads,
        settle_seconds: plan.settle_ns as f64 / 1e9,
        window_seconds: outcome.window_ns as f64 / 1e9,
        first_status: report.first.status,
        body_bytes: report.first.body_bytes,
        tls: report.first.tls.clone(),
        received_bytes: outcome.received_bytes,
        throughput_gbit_per_second: report.gbit_per_second(),
        sent: outcome.ledger.sent,
        answered: outcome.ledger.answered,
        errors: outcome.ledger.errors,
        client_cpu_seconds_per_gb: report.per_gigabyte(outcome.client_cpu_ns),
        client_busy_share: outcome.client_busy_share,
        client_occupied_share: outcome.client_occupied_share,
        server: report.server.as_ref().ok().map(|side| server(report, side)),
        machine_cpu_seconds_per_gb: MachinePerUnit::of(report.machine, |ns| {
            report.per_gigabyte(ns)
        }),
        full_sides: report.full_sides(),
        doubts: worded(&outcome.doubts),
        notes: report.notes.clone(),
    }
}

fn server(report: &LoadDownloadReport, server: &ServerSpent) -> LoadedServer {
    let seconds = |us: u64| us as f64 / 1e6;
    LoadedServer {
        cpu_seconds_per_gb: server.cpu_ns.and_then(|cpu_ns| report.per_gigabyte(cpu_ns)),
        busy_share: server.busy_share,
        sending: server.sending.map(|sending| ServerSending {
            connections: sending.connections,
            busy_seconds: seconds(sending.busy_us),
            rwnd_limited_seconds: seconds(sending.rwnd_limited_us),
            sndbuf_limited_seconds: seconds(sending.sndbuf_limited_us),
        }),
    }
}
