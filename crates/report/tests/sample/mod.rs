//! A made-up run and its judgement for tests and for looking at the pages. The figures are
//! plausible and nobody measured them.

mod study;

use model::ceiling::ProbeValues;
use model::facts::Watched;
use model::judgement::{
    ArmResult, CurvePoint, JUDGEMENT_FORMAT, LatencyResult, MachineResult, Outcome,
    QuantileEstimate, SequentialError, StepResult,
};
use model::run::{Phase, RUN_FORMAT, Rig};
use model::study::{DesignKind, Published};
use model::{BlockRecord, Doubt, Effect, Estimate, Judgement, Reading, Role, RunRecord, Verdict};

const PAIRS: u32 = 16;

/// A rung of the made-up ladder: the arm, and the change it brings.
struct Rung {
    name: &'static str,
    title: &'static str,
    why: &'static str,
    ratio: f64,
    half_width: f64,
    published: Option<(f64, f64)>,
}

const RUNGS: [Rung; 5] = [
    Rung {
        name: "application",
        title: "one send per answer, no re-arming",
        why: "Two sends and a re-armed epoll entry cost two system calls for each request.",
        ratio: 0.841,
        half_width: 0.007,
        published: Some((347e3, 0.55)),
    },
    Rung {
        name: "seccomp",
        title: "no seccomp filter",
        why: "A filter that reads arguments runs at every system call.",
        ratio: 0.937,
        half_width: 0.006,
        published: Some((495e3, 0.11)),
    },
    Rung {
        name: "netfilter",
        title: "no linear nft rules",
        why: "A hundred rules are tried one after the other for every packet.",
        ratio: 0.779,
        half_width: 0.009,
        published: Some((603e3, 0.22)),
    },
    Rung {
        name: "conntrack",
        title: "no connection tracking",
        why: "Each packet is looked up in the table of connections.",
        ratio: 0.905,
        half_width: 0.008,
        published: None,
    },
    Rung {
        name: "nosy-neighbour",
        title: "no packet tap",
        why: "An idle packet socket is shown a copy of every packet.",
        ratio: 0.953,
        half_width: 0.006,
        published: Some((1.12e6, 0.06)),
    },
];

const BASELINE_US: f64 = 11.94;
const FLOOR_US: f64 = 5.62;

/// The run record of the made-up ladder.
pub(crate) fn run() -> RunRecord {
    RunRecord {
        format: RUN_FORMAT,
        linerate_version: "0.1.0".to_owned(),
        started_utc: "2026-03-14T09:26:53Z".to_owned(),
        command: "linerate study run http-json --seed 5358979323".to_owned(),
        expected_visible: Some(0.012),
        probed: ProbeValues::new(),
        demands: Vec::new(),
        seed: 5_358_979_323,
        study: study::study(),
        arms: study::arms(),
        service: None,
        own_services: Vec::new(),
        programs: Vec::new(),
        rig: Rig::PrivateNamespace,
        left_out: Vec::new(),
        on_host: false,
        confirmation: None,
        reboot: None,
        stacks: None,
        cpus: None,
        facts: study::facts(),
        watched: Watched {
            foreign_cpu_share: Some(0.012),
            psi_cpu_some_avg10: Some(0.4),
            psi_cpu_some_now: Some(0.3),
            foreign_served_connections: 0,
            spin_robust_cv: 0.011,
        },
        client: None,
        doubts: vec![],
    }
}

