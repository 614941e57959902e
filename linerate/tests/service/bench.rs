//! A folder in which services are measured: with a `tmp` of its own, so that what a service
//! leaves behind is seen, and with the program on the PATH, so that a service can be made of it.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use crate::as_nobody::linerate_as_nobody;
use crate::common::{Folder, linerate};

/// A short run of the service `fake`, which is somebody else's.
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

/// A service that is our own server under another name, or whatever a shell is told instead.
const FAKE: &str = r#"
format = 1
name = "fake"
title = "Fake"
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
path = "/json"
within_ms = 5000
[serves]
"/json" = '{"message":"{message}"}'
[stop]
signal = "SIGTERM"
grace_ms = 1000
"#;

/// The folder. What is in it may be read by anybody, as a service runs as somebody else.
pub(crate) struct Bench(pub(crate) Folder);

impl Bench {
    pub(crate) fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let path = folder.path();
        std::fs::create_dir(path.join("tmp")).unwrap();
        let open = std::fs::Permissions::from_mode(0o1777);
        std::fs::set_permissions(path.join("tmp"), open).unwrap();
        // Puts a copy of the program there.
        drop(linerate_as_nobody(&folder, &[]));
        Self(folder)
    }

    /// The same with a service `fake` in `services`, in which one piece of text is another.
    pub(crate) fn with_fake(name: &str, from: &str, to: &str) -> Self {
        let bench = Self::new(name);
        assert!(FAKE.contains(from), "{from} is not in the file");
        let services = bench.0.path().join("services");
        std::fs::create_dir(&services).unwrap();
        std::fs::write(services.join("fake.toml"), FAKE.replacen(from, to, 1)).unwrap();
        bench
    }

    /// The program, to be run here.
    pub(crate) fn linerate(&self, arguments: &[&str]) -> Command {
        self.surrounded(linerate(&self.0, arguments))
    }

    /// The program, to be run here by a user who is not root.
    pub(crate) fn linerate_as_nobody(&self, arguments: &[&str]) -> Command {
        self.surrounded(linerate_as_nobody(&self.0, arguments))
    }

    /// A short run of the service `fake`.
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
            .env("TMPDIR", self.0.path().join("tmp"));
        command
    }
}
