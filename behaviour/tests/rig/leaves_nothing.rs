//! Rigs are put up and cleaned, and some are killed at any moment: the machine is left exactly as
//! it was.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use model::random::SplitMix64;

use crate::common::processes::{self, is_alive};
use crate::common::{PROGRAM, errors, program, words};
use crate::rig::snapshot::Snapshot;

/// Environment variable that is set for the process inside the isolated machine made for it.
const INSIDE: &str = "LINERATE_TEST_INSIDE";
/// Environment variable `RIGS,KILLED`: how many rigs there are, and for how many of them a process
/// is killed. `cargo xtask prove` sets it.
const SIZE: &str = "LINERATE_TEST_RIGS";
const SMALL: (usize, usize) = (10, 4);
/// Fixed, so that the kills come at the same moments in every run, as far as the machine is equally
/// fast.
const SEED: u64 = 18;
const NOBODY: u32 = 65_534;
/// How long the machine may take to become as it was: the kernel removes namespaces some time after
/// their last process has ended.
const LONGEST: Duration = Duration::from_secs(60);
/// A kill may come too late this often, since a busy machine may be slow to kill.
const MOST_TRIES: u32 = 50;
const KINDS: [&str; 3] = ["netns", "router", "tunnel"];

#[test]
fn rigs_up_and_down_and_killed_leave_the_machine_as_it_was() {
    crate::common::needs_root!();
    if std::env::var_os(INSIDE).is_some() {
        return Machine::new().exercise();
    }
    // A machine with its own network, processes and files, so that nobody else's work shows.
    let prepare = "mount -t tmpfs none /tmp && chmod 1777 /tmp && mount -t tmpfs none /var/lib && \
                   exec \"$0\" --exact \"$1\" --nocapture";
    let test = "rig::leaves_nothing::rigs_up_and_down_and_killed_leave_the_machine_as_it_was";
    let output = Command::new("unshare")
        .args(words(
            "--net --mount --pid --fork --kill-child --mount-proc",
        ))
        .args(["sh", "-c", prepare])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(INSIDE, "1")
        .env(PROGRAM, program())
        .env("TMPDIR", "/tmp")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", errors(&output));
}

fn size() -> (usize, usize) {
    let Ok(size) = std::env::var(SIZE) else {
        return SMALL;
    };
    let (rigs, killed) = size.split_once(',').unwrap();
    (rigs.parse().unwrap(), killed.parse().unwrap())
}

const VICTIMS: [Victim; 4] = [Victim::Up, Victim::Holder, Victim::Clean, Victim::Up];

/// Which process is killed.
#[derive(Clone, Copy, Debug)]
enum Victim {
    /// `rig up`, while it puts the rig up.
    Up,
    /// The process that holds the rig.
    Holder,
    /// `rig clean`, while it takes the rig down.
    Clean,
}

struct Machine {
    program: PathBuf,
    state: PathBuf,
    random: SplitMix64,
    /// How long the last `rig up` took that was not killed.
    usual_duration: Duration,
}

impl Machine {
    fn new() -> Self {
        // An ordinary user can run it here.
        let program = PathBuf::from("/tmp/linerate");
        std::fs::copy(crate::common::program(), &program).unwrap();
        let state = PathBuf::from("/tmp/state");
        std::fs::create_dir(&state).unwrap();
        std::os::unix::fs::chown(&state, Some(NOBODY), Some(NOBODY)).unwrap();
        Self {
            program,
            state,
            random: SplitMix64::new(SEED),
            usual_duration: Duration::ZERO,
        }
    }

