//! Levers of a program: the kernel shows that the program has them, and they end with it.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::groups;
use crate::common::processes::line_of;
use crate::common::{Folder, answer, assert_says, errors, refusal_of, refused};
use crate::levers::sandbox::Sandbox;

/// A copy of Linerate that a program which has become `nobody` can run, to report its own levers.
fn ours(folder: &Folder) -> String {
    // Copies the program and gives the folder to `nobody`.
    drop(linerate_as_nobody(folder, &[]));
    folder.path().join("linerate").display().to_string()
}

/// `linerate levers run … -- …` by the user who runs the tests.
fn run(folder: &Folder, levers: &[&str], words: &[&str]) -> Command {
    let mut command = Command::new(ours(folder));
    command.args(["levers", "run"]).args(levers).arg("--");
    command.args(words).stdin(Stdio::null());
    command
}

fn run_shell(folder: &Folder, levers: &[&str], script: &str) -> Output {
    run(folder, levers, &["sh", "-c", script]).output().unwrap()
}

/// The value of the lever as `levers status` finds it in its own process; `command` starts it.
fn found(command: &mut Command) -> String {
    let status: Value = serde_json::from_str(&answer(command)).unwrap();
    status["levers"][0]["now"].as_str().unwrap().to_owned()
}

#[test]
fn a_program_has_what_it_was_given_and_by_hand_it_comes_out_the_same() {
    let folder = Folder::new("levers-of-a-program");
    let ours = ours(&folder);
    let python = |call: &str| {
        format!(
            "python3 -c 'import ctypes, os, sys; ctypes.CDLL(None).prctl({call}); \
             os.execvp(sys.argv[1], sys.argv[1:])'"
        )
    };
    let nicer = (sys::scheduling::nice_of(0).unwrap() + 2).to_string();
    for (lever, value, by_hand) in [
        ("scheduler", "batch", "chrt --batch 0"),
        ("scheduler", "idle", "chrt --idle 0"),
        // By hand, the value is added to that of the caller.
        ("nice", &nicer, "nice -n 2"),
        ("cpu-affinity", "0", "taskset --cpu-list 0"),
        ("open-files", "1000", "prlimit --nofile=1000"),
        ("timer-slack", "1us", &python("29, 1000, 0, 0, 0")),
        ("program-huge-pages", "disabled", &python("41, 1, 0, 0, 0")),
    ] {
        let tell = [&ours, "levers", "status", lever, "--json"];
        let set = format!("{lever}={value}");
        let given = found(&mut run(&folder, &[&set], &tell));
        // A time slice, which the kernel reports too, may follow a colon.
        assert_eq!(given.split(':').next(), Some(value), "{set}");
        let script = format!("exec {by_hand} {}", tell.join(" "));
        let same = found(Command::new("sh").args(["-c", &script]));
        assert_eq!(given, same, "{lever} by `{by_hand}`");
    }
}

