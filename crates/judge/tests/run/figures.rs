//! The figures beside the verdicts.

use judge::judge;
use model::ceiling::AnswerDemand;
use model::cpus::CpuShare;
use model::reading::MachineCpu;
use model::{Doubt, Judgement, Verdict};

use crate::built_run::{self, ladder};
use crate::{LADDER, change, has, judged, rounds, verdicts};

#[test]
fn a_round_cut_off_before_an_arm_gives_no_pair_for_it() {
    let mut blocks = rounds(16, &LADDER);
    blocks.pop();
    let judgement = judged(&blocks);
    let pairs = |step: usize| judgement.steps[step].effect.unwrap().n;
    assert_eq!((pairs(0), pairs(1), judgement.rounds_done), (16, 15, 15));
}

#[test]
fn arms_have_medians_an_implied_rate_and_their_share_of_the_floor() {
    let floor = built_run::arm("floor", "floor", None);
    let baseline = built_run::arm("baseline", "baseline", None);
    let run = built_run::with_arms(&[baseline, floor], 16);
    let judgement = judge(&run, &rounds(16, &[("baseline", 20.0), ("floor", 10.0)]));
    let [arm, echo] = judgement.arms.try_into().unwrap();
    let cpu = arm.server_cpu_us_per_request.unwrap();
    assert!((cpu.value - 20.0).abs() < 0.1 && cpu.low < cpu.value && cpu.value < cpu.high);
    let implied = arm.implied_rps_per_cpu.unwrap();
    assert!((implied.value - 50_000.0).abs() < 250.0);
    assert!(implied.low < implied.value && implied.value < implied.high);
    assert!((arm.share_of_floor.unwrap().value - 0.5).abs() < 0.01);
    assert_eq!(echo.share_of_floor, None);
    assert_eq!(arm.throughput_rps.unwrap().value, 100_000.0);
    assert_eq!(arm.client_cpu_us_per_request.unwrap().value, 5.0);
    assert_eq!(arm.client_busy_share, Some(0.5));
}

#[test]
fn ceilings_of_an_arm_follow_from_what_its_blocks_spent_and_what_was_seen_of_its_answers() {
    let mut run = ladder(1, 16);
    run.cpus = Some(CpuShare {
        server_cpus: 1,
        ..CpuShare::default()
    });
    let blocks = rounds(16, &LADDER[..3]);
    // 100,000 answers a second at 20 µs each need two CPUs. One CPU would allow only half as many,
    // so it is no ceiling.
    let ceilings = judge(&run, &blocks).ceilings;
    let arms: Vec<&str> = ceilings.iter().map(|it| it.arm.as_str()).collect();
    assert_eq!(arms, ["baseline", "step-1"]);
    let names = ceilings[0].bounds.iter().map(|it| it.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["client-thread"]);
    run.demands = vec![AnswerDemand {
        arm: "baseline".to_owned(),
        bytes: Some(200.0),
        busiest_share: Some(0.4),
        ..AnswerDemand::default()
    }];
    run.probed = [("loopback_bytes_per_second".to_owned(), vec![1e9, 4e9, 2e9])].into();
    let ceilings = judge(&run, &blocks).ceilings;
    let names = ceilings[0].bounds.iter().map(|it| it.name.as_str());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["busiest-thread", "client-thread", "loopback-bytes"]
    );
    let [nearest, _, loopback] = &ceilings[0].bounds[..] else {
        panic!("{ceilings:#?}")
    };
    assert!((nearest.reached - 0.8).abs() < 0.01 && (nearest.most_rps - 125_000.0).abs() < 1_250.0);
    assert!((loopback.reached - 0.01).abs() < 1e-9);
}

