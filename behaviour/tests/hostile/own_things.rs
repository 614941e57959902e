//! Folders and processes that look like ours and are not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::own_state::with_state_below;
use crate::common::processes::{Ours, children, is_alive, signal_all};
use crate::common::{Folder, assert_says, errors, linerate, refused, studies, words};

const PATIENCE: Duration = Duration::from_secs(60);
const NOBODY: u32 = 65_534;

/// One command, measured against itself.
fn study(work: &str) -> String {
    let script = format!("\n[files]\n\"work.sh\" = '''\n{work}\n'''\n");
    studies::of_command(r#"["sh", "work.sh", "{way}"]"#) + &script
}

/// Leaves a program behind, in another session, process group and folder, and waits to be killed.
const LEAVES: &str = "(cd / && setsid sleep 600 & echo $! > LEFT.new; mv LEFT.new LEFT); sleep 600";

/// Replaces its own folder, once, by a link to one that only root may enter.
const LEADS_ASTRAY: &str = r#"[ -e LEFT ] || { touch LEFT; here=$(pwd); mv "$here" "$here.moved"
ln -s "$(dirname LEFT)/../private/open" "$here"; }"#;

/// A place for temporary files, a study, and root's state or an ordinary user's.
struct Lab(Folder);

impl Lab {
    fn new(name: &str, work: &str) -> Self {
        let folder = Folder::new(&format!("own-things-{name}"));
        let path = folder.path();
        for public in ["tmp", "run", "out"] {
            fs::create_dir(path.join(public)).unwrap();
            fs::set_permissions(path.join(public), Permissions::from_mode(0o1777)).unwrap();
        }
        let work = work.replace("LEFT", &path.join("out/left").display().to_string());
        fs::write(path.join("small.toml"), study(&work)).unwrap();
        Self(folder)
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn study(&self, as_nobody: bool, out: &str) -> Command {
        let words = [
            "study",
            "run",
            "small.toml",
            "--smoke",
            "--yes",
            "--trust",
            "--out",
            out,
        ];
        let mut command = if as_nobody {
            let mut command = linerate_as_nobody(&self.0, &words);
            command.env("XDG_RUNTIME_DIR", self.path("run"));
            command
        } else {
            with_state_below(linerate(&self.0, &words), &self.path("run"))
        };
        command.env("TMPDIR", self.path("tmp"));
        command
    }

    fn assert_runs(&self, as_nobody: bool, out: &str) {
        let output: Output = self.study(as_nobody, out).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
    }

    /// Kills a run and its agent at once, when its command has left a program behind. Returns the
    /// process number of that program.
    fn killed(&self, as_nobody: bool) -> u32 {
        let mut command = self.study(as_nobody, "killed");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = command.spawn().unwrap();
        let left = || self.0.text("out/left");
        let is_over = sys::clock::wait_until(PATIENCE, || {
            !left().is_empty() || run.try_wait().unwrap().is_some()
        });
        assert!(is_over && !left().is_empty(), "it leaves nothing");
        // The agent first: it would clean up behind a run that has ended.
        signal_all("KILL", &[children(run.id()).remove(0), run.id()]);
        run.wait().unwrap();
        left().trim().parse().unwrap()
    }
}

/// What a command says that must be refused. If it runs on, it is killed and the test fails.
pub(crate) fn refusal(mut command: Command) -> String {
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut runs = command.spawn().unwrap();
    let ended = sys::clock::wait_until(PATIENCE, || runs.try_wait().unwrap().is_some());
    let _ = runs.kill();
    let output = runs.wait_with_output().unwrap();
    assert!(ended, "it runs on");
    refused(&output)
}

/// A program of a user that works in a folder and has no terminal, ended with the test.
struct Bystander(Ours);

impl Bystander {
    fn new(folder: &Path, user: u32) -> Self {
        let mut command = Command::new("setsid");
        command.args(["sleep", "600"]).current_dir(folder);
        command.stdin(Stdio::null()).env("HOME", "/home/somebody");
        if user != 0 {
            command.uid(user).gid(user);
        }
        Self(Ours(command.spawn().unwrap()))
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

/// Folders named like ours, of this and of earlier versions, with results in them; and a program at
/// work in each.
fn look_alikes(lab: &Lab, user: u32) -> (Vec<PathBuf>, Vec<Bystander>) {
    let names = words(
        "linerate-study-1-0 linerate-study-0123456789abcdef linerate-service-0123456789abcdef",
    );
    let folders = names.iter().map(|name| lab.path("tmp").join(name));
    let folders: Vec<PathBuf> = folders.collect();
    for folder in &folders {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("results.csv"), "a week's work").unwrap();
        chown(folder, Some(user), Some(user)).unwrap();
    }
    let there = folders.iter().map(|folder| Bystander::new(folder, user));
    let there = there.collect();
    (folders, there)
}

fn assert_untouched(lab: &Lab, user: u32, as_nobody: bool) {
    let (folders, mut bystanders) = look_alikes(lab, user);
    lab.assert_runs(as_nobody, "run");
    for folder in folders {
        let results = fs::read_to_string(folder.join("results.csv"));
        assert_eq!(
            results.ok().as_deref(),
            Some("a week's work"),
            "{}",
            folder.display()
        );
    }
    assert!(bystanders.iter_mut().all(Bystander::lives));
}

#[test]
fn a_study_spares_folders_of_its_user_named_like_its_own_and_the_processes_in_them() {
    crate::common::needs_root!();
    assert_untouched(&Lab::new("root", "true"), 0, false);
    assert_untouched(&Lab::new("user", "true"), NOBODY, true);
}

#[test]
fn a_study_of_root_spares_folders_of_the_user_that_its_commands_run_as() {
    crate::common::needs_root!();
    assert_untouched(&Lab::new("descended", "true"), NOBODY, false);
}

#[test]
fn what_a_killed_study_left_goes_with_the_next_wherever_its_programs_went() {
    for as_nobody in [false, true] {
        let lab = Lab::new(&format!("killed-{as_nobody}"), LEAVES);
        let left = lab.killed(as_nobody);
        assert!(is_alive(left) && lab.0.names("tmp").len() == 1);
        // The next study's command does not wait: what is left is removed before it starts.
        let study = fs::read_to_string(lab.path("small.toml")).unwrap();
        fs::write(
            lab.path("small.toml"),
            study.replace("; sleep 600", "; true"),
        )
        .unwrap();
        lab.assert_runs(as_nobody, "next");
        assert_eq!(lab.0.names("tmp"), [""; 0]);
        assert!(sys::clock::wait_until(PATIENCE, || !is_alive(left)));
        assert_eq!(lab.0.names("run/linerate/study-services"), [""; 0]);
    }
}

#[test]
fn whoever_only_looks_into_a_folder_of_ours_outlives_it() {
    crate::common::needs_root!();
    let lab = Lab::new(
        "looked",
        "touch LEFT; while [ ! -e LEFT.seen ]; do sleep 0.05; done",
    );
    let mut command = lab.study(true, "run");
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let run = command.spawn().unwrap();
    assert!(sys::clock::wait_until(PATIENCE, || lab
        .path("out/left")
        .exists()));
    let folders = lab.0.names("tmp");
    let mut bystander = Bystander::new(&lab.path("tmp").join(&folders[0]), NOBODY);
    fs::write(lab.path("out/left.seen"), "").unwrap();
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    assert_eq!(lab.0.names("tmp"), [""; 0]);
    assert!(bystander.lives());
}

#[test]
fn a_command_that_exchanges_its_folder_leads_the_next_nowhere() {
    let lab = Lab::new("led", LEADS_ASTRAY);
    let (open, copy) = (lab.path("private/open"), lab.path("out/told"));
    fs::create_dir_all(&open).unwrap();
    fs::set_permissions(lab.path("private"), Permissions::from_mode(0o700)).unwrap();
    fs::write(open.join("secret"), "a word").unwrap();
    let script = format!("cat secret > {}", copy.display());
    fs::write(open.join("work.sh"), script).unwrap();
    lab.assert_runs(false, "run");
    assert!(lab.path("out/left").exists(), "it exchanges nothing");
    assert!(!copy.exists(), "it works where only root may go");
}

/// `command`, with a file open as descriptor 9.
fn with_open_file(file: &Path, command: &Command) -> Command {
    let mut with = Command::new("sh");
    with.args(["-c", r#"exec 9< "$0"; exec "$@""#]).arg(file);
    with.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => with.env(name, value),
            None => with.env_remove(name),
        };
    }
    with.current_dir(command.get_current_dir().unwrap());
    with.stdin(Stdio::null());
    with
}

#[test]
fn a_command_of_a_study_finds_nothing_open_that_only_root_may_read() {
    crate::common::needs_root!();
    let lab = Lab::new("inherited", "(cat <&9) >> LEFT 2>&1; true");
    let secret = lab.path("secret");
    fs::write(&secret, "a word of root's").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let output = with_open_file(&secret, &lab.study(false, "run")).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", errors(&output));
    let said = lab.0.text("out/left");
    assert!(!said.is_empty(), "it has not looked");
    assert!(!said.contains("a word of root's"), "{said}");
}

#[test]
fn a_place_for_temporary_files_where_others_may_exchange_folders_is_refused() {
    let lab = Lab::new("exchanged", "true");
    fs::set_permissions(lab.path("tmp"), Permissions::from_mode(0o777)).unwrap();
    let said = refusal(lab.study(false, "run"));
    assert_says(&said, "others could put something else in its place");
    assert_says(&said, "TMPDIR");
    assert_eq!(lab.0.names("tmp"), [""; 0]);
}

/// The control group of this process for the CPU controller: those of its programs are made in it.
fn own_group() -> PathBuf {
    let group = sys::cgroup::Group::of_this_process(sys::cgroup::Controller::Cpu);
    group.unwrap().folder().to_owned()
}

#[test]
fn a_control_group_that_is_named_like_ours_stays() {
    crate::common::needs_root!();
    let folder = Folder::new("own-things-group");
    // No process has that number (PID_MAX_LIMIT), so it looks as if its maker were gone.
    let theirs = own_group().join("linerate-4194305-0");
    fs::create_dir(&theirs).unwrap();
    let run = ["levers", "run", "cpu-weight=7", "--", "true"];
    let output = linerate(&folder, &run).output().unwrap();
    let stayed = theirs.is_dir();
    let _ = fs::remove_dir(&theirs);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(stayed);
}

#[test]
fn a_socket_of_another_user_stays_where_nobody_listens_on_it() {
    crate::common::needs_root!();
    let folder = Folder::new("own-things-socket");
    let path = folder.path().join("socket");
    drop(UnixListener::bind(&path).unwrap());
    chown(&path, Some(12_345), None).unwrap();
    let serve = ["serve", "--listen", "unix:socket"];
    let said = refusal(linerate(&folder, &serve));
    assert_says(&said, "a socket of user 12345 that nobody listens on");
    assert_eq!(fs::metadata(&path).unwrap().uid(), 12_345);
}
