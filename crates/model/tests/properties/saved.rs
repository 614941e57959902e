//! Runs and blocks as they are saved.

use model::cpus::CpuShare;
use model::gate::{GateDesign, Unit};
use model::ladder::{LeftOut, Whole};
use model::link::{LinkSpec, Via};
use model::reboot::{Boot, BootChange, MeasuredBoot, Reboot};
use model::rig::RigKind;
use model::run::Confirmation;
use model::run::ProgramRecord;
use model::run::{ClientHost, ClockComparison, Phase};
use model::source::NotCrossed;
use model::source::Source;
use model::study::{BaselineSpec, Design, DesignKind, LatencyDesign, Published, StepSpec};
use model::{Arm, BlockRecord, Role, RunRecord, Study};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::services::service_record;
use super::values::{
    doubts, facts, levers, number, program, reading, rig, text, watched, workload,
};

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
            looks: vec![rounds],
        },
    )
}

fn step() -> impl Strategy<Value = StepSpec> {
    (
        any::<[String; 3]>(),
        any::<bool>(),
        any::<[Option<String>; 3]>(),
        levers(),
        levers(),
        published(),
    )
        .prop_map(
            |([name, title, why], whole, [target, path, against], add, take_away, published)| {
                StepSpec {
                    why,
                    whole,
                    target,
                    path,
                    against,
                    add,
                    take_away,
                    published,
                    ..StepSpec::named(name, title)
                }
            },
        )
}

fn source() -> impl Strategy<Value = Source> {
    let not_crossed = (text(), text(), option::of(number()))
        .prop_map(|(title, why, gain)| NotCrossed { title, why, gain });
    let texts = any::<[String; 3]>();
    (texts, any::<u32>(), vec(not_crossed, 0..3)).prop_map(
        |([title, url, machine], year, not_crossed)| Source {
            title,
            url,
            year,
            machine,
            not_crossed,
        },
    )
}

fn link() -> impl Strategy<Value = LinkSpec> {
    let words = (any::<[Option<String>; 6]>(), any::<[Vec<String>; 2]>());
    let rest = (any::<Option<u64>>(), select(Via::ALL.to_vec()));
    (words, rest).prop_map(
        |(([delay, rate, credit, loss, reorder, queue], [up, down]), (seed, via))| LinkSpec {
            delay,
            rate,
            credit,
            loss,
            reorder,
            queue,
            up,
            down,
            seed,
            via,
        },
    )
}

fn study() -> impl Strategy<Value = Study> {
    let latency =
        (number(), any::<[u32; 2]>()).prop_map(|(rate_share, [blocks, score_ms])| LatencyDesign {
            rate_share,
            blocks,
            score_ms,
            rate_rps: Some(rate_share),
        });
    let baseline = (text(), any::<Option<String>>(), levers(), published()).prop_map(
        |(title, target, levers, published)| BaselineSpec {
            title,
            target,
            levers,
            published,
        },
    );
    let texts = (
        any::<[String; 4]>(),
        vec(text(), 0..3),
        option::of(source()),
    );
    (
        texts,
        any::<(u32, bool)>(),
        (select(RigKind::ALL.to_vec()), option::of(link())),
        design(),
        workload(),
        (option::of(latency), option::of(whole()), option::of(gate())),
        baseline,
        vec(step(), 0..3),
    )
        .prop_map(
            |(
                ([name, title, question, method], pitfalls, source),
                (format, floor),
                (rig, link),
                design,
                workload,
                (latency, whole, gate),
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
                rig,
                link,
                design,
                workload,
                latency,
                floor,
                whole,
                gate,
                baseline,
                steps,
            },
        )
}

fn gate() -> impl Strategy<Value = GateDesign> {
    let unit = select(vec![Unit::Request, Unit::Run]);
    (number(), unit, any::<u64>()).prop_map(|(bar, unit, most_ms)| GateDesign {
        bar,
        unit,
        most_ms,
    })
}

fn whole() -> impl Strategy<Value = Whole> {
    let together = vec(any::<[String; 2]>(), 0..3);
    (
        select(RigKind::ALL.to_vec()),
        levers(),
        any::<u32>(),
        together,
    )
        .prop_map(|(rig, levers, confirm_rounds, together)| Whole {
            rig,
            levers,
            confirm_rounds,
            together,
        })
}

