//! Levers set to values that would cut off access or memory, and guards that are kept from their
//! work.

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

/// Values for the sandbox's own network: the test really asks for them.
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

/// Values for the whole machine. The test asks for them with `--dry-run`, so that nothing breaks if
/// one is accepted.
const ABSURD_OF_THE_MACHINE: [&str; 6] = [
    "memory-reserve=16777216",
    "tcp-memory=4096,4096,2147483647",
    "udp-memory=1,1,1",
    "dirty-ratio=100",
    "receive-buffer-limit=2147483647",
    "receive-flow-table=536870912",
];

/// Asks for a value that must be refused, with the range and the worst that it would do.
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

/// Opens a new connection over loopback, and sends 256 KiB each way.
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
fn the_smallest_accepted_values_still_let_a_new_connection_talk() {
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
    // A lever that is no danger stays set.
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
        let worst = format!(
            "at worst {}: {}",
            harm.as_str().unwrap(),
            how.as_str().unwrap()
        );
        assert_says(&shown, &worst);
        let is_shown = shown.contains("on trial: put back after 60 seconds unless confirmed");
        assert_eq!(lever["is_on_trial"], is_shown, "{name}");
        let is_set = matches!(
            lever["scope"].as_str(),
            Some("namespace" | "device" | "host")
        ) && !is_of_programs(&lever);
        let locks_out = matches!(harm.as_str(), Some("memory" | "access"));
        assert!(is_shown || !is_set || !locks_out, "{name}");
    }
}

/// Whether a lever is only explained and never set, or belongs to a program that is started with
/// it.
fn is_of_programs(lever: &Value) -> bool {
    let is_of_one = |bench: &Value| bench == "program";
    let benches = lever["tested_in"].as_array().unwrap();
    lever["sets"].as_array().unwrap().is_empty() || benches.iter().any(is_of_one)
}

/// Prints the `oom_score_adj` of each guard in this network namespace.
const GUARDS: &str = "here=$(readlink /proc/self/ns/net)
for file in $(grep -las 'lever[s].revert' /proc/[0-9]*/cmdline); do
    process=${file%/cmdline}
    [ \"$(readlink $process/ns/net)\" = \"$here\" ] && cat $process/oom_score_adj
done
true";

/// Asks the memory killer to spare this process, and prints what was granted: in a container often
/// nothing.
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

/// Prints what comes to `/dev/log`, in a `/dev` in place of the machine's. A program needs only one
/// of its devices.
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
        assert!(log.wait_for_line(&["ready"]));
        log
    }

    fn text(&self) -> String {
        self.folder.text("log")
    }

    /// Waits for a line with all of these words.
    fn wait_for_line(&self, words: &[&str]) -> bool {
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
    assert!(log.wait_for_line(&warning), "{}", log.text());
    let entry = &sandbox.journal()[0];
    let why = entry["refused"].as_str().unwrap();
    assert!(why.contains(MTU) && why.contains("EROFS"), "{entry}");
    let listing = sandbox.prints(&[program(), "levers", "journal"]);
    assert!(
        listing.contains(refused) && listing.contains("EROFS"),
        "{listing}"
    );
    sandbox.prints(&["mount", "-o", "remount,bind,rw", "/sys"]);
    assert!(sys::clock::wait_until(LONGEST, || sandbox.holds(MTU) == "1500"));
    let notice = ["<29>linerate[", "mtu was put back", "1500 again"];
    assert!(log.wait_for_line(&notice), "{}", log.text());
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

/// Puts a file in the place of a sysctl of the machine.
const PRETEND: &str = "echo 60 > /var/lib/knob && \
                       mount --bind /var/lib/knob /proc/sys/vm/swappiness";

/// Whether a process is the guard that puts back what a study has set.
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
            // `kill` fails if one of them has just ended by itself: that is no error.
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

/// Makes the journal say that the holder of the lever has ended, and that another process now has
/// its number.
const FORGE_OWNER: &str = "
import json
path = '/var/lib/linerate/journal.jsonl'
entry = json.load(open(path))
entry['owner'] = {'pid': 1, 'started_ticks': 1}
entry['change']['lever']['is_held'] = True
json.dump(entry, open(path, 'w'))
open(path, 'a').write('\\n')";

#[test]
fn a_process_with_the_number_of_a_holder_that_has_ended_is_not_taken_for_it() {
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
