//! A whole ladder: the climb, what it drops, and the confirmation with servers started again.

use model::run::Phase;
use model::{Ask, BlockRecord, Role};
use study::{Campaign, CampaignError};

use super::{FakeAgent, FakeClock, Folder, Silent, order, resume, run_order};

/// Rounds of the climb and of the confirmation.
const ROUNDS: u32 = 12;

/// Removing the tracking gains nothing; without the neighbour a request costs half again as much.
fn agent() -> FakeAgent {
    FakeAgent {
        is_costly: |target| target.contains("neighbour") && !target.starts_with("without"),
        ..FakeAgent::default()
    }
}

fn climb_whole(agent: &mut FakeAgent, folder: &Folder) -> Result<(), CampaignError> {
    let mut order = order();
    order.study = super::whole_study();
    order.study.design.rounds = ROUNDS;
    order.study.whole.as_mut().unwrap().confirm_rounds = ROUNDS;
    run_order(agent, folder, order)
}

fn confirming(blocks: &[BlockRecord]) -> Vec<&BlockRecord> {
    let is_confirming = |block: &&BlockRecord| block.phase == Phase::Confirmation;
    blocks.iter().filter(is_confirming).collect()
}

#[test]
fn a_step_that_makes_things_worse_is_not_in_the_state_that_is_confirmed() {
    let folder = Folder::new("whole-ladder");
    climb_whole(&mut agent(), &folder).unwrap();
    let confirmation = folder.record().confirmation.unwrap();
    assert_eq!(confirmation.dropped, ["neighbour"]);
    let last = confirmation.arms.iter().find(|arm| arm.role == Role::Last);
    let taps = last
        .unwrap()
        .levers
        .iter()
        .filter(|lever| lever.name == "packet-tap");
    assert_eq!(
        taps.count(),
        1,
        "what the dropped step took away is there again"
    );
    assert!(
        confirmation
            .arms
            .iter()
            .all(|arm| arm.name != "without:neighbour")
    );
}

#[test]
fn each_arm_of_the_confirmation_is_measured_in_every_round_of_a_new_epoch() {
    let folder = Folder::new("whole-epoch");
    climb_whole(&mut agent(), &folder).unwrap();
    let blocks = folder.saved();
    let confirming = confirming(&blocks);
    let arms = folder.record().confirmation.unwrap().arms.len();
    assert_eq!(confirming.len(), arms * ROUNDS as usize);
    assert!(confirming.iter().all(|block| block.epoch == 1));
    let climbed = blocks
        .iter()
        .filter(|block| block.phase != Phase::Confirmation);
    assert!(climbed.map(|block| block.epoch).all(|epoch| epoch == 0));
}

#[test]
fn the_servers_of_the_climb_are_stopped_before_those_of_the_confirmation_start() {
    let folder = Folder::new("whole-anew");
    let mut agent = agent();
    climb_whole(&mut agent, &folder).unwrap();
    let stopped = agent
        .asked
        .iter()
        .rposition(|ask| matches!(ask, Ask::Stop { .. }));
    let is_last = |ask: &Ask| matches!(ask, Ask::Start { target, .. } if target == "last");
    let started = agent.asked.iter().position(is_last);
    assert!(stopped.unwrap() < started.unwrap());
    let stops = agent
        .asked
        .iter()
        .filter(|ask| matches!(ask, Ask::Stop { .. }));
    assert_eq!(stops.count(), folder.record().arms.len());
}

#[test]
fn a_confirmation_that_was_stopped_goes_on_with_the_arms_that_were_settled() {
    let folder = Folder::new("whole-resume");
    climb_whole(&mut agent(), &folder).unwrap();
    let whole = folder.saved();
    let folder = Folder::new("whole-resume-stopped");
    let climb_blocks = whole.len() - confirming(&whole).len();
    let mut failing = FakeAgent {
        // The rehearsal takes twelve blocks.
        blocks_until_failure: Some(12 + climb_blocks + 5),
        ..agent()
    };
    assert!(climb_whole(&mut failing, &folder).is_err());
    // As a version that judges differently would have settled it.
    let mut stopped = folder.record();
    let settled = stopped.confirmation.as_mut().unwrap();
    settled.dropped = vec!["twelve".to_owned()];
    let settled = settled.clone();
    let text = serde_json::to_string(&stopped).unwrap();
    std::fs::write(folder.0.join("run.json"), text).unwrap();
    let mut other = FakeAgent::default();
    resume(&mut other, &folder).unwrap();
    assert_eq!(folder.record().confirmation.unwrap(), settled);
    let key = |block: &BlockRecord| (block.phase, block.round, block.arm.clone());
    let saved = folder.saved();
    assert_eq!(
        saved.iter().map(key).collect::<Vec<_>>(),
        whole.iter().map(key).collect::<Vec<_>>()
    );
    let starts = other
        .asked
        .iter()
        .filter(|ask| matches!(ask, Ask::Start { .. }));
    assert_eq!(
        starts.count(),
        settled.arms.len(),
        "the climb is done, so its servers stay down"
    );
}

#[test]
fn a_plan_puts_the_first_state_on_in_namespaces_of_our_own_and_on_no_whole_machine() {
    for on_host in [false, true] {
        let mut agent = FakeAgent::default();
        let mut order = order();
        order.study = super::whole_study();
        order.on_host = on_host;
        let mut campaign = Campaign {
            agent: &mut agent,
            progress: &mut Silent,
            clock: &FakeClock::default(),
        };
        campaign.plan(order).unwrap();
        let first = agent.asked.iter().find_map(|ask| match ask {
            Ask::Levers { first, .. } => Some(first),
            _ => None,
        });
        assert_eq!(first.unwrap().is_empty(), on_host);
    }
}