/// The judgement of the made-up ladder: every step better, latency of first and last arm.
pub(crate) fn judgement() -> Judgement {
    let whole_ratio: f64 = RUNGS.iter().map(|rung| rung.ratio).product();
    let last = &RUNGS[RUNGS.len() - 1];
    Judgement {
        ceilings: Vec::new(),
        scale: None,
        gate: None,
        format: JUDGEMENT_FORMAT,
        outcome: Outcome::ServerCpuPerRequest,
        arms: arm_results(),
        steps: step_results(),
        whole: Some(StepResult {
            against: "baseline".to_owned(),
            effect: Some(effect(whole_ratio, 0.006)),
            server_cpu: Some(effect(whole_ratio, 0.006)),
            ..step(last.name, last.title, whole_ratio, 0.006, None)
        }),
        control: Some(StepResult {
            verdict: Verdict::NoDifferenceThatMatters,
            ..step("control", "the baseline again", 1.001, 0.005, None)
        }),
        smallest_visible: Some(0.009),
        latency: vec![
            latency("baseline", "an ordinary box", 31_000.0, 2.4),
            latency(last.name, last.title, 21_000.0, 1.0),
        ],
        sequential: Some(SequentialError {
            n: 8,
            windows: 17,
            declared: 9,
        }),
        ladder: None,
        rounds_done: PAIRS,
        rounds_planned: PAIRS,
        doubts: vec![
            Doubt::OneMachine,
            Doubt::LeverSkipped {
                lever: "seccomp-filter".to_owned(),
                reason: "prctl(PR_SET_SECCOMP): EACCES".to_owned(),
            },
        ],
    }
}

/// Blocks that could have led to a judgement, of a machine that was slower for some rounds.
pub(crate) fn blocks(judgement: &Judgement) -> Vec<BlockRecord> {
    let mut blocks: Vec<BlockRecord> = Vec::new();
    for round in 0..PAIRS {
        for (position, arm) in (0..).zip(&judgement.arms) {
            let at_ms = 640 * blocks.len() as u64;
            blocks.push(block(round, position, arm, at_ms));
        }
    }
    blocks
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "CPU times of a made-up run"
)]
fn block(round: u32, position: u32, arm: &ArmResult, at_ms: u64) -> BlockRecord {
    let wobble = f64::from((round * 37 + position * 23) % 17) / 17.0 - 0.5;
    let slow = if (5..9).contains(&round) { 0.06 } else { 0.0 };
    let us = arm
        .server_cpu_us_per_request
        .map_or(1.0, |found| found.value);
    let mut reading = Reading {
        window_ns: 500_000_000,
        answered: 40_000,
        ..Reading::default()
    };
    reading.cpu.server_ns = Some((us * (1.0 + slow + 0.03 * wobble) * 40_000e3) as u64);
    BlockRecord {
        phase: Phase::Throughput,
        epoch: 0,
        round,
        position,
        arm: arm.name.clone(),
        at_ms,
        reading,
    }
}

/// A run of the `versus` kind and its judgement: one arm against the baseline.
pub(crate) fn versus(verdict: Verdict, ratio: f64, half_width: f64) -> (RunRecord, Judgement) {
    let (mut run, mut judgement) = (run(), judgement());
    run.study.name = "versus".to_owned();
    run.study.question = "Which of the two serves a request for less?".to_owned();
    run.study.design.kind = DesignKind::Compare;
    run.study.source = None;
    run.study.steps.clear();
    judgement.arms.truncate(3);
    judgement.arms[0].title = "A".to_owned();
    judgement.arms[2].title = "B".to_owned();
    judgement.arms[2].name = "b".to_owned();
    for arm in &mut judgement.arms {
        arm.share_of_floor = None;
        arm.published = None;
    }
    judgement.latency.clear();
    judgement.steps = vec![StepResult {
        verdict,
        ..step("b", "B", ratio, half_width, None)
    }];
    judgement.whole = judgement.steps.first().cloned();
    (run, judgement)
}

fn arm_results() -> Vec<ArmResult> {
    let mut results = vec![
        arm_result(
            "baseline",
            "an ordinary box",
            Role::Baseline,
            BASELINE_US,
            Some((224e3, f64::NAN)),
        ),
        arm_result(
            "control",
            "the baseline again",
            Role::Control,
            BASELINE_US * 1.002,
            None,
        ),
    ];
    let mut us = BASELINE_US;
    for rung in &RUNGS {
        us *= rung.ratio;
        results.push(arm_result(
            rung.name,
            rung.title,
            Role::Step,
            us,
            rung.published,
        ));
    }
    results.push(arm_result(
        "floor",
        "bare echo",
        Role::Floor,
        FLOOR_US,
        None,
    ));
    results
}