    fn exercise(mut self) {
        let ours = self.state.join("linerate");
        let states = [Path::new("/var/lib/linerate"), &ours];
        // State folders stay once they exist, so they must exist before the snapshot.
        for user in [0, NOBODY] {
            self.up_and_down("tunnel", user);
        }
        let before = Snapshot::take(&states);
        let (rigs, killed) = size();
        let mut done = 0;
        for turn in 0..rigs {
            let user = if turn % 2 == 0 { 0 } else { NOBODY };
            let kind = KINDS[self.random.below(KINDS.len())];
            // The kills are spread over all rigs, each with the same chance.
            let is_killed = self.random.below(rigs - turn) < killed - done;
            if is_killed {
                self.kill_one(VICTIMS[done % VICTIMS.len()], kind, user);
                done += 1;
            } else {
                self.up_and_down(kind, user);
            }
        }
        let mut differences = Vec::new();
        sys::clock::wait_until(LONGEST, || {
            differences = Snapshot::take(&states).differences(&before);
            differences.is_empty()
        });
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }

    fn linerate(&self, user: u32, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env("XDG_STATE_HOME", &self.state)
            .uid(user)
            .gid(user)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    fn run(&self, user: u32, arguments: &[&str]) {
        let output = self.linerate(user, arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    fn up_and_down(&mut self, kind: &str, user: u32) {
        let begun = sys::clock::now();
        self.run(user, &["rig", "up", kind]);
        self.usual_duration = begun.elapsed();
        self.run(user, &["rig", "exec", "client", "--", "true"]);
        self.run(user, &["rig", "clean", kind]);
    }

    /// Kills one process at a random moment; if the process ended sooner, tries again.
    fn kill_one(&mut self, victim: Victim, kind: &str, user: u32) {
        let tries = (0..MOST_TRIES).find(|_| self.try_to_kill(victim, kind, user));
        assert!(
            tries.is_some(),
            "{victim:?} always ends before it is killed"
        );
    }

    /// Tries to kill one process, then asks for the status and cleans. Returns whether it was
    /// killed.
    fn try_to_kill(&mut self, victim: Victim, kind: &str, user: u32) -> bool {
        let program = match victim {
            Victim::Up => None,
            Victim::Holder | Victim::Clean => Some(self.start_program(kind, user)),
        };
        let was_killed = match victim {
            Victim::Up => self.kill_within(user, &["rig", "up", kind]),
            Victim::Clean => self.kill_within(user, &["rig", "clean"]),
            Victim::Holder => self.kill_holder(),
        };
        self.run(user, &["rig", "status"]);
        self.run(user, &["rig", "clean"]);
        if let Some(mut program) = program {
            program.wait().unwrap();
        }
        was_killed
    }

    /// Puts up a rig and starts a program in it that would run for longer than this test.
    fn start_program(&self, kind: &str, user: u32) -> Child {
        self.run(user, &["rig", "up", kind]);
        let script = "echo here; exec sleep 3600";
        let words = ["rig", "exec", "client", "--", "sh", "-c", script];
        let mut program = self.linerate(user, &words);
        let mut program = program.stdout(Stdio::piped()).spawn().unwrap();
        let mut here = [0; 5];
        std::io::Read::read_exact(program.stdout.as_mut().unwrap(), &mut here).unwrap();
        program
    }

    /// Starts a command and kills it after a random part of the time that putting a rig up takes.
    /// Returns whether it was still running then.
    fn kill_within(&mut self, user: u32, arguments: &[&str]) -> bool {
        let part = self.usual_duration.mul_f64(self.random.open_unit());
        let mut command = self.linerate(user, arguments).spawn().unwrap();
        let begun = sys::clock::now();
        while begun.elapsed() < part {
            std::thread::yield_now();
        }
        command.kill().unwrap();
        command.wait().unwrap().signal() == Some(9)
    }

    /// Kills the process that holds the rig; there must be exactly one.
    fn kill_holder(&self) -> bool {
        let is_holder = |pid: &u32| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
            name.is_ok_and(|name| name == "linerate-rig\n") && is_alive(pid)
        };
        let holders: Vec<u32> = processes::all().filter(is_holder).collect();
        assert_eq!(holders.len(), 1, "{holders:?}");
        let pid = holders[0].to_string();
        let status = Command::new("kill").args(["-KILL", &pid]).status();
        status.unwrap().success()
    }
}
