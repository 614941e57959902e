//! The made-up run's study, arms and machine.

use model::facts::{Facts, IrqTimeAccounting};
use model::rig::RigKind;
use model::source::NotCrossed;
use model::source::Source;
use model::study::{
    BaselineSpec, Design, DesignKind, LatencyDesign, Program, STUDY_FORMAT, StepSpec,
};
use model::{Arm, Role, Study, Workload};

use super::{PAIRS, RUNGS, Rung, published};

pub(super) fn study() -> Study {
    Study {
        format: STUDY_FORMAT,
        name: "http-json".to_owned(),
        title: "Small JSON answers, from an ordinary box to a tuned one".to_owned(),
        question:
            "How fast can this machine serve small JSON requests, and what does each step buy?"
                .to_owned(),
        method:
            "Every arm's server is started once and waits on its own port. In each of 16 rounds \
                 every arm takes 0.5 s of closed-loop load in random order, after 75 ms to settle. \
                 A change is the Hodges–Lehmann estimate over the pairs of a round, with the exact \
                 signed-rank interval, corrected by Holm for the number of steps."
                .to_owned(),
        pitfalls: vec![
            "Gains depend on the order in which steps are taken.".to_owned(),
            "Client and server share one machine and its caches.".to_owned(),
        ],
        source: Some(Source {
            title: "Extreme HTTP Performance Tuning".to_owned(),
            url: "https://talawah.io/blog/extreme-http-performance-tuning-one-point-two-million/"
                .to_owned(),
            year: 2021,
            machine: "EC2 c5n.xlarge, 4 vCPU, kernel 4.14".to_owned(),
            not_crossed: vec![NotCrossed {
                title: "mitigations of speculative execution off".to_owned(),
                why: "needs a reboot".to_owned(),
                gain: Some(0.28),
            }],
        }),
        rig: RigKind::Loopback,
        whole: None,
        gate: None,
        link: None,
        design: Design {
            kind: DesignKind::Ladder,
            rounds: PAIRS,
            settle_ms: 75,
            score_ms: 500,
            smallest_effect: 0.03,
            looks: Vec::new(),
        },
        workload: Workload {
            path: "/json".to_owned(),
            connections: 64,
            threads: 1,
            workers: model::cpus::Workers::default(),
        },
        latency: Some(LatencyDesign {
            rate_share: 0.7,
            blocks: 6,
            score_ms: 1000,
            rate_rps: None,
        }),
        floor: true,
        stacks: false,
        baseline: BaselineSpec {
            title: "an ordinary box".to_owned(),
            target: None,
            levers: vec![],
            published: published(Some((224e3, f64::NAN))),
        },
        steps: RUNGS.iter().map(step_spec).collect(),
    }
}

fn step_spec(rung: &Rung) -> StepSpec {
    StepSpec {
        why: rung.why.to_owned(),
        published: published(rung.published),
        ..StepSpec::named(rung.name.to_owned(), rung.title.to_owned())
    }
}

pub(super) fn facts() -> Facts {
    Facts {
        kernel_release: "6.18.5".to_owned(),
        architecture: "x86_64".to_owned(),
        distribution: Some("Debian GNU/Linux 12 (bookworm)".to_owned()),
        cpu_model: "AMD EPYC 7R13".to_owned(),
        cpus_online: 2,
        cpus_allowed: "0-1".to_owned(),
        cpu_quota: None,
        memory_bytes: 24_600_000_000,
        virtualisation: Some("kvm".to_owned()),
        clocksource: Some("kvm-clock".to_owned()),
        frequency_governor: None,
        halt_poll_ns: Some(200_000),
        congestion_control: Some("bbr".to_owned()),
        irq_time_accounting: Some(IrqTimeAccounting::Off),
        mitigations: [
            ("spectre_v1", "Mitigation: usercopy/swapgs barriers"),
            ("spectre_v2", "Mitigation: Retpolines; STIBP: disabled"),
            ("meltdown", "Not affected"),
        ]
        .map(|(name, state)| (name.to_owned(), state.to_owned()))
        .into(),
        identity: None,
    }
}

pub(super) fn arms() -> Vec<Arm> {
    let arm = |name, title, role, program, against: Option<&str>| Arm {
        against: against.map(str::to_owned),
        ..Arm::new(name, title, role, program)
    };
    let mut arms = vec![
        arm(
            "baseline",
            "an ordinary box",
            Role::Baseline,
            Program::Serve,
            None,
        ),
        arm(
            "control",
            "the baseline again",
            Role::Control,
            Program::Serve,
            Some("baseline"),
        ),
    ];
    let mut before = "baseline";
    for rung in &RUNGS {
        arms.push(arm(
            rung.name,
            rung.title,
            Role::Step,
            Program::Serve,
            Some(before),
        ));
        before = rung.name;
    }
    arms.push(arm("floor", "bare echo", Role::Floor, Program::Echo, None));
    arms
}
