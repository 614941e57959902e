//! Machines over SSH: a real sshd each, and what goes wrong with them.

use std::process::{Child, Output, Stdio};

use model::BlockRecord;
use model::run::Rig;

use crate::common::processes::wait_for;
use crate::common::{
    Folder, answer, assert_says, errors, linerate, refusal_of, refused, studies, words,
};
use crate::hosts::site::{Host, Site, runs_with, signal};
use crate::hosts::{assert_two_hosts, blocks, record, write_study};

const RUN: [&str; 8] = [
    "study",
    "run",
    "short.toml",
    "--rig",
    "hosts",
    "--yes",
    "--out",
    "run",
];

/// What a run says that must be refused.
fn refusal(site: &Site) -> String {
    write_study(&site.folder, "", 2);
    let said = refusal_of(&mut site.linerate(&RUN));
    assert!(site.folder.text("run/run.json").is_empty());
    said
}

/// Starts a run whose blocks last, and waits until the first of them is saved.
fn begun(site: &Site) -> Child {
    write_study(&site.folder, "", 1);
    let longer = site
        .folder
        .text("short.toml")
        .replace("score_ms = 60", "score_ms = 1500");
    std::fs::write(site.folder.path().join("short.toml"), longer).unwrap();
    let mut run = site.linerate(&RUN);
    let mut child = run
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("a block is saved", || {
        !site.folder.text("run/blocks.jsonl").is_empty() || child.try_wait().unwrap().is_some()
    });
    child
}

fn output_of(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
    output
}

fn signal_all(name: &str, pids: &[u32]) {
    for pid in pids {
        signal(name, *pid);
    }
}

#[test]
fn a_study_runs_on_two_machines_and_leaves_nothing_there_but_the_program() {
    crate::common::needs_root!();
    let site = Site::new("ssh-whole", Host::Usual);
    write_study(&site.folder, "", 2);
    let known = site.folder.text("known");
    answer(&mut site.linerate(&[&RUN[..], &["--smoke"]].concat()));
    assert_two_hosts(&site.folder, "run", &Rig::Hosts);
    // The hosts have offered their other keys, and by the user's configuration `ssh` would learn
    // them.
    assert_eq!(site.folder.text("known"), known);
    // Our own connection to a host does not count as work of others.
    let record = record(&site.folder, "run");
    let seen = [record.watched, record.client.unwrap().watched];
    assert_eq!(
        seen.map(|watched| watched.foreign_served_connections),
        [0, 0]
    );
    let brought = ["client", "server"].map(|host| site.programs(host));
    for (host, programs) in ["client", "server"].iter().zip(&brought) {
        assert_eq!(programs.len(), 1, "{host}: {programs:?}");
        assert!(programs[0].0.starts_with("linerate-"), "{programs:?}");
        assert_eq!(site.at_work(host), [0; 0], "{host}");
        // The study does not wait for the far ends of its sessions.
        wait_for("its sessions have ended", || site.sessions(host).is_empty());
    }
    // A program that is there and whole is not brought again; one that is not whole is.
    let broken = site.folder.path().join("cache-server/linerate/agents");
    std::fs::write(broken.join(&brought[1][0].0), "cut short").unwrap();
    let again = words("study run short.toml --hosts config/linerate/hosts.toml --smoke --yes");
    answer(&mut site.linerate(&again));
    assert_eq!(site.programs("client"), brought[0]);
    let mended = site.programs("server");
    assert!(
        mended.len() == 1 && mended[0].1 != brought[1][0].1,
        "{mended:?}"
    );
}

#[test]
fn what_a_servers_time_goes_to_is_seen_on_its_machine_while_the_other_loads_it() {
    crate::common::needs_root!();
    let site = Site::new("ssh-stacks", Host::Usual);
    write_study(&site.folder, "stacks = true", 2);
    answer(&mut site.linerate(&RUN));
    let record = record(&site.folder, "run");
    // On a busy machine a burst may find few answers, or few of their calls.
    let demands: Vec<_> = record.demands.iter().map(|it| it.calls).collect();
    assert_eq!(demands.len(), 2);
    let mut known = demands.iter().flatten();
    assert!(known.all(|calls| *calls > 0.1), "{demands:?}");
    let stacks = site.folder.text("run/baseline-one.folded");
    assert_says(&stacks, "sendto_[k]");
}

