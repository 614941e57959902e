//! `linerate facts` as a stranger runs it, and compared with the tools that report the same facts.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::{Folder, answer, linerate, words};
use crate::machine::confined::{in_place_of_a_shell, without};

const JSON: [&str; 2] = ["facts", "--json"];

fn facts() -> Value {
    let folder = Folder::new("facts");
    parsed(&answer(&mut linerate(&folder, &JSON)))
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

/// Standard output of another program, which must be installed and must succeed.
fn tool(line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let output = Command::new(words[0]).args(&words[1..]).output();
    let output = output.unwrap_or_else(|error| panic!("{line}: {error}"));
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key]
        .as_array()
        .unwrap_or_else(|| panic!("no list {key}"))
}

/// The CPUs of a list in either style: lscpu writes 0,1 where the kernel writes 0-1.
fn cpus(list: &str) -> Vec<usize> {
    sys::cpu::parse_list(list).unwrap()
}

#[test]
fn the_page_begins_with_the_machine_in_a_sentence_and_tells_every_part() {
    let folder = Folder::new("facts-page");
    let page = answer(&mut linerate(&folder, &["facts"]));
    let release = tool("uname -r");
    let first: String = page.lines().take_while(|line| !line.is_empty()).collect();
    assert!(first.contains(release.trim()), "{page}");
    for part in [
        "CPUs",
        "Memory",
        "Network devices",
        "Network defaults",
        "Kernel",
        "Limits",
    ] {
        assert!(page.lines().any(|line| line == part), "no {part} in {page}");
    }
    assert!(
        page.lines().all(|line| line.chars().count() <= 100),
        "{page}"
    );
}

#[test]
fn the_figures_of_the_cpus_are_those_of_lscpu() {
    let page: Value = serde_json::from_str(&tool("lscpu -J")).unwrap();
    let lscpu = |field: &str| {
        let mut fields = list(&page, "lscpu").iter();
        let found = fields.find(|entry| entry["field"] == format!("{field}:"));
        found.map(|entry| entry["data"].as_str().unwrap().to_owned())
    };
    let facts = facts();
    let cpu = &facts["cpu"];
    for (ours, theirs) in [
        ("sockets", "Socket(s)"),
        ("cores_per_socket", "Core(s) per socket"),
        ("threads_per_core", "Thread(s) per core"),
    ] {
        assert_eq!(lscpu(theirs).unwrap(), cpu[ours].to_string(), "{theirs}");
    }
    assert_eq!(lscpu("Model name").unwrap(), facts["facts"]["cpu_model"]);
    let online = cpus(&lscpu("On-line CPU(s) list").unwrap());
    assert_eq!(online, cpus(cpu["online"].as_str().unwrap()));
    let flags: Vec<_> = list(cpu, "flags")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(lscpu("Flags").unwrap(), flags.join(" "));
    let nodes = lscpu("NUMA node(s)").unwrap();
    assert_eq!(nodes, list(&facts["memory"], "nodes").len().to_string());
}

#[test]
fn the_caches_are_those_of_lscpu() {
    let page: Value = serde_json::from_str(&tool("lscpu -C -B -J")).unwrap();
    let facts = facts();
    let ours = list(&facts["cpu"], "caches");
    let theirs = list(&page, "caches");
    assert_eq!(ours.len(), theirs.len(), "{ours:?}");
    for cache in theirs {
        let own = ours
            .iter()
            .find(|own| own["name"] == cache["name"])
            .unwrap();
        let bytes = |key: &str| {
            cache[key]
                .to_string()
                .trim_matches('"')
                .parse::<u64>()
                .unwrap()
        };
        let (one, instances) = (
            own["size_bytes"].as_u64().unwrap(),
            own["instances"].as_u64(),
        );
        assert_eq!(
            (one, one * instances.unwrap()),
            (bytes("one-size"), bytes("all-size"))
        );
    }
}

