//! `linerate probe`: ceilings of this machine, through the program as a user has it.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::processes::{Ours, signal, wait_for};
use crate::common::refused_call::refuse;
use crate::common::{Folder, answer, assert_says, errors, linerate, refusal_of};

/// Two of the CPUs that tests may use, and all of them.
fn cpus() -> ([usize; 2], Vec<usize>) {
    let all = sys::cpu::allowed().unwrap();
    ([all[0], all[1]], all)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn each_pair_of_cpus_has_both_times_with_intervals_and_the_last_level_is_one_group_of_all() {
    let folder = Folder::new("probe-cores");
    let said = json(&answer(&mut linerate(
        &folder,
        &["probe", "cores", "--json"],
    )));
    let (_, all) = cpus();
    assert_eq!(said["cpus"], Value::from(all.clone()));
    let pairs = said["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), all.len() * (all.len() - 1) / 2);
    for pair in pairs {
        assert!(
            pair["cpus"][0].as_u64() > pair["cpus"][1].as_u64(),
            "{pair}"
        );
        for time in ["exchange_ns", "handover_ns"] {
            let [low, value, high] =
                ["low", "value", "high"].map(|key| pair[time][key].as_f64().unwrap());
            assert!(0.5 < low && low <= value && value <= high, "{pair}");
            assert_eq!(pair[time]["n"], said["lines"], "{pair}");
        }
    }
    let last = said["levels"].as_array().unwrap().last().unwrap();
    assert_eq!(last["groups"], Value::from(vec![all]));
}

#[test]
fn a_matrix_has_a_row_and_a_column_for_each_cpu_and_only_its_lower_triangle_is_filled() {
    let folder = Folder::new("probe-csv");
    let ([one, other], _) = cpus();
    let list = format!("{one},{other}");
    let words = ["probe", "cores", "--csv", "--cpus", &list];
    let said = answer(&mut linerate(&folder, &words));
    let rows: Vec<Vec<&str>> = said.lines().map(|row| row.split(',').collect()).collect();
    let [above, below] = &rows[..] else {
        panic!("{said}");
    };
    assert_eq!((&above[..], below[1]), (&["", ""][..], ""), "{said}");
    assert!(below[0].parse::<f64>().unwrap() > 0.5, "{said}");
}

#[test]
fn the_page_for_a_browser_has_the_map_and_every_pair_in_words() {
    let folder = Folder::new("probe-page");
    let ([one, other], _) = cpus();
    let list = format!("{one},{other}");
    let words = ["probe", "cores", "--cpus", &list, "--html", "cores.html"];
    let said = answer(&mut linerate(&folder, &words));
    assert_says(
        &said,
        &format!("A cache line goes from CPU {other} to CPU {one} in "),
    );
    assert_says(&said, "  handover ");
    let page = folder.text("cores.html");
    for piece in [
        "<table class=\"heat\">",
        &format!("<th scope=\"row\">CPU {other} and CPU {one}</th>"),
        &format!("linerate probe cores --cpus {list}"),
    ] {
        assert_says(&page, piece);
    }
    let words = ["probe", "cores", "--cpus", &list, "--html", "no/cores.html"];
    let output = linerate(&folder, &words).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_says(&errors(&output), "writing no/cores.html: No such file");
}

#[test]
fn cpus_that_cannot_be_measured_are_refused_by_name() {
    let folder = Folder::new("probe-refused");
    let ([one, _], _) = cpus();
    let alone = one.to_string();
    for (list, why) in [
        ("4000", "CPU 4000 may not be used here; these may: "),
        ("0-", "--cpus: `0-` is no CPU or range of CPUs"),
        (
            &alone,
            "has no other to hand a cache line to: give --cpus two or more",
        ),
    ] {
        let said = refusal_of(&mut linerate(&folder, &["probe", "cores", "--cpus", list]));
        assert_says(&said, why);
    }
    // An inherited mask of one CPU is treated like one CPU that was typed.
    let mut held = Command::new("taskset");
    held.args(["-c", &alone, crate::common::program(), "probe", "cores"]);
    assert_says(&refusal_of(&mut held), &format!("CPU {one} has no other"));
}

#[test]
fn where_no_thread_may_be_held_on_a_cpu_the_errno_is_told() {
    const EPERM: u16 = 1;
    #[cfg(target_arch = "x86_64")]
    const SCHED_SETAFFINITY: u32 = 203;
    #[cfg(not(target_arch = "x86_64"))]
    const SCHED_SETAFFINITY: u32 = 122;
    let folder = Folder::new("probe-unpinned");
    let mut command = linerate(&folder, &["probe", "cores"]);
    refuse(&mut command, SCHED_SETAFFINITY, EPERM);
    let said = refusal_of(&mut command);
    assert_says(&said, "a thread could not be held on CPU ");
    assert_says(&said, "Operation not permitted");
}

#[test]
fn stopped_it_ends_in_order_and_tells_what_it_has_measured() {
    let folder = Folder::new("probe-stopped");
    // The probe takes only a moment, and may be over before the signal reaches it.
    let is_stopped = || {
        let mut command = linerate(&folder, &["probe", "cores", "--json"]);
        let mut probe = Ours(command.stdout(Stdio::piped()).spawn().unwrap());
        wait_for("it listens for signals", || {
            probe.try_wait().unwrap().is_some() || catches_interrupts(probe.id())
        });
        signal("INT", probe.id());
        let mut said = String::new();
        probe
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        let code = probe.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 130)), "{code:?}: {said}");
        assert!(
            said.is_empty() || json(&said)["pairs"][0].is_object(),
            "{said}"
        );
        code == Some(130)
    };
    assert!((0..50).any(|_| is_stopped()));
}