#[test]
fn a_service_is_started_on_the_servers_machine_and_measured_from_the_clients() {
    crate::common::needs_root!();
    let site = Site::new("ssh-service", Host::Usual);
    let run = ["study", "run", "http-json", "--target", "nginx"];
    let how = ["--rig", "hosts", "--smoke", "--yes", "--out", "run"];
    answer(&mut site.linerate(&[&run[..], &how].concat()));
    let record = record(&site.folder, "run");
    assert_eq!(record.rig, Rig::Hosts);
    assert_eq!(record.service.unwrap().description.name, "nginx");
    let blocks = blocks(&site.folder, "run");
    assert!(blocks.iter().any(|block| block.reading.answered > 0));
    let is_counted = |block: &BlockRecord| block.reading.cpu.server_ns.is_some();
    assert!(blocks.iter().all(is_counted), "{blocks:?}");
    assert_eq!(site.at_work("server"), [0; 0]);
}

#[test]
fn a_machine_whose_key_is_unknown_is_refused_and_not_learnt() {
    crate::common::needs_root!();
    let site = Site::new("ssh-unknown", Host::Usual);
    site.know(&["client", "router"]);
    let known = site.folder.text("known");
    let said = refusal(&site);
    assert_says(&said, "bench-server: no connection");
    assert_says(&said, "Host key verification failed");
    assert_says(&said, "compare the key's fingerprint");
    assert_eq!(site.folder.text("known"), known);
    assert!(site.programs("server").is_empty());
}

#[test]
fn a_machine_of_another_kind_is_refused_before_anything_is_brought_there() {
    crate::common::needs_root!();
    let site = Site::new("ssh-kind", Host::OtherKind);
    let said = refusal(&site);
    assert_says(&said, "bench-server is of another kind (Linux riscv64)");
    assert!(site.programs("server").is_empty());
}

#[test]
fn a_machine_without_room_says_so_and_keeps_no_part() {
    crate::common::needs_root!();
    let site = Site::new("ssh-room", Host::NoRoom);
    let said = refusal(&site);
    assert_says(&said, "bench-server: copying this program there failed");
    assert_says(&said, "No space left on device");
    assert_eq!(site.programs("server"), []);
}

#[test]
fn a_cable_cut_during_a_block_ends_the_targets_and_the_run_can_be_resumed() {
    crate::common::needs_root!();
    let site = Site::new("ssh-cut", Host::Usual);
    let run = begun(&site);
    assert!(
        site.at_work("server").len() > 3,
        "an agent and a target for each arm"
    );
    site.set_cable("server", "down");
    let said = errors(&output_of(run));
    assert_says(&said, "server (bench-server)");
    assert_says(&said, "`linerate study resume run` goes on");
    wait_for("the far agent finds that the line was cut", || {
        site.at_work("server").is_empty()
    });
    let before = site.folder.text("run/blocks.jsonl");
    site.set_cable("server", "up");
    answer(&mut site.linerate(&["study", "resume", "run", "--yes"]));
    let after = site.folder.text("run/blocks.jsonl");
    assert!(after.starts_with(&before), "what was saved stays");
    assert_eq!(blocks(&site.folder, "run").len(), 3);
    assert_eq!(record(&site.folder, "run").rig, Rig::Hosts);
}

/// Seconds that the command of [`LASTING`] sleeps, and those of a process that it leaves beside
/// itself. No other process sleeps for these times.
const SLEEPS: [&str; 2] = ["86399.25", "86399.75"];
/// A command that outlasts every test.
const LASTING: &str = r#"["sh", "-c", "sleep 86399.75 & sleep 86399.25; echo {way}"]"#;

