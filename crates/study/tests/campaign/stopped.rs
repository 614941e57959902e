//! Runs that were stopped, and how they go on.

use model::run::{BLOCKS_FILE, Phase, RUN_FILE};
use model::stacks::RunStacks;
use study::CampaignError;

use crate::fake_agent::FakeAgent;
use crate::{Folder, PLANNED, REHEARSED, order, resume, run, run_order};

#[test]
fn a_stopped_run_goes_on_with_the_round_in_which_it_stopped_in_a_new_epoch() {
    let folder = Folder::new("resume");
    // Three blocks of the third round are saved.
    let mut failing = FakeAgent::failing_after(REHEARSED + 19);
    assert!(matches!(
        run(&mut failing, &folder),
        Err(CampaignError::Agent(_))
    ));
    let before = folder.saved();
    assert_eq!(before.len(), 19);
    resume(&mut FakeAgent::default(), &folder).unwrap();
    let after = folder.saved();
    assert_eq!(after.len(), PLANNED);
    assert_eq!(after[..16], before[..16]);
    assert!(after[16..].iter().all(|block| block.epoch == 1));
}

#[test]
fn a_resumed_run_keeps_the_order_that_was_planned() {
    let (whole, stopped) = (Folder::new("order-whole"), Folder::new("order-stopped"));
    run(&mut FakeAgent::default(), &whole).unwrap();
    let mut failing = FakeAgent::failing_after(REHEARSED + 13);
    run(&mut failing, &stopped).unwrap_err();
    resume(&mut FakeAgent::default(), &stopped).unwrap();
    let names = |folder: &Folder| -> Vec<(Phase, u32, String)> {
        folder
            .saved()
            .into_iter()
            .map(|block| (block.phase, block.round, block.arm))
            .collect()
    };
    assert_eq!(names(&whole), names(&stopped));
}

#[test]
fn a_run_that_was_stopped_in_a_round_has_as_many_pairs_as_one_that_was_not() {
    let folder = Folder::new("pairs");
    let mut failing = FakeAgent::failing_after(REHEARSED + 13);
    run(&mut failing, &folder).unwrap_err();
    resume(&mut FakeAgent::default(), &folder).unwrap();
    let record = folder.record();
    let judgement = judge::judge(&record, &folder.saved());
    assert_eq!(judgement.rounds_done, 4);
    let effects = judgement.steps.iter().map(|step| step.server_cpu.as_ref());
    let pairs: Vec<_> = effects
        .map(|effect| effect.map(|effect| effect.n))
        .collect();
    assert!(
        !pairs.is_empty() && pairs.iter().all(|pairs| *pairs == Some(4)),
        "{pairs:?}"
    );
}

#[test]
fn a_run_goes_on_only_with_the_cpu_the_kernel_and_the_version_it_was_begun_with() {
    let folder = Folder::new("another-machine");
    let mut failing = FakeAgent::failing_after(REHEARSED + 13);
    run(&mut failing, &folder).unwrap_err();
    let refused = |agent: &mut FakeAgent| {
        let error = resume(agent, &folder).unwrap_err().to_string();
        assert_eq!(agent.blocks().count(), 0);
        assert!(error.contains("do not mix; resume it"), "{error}");
        error
    };
    let mut another = FakeAgent::default();
    another.facts.kernel_release = "6.2".to_owned();
    assert!(refused(&mut another).contains("kernel 6.2"));
    let path = folder.0.join(RUN_FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    let here = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
    std::fs::write(&path, text.replacen(&here, "\"0.0.7\"", 1)).unwrap();
    assert!(refused(&mut FakeAgent::default()).contains("by Linerate 0.0.7"));
}

#[test]
fn a_run_that_is_done_is_resumed_without_asking_for_a_block() {
    let folder = Folder::new("done");
    run(&mut FakeAgent::default(), &folder).unwrap();
    let mut agent = FakeAgent::default();
    resume(&mut agent, &folder).unwrap();
    assert!(agent.asked.is_empty());
}

#[test]
fn a_run_that_was_stopped_before_its_stacks_were_seen_goes_on_with_them_alone() {
    let folder = Folder::new("stacks");
    let mut order = order();
    order.study.stacks = true;
    run_order(&mut FakeAgent::default(), &folder, order).unwrap();
    let mut record = folder.record();
    record.stacks = Some(RunStacks::to_come());
    let text = serde_json::to_string(&record).unwrap();
    std::fs::write(folder.0.join(RUN_FILE), text).unwrap();
    let mut agent = FakeAgent::default();
    resume(&mut agent, &folder).unwrap();
    assert_eq!(agent.blocks().count(), 0);
    assert_ne!(folder.record().stacks, Some(RunStacks::to_come()));
    assert_eq!(folder.saved().len(), PLANNED);
}

#[test]
fn a_round_that_an_older_version_completed_in_two_epochs_is_not_measured_anew() {
    let folder = Folder::new("two-epochs");
    run(&mut FakeAgent::default(), &folder).unwrap();
    let blocks = folder.0.join(BLOCKS_FILE);
    let text = std::fs::read_to_string(&blocks).unwrap();
    let (begun, rest) = text.split_at(text.match_indices('\n').nth(18).unwrap().0);
    assert!(rest.contains("\"epoch\":0"));
    let rest = rest.replace("\"epoch\":0", "\"epoch\":1");
    std::fs::write(&blocks, format!("{begun}{rest}")).unwrap();
    let mut agent = FakeAgent::default();
    resume(&mut agent, &folder).unwrap();
    assert!(agent.asked.is_empty());
}
