//! Other work while the commands ran: seen over all runs together, and told from the commands' own.

use judge::judge_commands;
use model::command::Meanwhile;
use model::judgement::FactorialJudgement;
use model::run::{ClientHost, ClockComparison};
use model::{CommandRun, Doubt, Facts};

use crate::built_commands::{Questions, run};
use crate::{blocks, has};

const SECOND_NS: u64 = 1_000_000_000;

/// The judgement of a run on two CPUs, where each command had this other work beside it.
fn beside(meanwhile: Meanwhile) -> FactorialJudgement {
    beside_on(|_| (), meanwhile)
}

/// As [`beside`], with a run that is edited before.
fn beside_on(edit: impl FnOnce(&mut CommandRun), meanwhile: Meanwhile) -> FactorialJudgement {
    let mut run = run(
        &[("version", &["a", "b"])],
        Questions::comparing("version"),
        16,
    );
    run.facts.cpus_online = 2;
    edit(&mut run);
    let mut blocks = blocks(&run, |_| 20.0);
    for block in &mut blocks {
        block.reading.meanwhile = Some(meanwhile);
    }
    judge_commands(&run, &blocks)
}

/// A command that has one CPU to itself for the whole of a tenth of a second.
fn alone() -> Meanwhile {
    Meanwhile {
        window_ns: SECOND_NS / 10,
        own_ns: SECOND_NS / 10,
        busy_ns: Some(SECOND_NS / 10),
        psi_some_share: Some(0.9),
    }
}

fn is_other_work(doubt: &Doubt) -> bool {
    matches!(doubt, Doubt::ForeignWork { .. })
}

fn is_pressure(doubt: &Doubt) -> bool {
    matches!(doubt, Doubt::CpuPressure { .. })
}

#[test]
fn the_work_of_others_is_a_doubt_and_so_is_what_waits_for_it() {
    let busy_ns = Some(SECOND_NS / 10 * 2);
    let judgement = beside(Meanwhile { busy_ns, ..alone() });
    assert!(has(&judgement, is_other_work), "{:?}", judgement.doubts);
    assert!(has(&judgement, is_pressure), "{:?}", judgement.doubts);
}

#[test]
fn what_is_said_of_other_work_is_true_of_commands_too() {
    let busy_ns = Some(SECOND_NS / 10 * 2);
    for doubt in beside(Meanwhile { busy_ns, ..alone() }).doubts {
        let said = format!("{}; {}", doubt.what(), doubt.advice());
        assert!(said.contains("wall time"), "{said}");
        assert!(
            !said.contains("request") && !said.contains("avg10"),
            "{said}"
        );
    }
}

#[test]
fn commands_whose_own_processes_wait_for_one_another_raise_no_doubt() {
    assert_eq!(beside(alone()).doubts, []);
}

#[test]
fn others_that_work_and_keep_nobody_waiting_are_no_pressure() {
    let calm = Meanwhile {
        busy_ns: Some(SECOND_NS / 10 * 2),
        psi_some_share: Some(0.01),
        ..alone()
    };
    let judgement = beside(calm);
    assert!(has(&judgement, is_other_work) && !has(&judgement, is_pressure));
}

#[test]
fn a_few_ticks_beside_short_commands_tell_nothing() {
    let short = Meanwhile {
        window_ns: 1_000_000,
        own_ns: 1_000_000,
        busy_ns: Some(10_000_000),
        psi_some_share: Some(0.9),
    };
    assert_eq!(beside(short).doubts, []);
}

#[test]
fn the_server_on_the_other_host_of_one_machine_is_no_stranger_and_cpus_are_those_of_the_clients_host()
 {
    let busy = Meanwhile {
        busy_ns: Some(SECOND_NS / 10 * 2),
        ..alone()
    };
    let on = |same_machine: bool, cpus_online: u32, server: &str| {
        let edit = |run: &mut CommandRun| {
            run.study.workload.server = vec![server.to_owned()];
            run.client = Some(ClientHost {
                facts: Facts {
                    cpus_online,
                    ..Facts::default()
                },
                watched: run.watched.clone(),
                clocks: ClockComparison::default(),
                same_machine,
            });
        };
        beside_on(edit, busy)
    };
    assert!(!has(&on(true, 2, "server"), is_other_work));
    assert!(has(&on(false, 2, "server"), is_other_work));
    assert!(!has(&on(false, 64, "server"), is_other_work));
}