#[test]
fn a_command_under_way_ends_where_its_line_is_cut_or_its_study_killed() {
    crate::common::needs_root!();
    let site = Site::new("ssh-command", Host::Usual);
    let lasting = studies::of_command(LASTING);
    std::fs::write(site.folder.path().join("lasting.toml"), lasting).unwrap();
    let words = words("study run lasting.toml --rig hosts --yes --trust --out run");
    for is_killed in [false, true] {
        let mut run = site.linerate(&words);
        let mut run = run.stderr(Stdio::piped()).spawn().unwrap();
        wait_for("the command runs", || {
            SLEEPS.iter().all(|sleep| runs_with(sleep)) || run.try_wait().unwrap().is_some()
        });
        assert!(
            run.try_wait().unwrap().is_none(),
            "{:?}",
            run.wait_with_output()
        );
        match is_killed {
            true => run.kill().unwrap(),
            false => site.set_cable("client", "down"),
        }
        wait_for("the command has ended, and what it left running", || {
            !SLEEPS.iter().any(|sleep| runs_with(sleep))
        });
        wait_for("its agent has gone", || site.at_work("client").is_empty());
        let said = errors(&run.wait_with_output().unwrap());
        assert!(
            is_killed || said.contains("client (bench-client)"),
            "{said}"
        );
        site.set_cable("client", "up");
    }
}

#[test]
fn a_machine_that_hangs_is_given_up_by_name() {
    crate::common::needs_root!();
    let site = Site::new("ssh-hang", Host::Usual);
    let run = begun(&site);
    let sessions = site.sessions("client");
    assert!(!sessions.is_empty());
    signal_all("STOP", &sessions);
    let said = errors(&output_of(run));
    assert_says(&said, "client (bench-client)");
    assert_says(&said, "`linerate study resume run` goes on");
    // The server's host, which did not hang, was left in order.
    assert_eq!(site.at_work("server"), [0; 0]);
    signal_all("CONT", &sessions);
    wait_for("the machine that hung is left in order too", || {
        site.at_work("client").is_empty()
    });
}

#[test]
fn a_hosts_file_that_is_missing_or_wrong_is_named_with_what_to_write() {
    let folder = Folder::new("ssh-file");
    write_study(&folder, "rig = \"hosts\"", 2);
    let said = |arguments: &[&str]| {
        let run = ["study", "run", "short.toml", "--yes", "--out", "run"];
        let mut command = linerate(&folder, &[&run[..], arguments].concat());
        let output = command.env("XDG_CONFIG_HOME", "/nowhere").output().unwrap();
        refused(&output)
    };
    let none = said(&[]);
    assert_says(&none, "/nowhere/linerate/hosts.toml does not exist");
    assert_says(&none, "[host.client]");
    assert!(said(&["--hosts", "gone.toml"]).contains("gone.toml cannot be read"));
    let two_ways = said(&["--rig", "netns", "--hosts", "gone.toml"]);
    assert_says(&two_ways, "--hosts");
    assert_says(&two_ways, "is `netns`");
    for no_place in ["", "relative"] {
        let run = ["study", "run", "short.toml", "--yes", "--out", "run"];
        let mut command = linerate(&folder, &run);
        command
            .env("XDG_CONFIG_HOME", no_place)
            .env("HOME", "/home/a");
        let said = errors(&command.output().unwrap());
        assert_says(&said, "/home/a/.config/linerate");
    }
    let wrong = "[host.client]\nssh = \"a\"\n[host.server]\nssh = \"b\"\naddress = \"127.0.0.1\"\n";
    std::fs::write(folder.path().join("hosts.toml"), wrong).unwrap();
    let place = said(&["--hosts", "./hosts.toml"]);
    assert_says(&place, "hosts.toml:5:11");
    assert_says(&place, "not loopback");
    assert_eq!(folder.names(""), ["hosts.toml", "short.toml"]);
}
