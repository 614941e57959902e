//! Values of the types that are saved and sent, of every kind.

use std::collections::BTreeMap;

use model::doubt::Doubt;
use model::facts::{Facts, Identity, Watched};
use model::lever::{Binds, LeverState};
use model::message::{BlockAsk, Failure};
use model::reading::{CpuReading, Errors, LatencyReading, Ledger};
use model::run::{Phase, Rig};
use model::study::{
    BaselineSpec, Design, DesignKind, LatencyDesign, Program, Published, Source, StepSpec,
};
use model::workload::Arrivals;
use model::{
    Arm, Ask, BlockRecord, Histogram, LeverSetting, Pace, Reading, Role, RunRecord, Study, Tell,
    Workload,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// A number that JSON can hold.
fn number() -> impl Strategy<Value = f64> {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
}

fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

fn lever() -> impl Strategy<Value = LeverSetting> {
    ("[a-z0-9-]{1,12}", any::<Option<u64>>()).prop_map(|(name, value)| LeverSetting { name, value })
}

fn levers() -> impl Strategy<Value = Vec<LeverSetting>> {
    vec(lever(), 0..3)
}

fn program() -> impl Strategy<Value = Program> {
    prop_oneof![
        Just(Program::Serve),
        Just(Program::Echo),
        text().prop_map(Program::Url)
    ]
}

fn workload() -> impl Strategy<Value = Workload> {
    (text(), any::<[u32; 2]>()).prop_map(|(path, [connections, threads])| Workload {
        path,
        connections,
        threads,
    })
}

fn pace() -> impl Strategy<Value = Pace> {
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
        number().prop_map(|busy_share| Doubt::ClientIsLimit { busy_share }),
        any::<[u64; 2]>().prop_map(|[lateness_ns_p99, response_ns_p50]| Doubt::LateSends {
            lateness_ns_p99,
            response_ns_p50
        }),
        any::<[u32; 2]>().prop_map(|[pairs, needed]| Doubt::TooFewPairs { pairs, needed }),
        (text(), text()).prop_map(|(lever, reason)| Doubt::LeverSkipped { lever, reason }),
    ]
}

fn doubts() -> impl Strategy<Value = Vec<Doubt>> {
    vec(doubt(), 0..3)
}

fn rig() -> impl Strategy<Value = Rig> {
    let loopback = option::of(text()).prop_map(|reason| Rig::Loopback { reason });
    prop_oneof![Just(Rig::PrivateNamespace), loopback]
}

