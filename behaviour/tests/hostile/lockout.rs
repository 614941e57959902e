//! Levers set to values that would cut off access or memory, and guards that are hindered.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::processes::{Ours, offspring};
use crate::common::studies::OF_THE_MACHINE;
use crate::common::{Folder, assert_says, errors, program, words};
use crate::levers::sandbox::Sandbox;

const LONGEST: Duration = Duration::from_secs(60);
const MTU: &str = "/sys/class/net/bench0/mtu";
const RECEIVE_BUFFER: &str = "/proc/sys/net/ipv4/tcp_rmem";

/// Of the sandbox's own network: they are really asked for.
const ABSURD_HERE: [&str; 10] = [
    "tcp-receive-buffer=1,1,1",
    "tcp-receive-buffer=4096,4096,4096",
    "tcp-receive-buffer=4096,131072,2147483647",
    "tcp-send-buffer=1,1,1",
    "local-ports=40000,40010",
    "local-ports=1,65535",
    "local-ports=60000,30000",
    "accept-queue=1",
    "syn-backlog=1",
    "socket-option-memory=2147483647",
];

/// Of the whole machine: with `--dry-run`, so that nothing is lost where one is taken.
const ABSURD_OF_THE_MACHINE: [&str; 6] = [
    "memory-reserve=16777216",
    "tcp-memory=4096,4096,2147483647",
    "udp-memory=1,1,1",
    "dirty-ratio=100",
    "receive-buffer-limit=2147483647",
    "receive-flow-table=536870912",
];

/// Asks for a value that must be refused, with what would come of it.
fn is_refused(sandbox: &Sandbox, asked: &str, flags: &[&str]) {
    let output = sandbox.levers(&[&["apply", asked], flags].concat());
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(2), "{asked}: {said}");
    for wanted in ["cannot be", "; expected ", "(at worst: "] {
        assert!(said.contains(wanted), "{asked}: {said}");
    }
}

#[test]
fn a_value_that_would_lock_its_owner_out_is_refused_with_the_range_and_the_reason() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let before = sandbox.state();
    for asked in ABSURD_HERE {
        is_refused(&sandbox, asked, &[]);
    }
    assert_eq!(sandbox.state(), before);
    assert!(sandbox.journal().is_empty());
    for asked in ABSURD_OF_THE_MACHINE {
        let mut ask = Command::new(program());
        let output = ask.args(["levers", "apply", asked, "--dry-run"]).output();
        let (output, said) = (output.as_ref().unwrap(), errors(output.as_ref().unwrap()));
        assert_eq!(output.status.code(), Some(2), "{asked}: {said}");
        assert!(said.contains("(at worst: "), "{asked}: {said}");
    }
}

#[test]
fn ports_that_are_reserved_do_not_count_as_left() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let ports = "local-ports=20000,25000";
    sandbox.apply(&[ports, "--dry-run"]);
    sandbox.writes("/proc/sys/net/ipv4/ip_local_reserved_ports", "20000-21999");
    is_refused(&sandbox, ports, &[]);
}

/// A connection over loopback that is made now, and 256 KiB each way.
const TALK: &str = "
import socket, threading
def give_and_take(end):
    giver = threading.Thread(target=end.sendall, args=(bytes(262144),))
    giver.start()
    left = 262144
    while left: left -= len(end.recv(left)) or exit('cut off')
    giver.join()
listener = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(listener.getsockname(), timeout=30)
server, _ = listener.accept()
server.settimeout(30)
other = threading.Thread(target=give_and_take, args=(server,))
other.start(); give_and_take(client); other.join()
print('talked')";

#[test]
fn the_least_that_is_taken_still_lets_a_new_connection_talk() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let least = words(
        "tcp-receive-buffer=4096,16384,16384 tcp-send-buffer=4096,16384,16384 accept-queue=16 local-ports=1024,5119",
    );
    for asked in least {
        sandbox.apply(&[asked]);
    }
    assert_eq!(sandbox.prints(&["python3", "-c", TALK]), "talked\n");
    sandbox.undo(&[]);
}

