//! Values of the types that are saved and sent, of every kind.

use std::collections::BTreeMap;

use model::cpus::{NamedWorkers, Workers};
use model::doubt::Doubt;
use model::facts::{Facts, Identity, IrqTimeAccounting, Watched};
use model::reading::{CpuReading, Errors, LatencyReading, Ledger, MachineCpu};
use model::run::Rig;
use model::study::Program;
use model::workload::Arrivals;
use model::{Histogram, LeverSetting, Pace, Reading, Workload};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// A number that JSON can hold.
pub(crate) fn number() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

pub(crate) fn lever() -> impl Strategy<Value = LeverSetting> {
    ("[a-z0-9-]{1,12}", option::of("[!-~]{1,12}"))
        .prop_map(|(name, value)| LeverSetting { name, value })
}

pub(crate) fn levers() -> impl Strategy<Value = Vec<LeverSetting>> {
    vec(lever(), 0..3)
}

pub(crate) fn program() -> impl Strategy<Value = Program> {
    prop_oneof![
        Just(Program::Serve),
        Just(Program::Echo),
        text().prop_map(Program::Service),
        text().prop_map(Program::Url)
    ]
}

pub(crate) fn workload() -> impl Strategy<Value = Workload> {
    (text(), any::<[u32; 2]>(), workers()).prop_map(|(path, [connections, threads], workers)| {
        Workload {
            path,
            connections,
            threads,
            workers,
        }
    })
}

fn workers() -> impl Strategy<Value = Workers> {
    prop_oneof![
        any::<u32>().prop_map(Workers::Count),
        vec(any::<u32>(), 0..4).prop_map(Workers::Each),
        Just(Workers::Named(NamedWorkers::All)),
        Just(Workers::Named(NamedWorkers::Scale)),
    ]
}

pub(crate) fn pace() -> impl Strategy<Value = Pace> {
    let arrivals = select(vec![Arrivals::Uniform, Arrivals::Poisson]);
    let open =
        (number(), arrivals, any::<u64>()).prop_map(|(rate_rps, arrivals, seed)| Pace::Open {
            rate_rps,
            arrivals,
            seed,
        });
    prop_oneof![Just(Pace::Closed), open]
}

/// One of each shape that a doubt can have.
fn doubt() -> impl Strategy<Value = Doubt> {
    prop_oneof![
        Just(Doubt::OneMachine),
        text().prop_map(|what| Doubt::DifferentAnswers { what }),
        number().prop_map(|busy_share| Doubt::ClientIsLimit { busy_share }),
        any::<[u64; 2]>().prop_map(|[lateness_ns_p99, response_ns_p50]| Doubt::LateSends {
            lateness_ns_p99,
            response_ns_p50
        }),
        any::<[u32; 2]>().prop_map(|[pairs, needed]| Doubt::TooFewPairs { pairs, needed }),
        (text(), text()).prop_map(|(lever, reason)| Doubt::LeverSkipped { lever, reason }),
    ]
}

pub(crate) fn doubts() -> impl Strategy<Value = Vec<Doubt>> {
    vec(doubt(), 0..3)
}

pub(crate) fn rig() -> impl Strategy<Value = Rig> {
    let loopback = option::of(text()).prop_map(|reason| Rig::Loopback { reason });
    let others = select(vec![
        Rig::PrivateNamespace,
        Rig::Netns,
        Rig::Router,
        Rig::Tunnel,
        Rig::Hosts,
    ]);
    prop_oneof![others, loopback]
}

fn histogram() -> impl Strategy<Value = Histogram> {
    vec(any::<u64>(), 0..20).prop_map(|durations_ns| {
        let mut histogram = Histogram::default();
        for ns in durations_ns {
            histogram.record(ns);
        }
        histogram
    })
}

fn latency() -> impl Strategy<Value = LatencyReading> {
    (histogram(), histogram(), histogram(), number()).prop_map(
        |(service, response, lateness, offered_rps)| LatencyReading {
            service,
            response,
            lateness,
            offered_rps,
        },
    )
}

fn ledger() -> impl Strategy<Value = Ledger> {
    any::<[u64; 8]>().prop_map(
        |[
            sent,
            answered,
            status,
            malformed,
            body,
            closed,
            timeout,
            unfinished,
        ]| Ledger {
            sent,
            answered,
            errors: Errors {
                status,
                malformed,
                body,
                closed,
                timeout,
                unfinished,
            },
        },
    )
}

