//! A folder in which services are measured. It has a `tmp` of its own, so that what a service
//! leaves behind is seen. The program is on the PATH, so that a service can be made of it.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::own_state::with_state_below;
use crate::common::processes::working_in;
use crate::common::{Folder, answer, linerate, refusal_of};

/// Arguments of a short run of the service `fake`, which counts as somebody else's.
pub(crate) const RUN_FAKE: [&str; 10] = [
    "study",
    "run",
    "http-json",
    "--target",
    "fake",
    "--trust",
    "--smoke",
    "--yes",
    "--out",
    "run",
];

/// A service that is our own server under another name, or what a shell is told to run instead.
const FAKE: &str = r#"
format = 1
name = "fake"
title = "Fake"
protocol = "http"
[find]
programs = ["sh"]
version_arguments = ["-c", "echo fake/1.0"]
version_pattern = "fake/{version}"
home = "https://example.org/"
[find.install]
debian = "sudo apt-get install fake"
[start]
arguments = ["-c", "exec linerate serve --workers 1 --listen 127.0.0.1:{port}"]
[ready]
when = { http = "/json" }
within_ms = 5000
[serves]
"/json" = '{"message":"{message}"}'
[stop]
signal = "SIGTERM"
grace_ms = 1000
"#;

/// The folder. Anybody may read what is in it, since a service runs as another user.
pub(crate) struct Bench(pub(crate) Folder);

impl Bench {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let path = folder.path();
        for public in ["tmp", "runtime"] {
            std::fs::create_dir(path.join(public)).unwrap();
            let open = std::fs::Permissions::from_mode(0o1777);
            std::fs::set_permissions(path.join(public), open).unwrap();
        }
        // This puts a copy of the program there.
        drop(linerate_as_nobody(&folder, &[]));
        Self(folder)
    }

    /// A bench with a service `fake` in `services`, in whose file `from` is replaced by `to`.
    pub(crate) fn with_fake(name: &str, from: &str, to: &str) -> Self {
        let bench = Self::new(name);
        assert!(FAKE.contains(from), "{from} is not in the file");
        let services = bench.0.path().join("services");
        std::fs::create_dir(&services).unwrap();
        std::fs::write(services.join("fake.toml"), FAKE.replacen(from, to, 1)).unwrap();
        bench
    }

    /// A command that runs the program here.
    pub(crate) fn linerate(&self, arguments: &[&str]) -> Command {
        let command = self.surrounded(linerate(&self.0, arguments));
        with_state_below(command, &self.0.path().join("runtime"))
    }

    /// A command that runs the program here as a user who is not root.
    pub(crate) fn linerate_as_nobody(&self, arguments: &[&str]) -> Command {
        self.surrounded(linerate_as_nobody(&self.0, arguments))
    }

    /// Makes a short run of the service `fake`.
    pub(crate) fn run_fake(&self) -> Output {
        self.linerate(&RUN_FAKE).output().unwrap()
    }

    /// Fails when a service has left a folder behind.
    pub(crate) fn assert_nothing_is_left(&self) {
        assert_eq!(self.0.names("tmp"), [""; 0]);
    }

    fn surrounded(&self, mut command: Command) -> Command {
        let path = std::env::var("PATH").unwrap();
        let here = self.0.path().display();
        command
            .env("PATH", format!("{here}:{path}"))
            .env("TMPDIR", self.0.path().join("tmp"))
            .env("XDG_RUNTIME_DIR", self.0.path().join("runtime"));
        command
    }

    /// Starts a service in the background; returns what is reported about it.
    pub(crate) fn start(&self, service: &str) -> Value {
        self.start_with(service, &[])
    }

    /// Starts a service in the background with further arguments; returns what is reported about
    /// it.
    pub(crate) fn start_with(&self, service: &str, further: &[&str]) -> Value {
        let start = ["service", "start", service, "--detach", "--json", "--trust"];
        let start = [&start[..], further].concat();
        serde_json::from_str(&answer(&mut self.linerate(&start))).unwrap()
    }

    /// Starts the service `fake` in the foreground, and waits until it is ready.
    pub(crate) fn start_and_stay(&self) -> Child {
        let start = ["service", "start", "fake", "--trust"];
        let mut command = self.linerate(&start);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let stays = command.spawn().unwrap();
        assert!(
            self.wait_until(|| !self.running().is_empty()),
            "it is not ready"
        );
        stays
    }

    /// What is said when the service `fake` cannot be started.
    pub(crate) fn refusal(&self) -> String {
        let start = ["service", "start", "fake", "--trust"];
        let said = refusal_of(&mut self.linerate(&start));
        self.assert_nothing_is_left();
        said
    }

    /// Stops a service; returns the outcome.
    pub(crate) fn stop(&self, service: &str) -> String {
        let stop = ["service", "stop", service, "--json"];
        let stopped: Value = serde_json::from_str(&answer(&mut self.linerate(&stop))).unwrap();
        stopped["outcome"].as_str().unwrap().to_owned()
    }

    /// The services that are ready.
    pub(crate) fn running(&self) -> Vec<Value> {
        let list = answer(&mut self.linerate(&["service", "list", "--json"]));
        let list: Value = serde_json::from_str(&list).unwrap();
        let running = list["running"].as_array().unwrap().iter();
        let ready = |entry: &&Value| entry["address"].is_string() || entry["socket"].is_string();
        running.filter(ready).cloned().collect()
    }

    /// Waits for a condition, for a minute at most.
    pub(crate) fn wait_until(&self, holds: impl FnMut() -> bool) -> bool {
        sys::clock::wait_until(Duration::from_secs(60), holds)
    }

    /// The processes whose working folder is that of a service.
    pub(crate) fn processes(&self) -> Vec<u32> {
        working_in(&self.0.path().join("tmp"))
    }

    /// Fails unless all processes and folders of services are gone soon.
    pub(crate) fn assert_all_goes(&self) {
        let gone = || self.processes().is_empty() && self.0.names("tmp").is_empty();
        let what = || (self.processes(), self.0.names("tmp"));
        assert!(self.wait_until(gone), "{:?}", what());
    }
}
