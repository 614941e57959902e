//! If a command is killed at any of the calls that write, all that it changed is undone from the
//! journal.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Output;

use crate::common::errors;
use crate::levers::each;
use crate::levers::sandbox::{Sandbox, device_of};

/// Set by `cargo xtask prove`: every lever of a namespace or a device, instead of a few.
const ALL: &str = "LINERATE_TEST_LEVERS";
/// One knob, several, one whose driver holds 64 for 100, and routes.
const FEW: [&str; 4] = [
    "slow-start-after-idle=0",
    "receive-packet-steering=0",
    "receive-coalescing-frames=100",
    "initial-window=30",
];
/// Calls that reach the disk, the kernel or a reader.
const CALLS: [&str; 8] = [
    "write",
    "fsync",
    "rename",
    "renameat",
    "renameat2",
    "ftruncate",
    "sendto",
    "ioctl",
];
const MOST_CALLS: u32 = 200;
const SIGKILL: i32 = 9;

/// `linerate levers …` that is killed at its `nth` call of that name: strace counts each by itself.
fn killed_at(sandbox: &Sandbox, call: &str, nth: u32, words: &[&str]) -> Output {
    let inject = format!("inject={call}:signal=KILL:when={nth}");
    // Without its children: strace would wait for the process that puts a device back in time.
    let strace = ["strace", "-qq", "-o", "/dev/null", "-e", &inject];
    let linerate = [crate::common::program(), "levers"];
    sandbox
        .command(&[&strace[..], &linerate, words].concat())
        .output()
        .unwrap()
}

/// Kills a command at each of its calls in turn, each time from the same beginning. Returns how
/// often.
fn kill_at_every_call(
    sandbox: &Sandbox,
    begin: &dyn Fn(),
    words: &[&str],
    check: &dyn Fn(&str),
) -> u32 {
    let kill_at_every = |call: &&str| {
        for nth in 1..MOST_CALLS {
            begin();
            let output = killed_at(sandbox, call, nth, words);
            check(&format!("killed at {call} {nth}"));
            if !is_killed(&output) {
                assert!(output.status.success(), "{}", errors(&output));
                return nth - 1;
            }
        }
        panic!("{words:?} was killed at {MOST_CALLS} of {call} and never came to its end");
    };
    CALLS.iter().map(kill_at_every).sum()
}

fn is_killed(output: &Output) -> bool {
    let status = output.status;
    status.signal() == Some(SIGKILL) || status.code() == Some(128 + SIGKILL)
}

fn undo(sandbox: &Sandbox, when: &str) {
    let output = sandbox.levers(&["undo"]);
    assert!(output.status.success(), "{when}: {}", errors(&output));
}

/// Kills apply and undo of a lever at each of their calls. Returns how often.
fn kills_that_were_undone(sandbox: &Sandbox, asked: &str, before: &str) -> u32 {
    let apply = ["apply", asked, "--device", device_of(asked)];
    let check = |when: &str| {
        undo(sandbox, when);
        assert_eq!(sandbox.state(), before, "{asked} {when}");
        assert!(sandbox.journal().is_empty());
    };
    let kills = kill_at_every_call(sandbox, &|| {}, &apply, &check);
    let begin = || assert!(sandbox.levers(&apply).status.success());
    kills + kill_at_every_call(sandbox, &begin, &["undo"], &check)
}

#[test]
fn an_apply_or_undo_killed_at_any_call_leaves_nothing_that_undo_does_not_put_back() {
    crate::common::needs_root!();
    let levers = match std::env::var_os(ALL) {
        Some(_) => each::other_values(&Sandbox::new()),
        None => FEW.map(str::to_owned).to_vec(),
    };
    let kills = each::side_by_side(&levers, kills_that_were_undone);
    let kills: u32 = kills.iter().sum();
    let count = levers.len();
    assert!(
        kills > 10 * u32::try_from(count).unwrap(),
        "only {kills} kills"
    );
    println!("{count} levers, {kills} kills, all restored");
}
