//! Every lever that a network namespace can take: baseline, tuned, verified, restored. Levers that
//! a namespace does not have are set in a guest instead (`xtask/src/vm/proofs/levers.sh`).

use std::sync::mpsc;
use std::thread;

use serde_json::Value;

use crate::levers::sandbox::Sandbox;

/// Sandboxes at work at once.
const SANDBOXES: usize = 4;
/// What ethtool, ip and tc say of a setting of a device.
const ASK_TOOLS: &str = r#"
    feature() { ethtool -k "$2" | awk -v name="$1:" '$1 == name { print $2 }'; }
    case $1 in
    rx-frames) ethtool -c "$2" | awk '/^rx-frames:/ { print $2 }' ;;
    rx-channels) ethtool -l "$2" | awk '/^RX:/ { last = $2 } END { print last }' ;;
    tx-channels) ethtool -l "$2" | awk '/^TX:/ { last = $2 } END { print last }' ;;
    qdisc) tc qdisc show dev "$2" root | awk '{ print $2 }' ;;
    init* | quickack*) ip route show "$(echo "$1" | awk '{ print $5 }')" dev "$2" | tr ' ' '\n' |
        awk -v name="${1%% *}" 'last == name { print } { last = $1 }' ;;
    gso_*|gro_*) ip -details link show "$2" | tr ' ' '\n' |
        awk -v name="$1" 'last == name { print } { last = $1 }' ;;
    rx-gro) feature generic-receive-offload "$2" ;;
    tx-generic-segmentation) feature generic-segmentation-offload "$2" ;;
    *) feature "$1" "$2" ;;
    esac"#;

/// Another value than the one that holds, as a person types it; `None` where none is known.
fn another(lever: &str, now: &str) -> Option<String> {
    let other = match lever {
        "congestion-control" if now == "reno" => "bbr",
        "congestion-control" => "reno",
        "tcp-receive-buffer" => "4096,65536,1048576",
        "tcp-send-buffer" => "4096,32768,1048576",
        "local-ports" => "20000,50000",
        "receive-packet-steering" | "transmit-packet-steering" => "0",
        "mtu" => "1400",
        "tcp-fastopen" => "3",
        "syn-cookies" if now == "1" => "2",
        "syn-cookies" => "1",
        "qdisc" => "pfifo_fast",
        "big-tcp" | "big-tcp-ipv4" => "150000",
        _ if now == "on" => "off",
        _ if now == "off" => "on",
        _ => return number(now),
    };
    (other != now).then(|| other.to_owned())
}

/// 0 for 1 and 1 for 0; half of a larger value, which is still in its range.
fn number(now: &str) -> Option<String> {
    let now: i64 = now.parse().ok()?;
    Some(if now > 1 { now / 2 } else { 1 - now }.to_string())
}

/// Whether a lever is listed as set and put back on that bench.
fn is_tested(lever: &Value, bench: &str) -> bool {
    let benches = lever["tested_in"].as_array().unwrap();
    benches.iter().any(|known| known == bench)
}

/// `NAME=VALUE` for every lever that is listed as tested here, with a value that it does not hold.
pub(crate) fn other_values(sandbox: &Sandbox) -> Vec<String> {
    let mut levers = sandbox.list();
    levers.retain(|lever| is_tested(lever, "here"));
    let asked = levers.iter().map(|lever| {
        let name = lever["name"].as_str().unwrap();
        let now = sandbox.now(name);
        let value = another(name, &now).unwrap_or_else(|| panic!("{name} holds {now}"));
        format!("{name}={value}")
    });
    asked.collect()
}

/// Calls `with` for each lever that is asked for, `NAME=VALUE`, with a sandbox and its state
/// before. Several sandboxes work at once: all levers one after the other would be the longest of
/// the tests.
pub(crate) fn side_by_side<T: Send>(
    asked: &[String],
    with: fn(&Sandbox, &str, &str) -> T,
) -> Vec<T> {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for chunk in asked.chunks(asked.len().div_ceil(SANDBOXES)) {
            let sender = sender.clone();
            scope.spawn(move || {
                let sandbox = Sandbox::new();
                let before = sandbox.state();
                for asked in chunk {
                    sender.send(with(&sandbox, asked, &before)).unwrap();
                }
            });
        }
    });
    drop(sender);
    receiver.iter().collect()
}

