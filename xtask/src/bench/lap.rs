//! One client against one server: what it came to, both ends seen from outside.

use anyhow::ensure;

use super::client::Client;
use super::lab::Lab;
use super::race::{Columns, Quantity};
use super::server::Server;

/// What one run of a client came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lap {
    /// Requests answered, or kB received.
    units: f64,
    /// Requests/s or Gbit/s, as the client tells.
    rate: f64,
    server_ns: f64,
    client_ns: f64,
    /// Of the kernel's threads that finish what interrupts left over. Other work in interrupts is in
    /// the time of whoever they interrupted, in the sender's for most of loopback.
    ksoftirqd_ns: f64,
}

impl Lap {
    /// Runs a client to its end. CPU time is the kernel's own account: of the whole client process
    /// when it ends, of the server's processes by their clocks.
    pub(super) fn run(lab: &Lab, client: &Client, server: &Server) -> anyhow::Result<Self> {
        let before_ns = (server.cpu_ns()?, lab.ksoftirqd_ns());
        let (done, usage) = client.run(&lab.linerate, server)?;
        let after_ns = (server.cpu_ns()?, lab.ksoftirqd_ns());
        ensure!(
            after_ns.0 > before_ns.0,
            "{} was answered by other processes than those started",
            client.shown()
        );
        Ok(Self {
            units: done.units,
            rate: done.rate,
            server_ns: (after_ns.0 - before_ns.0) as f64,
            client_ns: usage.cpu_ns() as f64,
            ksoftirqd_ns: (after_ns.1 - before_ns.1) as f64,
        })
    }

    fn us_per_unit(&self, cpu_ns: f64) -> f64 {
        cpu_ns / 1e3 / self.units
    }
}

pub(super) const SERVER: Quantity<Lap> = Quantity {
    name: "server CPU",
    of: |lap| lap.us_per_unit(lap.server_ns),
};
pub(super) const CLIENT: Quantity<Lap> = Quantity {
    name: "client CPU",
    of: |lap| lap.us_per_unit(lap.client_ns),
};
const KSOFTIRQD: Quantity<Lap> = Quantity {
    name: "ksoftirqd",
    of: |lap| lap.us_per_unit(lap.ksoftirqd_ns),
};
/// Nothing is won by pushing work across.
pub(super) const PAIR: Quantity<Lap> = Quantity {
    name: "whole pair",
    of: |lap| lap.us_per_unit(lap.server_ns + lap.client_ns + lap.ksoftirqd_ns),
};
pub(super) const RATE: Quantity<Lap> = Quantity {
    name: "rate",
    of: |lap| lap.rate,
};

/// A table of small answers.
pub(super) const OF_REQUESTS: Columns<Lap> = &[
    (&SERVER, PER_REQUEST),
    (&CLIENT, PER_REQUEST),
    (&KSOFTIRQD, PER_REQUEST),
    (&PAIR, PER_REQUEST),
    (&RATE, "requests/s"),
];
const PER_REQUEST: &str = "µs/request";

/// A table of long bodies, whose unit is the kB: a µs per kB is a second per GB.
pub(super) const OF_BYTES: Columns<Lap> = &[
    (&SERVER, PER_GIGABYTE),
    (&CLIENT, PER_GIGABYTE),
    (&KSOFTIRQD, PER_GIGABYTE),
    (&PAIR, PER_GIGABYTE),
    (&RATE, "Gbit/s"),
];
const PER_GIGABYTE: &str = "CPU-s/GB";