fn arm_result(
    name: &str,
    title: &str,
    role: Role,
    us: f64,
    beside: Option<(f64, f64)>,
) -> ArmResult {
    let share = (role != Role::Floor).then(|| around(FLOOR_US / us, 0.006));
    ArmResult {
        name: name.to_owned(),
        title: title.to_owned(),
        role,
        server_cpu_us_per_request: Some(around(us, 0.017)),
        client_cpu_us_per_request: Some(around(4.1 + us * 0.11, 0.02)),
        machine: Some(MachineResult {
            cpu_us_per_request: around(6.0 + us * 1.2, 0.02),
            user_us_per_request: us * 0.2,
            system_us_per_request: us * 0.8,
            irq_us_per_request: 0.0,
            softirq_us_per_request: 6.0 + us * 0.2,
            stolen_us_per_request: 0.1,
        }),
        throughput_rps: Some(around(0.95e6 / us, 0.03)),
        implied_rps_per_cpu: Some(around(1e6 / us, 0.017)),
        share_of_floor: share,
        client_busy_share: Some(0.61),
        published: published(beside),
    }
}

fn step_results() -> Vec<StepResult> {
    let mut before = "baseline";
    RUNGS
        .iter()
        .map(|rung| {
            let against = std::mem::replace(&mut before, rung.name).to_owned();
            let found = step(
                rung.name,
                rung.title,
                rung.ratio,
                rung.half_width,
                rung.published,
            );
            StepResult { against, ..found }
        })
        .collect()
}

fn step(
    name: &str,
    title: &str,
    ratio: f64,
    half_width: f64,
    beside: Option<(f64, f64)>,
) -> StepResult {
    StepResult {
        arm: name.to_owned(),
        title: title.to_owned(),
        against: "baseline".to_owned(),
        verdict: Verdict::Better,
        effect: Some(effect(ratio, half_width)),
        server_cpu: Some(effect(ratio, half_width)),
        client_cpu: Some(effect(1.0 - (1.0 - ratio) / 4.0, half_width)),
        throughput: Some(effect(1.0 / ratio, half_width * 3.0)),
        published: published(beside),
    }
}

pub(crate) fn effect(ratio: f64, half_width: f64) -> Effect {
    Effect {
        ratio,
        low: ratio - half_width,
        high: ratio + half_width,
        n: PAIRS,
        alpha: 0.01,
        p_value: 0.000_03,
    }
}

fn around(value: f64, share: f64) -> Estimate {
    Estimate {
        value,
        low: value * (1.0 - share),
        high: value * (1.0 + share * 1.3),
        n: PAIRS,
    }
}

fn published(figures: Option<(f64, f64)>) -> Option<Published> {
    figures.map(|(throughput_rps, gain)| Published {
        throughput_rps,
        gain: gain.is_finite().then_some(gain),
    })
}

/// A distribution with a long tail: a floor, an exponential body, and rare long waits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "latencies of a made-up run"
)]
fn latency(arm: &str, title: &str, base_ns: f64, tail: f64) -> LatencyResult {
    let at = |quantile: f64| {
        let nines = -(1.0 - quantile).log10();
        base_ns * (1.0 + 0.35 * nines + 0.11 * tail * nines.powf(2.6))
    };
    let quantiles = |scale: f64| {
        [0.5, 0.99, 0.999, 0.9999]
            .map(|quantile| {
                let value = at(quantile) * scale;
                let spread = 0.01 + 0.02 * -(1.0 - quantile).log10();
                QuantileEstimate {
                    quantile,
                    value_ns: value as u64,
                    low_ns: (value * (1.0 - spread)) as u64,
                    high_ns: (value * (1.0 + spread * 1.4)) as u64,
                }
            })
            .to_vec()
    };
    let curve = (0..=90).map(|step| {
        let quantile = 1.0 - 10_f64.powf(-f64::from(step) / 20.0);
        CurvePoint {
            quantile,
            latency_ns: at(quantile) as u64,
        }
    });
    LatencyResult {
        arm: arm.to_owned(),
        title: title.to_owned(),
        offered_rps: 55_700.0,
        achieved_rps: 55_690.0,
        requests: 334_140,
        lost_share: 0.0,
        client_is_limit: false,
        response: quantiles(1.0),
        service: quantiles(0.93),
        lateness: quantiles(0.07),
        response_curve: curve.collect(),
    }
}
