//! Runs that may end at planned looks, before their last round.

use model::Ask;
use model::gate::{GateDesign, Unit};
use study::CampaignError;

use crate::fake_agent::FakeAgent;
use crate::{Folder, order, resume, run_order};

/// Runs up to forty rounds, with looks after 16, 24, 36 and 40.
fn with_looks(agent: &mut FakeAgent, folder: &Folder) -> Result<(), CampaignError> {
    let mut order = order();
    order.study.design.rounds = 40;
    order.study.design.looks = judge::looks::planned(40);
    run_order(agent, folder, order)
}

#[test]
fn a_run_ends_its_rounds_at_the_look_at_which_all_is_clear_and_measures_latency_all_the_same() {
    let folder = Folder::new("looks");
    with_looks(&mut FakeAgent::default(), &folder).unwrap();
    assert_eq!(folder.saved().len(), 16 * 8 + 6 * 2);
    let mut agent = FakeAgent::default();
    resume(&mut agent, &folder).unwrap();
    assert!(agent.asked.is_empty(), "nothing is left to measure");
}

#[test]
fn a_run_whose_control_differs_is_never_clear_and_goes_on_to_the_last_round() {
    let folder = Folder::new("looks-in-vain");
    let mut agent = FakeAgent {
        is_costly: |target| target == "control",
        ..FakeAgent::default()
    };
    with_looks(&mut agent, &folder).unwrap();
    assert_eq!(folder.saved().len(), 40 * 8 + 6 * 2);
}

#[test]
fn a_run_that_was_stopped_before_its_first_look_and_resumed_also_ends_at_that_look() {
    let folder = Folder::new("looks-resumed");
    let mut failing = FakeAgent::failing_after(12 + 100);
    with_looks(&mut failing, &folder).unwrap_err();
    resume(&mut FakeAgent::default(), &folder).unwrap();
    assert_eq!(folder.saved().len(), 16 * 8 + 6 * 2);
}

#[test]
fn a_gate_ends_with_the_round_in_which_its_time_is_over_and_starts_another_arm_first_in_each() {
    let folder = Folder::new("gate-in-time");
    let mut agent = FakeAgent {
        is_costly: |target| target == "control",
        ..FakeAgent::default()
    };
    let mut order = order();
    order.study.latency = None;
    order.study.gate = Some(GateDesign {
        bar: 0.03,
        unit: Unit::Request,
        most_ms: 120_000,
        builds: 2,
    });
    run_order(&mut agent, &folder, order).unwrap();
    let (blocks, record) = (folder.saved(), folder.record());
    let rounds = blocks.last().unwrap().round + 1;
    assert!(
        (16..record.study.design.rounds).contains(&rounds),
        "{rounds}"
    );
    let judged = judge::judge(&record, &blocks);
    assert_eq!(
        (judged.rounds_done, judged.rounds_planned),
        (rounds, rounds)
    );
    let started = agent.asked.iter().filter_map(|ask| match ask {
        Ask::Start { target, .. } => Some(target.as_str()),
        _ => None,
    });
    let firsts: Vec<&str> = started.step_by(record.arms.len()).collect();
    assert_eq!(
        u32::try_from(firsts.len()).unwrap(),
        1 + rounds,
        "those of round 0 are new too"
    );
    assert_ne!(firsts[1], firsts[2], "{firsts:?}");
}
