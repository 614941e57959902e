//! A gate that is killed at some moment leaves no worktrees, processes or open ports.

use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Project, SERVES};

/// A shell prefix that notes the port of each start, and touches the mark from the eighth on, which
/// is in the measurement.
const NOTED: &str =
    "echo {port} >> \"$MARK.starts\"; [ $(wc -l < \"$MARK.starts\") -lt 8 ] || touch \"$MARK\"; ";

#[test]
fn a_kill_in_a_build_and_one_in_a_measurement_leave_nothing() {
    let waits = "touch \"$MARK\"; sleep 600";
    let runs = "touch \"$MARK\"; cat part";
    let waits_later = "echo >> \"$MARK.starts\"; [ $(wc -l < \"$MARK.starts\") -lt 9 ] || { touch \"$MARK\"; sleep 600; }";
    let serves = format!("{NOTED}{SERVES}");
    for (arguments, signal) in [
        (["--build", waits, "--run", "true"], "KILL"),
        (["--build", waits, "--run", "true"], "TERM"),
        (["--build", "true", "--run", runs], "KILL"),
        (["--build", "true", "--run", waits_later], "KILL"),
        (["--build", "true", "--run", waits_later], "TERM"),
        (["--url", "/plaintext", "--serve", &serves], "KILL"),
        (["--url", "/plaintext", "--serve", &serves], "TERM"),
    ] {
        let project = Project::new(["a", "a"]);
        let mark = project.folder.path().join("mark");
        let mut gate = project.gate(&arguments);
        gate.env("MARK", &mark)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut gate = gate.spawn().unwrap();
        assert!(sys::clock::wait_until(Duration::from_secs(60), || mark.exists()));
        let number = gate.id().to_string();
        let mut kill = Command::new("kill");
        assert!(
            kill.args(["-s", signal, &number])
                .status()
                .unwrap()
                .success()
        );
        gate.wait().unwrap();
        let starts = std::fs::read_to_string(mark.with_extension("starts")).unwrap_or_default();
        let ports = starts.lines().filter_map(|line| line.parse().ok());
        let ports: Vec<u16> = ports.collect();
        assert_eq!(
            arguments.contains(&"--serve"),
            !ports.is_empty(),
            "{starts}"
        );
        let is_free = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).is_err();
        let is_clean = sys::clock::wait_until(Duration::from_secs(30), || {
            project.is_clean() && ports.iter().all(is_free)
        });
        assert!(
            is_clean,
            "{arguments:?} {signal}: {:?} {ports:?}",
            project.temporary.names("")
        );
    }
}
