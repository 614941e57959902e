//! Services that are started by name: they keep running, are found again, and end completely.

use std::fs::{self, File};
use std::net::{Shutdown, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::processes::{is_alive, signal};
use crate::common::{answer, assert_says, errors, refusal_of, words};
use crate::service::bench::Bench;

const START: &str = "exec linerate serve --workers 1 --listen 127.0.0.1:{port}";
/// The server as a child and a grandchild, and one process that got away from both.
const FAMILY: &str =
    "linerate serve --listen 127.0.0.1:{port} & setsid sh -c 'sleep 600 & sleep 600' & wait";
/// A service that writes down the process id of its server, and fails when that server ends.
const MORTAL: &str = "echo out of luck >&2; linerate serve --listen 127.0.0.1:{port} & \
                      echo $! > pid; wait; exit 7";

/// Kills the server of a service that is [`MORTAL`].
fn kill_server(bench: &Bench) {
    let folder = bench.0.names("tmp").remove(0);
    let pid = || bench.0.text(&format!("tmp/{folder}/pid"));
    // The service may be ready before its shell has written the file.
    let is_written = || pid().ends_with('\n');
    assert!(sys::clock::wait_until(Duration::from_secs(20), is_written));
    signal("KILL", pid().trim());
}

/// The keeper of the service that process `pid` has started.
fn keeper_of(pid: u64) -> String {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let [keeper] = children.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{pid} has the children {children}");
    };
    keeper.to_owned()
}

fn pid_of(ready: &Value) -> u64 {
    ready["pid"].as_u64().unwrap()
}

fn end_of(stays: Child) -> (Option<i32>, String) {
    let output = stays.wait_with_output().unwrap();
    (output.status.code(), errors(&output))
}

#[test]
fn ctrl_c_ends_a_service_with_all_that_it_started() {
    let bench = Bench::with_fake("family", START, FAMILY);
    let stays = bench.start_and_stay();
    assert!(
        bench.wait_until(|| bench.processes().len() >= 5),
        "{:?}",
        bench.processes()
    );
    signal("INT", stays.id());
    assert_eq!(end_of(stays), (Some(0), String::new()));
    assert_eq!(bench.processes(), [0; 0]);
    bench.assert_nothing_is_left();
    assert!(bench.running().is_empty());
}

#[test]
fn a_service_finds_nothing_of_our_environment_but_its_path() {
    let tells = "tr '\\\\0' '\\\\n' </proc/$$/environ >told; exec linerate serve --workers 1 \
                 --listen 127.0.0.1:{port}";
    let bench = Bench::with_fake("environment", START, tells);
    let start = ["service", "start", "fake", "--trust", "--detach"];
    let mut start = bench.linerate(&start);
    answer(start.env("DATABASE_PASSWORD", "secret"));
    let folder = bench.0.names("tmp").remove(0);
    let told = bench.0.text(&format!("tmp/{folder}/told"));
    let mut names: Vec<&str> = told
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "PATH", "TMPDIR"], "{told}");
    let places = told.lines().filter(|line| !line.starts_with("PATH="));
    for place in places {
        assert!(place.ends_with(&folder), "{place}");
    }
    assert_eq!(bench.stop("fake"), "ended");
}

#[test]
fn a_service_whose_starter_is_killed_goes_with_all_that_it_started() {
    let bench = Bench::with_fake("starter-killed", START, FAMILY);
    let ready = bench.start("fake");
    signal("KILL", pid_of(&ready));
    bench.assert_all_goes();
    assert!(bench.running().is_empty());
    bench.start("fake");
    assert_eq!(bench.stop("fake"), "ended");
}

#[test]
fn a_service_whose_keeper_is_killed_goes_and_its_starter_says_so() {
    let bench = Bench::with_fake("keeper-killed", START, FAMILY);
    let stays = bench.start_and_stay();
    signal("KILL", keeper_of(stays.id().into()));
    let (code, words) = end_of(stays);
    assert_eq!(code, Some(2), "{words}");
    assert_says(
        &words,
        "the process that keeps Fake ended without a message",
    );
    bench.assert_all_goes();
}

#[test]
fn a_service_left_by_a_crash_of_all_its_owners_is_found_and_cleared() {
    for clears_by_stop in [true, false] {
        let bench = Bench::with_fake("crash", START, FAMILY);
        let ready = bench.start("fake");
        let starter = pid_of(&ready);
        let keeper = keeper_of(starter);
        // The keeper is stopped first, so that neither can react to the end of the other.
        for (how, pid) in [
            ("STOP", &keeper),
            ("KILL", &starter.to_string()),
            ("KILL", &keeper),
        ] {
            signal(how, pid);
        }
        // On a busy machine a process that was killed still exists for a while.
        let both_ended = || !is_alive(starter) && !is_alive(&keeper);
        assert!(sys::clock::wait_until(Duration::from_secs(30), both_ended));
        assert!(!bench.0.names("tmp").is_empty());
        if clears_by_stop {
            assert_eq!(bench.stop("fake"), "cleared");
        } else {
            assert!(bench.running().is_empty());
        }
        bench.assert_all_goes();
    }
}

