//! Rigs up and down, some of them killed at any moment, leave a machine exactly as it was.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use model::random::SplitMix64;

use crate::common::processes::{self, is_alive};
use crate::common::{PROGRAM, errors, program, words};
use crate::rig::snapshot::Snapshot;

/// Set for the process that is in the small machine made for it.
const INSIDE: &str = "LINERATE_TEST_INSIDE";
/// `RIGS,KILLED`: how many rigs, and of how many something is killed; by `cargo xtask prove`.
const SIZE: &str = "LINERATE_TEST_RIGS";
const SMALL: (usize, usize) = (10, 4);
/// Moments that are alike in every run, as far as the machine is as fast.
const SEED: u64 = 18;
const NOBODY: u32 = 65_534;
/// The kernel takes namespaces down some time after the last process has left.
const LONGEST: Duration = Duration::from_secs(60);
/// A machine at work may be slow to kill.
const MOST_TRIES: u32 = 50;
const KINDS: [&str; 3] = ["netns", "router", "tunnel"];

#[test]
fn rigs_up_and_down_and_killed_leave_the_machine_as_it_was() {
    crate::common::needs_root!();
    if std::env::var_os(INSIDE).is_some() {
        return Machine::new().live();
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
    /// The process that holds it.
    Holder,
    /// `rig clean`, while it takes the rig down.
    Clean,
}

struct Machine {
    program: PathBuf,
    state: PathBuf,
    random: SplitMix64,
    /// How long the last `rig up` took that was left alone.
    usual: Duration,
}

impl Machine {
    fn new() -> Self {
        // Where an ordinary user can run it.
        let program = PathBuf::from("/tmp/linerate");
        std::fs::copy(crate::common::program(), &program).unwrap();
        let state = PathBuf::from("/tmp/state");
        std::fs::create_dir(&state).unwrap();
        std::os::unix::fs::chown(&state, Some(NOBODY), Some(NOBODY)).unwrap();
        Self {
            program,
            state,
            random: SplitMix64::new(SEED),
            usual: Duration::ZERO,
        }
    }

    fn live(mut self) {
        let ours = self.state.join("linerate");
        let states = [Path::new("/var/lib/linerate"), &ours];
        // The state folders stay, once there are any.
        for user in [0, NOBODY] {
            self.up_and_down("tunnel", user);
        }
        let before = Snapshot::take(&states);
        let (rigs, killed) = size();
        let mut done = 0;
        for turn in 0..rigs {
            let user = if turn % 2 == 0 { 0 } else { NOBODY };
            let kind = KINDS[self.random.below(KINDS.len())];
            // Spread over all of them, each as likely as another.
            let is_killed = self.random.below(rigs - turn) < killed - done;
            if is_killed {
                self.killed(VICTIMS[done % VICTIMS.len()], kind, user);
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

    fn does(&self, user: u32, arguments: &[&str]) {
        let output = self.linerate(user, arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    fn up_and_down(&mut self, kind: &str, user: u32) {
        let begun = sys::clock::now();
        self.does(user, &["rig", "up", kind]);
        self.usual = begun.elapsed();
        self.does(user, &["rig", "exec", "client", "--", "true"]);
        self.does(user, &["rig", "clean", kind]);
    }

    /// Kills one process at a random moment; what was faster is tried again.
    fn killed(&mut self, victim: Victim, kind: &str, user: u32) {
        let tries = (0..MOST_TRIES).find(|_| self.is_killed(victim, kind, user));
        assert!(
            tries.is_some(),
            "{victim:?} always ends before it is killed"
        );
    }

    /// Whether it was; then everything is told, and cleaned.
    fn is_killed(&mut self, victim: Victim, kind: &str, user: u32) -> bool {
        let program = match victim {
            Victim::Up => None,
            Victim::Holder | Victim::Clean => Some(self.start_program(kind, user)),
        };
        let was_killed = match victim {
            Victim::Up => self.kill_within(user, &["rig", "up", kind]),
            Victim::Clean => self.kill_within(user, &["rig", "clean"]),
            Victim::Holder => self.kill_holder(),
        };
        self.does(user, &["rig", "status"]);
        self.does(user, &["rig", "clean"]);
        if let Some(mut program) = program {
            program.wait().unwrap();
        }
        was_killed
    }

    /// A program in a new rig that would stay for longer than this test.
    fn start_program(&self, kind: &str, user: u32) -> Child {
        self.does(user, &["rig", "up", kind]);
        let script = "echo here; exec sleep 3600";
        let words = ["rig", "exec", "client", "--", "sh", "-c", script];
        let mut program = self.linerate(user, &words);
        let mut program = program.stdout(Stdio::piped()).spawn().unwrap();
        let mut here = [0; 5];
        std::io::Read::read_exact(program.stdout.as_mut().unwrap(), &mut here).unwrap();
        program
    }

    /// Starts a command and kills it after some part of the time that putting a rig up takes;
    /// whether it had not ended by then.
    fn kill_within(&mut self, user: u32, arguments: &[&str]) -> bool {
        let part = self.usual.mul_f64(self.random.open_unit());
        let mut command = self.linerate(user, arguments).spawn().unwrap();
        let begun = sys::clock::now();
        while begun.elapsed() < part {
            std::thread::yield_now();
        }
        command.kill().unwrap();
        command.wait().unwrap().signal() == Some(9)
    }

    /// Kills the process that holds the rig, of which there is but one.
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