#[test]
fn what_may_cut_off_access_or_memory_goes_back_unless_it_is_confirmed() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let before = sandbox.holds(RECEIVE_BUFFER);
    let set = sandbox.apply(&["tcp-receive-buffer=4096,16384,16384", "--trial", "2"]);
    assert_eq!(set["reverts_after_s"], 2);
    let is_back = || sandbox.holds(RECEIVE_BUFFER) == before;
    assert!(sys::clock::wait_until(LONGEST, is_back));
    assert!(sys::clock::wait_until(LONGEST, || sandbox
        .journal()
        .is_empty()));
    // One that is no danger stays as it is.
    let set = sandbox.apply(&["slow-start-after-idle=0"]);
    assert!(set["reverts_after_s"].is_null(), "{set}");
}

#[test]
fn every_lever_tells_its_worst_case_and_those_that_lock_out_say_that_they_go_back() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    for lever in sandbox.list() {
        let name = lever["name"].as_str().unwrap();
        let (harm, how) = (&lever["worst_case"]["harm"], &lever["worst_case"]["how"]);
        let shown = sandbox.prints(&[program(), "levers", "show", name]);
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let told = format!(
            "at worst {}: {}",
            harm.as_str().unwrap(),
            how.as_str().unwrap()
        );
        assert_says(&shown, &told);
        let is_told = shown.contains("on trial: put back after 60 seconds unless confirmed");
        assert_eq!(lever["is_on_trial"], is_told, "{name}");
        let is_set = matches!(
            lever["scope"].as_str(),
            Some("namespace" | "device" | "host")
        ) && !is_of_programs(&lever);
        let locks_out = matches!(harm.as_str(), Some("memory" | "access"));
        assert!(is_told || !is_set || !locks_out, "{name}");
    }
}

/// Whether it is told and never set, or of a program that is started with it.
fn is_of_programs(lever: &Value) -> bool {
    let is_of_one = |bench: &Value| bench == "program";
    let benches = lever["tested_in"].as_array().unwrap();
    lever["sets"].as_array().unwrap().is_empty() || benches.iter().any(is_of_one)
}

/// What the memory killer thinks of each guard in this network.
const GUARDS: &str = "here=$(readlink /proc/self/ns/net)
for file in $(grep -las 'lever[s].revert' /proc/[0-9]*/cmdline); do
    process=${file%/cmdline}
    [ \"$(readlink $process/ns/net)\" = \"$here\" ] && cat $process/oom_score_adj
done
true";

/// What root may ask of it: in a container often nothing.
const SPARE: &str = "echo -1000 > /proc/self/oom_score_adj; exec cat /proc/self/oom_score_adj";

#[test]
fn the_memory_killer_spares_the_guard_where_root_may_ask_for_that() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let most = sandbox.prints(&["sh", "-c", SPARE]);
    sandbox.apply(&["mtu=1400"]);
    let is_spared = || sandbox.prints(&["sh", "-c", GUARDS]) == most;
    assert!(sys::clock::wait_until(LONGEST, is_spared));
    sandbox.undo(&[]);
}

/// A system log of the sandbox: what is sent to `/dev/log` there, each message on a line.
struct Log {
    _listening: Ours,
    folder: Folder,
}

/// In place of the machine's devices, of which a program needs but one.
const LISTEN: &str = "
import os, socket
assert os.system('mkdir /var/lib/dev && mount --bind /dev /var/lib/dev && mount -t tmpfs none /dev \
    && touch /dev/null && mount --bind /var/lib/dev/null /dev/null') == 0
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind('/dev/log')
print('ready', flush=True)
while True: print(log.recv(65536).decode(), flush=True)";

impl Log {
    fn of(sandbox: &Sandbox, test: &str) -> Self {
        let folder = Folder::new(test);
        let file = File::create(folder.path().join("log")).unwrap();
        let mut listen = sandbox.command(&["python3", "-c", LISTEN]);
        let listening = listen.stdout(Stdio::from(file)).spawn().unwrap();
        let log = Self {
            _listening: Ours(listening),
            folder,
        };
        assert!(log.comes_to_say(&["ready"]));
        log
    }

    fn text(&self) -> String {
        self.folder.text("log")
    }

    /// Waits for a line with all of these.
    fn comes_to_say(&self, words: &[&str]) -> bool {
        let has_all = |line: &str| words.iter().all(|words| line.contains(words));
        sys::clock::wait_until(LONGEST, || self.text().lines().any(has_all))
    }
}