#[test]
fn a_start_in_the_background_that_is_broken_off_leaves_nothing() {
    let slow = "[[prepare]]\ncommand = [\"sleep\", \"600\"]\nwithin_ms = 600000\n[start]";
    for (how, code, said) in [
        (
            "TERM",
            Some(143),
            "stopped by SIGTERM before Fake was ready",
        ),
        ("KILL", None, ""),
    ] {
        let bench = Bench::with_fake("broken-off", "[start]", slow);
        let start = ["service", "start", "fake", "--trust", "--detach"];
        let mut start = bench.linerate(&start);
        start.stdout(Stdio::null()).stderr(Stdio::piped());
        let start = start.spawn().unwrap();
        assert!(bench.wait_until(|| !bench.processes().is_empty()));
        signal(how, start.id());
        let (ended, words) = end_of(start);
        assert_eq!(ended, code, "{words}");
        assert_says(&words, said);
        bench.assert_all_goes();
        let entries = || bench.0.names("runtime/linerate/services");
        assert!(bench.wait_until(|| entries().is_empty()), "{:?}", entries());
    }
}

#[test]
fn a_service_in_the_background_ends_when_nobody_can_be_told_of_it() {
    let bench = Bench::with_fake("untold", "fake/1.0", "fake/1.0");
    let start = words("service start fake --trust --json --unattended");
    let mut start = bench.linerate(&start);
    // The other end is shut down and not only closed: a process that another test is just starting
    // may still hold it open.
    let (gone, its) = UnixStream::pair().unwrap();
    gone.shutdown(Shutdown::Both).unwrap();
    start.stdout(OwnedFd::from(its)).stderr(Stdio::piped());
    let mut stays = start.spawn().unwrap();
    let over = bench.wait_until(|| stays.try_wait().unwrap().is_some());
    if !over {
        signal("TERM", stays.id());
    }
    let (code, words) = end_of(stays);
    assert!(over, "it stays");
    assert_eq!(code, Some(2));
    assert_says(&words, "nobody is there to be told");
    bench.assert_nothing_is_left();
}

#[test]
fn a_service_that_dies_in_the_foreground_is_told_with_its_log() {
    let bench = Bench::with_fake("dies-alone", START, MORTAL);
    let stays = bench.start_and_stay();
    kill_server(&bench);
    let (code, words) = end_of(stays);
    assert_eq!(code, Some(2), "{words}");
    for expected in ["Fake ended unexpectedly: exit status: 7", "out of luck"] {
        assert_says(&words, expected);
    }
    bench.assert_nothing_is_left();
}

#[test]
fn a_service_that_dies_in_the_background_is_told_of_by_the_list_until_it_is_stopped() {
    let bench = Bench::with_fake("dies-unseen", START, MORTAL);
    bench.start("fake");
    kill_server(&bench);
    let list = || crate::common::answer(&mut bench.linerate(&["service", "list"]));
    let told = bench.wait_until(|| list().contains("Fake ended unasked"));
    assert!(told && list().contains("out of luck"), "{}", list());
    assert!(bench.running().is_empty());
    bench.assert_all_goes();
    assert_eq!(bench.stop("fake"), "failed");
    assert!(!list().contains("unasked"), "{}", list());
}

#[test]
fn a_service_that_runs_is_not_started_again_and_one_that_does_not_is_not_stopped() {
    let bench = Bench::with_fake("twice", "fake/1.0", "fake/1.0");
    let stop = || {
        bench
            .linerate(&["service", "stop", "fake"])
            .output()
            .unwrap()
    };
    let none = errors(&stop());
    assert_says(&none, "no service `fake` was started here; none is running");
    let ready = bench.start("fake");
    let again = ["service", "start", "fake", "--trust", "--detach"];
    let said = refusal_of(&mut bench.linerate(&again));
    let at = format!(
        "`fake` runs already on {}",
        ready["address"].as_str().unwrap()
    );
    assert_says(&said, &at);
    assert_says(&said, "linerate service stop fake");
    assert!(stop().status.success());
    bench.assert_nothing_is_left();
}

/// The message with which `service stop` refuses this name.
fn refusal(bench: &Bench, name: &str) -> String {
    refusal_of(&mut bench.linerate(&["service", "stop", name]))
}

