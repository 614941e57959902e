//! `linerate datagrams`: UDP from one CPU to another, by one system call for each datagram or for many.

mod arguments;
mod doubts;
pub(crate) mod json;
mod table;

use std::process::ExitCode;

use anyhow::Context as _;
use machine::instruments::cpu::MachineWatch;
use model::Doubt;
use model::cpus::CpuWish;
use model::reading::MachineCpu;
use traffic::datagrams::{DatagramPlan, Exchanged, exchange};

use super::whole_machine;
use schemars::JsonSchema;
use serde::Serialize;

use crate::console::Console;
pub(crate) use arguments::Arguments;

/// What was asked for and how it went: what the pages show.
struct DatagramsReport {
    plan: DatagramPlan,
    went: Exchanged,
    /// All CPUs of this machine, getting ready for it included.
    machine: Option<MachineCpu>,
    doubts: Vec<Doubt>,
}

/// What an end spent on what the receiver got.
#[derive(Serialize, JsonSchema)]
struct Cost {
    /// Datagrams that it sent or received, for each of its calls.
    datagrams_per_call: f64,
    /// CPU time of the calls per 10⁹ bytes of payload received, s.
    cpu_seconds_per_gb: f64,
    /// CPU time of the calls per 10⁶ datagrams received, s.
    cpu_seconds_per_million: f64,
}

impl DatagramsReport {
    fn seconds(&self) -> f64 {
        self.went.window_ns.max(1) as f64 / 1e9
    }

    fn received_bytes(&self) -> f64 {
        self.went.received.datagrams as f64 * self.plan.datagram_bytes as f64
    }

    fn datagrams_per_second(&self) -> f64 {
        self.went.received.datagrams as f64 / self.seconds()
    }

    /// Of payload.
    fn gbit_per_second(&self) -> f64 {
        self.received_bytes() * 8.0 / 1e9 / self.seconds()
    }

    fn of_sender(&self) -> Cost {
        let sent = &self.went.sent;
        self.cost(sent.datagrams, sent.calls, sent.cpu_ns)
    }

    fn of_receiver(&self) -> Cost {
        let received = &self.went.received;
        self.cost(received.datagrams, received.calls, received.cpu_ns)
    }

    /// Of both ends together.
    fn cpu_seconds_per_gb(&self) -> f64 {
        self.of_sender().cpu_seconds_per_gb + self.of_receiver().cpu_seconds_per_gb
    }

    /// CPU time for each byte, ns, or for each GB, s; `None` when none came.
    fn per_gigabyte(&self, cpu_ns: u64) -> Option<f64> {
        let bytes = self.received_bytes();
        (bytes > 0.0).then(|| cpu_ns as f64 / bytes)
    }

    fn cost(&self, datagrams: u64, calls: u64, cpu_ns: u64) -> Cost {
        let came = self.went.received.datagrams as f64;
        Cost {
            datagrams_per_call: datagrams as f64 / calls as f64,
            // ns per byte are s per GB, and ns for each are s for a thousand million.
            cpu_seconds_per_gb: cpu_ns as f64 / self.received_bytes(),
            cpu_seconds_per_million: cpu_ns as f64 / came / 1e3,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> anyhow::Result<ExitCode> {
    let cpus = machine::cpus::here(&CpuWish::default()).context("asking for CPUs")?;
    let plan = arguments.plan(&cpus);
    let mut watch = MachineWatch::new();
    watch.open();
    let went = exchange(&plan)?;
    let machine = watch.spent();
    let mut doubts = doubts::doubts(&plan, &went);
    doubts.extend(whole_machine::doubt());
    let report = DatagramsReport {
        plan,
        went,
        machine,
        doubts,
    };
    console.say(&if arguments.json {
        json::render(&report)
    } else {
        table::render(&report)
    });
    Ok(ExitCode::SUCCESS)
}