#[test]
fn the_disks_are_those_of_lsblk() {
    let columns = "NAME,SIZE,ROTA,RO,RM,LOG-SEC,PHY-SEC,SCHED,RQ-SIZE";
    let page = tool(&format!("lsblk --json --bytes --list --output {columns}"));
    let page: Value = serde_json::from_str(&page).unwrap();
    let facts = facts();
    let theirs = list(&page, "blockdevices");
    assert_eq!(list(&facts, "disks").len(), theirs.len());
    for disk in theirs {
        let own = list(&facts, "disks")
            .iter()
            .find(|own| own["name"] == disk["name"]);
        let own = own.unwrap_or_else(|| panic!("{disk} is missing"));
        assert_eq!(own["size_bytes"], disk["size"], "{own}");
        if own["part_of"].is_string() {
            continue;
        }
        for (key, column) in [
            ("is_rotational", "rota"),
            ("is_read_only", "ro"),
            ("is_removable", "rm"),
            ("logical_block_bytes", "log-sec"),
            ("physical_block_bytes", "phy-sec"),
            ("queue_requests", "rq-size"),
        ] {
            assert_eq!(own[key], disk[column], "{column} of {own}");
        }
    }
}

#[test]
fn the_network_devices_are_those_of_ip_link() {
    let page: Value = serde_json::from_str(&tool("ip -j link")).unwrap();
    let folder = Folder::new("facts-links");
    let facts = parsed(&answer(&mut linerate(
        &folder,
        &["facts", "--json", "--full"],
    )));
    let theirs = page.as_array().unwrap();
    assert_eq!(list(&facts, "links").len(), theirs.len());
    for link in theirs {
        let own = list(&facts, "links")
            .iter()
            .find(|own| own["index"] == link["ifindex"]);
        let own = own.unwrap_or_else(|| panic!("{link} is missing"));
        for (key, theirs) in [
            ("name", "ifname"),
            ("mtu", "mtu"),
            ("qdisc", "qdisc"),
            ("state", "operstate"),
            ("transmit_queue_packets", "txqlen"),
            ("mac_address", "address"),
        ] {
            assert_eq!(own[key], link[theirs], "{theirs} of {link}");
        }
        for flag in ["UP", "LOWER_UP", "LOOPBACK", "MULTICAST", "NOARP"] {
            let has = |value: &Value| list(value, "flags").contains(&json!(flag));
            assert_eq!(has(own), has(link), "{flag} of {link}");
        }
    }
}

#[test]
fn the_features_of_each_device_are_those_of_ethtool() {
    let folder = Folder::new("facts-features");
    let facts = parsed(&answer(&mut linerate(
        &folder,
        &["facts", "--json", "--full"],
    )));
    for link in list(&facts, "links") {
        let page = tool(&format!("ethtool -k {}", link["name"].as_str().unwrap()));
        let mut compared = 0;
        for feature in list(link, "features") {
            let name = feature["name"].as_str().unwrap();
            let mut lines = page.lines().filter_map(|line| line.trim().split_once(": "));
            let Some((_, state)) = lines.find(|(theirs, _)| *theirs == name) else {
                continue;
            };
            let (is_on, is_fixed) = (state.starts_with("on"), state.contains("[fixed]"));
            assert_eq!(feature["is_on"], is_on, "{name}: {state}");
            assert_eq!(feature["can_change"], !is_fixed, "{name}: {state}");
            compared += 1;
        }
        assert!(compared > 20, "of {}: {page}", link["name"]);
    }
}

#[test]
fn the_pci_devices_are_those_of_lspci() {
    let facts = facts();
    let lines = tool("lspci -D -n");
    let line = |device: &Value| {
        let text = |key: &str| device[key].as_str().unwrap().to_owned();
        let (slot, class) = (text("slot"), text("class"));
        format!("{slot} {class}: {}:{}", text("vendor"), text("device"))
    };
    let ours: Vec<_> = list(&facts, "pci").iter().map(line).collect();
    let revision = |line: &str| line.split(" (").next().unwrap().to_owned();
    let theirs: Vec<_> = lines.lines().map(revision).collect();
    assert_eq!(ours, theirs);
}