#[test]
fn a_program_of_root_is_real_time_and_yet_an_ordinary_user() {
    crate::common::needs_root!();
    let folder = Folder::new("levers-real-time");
    let levers = ["scheduler=fifo:10", "timer-slack=1us"];
    let output = run_shell(&folder, &levers, "chrt --pid $$; id -u; exit 7");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_says(&said, "SCHED_FIFO");
    assert_says(&said, "priority: 10");
    assert!(said.ends_with("\n65534\n"), "{said}");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn an_ordinary_user_is_refused_by_name_before_the_program_starts() {
    let folder = Folder::new("levers-program-refused");
    for (lever, why) in [
        (
            "scheduler=fifo:1",
            "Operation not permitted (EPERM); fifo and rr take root",
        ),
        (
            "nice=-20",
            "Permission denied (EACCES); a lower value than now takes root",
        ),
        (
            "open-files=1073741824",
            "Operation not permitted (EPERM); raising the upper limit",
        ),
        (
            "cpu-weight=200",
            "Permission denied (EACCES); only root may make groups",
        ),
        // Where there is no idle driver, the refusal names that first.
        ("cpu-dma-latency=20us", "it takes root"),
    ] {
        let words = ["levers", "run", lever, "--", "touch", "started"];
        let said = refusal_of(&mut linerate_as_nobody(&folder, &words));
        let name = lever.split('=').next().unwrap();
        assert!(said.contains(name) && said.contains(why), "{said}");
        assert!(!folder.path().join("started").exists(), "{lever}");
    }
}

#[test]
fn what_is_no_lever_of_a_program_is_told_before_it_starts() {
    let folder = Folder::new("levers-program-wrong");
    for (levers, why) in [
        (
            vec!["swappiness=1"],
            "swappiness belongs to the host, not to a program",
        ),
        (vec!["nice"], "give nice=VALUE with a number from -20 to 19"),
        (
            vec!["nice=20"],
            "nice cannot be `20`; expected a number from -20 to 19",
        ),
        (vec!["nice=1", "nice=2"], "nice was given twice"),
        (vec!["nicer=1"], "did you mean `nice`?"),
    ] {
        let output = run_shell(&folder, &levers, "echo started");
        let said = refused(&output);
        assert_says(&said, why);
    }
    let mut command = run(&folder, &["nice=19"], &["no-such-program"]);
    let said = errors(&command.env("PATH", "/usr/bin:/bin").output().unwrap());
    assert_says(&said, "there is no program `no-such-program`");
    let output = Command::new(ours(&folder))
        .args(["levers", "apply", "nice=1"])
        .output();
    let said = errors(&output.unwrap());
    assert_says(&said, "linerate levers run nice=VALUE -- CMD");
}

#[test]
fn a_program_that_dies_of_a_signal_ends_linerate_by_the_same_signal() {
    let folder = Folder::new("levers-program-signal");
    let output = run_shell(&folder, &["nice=19"], "kill -USR1 $$; echo lived on");
    let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
    assert_eq!(signal, Some(10), "{:?}", output.status);
    assert!(output.stdout.is_empty());
}

#[test]
fn a_weight_is_of_a_group_that_goes_with_the_program() {
    crate::common::needs_root!();
    let folder = Folder::new("levers-weight");
    let ours = ours(&folder);
    let before = groups::all();
    let tell = [&ours, "levers", "status", "cpu-weight", "--json"];
    assert_eq!(found(&mut run(&folder, &["cpu-weight=300"], &tell)), "300");
    let output = run_shell(
        &folder,
        &["cpu-weight=7"],
        "grep -c linerate- /proc/self/cgroup",
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "1\n");
    let killed = run_shell(&folder, &["cpu-weight=7"], "kill -KILL $$");
    assert!(!killed.status.success());
    groups::assert_none_but(&before);
}

/// The lowest wake latency that any process holds for the CPUs of the machine, as the kernel
/// reports it to root, µs.
fn wake_latency() -> String {
    let mut od = Command::new("od");
    let told = answer(od.args(["-An", "-td4", "-N4", "/dev/cpu_dma_latency"]));
    told.trim().to_owned()
}

/// Whether the kernel has no idle driver, so that nothing obeys a wake latency that it accepts.
fn has_no_idle_driver() -> bool {
    let driver = std::fs::read_to_string("/sys/devices/system/cpu/cpuidle/current_driver");
    driver.is_ok_and(|driver| driver.trim() == "none")
}

#[test]
fn a_wake_latency_is_held_while_the_program_runs_and_by_hand_it_comes_out_the_same() {
    crate::common::needs_root!();
    let folder = Folder::new("levers-wake-latency");
    if has_no_idle_driver() {
        let output = run_shell(&folder, &["cpu-dma-latency=0s"], "echo started");
        assert_says(&refused(&output), "there is no idle driver that obeys it");
        return;
    }
    let before = wake_latency();
    let at_most = |most_us: u32| before.parse::<u32>().unwrap().min(most_us).to_string();
    let script = "echo started; read until_the_test_is_over; exit 0";
    let mut by_hand = Command::new("sh");
    let hold = "exec 3> /dev/cpu_dma_latency; head -c 4 /dev/zero >&3; exec \"$@\"";
    by_hand.args(["-c", hold, "sh", "sh", "-c", script]);
    for (mut command, held) in [
        (
            run(&folder, &["cpu-dma-latency=17us"], &["sh", "-c", script]),
            at_most(17),
        ),
        (
            run(&folder, &["cpu-dma-latency=0s"], &["sh", "-c", script]),
            at_most(0),
        ),
        (by_hand, at_most(0)),
    ] {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let line = line_of(program.stdout.as_mut());
        assert_eq!((line.as_str(), wake_latency()), ("started\n", held));
        assert!(program.wait().unwrap().success());
        assert_eq!(wake_latency(), before);
    }
    assert_cpus_hardly_sleep_while_it_is_held(&folder);
}

/// A connection over loopback, which each packet program must let pass.
const CONNECT: &str = "import socket\n\
    listener = socket.create_server(('127.0.0.1', 0))\n\
    socket.create_connection(listener.getsockname(), 10)";

/// The id of the program that a device of the sandbox runs on each packet, as ip(8) prints it.
fn packet_program(sandbox: &Sandbox, device: &str) -> Option<String> {
    let told = sandbox.prints(&["ip", "-details", "link", "show", device]);
    let told = told.split_once("prog/xdp")?.1;
    told.split_whitespace().nth(1).map(str::to_owned)
}

#[test]
fn a_packet_program_is_on_the_device_while_the_program_runs_and_goes_when_it_is_killed() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let before = sandbox.state();
    let told = |device| sandbox.prints(&["ip", "link", "show", device]);
    for (lever, device, mode) in [
        ("packet-programs=native:bench0", "bench0", " xdp "),
        ("packet-programs=generic:bench1", "bench1", " xdpgeneric "),
        ("packet-programs=generic:lo", "lo", " xdpgeneric "),
    ] {
        let ours = crate::common::program();
        let script = "echo started; read until_the_test_is_over";
        let words = [ours, "levers", "run", lever, "--", "sh", "-c", script];
        let mut command = sandbox.command(&words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let line = line_of(program.stdout.as_mut());
        assert_eq!(line, "started\n");
        assert!(told(device).contains(mode), "{lever}: {}", told(device));
        let id = packet_program(&sandbox, device).unwrap();
        let seen = sandbox.now("packet-programs");
        assert!(
            seen.starts_with(&format!("{device} runs program {id}, ")),
            "{seen}"
        );
        let second = format!("packet-programs=generic:{device}");
        let output = sandbox.levers(&["run", &second, "--", "echo", "started"]);
        let refused = errors(&output);
        assert_eq!(output.status.code(), Some(2), "{refused}");
        assert_says(&refused, &format!("{device} runs program {id}"));
        assert!(
            refused.contains("(EBUSY)") || refused.contains("(EEXIST)"),
            "{refused}"
        );
        sandbox.prints(&["python3", "-c", CONNECT]);
        assert_eq!(packet_program(&sandbox, device), Some(id));
        program.kill().unwrap();
        program.wait().unwrap();
        let is_gone = || packet_program(&sandbox, device).is_none();
        assert!(sys::clock::wait_until(Duration::from_secs(10), is_gone));
    }
    assert_eq!(sandbox.state(), before);
}

/// Naps as often as its argument says; with 0, until CPUs have gone to sleep fifty times, at most
/// 5,000 times. Prints how often it napped, and how often CPUs entered a state that takes time to
/// leave.
const COUNT_SLEEPS: &str = r"
import glob, sys, time
states = [s for s in glob.glob('/sys/devices/system/cpu/cpu*/cpuidle/state*') if int(open(s + '/latency').read())]
def count():
    return sum(int(open(s + '/usage').read()) for s in states)
wanted = int(sys.argv[1])
# Whoever slept before is counted once he is awake.
time.sleep(0.01)
before, naps = count(), 0
while states and naps < (wanted or 5000) and (wanted or not naps or count() < before + 50):
    time.sleep(0.001)
    naps += 1
print(naps, count() - before)
";

/// Runs `COUNT_SLEEPS` with that lever; returns how often it napped and how often CPUs slept.
fn sleeps(folder: &Folder, lever: &str, naps: u32) -> (u32, u32) {
    let words = ["python3", "-c", COUNT_SLEEPS, &naps.to_string()];
    let told = answer(&mut run(folder, &[lever], &words));
    let (naps, sleeps) = told.trim().split_once(' ').unwrap();
    (naps.parse().unwrap(), sleeps.parse().unwrap())
}

/// Checks that CPUs hardly sleep while a wake latency of 0 is held. On a machine that is busy
/// throughout, or has only one idle state, there is nothing to see.
fn assert_cpus_hardly_sleep_while_it_is_held(folder: &Folder) {
    let (naps, before) = sleeps(folder, "nice=0", 0);
    if before < 50 {
        return;
    }
    let (_, held) = sleeps(folder, "cpu-dma-latency=0s", naps);
    assert!(held < before / 5, "{held} of {before} in {naps}");
}
