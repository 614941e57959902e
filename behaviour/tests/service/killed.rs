//! Services and runs that end unexpectedly.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use model::run::Blocks;

use crate::common::processes::{children, signal, signal_all};
use crate::common::{answer, assert_says, refused};
use crate::service::bench::{Bench, RUN_FAKE};

const START: &str = "exec linerate serve";
/// The service writes its process number into its own folder, so that it can be found and killed.
const NUMBERED: &str = "echo $$ > pid; exec linerate serve";
/// A service like nginx: a master that waits for its worker. The worker outlives the master unless
/// somebody ends it.
const FAMILY: &str = "echo $$ > pid; linerate serve --listen 127.0.0.1:{port} & wait";
const LONGEST: Duration = Duration::from_secs(60);

fn saved_blocks(bench: &Bench) -> usize {
    let text = bench.0.text("run/blocks.jsonl");
    <Blocks>::parse(&text).unwrap().records.len()
}

/// Waits until a run has saved its first block.
fn await_first_block(run: &mut Child, bench: &Bench) {
    let saved = sys::clock::wait_until(LONGEST, || {
        saved_blocks(bench) > 0 || run.try_wait().unwrap().is_some()
    });
    assert!(saved, "no block within {LONGEST:?}");
}

/// The process numbers of the services that are up.
fn services(bench: &Bench) -> Vec<String> {
    let folders = bench.0.names("tmp");
    let numbers = folders
        .iter()
        .map(|folder| bench.0.text(&format!("tmp/{folder}/pid")));
    numbers
        .map(|number| number.trim().to_owned())
        .filter(|number| !number.is_empty())
        .collect()
}

fn is_there(pid: &str) -> bool {
    std::path::Path::new("/proc").join(pid).exists()
}

fn start(bench: &Bench) -> Child {
    let mut command = bench.linerate(&RUN_FAKE);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_service_that_dies_in_the_midst_ends_the_run_which_can_go_on() {
    let bench = Bench::with_fake("dies", START, NUMBERED);
    let mut run = start(&bench);
    await_first_block(&mut run, &bench);
    let services = services(&bench);
    assert_eq!(services.len(), 6, "{services:?}");
    let killed = Command::new("kill").arg("-9").args(&services).status();
    assert!(killed.unwrap().success());
    let output = run.wait_with_output().unwrap();
    let words = refused(&output);
    assert_says(&words, "Fake ended unexpectedly: signal: 9");
    assert_says(&words, "linerate study resume run");
    bench.assert_nothing_is_left();
    let kept = saved_blocks(&bench);
    assert!(kept > 0);
    answer(&mut bench.linerate(&["study", "resume", "run", "--yes", "--trust"]));
    assert!(saved_blocks(&bench) > kept, "it went on");
    bench.assert_nothing_is_left();
}

/// Here the run's own process is killed; in the next test, the agent that does its work.
#[test]
fn the_services_of_a_run_that_is_killed_end_and_leave_nothing() {
    let bench = Bench::with_fake("run-killed", START, NUMBERED);
    let mut run = start(&bench);
    await_first_block(&mut run, &bench);
    let services = services(&bench);
    assert!(!services.is_empty());
    run.kill().unwrap();
    run.wait().unwrap();
    let gone = sys::clock::wait_until(LONGEST, || {
        bench.0.names("tmp").is_empty() && !services.iter().any(|pid| is_there(pid))
    });
    assert!(gone, "{:?} and {services:?}", bench.0.names("tmp"));
}

#[test]
fn the_services_of_an_agent_that_is_killed_end_with_their_workers_and_leave_nothing() {
    let worker = "exec linerate serve --workers 1 --listen 127.0.0.1:{port}";
    let bench = Bench::with_fake("agent-killed", worker, FAMILY);
    let mut run = start(&bench);
    await_first_block(&mut run, &bench);
    assert!(bench.processes().len() >= 12, "{:?}", bench.processes());
    let agent = children(run.id()).remove(0);
    signal("KILL", agent);
    assert_eq!(run.wait_with_output().unwrap().status.code(), Some(2));
    bench.assert_all_goes();
}

/// The keepers, which would have seen the agent's end, are killed with it. What they leave is found
/// by the next command that looks.
#[test]
fn what_an_agent_and_its_keepers_leave_when_killed_together_goes_with_the_next_look() {
    let worker = "exec linerate serve --workers 1 --listen 127.0.0.1:{port}";
    let bench = Bench::with_fake("all-killed", worker, FAMILY);
    let mut run = start(&bench);
    await_first_block(&mut run, &bench);
    let agent = children(run.id()).remove(0);
    let keepers = children(agent);
    assert!(keepers.len() >= 6, "{keepers:?}");
    // In the middle of a block the agent does not look at its keepers.
    signal_all("KILL", &[keepers, vec![agent]].concat());
    assert_eq!(run.wait_with_output().unwrap().status.code(), Some(2));
    let left = bench.processes();
    assert!(!left.is_empty() && !bench.0.names("tmp").is_empty());
    answer(&mut bench.linerate(&["service", "list"]));
    assert_eq!(bench.processes(), [0; 0], "of {left:?}");
    bench.assert_nothing_is_left();
    assert_eq!(bench.0.names("runtime/linerate/study-services"), [""; 0]);
}

#[test]
fn a_study_ends_where_what_a_crash_leaves_of_its_services_could_not_be_found_again() {
    let bench = Bench::with_fake("unentered", START, START);
    std::fs::write(bench.0.path().join("runtime/linerate"), "").unwrap();
    let output = bench.run_fake();
    let words = refused(&output);
    assert!(
        words.contains("/linerate: it is no folder") && words.contains("yours alone")
            || words.contains("make it a folder that belongs to root"),
        "{words}"
    );
    bench.assert_nothing_is_left();
}

#[test]
fn an_ordinary_users_services_are_entered_in_a_folder_of_his_also_where_he_is_root_of_a_rig() {
    let bench = Bench::with_fake("entered", START, START);
    let mut run = bench.linerate_as_nobody(&RUN_FAKE);
    answer(run.env_remove("XDG_RUNTIME_DIR"));
    let folders = bench.0.names("tmp");
    let [folder] = folders.as_slice() else {
        panic!("{folders:?}");
    };
    assert!(folder.starts_with("linerate-") && folder != "linerate-0");
    assert_eq!(bench.0.names(&format!("tmp/{folder}")), ["study-services"]);
}