#[test]
fn a_name_that_leads_to_a_file_elsewhere_is_refused_and_the_file_stays() {
    let bench = Bench::new("astray");
    assert!(bench.running().is_empty());
    let file = bench.0.path().join("precious.json");
    fs::write(&file, "{}").unwrap();
    let absolute = bench.0.path().join("precious").display().to_string();
    for name in [&absolute, "../../../precious", "", "."] {
        let words = refusal(&bench, name);
        assert_says(&words, "is not the name of a service");
        assert_eq!(bench.0.text("precious.json"), "{}");
    }
}

/// While somebody looks at a starter's entry, the starter may have ended and its process id may
/// have gone to another process.
#[test]
fn a_process_that_has_only_the_number_of_a_starter_is_not_told_to_end() {
    let bench = Bench::new("number");
    assert!(bench.running().is_empty());
    let mut other = Command::new("sleep").arg("600").spawn().unwrap();
    let entry = json!({
        "name": "fake", "title": "Fake", "version": "1.0", "pid": other.id(), "started_ticks": 1,
        "folder": bench.0.path().join("tmp/none"), "address": null, "socket": null, "grace_ms": 1,
    });
    let file = bench.0.path().join("runtime/linerate/services/fake.json");
    fs::write(&file, entry.to_string()).unwrap();
    let looks = File::open(&file).unwrap();
    looks.lock().unwrap();
    let words = refusal(&bench, "fake");
    drop(looks);
    let outcome = bench.stop("fake");
    let survived = other.try_wait().unwrap().is_none();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(survived, "it was told to end");
    assert_says(&words, "another program is using it");
    assert_eq!(outcome, "cleared");
}

#[test]
fn a_port_in_use_is_named_with_what_to_do() {
    let bench = Bench::with_fake("port", "fake/1.0", "fake/1.0");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let start = ["service", "start", "fake", "--trust", "--port", &port];
    let words = refusal_of(&mut bench.linerate(&start));
    assert_says(&words, &format!("Fake cannot have 127.0.0.1:{port}"));
    assert_says(&words, "leave --port out");
    bench.assert_nothing_is_left();
    drop(taken);
    let start = [&start[..], &["--detach", "--json"]].concat();
    let ready = crate::common::answer(&mut bench.linerate(&start));
    let ready: Value = serde_json::from_str(&ready).unwrap();
    assert_eq!(ready["port"].to_string(), port);
    bench.stop("fake");
}

#[test]
fn workers_and_cpus_reach_the_service() {
    let told = "echo {workers} on {cpus} >told; exec linerate serve --listen 127.0.0.1:{port}";
    let bench = Bench::with_fake("workers", START, told);
    let start = words("service start fake --trust --detach --workers 3 --cpus 0");
    crate::common::answer(&mut bench.linerate(&start));
    let folder = bench.0.names("tmp").remove(0);
    assert_eq!(bench.0.text(&format!("tmp/{folder}/told")), "3 on 0\n");
    bench.stop("fake");
    bench.assert_nothing_is_left();
}

#[test]
fn a_service_of_an_ordinary_user_is_started_and_stopped_by_him() {
    let bench = Bench::with_fake("user", "fake/1.0", "fake/1.0");
    let start = ["service", "start", "fake", "--trust", "--detach"];
    crate::common::answer(&mut bench.linerate_as_nobody(&start));
    crate::common::answer(&mut bench.linerate_as_nobody(&["service", "stop", "fake"]));
    bench.assert_nothing_is_left();
    assert_eq!(bench.processes(), [0; 0]);
}

/// The score of a process, by which the kernel's memory killer chooses.
fn score_of(pid: &str) -> String {
    fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap()
}

/// Spares its own process as root may spare a keeper, and prints the score that it has then. Unlike
/// `oom_score_adj`, this older file leaves the minimum unchanged that processes without privilege
/// may set for themselves.
const SPARE: &str = "echo -17 > /proc/self/oom_adj; exec cat /proc/self/oom_score_adj";

#[test]
fn the_memory_killer_spares_the_keeper_of_a_service_where_root_may_ask_for_that_and_not_the_service()
 {
    let bench = Bench::with_fake("spared", START, FAMILY);
    let stays = bench.start_and_stay();
    let most = Command::new("sh").args(["-c", SPARE]).output().unwrap();
    let keeper = keeper_of(stays.id().into());
    let is_spared = || score_of(&keeper).as_bytes() == most.stdout;
    assert!(bench.wait_until(is_spared), "{}", score_of(&keeper));
    let services = fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children")).unwrap();
    for service in services.split_whitespace() {
        assert_eq!(score_of(service), score_of("self"), "{service}");
    }
    signal("INT", stays.id());
    assert_eq!(end_of(stays), (Some(0), String::new()));
}
