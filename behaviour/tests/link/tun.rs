//! Links between TUN devices.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::processes::{line_of, signal};
use crate::common::{Folder, assert_says, errors, linerate, refusal_of};
use crate::link::ended::HostSeen;
use crate::link::{carrier, count};

const LONGEST: Duration = Duration::from_secs(30);

#[test]
fn each_host_has_a_tun_device_and_killing_the_program_leaves_neither_it_nor_a_process() {
    crate::common::needs_root!();
    let folder = Folder::new("link-tun-killed");
    let words = [
        "link",
        "--via",
        "tun",
        "--",
        "sh",
        "-c",
        "echo $$; exec sleep 600",
    ];
    let mut running = linerate(&folder, &words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let client = HostSeen::of(&line_of(running.stdout.as_mut()));
    assert!(client.devices().contains("lr-wire"), "{}", client.devices());
    let carrier = carrier(&running);
    running.kill().unwrap();
    running.wait().unwrap();
    // The namespace stays, as we hold it open: its device goes with the descriptor.
    let is_over = || {
        !Path::new("/proc").join(&carrier).exists()
            && client.processes().is_empty()
            && !client.devices().contains("lr-wire")
    };
    assert!(
        sys::clock::wait_until(LONGEST, is_over),
        "{}",
        client.devices()
    );
}

/// Not every machine lets every user open it: here is one that does, for this program alone.
const DEVICE_FOR_ALL: &str = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && \
                              exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";

/// What is run as nobody, where `/dev/net/tun` is open to everybody. Who is not root has what there is.
fn with_a_device_for_all(command: &Command) -> Command {
    let mut whole = Command::new("unshare");
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        whole.args(["--mount", "sh", "-c", DEVICE_FOR_ALL, "sh"]);
    }
    whole.arg(command.get_program()).args(command.get_args());
    whole.current_dir(command.get_current_dir().unwrap());
    whole
}

#[test]
fn an_ordinary_user_has_a_link_between_tun_devices_too_and_nothing_is_left_behind() {
    crate::common::needs_root!();
    let folder = Folder::new("link-tun-nobody");
    let line = "echo $$; read end; echo $LINERATE_SERVER; exit 7";
    let words = [
        "link", "--via", "tun", "--loss", "1%", "--", "sh", "-c", line,
    ];
    let mut running = with_a_device_for_all(&linerate_as_nobody(&folder, &words))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let first = lines.next().map(Result::unwrap);
    let client = first.as_deref().map(HostSeen::of);
    drop(running.stdin.take());
    let output = running.wait_with_output().unwrap();
    let words = errors(&output);
    assert_eq!(output.status.code(), Some(7), "{words}");
    let client = client.unwrap();
    assert_says(&words, "1 % lost each way, between TUN devices");
    assert_eq!(lines.next().unwrap().unwrap(), "198.18.0.2");
    assert_eq!(client.processes(), [""; 0]);
    assert!(
        !client.devices().contains("lr-wire"),
        "{}",
        client.devices()
    );
}

/// More than the queue of 4096 packets holds.
const SENT: u64 = 6000;

#[test]
fn packets_that_find_the_queue_full_while_the_link_is_held_up_are_told_as_missed() {
    crate::common::needs_root!();
    let folder = Folder::new("link-tun-missed");
    // A connection is refused only when all that was sent before has been carried.
    let line = format!(
        "echo up; read go; for n in $(seq {SENT}); do echo $n; done > /dev/udp/$LINERATE_SERVER/9; \
         echo sent; read go; : > /dev/tcp/$LINERATE_SERVER/9"
    );
    let words = ["link", "--json", "--via", "tun", "--", "bash", "-c", &line];
    let mut running = linerate(&folder, &words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut says = BufReader::new(running.stderr.take().unwrap()).lines();
    let mut orders = running.stdin.take().unwrap();
    assert_eq!(says.next().unwrap().unwrap(), "up");
    let carrier = carrier(&running);
    signal("STOP", &carrier);
    orders.write_all(b"go\n").unwrap();
    let sent = says.next().unwrap().unwrap();
    signal("CONT", carrier);
    assert_eq!(sent, "sent");
    orders.write_all(b"go\n").unwrap();
    let output = running.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let missed = count(&report, "/up/missed_packets");
    let told = count(&report, "/up/tally/offered_packets") + missed;
    assert!(missed > 0, "{report:#}");
    // The first packet of the connection is sent again where it is missed itself.
    assert!((SENT + 1..SENT + 4).contains(&told), "{told}: {report:#}");
    let doubts = report["doubts"].as_array().unwrap();
    let is_of_missed = |doubt: &Value| doubt.to_string().contains("could not keep up");
    assert!(doubts.iter().any(is_of_missed), "{report:#}");
}

#[test]
fn without_the_file_of_tun_devices_the_error_names_it_and_what_to_do() {
    let folder = Folder::new("link-tun-absent");
    let hidden = "mount -t tmpfs none /dev/net";
    let strange = "mount -t tmpfs none /dev/net; : > /dev/net/tun";
    for (change, reason, advice) in [
        (hidden, "ENOENT", "modprobe tun"),
        (strange, "making a TUN device failed", "mknod"),
    ] {
        let program = crate::common::program();
        let line = format!("{change}; exec {program} link --via tun -- echo started");
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-ec", &line]);
        let words = refusal_of(command.current_dir(folder.path()));
        for part in ["/dev/net/tun", reason, advice, "`userspace`"] {
            assert!(words.contains(part), "{part}: {words}");
        }
    }
}