#[test]
fn a_guard_that_cannot_put_back_says_so_in_the_journal_and_the_log_and_goes_on_until_it_can() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let log = Log::of(&sandbox, "lockout-log");
    sandbox.apply(&["mtu=1400", "--trial", "10"]);
    sandbox.prints(&["mount", "-o", "remount,bind,ro", "/sys"]);
    let refused = "could not be put back: ";
    let warning = ["<28>linerate[", "tried again: mtu: ", refused, "EROFS"];
    assert!(log.comes_to_say(&warning), "{}", log.text());
    let entry = &sandbox.journal()[0];
    let why = entry["refused"].as_str().unwrap();
    assert!(why.contains(MTU) && why.contains("EROFS"), "{entry}");
    let told = sandbox.prints(&[program(), "levers", "journal"]);
    assert!(told.contains(refused) && told.contains("EROFS"), "{told}");
    sandbox.prints(&["mount", "-o", "remount,bind,rw", "/sys"]);
    assert!(sys::clock::wait_until(LONGEST, || sandbox.holds(MTU) == "1500"));
    let notice = ["<29>linerate[", "mtu was put back", "1500 again"];
    assert!(log.comes_to_say(&notice), "{}", log.text());
    let warnings = log.text().matches(refused).count();
    assert_eq!(warnings, 1, "the same is said once: {}", log.text());
}

#[test]
fn a_guard_without_any_log_puts_back_all_the_same() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    drop(Log::of(&sandbox, "lockout-no-log"));
    sandbox.prints(&["rm", "/dev/log"]);
    sandbox.apply(&["mtu=1400", "--trial", "1"]);
    assert!(sys::clock::wait_until(LONGEST, || sandbox.holds(MTU) == "1500"));
}

/// The place of a sysctl of the machine is taken by a file.
const PRETEND: &str = "echo 60 > /var/lib/knob && \
                       mount --bind /var/lib/knob /proc/sys/vm/swappiness";

/// Whether a process is the one that is to put back what a study held.
fn is_guard(pid: u32) -> bool {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).contains("revert-after")
}

#[test]
fn what_a_study_holds_of_the_machine_goes_back_when_all_its_processes_are_killed_at_once() {
    crate::common::needs_root!();
    let (sandbox, folder) = (Sandbox::new(), Folder::new("lockout-study"));
    std::fs::write(folder.path().join("host.toml"), OF_THE_MACHINE).unwrap();
    sandbox.prints(&["sh", "-c", PRETEND]);
    let held = || sandbox.holds("/proc/sys/vm/swappiness");
    let study = "cd \"$0\" && exec \"$@\" study run host.toml --host --yes --out run";
    let path = folder.path().to_str().unwrap();
    let mut run = sandbox
        .command(&["sh", "-c", study, path, program()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let is_cut = || {
        let is_set = held() == "10" && folder.text("run/blocks.jsonl").lines().count() > 0;
        if is_set {
            let mut all = offspring(run.id());
            all.retain(|pid| !is_guard(*pid));
            all.insert(0, run.id());
            // One that has ended by itself meanwhile is none to kill.
            let all = all.iter().map(ToString::to_string);
            let _ = Command::new("kill").arg("-9").args(all).status();
        }
        is_set
    };
    assert!(sys::clock::wait_until(LONGEST, is_cut));
    run.wait().unwrap();
    assert!(sys::clock::wait_until(LONGEST, || held() == "60"));
    assert!(sys::clock::wait_until(LONGEST, || sandbox
        .journal()
        .is_empty()));
}

/// Has the journal say that what was set is held by a process that has ended, whose number is another's.
const FORGE_OWNER: &str = "
import json
path = '/var/lib/linerate/journal.jsonl'
entry = json.load(open(path))
entry['owner'] = {'pid': 1, 'started_ticks': 1}
entry['change']['lever']['is_held'] = True
json.dump(entry, open(path, 'w'))
open(path, 'a').write('\\n')";

#[test]
fn who_waits_for_the_end_of_a_holder_takes_no_other_process_of_its_number_for_it() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    sandbox.apply(&["slow-start-after-idle=0"]);
    sandbox.prints(&["python3", "-c", FORGE_OWNER]);
    // The first process of a machine does not end.
    sandbox.prints(&["timeout", "30", program(), "levers", "revert-after", "1"]);
    assert_eq!(
        sandbox.holds("/proc/sys/net/ipv4/tcp_slow_start_after_idle"),
        "1"
    );
    assert!(sandbox.journal().is_empty());
}