/// Whether a process has a handler for SIGINT, the second bit in the mask of caught signals.
fn catches_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 2 != 0)
}

#[test]
fn every_ceiling_of_this_machine_has_a_figure_within_its_interval_and_the_file_leaves_no_trace() {
    let folder = Folder::new("probe-quick");
    let words = ["probe", "--json", "--folder", "."];
    let said = json(&answer(&mut linerate(&folder, &words)));
    assert_eq!(folder.names(""), [""; 0]);
    for lacking in said["missing"].as_array().unwrap() {
        // Some file systems cannot bypass the page cache, and only root may enter namespaces.
        let name = lacking["name"].as_str().unwrap();
        let is_for_root_only = name == "veth_round_trip_ns" && !sys::user::is_root();
        assert!(name.starts_with("disk_") || is_for_root_only, "{lacking}");
    }
    let ceilings = said["ceilings"].as_array().unwrap();
    for ceiling in ceilings {
        let found = &ceiling["found"];
        let [low, value, high] = ["low", "value", "high"].map(|key| found[key].as_f64().unwrap());
        assert!(0.0 < low && low <= value && value <= high, "{ceiling}");
        assert_eq!(found["n"], 16, "{ceiling}");
    }
    let names = ceilings
        .iter()
        .map(|ceiling| ceiling["name"].as_str().unwrap());
    let names: Vec<&str> = names.collect();
    for name in [
        "syscall_ns",
        "wake_up_ns",
        "tcp_round_trip_ns",
        "datagram_ns",
        "loopback_bytes_per_second",
        "memory_copy_all_bytes_per_second",
        "sha_256_bytes_per_second",
        "page_cache_read_bytes_per_second",
    ] {
        assert!(names.contains(&name), "{name}: {said:#}");
    }
}

#[test]
fn another_machine_is_probed_even_at_a_closed_port_and_only_with_its_owners_word() {
    let folder = Folder::new("probe-far");
    // The listener is closed again, so nobody listens at this port.
    let closed = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap()
        .to_string();
    let words = ["probe", "--json", "--folder", ".", "--to", &closed];
    let said = json(&answer(&mut linerate(&folder, &words)));
    let ceilings = said["ceilings"].as_array().unwrap();
    let is_reported = ceilings.iter().any(|it| it["name"] == "tcp_connect_ns");
    assert!(is_reported, "{said:#}");
    assert_eq!(
        said["notes"],
        json(&format!("[\"tcp_connect_ns was measured to {closed}\"]"))
    );
    let stranger = ["probe", "--to", "192.0.2.1"];
    let refused = refusal_of(&mut linerate(&folder, &stranger));
    assert_says(&refused, "add --mine 192.0.2.1");
}

#[test]
fn what_one_cpu_or_a_missing_folder_prevents_is_named_and_the_rest_is_reported() {
    let folder = Folder::new("probe-hindered");
    let ([one, _], _) = cpus();
    let one = one.to_string();
    let words = ["probe", "--json", "--cpus", &one];
    let mut probe = linerate(&folder, &words);
    // Nobody named this folder, as `--folder` would, so it is no error that it does not exist.
    let said = json(&answer(probe.env("TMPDIR", "nowhere")));
    let why = |name: &str| {
        let mut missing = said["missing"].as_array().unwrap().iter();
        let entry = missing.find(|lacking| lacking["name"] == name);
        entry.unwrap_or_else(|| panic!("{name}: {said:#}"))["why"]
            .as_str()
            .unwrap()
    };
    assert_says(why("wake_up_ns"), "it takes two CPUs, and there is one");
    assert_says(why("disk_sync_ns"), "No such file or directory");
    assert_says(
        why("page_cache_read_bytes_per_second"),
        "a file of ours in that folder",
    );
    let ceilings = said["ceilings"].as_array().unwrap();
    assert!(
        ceilings
            .iter()
            .any(|ceiling| ceiling["name"] == "tcp_round_trip_ns")
    );
}

#[test]
fn a_folder_that_was_named_and_cannot_be_written_is_refused_before_anything_is_measured() {
    let folder = Folder::new("probe-unwritten");
    // Not even root can write to either of them.
    for (unwritten, why) in [("/nonexistent", "No such file or directory"), ("/proc", "")] {
        let said = refusal_of(&mut linerate(&folder, &["probe", "--folder", unwritten]));
        assert_says(
            &said,
            &format!("--folder {unwritten}: no file can be written there: {why}"),
        );
        assert_says(&said, "name a folder that you may write to");
    }
}
