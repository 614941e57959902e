//! What `cargo xtask vm` says where it cannot start a guest.
#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests may fail as a test does"
)]

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

/// A folder that is removed when the test ends.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("xtask-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn xtask(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("vm").args(arguments);
    command
}

/// What the command says on standard error when it cannot do what it is asked for.
fn refusal(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}");
    words
}

#[test]
fn programs_that_are_missing_are_named_with_the_line_that_installs_them() {
    let folder = TestFolder::new("no-programs");
    let mut run = xtask(&["run", "--", "true"]);
    let words = refusal(run.env("PATH", &folder.0));
    assert!(words.contains("qemu-system-x86_64, "), "{words}");
    let line = words
        .lines()
        .find(|line| line.contains("sudo apt-get install "));
    assert!(
        line.unwrap()
            .ends_with("qemu-system-x86 tcpdump wireguard-tools xz-utils zstd"),
        "{words}"
    );
}

#[test]
fn a_mirror_that_cannot_be_reached_is_named_with_what_to_do() {
    let folder = TestFolder::new("no-mirror");
    // A port that was free a moment ago answers nobody.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let mirror = format!("http://127.0.0.1:{port}");
    let mut fetch = xtask(&["fetch"]);
    fetch
        .env("XDG_CACHE_HOME", &folder.0)
        .env_remove("http_proxy");
    // One try is enough to know.
    let settings = folder.0.join("apt.conf");
    std::fs::write(&settings, "Acquire::Retries \"0\";").unwrap();
    fetch.env("APT_CONFIG", settings);
    let words = refusal(fetch.env("LINERATE_DEBIAN_MIRROR", &mirror));
    assert!(
        words.contains("the package for `busybox` cannot be had"),
        "{words}"
    );
    assert!(
        words.contains(&format!("See that {mirror} can be reached")),
        "{words}"
    );
    assert!(words.contains("set LINERATE_DEBIAN_MIRROR"), "{words}");
}

#[test]
fn a_wrong_command_line_is_told_with_the_right_ones() {
    let words = refusal(&mut xtask(&["boot"]));
    assert!(
        words.contains("`vm boot` is no command") && words.contains("vm run "),
        "{words}"
    );
}
