//! Services listen where they are told to: on another address of this host, and on the server's
//! host of a rig.

use model::run::{Blocks, Rig, RunRecord};

use crate::common::{answer, assert_says, refusal_of, words};
use crate::service::bench::{Bench, RUN_FAKE};

/// How the service `fake` is started, and how a service is started that takes its address from us.
const FIXED: &str = "exec linerate serve --workers 1 --listen 127.0.0.1:{port}";
const WITH_LISTEN: &str = "exec linerate serve --workers 1 --listen {listen}";

/// Measures a service on a rig; returns the record of the run.
fn measure_on(bench: &Bench, rig: &str, service: &str) -> RunRecord {
    let run = ["study", "run", "http-json", "--target", service];
    let how = ["--rig", rig, "--smoke", "--yes", "--out", "run"];
    answer(&mut bench.linerate(&[&run[..], &how].concat()));
    let record: RunRecord = serde_json::from_str(&bench.0.text("run/run.json")).unwrap();
    assert_eq!(record.service.as_ref().unwrap().description.name, service);
    record
}

/// Checks that the client's host counted the answers and the server's host the CPU time, and that
/// nothing is left behind.
fn assert_two_hosts_measured(bench: &Bench, run: &RunRecord, rig: &Rig) {
    assert_eq!(run.rig, *rig);
    assert!(run.client.as_ref().unwrap().same_machine);
    let blocks = <Blocks>::parse(&bench.0.text("run/blocks.jsonl")).unwrap();
    let mut answered = 0;
    for block in blocks.records {
        let cpu = block.reading.cpu;
        assert!(cpu.server_window_ns.is_some(), "{}: {cpu:?}", block.arm);
        assert!(cpu.server_ns.is_some(), "{}: {cpu:?}", block.arm);
        assert_eq!(block.reading.ledger.errors.failed(), 0, "{}", block.arm);
        answered += block.reading.answered;
    }
    assert!(answered > 0);
    bench.assert_nothing_is_left();
}

#[test]
fn nginx_is_measured_on_the_servers_host_of_a_rig_and_nothing_shown_speaks_of_loopback() {
    let bench = Bench::new("rig-nginx");
    let run = measure_on(&bench, "netns", "nginx");
    assert_two_hosts_measured(&bench, &run, &Rig::Netns);
    let shown = answer(&mut bench.linerate(&["study", "report", "run"]));
    let study = serde_json::to_string(&run.study).unwrap();
    let page = bench.0.text("run/report.html");
    for prose in [&study, &page] {
        assert_says(prose, "between two namespaces");
    }
    for text in [shown, study, page] {
        assert!(!text.to_lowercase().contains("loopback"), "{text}");
    }
}

#[test]
fn a_service_with_threads_is_measured_across_a_tunnel() {
    let bench = Bench::new("rig-caddy");
    let run = measure_on(&bench, "tunnel", "caddy");
    assert_two_hosts_measured(&bench, &run, &Rig::Tunnel);
}

/// What is said when the service `fake`, with [`FIXED`] replaced by `to`, cannot be measured on a
/// rig.
fn refused_on_a_rig(name: &str, to: &str) -> String {
    let bench = Bench::with_fake(name, FIXED, to);
    let run = [&RUN_FAKE[..], &["--rig", "netns"]].concat();
    let words = refusal_of(&mut bench.linerate(&run));
    assert_eq!(bench.0.text("run/blocks.jsonl"), "", "nothing was measured");
    bench.assert_nothing_is_left();
    words
}

#[test]
fn a_service_that_cannot_be_told_its_address_is_refused_with_what_to_write() {
    let words = refused_on_a_rig("rig-fixed", FIXED);
    for said in [
        "server: Fake cannot be told to listen on 198.18.",
        "write `{listen}`",
    ] {
        assert_says(&words, said);
    }
}

#[test]
fn a_service_that_listens_on_another_address_than_told_is_named_with_both() {
    let words = refused_on_a_rig("rig-astray", &format!(": {{listen}}; {FIXED}"));
    let both = ["it listens on 127.0.0.1:", "instead of 198.18."];
    for said in [&["Fake was not ready"][..], &both].concat() {
        assert_says(&words, said);
    }
}

#[test]
fn a_service_is_started_on_the_address_that_is_asked_for_and_on_no_other() {
    let bench = Bench::with_fake("address", FIXED, WITH_LISTEN);
    for (asked, at) in [
        (&["--address", "127.0.0.2"][..], "127.0.0.2"),
        (&[], "127.0.0.1"),
    ] {
        let ready = bench.start_with("fake", asked);
        let address = ready["address"].as_str().unwrap();
        assert!(address.starts_with(at), "{ready}");
        std::net::TcpStream::connect(address).unwrap();
        assert_eq!(bench.stop("fake"), "ended");
    }
}

#[test]
fn an_address_of_another_host_is_named_with_what_to_do() {
    let bench = Bench::with_fake("foreign", FIXED, WITH_LISTEN);
    let start = words("service start fake --trust --address 192.0.2.1");
    let words = refusal_of(&mut bench.linerate(&start));
    for said in ["Fake cannot have 192.0.2.1:0", "`ip addr`"] {
        assert_says(&words, said);
    }
    bench.assert_nothing_is_left();
}
