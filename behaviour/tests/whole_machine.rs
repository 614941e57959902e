//! Every report that has the CPU time of a process has that of the whole machine beside it, with its
//! parts: the time of interrupts is in one of them, wherever the kernel counts it.

use std::fmt::Write as _;

use serde_json::Value;

use crate::common::server::Server;
use crate::common::whole_run::{folder_with, whole_run};
use crate::common::{Folder, answer, assert_says, linerate};

/// Asserts that a line of the page has the time of all CPUs, part by part.
fn assert_has_machine_row(page: &str) {
    let of_all = |line: &&str| line.contains(", all CPUs: user ");
    let row = page
        .lines()
        .find(of_all)
        .unwrap_or_else(|| panic!("{page}"));
    for part in [", system ", ", irq ", ", softirq ", "; stolen "] {
        assert_says(row, part);
    }
}

/// Asserts that the parts add up to the whole, without what was stolen.
fn assert_adds_up(account: &Value) {
    let part = |name: &str| {
        account[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{account}"))
    };
    let sum = part("user") + part("system") + part("irq") + part("softirq");
    assert!(
        (sum - part("cpu")).abs() <= 1e-6 * sum.max(1.0),
        "{account}"
    );
    assert!(part("cpu") > 0.0 && part("stolen") >= 0.0, "{account}");
}

fn json(folder: &Folder, arguments: &[&str]) -> Value {
    serde_json::from_str(&answer(&mut linerate(folder, arguments))).unwrap()
}

#[test]
fn a_load_tells_of_the_machine_beside_its_client() {
    let folder = Folder::new("whole-load");
    let server = Server::start(&[]);
    let url = format!("http://{}/json", server.address);
    let load = [
        "load",
        url.as_str(),
        "-c",
        "4",
        "-d",
        "500ms",
        "--settle",
        "50ms",
    ];
    let page = answer(&mut linerate(&folder, &load));
    assert_says(&page, "  client CPU    ");
    assert_has_machine_row(&page);
    let value = json(&folder, &[&load[..], &["--json"]].concat());
    assert_adds_up(&value["machine_us_per_request"]);
    // The client's own time is a part of it, to within the ticks that it is counted in.
    let client_us = value["client_cpu_us_per_request"].as_f64().unwrap();
    let ticks_us = 40_000.0 / value["answered_in_window"].as_f64().unwrap();
    let machine_us = value["machine_us_per_request"]["cpu"].as_f64().unwrap();
    assert!(machine_us + ticks_us >= client_us, "{value}");
}

#[test]
fn of_a_load_shorter_than_its_ticks_the_machine_is_not_said_to_have_done_less_than_the_client() {
    let folder = Folder::new("whole-short");
    let server = Server::start(&[]);
    let url = format!("http://{}/json", server.address);
    let value = json(&folder, &["load", &url, "-n", "100", "-c", "4", "--json"]);
    let client_us = value["client_cpu_us_per_request"].as_f64().unwrap();
    let machine_us = value["machine_us_per_request"]["cpu"].as_f64();
    assert!(machine_us.is_none_or(|us| us >= client_us), "{value}");
}

#[test]
fn datagrams_tell_of_the_machine_beside_their_ends() {
    let folder = Folder::new("whole-datagrams");
    let exchange = ["packets", "--duration", "500ms"];
    assert_has_machine_row(&answer(&mut linerate(&folder, &exchange)));
    let value = json(&folder, &[&exchange[..], &["--json"]].concat());
    assert_adds_up(&value["machine_cpu_seconds_per_gb"]);
    let parts = &value["machine_cpu_seconds_per_gb"];
    // A datagram over loopback is received in a soft interrupt: half a second of them shows in ticks.
    assert!(parts["softirq"].as_f64() > Some(0.0), "{value}");
}

#[test]
fn a_comparison_of_commands_tells_of_the_machine_beside_each() {
    let folder = Folder::new("whole-bench");
    let bench = [
        "bench",
        "-S",
        "-r",
        "10",
        ":",
        "head -c 30000000 /dev/zero | tail -c 9",
    ];
    let page = answer(&mut linerate(&folder, &bench));
    assert_says(&page, "softirq");
    assert_says(&page, "stolen");
    let value = json(&folder, &[&bench[..], &["--json"]].concat());
    for arm in value["judgement"]["arms"].as_array().unwrap() {
        assert_eq!(arm["machine"]["runs"], 10, "{arm}");
    }
}

#[test]
fn the_report_of_a_run_has_a_table_of_the_whole_machine_and_that_of_an_older_run_has_none() {
    let run = whole_run();
    let now = folder_with("whole-run-now", &run.run, &run.blocks);
    let page = answer(&mut linerate(&now, &["study", "report", "run"]));
    assert_says(&page, "whole machine");
    let html = now.text("run/report.html");
    assert_says(&html, "<h3>What the processes spent");
    let older = folder_with(
        "whole-run-older",
        &run.run,
        &without_the_machine(&run.blocks),
    );
    let page = answer(&mut linerate(&older, &["study", "report", "run"]));
    assert!(
        page.contains("server CPU") && !page.contains("whole machine"),
        "{page}"
    );
    assert!(
        !older
            .text("run/report.html")
            .contains("<h3>What the processes spent")
    );
}

/// Blocks as they were saved before they had the time of the machine.
fn without_the_machine(blocks: &str) -> String {
    let mut older = String::new();
    for line in blocks.lines() {
        let mut block: Value = serde_json::from_str(line).unwrap();
        let cpu = block["reading"]["cpu"].as_object_mut().unwrap();
        assert!(cpu.remove("machine").is_some(), "{line}");
        writeln!(older, "{block}").unwrap();
    }
    older
}

#[test]
fn a_run_on_a_kernel_that_keeps_interrupts_apart_says_what_its_figures_lack() {
    let run = whole_run();
    let mut record: Value = serde_json::from_str(&run.run).unwrap();
    let is_on = record["facts"]["irq_time_accounting"] == "on";
    let doubts = record["doubts"].as_array_mut().unwrap();
    let told = |doubt: &Value| doubt["doubt"] == "irq_time_apart";
    assert_eq!(doubts.iter().any(told), is_on, "{doubts:?}");
    doubts.retain(|doubt| !told(doubt));
    doubts.push(serde_json::json!({ "doubt": "irq_time_apart" }));
    let folder = folder_with("apart", &record.to_string(), &run.blocks);
    let page = answer(&mut linerate(&folder, &["study", "report", "run"]));
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&page, "CPU time of a server or a client lacks its softirqs");
}
