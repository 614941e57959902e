//! A rig that lasts as long as the process that wants it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::assert_says;
use crate::common::processes::line_of;
use machine::rig::Lab;
use model::Topology;

const LONGEST: Duration = Duration::from_secs(30);

fn lab(topology: Topology) -> Lab {
    Lab::build(Path::new(crate::common::program()), topology).unwrap()
}

/// Runs a program on a host of a lab and returns what it printed.
fn run_on(lab: &Lab, host: &str, program: &[&str]) -> String {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).stdin(Stdio::null());
    lab.host(host).unwrap().put(&mut command).unwrap();
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program:?} on {host}: {words}");
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a request from one host to another is answered.
fn reaches(lab: &Lab, from: &str, to: &str) -> bool {
    let address = lab.host(to).unwrap().address().unwrap().to_string();
    let mut serve = Command::new(crate::common::program());
    serve.args([
        "serve",
        "--listen",
        &format!("{address}:8080"),
        "--workers",
        "1",
    ]);
    serve.stdout(Stdio::piped());
    lab.host(to).unwrap().put(&mut serve).unwrap();
    let mut serve = serve.spawn().unwrap();
    line_of(serve.stdout.take());
    let url = format!("http://{address}:8080/plaintext");
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--max-time", "10", &url]);
    lab.host(from).unwrap().put(&mut curl).unwrap();
    let said = curl.output().unwrap();
    serve.kill().unwrap();
    serve.wait().unwrap();
    said.stdout == b"Hello, World!"
}

#[test]
fn client_and_server_reach_each_other_in_every_rig_that_joins_them() {
    for topology in [Topology::Netns, Topology::Router, Topology::Tunnel] {
        let lab = lab(topology);
        assert!(reaches(&lab, "client", "server"), "{topology}");
        assert!(reaches(&lab, "server", "client"), "{topology}");
    }
}

#[test]
fn hosts_know_the_hardware_addresses_of_their_neighbours_without_asking() {
    for (topology, device, address, (neighbour, its_device)) in [
        (
            Topology::Netns,
            "lr-server",
            "198.18.0.2",
            ("server", "lr-client"),
        ),
        (
            Topology::Router,
            "lr-router",
            "198.18.0.254",
            ("router", "lr-client"),
        ),
        (
            Topology::Wire,
            "lr-wire",
            "198.18.0.2",
            ("server", "lr-wire"),
        ),
    ] {
        let lab = lab(topology);
        let link = run_on(
            &lab,
            neighbour,
            &["ip", "-brief", "link", "show", its_device],
        );
        let hardware = link.split_whitespace().nth(2).unwrap();
        let known = run_on(&lab, "client", &["ip", "neighbour"]);
        let wanted = format!("{address} dev {device} lladdr {hardware} PERMANENT");
        assert_eq!(known.trim_end(), wanted, "{topology}");
    }
}

#[test]
fn hosts_have_their_addresses_and_no_device_says_anything_by_itself() {
    let lab = lab(Topology::Tunnel);
    let [client, router, server] = lab.hosts() else {
        panic!("{lab:?}");
    };
    let names = [client, router, server].map(machine::rig::Host::name);
    assert_eq!(names, ["client", "router", "server"]);
    let addresses = run_on(&lab, "client", &["ip", "-brief", "address"]);
    let address = format!("{}/24", client.address().unwrap());
    assert_says(&addresses, &address);
    // With a link-local IPv6 address, the kernel would ask whether it is taken and look for
    // routers.
    assert!(!addresses.contains("fe80"), "{addresses}");
    // The tunnel takes 50 bytes of each packet.
    let links = run_on(&lab, "client", &["ip", "link", "show", "lr-tunnel"]);
    assert_says(&links, "mtu 1450");
}

#[test]
fn only_the_router_forwards_whatever_the_machine_does() {
    let lab = lab(Topology::Router);
    let forwarding = |host, device| {
        let file = format!("/proc/sys/net/ipv4/conf/{device}/forwarding");
        run_on(&lab, host, &["cat", &file])
    };
    assert_eq!(forwarding("router", "lr-client"), "1\n");
    assert_eq!(forwarding("router", "lr-server"), "1\n");
    assert_eq!(forwarding("client", "lr-router"), "0\n");
}

#[test]
fn a_wire_has_an_end_to_each_host_and_carries_nothing_by_itself() {
    let lab = lab(Topology::Wire);
    assert_eq!(lab.host("wire").unwrap().address(), None);
    let links = run_on(&lab, "wire", &["ip", "-brief", "link"]);
    let addresses = run_on(&lab, "wire", &["ip", "-brief", "-4", "address"]);
    for device in ["lr-client@", "lr-server@"] {
        let line = links.lines().find(|line| line.starts_with(device));
        assert!(line.unwrap().contains("LOWER_UP"), "{links}");
        assert!(!addresses.contains(device), "{addresses}");
    }
    // A host that was reached would refuse at once; curl exits with 28 if no answer comes in time.
    let ask = "curl --silent --connect-timeout 1 http://198.18.0.2:9/; test $? = 28";
    run_on(&lab, "client", &["sh", "-c", ask]);
}

#[test]
fn a_lab_that_is_dropped_leaves_no_namespace_behind() {
    let first = lab(Topology::Netns);
    let namespace = first.host("client").unwrap().namespace();
    assert!(is_held(namespace));
    drop(first);
    let gone = || !is_held(namespace);
    assert!(sys::clock::wait_until(LONGEST, gone));
}

#[test]
fn a_holder_whose_starter_is_gone_ends_by_itself() {
    let mut holder = Command::new(crate::common::program())
        .args(machine::rig::holder::HOLD)
        .arg("netns")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut orders = holder.stdin.take().unwrap();
    std::io::Write::write_all(&mut orders, b"build\n").unwrap();
    let line = line_of(holder.stdout.take());
    assert_says(&line, "\"built\"");
    assert!(holder.try_wait().unwrap().is_none());
    // The kernel closes the pipe like this when a process is killed.
    drop(orders);
    let has_ended = || holder.try_wait().unwrap().is_some();
    let ended = sys::clock::wait_until(LONGEST, has_ended);
    let _ = holder.kill();
    assert!(ended && holder.wait().unwrap().success());
}

/// Whether any process that we can see holds a namespace open.
fn is_held(namespace: u64) -> bool {
    let link = format!("net:[{namespace}]");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut files = processes.flat_map(|process| {
        let files = std::fs::read_dir(process.path().join("fd"));
        files.into_iter().flatten().flatten()
    });
    files.any(|file| std::fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == &*link))
}

#[test]
fn all_on_a_host_are_ended_but_the_process_that_holds_it() {
    let lab = lab(Topology::Netns);
    // The process that holds a rig is on the last of its hosts.
    let server = lab.host("server").unwrap();
    let mut sleep = Command::new("sleep");
    sleep.arg("600");
    server.put(&mut sleep).unwrap();
    let mut sleep = sleep.spawn().unwrap();
    assert_eq!(processes_in(server.namespace()), ["linerate-rig", "sleep"]);
    server.end_all().unwrap();
    assert!(!sleep.wait().unwrap().success());
    assert_eq!(processes_in(server.namespace()), ["linerate-rig"]);
}

/// The names of the processes in a network namespace, sorted.
fn processes_in(namespace: u64) -> Vec<String> {
    let link = format!("net:[{namespace}]");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let names = processes.filter_map(|process| {
        let place = std::fs::read_link(process.path().join("ns/net")).ok()?;
        let name = std::fs::read_to_string(process.path().join("comm")).ok()?;
        (place.as_os_str() == &*link).then(|| name.trim().to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
