//! What a link carries, and what is reported about it.

use serde_json::Value;

use crate::common::as_nobody::linerate_as_nobody;
use crate::common::{Folder, answer, assert_says, errors, linerate, words};
use crate::link::{count, folder, load_over};

/// The load's own report, which `--json` moves to standard error.
fn load_report(errors: &[u8]) -> Value {
    let text = String::from_utf8_lossy(errors);
    let start = text.find("{\n").unwrap();
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter();
    values.next().unwrap().unwrap()
}

#[test]
fn an_answer_takes_the_delay_there_and_the_delay_back() {
    crate::common::needs_root!();
    let folder = folder("link-delay");
    let flags = ["--delay", "10ms", "--down", "delay=30ms"];
    let (output, _) = load_over(&folder, &flags, "-d 2s --json");
    let load = load_report(&output.stderr);
    let answered = load["answered"].as_u64().unwrap();
    let window_s = load["window_seconds"].as_f64().unwrap();
    // One request follows another: at most one in each 40 ms, and the last, which is under way.
    assert!(
        answered >= 1 && answered as f64 <= window_s / 0.040 + 1.0,
        "{answered} in {window_s} s"
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn every_packet_is_told_of_and_none_is_larger_than_the_mtu() {
    crate::common::needs_root!();
    let folder = folder("link-tally");
    let message = "x".repeat(50_000);
    let server =
        format!("exec ./linerate serve --listen 0.0.0.0:8080 --workers 1 --message {message}");
    let load = format!("{} -d 2s", crate::link::LOAD);
    let flags = ["link", "--json", "--loss", "2%", "--server", &server];
    let words = [&flags[..], &["--", "sh", "-c", &load]].concat();
    let report = answer(&mut linerate(&folder, &words));
    let report: Value = serde_json::from_str(&report).unwrap();
    for direction in ["up", "down"] {
        assert_adds_up(&report, direction);
    }
    let down = |what: &str| count(&report, &format!("/down/tally/{what}"));
    assert!(down("offered_bytes") > 50_000 && down("lost_packets") > 0);
}

/// Every packet that was offered has one fate, and none is unfinished: longer than the MTU, or
/// without its checksum.
fn assert_adds_up(report: &Value, direction: &str) {
    let packets = |fate: &str| count(report, &format!("/{direction}/tally/{fate}_packets"));
    let fates = words("carried lost dropped unheld unfinished refused held");
    let sum: u64 = fates.iter().map(|fate| packets(fate)).sum();
    assert_eq!(packets("offered"), sum, "{direction}");
    assert_eq!((packets("unfinished"), packets("overtook")), (0, 0));
}

#[test]
fn as_many_packets_are_lost_as_was_asked_for() {
    crate::common::needs_root!();
    let folder = Folder::new("link-share");
    // A connection is refused only when all that was sent before has been carried.
    let line = "for n in $(seq 4000); do echo $n; done > /dev/udp/$LINERATE_SERVER/9; \
                : > /dev/tcp/$LINERATE_SERVER/9";
    let flags = ["link", "--json", "--up", "loss=20%"];
    let words = [&flags[..], &["--", "bash", "-c", line]].concat();
    let output = linerate(&folder, &words).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let up = |what: &str| count(&report, &format!("/up/tally/{what}_packets")) as f64;
    let (offered, lost) = (up("offered"), up("lost"));
    // Five standard deviations of the binomial distribution.
    let apart = 5.0 * (offered * 0.2 * 0.8).sqrt();
    assert!(offered > 1000.0, "{report:#}");
    let error = (lost - offered * 0.2).abs();
    assert!(error <= apart, "{lost} of {offered}");
}

#[test]
fn each_link_has_a_seed_of_its_own_which_is_told_and_can_be_given() {
    crate::common::needs_root!();
    let folder = Folder::new("link-seed");
    let run = |more: &[&str]| {
        let flags = [&["link", "--loss", "1%"], more].concat();
        let words = [&flags[..], &["--", "true"]].concat();
        linerate(&folder, &words).output().unwrap()
    };
    let seed = |more: &[&str]| {
        let output = run(&[&["--json"], more].concat());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        count(&report, "/plan/seed")
    };
    // There are 2³² seeds: two draws agree once in four thousand million times.
    assert_ne!(seed(&[]), seed(&[]));
    assert_eq!(seed(&["--seed", "948"]), 948);
    let said = errors(&run(&["--seed", "948"]));
    assert_says(&said, "those of --seed 948");
    assert_says(&said, "       lost    dropped    waiting   late p50");
}

#[test]
fn what_is_lost_on_the_way_back_never_arrives_and_the_exit_code_is_the_commands() {
    let folder = folder("link-loss");
    let flags = ["--down", "loss=100%"];
    let (output, report) = load_over(&folder, &flags, "-d 100ms --timeout 2s");
    // `linerate load` could not run: nobody answers.
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(count(&report, "/exit_code"), 2);
    assert_eq!(count(&report, "/down/tally/carried_packets"), 0);
    assert!(count(&report, "/down/tally/lost_packets") > 0);
    assert!(count(&report, "/up/tally/carried_packets") > 0);
}

#[test]
fn an_ordinary_user_has_a_link_too_and_nothing_is_left_behind() {
    let folder = Folder::new("link-nobody");
    let line = "setsid ./linerate serve --listen 0.0.0.0:8080 > /dev/null 2>&1 & \
                echo $LINERATE_SERVER $LINERATE_CLIENT > said; id -u >> said";
    let words = ["link", "--delay", "1ms", "--", "sh", "-c", line];
    answer(&mut linerate_as_nobody(&folder, &words));
    assert_eq!(folder.text("said"), "198.18.0.2 198.18.0.1\n65534\n");
    assert_eq!(folder.names(""), ["linerate", "said"]);
    let program = folder.path().join("linerate");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let programs = processes.filter_map(|entry| std::fs::read_link(entry.path().join("exe")).ok());
    assert_eq!(programs.filter(|path| *path == program).count(), 0);
}

#[test]
fn no_price_of_traffic_is_named_for_what_goes_over_a_link() {
    let folder = folder("link-price");
    let line = "exec ./linerate stream $LINERATE_SERVER --for 100ms";
    let words = ["link", "--delay", "1ms", "--", "sh", "-c", line];
    let said = errors(&linerate(&folder, &words).output().unwrap());
    assert_says(&said, "nothing accepts streams at 198.18.0.2:5201");
    assert!(!said.contains("list prices"), "{said}");
}