fn histogram() -> impl Strategy<Value = Histogram> {
    vec(any::<u64>(), 0..20).prop_map(|durations_ns| {
        let mut histogram = Histogram::default();
        durations_ns.into_iter().for_each(|ns| histogram.record(ns));
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

fn cpu() -> impl Strategy<Value = CpuReading> {
    (
        any::<(Option<u64>, u64, u64, Option<u64>)>(),
        number(),
        option::of(number()),
    )
        .prop_map(
            |(
                (server_ns, client_ns, ksoftirqd_ns, foreign_ns),
                client_busy_share,
                psi_some_share,
            )| {
                CpuReading {
                    server_ns,
                    client_ns,
                    ksoftirqd_ns,
                    foreign_ns,
                    client_busy_share,
                    psi_some_share,
                }
            },
        )
}

fn reading() -> impl Strategy<Value = Reading> {
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

fn facts() -> impl Strategy<Value = Facts> {
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
    )
        .prop_map(
            |(
                texts,
                may_miss,
                (cpus_online, memory_bytes, halt_poll_ns),
                cpu_quota,
                mitigations,
                identity,
            )| {
                made_facts(&texts, &may_miss, mitigations).map(|facts| Facts {
                    cpus_online,
                    memory_bytes,
                    halt_poll_ns,
                    cpu_quota,
                    identity,
                    ..facts
                })
            },
        )
        .prop_filter_map("as many texts as fields", |facts| facts)
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

fn watched() -> impl Strategy<Value = Watched> {
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

fn published() -> impl Strategy<Value = Option<Published>> {
    option::of(
        (number(), option::of(number())).prop_map(|(throughput_rps, gain)| Published {
            throughput_rps,
            gain,
        }),
    )
}

fn design() -> impl Strategy<Value = Design> {
    let kind = select(vec![DesignKind::Ladder, DesignKind::Compare]);
    (kind, any::<[u32; 3]>(), number()).prop_map(
        |(kind, [rounds, settle_ms, score_ms], smallest_effect)| Design {
            kind,
            rounds,
            settle_ms,
            score_ms,
            smallest_effect,
        },
    )
}

fn step() -> impl Strategy<Value = StepSpec> {
    (text(), text(), text(), levers(), levers(), published()).prop_map(
        |(name, title, why, add, take_away, published)| StepSpec {
            name,
            title,
            why,
            add,
            take_away,
            published,
        },
    )
}

fn study() -> impl Strategy<Value = Study> {
    let source =
        (text(), text(), any::<u32>(), text()).prop_map(|(title, url, year, machine)| Source {
            title,
            url,
            year,
            machine,
        });
    let latency =
        (number(), any::<[u32; 2]>()).prop_map(|(rate_share, [blocks, score_ms])| LatencyDesign {
            rate_share,
            blocks,
            score_ms,
        });
    let baseline =
        (text(), levers(), published()).prop_map(|(title, levers, published)| BaselineSpec {
            title,
            levers,
            published,
        });
    let texts = (any::<[String; 4]>(), vec(text(), 0..3), option::of(source));
    (
        texts,
        any::<(u32, bool)>(),
        design(),
        workload(),
        option::of(latency),
        baseline,
        vec(step(), 0..3),
    )
        .prop_map(
            |(
                ([name, title, question, method], pitfalls, source),
                (format, floor),
                design,
                workload,
                latency,
                baseline,
                steps,
            )| Study {
                format,
                name,
                title,
                question,
                method,
                pitfalls,
                source,
                design,
                workload,
                latency,
                floor,
                baseline,
                steps,
            },
        )
}

fn arm() -> impl Strategy<Value = Arm> {
    let role = select(vec![Role::Baseline, Role::Control, Role::Step, Role::Floor]);
    (
        text(),
        text(),
        role,
        program(),
        levers(),
        option::of(text()),
        published(),
    )
        .prop_map(
            |(name, title, role, program, levers, against, published)| Arm {
                name,
                title,
                role,
                program,
                levers,
                against,
                published,
            },
        )
}

/// A run as it is saved.
pub(crate) fn run_record() -> impl Strategy<Value = RunRecord> {
    let seen = (facts(), watched(), option::of(number()), doubts());
    (
        any::<(u32, u64)>(),
        any::<[String; 3]>(),
        study(),
        vec(arm(), 0..3),
        rig(),
        seen,
    )
        .prop_map(
            |(
                (format, seed),
                [linerate_version, started_utc, command],
                study,
                arms,
                rig,
                (facts, watched, expected_visible, doubts),
            )| RunRecord {
                format,
                linerate_version,
                started_utc,
                command,
                seed,
                study,
                arms,
                rig,
                facts,
                watched,
                expected_visible,
                doubts,
            },
        )
}

/// A block as it is saved.
pub(crate) fn block_record() -> impl Strategy<Value = BlockRecord> {
    let phase = select(vec![Phase::Throughput, Phase::Latency]);
    (phase, any::<[u32; 3]>(), text(), any::<u64>(), reading()).prop_map(
        |(phase, [epoch, round, position], arm, at_ms, reading)| BlockRecord {
            phase,
            epoch,
            round,
            position,
            arm,
            at_ms,
            reading,
        },
    )
}

/// Every kind of ask.
pub(crate) fn ask() -> impl Strategy<Value = Ask> {
    let start = (text(), program(), levers(), workload()).prop_map(
        |(target, program, levers, workload)| Ask::Start {
            target,
            program,
            levers,
            workload,
        },
    );
    let block = (text(), workload(), pace(), any::<[u32; 2]>()).prop_map(
        |(target, workload, pace, [settle_ms, score_ms])| {
            Ask::Block(Box::new(BlockAsk {
                target,
                workload,
                pace,
                settle_ms,
                score_ms,
            }))
        },
    );
    prop_oneof![
        any::<u32>().prop_map(|protocol| Ask::Hello { protocol }),
        any::<bool>().prop_map(|full| Ask::Facts { full }),
        Just(Ask::Levers),
        any::<u32>().prop_map(|watch_ms| Ask::Watch { watch_ms }),
        start,
        block,
        text().prop_map(|target| Ask::Stop { target }),
    ]
}

/// Every kind of tell.
pub(crate) fn tell() -> impl Strategy<Value = Tell> {
    let binds = select(vec![
        Binds::Live,
        Binds::Connect,
        Binds::Listen,
        Binds::Fork,
        Binds::Boot,
    ]);
    let state =
        (text(), binds, option::of(text())).prop_map(|(name, binds, unavailable)| LeverState {
            name,
            binds,
            unavailable,
        });
    let hello =
        (any::<u32>(), text(), rig()).prop_map(|(protocol, linerate_version, rig)| Tell::Hello {
            protocol,
            linerate_version,
            rig,
        });
    prop_oneof![
        hello,
        facts().prop_map(|facts| Tell::Facts(Box::new(facts))),
        vec(state, 0..3).prop_map(|levers| Tell::Levers { levers }),
        watched().prop_map(Tell::Watched),
        (text(), doubts()).prop_map(|(target, doubts)| Tell::Started { target, doubts }),
        reading().prop_map(|reading| Tell::Reading(Box::new(reading))),
        text().prop_map(|target| Tell::Stopped { target }),
        (text(), text()).prop_map(|(what, advice)| Tell::Failed(Failure { what, advice })),
    ]
}