#[test]
fn the_machine_s_account_is_a_median_with_its_parts_over_all_blocks() {
    let mut blocks = rounds(16, &LADDER);
    assert!(judged(&blocks).arms.iter().all(|arm| arm.machine.is_none()));
    // Soft interrupts are counted in ticks, so that only every other block shows any.
    change(&mut blocks, "baseline", |block| {
        let softirq_ns = u64::from(block.round % 2) * 200_000_000;
        block.reading.cpu.machine = Some(MachineCpu {
            user_ns: 300_000_000,
            system_ns: 700_000_000 - softirq_ns,
            softirq_ns,
            stolen_ns: 100_000_000,
            irq_ns: 0,
        });
    });
    let judgement = judged(&blocks);
    let [baseline, others @ ..] = judgement.arms.as_slice() else {
        panic!("no arms")
    };
    let machine = baseline.machine.unwrap();
    // One second of CPU time for 50,000 answers.
    assert!((machine.cpu_us_per_request.value - 20.0).abs() < 1e-9);
    let [softirq, stolen] = [
        machine.softirq_us_per_request,
        machine.stolen_us_per_request,
    ];
    assert!((softirq - 2.0).abs() < 1e-9 && (stolen - 2.0).abs() < 1e-9);
    assert!(others.iter().all(|arm| arm.machine.is_none()));
}

#[test]
fn identical_blocks_are_judged_as_a_sequential_comparison_in_the_order_they_were_measured() {
    let sequential = judged(&rounds(16, &LADDER)).sequential.unwrap();
    assert_eq!((sequential.n, sequential.windows), (10, 13));
    let mut blocks = rounds(16, &LADDER);
    for block in &mut blocks {
        let drift = 100 + u64::from(block.round);
        block.reading.cpu.server_ns = block.reading.cpu.server_ns.map(|ns| ns * drift / 100);
    }
    blocks.reverse();
    let drifting = judged(&blocks).sequential.unwrap();
    assert_eq!(drifting.declared, drifting.windows);
}

#[test]
fn a_run_without_blocks_is_judged_without_figures() {
    let judgement = judged(&[]);
    assert_eq!(verdicts(&judgement), [Verdict::Invalid; 3]);
    assert!(judgement.steps.iter().all(|step| step.effect.is_none()));
    assert_eq!(
        (judgement.rounds_done, judgement.smallest_visible),
        (0, None)
    );
    assert!(has(&judgement, |doubt| *doubt == Doubt::OneMachine));
}

#[test]
fn a_judgement_survives_being_written_as_json() {
    for count in [0, 1, 2, 9, 16] {
        let run = ladder(2, 16);
        let judgement = judge(&run, &rounds(count, &LADDER));
        let text = serde_json::to_string(&judgement).unwrap();
        let back: Judgement = serde_json::from_str(&text).unwrap();
        assert_eq!(back.steps.len(), judgement.steps.len(), "{count} rounds");
    }
}

#[test]
fn the_smallest_visible_effect_is_that_of_the_control_pairs_at_the_first_error_of_the_family() {
    let blocks = rounds(16, &LADDER);
    let cost = |position: usize, round: usize| {
        let reading = &blocks[4 * round + position].reading;
        reading.server_cpu_us_per_request().unwrap()
    };
    let control_pairs: Vec<f64> = (0..16)
        .map(|round| cost(1, round).ln() - cost(0, round).ln())
        .collect();
    let expected = judge::smallest_visible(&control_pairs, 16, 0.05 / 3.0);
    assert_eq!(judged(&blocks).smallest_visible, expected);
    let is_known = |count| judged(&rounds(count, &LADDER)).smallest_visible.is_some();
    assert_eq!([4, 9, 10].map(is_known), [false, false, true]);
}

#[test]
fn a_step_shows_what_it_does_to_the_client_too() {
    let mut blocks = rounds(16, &LADDER);
    change(&mut blocks, "step-1", |block| {
        block.reading.cpu.client_ns = 500_000_000;
    });
    let step = &judged(&blocks).steps[0];
    let ratio = |effect: Option<model::Effect>| effect.unwrap().ratio;
    assert!((ratio(step.client_cpu) - 2.0).abs() < 1e-9);
    assert!((ratio(step.throughput) - 1.0).abs() < 1e-9);
    assert!((ratio(step.server_cpu) - 0.8).abs() < 0.01);
}