#[test]
fn every_lever_of_a_namespace_or_a_device_is_set_held_and_put_back() {
    crate::common::needs_root!();
    let asked = other_values(&Sandbox::new());
    assert!(asked.len() > 30, "only {asked:?}");
    side_by_side(&asked, set_and_put_back);
}

fn set_and_put_back(sandbox: &Sandbox, asked: &str, before: &str) {
    let (lever, _) = asked.split_once('=').unwrap();
    let set = sandbox.apply(&[asked]);
    assert_ne!(sandbox.state(), before, "{asked} changed nothing");
    for step in set["steps"].as_array().unwrap() {
        let knob = step["knob"].as_str().unwrap();
        let new = step["new"].as_str().unwrap();
        // A mask is read as a mask and reported as a list: CPU 0 is bit 0.
        let held = held(sandbox, knob);
        let same = match knob.ends_with("_cpus") {
            true => held.ends_with('1') && new == "0",
            false => held.split_whitespace().eq(new.split(' ')),
        };
        assert!(same, "{asked}: {knob} holds {held}");
    }
    let undone = sandbox.undo(&[lever]);
    let knobs = undone[0]["knobs"].as_array().unwrap();
    assert!(
        knobs.iter().any(|knob| knob["fate"] == "put_back"),
        "{undone:?}"
    );
    assert_eq!(sandbox.state(), before, "{asked} was not put back");
    assert!(sandbox.journal().is_empty());
}

/// What a person finds in a knob: a path, a sysctl below `/proc/sys`, or what the kernel tells of a device.
fn held(sandbox: &Sandbox, knob: &str) -> String {
    if let Some((setting, device)) = knob.rsplit_once(" of ") {
        if let Some(nth) = setting.strip_prefix("irq-suspend-timeout ") {
            let reported = sandbox.suspensions(device);
            let nth: usize = nth.parse().unwrap();
            return reported.lines().nth(nth).unwrap().to_owned();
        }
        if setting.contains("_ipv4_") {
            let reported = sandbox.asks_kernel("ipv4-sizes", device, &[]);
            let held = reported.lines().find_map(|line| line.strip_prefix(setting));
            return held.unwrap().trim().to_owned();
        }
        let reported = sandbox.prints(&["sh", "-c", ASK_TOOLS, "sh", setting, device]);
        return reported.trim().to_owned();
    }
    match knob.starts_with('/') {
        true => sandbox.holds(knob),
        false => sandbox.holds(&format!("/proc/sys/{}", knob.replace('.', "/"))),
    }
}

#[test]
fn a_dry_run_prints_commands_that_do_what_they_say_and_changes_nothing() {
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    let before = sandbox.state();
    let dry = sandbox.apply(&["slow-start-after-idle", "--dry-run"]);
    assert_eq!(sandbox.state(), before);
    assert!(dry["entry"].is_null());
    let run = |command: &Value| sandbox.prints(&["sh", "-c", command.as_str().unwrap()]);
    run(&dry["commands"][0]);
    assert_eq!(
        sandbox.holds("/proc/sys/net/ipv4/tcp_slow_start_after_idle"),
        "0"
    );
    run(&dry["undo_commands"][0]);
    assert_eq!(sandbox.state(), before);
}

#[test]
fn a_congestion_control_that_is_set_is_what_connections_get() {
    const ASK: &str = "import socket\n\
        listener = socket.create_server(('127.0.0.1', 0))\n\
        client = socket.create_connection(listener.getsockname())\n\
        print(client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b'\\0').decode())";
    crate::common::needs_root!();
    let sandbox = Sandbox::new();
    for name in ["reno", "bbr"] {
        let asked = format!("congestion-control={name}");
        sandbox.apply(&[&asked]);
        assert_eq!(sandbox.prints(&["python3", "-c", ASK]).trim(), name);
        sandbox.undo(&[]);
    }
}