fn left_out() -> impl Strategy<Value = LeftOut> {
    (text(), text(), any::<bool>()).prop_map(|(step, why, of_the_boot)| LeftOut {
        step,
        why,
        of_the_boot,
    })
}

fn confirmation() -> impl Strategy<Value = Confirmation> {
    (vec(text(), 0..3), vec(arm(), 0..3)).prop_map(|(dropped, arms)| Confirmation { dropped, arms })
}

fn reboot() -> impl Strategy<Value = Reboot> {
    let measured =
        (boot(), any::<bool>(), facts()).prop_map(|(boot, has_step, facts)| MeasuredBoot {
            boot,
            has_step,
            facts,
        });
    (
        (text(), text(), any::<u32>()),
        boot_change(),
        boot(),
        vec(arm(), 0..3),
        vec(measured, 0..3),
    )
        .prop_map(
            |((step, option, rounds), change, first, arms, boots)| Reboot {
                step,
                option,
                change,
                first,
                arms,
                rounds,
                boots,
            },
        )
}

pub(crate) fn boot() -> impl Strategy<Value = Boot> {
    (text(), text(), vec(text(), 0..3)).prop_map(|(boot_id, kernel_build, options)| Boot {
        boot_id,
        kernel_build,
        options,
    })
}

pub(crate) fn boot_change() -> impl Strategy<Value = BootChange> {
    (text(), vec(text(), 0..3), vec(text(), 0..3), text()).prop_map(
        |(loader, make, undo, warning)| BootChange {
            loader,
            make,
            undo,
            warning,
        },
    )
}

fn arm() -> impl Strategy<Value = Arm> {
    let role = select(vec![
        Role::Baseline,
        Role::Control,
        Role::Step,
        Role::Floor,
        Role::Alone,
        Role::Both,
        Role::Last,
        Role::Without,
    ]);
    (
        text(),
        text(),
        role,
        program(),
        (option::of(text()), option::of(any::<u32>())),
        levers(),
        option::of(text()),
        published(),
    )
        .prop_map(
            |(name, title, role, program, (path, workers), levers, against, published)| Arm {
                name,
                title,
                role,
                program,
                path,
                workers,
                levers,
                against,
                published,
            },
        )
}

fn client_host() -> impl Strategy<Value = ClientHost> {
    (facts(), watched(), any::<(i64, u64, bool)>()).prop_map(
        |(facts, watched, (offset_ns, uncertainty_ns, same_machine))| ClientHost {
            facts,
            watched,
            clocks: ClockComparison {
                offset_ns,
                uncertainty_ns,
            },
            same_machine,
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
        (
            vec(arm(), 0..3),
            (option::of(service_record()), vec(service_record(), 0..3)),
            vec(program_record(), 0..3),
            option::of(confirmation()),
            vec(left_out(), 0..3),
            option::of(reboot()),
        ),
        (
            rig(),
            any::<bool>(),
            option::of(client_host()),
            option::of(cpus()),
        ),
        seen,
    )
        .prop_map(
            |(
                (format, seed),
                [linerate_version, started_utc, command],
                study,
                (arms, (service, own_services), programs, confirmation, left_out, reboot),
                (rig, on_host, client, cpus),
                (facts, watched, expected_visible, doubts),
            )| RunRecord {
                format,
                linerate_version,
                started_utc,
                command,
                seed,
                study,
                arms,
                left_out,
                service,
                own_services,
                programs,
                rig,
                on_host,
                facts,
                cpus,
                watched,
                client,
                expected_visible,
                confirmation,
                reboot,
                doubts,
            },
        )
}

fn cpus() -> impl Strategy<Value = CpuShare> {
    any::<([String; 3], [u32; 3])>().prop_map(|([server, client, left_out], counts)| CpuShare {
        server,
        client,
        left_out,
        server_cpus: counts[0],
        client_cpus: counts[1],
        shared_cpus: counts[2],
    })
}

fn program_record() -> impl Strategy<Value = ProgramRecord> {
    any::<[String; 3]>().prop_map(|[name, title, version]| ProgramRecord {
        name,
        title,
        version,
    })
}

/// A block as it is saved.
pub(crate) fn block_record() -> impl Strategy<Value = BlockRecord> {
    let phase = select(vec![
        Phase::Throughput,
        Phase::Latency,
        Phase::Confirmation,
        Phase::Boot,
    ]);
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
