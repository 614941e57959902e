//! A lever over SSH that stops the packets of its own session, and the session that goes on after
//! the trial.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::processes::wait_for;
use crate::common::{assert_says, errors};
use crate::hosts::site::{Host, Site};

/// Gives the server's machine devices and state of its own, so that nobody else's are touched. One
/// of the devices is no rig's: levers inside a rig cut nobody off, and are not on trial.
const OWN: &str = "mount -t sysfs none /sys && mount -t tmpfs -o mode=0755 none /var/lib && \
                   ip link add own0 type veth peer name own1 && ip link set own0 up";
/// Makes our end of the cable send packets of 1500 bytes, as a card does. Without it, a pair of
/// virtual devices passes on longer packets than the other end takes, until something segments
/// them.
const SEND_AS_A_CARD: [&str; 7] = ["ethtool", "-K", "lr-server", "tso", "off", "gso", "off"];
/// With this lever the other end silently drops packets of the size that the session began with.
const CUT: &str = "levers apply mtu=1280 --device lr-router --trial 10 && echo ready && exec cat";
const TYPED: usize = 30_000;

/// A session on the server's machine whose program answers with what it is sent.
struct Session {
    ssh: Child,
    input: ChildStdin,
    /// Bytes that have come back.
    answered: Arc<AtomicUsize>,
}

impl Session {
    /// Begins a session, sets the lever in it, and waits for the answer to that.
    fn new(site: &Site) -> Self {
        let script = format!("{} {CUT}", crate::common::program());
        let mut ssh = over_ssh(site, &script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = ssh.stdout.take().unwrap();
        let mut said = Vec::new();
        while !said.ends_with(b"ready\n") {
            let mut byte = [0];
            output.read_exact(&mut byte).unwrap();
            said.push(byte[0]);
        }
        let said = String::from_utf8(said).unwrap();
        assert_says(&said, "put back in 10 s unless you run");
        let input = ssh.stdin.take().unwrap();
        let answered = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&answered);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                count.fetch_add(read, Ordering::SeqCst);
            }
        });
        Self {
            ssh,
            input,
            answered,
        }
    }

    fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }
}

fn over_ssh(site: &Site, script: &str) -> Command {
    site.on("router", &["ssh", "bench-server", script])
}

fn prints(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether the lever is still set on the server's machine. This is not asked over the wire.
fn is_cut(site: &Site) -> bool {
    let link = prints(site.on("server", &["ip", "link", "show", "lr-router"]));
    link.contains("mtu 1280")
}

/// Whether the kernel counts what was sent for the session as lost on the way.
fn is_lost(site: &Site) -> bool {
    let connection = prints(site.on("router", &["ss", "-tni", "dport", "=", ":22"]));
    connection.contains(" lost:")
}

#[test]
fn a_session_that_a_lever_has_cut_goes_on_when_the_trial_is_over() {
    crate::common::needs_root!();
    let site = Site::new("cut-session", Host::Usual);
    prints(site.on("router", &SEND_AS_A_CARD));
    prints(over_ssh(&site, OWN));
    let mut session = Session::new(&site);
    session.input.write_all(&[b'x'; TYPED]).unwrap();
    let mut was_lost = false;
    wait_for("the lever is put back", || {
        let answered = session.answered();
        let is_lost = is_lost(&site);
        // Read last: if the lever is still set, it was set when the others were read.
        let is_cut = is_cut(&site);
        if is_cut {
            assert_eq!(answered, 0, "the session was not cut");
            was_lost |= is_lost;
        }
        !is_cut
    });
    assert!(was_lost, "nothing was lost on the way");
    wait_for("the session goes on", || session.answered() == TYPED);
    let Session { mut ssh, input, .. } = session;
    drop(input);
    assert!(ssh.wait().unwrap().success());
}
