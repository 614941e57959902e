//! A step that takes a reboot: what is measured in which boot, and what is refused.

use model::judgement::BetweenBoots;
use model::reboot::Boot;
use model::run::Phase;
use study::{Campaign, CampaignError};

use super::{FakeAgent, FakeClock, Folder, Heard, order, resume, run_order};

/// Rounds of the climb, and of the last state in each boot.
const ROUNDS: u32 = 2;
const MITIGATED: &str = "Mitigation: PTI";
const OFF: &str = "mitigations=off";

/// A machine in this boot, whose kernel reports this state of its weakness to Meltdown.
fn booted(boot_id: &str, options: &[&str], meltdown: &str) -> FakeAgent {
    let mut agent = FakeAgent {
        boot: Boot {
            boot_id: boot_id.to_owned(),
            kernel_build: "#1 SMP".to_owned(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        },
        ..FakeAgent::default()
    };
    let weakness = ("meltdown".to_owned(), meltdown.to_owned());
    agent.facts.mitigations = [weakness].into();
    agent
}

fn without_the_step(boot_id: &str) -> FakeAgent {
    booted(boot_id, &[], MITIGATED)
}

fn with_the_step(boot_id: &str) -> FakeAgent {
    booted(boot_id, &[OFF], "Vulnerable")
}

fn climb(agent: &mut FakeAgent, folder: &Folder) -> Result<(), CampaignError> {
    let mut order = order();
    order.study = super::whole_study();
    order.study.design.rounds = ROUNDS;
    order.study.whole.as_mut().unwrap().confirm_rounds = ROUNDS;
    order.reboot = true;
    run_order(agent, folder, order)
}

/// A run that waits for a reboot.
fn waiting(test: &str) -> Folder {
    let folder = Folder::new(test);
    climb(&mut without_the_step("first"), &folder).unwrap();
    folder
}

fn judged(folder: &Folder) -> BetweenBoots {
    let judgement = judge::judge(&folder.record(), &folder.saved());
    judgement.ladder.unwrap().between_boots.unwrap()
}

/// Round and arm of each block of the last state, in order of rounds.
fn measured(folder: &Folder) -> Vec<(u32, String)> {
    let blocks = folder.saved().into_iter();
    let of_boots = blocks.filter(|block| block.phase == Phase::Boot);
    let mut keys: Vec<_> = of_boots.map(|block| (block.round, block.arm)).collect();
    keys.sort();
    keys
}

fn keys(rounds: std::ops::Range<u32>) -> Vec<(u32, String)> {
    let arms = ["last", "last-again"];
    let of_round = |round| arms.map(|arm| (round, arm.to_owned()));
    rounds.flat_map(of_round).collect()
}

/// Resumes a run where that must fail, and returns why. Nothing may be measured or written.
fn refused(folder: &Folder, mut agent: FakeAgent) -> String {
    let before = (folder.record(), folder.saved());
    let error = resume(&mut agent, folder).unwrap_err();
    assert!(matches!(error, CampaignError::Reboot(_)), "{error}");
    assert_eq!(agent.blocks().count(), 0);
    assert_eq!((folder.record(), folder.saved()), before);
    error.to_string()
}

#[test]
fn a_run_ends_waiting_with_the_last_state_measured_twice_in_its_boot() {
    let folder = waiting("reboot-waits");
    let reboot = folder.record().reboot.unwrap();
    assert_eq!(
        (reboot.step.as_str(), reboot.option.as_str()),
        ("mitigations", OFF)
    );
    assert_eq!(reboot.first.boot_id, "first");
    assert_eq!(measured(&folder), keys(0..ROUNDS));
    let last = folder.record().confirmation.unwrap().arms;
    let last = last.into_iter().find(|arm| arm.name == "last").unwrap();
    assert!(reboot.arms.iter().all(|arm| arm.levers == last.levers));
    let judged = judged(&folder);
    assert!(judged.waits && judged.estimate.is_none());
}

#[test]
fn a_boot_in_which_the_step_was_not_taken_is_refused_with_what_was_seen() {
    let folder = waiting("reboot-refused");
    let still = refused(&folder, without_the_step("first"));
    assert!(still.contains("the reboot has not been made"), "{still}");
    assert!(still.contains(&format!("add {OFF}, reboot")), "{still}");
    let without = refused(&folder, without_the_step("second"));
    assert!(
        without.contains("/proc/cmdline has no `mitigations=off`"),
        "{without}"
    );
    assert!(
        without.contains("meltdown says \"Mitigation: PTI\""),
        "{without}"
    );
    let unheeded = refused(&folder, booted("second", &[OFF], MITIGATED));
    assert!(
        unheeded.contains("but the step was not taken: no weakness"),
        "{unheeded}"
    );
}

#[test]
fn a_boot_that_differs_in_more_than_the_step_is_refused_with_what_differs() {
    let folder = waiting("reboot-other");
    let mut newer = with_the_step("second");
    newer.facts.kernel_release = "6.2".to_owned();
    let said = refused(&folder, newer);
    assert!(said.contains("the kernel was  and is now 6.2"), "{said}");
    let mut updated = with_the_step("second");
    updated.boot.kernel_build = "#2 SMP".to_owned();
    let said = refused(&folder, updated);
    assert!(
        said.contains("build was #1 SMP and is now #2 SMP"),
        "{said}"
    );
    let isolated = booted("second", &[OFF, "isolcpus=1"], "Vulnerable");
    let said = refused(&folder, isolated);
    assert!(said.contains("is now `isolcpus=1`"), "{said}");
    let overruled = booted("second", &[OFF, "mitigations=auto"], MITIGATED);
    let said = refused(&folder, overruled);
    assert!(said.contains("is now `mitigations=auto`"), "{said}");
    let half = booted("second", &[], "Mitigation: something else");
    let said = refused(&folder, half);
    assert!(said.contains("meltdown was `Mitigation: PTI`"), "{said}");
}

#[test]
fn an_option_that_overrules_the_step_is_named() {
    let folder = Folder::new("reboot-overruled");
    let auto = "mitigations=auto";
    climb(&mut booted("first", &[auto], MITIGATED), &folder).unwrap();
    let said = refused(&folder, booted("second", &[OFF, auto], MITIGATED));
    let why = "has `mitigations=off`, and after it `mitigations=auto`, which overrules it";
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_boot_with_the_step_is_measured_and_the_two_give_an_estimate() {
    let folder = waiting("reboot-taken");
    let mut agent = with_the_step("second");
    agent.is_costly = |_| true;
    resume(&mut agent, &folder).unwrap();
    assert_eq!(measured(&folder), keys(0..2 * ROUNDS));
    let boots = folder.record().reboot.unwrap().boots;
    let said = |boot: usize| boots[boot].facts.mitigations["meltdown"].as_str();
    assert_eq!((said(0), said(1)), (MITIGATED, "Vulnerable"));
    let estimate = judged(&folder).estimate.unwrap();
    assert_eq!((estimate.without, estimate.with), (1, 1));
    assert!((estimate.ratio - 1.5).abs() < 1e-9, "{estimate:?}");
    assert_eq!((estimate.same_arm_ratio, estimate.interval), (None, None));
    // There is no more to do in the same boot.
    let blocks = folder.saved().len();
    resume(&mut with_the_step("second"), &folder).unwrap();
    assert_eq!(folder.saved().len(), blocks);
}

#[test]
fn each_further_boot_adds_one_to_its_arm() {
    let folder = waiting("reboot-more");
    let mut dear = with_the_step("second");
    dear.is_costly = |_| true;
    resume(&mut dear, &folder).unwrap();
    resume(&mut without_the_step("third"), &folder).unwrap();
    resume(&mut with_the_step("fourth"), &folder).unwrap();
    let estimate = judged(&folder).estimate.unwrap();
    assert_eq!((estimate.without, estimate.with), (2, 2));
    let apart = estimate.same_arm_ratio.unwrap();
    assert!((apart - 1.5).abs() < 1e-9, "{apart}");
    assert!((estimate.ratio - 1.5_f64.sqrt()).abs() < 1e-9);
}

#[test]
fn a_boot_that_broke_off_goes_on_in_itself_and_counts_for_nothing_in_another() {
    let folder = waiting("reboot-broken");
    let broken = |boot: &str| FakeAgent {
        blocks_until_failure: Some(1),
        ..with_the_step(boot)
    };
    assert!(resume(&mut broken("second"), &folder).is_err());
    assert!(!judged(&folder).waits && judged(&folder).estimate.is_none());
    // The power was cut in the second boot.
    resume(&mut with_the_step("third"), &folder).unwrap();
    let estimate = judged(&folder).estimate.unwrap();
    assert_eq!((estimate.without, estimate.with), (1, 1));
    assert!(resume(&mut broken("fourth"), &folder).is_err());
    resume(&mut with_the_step("fourth"), &folder).unwrap();
    assert_eq!(judged(&folder).estimate.unwrap().with, 2);
    let boots = folder.record().reboot.unwrap().boots;
    assert_eq!(boots.len(), 4);
}

#[test]
fn a_climb_that_was_stopped_goes_on_without_the_step_alone() {
    let folder = Folder::new("reboot-early");
    let mut stopped = FakeAgent {
        blocks_until_failure: Some(20),
        ..without_the_step("first")
    };
    assert!(climb(&mut stopped, &folder).is_err());
    let early = refused(&folder, with_the_step("second"));
    assert!(
        early.contains("before the last state was measured"),
        "{early}"
    );
    assert!(early.contains(&format!("take {OFF} out")), "{early}");
    resume(&mut without_the_step("third"), &folder).unwrap();
    let boots = folder.record().reboot.unwrap().boots;
    assert_eq!(boots[0].boot.boot_id, "third");
    assert!(judged(&folder).waits);
}

#[test]
fn what_a_reboot_could_not_change_is_refused_before_anything_is_measured() {
    for (agent, why) in [
        (booted("first", &[], "Not affected"), "would change nothing"),
        (
            with_the_step("first"),
            "was started with `mitigations=off` already",
        ),
        (without_the_step(""), "does not tell one boot from another"),
    ] {
        let folder = Folder::new("reboot-nothing");
        let mut agent = agent;
        let error = climb(&mut agent, &folder).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(!folder.0.exists() && agent.blocks().count() == 0);
    }
}

/// How long a run of a whole ladder is planned to take, ms.
fn forecast_ms(reboot: bool) -> u64 {
    let folder = Folder::new(&format!("reboot-forecast-{reboot}"));
    let mut order = order();
    order.study = super::whole_study();
    order.study.design.rounds = ROUNDS;
    order.study.whole.as_mut().unwrap().confirm_rounds = ROUNDS;
    order.reboot = reboot;
    let mut heard = Heard::default();
    let mut campaign = Campaign {
        agent: &mut without_the_step("first"),
        progress: &mut heard,
        clock: &FakeClock::default(),
    };
    campaign.run(order, &folder.0).unwrap();
    heard.planned_ms
}

#[test]
fn the_forecast_has_the_blocks_of_this_boot() {
    let design = super::whole_study().design;
    let block_ms = u64::from(design.settle_ms + design.score_ms);
    let more_ms = forecast_ms(true) - forecast_ms(false);
    assert!(more_ms >= 2 * u64::from(ROUNDS) * block_ms, "{more_ms} ms");
}

#[test]
fn a_study_without_such_a_step_says_so() {
    let folder = Folder::new("reboot-none");
    let mut order = order();
    order.study = super::whole_study();
    order.study.steps.retain(|step| step.name != "mitigations");
    order.reboot = true;
    let error = run_order(&mut without_the_step("first"), &folder, order).unwrap_err();
    assert!(
        error.to_string().contains("no step of this study"),
        "{error}"
    );
}