/// Sets names and an address that nobody else has, then runs the program where it can see them.
fn among_secrets(folder: &Folder, arguments: &[&str]) -> String {
    let planted = "hostname planted-host && ip link add planted0 \
                   address 02:00:5e:00:53:01 type veth peer name planted1";
    let shell = words("unshare --user --map-root-user --uts --net sh");
    answer(&mut in_place_of_a_shell(&shell, planted, folder, arguments))
}

#[test]
fn names_and_addresses_are_told_only_when_asked_for() {
    let folder = Folder::new("facts-secrets");
    let told = among_secrets(&folder, &JSON);
    let link = &parsed(&told)["links"][1];
    assert_eq!(
        (&link["kind"], &link["mtu"]),
        (&json!("veth"), &json!(1500)),
        "{link}"
    );
    assert_eq!(link["name"], format!("device {}", link["index"]));
    for secret in ["planted", "02:00:5e:00:53:01"] {
        assert!(!told.contains(secret), "{secret} is in {told}");
    }
    let full = parsed(&among_secrets(&folder, &["facts", "--json", "--full"]));
    assert_eq!(full["facts"]["identity"]["host_name"], "planted-host");
    let links = list(&full, "links").iter();
    let addresses: Vec<_> = links.map(|link| &link["mac_address"]).collect();
    assert!(
        addresses.contains(&&json!("02:00:5e:00:53:01")),
        "{addresses:?}"
    );
}

#[test]
fn an_ordinary_user_gets_the_page_and_is_told_what_was_refused() {
    let folder = Folder::new("facts-user");
    let facts = parsed(&answer(linerate_as_nobody(&folder, &JSON).current_dir("/")));
    assert_eq!(facts["permissions"]["is_root"], false);
    assert!(list(&facts["permissions"], "capabilities").is_empty());
    assert!(list(&facts["cpu"], "flags").len() > 5);
    assert!(!list(&facts, "links").is_empty());
}

#[test]
fn what_cannot_be_seen_is_named_and_the_rest_is_told() {
    crate::common::needs_root!();
    let folder = Folder::new("facts-hidden");
    for (hidden, what, rest) in [
        ("/sys", "disks", "/facts/kernel_release"),
        (
            "/proc/pressure",
            "pressure stall information",
            "/cpu/online",
        ),
        ("/proc/sys", "network defaults", "/cpu/online"),
    ] {
        let facts = parsed(&answer(&mut without(hidden, &folder, &JSON)));
        let named = |entry: &&Value| entry["what"] == what;
        let entry = list(&facts, "hidden").iter().find(named);
        let entry = entry.unwrap_or_else(|| panic!("{what} is not in {}", facts["hidden"]));
        let why = entry["why"].as_str().unwrap();
        assert!(why.contains(hidden) || why.contains("ENOENT"), "{why}");
        assert!(facts.pointer(rest).unwrap().is_string(), "{rest}");
    }
}

#[test]
fn how_interrupts_are_counted_is_reported_and_never_contradicts_the_kernels_own_files() {
    let facts = facts();
    let told = facts["facts"]["irq_time_accounting"].as_str().unwrap();
    assert!(["on", "off", "unknown"].contains(&told), "{told}");
    let release = facts["facts"]["kernel_release"].as_str().unwrap();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap(), numbers.next().unwrap());
    // From Linux 6.1 on, PSI has a file for interrupts where their time is accounted separately.
    let has = |name: &str| std::path::Path::new("/proc/pressure").join(name).exists();
    if version >= (6, 1) && has("cpu") && !has("irq") {
        assert_ne!(told, "on");
    }
}
