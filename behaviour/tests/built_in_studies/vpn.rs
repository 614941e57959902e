//! What tunnels take, by real OpenVPN and OpenSSH.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::built_in_studies::{
    Smoke, assert_a_killed_run_leaves_no_process, at_work_in, folder, smoke, without_levels,
};
use crate::common::assert_says;

/// Levels that differ from others only in a flag.
const LEFT_OUT: [&str; 6] = [
    "openvpn-aes-128",
    "openvpn-chacha",
    "openvpn-fast-io",
    "openvpn-tcp",
    "rsync",
    "lossy-cubic",
];

/// Where only root may open `/dev/net/tun`, gives a command a device of its own that all users may
/// open, as udev sets it up. It is in a mount namespace of the command's own, where nobody else
/// sees it.
fn with_tunnels(command: Command) -> Command {
    const OURS: &str = "mount -t tmpfs none /mnt && mknod -m 666 /mnt/tun c 10 200 && \
                        mount --bind /mnt/tun /dev/net/tun && exec \"$@\"";
    let device = fs::metadata("/dev/net/tun");
    let is_for_root = device.is_ok_and(|device| device.permissions().mode() & 0o006 != 0o006);
    if !is_for_root || !sys::user::is_root() {
        return command;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", OURS, "sh"]);
    unshare.arg(command.get_program()).args(command.get_args());
    unshare.current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => unshare.env(name, value),
            None => unshare.env_remove(name),
        };
    }
    unshare
}

#[test]
fn a_tunnel_puts_more_on_the_line_and_what_is_missing_for_one_is_named() {
    let folder = folder("vpn");
    let text = without_levels("vpn", &LEFT_OUT);
    fs::write(folder.path().join("tunnels.toml"), text).unwrap();
    let mut command = smoke(&folder, "tunnels.toml");
    command.arg("--trust");
    let study = Smoke::by(folder, &mut with_tunnels(command));
    let ways = study.levels("way");
    let said = serde_json::to_string(&study.judgement.doubts).unwrap();
    for (way, missing) in [
        ("openvpn", "/dev/net/tun is not there"),
        ("wireguard", "reguard"),
    ] {
        if !ways.contains(&way) {
            assert_says(&said, missing);
        }
    }
    for way in ["bare", "ssh"] {
        assert!(ways.contains(&way), "{ways:?}");
    }
    for block in &study.blocks {
        let value = |metric: &str| block.reading.values[metric];
        let (cpu, goodput) = (value("cpu_s_per_gb"), value("goodput_mbit_per_s"));
        assert!(cpu > 0.0 && goodput > 0.0, "{}", block.arm);
        let levels = study.levels_of(block);
        let overhead = value("overhead_percent");
        match (levels["way"].as_str(), levels["link"].as_str()) {
            // Headers are 1.4 %; the rest is retransmissions on a busy machine.
            ("bare", "free") => assert!(overhead < 10.0, "{overhead}"),
            ("openvpn", "free") => assert!((2.0..20.0).contains(&overhead), "{overhead}"),
            _ => {}
        }
    }
    let temporary = study.folder.path().join("temporary");
    assert_eq!(at_work_in(&temporary), [""; 0]);
}

#[test]
fn a_run_of_tunnels_that_is_killed_leaves_no_program_behind() {
    let folder = folder("vpn-killed");
    let mut command = with_tunnels(smoke(&folder, "vpn"));
    assert_a_killed_run_leaves_no_process(&mut command, &folder, "stream");
}