/// All CPUs of a host, where they are to be seen.
pub(crate) fn machine() -> impl Strategy<Value = Option<MachineCpu>> {
    option::of(
        any::<[u64; 5]>().prop_map(|[user_ns, system_ns, irq_ns, softirq_ns, stolen_ns]| {
            MachineCpu {
                user_ns,
                system_ns,
                irq_ns,
                softirq_ns,
                stolen_ns,
            }
        }),
    )
}

fn cpu() -> impl Strategy<Value = CpuReading> {
    (
        any::<(Option<u64>, u64, u64, Option<u64>)>(),
        number(),
        option::of(number()),
        any::<(Option<u64>, u32)>(),
        machine(),
    )
        .prop_map(
            |(
                (server_ns, client_ns, ksoftirqd_ns, foreign_ns),
                client_busy_share,
                psi_some_share,
                (server_window_ns, missed_before),
                machine,
            )| {
                CpuReading {
                    server_ns,
                    client_ns,
                    ksoftirqd_ns,
                    foreign_ns,
                    machine,
                    client_busy_share,
                    client_occupied_share: psi_some_share,
                    psi_some_share,
                    server_window_ns,
                    missed_before,
                }
            },
        )
}

pub(crate) fn reading() -> impl Strategy<Value = Reading> {
    (
        any::<[u64; 2]>(),
        ledger(),
        cpu(),
        option::of(latency()),
        doubts(),
    )
        .prop_map(
            |([window_ns, answered], ledger, cpu, latency, doubts)| Reading {
                window_ns,
                answered,
                ledger,
                cpu,
                latency,
                doubts,
            },
        )
}

pub(crate) fn facts() -> impl Strategy<Value = Facts> {
    let identity =
        (text(), text(), vec(text(), 0..3)).prop_map(|(host_name, user_name, addresses)| {
            Identity {
                host_name,
                user_name,
                addresses,
            }
        });
    let mitigations = btree_map(text(), text(), 0..3);
    (
        vec(text(), 5),
        vec(option::of(text()), 5),
        any::<(u32, u64, Option<u64>)>(),
        option::of(number()),
        mitigations,
        option::of(identity),
        irq_time_accounting(),
    )
        .prop_map(
            |(
                texts,
                may_miss,
                (cpus_online, memory_bytes, halt_poll_ns),
                cpu_quota,
                mitigations,
                identity,
                irq_time_accounting,
            )| {
                made_facts(&texts, &may_miss, mitigations).map(|facts| Facts {
                    cpus_online,
                    memory_bytes,
                    halt_poll_ns,
                    cpu_quota,
                    identity,
                    irq_time_accounting,
                    ..facts
                })
            },
        )
        .prop_filter_map("as many texts as fields", |facts| facts)
}

fn irq_time_accounting() -> impl Strategy<Value = Option<IrqTimeAccounting>> {
    option::of(select(vec![
        IrqTimeAccounting::On,
        IrqTimeAccounting::Off,
        IrqTimeAccounting::Unknown,
    ]))
}

fn made_facts(
    texts: &[String],
    may_miss: &[Option<String>],
    mitigations: BTreeMap<String, String>,
) -> Option<Facts> {
    let [kernel_release, architecture, cpu_model, cpus_allowed, _] = texts else {
        return None;
    };
    let [
        distribution,
        virtualisation,
        clocksource,
        frequency_governor,
        congestion_control,
    ] = may_miss
    else {
        return None;
    };
    Some(Facts {
        kernel_release: kernel_release.clone(),
        architecture: architecture.clone(),
        cpu_model: cpu_model.clone(),
        cpus_allowed: cpus_allowed.clone(),
        distribution: distribution.clone(),
        virtualisation: virtualisation.clone(),
        clocksource: clocksource.clone(),
        frequency_governor: frequency_governor.clone(),
        congestion_control: congestion_control.clone(),
        mitigations,
        ..Facts::default()
    })
}

pub(crate) fn watched() -> impl Strategy<Value = Watched> {
    (
        option::of(number()),
        option::of(number()),
        option::of(number()),
        any::<u32>(),
        number(),
    )
        .prop_map(
            |(
                foreign_cpu_share,
                psi_cpu_some_avg10,
                psi_cpu_some_now,
                foreign_served_connections,
                spin_robust_cv,
            )| Watched {
                foreign_cpu_share,
                psi_cpu_some_avg10,
                psi_cpu_some_now,
                foreign_served_connections,
                spin_robust_cv,
            },
        )
}
